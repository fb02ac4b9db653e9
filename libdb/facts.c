// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing and reading the facts of a session: all rows except chunks and losses. */
#include <stdlib.h>
#include <string.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/symbols/symbols.h"
#include "libutil/cleanup.h"
#include "libutil/parse.h"

/* Return text for a column that is NOT NULL. */
static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

struct vmop_error *vmop_db_put_info(struct vmop_db *db, const char *name, const char *value)
{
	return vmop_db_put_done(
		db, vmop_db_run(db, VMOP_DB_PUT_INFO, "tt", name, text_or_empty(value)), 0);
}

struct vmop_error *vmop_db_drop_info(struct vmop_db *db, const char *name)
{
	return vmop_db_run(db, VMOP_DB_DROP_INFO, "t", name);
}

struct vmop_error *vmop_db_put_event(struct vmop_db *db, const struct vmop_db_event *event)
{
	struct vmop_error *err = vmop_db_run(
		db, VMOP_DB_PUT_EVENT, "itttuut", (int64_t)event->id.number,
		text_or_empty(event->name), text_or_empty(event->source),
		text_or_empty(event->unit), event->period_events, event->frequency_hz, event->note);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_put_domain(struct vmop_db *db, const struct vmop_db_domain *domain)
{
	struct vmop_error *err =
		domain->kind > VMOP_DOMAIN_UNSAMPLED
			? vmop_db_out_of_range(db, "a domain's kind", domain->kind)
			: vmop_db_run(db, VMOP_DB_PUT_DOMAIN, "iittituu",
				      (int64_t)domain->id.number, (int64_t)domain->kind,
				      text_or_empty(domain->name), domain->uuid,
				      (int64_t)domain->vmm_pid, domain->vmm, domain->first_seen_ns,
				      domain->last_seen_ns);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_put_vcpu(struct vmop_db *db, const struct vmop_db_vcpu *vcpu)
{
	struct vmop_error *err =
		vmop_db_run(db, VMOP_DB_PUT_VCPU, "iii", (int64_t)vcpu->domain.number,
			    (int64_t)vcpu->number, (int64_t)vcpu->tid);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_put_task(struct vmop_db *db, const struct vmop_db_task *task)
{
	struct vmop_error *err =
		task->id.number < 1 || task->id.number >= VMOP_DB_TASK_ID_LIMIT
			? vmop_db_out_of_range(db, "a task's id", task->id.number)
			: vmop_db_run(db, VMOP_DB_PUT_TASK, "iiiiuutit", (int64_t)task->id.number,
				      (int64_t)task->domain.number, (int64_t)task->pid,
				      (int64_t)task->tid, task->start_time_ns, task->end_time_ns,
				      text_or_empty(task->comm), (int64_t)task->exe_image.number,
				      task->cgroup);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_end_task(struct vmop_db *db, struct vmop_task_row_id task,
				    uint64_t end_time_ns)
{
	return vmop_db_run(db, VMOP_DB_END_TASK, "iu", (int64_t)task.number, end_time_ns);
}

struct vmop_error *vmop_db_put_image(struct vmop_db *db, const struct vmop_db_image *image)
{
	struct vmop_error *err = NULL;
	if (image->build_id_len_bytes > sizeof(image->build_id))
		err = vmop_db_out_of_range(db, "a build-id's length", image->build_id_len_bytes);
	else if (image->kind > VMOP_IMAGE_HYPERVISOR)
		err = vmop_db_out_of_range(db, "an image's kind", image->kind);
	else
		err = vmop_db_run(db, VMOP_DB_PUT_IMAGE, "iiittbii", (int64_t)image->id.number,
				  (int64_t)image->kind, (int64_t)image->domain.number,
				  text_or_empty(image->name), image->root,
				  (const void *)image->build_id, (size_t)image->build_id_len_bytes,
				  (int64_t)image->base, (int64_t)image->len_bytes);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_put_symbols(struct vmop_db *db, struct vmop_image_id image,
				       const struct vmop_symbol *symbols, size_t n)
{
	_cleanup_free_ uint8_t *blob = NULL;
	size_t len_bytes;
	struct vmop_error *err = vmop_symbols_pack(symbols, n, &blob, &len_bytes);
	/* Without memory, store the samples without the symbols. */
	if (err == &vmop_error_no_memory)
		err = vmop_error_new(VMOP_ERROR_LIMIT, "%zu symbols: out of memory", n);
	if (err)
		err = vmop_error_prefix(err, "%s: symbols of image %u", db->path, image.number);
	else
		err = vmop_db_run(db, VMOP_DB_PUT_SYMBOLS, "iib", (int64_t)image.number, (int64_t)n,
				  (const void *)blob, len_bytes);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_pack_symbols(const struct vmop_symbol *symbols, size_t n,
					const char *const *always, void **ret,
					size_t *ret_len_bytes)
{
	return vmop_sampled_symbols_make_book(symbols, n, always, ret, ret_len_bytes);
}

struct vmop_error *vmop_db_check_packed_symbols(const void *packed, size_t len_bytes)
{
	return vmop_sampled_symbols_check_book(packed, len_bytes);
}

struct vmop_error *vmop_db_put_packed_symbols(struct vmop_db *db, struct vmop_image_id image,
					      const void *packed, size_t len_bytes)
{
	struct vmop_error *err = vmop_sampled_symbols_add(&db->sampled, image, packed, len_bytes);
	/* Without memory, store the samples without the symbols. */
	if (err == &vmop_error_no_memory)
		err = vmop_error_new(VMOP_ERROR_LIMIT, "out of memory");
	if (err)
		err = vmop_error_prefix(err, "%s: symbols of image %u", db->path, image.number);
	return vmop_db_put_done(db, err, 0);
}

static struct vmop_error *put_sampled(struct vmop_db *db, uint32_t id)
{
	_cleanup_free_ uint8_t *blob = NULL;
	size_t len_bytes, n;
	struct vmop_error *err = vmop_sampled_symbols_pack(&db->sampled, id, &blob, &len_bytes, &n);
	if (!err)
		err = vmop_db_run(db, VMOP_DB_PUT_SYMBOLS, "iib", (int64_t)id, (int64_t)n,
				  (const void *)blob, len_bytes);
	return vmop_db_put_done(db, err, 0);
}

struct vmop_error *vmop_db_put_sampled_symbols(struct vmop_db *db)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < db->sampled.n; i++)
		if (vmop_sampled_symbols_is_dirty(&db->sampled, (uint32_t)i))
			err = put_sampled(db, (uint32_t)i);
	return err;
}

struct vmop_error *vmop_db_get_symbols(struct vmop_db *db, struct vmop_image_id image,
				       struct vmop_symbol **ret_symbols, size_t *ret_n)
{
	size_t bytes = SIZE_MAX;
	return vmop_db_get_symbols_within(db, image, &bytes, ret_symbols, ret_n);
}

/* Select the symbols' data of an image. The caller finalizes *ret_stmt, also after an error. */
static struct vmop_error *select_symbols(struct vmop_db *db, struct vmop_image_id image,
					 sqlite3_stmt **ret_stmt, bool *ret_row)
{
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = vmop_db_prepare(db, "SELECT data FROM symbols WHERE image = ?1", ret_stmt);
	if (!err)
		sqlite3_bind_int64(*ret_stmt, 1, image.number);
	return err ? err : vmop_db_step(db, *ret_stmt, ret_row);
}

struct vmop_error *vmop_db_get_symbols_within(struct vmop_db *db, struct vmop_image_id image,
					      size_t *bytes, struct vmop_symbol **ret_symbols,
					      size_t *ret_n)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false;
	*ret_symbols = NULL;
	*ret_n = 0;
	struct vmop_error *err = select_symbols(db, image, &stmt, &row);
	if (err || !row)
		return err;
	const void *blob = sqlite3_column_blob(stmt, 0);
	int len_bytes = sqlite3_column_bytes(stmt, 0);
	if (!blob)
		return vmop_db_corrupt(db, "symbols of image %u", image.number);
	err = vmop_symbols_unpack_within(blob, (size_t)len_bytes, bytes, ret_symbols, ret_n);
	return err ? vmop_error_prefix(err, "%s: image %u", db->path, image.number) : NULL;
}

struct vmop_error *vmop_db_has_sampled_symbols(struct vmop_db *db, struct vmop_image_id image,
					       bool *ret)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false;
	*ret = false;
	struct vmop_error *err = select_symbols(db, image, &stmt, &row);
	if (err || !row)
		return err;
	const void *blob = sqlite3_column_blob(stmt, 0);
	*ret = blob && vmop_symbols_are_sampled(blob, (size_t)sqlite3_column_bytes(stmt, 0));
	return NULL;
}

struct vmop_error *vmop_db_get_info(struct vmop_db *db, const char *name, char **ret)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false;
	*ret = NULL;
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = vmop_db_prepare(db, "SELECT value FROM info WHERE name = ?1", &stmt);
	if (!err)
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	if (!err)
		err = vmop_db_step(db, stmt, &row);
	if (err || !row)
		return err;
	const char *value = (const char *)sqlite3_column_text(stmt, 0);
	*ret = value ? strdup(value) : NULL;
	return *ret ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_db_get_number(struct vmop_db *db, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_db_get_info(db, name, &text);
	if (err || !text || !vmop_parse_u64(text, 10, ret))
		*ret = 0;
	return err;
}

/* A walk over a table: reads each row into its struct, and calls back. */
struct walk {
	struct vmop_db *db;
	sqlite3_stmt *stmt;
	const char *table;
	int max_text_bytes; /* SQLite's limit before the walk */
	int64_t last;	    /* id of the previous row */
};

/* No writer puts such a long text. All columns of a row are in memory together. */
#define MAX_TEXT_BYTES (256 << 20)

static struct vmop_error *walk_begin(struct walk *walk, struct vmop_db *db, const char *table,
				     const char *sql)
{
	*walk = (struct walk){.db = db, .table = table, .last = -1};
	walk->max_text_bytes = sqlite3_limit(db->sqlite, SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES);
	struct vmop_error *err = vmop_db_allow_work(db);
	return err ? err : vmop_db_prepare(db, sql, &walk->stmt);
}

static void walk_end(struct walk *walk)
{
	sqlite3_finalize(walk->stmt);
	if (walk->db)
		sqlite3_limit(walk->db->sqlite, SQLITE_LIMIT_LENGTH, walk->max_text_bytes);
}

/*
 * Return whether the row's id, its first column, is above all previous ones.  A page that is in a
 * table's tree several times repeats its rows: a small file could contain any number of them.
 */
static bool ascends(struct walk *walk)
{
	int64_t id = sqlite3_column_int64(walk->stmt, 0);
	bool is_above = id > walk->last;
	walk->last = id;
	return is_above;
}

static struct vmop_error *walk_corrupt(struct walk *walk)
{
	return vmop_db_corrupt(walk->db, "a row of the table %s", walk->table);
}

/* Return a text; set *corrupt if it is NULL. */
static const char *column_name(sqlite3_stmt *stmt, int column, bool *corrupt)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	if (!text)
		*corrupt = true;
	return text;
}

static const char *column_text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

static uint64_t column_u63(sqlite3_stmt *stmt, int column, bool *corrupt)
{
	return vmop_db_column(stmt, column, INT64_MAX, corrupt);
}

/* EACH_ID checks that ids ascend.  EACH is for tables whose key is a text or several columns. */
#define EACH(noun, type, columns, ...) EACH_IF(noun, type, true, columns, __VA_ARGS__)
#define EACH_ID(noun, type, columns, ...) EACH_IF(noun, type, ascends(&walk), columns, __VA_ARGS__)
#define EACH_IF(noun, type, is_in_order, columns, ...)                                             \
	struct vmop_error *vmop_db_each_##noun(                                                    \
		struct vmop_db *db, struct vmop_error *(*each)(void *arg, const type *noun),       \
		void *arg)                                                                         \
	{                                                                                          \
		_cleanup_(walk_end) struct walk walk = {0};                                        \
		struct vmop_error *err = walk_begin(&walk, db, #noun, columns);                    \
		sqlite3_stmt *stmt = walk.stmt;                                                    \
		bool row;                                                                          \
		while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {                     \
			bool corrupt = false;                                                      \
			const type noun = {__VA_ARGS__};                                           \
			err = corrupt || !(is_in_order) ? walk_corrupt(&walk) : each(arg, &noun);  \
		}                                                                                  \
		return err;                                                                        \
	}
#define U32(column) vmop_db_column_u32(stmt, column, &corrupt)
#define U63(column) column_u63(stmt, column, &corrupt)
#define TIME(column) vmop_db_time(db, U63(column))

EACH_ID(event, struct vmop_db_event,
	"SELECT id, name, source, unit, period_events, frequency_hz, note FROM event ORDER BY id",
	.id = {U32(0)}, .name = column_name(stmt, 1, &corrupt),
	.source = column_name(stmt, 2, &corrupt), .unit = column_name(stmt, 3, &corrupt),
	.period_events = U63(4), .frequency_hz = U63(5), .note = column_text(stmt, 6))

EACH_ID(domain, struct vmop_db_domain,
	"SELECT id, kind, name, uuid, vmm_pid, vmm, first_seen_ns, last_seen_ns FROM domain"
	" ORDER BY id",
	.id = {U32(0)},
	.kind = (enum vmop_domain_kind)vmop_db_column(stmt, 1, VMOP_DOMAIN_UNSAMPLED, &corrupt),
	.name = column_name(stmt, 2, &corrupt), .uuid = column_text(stmt, 3), .vmm_pid = U32(4),
	.vmm = column_text(stmt, 5), .first_seen_ns = TIME(6), .last_seen_ns = TIME(7))

EACH(vcpu, struct vmop_db_vcpu, "SELECT domain, number, tid FROM vcpu ORDER BY domain, number",
     .domain = {U32(0)}, .number = U32(1), .tid = U32(2))

EACH_ID(task, struct vmop_db_task,
	"SELECT id, domain, pid, tid, start_time_ns, end_time_ns, max(merged, 0), comm, exe_image, "
	"cgroup"
	" FROM task ORDER BY id",
	.id = {U32(0)}, .domain = {U32(1)}, .pid = U32(2), .tid = U32(3), .start_time_ns = TIME(4),
	.end_time_ns = TIME(5), .merged = U63(6), .comm = column_name(stmt, 7, &corrupt),
	.exe_image = {U32(8)}, .cgroup = column_text(stmt, 9))

EACH_ID(interval, struct vmop_db_interval,
	"SELECT id, level, start_ns, len_ns FROM interval ORDER BY id", .id = U32(0),
	.level = (uint8_t)vmop_db_column(stmt, 1, UINT8_MAX, &corrupt), .start_ns = TIME(2),
	.len_ns = U63(3))

EACH(info, struct vmop_db_info, "SELECT name, value FROM info ORDER BY name",
     .name = column_name(stmt, 0, &corrupt), .value = column_name(stmt, 1, &corrupt))

static bool read_image(sqlite3_stmt *stmt, struct vmop_db_image *image)
{
	bool corrupt = false;
	*image = (struct vmop_db_image){
		.id = {U32(0)},
		.kind = (enum vmop_image_kind)vmop_db_column(stmt, 1, VMOP_IMAGE_HYPERVISOR,
							     &corrupt),
		.domain = {U32(2)},
		.name = column_name(stmt, 3, &corrupt),
		.root = column_text(stmt, 4),
		.base = (uint64_t)sqlite3_column_int64(stmt, 6),
		.len_bytes = (uint64_t)sqlite3_column_int64(stmt, 7),
	};
	const void *build_id = sqlite3_column_blob(stmt, 5);
	int len = sqlite3_column_bytes(stmt, 5);
	if (len < 0 || (size_t)len > sizeof(image->build_id))
		return false;
	if (build_id)
		memcpy(image->build_id, build_id, (size_t)len);
	image->build_id_len_bytes = (uint8_t)len;
	return !corrupt;
}

struct vmop_error *vmop_db_each_image(struct vmop_db *db,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_image *image),
				      void *arg)
{
	_cleanup_(walk_end) struct walk walk = {0};
	struct vmop_error *err = walk_begin(
		&walk, db, "image",
		"SELECT id, kind, domain, name, root, build_id, base, len_bytes FROM image"
		" ORDER BY id");
	bool row;
	while (!err && !(err = vmop_db_step(db, walk.stmt, &row)) && row) {
		struct vmop_db_image image;
		err = read_image(walk.stmt, &image) && ascends(&walk) ? each(arg, &image)
								      : walk_corrupt(&walk);
	}
	return err;
}
