// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes what identifies a person or a machine out of a text. Reads nothing: known values are handed in, others are told
 * by their form. A value gets the same token wherever and however it is spelled, so that a reader can still tell that two
 * places mean the same. Tokens are counted, not computed from the value: a short one, as a MAC, could be guessed back.
 */
#include "redact.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <regex.h>
#include <string.h>

/* Shorter names are in too many words; whoever is called so is hidden by it already. */
#define NAME_MIN	2
#define SERIAL_MIN	5

#define HEX		"[0-9a-f]"
#define VALUE		"[^] \t\"',;)}\\]+"
#define BLANKS		"[ \t]*"
/* In JSON a quote inside of a text has a backslash before it. */
#define QUOTE		"\\\\*[\"']?"
#define IS		QUOTE "(" BLANKS "[:=#]+" BLANKS "|[ \t]+is[ \t]+)" QUOTE
#define SECRET_NAME	"((pass(word|wd|phrase)|secret|token|credential|psk|pwd|" \
			"(api|auth|private|access|license|signing|encryption|ssh)[ _-]?key)[a-z0-9_.-]*|pass)"
/* Has signs of which a VALUE is not made; one at its end belongs to the text. */
#define SECRET		"[^] \t\"'}\\]*[^] \t\"',;)}\\]"

/* proc_pid_comm(5) */
#define COMM_MAX	"15"

struct known {
	enum redact_kind kind;
	char *value;
	unsigned int number;
	bool searched;
};

struct redact {
	struct known *known;
	size_t nr;
	size_t room;
	unsigned int count[REDACT_NR];
	regex_t *regex;
};

/* A piece of a line that is to go: bytes from @start to @end. */
struct match {
	enum redact_kind kind;
	size_t start;
	size_t end;
};

/* Which @group of the expression is hidden; @fits may refuse a match by what is around it. */
struct pattern {
	enum redact_kind kind;
	const char *regex;
	int group;
	bool (*fits)(const char *line, struct match *match);
};

const char *redact_word(enum redact_kind kind)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		REDACTS(X)
#undef X
	};

	return words[kind];
}

/* "mac:02:42:ac:11:00:02": the end of a word is no part of the address behind it. */
static bool is_mac(const char *line, struct match *match)
{
	bool in_word = match->start && isalnum((unsigned char)line[match->start - 1]);

	if (in_word && match->end - match->start > strlen("00:00:00:00:00:00"))
		match->start += strlen("00:");
	return true;
}

/* Four numbers and neither more nor fewer: driver versions have three, those of a VBIOS five. */
static bool is_ipv4(const char *line, struct match *match)
{
	const char *next = line + match->end;
	char before = match->start ? line[match->start - 1] : ' ';

	return before != '.' && !isdigit((unsigned char)before) && !isdigit((unsigned char)next[0]) &&
	       !(next[0] == '.' && isxdigit((unsigned char)next[1]));
}

static bool is_ipv6(const char *line, struct match *match)
{
	char text[INET6_ADDRSTRLEN + 1];
	struct in6_addr address;
	size_t len;

	/* "addr:2001:db8::1", and a full stop or colon behind an address. */
	if (line[match->start] == ':' && line[match->start + 1] != ':')
		match->start++;
	while (match->end > match->start && (line[match->end - 1] == '.' ||
					     (line[match->end - 1] == ':' && line[match->end - 2] != ':')))
		match->end--;

	len = match->end - match->start;
	if (len < 3 || len >= sizeof(text))
		return false;
	memcpy(text, line + match->start, len);
	text[len] = '\0';
	return inet_pton(AF_INET6, text, &address) == 1;
}

/* What begins behind a quote goes up to the next, whatever blanks it has. Always true. */
static bool whole_quoted(const char *line, struct match *match)
{
	char before = match->start ? line[match->start - 1] : ' ';
	size_t len = strcspn(line + match->start, before == '"' ? "\"\\" : "'\"\\");

	if ((before == '"' || before == '\'') && match->start + len > match->end)
		match->end = match->start + len;
	return true;
}

/* A folder that every system has, or that a package made: its name says nothing of anybody. */
static bool is_system_folder(const char *path, size_t len)
{
	static const char *const folders[] = {
		"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr", "run",
		"var/lib", "var/log", "var/crash", "var/cache",
	};
	static const char *const inside[] = { "run/media", "run/user", "usr/local/home" };
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(inside); i++)
		if (len > strlen(inside[i]) && !strncmp(path + 1, inside[i], strlen(inside[i])))
			return false;
	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		n = strlen(folders[i]);
		if (len > n && !strncmp(path + 1, folders[i], n) && (len == n + 1 || path[n + 1] == '/'))
			return true;
	}
	return false;
}

/* Behind a compiler's -I or -isystem, without a blank between. */
static bool is_flag_before(const char *line, size_t at)
{
	size_t start = at;

	while (start && isalpha((unsigned char)line[start - 1]))
		start--;
	return start && start < at && line[start - 1] == '-' && (start == 1 || strchr(" \t\"'", line[start - 2]));
}

/* From the root on: no "N/A", no "x/y", but what stands behind a compiler's flag. */
static bool is_private_path(const char *line, struct match *match)
{
	const char *at = line + match->start;
	bool flag = is_flag_before(line, match->start);
	char before = match->start ? at[-1] : ' ';

	if (!flag && (isalnum((unsigned char)before) || strchr("._/-+]", before)))
		return false;
	/* The end of an element of our own block. */
	if (before == '<' && !memchr(at + 1, '/', match->end - match->start - 1))
		return false;
	return !is_system_folder(at, match->end - match->start) && whole_quoted(line, match);
}

/* Extended POSIX expressions, case does not matter. */
static const struct pattern patterns[] = {
	{ REDACT_UUID, "(GPU-|MIG-)?" HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}", 0, NULL },
	{ REDACT_UUID, HEX "{32,}", 0, NULL },
	{ REDACT_MAC, "(" HEX "{2}[:-]){5,}" HEX "{2}", 0, is_mac },
	{ REDACT_MAC, "(" HEX "{4}\\.){2}" HEX "{4}", 0, NULL },
	{ REDACT_IP, "([0-9]{1,3}\\.){3}[0-9]{1,3}", 0, is_ipv4 },
	{ REDACT_IP, "[0-9a-f:.]*:[0-9a-f]*:[0-9a-f:.]*", 0, is_ipv6 },
	{ REDACT_HOST, "[a-z][a-z0-9+.-]*://([^] \t\"'<>\\]+)", 1, NULL },
	{ REDACT_PATH, "/[^] \t\"',:;)}/^\\](\\\\+ |,[^] \t\"'\\]|[^] \t\"',:;)}\\])*", 0, is_private_path },
	{ REDACT_MAIL, "[a-z0-9._+-]+@[a-z][a-z0-9.-]*", 0, NULL },
	{ REDACT_SERIAL, "(serial([ _-]?(number|num|nr|no)\\.?)?|s/n|asset[ _-]?tag)" IS "(" VALUE ")", 5, whole_quoted },
	/*
	 * NVRM: Xid (PCI:0000:01:00): 13, pid=1234, name=python3, ... The name may have ", " too; what follows a very short one
	 * goes with it. The second form is for one with nothing behind it.
	 */
	{ REDACT_PROCESS, "pid=[^,]*, *name=((\\\\x..|.){0," COMM_MAX "}), ", 1, NULL },
	{ REDACT_PROCESS, "pid=[^,]*, *name=(([^,\"\\]|\\\\x|,[^ \"\\])+)", 1, NULL },
	/* ... and of our own findings, where it stands in the middle of a text */
	{ REDACT_PROCESS, "(([^\"\\]|\\\\.){1," COMM_MAX "}) \\(pid [0-9]+\\)", 1, NULL },
	/* nouveau names its clients by what the process is called and its number: "ch 2 [Xorg[812]]", "Xorg[812]: ..." */
	{ REDACT_PROCESS, "\\[([^]\"[]+)\\[[0-9]+\\]\\]", 1, NULL },
	{ REDACT_PROCESS, "nouveau [0-9a-f:.]+: ([^]:\"[]+)\\[[0-9]+\\]: ", 1, NULL },
	{ REDACT_SECRET, SECRET_NAME IS "(" SECRET ")", 6, whole_quoted },
	{ REDACT_SECRET, "(^|[ \t\"'])--?[a-z0-9_-]*" SECRET_NAME "[ \t]+" QUOTE "(" SECRET ")", 6, whole_quoted },
	{ REDACT_SECRET, "(authorization|cookie)" IS "([^\"'\\]+)", 3, NULL },
	{ REDACT_SECRET, "bearer[ \t]+(" SECRET ")", 1, NULL },
};

/**
 * redact_new - begin with what is told by its form alone
 *
 * Return: to be freed with redact_free().
 */
struct redact *redact_new(void)
{
	struct redact *redact = calloc(1, sizeof(*redact));
	size_t i;

	if (!redact)
		abort();
	redact->regex = calloc(ARRAY_SIZE(patterns), sizeof(*redact->regex));
	if (!redact->regex)
		abort();
	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		if (regcomp(&redact->regex[i], patterns[i].regex, REG_EXTENDED | REG_ICASE))
			abort();
	return redact;
}

void redact_free(struct redact *redact)
{
	size_t i;

	for (i = 0; i < redact->nr; i++)
		free(redact->known[i].value);
	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		regfree(&redact->regex[i]);
	free(redact->known);
	free(redact->regex);
	free(redact);
}

/* A MAC or an id is the same with and without what separates its digits. */
static bool is_same(enum redact_kind kind, const char *a, size_t len_a, const char *b)
{
	bool digits = kind == REDACT_MAC || kind == REDACT_UUID || kind == REDACT_MACHINE;
	size_t i = 0;

	for (;;) {
		while (digits && i < len_a && strchr(":-.", a[i]))
			i++;
		while (digits && *b && strchr(":-.", *b))
			b++;
		if (i == len_a || !*b)
			return i == len_a && !*b;
		if (tolower((unsigned char)a[i++]) != tolower((unsigned char)*b++))
			return false;
	}
}

static struct known *find_known(struct redact *redact, enum redact_kind kind, const char *value, size_t len)
{
	size_t i;

	for (i = 0; i < redact->nr; i++)
		if (redact->known[i].kind == kind && is_same(kind, value, len, redact->known[i].value))
			return &redact->known[i];
	return NULL;
}

static struct known *add_known(struct redact *redact, enum redact_kind kind, const char *value, size_t len)
{
	struct known *known = find_known(redact, kind, value, len);

	if (known)
		return known;

	redact->known = util_grow(redact->known, redact->nr, &redact->room, sizeof(*redact->known));
	known = &redact->known[redact->nr++];
	*known = (struct known){ .kind = kind, .value = strndup(value, len) };
	if (!known->value)
		abort();
	return known;
}

/* Words that a report is made of, and names that every other machine has: they say nothing about anybody. */
static bool is_common(const char *value)
{
	static const char *const words[] = {
		"localhost", "localdomain", "debian", "ubuntu", "linux", "root", "user", "admin", "test", "nvidia", "nouveau",
		"softtape", "kernel", "driver", "module", "card", "gpu", "pci", "none", "unknown", "default",
		"to be filled by o.e.m.", "default string", "system serial number", "not specified", "not applicable",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(value, words[i]))
			return true;
	return false;
}

static bool is_name(enum redact_kind kind)
{
	return kind == REDACT_HOST || kind == REDACT_USER;
}

/**
 * redact_add - hide this value wherever it stands
 * @redact:	gets it
 * @kind:	what it is
 * @value:	one spelling; MAC and ids are found in any. Too short or too common ones are left out
 */
void redact_add(struct redact *redact, enum redact_kind kind, const char *value)
{
	char *clean CLEANUP_FREE = util_clean_copy(value);
	size_t len = strlen(clean);

	value = clean;
	if (len < (is_name(kind) ? NAME_MIN : SERIAL_MIN) || is_common(value))
		return;
	/* The address of loopback and of what has none. */
	if (kind == REDACT_MAC && is_same(kind, value, len, "00:00:00:00:00:00"))
		return;
	add_known(redact, kind, value, len)->searched = true;
}

/* Length of @known at @text in any of its spellings, 0 when it does not begin there. */
static size_t known_at(const struct known *known, const char *text)
{
	bool digits = known->kind == REDACT_MAC || known->kind == REDACT_UUID || known->kind == REDACT_MACHINE;
	const char *value = known->value;
	size_t i = 0;

	for (; *value; value++) {
		if (digits && strchr(":-.", *value))
			continue;
		while (digits && i && text[i] && strchr(":-.", text[i]))
			i++;
		if (tolower((unsigned char)text[i]) != tolower((unsigned char)*value))
			return 0;
		i++;
	}

	return i;
}

static bool find_value(const struct known *known, const char *line, size_t from, struct match *ret_match)
{
	size_t start, len;

	for (start = from; line[start]; start++) {
		len = known_at(known, line + start);
		if (!len)
			continue;
		/* A name inside of a word is another word. */
		if (is_name(known->kind) && ((start && isalnum((unsigned char)line[start - 1])) ||
					     isalnum((unsigned char)line[start + len])))
			continue;
		*ret_match = (struct match){ .kind = known->kind, .start = start, .end = start + len };
		return true;
	}

	return false;
}

static bool find_pattern(const regex_t *regex, const struct pattern *pattern, const char *line, size_t from,
			 struct match *ret_match)
{
	regmatch_t part[7];
	struct match match = { .kind = pattern->kind };

	for (; line[from] && !regexec(regex, line + from, ARRAY_SIZE(part), part, from ? REG_NOTBOL : 0);
	     from += (size_t)part[0].rm_so + 1) {
		match.start = from + (size_t)part[pattern->group].rm_so;
		match.end = from + (size_t)part[pattern->group].rm_eo;
		/* A refused match may hold a good one that begins later. */
		if (match.end == match.start || (pattern->fits && !pattern->fits(line, &match)))
			continue;
		*ret_match = match;
		return true;
	}

	return false;
}

/* The earliest piece from @from on; of several there the longest. */
static bool find_first(const struct redact *redact, const char *line, size_t from, struct match *ret_match)
{
	struct match match, best = { .start = (size_t)-1 };
	size_t i;

	for (i = 0; i < redact->nr + ARRAY_SIZE(patterns); i++) {
		bool found;

		if (i >= redact->nr)
			found = find_pattern(&redact->regex[i - redact->nr], &patterns[i - redact->nr], line, from, &match);
		else
			found = redact->known[i].searched && find_value(&redact->known[i], line, from, &match);
		if (found && (match.start < best.start || (match.start == best.start && match.end > best.end)))
			best = match;
	}

	*ret_match = best;
	return best.start != (size_t)-1;
}

static void redact_line(struct redact *redact, const char *line, FILE *out)
{
	struct known *known;
	struct match match;
	size_t from = 0;

	while (find_first(redact, line, from, &match)) {
		known = add_known(redact, match.kind, line + match.start, match.end - match.start);
		if (!known->number)
			known->number = ++redact->count[match.kind];
		fprintf(out, "%.*s[%s-%u]", (int)(match.start - from), line + from, redact_word(match.kind), known->number);
		from = match.end;
	}

	fputs(line + from, out);
}

/**
 * redact_text - a copy of a text without what is to be hidden
 * @redact:	what to hide; remembers what it finds
 * @text:	lines
 *
 * Return: the copy, to be freed.
 */
char *redact_text(struct redact *redact, const char *text)
{
	/* A byte that is no UTF-8 would end what an expression finds: the rest of a name would stay. */
	char *rest = util_clean_copy(text), *line, *next = rest, *copy = NULL;
	FILE *out;
	size_t size;

	out = open_memstream(&copy, &size);
	if (!out)
		abort();

	while ((line = strsep(&next, "\n"))) {
		redact_line(redact, line, out);
		if (next)
			fputc('\n', out);
	}

	fclose(out);
	free(rest);
	return copy;
}

/* How many different values of a kind were hidden so far. */
unsigned int redact_count(const struct redact *redact, enum redact_kind kind)
{
	return redact->count[kind];
}
