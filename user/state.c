// SPDX-License-Identifier: GPL-2.0-only
/* Files and locks that outlive a process: last verdict per card, slots for tests at once. Judges nothing. */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "output.h"

#define STATE_ROOT	"/run/softtape"
#define STATE_SIZE_MAX	(256 * 1024)

/* Lines "seconds address", one per card that left; begun anew when it is longer than some hundred of them. */
#define UNPLUGS_NAME	"unplugs"
#define UNPLUGS_MAX	8192

/*
 * Where this user writes. RUNTIME_DIRECTORY is systemd's own name for a service's folder below /run (systemd.exec(5)).
 */
static bool own_dir(char *buf, size_t size)
{
	const char *given = getenv("RUNTIME_DIRECTORY"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (given && given[0] == '/') {
		util_copy(buf, size, given);
		return true;
	}

	if (!geteuid()) {
		util_copy(buf, size, STATE_ROOT);
		return true;
	}

	if (!runtime || runtime[0] != '/')
		return false;

	snprintf(buf, size, "%s/softtape", runtime);
	return true;
}

static int open_own_dir(void)
{
	char path[PATH_MAX];
	int fd;

	if (!own_dir(path, sizeof(path)))
		return -ENOENT;
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text), done = 0;

	while (done < len) {
		ssize_t n = write(fd, text + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}

	return fsync(fd) && errno != EINVAL ? -errno : 0;
}

/**
 * state_replace_file - write a file so that readers see the old one or the new one
 * @dir_fd:	its folder
 * @name:	its name
 * @text:	what it holds then
 *
 * Return: 0 or a negative errno.
 */
int state_replace_file(int dir_fd, const char *name, const char *text)
{
	char hidden[NAME_MAX];
	int fd CLEANUP_CLOSE = -1;
	int ret;

	/* A dot file is no result to anybody who reads the folder (node_exporter, our own status). */
	snprintf(hidden, sizeof(hidden), ".%s.%d", name, getpid());
	/* The folder may be another user's (node_exporter's is): what is there under that name is not written to. */
	unlinkat(dir_fd, hidden, 0);
	fd = openat(dir_fd, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;

	/* For everybody to read, whatever the umask. */
	ret = fchmod(fd, 0644) ? -errno : write_all(fd, text);
	if (!ret && renameat(dir_fd, hidden, dir_fd, name))
		ret = -errno;
	if (ret)
		unlinkat(dir_fd, hidden, 0);
	return ret;
}

/**
 * state_write - store what is known of a card's check so far
 * @row:	with its outcome
 *
 * Readers see the old file or the new one, never half of it, also after a power cut.
 *
 * Return: 0 or a negative errno; -ENOENT when this user has no place for it.
 */
int state_write(const struct row *row)
{
	struct result result = { .command = "check", .row = (struct row *)row, .nr = 1 };
	struct json_object *document;
	char name[ADDRESS_MAX + 8];
	int dir_fd CLEANUP_CLOSE = open_own_dir();
	int ret;

	if (dir_fd < 0)
		return dir_fd;

	result.verdict = row->outcome->verdict;
	result.exit = verdict_exit(result.verdict);
	document = output_document(&result);
	snprintf(name, sizeof(name), "%s.json", row->card.bdf);
	ret = state_replace_file(dir_fd, name, json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY |
									JSON_C_TO_STRING_SPACED |
									JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(document);
	return ret;
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

static unsigned long long number_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_int))
		return 0;
	return json_object_get_uint64(value);
}

static struct json_object *object_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_object))
		return NULL;
	return value;
}

static size_t array_of(struct json_object *object, const char *key, struct json_object **ret_array)
{
	if (!json_object_object_get_ex(object, key, ret_array) || !json_object_is_type(*ret_array, json_type_array))
		return 0;
	return json_object_array_length(*ret_array);
}

static __u8 speed_of(const char *word)
{
	__u8 speed;

	for (speed = 1; speed < 7; speed++)
		if (!strcmp(softtape_speed_word(speed), word))
			return speed;
	return 0;
}

static void parse_link(struct json_object *link, struct softtape_view *view)
{
	view->speed = speed_of(text_of(link, "speed"));
	view->width = (__u8)number_of(link, "width");
	view->max_speed = speed_of(text_of(link, "max_speed"));
	view->max_width = (__u8)number_of(link, "max_width");
}

static bool parse_card(struct json_object *object, struct card *card)
{
	struct json_object *quirks = object_of(object, "quirks");
	unsigned int vendor, device;
	int i;

	if (address_parse(text_of(object, "bdf"), &card->address) ||
	    sscanf(text_of(object, "id"), "%4x:%4x", &vendor, &device) != 2)
		return false;

	address_format(&card->address, card->bdf, sizeof(card->bdf));
	card->vendor = (__u16)vendor;
	card->device = (__u16)device;
	util_copy(card->name, sizeof(card->name), text_of(object, "name"));
	util_copy(card->driver, sizeof(card->driver), text_of(object, "driver"));
	util_copy(card->port, sizeof(card->port), text_of(object, "port"));
	parse_link(object_of(object, "link"), &card->view);
	for (i = 0; quirks && i < SOFTTAPE_NR_FIELDS; i++)
		util_copy(card->quirk[i], CARD_WORD_MAX, text_of(quirks, softtape_field_name(i)));
	return true;
}

static void parse_phases(struct json_object *card, struct outcome *outcome)
{
	struct json_object *phases;
	size_t i, nr = array_of(card, "phases", &phases);

	for (i = 0; i < nr && i < OUTCOME_PHASES_MAX; i++) {
		struct json_object *object = json_object_array_get_idx(phases, i);
		struct phase *phase = outcome_phase(outcome, text_of(object, "name"));

		util_copy(phase->result, sizeof(phase->result), text_of(object, "result"));
		phase->ms = (unsigned int)number_of(object, "ms");
	}
}

static void parse_findings(struct json_object *document, struct outcome *outcome)
{
	struct json_object *findings;
	size_t i, nr = array_of(document, "findings", &findings);
	struct finding finding;
	enum finding_code code;

	for (i = 0; i < nr; i++) {
		struct json_object *object = json_object_array_get_idx(findings, i);
		const char *word = text_of(object, "code");

		/* Codes of the self-test's causes share one row. */
		if (!finding_find(word, &code))
			code = FINDING_CUDA;
		finding_make(&finding, code, text_of(object, "bdf"), "%s", text_of(object, "evidence"));
		if (code == FINDING_CUDA)
			util_copy(finding.word, sizeof(finding.word), word);
		/* Made for this machine by the check; what the row alone says has no driver's name and no apt lines. */
		util_copy(finding.command, sizeof(finding.command), text_of(object, "command"));
		outcome_add(outcome, &finding);
	}
}

static enum run run_of(const char *word)
{
	int i;

	for (i = 0; i < RUN_NR; i++)
		if (!strcmp(outcome_run_word(i), word))
			return i;
	return RUN_NONE;
}

static bool flag_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && json_object_get_boolean(value);
}

static bool parse_outcome(struct json_object *document, struct json_object *card, struct outcome *outcome)
{
	struct json_object *run = object_of(card, "run"), *rates = object_of(card, "rates");
	struct json_object *memory = object_of(card, "memory");

	if (!run)
		return false;

	outcome->run = run_of(text_of(run, "state"));
	util_copy(outcome->level, sizeof(outcome->level), text_of(run, "level"));
	outcome->pid = (int)number_of(run, "pid");
	outcome->pid_ticks = number_of(run, "pid_ticks");
	outcome->started = (long long)number_of(run, "started");
	outcome->ended = (long long)number_of(run, "ended");
	outcome->tested = json_object_object_get(card, "errors");
	outcome->simulated = flag_of(card, "simulated");
	outcome->errors = number_of(card, "errors");
	outcome->h2d_mbs = (unsigned int)number_of(rates, "h2d_mbs");
	outcome->d2h_mbs = (unsigned int)number_of(rates, "d2h_mbs");
	outcome->link_mbs = (unsigned int)number_of(rates, "link_mbs");
	outcome->tested_mib = (unsigned int)number_of(memory, "tested_mib");
	outcome->mem_mib = (unsigned int)number_of(memory, "total_mib");
	if (!verdict_find(text_of(card, "verdict"), &outcome->verdict))
		outcome->verdict = VERDICT_NONE;
	parse_phases(card, outcome);
	parse_findings(document, outcome);
	return true;
}

/**
 * state_pid_ticks - when a process started
 * @pid:	the process
 *
 * Return: clock ticks since boot (proc(5), field 22 of stat); 0 when there is no such process, or only what is left of it
 * until its parent looks.
 */
unsigned long long state_pid_ticks(int pid)
{
	unsigned long long ticks = 0;
	char path[64], text[1024], *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (util_read(path, text, sizeof(text)))
		return 0;

	/* The name in parentheses may hold anything, blanks and parentheses too. */
	rest = strrchr(text, ')');
	if (!rest || strspn(rest + 1, " ZX") > 1)
		return 0;
	if (sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			    &ticks) != 1)
		return 0;
	return ticks;
}

static bool is_present(const char *bdf)
{
	char path[CARD_PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	return !access(path, F_OK);
}

/* A file tells what was; what has happened since is judged when it is read. */
static void judge_age(struct row *row)
{
	struct outcome *outcome = row->outcome;
	struct finding missing;

	if (outcome->run == RUN_RUNNING && state_pid_ticks(outcome->pid) != outcome->pid_ticks) {
		outcome->run = RUN_INTERRUPTED;
		outcome->verdict = VERDICT_NONE;
	}

	if (outcome->run == RUN_RUNNING || outcome->verdict == VERDICT_LOST || is_present(row->card.bdf))
		return;

	outcome->verdict = VERDICT_LOST;
	/* What the check found comes behind what is true now. */
	finding_make(&missing, FINDING_CARD_MISSING, row->card.bdf, "the kernel does not see it any more");
	memmove(&outcome->finding[1], &outcome->finding[0], sizeof(outcome->finding) - sizeof(missing));
	outcome->finding[0] = missing;
	if (outcome->nr_finding < ARRAY_SIZE(outcome->finding))
		outcome->nr_finding++;
}

static int read_file(const char *dir, const char *bdf, struct row *row)
{
	char path[PATH_MAX + ADDRESS_MAX + 8], *text CLEANUP_FREE = malloc(STATE_SIZE_MAX);
	struct json_object *document, *cards, *card;
	struct outcome *outcome;
	int ret = -EBADMSG;

	if (!text)
		return -ENOMEM;

	snprintf(path, sizeof(path), "%s/%s.json", dir, bdf);
	ret = util_read(path, text, STATE_SIZE_MAX);
	if (ret)
		return ret;

	memset(row, 0, sizeof(*row));
	document = json_tokener_parse(text);
	if (!document)
		return -EBADMSG;

	outcome = result_outcome(row);
	ret = -EBADMSG;
	if (array_of(document, "cards", &cards) == 1) {
		card = json_object_array_get_idx(cards, 0);
		if (parse_card(card, &row->card) && !strcmp(row->card.bdf, bdf) && parse_outcome(document, card, outcome))
			ret = 0;
	}

	json_object_put(document);
	if (ret) {
		free(outcome);
		row->outcome = NULL;
		return ret;
	}

	judge_age(row);
	return 0;
}

/**
 * state_forget - drop what was stored of a card
 * @bdf:	its address
 */
void state_forget(const char *bdf)
{
	char name[ADDRESS_MAX + 8];
	int dir_fd CLEANUP_CLOSE = open_own_dir();

	snprintf(name, sizeof(name), "%s.json", bdf);
	if (dir_fd >= 0)
		unlinkat(dir_fd, name, 0);
}

/**
 * state_read - the last check of a card
 * @bdf:	its address
 * @ret_row:	filled on success; its outcome is the caller's to free
 *
 * Looks at what root's checks left and at this user's own; the later one counts.
 *
 * Return: 0, or a negative errno when there is none or it cannot be understood.
 */
int state_read(const char *bdf, struct row *ret_row)
{
	struct row root, own;
	char path[PATH_MAX];
	bool has_root, has_own = false;

	if (own_dir(path, sizeof(path)))
		has_own = !read_file(path, bdf, &own);
	else
		path[0] = '\0';
	has_root = strcmp(path, STATE_ROOT) && !getenv("RUNTIME_DIRECTORY") && !read_file(STATE_ROOT, bdf, &root);

	if (!has_own && !has_root)
		return -ENOENT;

	if (has_own && has_root) {
		has_own = own.outcome->started >= root.outcome->started;
		free(has_own ? root.outcome : own.outcome);
	}

	*ret_row = has_own ? own : root;
	return 0;
}

/**
 * state_attach - give a card its last check
 * @row:	a card that is there; gets an outcome when the last check at its address was of the same kind of card
 */
void state_attach(struct row *row)
{
	struct row stored;

	if (state_read(row->card.bdf, &stored))
		return;

	if (stored.card.vendor != row->card.vendor || stored.card.device != row->card.device) {
		free(stored.outcome);
		return;
	}

	free(row->outcome);
	row->outcome = stored.outcome;
}

static int each_in(const char *dir, int (*take)(const char *bdf, void *data), void *data)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	struct address address;
	char name[ADDRESS_MAX];
	int ret = 0;

	if (!stream)
		return 0;

	while (!ret && (entry = readdir(stream))) {
		size_t len = address_parse_prefix(entry->d_name, &address);

		if (!len || strcmp(entry->d_name + len, ".json"))
			continue;
		address_format(&address, name, sizeof(name));
		ret = take(name, data);
	}

	closedir(stream);
	return ret;
}

/**
 * state_each - walk the cards that were ever checked since boot
 * @take:	called with each address, possibly twice; not 0 ends the walk
 * @data:	handed to @take
 *
 * Return: what @take returned last.
 */
int state_each(int (*take)(const char *bdf, void *data), void *data)
{
	char path[PATH_MAX];
	int ret = 0;

	if (own_dir(path, sizeof(path)))
		ret = each_in(path, take, data);
	else
		path[0] = '\0';
	if (!ret && strcmp(path, STATE_ROOT) && !getenv("RUNTIME_DIRECTORY"))
		ret = each_in(STATE_ROOT, take, data);
	return ret;
}

/**
 * state_note_unplug - remember that a card left, for state_each_unplug()
 * @bdf:	its address
 */
void state_note_unplug(const char *bdf)
{
	int dir_fd CLEANUP_CLOSE = open_own_dir(), fd CLEANUP_CLOSE = -1;
	struct stat stat;
	char line[64];

	if (dir_fd >= 0)
		fd = openat(dir_fd, UNPLUGS_NAME, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (!fstat(fd, &stat) && stat.st_size > UNPLUGS_MAX && ftruncate(fd, 0))
		return;
	/* One write, so that lines of two cards that leave together do not mix. */
	snprintf(line, sizeof(line), "%lld %s\n", (long long)time(NULL), bdf);
	write_all(fd, line);
}

static void each_unplug_in(const char *dir, void (*take)(const char *bdf, long long when, void *data), void *data)
{
	char path[PATH_MAX + sizeof(UNPLUGS_NAME) + 1], line[64], bdf[ADDRESS_MAX];
	FILE *file CLEANUP_FILE = NULL;
	struct address address;
	long long when;

	snprintf(path, sizeof(path), "%s/" UNPLUGS_NAME, dir);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lld %19s", &when, bdf) == 2 && !address_parse(bdf, &address))
			take(bdf, when, data);
}

/**
 * state_each_unplug - walk what is remembered of cards that left since boot
 * @take:	called with address and time in seconds since the epoch
 * @data:	handed to @take
 */
void state_each_unplug(void (*take)(const char *bdf, long long when, void *data), void *data)
{
	char path[PATH_MAX];

	if (own_dir(path, sizeof(path)))
		each_unplug_in(path, take, data);
	else
		path[0] = '\0';
	if (strcmp(path, STATE_ROOT) && !getenv("RUNTIME_DIRECTORY"))
		each_unplug_in(STATE_ROOT, take, data);
}

/* Process that holds a lock on a file, by the kernel's list (proc_locks(5)); 0 = not to be told. */
static int lock_holder(int fd)
{
	FILE *file CLEANUP_FILE = fopen("/proc/locks", "re");
	unsigned long inode;
	struct stat stat;
	char line[256];
	int pid;

	if (!file || fstat(fd, &stat))
		return 0;

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %*x:%*x:%lu", &pid, &inode) == 2 && inode == stat.st_ino)
			return pid;
	return 0;
}

static void name_process(int pid, char *buf, size_t size)
{
	char path[64], comm[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (!pid || util_read(path, comm, sizeof(comm)))
		util_copy(buf, size, "another process");
	else
		snprintf(buf, size, "%s (pid %d)", comm, pid);
}

/**
 * state_lock_card - claim a card for one check
 * @card:	a live card
 * @holder:	filled with who has it, on -EBUSY
 * @size:	bytes in @holder
 *
 * The lock sits on the card's own file in sysfs: it needs no folder, works for every user, and ends with the card.
 *
 * Return: a descriptor that holds the lock until it is closed, -EBUSY, or another negative errno.
 */
int state_lock_card(const struct card *card, char *holder, size_t size)
{
	char path[CARD_PATH_MAX + 16];
	int fd, ret;

	card_path(card, "config", path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;

	ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
	name_process(lock_holder(fd), holder, size);
	close(fd);
	return ret;
}

/* A descriptor that holds a slot, -EAGAIN when it is taken, or another negative errno. */
static int try_slot(int dir_fd, unsigned int number)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "slot.%u", number);
	fd = openat(dir_fd, name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -EAGAIN;
}

/**
 * state_try_all_slots - claim the slots that are still missing, from the first on
 * @max:	number of slots
 * @fds:	descriptors, @max of them; those held so far are kept
 * @held:	how many are held, changed
 *
 * Who wants all takes them in order and keeps what he has: two who do so cannot block each other.
 *
 * Return: 0 when all are held, -EAGAIN when the next one is taken, another negative errno when slots cannot be had.
 */
int state_try_all_slots(unsigned int max, int *fds, unsigned int *held)
{
	int dir_fd CLEANUP_CLOSE = open_own_dir();

	if (dir_fd < 0)
		return dir_fd;
	for (; *held < max; (*held)++) {
		fds[*held] = try_slot(dir_fd, *held);
		if (fds[*held] < 0)
			return fds[*held];
	}
	return 0;
}

/**
 * state_try_slot - claim one of the slots for tests at once
 * @max:	number of slots, 0 = no limit
 *
 * Return: a descriptor that holds the slot until it is closed; -EAGAIN when all are taken; another negative errno when
 * slots cannot be had at all.
 */
int state_try_slot(unsigned int max)
{
	int dir_fd CLEANUP_CLOSE = open_own_dir();
	unsigned int i;
	int fd;

	if (dir_fd < 0)
		return dir_fd;
	if (!max)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (i = 0; i < max; i++) {
		fd = try_slot(dir_fd, i);
		if (fd != -EAGAIN)
			return fd;
	}

	return -EAGAIN;
}

/**
 * state_take_turn - let processes of this machine begin something one after another
 * @name:	of what they begin
 * @gap_ms:	least time between two beginnings
 *
 * Return: whether it is the caller's turn now; also when turns cannot be kept.
 */
bool state_take_turn(const char *name, unsigned int gap_ms)
{
	int dir_fd CLEANUP_CLOSE = open_own_dir(), fd CLEANUP_CLOSE = -1;
	long long now_ms = util_now_ms(), last_ms;
	char text[32] = "";

	if (dir_fd >= 0)
		fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return true;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return false;

	/* A time of another boot, or of the future, is none. */
	if (pread(fd, text, sizeof(text) - 1, 0) > 0 && sscanf(text, "%lld", &last_ms) == 1 && last_ms <= now_ms &&
	    now_ms - last_ms < gap_ms)
		return false;
	/* A time that is not kept costs the next one its gap, no more. */
	snprintf(text, sizeof(text), "%20lld\n", now_ms);
	(void)!pwrite(fd, text, strlen(text), 0);
	return true;
}
