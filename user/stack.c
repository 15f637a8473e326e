// SPDX-License-Identifier: GPL-2.0-only
/* The software between kernel and program as found on this machine: driver, libraries, toolkit, PyTorch, distribution. */
#include "stack.h"

#include <ctype.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#include "host.h"

#define FILE_MAX_BYTES	(64 * 1024)

/* "12.8" and "2.8.0+cu128" as 1208 and 208; 0 when there is no number. */
unsigned int stack_version(const char *text)
{
	unsigned int major = 0, minor = 0;

	if (sscanf(text, "%u.%u", &major, &minor) < 1 || major > 9999 || minor > 99)
		return 0;
	return major * 100 + minor;
}

/**
 * stack_value - a value of a file of KEY=VALUE or KEY = 'VALUE' lines
 * @text:	the file
 * @key:	the key, at the start of a line
 * @buf:	filled without quotes, empty when there is no such line
 * @size:	bytes in @buf
 */
void stack_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key), nr;
	const char *line = text;

	buf[0] = '\0';
	for (; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (strncmp(line, key, len))
			continue;
		line += len;
		/* version.py has type annotations: cuda: Optional[str] = '12.8' */
		if (*line == ':')
			line += strcspn(line, "=\n");
		line += strspn(line, " \t");
		if (*line != '=')
			continue;
		line += 1 + strspn(line + 1, " \t'\"");
		nr = strcspn(line, "'\"\n");
		snprintf(buf, size, "%.*s", (int)nr, line);
		return;
	}
}

static void read_distribution(struct stack *stack)
{
	char *text CLEANUP_FREE = host_read_all("/etc/os-release", FILE_MAX_BYTES);

	if (!text)
		return;

	stack_value(text, "ID", stack->distribution, sizeof(stack->distribution));
	stack_value(text, "VERSION_CODENAME", stack->codename, sizeof(stack->codename));
	stack_value(text, "PRETTY_NAME", stack->pretty, sizeof(stack->pretty));
}

/* Calls @take with each file that fits, as a path of the machine; not 0 ends the walk. */
static int each_match(const char *pattern, int (*take)(const char *path, struct stack *stack), struct stack *stack)
{
	char full[HOST_PATH_MAX];
	size_t i, skip = strlen(host_root());
	glob_t found;
	int ret = 0;

	host_path(pattern, full, sizeof(full));
	if (glob(full, 0, NULL, &found))
		return 0;

	for (i = 0; !ret && i < found.gl_pathc; i++)
		ret = take(found.gl_pathv[i] + skip, stack);
	globfree(&found);
	return ret;
}

/* libcuda.so.1 leads to libcuda.so.535.183.01 */
static void version_of_file(const char *path, char *buf, size_t size)
{
	char target[HOST_PATH_MAX];
	const char *text;

	if (host_resolve(path, target, sizeof(target)))
		return;
	text = strstr(target, ".so.");
	if (text && isdigit((unsigned char)text[4]) && strchr(text + 4, '.'))
		util_copy(buf, size, text + 4);
}

static int take_libcuda(const char *path, struct stack *stack)
{
	char target[HOST_PATH_MAX], full[HOST_PATH_MAX];
	struct stat stat_buf;

	if (host_resolve(path, target, sizeof(target)))
		return 0;
	host_path(target, full, sizeof(full));
	if (stat(full, &stat_buf))
		return 0;

	stack->libcuda_found = true;
	stack->libcuda_empty = !stat_buf.st_size;
	version_of_file(path, stack->libcuda, sizeof(stack->libcuda));
	return 1;
}

static int take_nvml(const char *path, struct stack *stack)
{
	version_of_file(path, stack->nvml, sizeof(stack->nvml));
	return stack->nvml[0] != '\0';
}

static void note_cudnn(const char *version, struct stack *stack)
{
	if (stack_version(version) > stack->cudnn)
		stack->cudnn = stack_version(version);
}

/* libcudnn.so.9 leads to libcudnn.so.9.10.2 */
static int take_cudnn(const char *path, struct stack *stack)
{
	char version[CARD_WORD_MAX] = "";

	version_of_file(path, version, sizeof(version));
	note_cudnn(version, stack);
	return 0;
}

/* .../nvidia_cudnn_cu12-9.10.2.21.dist-info, which PyTorch's wheels bring */
static int take_cudnn_wheel(const char *path, struct stack *stack)
{
	note_cudnn(strstr(path, "/nvidia_cudnn_cu") + strlen("/nvidia_cudnn_cuNN-"), stack);
	return 0;
}

static void read_libraries(struct stack *stack)
{
	/* Where the loader looks on Debian, Fedora and Arch. */
	static const char *const folders[] = { "/usr/lib/*-linux-gnu*", "/usr/lib64", "/usr/lib", "/usr/local/lib" };
	char pattern[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(pattern, sizeof(pattern), "%s/libcuda.so.1", folders[i]);
		if (!stack->libcuda_found)
			each_match(pattern, take_libcuda, stack);
		snprintf(pattern, sizeof(pattern), "%s/libnvidia-ml.so.1", folders[i]);
		if (!stack->nvml[0])
			each_match(pattern, take_nvml, stack);
		snprintf(pattern, sizeof(pattern), "%s/libcudnn.so.[0-9]", folders[i]);
		each_match(pattern, take_cudnn, stack);
	}
}

/* {"cuda": {"name": "CUDA SDK", "version": "12.4.0"}, ...} */
static int take_toolkit(const char *path, struct stack *stack)
{
	char *text CLEANUP_FREE = host_read_all(path, FILE_MAX_BYTES);
	const char *sdk = text ? strstr(text, "\"CUDA SDK\"") : NULL, *version = sdk ? strstr(sdk, "\"version\"") : NULL;

	version = version ? strpbrk(version + strlen("\"version\""), "0123456789") : NULL;
	if (version && stack_version(version) > stack->toolkit)
		stack->toolkit = stack_version(version);
	return 0;
}

/* Debian's package: "#define CUDA_VERSION 11080" */
static int take_cuda_h(const char *path, struct stack *stack)
{
	char *text CLEANUP_FREE = host_read_all(path, 4 * 1024 * 1024);
	const char *line = text ? strstr(text, "#define CUDA_VERSION ") : NULL;
	unsigned int number = line ? (unsigned int)atoi(line + strlen("#define CUDA_VERSION ")) : 0;

	if (number)
		stack->toolkit = number / 1000 * 100 + number % 1000 / 10;
	return 1;
}

static int take_torch(const char *path, struct stack *stack)
{
	char *text CLEANUP_FREE = host_read_all(path, FILE_MAX_BYTES);
	struct stack_torch *torch = &stack->torch[stack->nr_torch];
	char cuda[CARD_WORD_MAX];

	if (!text || stack->nr_torch == STACK_TORCH_MAX)
		return 0;

	stack_value(text, "__version__", torch->text, sizeof(torch->text));
	stack_value(text, "cuda", cuda, sizeof(cuda));
	torch->version = stack_version(torch->text);
	torch->cuda = stack_version(cuda);
	snprintf(torch->path, sizeof(torch->path), "%.*s", (int)(strlen(path) - strlen("/version.py")), path);
	if (torch->version)
		stack->nr_torch++;
	return 0;
}

static void read_torch_below(const char *folder, struct stack *stack)
{
	static const char *const places[] = { "lib/python3*/site-packages", "lib/python3*/dist-packages" };
	char pattern[HOST_PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(pattern, sizeof(pattern), "%s/%s/torch/version.py", folder, places[i]);
		each_match(pattern, take_torch, stack);
		snprintf(pattern, sizeof(pattern), "%s/%s/nvidia_cudnn_cu1[0-9]-*.dist-info", folder, places[i]);
		each_match(pattern, take_cudnn_wheel, stack);
	}
}

static void read_torch(struct stack *stack)
{
	static const char *const environments[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
	const char *home = getenv("HOME"), *prefix;
	char folder[512];
	size_t i;

	read_torch_below("/usr", stack);
	read_torch_below("/usr/local", stack);
	if (home && home[0] == '/') {
		snprintf(folder, sizeof(folder), "%s/.local", home);
		read_torch_below(folder, stack);
	}
	for (i = 0; i < ARRAY_SIZE(environments); i++) {
		prefix = getenv(environments[i]);
		if (prefix && prefix[0] == '/')
			read_torch_below(prefix, stack);
	}
}

/**
 * stack_read - look what is installed
 * @ret_stack:	filled; what is not there is empty or 0
 */
void stack_read(struct stack *ret_stack)
{
	memset(ret_stack, 0, sizeof(*ret_stack));
	host_release(ret_stack->release, sizeof(ret_stack->release));
	read_distribution(ret_stack);
	if (host_read("/sys/module/nvidia/version", ret_stack->driver, sizeof(ret_stack->driver)))
		ret_stack->driver[0] = '\0';
	read_libraries(ret_stack);
	each_match("/usr/local/cuda*/version.json", take_toolkit, ret_stack);
	if (!ret_stack->toolkit)
		each_match("/usr/include/cuda.h", take_cuda_h, ret_stack);
	read_torch(ret_stack);
}

/* Files that the tools of each kind leave in their containers. */
bool stack_is_container(void)
{
	return host_exists("/.dockerenv") || host_exists("/run/.containerenv") || host_exists("/run/systemd/container");
}
