// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "opreport/arrange/session-names.h"
#include "opreport/output/time-text.h"
#include "opreport/query/catalog.h"

#define SUFFIX VMOP_SESSION_FILE_SUFFIX
#define CURRENT "current"

static const char *session_dir(const struct vmop_spec *spec)
{
	if (spec->archive)
		return vmop_archive_session_dir(spec->archive);
	return spec->session_dir ? spec->session_dir : VMOP_STATEDIR;
}

#define HOW_TO_MAKE_ONE "'vmopcontrol --start' records one, --session-dir=DIR looks elsewhere"

/* Return an error for a missing session that lists the existing ones. */
static struct vmop_error *no_such_session(const char *name, const char *dir)
{
	_cleanup_(vmop_words_deinit) struct vmop_words there = {0};
	struct vmop_error *err = vmop_session_names_list(dir, &there);
	if (err && err->os_errno != ENOENT)
		return err;
	vmop_error_destroy(err);
	if (!there.n)
		return vmop_error_new(VMOP_ERROR_CANT, "no sessions in %s; " HOW_TO_MAKE_ONE, dir);
	char names[160] = "";
	size_t len = 0;
	for (size_t i = 0; i < there.n && len < sizeof(names) - 1; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
					there.items[i]);
	if (len >= sizeof(names) - 1)
		memcpy(names + sizeof(names) - 4, "...", 4);
	return vmop_error_new(VMOP_ERROR_CANT,
			      "no session '%s' in %s (there: %s); " HOW_TO_MAKE_ONE, name, dir,
			      names);
}

/* Set *ret to the path of a session's file in an archive, by the path where it was. */
static struct vmop_error *path_in_archive(const struct vmop_archive *archive, const char *path,
					  char **ret)
{
	const char *name = vmop_archive_session_of(archive, path);
	*ret = NULL;
	if (!name)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "no session in %s was at %s; --list-sessions lists them",
				      vmop_archive_session_dir(archive), path);
	if (asprintf(ret, "%s/%s", vmop_archive_session_dir(archive), name) >= 0)
		return NULL;
	*ret = NULL;
	return &vmop_error_no_memory;
}

struct vmop_error *vmop_session_find(const struct vmop_spec *spec, const char *name, char **ret)
{
	bool is_path = strchr(name, '/');
	if (is_path && spec->archive)
		return path_in_archive(spec->archive, name, ret);
	int len = is_path ? asprintf(ret, "%s", name)
			  : asprintf(ret, "%s/%s" SUFFIX, session_dir(spec), name);
	if (len < 0) {
		*ret = NULL;
		return &vmop_error_no_memory;
	}
	if (!access(*ret, F_OK) || errno != ENOENT)
		return NULL;
	return is_path ? vmop_error_new(VMOP_ERROR_CANT, "no session file %s", name)
		       : no_such_session(name, session_dir(spec));
}

/* Set *ret to the time when a session's regular file in dir was written; false: no such file. */
static bool time_written(const char *dir, const char *name, struct timespec *ret)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	if (asprintf(&path, "%s/%s" SUFFIX, dir, name) < 0) {
		path = NULL;
		return false;
	}
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return false;
	*ret = st.st_mtim;
	return true;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Return the name of the session of dir that was written last, or NULL. The caller frees it. */
static char *find_newest(const char *dir)
{
	_cleanup_(vmop_words_deinit) struct vmop_words there = {0};
	const char *newest = NULL;
	struct timespec written, last = {0};
	vmop_error_destroy(vmop_session_names_list(dir, &there));
	for (size_t i = 0; i < there.n; i++) {
		if (strchr(there.items[i], VMOP_GUEST_SESSION_MARK) ||
		    !time_written(dir, there.items[i], &written) ||
		    (newest && !is_later(&written, &last)))
			continue;
		newest = there.items[i];
		last = written;
	}
	return newest ? strdup(newest) : NULL;
}

/* Append a copy of a name; NULL: no memory. */
static struct vmop_error *add_name(struct vmop_words *names, char *copy)
{
	if (!copy || !vmop_array_reserve(names->items, names->capacity, names->n + 1)) {
		free(copy);
		return &vmop_error_no_memory;
	}
	names->items[names->n++] = copy;
	return NULL;
}

/* Append the session to report by default: the current one, else the newest. */
static struct vmop_error *add_default(const struct vmop_spec *spec, struct vmop_words *names)
{
	_cleanup_free_ char *path = NULL;
	char *newest = NULL;
	if (asprintf(&path, "%s/" CURRENT SUFFIX, session_dir(spec)) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	if (access(path, F_OK) < 0 && errno == ENOENT)
		newest = find_newest(session_dir(spec));
	return add_name(names, newest ? newest : strdup(CURRENT));
}

/* List the names of the sessions to open, and set *ret_n_named to how many the spec names itself.
 */
static struct vmop_error *list_names(const struct vmop_spec *spec, struct vmop_words *names,
				     size_t *ret_n_named)
{
	uint64_t from_ns, to_ns;
	bool wants_all = false;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < spec->sessions.n && !err; i++) {
		bool is_all = !strcmp(spec->sessions.items[i], VMOP_ALL_SESSIONS);
		wants_all |= is_all;
		if (!is_all)
			err = add_name(names, strdup(spec->sessions.items[i]));
	}
	*ret_n_named = names->n;
	bool is_absolute = vmop_time_window_is_absolute(&spec->time, &from_ns, &to_ns);
	if (!err && (wants_all || (!names->n && is_absolute)))
		err = vmop_session_names_in(session_dir(spec), &spec->time, names);
	if (err && !wants_all && err->os_errno == ENOENT) { /* the default is missing, too */
		vmop_error_destroy(err);
		err = NULL;
	}
	if (!err && !names->n && wants_all)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      is_absolute ? "no session in %s is of that time"
						  : "no sessions in %s; " HOW_TO_MAKE_ONE,
				      session_dir(spec));
	return err || names->n ? err : add_default(spec, names);
}

/* Append the sessions of the guests of the sessions in names. */
static struct vmop_error *add_guests(const struct vmop_spec *spec, struct vmop_words *names)
{
	struct vmop_error *err = NULL;
	size_t n = names->n;
	for (size_t i = 0; i < n && !err; i++)
		if (!strchr(names->items[i], '/'))
			err = vmop_session_names_of_guests(session_dir(spec), names->items[i],
							   names);
	return err;
}

/* Return whether err is of a guest's session, which must not keep the host's from being read. */
static bool is_left_out(const struct vmop_error *err, const char *name)
{
	return err && err->code != VMOP_ERROR_NO_MEMORY && !strchr(name, '/') &&
	       strchr(name, VMOP_GUEST_SESSION_MARK);
}

/* Open the next session, unless it is open already: its samples would count twice. */
static struct vmop_error *open_session(const struct vmop_spec *spec, const char *name,
				       bool is_named, struct stat *files, struct vmop_sessions *ret)
{
	_cleanup_free_ char *path = NULL;
	struct vmop_session_input *item = &ret->items[ret->n];
	struct stat *file = &files[ret->n];
	struct vmop_error *err = vmop_session_find(spec, name, &path);
	if (err)
		return err;
	if (stat(path, file))
		return vmop_error_os(errno, "%s", path);
	for (size_t i = 0; i < ret->n; i++) {
		if (files[i].st_dev != file->st_dev || files[i].st_ino != file->st_ino)
			continue;
		return is_named ? vmop_error_new(VMOP_ERROR_USAGE,
						 "session: '%s' and '%s' are the same file",
						 ret->items[i].name, name)
				: NULL;
	}
	err = vmop_db_open(path, &item->db);
	if (err)
		return err;
	item->name = name;
	ret->n++;
	if (vmop_db_left_out(item->db))
		vmop_log_warning("%s", vmop_db_left_out(item->db));
	return NULL;
}

struct vmop_error *vmop_sessions_open(const struct vmop_spec *spec, struct vmop_sessions *ret)
{
	size_t n_named;
	*ret = (struct vmop_sessions){0};
	struct vmop_error *err = list_names(spec, &ret->names, &n_named);
	if (!err)
		err = add_guests(spec, &ret->names);
	size_t n = ret->names.n;
	if (!err && n > VMOP_SESSIONS_MAX)
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "session: takes at most %d sessions, not %zu",
				     VMOP_SESSIONS_MAX, n);
	if (err)
		return err;
	ret->items = calloc(n, sizeof(*ret->items));
	_cleanup_free_ struct stat *files = calloc(n, sizeof(*files));
	if (!ret->items || !files)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n && !err; i++) {
		err = open_session(spec, ret->names.items[i], i < n_named, files, ret);
		if (i < n_named || !is_left_out(err, ret->names.items[i]))
			continue;
		vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_error_prefix(err, "left out"));
		err = NULL;
	}
	return err;
}

void vmop_sessions_deinit(struct vmop_sessions *sessions)
{
	for (size_t i = 0; i < sessions->n; i++)
		vmop_db_close(sessions->items[i].db);
	free(sessions->items);
	vmop_words_deinit(&sessions->names);
	*sessions = (struct vmop_sessions){0};
}

/* ---- the list ------------------------------------------------------------- */

enum column_id {
	COLUMN_NAME,
	COLUMN_START,
	COLUMN_LENGTH,
	COLUMN_HOST,
	COLUMN_SAMPLES,
	COLUMN_SIZE,
	COLUMN_STATE,
};

static const struct vmop_column list_columns[] = {
	{"name", "session", VMOP_VALUE_TEXT, false, COLUMN_NAME, 0},
	{"start", "started", VMOP_VALUE_TEXT, false, COLUMN_START, 0},
	{"length", "length", VMOP_VALUE_TEXT, false, COLUMN_LENGTH, 0},
	{"hostname", "host", VMOP_VALUE_TEXT, false, COLUMN_HOST, 0},
	{"samples", "samples", VMOP_VALUE_COUNT, false, COLUMN_SAMPLES, 0},
	{"bytes", "bytes", VMOP_VALUE_COUNT, false, COLUMN_SIZE, 0},
	{"state", "state", VMOP_VALUE_TEXT, true, COLUMN_STATE, 0},
};

struct listed_session {
	char name[256];
	char start[40], length[40];
	const char *hostname, *state; /* in the arena */
	uint64_t samples, size_bytes;
	bool is_readable;
};

struct vmop_session_list {
	struct vmop_arena arena;
	struct listed_session *sessions;
	struct vmop_sheet sheet;
};

static struct vmop_error *add_samples(void *arg, const struct vmop_db_total *total)
{
	((struct listed_session *)arg)->samples += total->samples;
	return NULL;
}

static struct vmop_error *read_session(struct vmop_session_list *list, const char *path,
				       struct listed_session *session)
{
	struct vmop_db *db = NULL;
	struct vmop_catalog catalog = {0};
	struct vmop_db_filter everything = {0};
	struct vmop_error *err = vmop_db_open(path, &db);
	if (err)
		return err;
	err = vmop_db_begin_snapshot(db);
	const struct vmop_session_input input = {.name = session->name, .db = db};
	if (!err)
		err = vmop_catalog_load_facts(&catalog, &input);
	if (!err)
		err = vmop_db_each_total(db, &everything, add_samples, session);
	if (!err)
		err = vmop_db_size_bytes(db, &session->size_bytes);
	if (!err) {
		const struct vmop_session_facts *facts = &catalog.sessions[0];
		vmop_format_time(facts->start_ns, session->start, sizeof(session->start));
		vmop_format_span(facts->end_ns - facts->start_ns, session->length,
				 sizeof(session->length));
		session->hostname = vmop_arena_text(&list->arena, facts->hostname);
		session->state = facts->is_finished ? "finished" : "not ended";
		if (vmop_db_left_out(db))
			session->state = "not ended, read in part";
		session->is_readable = true;
		err = session->hostname ? NULL : &vmop_error_no_memory;
	}
	vmop_catalog_deinit(&catalog);
	vmop_db_close(db);
	return err;
}

/* The bound of CPU time for a list, which can have hostile sessions. */
#define LIST_MAX_CPU_NS UINT64_C(10000000000)

/* Fill the row of one session, or its state with the error if it cannot be read. */
static struct vmop_error *list_session(struct vmop_session_list *list, const char *dir,
				       const char *name, struct listed_session *session)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/%s" SUFFIX, dir, name) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	snprintf(session->name, sizeof(session->name), "%s", name);
	struct vmop_error *err =
		vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) > LIST_MAX_CPU_NS
			? vmop_error_new(VMOP_ERROR_LIMIT,
					 "not read: the sessions before it took too long")
			: read_session(list, path, session);
	if (!err || err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	struct stat st;
	session->size_bytes = stat(path, &st) ? 0 : (uint64_t)st.st_size;
	session->state = vmop_arena_text(&list->arena, err->message);
	vmop_error_destroy(err);
	return session->state ? NULL : &vmop_error_no_memory;
}

/* Set the value of one column of a listed session. */
static void list_value(const struct listed_session *session, int id, struct vmop_value *ret)
{
	ret->is_empty = !session->is_readable && id != COLUMN_NAME && id != COLUMN_SIZE &&
			id != COLUMN_STATE;
	switch (id) {
	case COLUMN_NAME:
		ret->text = session->name;
		break;
	case COLUMN_START:
		ret->text = session->start;
		break;
	case COLUMN_LENGTH:
		ret->text = session->length;
		break;
	case COLUMN_HOST:
		ret->text = session->hostname;
		break;
	case COLUMN_SAMPLES:
		ret->number = session->samples;
		break;
	case COLUMN_SIZE:
		ret->number = session->size_bytes;
		break;
	default:
		ret->text = session->state;
	}
}

static void list_values(const struct vmop_sheet *sheet, size_t row, size_t detail,
			struct vmop_value *ret)
{
	(void)detail;
	const struct vmop_session_list *list = sheet->data;
	for (size_t c = 0; c < sheet->n_columns; c++)
		list_value(&list->sessions[row], sheet->columns[c].id, &ret[c]);
}

static struct vmop_error *fill_list(struct vmop_session_list *list, const char *dir)
{
	_cleanup_(vmop_words_deinit) struct vmop_words names = {0};
	struct vmop_error *err = vmop_session_names_list(dir, &names);
	if (err)
		return err;
	if (!names.n)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no sessions in %s; " HOW_TO_MAKE_ONE,
				      dir);
	size_t n = names.n;
	list->sessions = vmop_arena_alloc(&list->arena, n * sizeof(*list->sessions));
	if (!list->sessions)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n && !err; i++)
		err = list_session(list, dir, names.items[i], &list->sessions[i]);
	list->sheet = (struct vmop_sheet){
		.columns = list_columns,
		.n_columns = sizeof(list_columns) / sizeof(*list_columns),
		.n_rows = n,
		.values = list_values,
		.data = list,
	};
	return err;
}

struct vmop_error *vmop_session_list_create(const struct vmop_spec *spec,
					    struct vmop_session_list **ret)
{
	struct vmop_session_list *list = calloc(1, sizeof(*list));
	if (!list)
		return &vmop_error_no_memory;
	struct vmop_error *err = fill_list(list, session_dir(spec));
	if (err) {
		vmop_session_list_destroy(list);
		return err;
	}
	*ret = list;
	return NULL;
}

void vmop_session_list_destroy(struct vmop_session_list *list)
{
	if (!list)
		return;
	vmop_arena_deinit(&list->arena);
	free(list);
}

const struct vmop_sheet *vmop_session_list_sheet(const struct vmop_session_list *list)
{
	return &list->sheet;
}
