// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/session-names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/parse.h"
#include "opreport/query/catalog.h"

/* The bound of CPU time for reading when sessions began, of which some can be hostile. */
#define READ_MAX_CPU_NS UINT64_C(10000000000)

static int is_session_file(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix_len = strlen(VMOP_SESSION_FILE_SUFFIX);
	return len > suffix_len &&
	       !strcmp(entry->d_name + len - suffix_len, VMOP_SESSION_FILE_SUFFIX);
}

struct vmop_error *vmop_session_names_list(const char *dir, struct vmop_words *ret)
{
	struct dirent **entries = NULL;
	struct vmop_error *err = NULL;
	int n = scandir(dir, &entries, is_session_file, alphasort);
	if (n < 0)
		return vmop_error_os(errno, "session directory %s", dir);
	for (int i = 0; i < n && !err; i++) {
		size_t len = strlen(entries[i]->d_name) - strlen(VMOP_SESSION_FILE_SUFFIX);
		char *name = NULL;
		if (vmop_array_reserve(ret->items, ret->capacity, ret->n + 1))
			name = strndup(entries[i]->d_name, len);
		if (name)
			ret->items[ret->n++] = name;
		else
			err = &vmop_error_no_memory;
	}
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	return err;
}

struct vmop_error *vmop_session_names_of_guests(const char *dir, const char *name,
						struct vmop_words *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words there = {0};
	struct vmop_error *err = vmop_session_names_list(dir, &there);
	size_t len = strlen(name);
	if (err && err->code != VMOP_ERROR_NO_MEMORY) {
		vmop_error_destroy(err);
		return NULL;
	}
	for (size_t i = 0; i < there.n && !err; i++) {
		if (strncmp(there.items[i], name, len) != 0 ||
		    there.items[i][len] != VMOP_GUEST_SESSION_MARK)
			continue;
		if (!vmop_array_reserve(ret->items, ret->capacity, ret->n + 1))
			return &vmop_error_no_memory;
		ret->items[ret->n++] = there.items[i];
		there.items[i] = NULL;
	}
	return err;
}

/* ---- in the order of time ------------------------------------------------------------ */

struct dated {
	char *name;
	uint64_t start_ns;
};

struct dated_list {
	struct dated *items; /* n */
	size_t n;
};

static void dated_list_deinit(struct dated_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].name);
	free(list->items);
}

static int compare_dated(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Read the times of a finished session: the facts of its start and its end. False: it has not both.
 */
static bool read_finished(struct vmop_db *db, struct vmop_span *ret)
{
	_cleanup_free_ char *start = NULL, *end = NULL;
	struct vmop_error *err = vmop_db_get_info(db, "start_ns", &start);
	if (!err)
		err = vmop_db_get_info(db, "end_ns", &end);
	bool is_finished = !err && start && end && vmop_parse_u64(start, 10, &ret->from_ns) &&
			   vmop_parse_u64(end, 10, &ret->to_ns);
	vmop_error_destroy(err); /* the facts are read once more, and with them the error */
	if (is_finished && ret->to_ns < ret->from_ns)
		ret->to_ns = ret->from_ns;
	return is_finished;
}

/* Set *ret to the times of a session. */
static struct vmop_error *read_span(const char *dir, const char *name, struct vmop_span *ret)
{
	_cleanup_free_ char *path = NULL;
	struct vmop_session_input input = {.name = name};
	struct vmop_catalog catalog = {0};
	if (asprintf(&path, "%s/%s" VMOP_SESSION_FILE_SUFFIX, dir, name) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = vmop_db_open(path, &input.db);
	if (!err && !read_finished(input.db, ret)) {
		err = vmop_catalog_load_facts(&catalog, &input);
		if (!err)
			*ret = (struct vmop_span){catalog.sessions[0].start_ns,
						  catalog.sessions[0].end_ns};
		vmop_catalog_deinit(&catalog);
	}
	vmop_db_close(input.db);
	return err;
}

/*
 * Set *ret to the times of a session as its host has them: a guest's clock can be wrong, and its
 * session lies within the host's.
 */
static struct vmop_error *read_span_here(const char *dir, const char *name,
					 const struct vmop_words *names, struct vmop_span *ret)
{
	size_t len = (size_t)(strchrnul(name, VMOP_GUEST_SESSION_MARK) - name);
	for (size_t i = 0; name[len] && i < names->n; i++)
		if (strlen(names->items[i]) == len && !strncmp(names->items[i], name, len))
			return read_span(dir, names->items[i], ret);
	return read_span(dir, name, ret);
}

/* Add the session if it overlaps [from_ns, to_ns), to_ns 0: no end. */
static struct vmop_error *add_dated(struct dated_list *list, const char *dir,
				    const struct vmop_words *names, size_t of, uint64_t from_ns,
				    uint64_t to_ns)
{
	const char *name = names->items[of];
	struct vmop_span span;
	struct vmop_error *err = read_span_here(dir, name, names, &span);
	if (err && err->code != VMOP_ERROR_NO_MEMORY) {
		vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_error_prefix(err, "left out"));
		return NULL;
	}
	if (err || span.to_ns <= from_ns || (to_ns && span.from_ns >= to_ns))
		return err;
	struct dated *item = &list->items[list->n];
	*item = (struct dated){strdup(name), span.from_ns};
	list->n += item->name != NULL;
	return item->name ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *move_names(struct dated_list *list, struct vmop_words *ret)
{
	if (!vmop_array_reserve(ret->items, ret->capacity, ret->n + list->n + 1))
		return &vmop_error_no_memory;
	for (size_t i = 0; i < list->n; i++) {
		ret->items[ret->n++] = list->items[i].name;
		list->items[i].name = NULL;
	}
	return NULL;
}

static struct vmop_error *too_many(const char *dir, size_t n)
{
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "%zu sessions in %s; one report reads at most %d: select fewer by "
			      "time:FROM..TO, with dates",
			      n, dir, VMOP_SESSIONS_MAX);
}

struct vmop_error *vmop_session_names_in(const char *dir, const struct vmop_time_window *window,
					 struct vmop_words *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words names = {0};
	_cleanup_(dated_list_deinit) struct dated_list list = {0};
	uint64_t from_ns, to_ns;
	bool is_absolute = vmop_time_window_is_absolute(window, &from_ns, &to_ns);
	struct vmop_error *err = vmop_session_names_list(dir, &names);
	if (err)
		return err;
	/* Without times no session is left out, and none needs to be opened to count them. */
	if (!is_absolute && names.n > VMOP_SESSIONS_MAX)
		return too_many(dir, names.n);
	list.items = calloc(names.n + 1, sizeof(*list.items));
	if (!list.items)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < names.n && !err; i++) {
		if (vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) > READ_MAX_CPU_NS) {
			vmop_log_warning("%s: %zu of %zu sessions are left out: to read when the "
					 "others began took too long",
					 dir, names.n - i, names.n);
			break;
		}
		err = add_dated(&list, dir, &names, i, from_ns, to_ns);
	}
	if (err)
		return err;
	if (list.n > VMOP_SESSIONS_MAX)
		return too_many(dir, list.n);
	if (list.n)
		qsort(list.items, list.n, sizeof(*list.items), compare_dated);
	return move_names(&list, ret);
}
