// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/setup.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/event-text.h"
#include "libutil/parse.h"
#include "libutil/set-up/span.h"
#include "libutil/setup-key.h"

/* ---- lists and strings -------------------------------------------------- */

static void list_clear(struct vmop_setup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct vmop_setup_list){0};
}

static struct vmop_error *list_add(struct vmop_setup_list *list, const char *key, const char *text,
				   size_t len)
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

/* Return the length of the element at the start of text. */
static size_t element_len(const char *key, const char *text)
{
	return strcmp(key, "event") == 0 ? vmop_event_text_len(text) : strcspn(text, ",");
}

/* Split value at commas and remove the blanks around each element. */
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
			return vmop_error_new(VMOP_ERROR_USAGE, "%s: '%s' has an empty element",
					      key, value);
		if (at < end &&
		    *at == ';') /* on a line of its own the file would take it for a comment */
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

static struct vmop_error *set_separate(struct vmop_setup *setup, const char *key, const char *value)
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
				      "%s: '%s' is not one of none, lib, kernel, thread, cpu, all "
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

/* "none" is stored as "", like any empty list: each option replaces the file's value. */
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
			return vmop_error_new(
				VMOP_ERROR_USAGE,
				"passive-images: '%s': '%s' is not a hexadecimal offset", text,
				plus + 1);
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
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"%s: '%s' is not a size between 8K and 1G, or 0 for the default", key,
			value);
	setup->buffer_bytes = bytes;
	return NULL;
}

static struct vmop_error *set_flush_interval(struct vmop_setup *setup, const char *key,
					     const char *value)
{
	uint64_t ns;
	if (!vmop_parse_duration_ns(value, &ns) || ns < VMOP_NS_PER_S / 10 ||
	    ns > 3600 * VMOP_NS_PER_S)
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

static struct vmop_error *set_session_mode(struct vmop_setup *setup, const char *key,
					   const char *value)
{
	uint64_t mode;
	/*
	 * Another user who can write the files of a session could crash the daemon, which maps one
	 * of them.
	 */
	if (!vmop_parse_u64(value, 8, &mode) || (mode & 0600) != 0600 || (mode & ~(uint64_t)0644))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not an octal mode such as 0640 or 0600", key,
				      value);
	setup->session_mode = (mode_t)mode;
	return NULL;
}

static struct vmop_error *set_status_group(struct vmop_setup *setup, const char *key,
					   const char *value)
{
	(void)key; /* only the daemon can check that the group exists */
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

/* Print on one line: an empty element (a domain without an image) must keep its position. */
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

static void put_flush_interval(FILE *out, const char *key, const struct vmop_setup *setup)
{
	struct vmop_span_text flush;
	vmop_span_text(setup->flush_ns, &flush);
	fprintf(out, "%s = %s\n", key, flush.text);
}

static void put_guest_cpu(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = %u.%u%%\n", key, setup->guest_cpu_permille / 10,
		setup->guest_cpu_permille % 10);
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
	size_t list_at; /* offset of its struct vmop_setup_list */
} setup_keys[] = {
	{"event", set_events, put_events, LIST_AT(events)},
	{"separate", set_separate, put_separate, NO_LIST},
	{"vmlinux", set_vmlinux, put_vmlinux, NO_LIST},
	{"xen", set_xen, put_xen, NO_LIST},
	{"session-dir", set_session_dir, put_session_dir, NO_LIST},
	{"active-domains", set_active_domains, put_active_domains, LIST_AT(active_domains)},
	{"active-samples", vmop_setup_set_active_samples, vmop_setup_put_active_samples, NO_LIST},
	{"fetch-size", vmop_setup_set_fetch_size, vmop_setup_put_fetch_size, NO_LIST},
	{"passive-domains", set_passive_domains, put_passive_domains, LIST_AT(passive_domains)},
	{"passive-images", set_passive_images, put_passive_images, LIST_AT(passive_images)},
	{"guest-cpu", set_guest_cpu, put_guest_cpu, NO_LIST},
	{"guest-context", vmop_setup_set_guest_context, vmop_setup_put_guest_context, NO_LIST},
	{"off-cpu", vmop_setup_set_off_cpu, vmop_setup_put_off_cpu, NO_LIST},
	{"off-cpu-states", vmop_setup_set_off_cpu_states, vmop_setup_put_off_cpu_states, NO_LIST},
	{"waits", vmop_setup_set_waits, vmop_setup_put_waits, NO_LIST},
	{"code", vmop_setup_set_code, vmop_setup_put_code, NO_LIST},
	{"callgraph", vmop_setup_set_callgraph, vmop_setup_put_callgraph, NO_LIST},
	{"callgraph-depth", vmop_setup_set_callgraph_depth, vmop_setup_put_callgraph_depth,
	 NO_LIST},
	{"buffer-size", set_buffer_size, put_buffer_size, NO_LIST},
	{"flush-interval", set_flush_interval, put_flush_interval, NO_LIST},
	{"rollup", vmop_setup_set_rollup, vmop_setup_put_rollup, NO_LIST},
	{"ladder", vmop_setup_set_ladder, vmop_setup_put_ladder, NO_LIST},
	{"keep", vmop_setup_set_keep, vmop_setup_put_keep, NO_LIST},
	{"max-size", vmop_setup_set_max_size, vmop_setup_put_max_size, NO_LIST},
	{"rotate", vmop_setup_set_rotate, vmop_setup_put_rotate, NO_LIST},
	{"max-overhead", vmop_setup_set_max_overhead, vmop_setup_put_max_overhead, NO_LIST},
	{"nice", vmop_setup_set_nice, vmop_setup_put_nice, NO_LIST},
	{"session-mode", set_session_mode, put_session_mode, NO_LIST},
	{"status-group", set_status_group, put_status_group, NO_LIST},
};
_Static_assert(sizeof(setup_keys) / sizeof(setup_keys[0]) == VMOP_SETUP_KEYS, "each has a number");

size_t vmop_setup_key(const char *name, size_t len)
{
	size_t key = 0;
	while (key < VMOP_SETUP_KEYS && (strlen(setup_keys[key].name) != len ||
					 memcmp(setup_keys[key].name, name, len) != 0))
		key++;
	return key;
}

struct vmop_error *vmop_setup_unknown_key(const char *name)
{
	char known[512] = "";
	size_t len = 0;
	for (size_t i = 0; i < VMOP_SETUP_KEYS && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					setup_keys[i].name);
	return vmop_error_new(VMOP_ERROR_USAGE, "unknown key '%.80s'; the keys are: %s", name,
			      known);
}

void vmop_setup_put(FILE *out, size_t key, const struct vmop_setup *setup)
{
	setup_keys[key].put(out, setup_keys[key].name, setup);
}

/* ---- the whole --------------------------------------------------------------- */

struct vmop_error *vmop_setup_init(struct vmop_setup *setup)
{
	*setup = (struct vmop_setup){
		.session_dir = strdup(VMOP_STATEDIR),
		.stacks = {.mode = VMOP_STACKS_OFF,
			   .user_stack_bytes = VMOP_USER_STACK_BYTES,
			   .max_frames = VMOP_STACK_FRAMES_MAX},
		.flush_ns = VMOP_NS_PER_S,
		.guest_cpu_permille = 10,
		.nice = VMOP_DEFAULT_NICE,
		.code_bytes = VMOP_CODE_DEFAULT_BYTES,
		.fetch_bytes = VMOP_FETCH_DEFAULT_BYTES,
		.off_cpu = {.states = VMOP_OFF_CPU_DEFAULT_STATES},
		.session_mode = 0640,
	};
	vmop_setup_default_ladder(&setup->ladder);
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

/* Refuse characters that would damage the set-up file or a terminal that shows it. */
static struct vmop_error *check_text(const char *key, const char *value)
{
	for (const char *at = value; *at; at++) {
		if ((unsigned char)*at < ' ' && *at != '\t')
			return vmop_error_new(VMOP_ERROR_USAGE, "%s: control character 0x%02x", key,
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
	size_t number = vmop_setup_key(key, strlen(key));
	if (number == VMOP_SETUP_KEYS)
		return vmop_setup_unknown_key(key);
	const struct setup_key *found = &setup_keys[number];
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
