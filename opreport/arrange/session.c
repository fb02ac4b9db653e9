// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/session.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "opreport/output/time-text.h"
#include "opreport/query/catalog.h"

#define SUFFIX ".vmop"
#define CURRENT "current"

static const char *session_dir(const struct vmop_spec *spec)
{
	return spec->session_dir ? spec->session_dir : VMOP_STATEDIR;
}

/* Write "NAME" of "NAME.vmop" to ret.  Return false for other files. */
static bool name_of_file(const char *file, char *ret, size_t ret_bytes)
{
	size_t len = strlen(file), suffix_len = strlen(SUFFIX);
	if (len <= suffix_len || strcmp(file + len - suffix_len, SUFFIX) != 0 ||
	    len - suffix_len >= ret_bytes)
		return false;
	memcpy(ret, file, len - suffix_len);
	ret[len - suffix_len] = '\0';
	return true;
}

static int is_session_file(const struct dirent *entry)
{
	char name[sizeof(entry->d_name)];
	return name_of_file(entry->d_name, name, sizeof(name));
}

struct file_list {
	struct dirent **entries;
	int n;
};

static void file_list_deinit(struct file_list *files)
{
	for (int i = 0; i < files->n; i++)
		free(files->entries[i]);
	free(files->entries);
}

static struct vmop_error *file_list_init(struct file_list *files, const char *dir)
{
	*files = (struct file_list){0};
	int n = scandir(dir, &files->entries, is_session_file, alphasort);
	if (n < 0)
		return vmop_error_os(errno, "session directory %s", dir);
	files->n = n;
	return NULL;
}

#define HOW_TO_MAKE_ONE "'vmopcontrol --start' records one, --session-dir=DIR looks elsewhere"

/* Return an error for a missing session that lists the existing ones. */
static struct vmop_error *no_such_session(const char *name, const char *dir)
{
	_cleanup_(file_list_deinit) struct file_list files = {0};
	struct vmop_error *err = file_list_init(&files, dir);
	if (err && err->os_errno != ENOENT)
		return err;
	vmop_error_destroy(err);
	if (!files.n)
		return vmop_error_new(VMOP_ERROR_CANT, "no sessions in %s; " HOW_TO_MAKE_ONE, dir);
	char names[160] = "";
	size_t len = 0;
	for (int i = 0; i < files.n && len < sizeof(names) - 1; i++) {
		int stem = (int)(strlen(files.entries[i]->d_name) - strlen(SUFFIX));
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.*s", i ? ", " : "",
					stem, files.entries[i]->d_name);
	}
	if (len >= sizeof(names) - 1)
		memcpy(names + sizeof(names) - 4, "...", 4);
	return vmop_error_new(VMOP_ERROR_CANT,
			      "no session '%s' in %s (there: %s); " HOW_TO_MAKE_ONE, name, dir,
			      names);
}

static struct vmop_error *path_of(const struct vmop_spec *spec, const char *name, char **ret)
{
	bool is_path = strchr(name, '/');
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

/* Return an error if the file at path is already open: its samples would count twice. */
static struct vmop_error *check_distinct(const struct vmop_sessions *sessions, struct stat *files,
					 const char *name, const char *path)
{
	struct stat *file = &files[sessions->n];
	if (stat(path, file))
		return vmop_error_os(errno, "%s", path);
	for (size_t i = 0; i < sessions->n; i++) {
		if (files[i].st_dev == file->st_dev && files[i].st_ino == file->st_ino)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "session: '%s' and '%s' are the same file",
					      sessions->items[i].name, name);
	}
	return NULL;
}

/* Set *ret to the time when the regular file `file` in dir was written; false: no such file. */
static bool time_written(const char *dir, const char *file, struct timespec *ret)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	if (asprintf(&path, "%s/%s", dir, file) < 0) {
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
	_cleanup_(file_list_deinit) struct file_list files = {0};
	const char *newest = NULL;
	struct timespec written, last = {0};
	vmop_error_destroy(file_list_init(&files, dir));
	for (int i = 0; i < files.n; i++) {
		const char *file = files.entries[i]->d_name;
		if (!time_written(dir, file, &written) || (newest && !is_later(&written, &last)))
			continue;
		newest = file;
		last = written;
	}
	return newest ? strndup(newest, strlen(newest) - strlen(SUFFIX)) : NULL;
}

/* Return the session to report by default: the current one, else the newest. */
static const char *default_name(const struct vmop_spec *spec, struct vmop_sessions *sessions)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/" CURRENT SUFFIX, session_dir(spec)) < 0) {
		path = NULL;
		return CURRENT;
	}
	if (access(path, F_OK) < 0 && errno == ENOENT)
		sessions->newest = find_newest(session_dir(spec));
	return sessions->newest ? sessions->newest : CURRENT;
}

struct vmop_error *vmop_sessions_open(const struct vmop_spec *spec, struct vmop_sessions *ret)
{
	size_t n = spec->sessions.n ? spec->sessions.n : 1;
	*ret = (struct vmop_sessions){0};
	if (n > VMOP_SESSIONS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "session: takes at most %d sessions, not %zu",
				      VMOP_SESSIONS_MAX, n);
	ret->items = calloc(n, sizeof(*ret->items));
	_cleanup_free_ struct stat *files = calloc(n, sizeof(*files));
	if (!ret->items || !files)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *path = NULL;
		struct vmop_session_input *item = &ret->items[i];
		item->name = spec->sessions.n ? spec->sessions.items[i] : default_name(spec, ret);
		struct vmop_error *err = path_of(spec, item->name, &path);
		if (!err)
			err = check_distinct(ret, files, item->name, path);
		if (!err)
			err = vmop_db_open(path, &item->db);
		if (err)
			return err;
		ret->n++;
		const char *left_out = vmop_db_left_out(item->db);
		if (left_out)
			vmop_log_warning("%s", left_out);
	}
	return NULL;
}

void vmop_sessions_deinit(struct vmop_sessions *sessions)
{
	for (size_t i = 0; i < sessions->n; i++)
		vmop_db_close(sessions->items[i].db);
	free(sessions->items);
	free(sessions->newest);
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
				       const char *file, struct listed_session *session)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/%s", dir, file) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	name_of_file(file, session->name, sizeof(session->name));
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
	_cleanup_(file_list_deinit) struct file_list files = {0};
	struct vmop_error *err = file_list_init(&files, dir);
	if (err)
		return err;
	if (!files.n)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no sessions in %s; " HOW_TO_MAKE_ONE,
				      dir);
	size_t n = (size_t)files.n;
	list->sessions = vmop_arena_alloc(&list->arena, n * sizeof(*list->sessions));
	if (!list->sessions)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n && !err; i++)
		err = list_session(list, dir, files.entries[i]->d_name, &list->sessions[i]);
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
