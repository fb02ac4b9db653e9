// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/setup.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

static const uint64_t second_ns = 1000000000;

/* ---- lists and strings -------------------------------------------------- */

static void list_clear(struct vmop_setup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct vmop_setup_list){0};
}

static struct vmop_error *list_add(struct vmop_setup_list *list, const char *key,
				   const char *text, size_t len)
{
	if (list->n == VMOP_SETUP_MAX_LIST)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: more than %d elements", key,
				      VMOP_SETUP_MAX_LIST);
	char **grown = realloc(list->items, (list->n + 1) * sizeof(*grown));
	if (!grown)
		return &vmop_error_no_memory;
	list->items = grown;
	grown[list->n] = strndup(text, len);
	if (!grown[list->n])
		return &vmop_error_no_memory;
	list->n++;
	return NULL;
}

/* Up to the next comma; an event's between slashes, "cpu/event=1,umask=2/", is no end. */
static size_t element_len(const char *key, const char *text)
{
	size_t len = strcspn(text, ",");
	if (strcmp(key, "event") != 0)
		return len;
	const char *slash = memchr(text, '/', len);
	const char *end = slash ? strchr(slash + 1, '/') : NULL;
	return end ? (size_t)(end - text) + strcspn(end, ",") : len;
}

/* Splits at commas; blanks around an element go. */
static struct vmop_error *list_add_all(struct vmop_setup_list *list, const char *key,
				       const char *value, bool may_be_empty)
{
	for (const char *at = value;; at++) {
		const char *end = at + element_len(key, at), *next = end;
		while (at < end && isblank((unsigned char)*at))
			at++;
		while (end > at && isblank((unsigned char)end[-1]))
			end--;
		if (at == end && !may_be_empty)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s: '%s' has an empty element", key, value);
		if (at < end && *at == ';') /* alone on a line of the file it would be one */
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s: '%s': a ';' at the start of an element begins a "
					      "comment",
					      key, value);
		struct vmop_error *err = list_add(list, key, at, (size_t)(end - at));
		if (err)
			return err;
		at = next;
		if (!*at)
			return NULL;
	}
}

static struct vmop_error *set_string(char **field, const char *value)
{
	char *copy = NULL;
	if (*value) {
		copy = strdup(value);
		if (!copy)
			return &vmop_error_no_memory;
	}
	free(*field);
	*field = copy;
	return NULL;
}

/* ---- one function a kind of value --------------------------------------- */

static struct vmop_error *set_events(struct vmop_setup *setup, const char *key, const char *value)
{
	return *value ? list_add_all(&setup->events, key, value, false) : NULL;
}

static const struct {
	const char *word;
	unsigned flags;
} separate_words[] = {
	{"none", 0},
	{"lib", VMOP_SETUP_SEPARATE_LIB},
	{"kernel", VMOP_SETUP_SEPARATE_KERNEL | VMOP_SETUP_SEPARATE_LIB},
	{"thread", VMOP_SETUP_SEPARATE_THREAD},
	{"cpu", VMOP_SETUP_SEPARATE_CPU},
	{"all", VMOP_SETUP_SEPARATE_LIB | VMOP_SETUP_SEPARATE_KERNEL | VMOP_SETUP_SEPARATE_THREAD |
			VMOP_SETUP_SEPARATE_CPU},
};
#define N_SEPARATE_WORDS (sizeof(separate_words) / sizeof(separate_words[0]))

static struct vmop_error *set_separate(struct vmop_setup *setup, const char *key,
				       const char *value)
{
	unsigned flags = 0;
	_cleanup_free_ char *copy = strdup(value);
	if (!copy)
		return &vmop_error_no_memory;
	char *save = NULL;
	char *word = strtok_r(copy, ", \t", &save);
	bool is_empty = !word;
	for (; word; word = strtok_r(NULL, ", \t", &save)) {
		size_t i = 0;
		while (i < N_SEPARATE_WORDS && strcmp(word, separate_words[i].word) != 0)
			i++;
		is_empty = i == N_SEPARATE_WORDS;
		if (is_empty)
			break;
		flags |= separate_words[i].flags;
	}
	if (is_empty)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is none of none, lib, kernel, thread, cpu, all "
				      "(several with commas)",
				      key, word ? word : value);
	setup->separate = flags;
	return NULL;
}

static struct vmop_error *set_path(char **field, const char *key, const char *value)
{
	if (*value && *value != '/')
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: '%s' is not an absolute path", key,
				      value);
	return set_string(field, value);
}

static struct vmop_error *set_vmlinux(struct vmop_setup *setup, const char *key, const char *value)
{
	return set_path(&setup->vmlinux, key, value);
}

static struct vmop_error *set_xen(struct vmop_setup *setup, const char *key, const char *value)
{
	return set_path(&setup->xen, key, value);
}

static struct vmop_error *set_session_dir(struct vmop_setup *setup, const char *key,
					  const char *value)
{
	if (*value != '/')
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: '%s' is not an absolute path", key,
				      value);
	return set_string(&setup->session_dir, value);
}

/* None is "", as the list's values go: each option replaces what the file says. */
static struct vmop_error *set_active_domains(struct vmop_setup *setup, const char *key,
					     const char *value)
{
	return *value && strcmp(value, "none") != 0
		       ? list_add_all(&setup->active_domains, key, value, false)
		       : NULL;
}

static struct vmop_error *set_passive_domains(struct vmop_setup *setup, const char *key,
					      const char *value)
{
	return list_add_all(&setup->passive_domains, key, value, false);
}

struct vmop_error *vmop_setup_split_image(const char *text, char **ret_path,
					  uint64_t *ret_offset_bytes)
{
	const char *plus = strrchr(text, '+');
	uint64_t offset = 0;
	size_t len = strlen(text);
	if (plus && !strncmp(plus, "+0x", 3)) {
		if (!vmop_parse_u64(plus + 3, 16, &offset))
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "passive-images: '%s': '%s' is not a hexadecimal offset",
					      text, plus + 1);
		len = (size_t)(plus - text);
	}
	if (len && *text != '/')
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "passive-images: '%s' is not an absolute path", text);
	if (!len && offset)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "passive-images: '%s' has an offset and no path", text);
	*ret_path = NULL;
	*ret_offset_bytes = offset;
	if (len && !(*ret_path = strndup(text, len)))
		return &vmop_error_no_memory;
	return NULL;
}

static struct vmop_error *set_passive_images(struct vmop_setup *setup, const char *key,
					     const char *value)
{
	struct vmop_setup_list *images = &setup->passive_images;
	size_t first = images->n;
	struct vmop_error *err = *value ? list_add_all(images, key, value, true) : NULL;
	for (size_t i = first; !err && i < images->n; i++) {
		_cleanup_free_ char *path = NULL;
		uint64_t offset;
		err = vmop_setup_split_image(images->items[i], &path, &offset);
	}
	return err;
}

static struct vmop_error *set_buffer_size(struct vmop_setup *setup, const char *key,
					  const char *value)
{
	uint64_t bytes;
	if (!vmop_parse_size_bytes(value, &bytes) ||
	    (bytes && (bytes < 8192 || bytes > (uint64_t)1 << 30)))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not a size between 8K and 1G, or 0 for the default",
				      key, value);
	setup->buffer_bytes = bytes;
	return NULL;
}

static struct vmop_error *set_flush_interval(struct vmop_setup *setup, const char *key,
					     const char *value)
{
	uint64_t ns;
	if (!vmop_parse_duration_ns(value, &ns) || ns < second_ns / 10 || ns > 3600 * second_ns)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not a time between 100ms and 1h", key, value);
	setup->flush_ns = ns;
	return NULL;
}

static struct vmop_error *set_guest_cpu(struct vmop_setup *setup, const char *key,
					const char *value)
{
	_cleanup_free_ char *number = strndup(value, strcspn(value, "%"));
	double percent = -1;
	char *end = NULL;
	if (!number)
		return &vmop_error_no_memory;
	if (*number >= '0' && *number <= '9')
		percent = strtod(number, &end);
	const char *rest = value + strlen(number);
	bool is_good = end && !*end && (!*rest || !strcmp(rest, "%"));
	if (!is_good || percent > 100)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not a part of one CPU between 0 and 100%%, in "
				      "steps of 0.1%%",
				      key, value);
	setup->guest_cpu_permille = (unsigned)(percent * 10 + 0.5);
	return NULL;
}

static struct vmop_error *set_rollup(struct vmop_setup *setup, const char *key, const char *value)
{
	uint64_t minute_ns = 0, hour_ns = 0;
	bool is_good = !strcmp(value, "off");
	const char *comma = strchr(value, ',');
	if (!is_good) {
		_cleanup_free_ char *first = strndup(value, strcspn(value, ", \t"));
		if (!first)
			return &vmop_error_no_memory;
		is_good = vmop_parse_duration_ns(first, &minute_ns) && minute_ns >= 60 * second_ns;
	}
	if (is_good && comma) {
		comma += 1 + strspn(comma + 1, " \t");
		is_good = vmop_parse_duration_ns(comma, &hour_ns) && hour_ns >= 3600 * second_ns &&
			  hour_ns >= minute_ns;
	}
	if (!is_good)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is neither 'off' nor two ages, as '10m,1d', at which "
				      "intervals become a minute (at least 1m) and an hour (at least 1h) long",
				      key, value);
	setup->minute_after_ns = minute_ns;
	setup->hour_after_ns = hour_ns;
	return NULL;
}

static struct vmop_error *set_session_mode(struct vmop_setup *setup, const char *key,
					   const char *value)
{
	uint64_t mode;
	if (!vmop_parse_u64(value, 8, &mode) || (mode & 0600) != 0600 || (mode & ~(uint64_t)0666))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not an octal mode such as 0644 or 0600", key, value);
	setup->session_mode = (mode_t)mode;
	return NULL;
}

static struct vmop_error *set_status_group(struct vmop_setup *setup, const char *key,
					   const char *value)
{
	(void)key; /* whether there is such a group is the daemon's to say */
	return set_string(&setup->status_group, value);
}

/* ---- values as text ------------------------------------------------------ */

static void put_list(FILE *out, const char *key, const struct vmop_setup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		fprintf(out, "%s = %s\n", key, list->items[i]);
}

static void put_events(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_list(out, key, &setup->events);
}

static void put_active_domains(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_list(out, key, &setup->active_domains);
}

static void put_passive_domains(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_list(out, key, &setup->passive_domains);
}

/* On one line: an empty element, for a domain without an image, must keep its place. */
static void put_passive_images(FILE *out, const char *key, const struct vmop_setup *setup)
{
	const struct vmop_setup_list *images = &setup->passive_images;
	if (images->n)
		fprintf(out, "%s = ", key);
	for (size_t i = 0; i < images->n; i++)
		fprintf(out, "%s%s", i ? "," : "", images->items[i]);
	if (images->n)
		fputc('\n', out);
}

static void put_separate(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = ", key);
	const char *gap = "";
	unsigned left = setup->separate;
	for (size_t i = N_SEPARATE_WORDS; i-- > 1 && left;) {
		unsigned flags = separate_words[i].flags;
		if ((setup->separate & flags) != flags || !(left & flags))
			continue;
		fprintf(out, "%s%s", gap, separate_words[i].word);
		gap = ",";
		left &= ~flags;
	}
	fputs(*gap ? "\n" : "none\n", out);
}

static void put_string(FILE *out, const char *key, const char *value)
{
	if (value)
		fprintf(out, "%s = %s\n", key, value);
}

static void put_vmlinux(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_string(out, key, setup->vmlinux);
}

static void put_xen(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_string(out, key, setup->xen);
}

static void put_session_dir(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_string(out, key, setup->session_dir);
}

static void put_status_group(FILE *out, const char *key, const struct vmop_setup *setup)
{
	put_string(out, key, setup->status_group);
}

static void put_buffer_size(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->buffer_bytes)
		fprintf(out, "%s = %" PRIu64 "\n", key, setup->buffer_bytes);
}

/* In the largest unit that divides it. */
static void put_span(FILE *out, uint64_t seconds)
{
	if (seconds % 86400 == 0)
		fprintf(out, "%" PRIu64 "d", seconds / 86400);
	else if (seconds % 3600 == 0)
		fprintf(out, "%" PRIu64 "h", seconds / 3600);
	else if (seconds % 60 == 0)
		fprintf(out, "%" PRIu64 "m", seconds / 60);
	else
		fprintf(out, "%" PRIu64 "s", seconds);
}

static void put_flush_interval(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = ", key);
	if (setup->flush_ns % second_ns)
		fprintf(out, "%" PRIu64 "ms", setup->flush_ns / 1000000);
	else
		put_span(out, setup->flush_ns / second_ns);
	fputc('\n', out);
}

static void put_guest_cpu(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = %u.%u%%\n", key, setup->guest_cpu_permille / 10,
		setup->guest_cpu_permille % 10);
}

static void put_rollup(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = ", key);
	if (setup->minute_after_ns)
		put_span(out, setup->minute_after_ns / second_ns);
	else
		fputs("off", out);
	if (setup->hour_after_ns) {
		fputc(',', out);
		put_span(out, setup->hour_after_ns / second_ns);
	}
	fputc('\n', out);
}

static void put_session_mode(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = %04o\n", key, (unsigned)setup->session_mode);
}

/* ---- the table of keys ----------------------------------------------------- */

#define LIST_AT(field) offsetof(struct vmop_setup, field)
#define NO_LIST SIZE_MAX

static const struct setup_key {
	const char *name;
	struct vmop_error *(*set)(struct vmop_setup *setup, const char *key, const char *value);
	void (*put)(FILE *out, const char *key, const struct vmop_setup *setup);
	size_t list_at; /* where its struct vmop_setup_list is */
} setup_keys[] = {
	{"event", set_events, put_events, LIST_AT(events)},
	{"separate", set_separate, put_separate, NO_LIST},
	{"vmlinux", set_vmlinux, put_vmlinux, NO_LIST},
	{"xen", set_xen, put_xen, NO_LIST},
	{"session-dir", set_session_dir, put_session_dir, NO_LIST},
	{"active-domains", set_active_domains, put_active_domains, LIST_AT(active_domains)},
	{"passive-domains", set_passive_domains, put_passive_domains, LIST_AT(passive_domains)},
	{"passive-images", set_passive_images, put_passive_images, LIST_AT(passive_images)},
	{"guest-cpu", set_guest_cpu, put_guest_cpu, NO_LIST},
	{"buffer-size", set_buffer_size, put_buffer_size, NO_LIST},
	{"flush-interval", set_flush_interval, put_flush_interval, NO_LIST},
	{"rollup", set_rollup, put_rollup, NO_LIST},
	{"session-mode", set_session_mode, put_session_mode, NO_LIST},
	{"status-group", set_status_group, put_status_group, NO_LIST},
};
#define N_KEYS (sizeof(setup_keys) / sizeof(setup_keys[0]))

/* len lets a key be looked up in the middle of a line. */
static const struct setup_key *find_key(const char *name, size_t len)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (strlen(setup_keys[i].name) == len && !memcmp(setup_keys[i].name, name, len))
			return &setup_keys[i];
	return NULL;
}

static struct vmop_error *unknown_key(const char *name)
{
	char known[256] = "";
	size_t len = 0;
	for (size_t i = 0; i < N_KEYS; i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					setup_keys[i].name);
	return vmop_error_new(VMOP_ERROR_USAGE, "there is no key '%.80s'; there are: %s", name,
			      known);
}

struct vmop_error *vmop_setup_init(struct vmop_setup *setup)
{
	*setup = (struct vmop_setup){
		.session_dir = strdup(VMOP_STATEDIR),
		.flush_ns = second_ns,
		.guest_cpu_permille = 10,
		.minute_after_ns = 600 * second_ns,
		.hour_after_ns = 86400 * second_ns,
		.session_mode = 0644,
	};
	struct vmop_error *err = setup->session_dir ? NULL : &vmop_error_no_memory;
	if (!err)
		err = list_add(&setup->passive_domains, "passive-domains", "all", 3);
	if (err)
		vmop_setup_deinit(setup);
	return err;
}

void vmop_setup_deinit(struct vmop_setup *setup)
{
	list_clear(&setup->events);
	list_clear(&setup->active_domains);
	list_clear(&setup->passive_domains);
	list_clear(&setup->passive_images);
	free(setup->vmlinux);
	free(setup->xen);
	free(setup->session_dir);
	free(setup->status_group);
	*setup = (struct vmop_setup){0};
}

/* What would break the file that it is saved in, or a terminal that shows it. */
static struct vmop_error *check_text(const char *key, const char *value)
{
	for (const char *at = value; *at; at++) {
		if ((unsigned char)*at < ' ' && *at != '\t')
			return vmop_error_new(VMOP_ERROR_USAGE, "%s: control character \\%03o", key,
					      (unsigned char)*at);
		if (*at == ';' && (at == value || isspace((unsigned char)at[-1])))
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s: '%s': a ';' after a blank begins a comment", key,
					      value);
	}
	return NULL;
}

struct vmop_error *vmop_setup_set(struct vmop_setup *setup, const char *key, const char *value,
				  bool append)
{
	const struct setup_key *found = find_key(key, strlen(key));
	if (!found)
		return unknown_key(key);
	struct vmop_error *err = check_text(key, value);
	if (err)
		return err;
	if (found->list_at == NO_LIST)
		return found->set(setup, key, value);
	struct vmop_setup_list *list = (struct vmop_setup_list *)((char *)setup + found->list_at);
	struct vmop_setup_list old = *list;
	if (!append)
		*list = (struct vmop_setup_list){0};
	err = found->set(setup, key, value);
	if (append)
		return err;
	struct vmop_setup_list gone = err ? *list : old;
	if (err)
		*list = old;
	list_clear(&gone);
	return err;
}

/* ---- reading ---------------------------------------------------------------- */

struct reading {
	struct vmop_setup *setup;
	const char *name, *at;
	unsigned line;
	bool seen[N_KEYS];
	struct vmop_error *err; /* the first one */
};

/*
 * inih's line reader.  Leading blanks go, so that no line is taken for the
 * continuation of the one before.  A line that does not fit is an error, not two lines.
 */
static char *read_line(char *buf, int size, void *arg)
{
	struct reading *reading = arg;
	if (!*reading->at || reading->err)
		return NULL;
	reading->line++;
	size_t len = strcspn(reading->at, "\n");
	const char *end = reading->at + len;
	while (isblank((unsigned char)*reading->at))
		reading->at++;
	len = (size_t)(end - reading->at);
	if (len + 3 > (size_t)size) {
		reading->err = vmop_error_new(VMOP_ERROR_USAGE,
					      "%s:%u: the line is longer than %d characters",
					      reading->name, reading->line, size - 3);
		return NULL;
	}
	memcpy(buf, reading->at, len);
	buf[len] = '\n';
	buf[len + 1] = '\0';
	reading->at = *end ? end + 1 : end;
	return buf;
}

static int take_pair(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *reading = arg;
	if (reading->err)
		return 0;
	struct vmop_error *err;
	const struct setup_key *key = find_key(name, strlen(name));
	if (*section) {
		err = vmop_error_new(VMOP_ERROR_USAGE, "'%.80s' is in a section [%.80s]; there are none",
				     name, section);
	} else if (!key) {
		err = unknown_key(name);
	} else {
		bool *seen = &reading->seen[key - setup_keys];
		err = vmop_setup_set(reading->setup, name, value ? value : "", *seen);
		*seen = true;
	}
	if (err)
		reading->err = vmop_error_prefix(err, "%s:%u", reading->name, reading->line);
	return !err;
}

struct vmop_error *vmop_setup_parse(struct vmop_setup *setup, const char *name, const char *text)
{
	if (strlen(text) > VMOP_SETUP_MAX_BYTES)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: larger than %d bytes", name,
				      VMOP_SETUP_MAX_BYTES);
#if HAVE_DECL_INI_MAX_LINE
	/* Where inih can be told at run time, lists of long paths fit on a line. */
	ini_use_stack = false;
	ini_max_line = ini_initial_alloc = 16384;
#endif
	struct reading reading = {.setup = setup, .name = name, .at = text};
	int status = ini_parse_stream(read_line, &reading, take_pair, &reading);
	if (reading.err)
		return reading.err;
	if (status > 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s:%d: not a 'key = value' line", name, status);
	return status < 0 ? &vmop_error_no_memory : NULL;
}

/* NULL text, no error: there is no such file. */
static struct vmop_error *read_text(const char *path, char **ret)
{
	size_t len;
	*ret = NULL;
	struct vmop_error *err = vmop_io_read_file(path, VMOP_SETUP_MAX_BYTES, ret, &len);
	if (err && err->os_errno == ENOENT) {
		vmop_error_destroy(err);
		return NULL;
	}
	if (err && err->code == VMOP_ERROR_LIMIT)
		err->code = VMOP_ERROR_USAGE;
	if (!err && strlen(*ret) != len)
		err = vmop_error_new(VMOP_ERROR_USAGE, "%s: holds a NUL byte: not a set-up file",
				     path);
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}

struct vmop_error *vmop_setup_read(struct vmop_setup *setup, const char *path, bool *ret_found)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = read_text(path, &text);
	if (ret_found)
		*ret_found = text != NULL;
	return err || !text ? err : vmop_setup_parse(setup, path, text);
}

/* ---- writing ---------------------------------------------------------------- */

struct vmop_error *vmop_setup_format(const struct vmop_setup *setup, char **ret)
{
	size_t len;
	FILE *out = open_memstream(ret, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < N_KEYS; i++)
		setup_keys[i].put(out, setup_keys[i].name, setup);
	if (fclose(out) == 0)
		return NULL;
	free(*ret);
	return &vmop_error_no_memory;
}

/* Which of the table's keys the line at text sets; N_KEYS: none. */
static size_t key_of_line(const char *text, size_t len)
{
	size_t begin = 0;
	while (begin < len && isblank((unsigned char)text[begin]))
		begin++;
	size_t end = begin;
	while (end < len && text[end] != '=' && text[end] != ':')
		end++;
	if (end == len)
		return N_KEYS;
	while (end > begin && isblank((unsigned char)text[end - 1]))
		end--;
	const struct setup_key *key = find_key(text + begin, end - begin);
	return key ? (size_t)(key - setup_keys) : N_KEYS;
}

/* Each changed key takes the place of its first line; new ones go to the end. */
static void put_merged(FILE *out, const char *text, const struct vmop_setup *setup,
		       bool changed[N_KEYS])
{
	bool put[N_KEYS] = {false};
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t key = key_of_line(text, len);
		if (key == N_KEYS || !changed[key]) {
			fwrite(text, 1, len, out);
			fputc('\n', out);
		} else if (!put[key]) {
			setup_keys[key].put(out, setup_keys[key].name, setup);
			put[key] = true;
		}
		text += len + (text[len] == '\n');
	}
	for (size_t i = 0; i < N_KEYS; i++)
		if (changed[i] && !put[i])
			setup_keys[i].put(out, setup_keys[i].name, setup);
}

static struct vmop_error *make_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return NULL;
	_cleanup_free_ char *dir = strndup(path, (size_t)(slash - path));
	if (!dir)
		return &vmop_error_no_memory;
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return vmop_error_os(errno, "%s", dir);
	return NULL;
}

struct vmop_error *vmop_setup_save(const struct vmop_setup *setup, const char *path,
				   const char *const *keys, size_t n)
{
	bool changed[N_KEYS] = {false};
	for (size_t i = 0; i < n; i++) {
		const struct setup_key *key = find_key(keys[i], strlen(keys[i]));
		if (!key)
			return unknown_key(keys[i]);
		changed[key - setup_keys] = true;
	}
	_cleanup_free_ char *old = NULL, *text = NULL;
	struct vmop_error *err = read_text(path, &old);
	if (err)
		return err;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return &vmop_error_no_memory;
	put_merged(out, old ? old : "# vmop's set-up: see vmopcontrol(8)\n", setup, changed);
	if (fclose(out) != 0)
		return &vmop_error_no_memory;
	err = make_parent(path);
	return err ? err : vmop_io_write_file_atomic(path, text, len, 0644);
}
