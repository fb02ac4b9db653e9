// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions: reading returns the written rows, and refuses other files. */
#include "tests/unit/libdb/common.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "libutil/dirs/safe-dir.h"

static struct vmop_db *new_session(const char *name)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	return db;
}

static struct vmop_db *open_session(const char *name)
{
	struct vmop_db *db;
	assert_ok(vmop_db_open(test_path(name), &db));
	return db;
}

/* Each callback counts its rows, and checks the known ones. */
static struct vmop_error *see_event(void *arg, const struct vmop_db_event *event)
{
	++*(int *)arg;
	assert_string_equal(event->name, "cpu-clock");
	assert_string_equal(event->source, "perf");
	assert_string_equal(event->unit, "ns");
	assert_int_equal(event->period_events, 0);
	assert_int_equal(event->frequency_hz, 1000);
	assert_null(event->note);
	return NULL;
}

static struct vmop_error *see_domain(void *arg, const struct vmop_db_domain *domain)
{
	++*(int *)arg;
	if (domain->id.number == 0) {
		assert_int_equal(domain->kind, VMOP_DOMAIN_HOST);
		assert_null(domain->uuid);
		return NULL;
	}
	assert_int_equal(domain->kind, VMOP_DOMAIN_PASSIVE);
	assert_string_equal(domain->name, "g1");
	assert_string_equal(domain->vmm, "qemu-system-x86_64");
	assert_int_equal(domain->vmm_pid, 700);
	assert_int_equal(domain->first_seen_ns, TEST_START_NS);
	assert_int_equal(domain->last_seen_ns, TEST_START_NS + VMOP_NS_PER_S);
	return NULL;
}

static struct vmop_error *see_vcpu(void *arg, const struct vmop_db_vcpu *vcpu)
{
	++*(int *)arg;
	assert_int_equal(vcpu->domain.number, 1);
	assert_int_equal(vcpu->number, 0);
	assert_int_equal(vcpu->tid, 701);
	return NULL;
}

static struct vmop_error *see_task(void *arg, const struct vmop_db_task *task)
{
	++*(int *)arg;
	assert_int_equal(task->pid, task->id.number * 100);
	assert_int_equal(task->exe_image.number, 2);
	assert_int_equal(task->merged, 0);
	if (task->id.number == 2) {
		assert_string_equal(task->cgroup, "/user.slice");
		assert_int_equal(task->start_time_ns, TEST_START_NS);
		assert_int_equal(task->end_time_ns, TEST_START_NS + 5);
	} else {
		assert_null(task->cgroup);
		assert_int_equal(task->end_time_ns, 0);
	}
	return NULL;
}

static struct vmop_error *see_image(void *arg, const struct vmop_db_image *image)
{
	++*(int *)arg;
	if (image->id.number == 1) {
		assert_int_equal(image->kind, VMOP_IMAGE_KERNEL);
		assert_true(image->base == 0xffffffff81000000);
		assert_int_equal(image->build_id_len_bytes, 0);
	} else {
		assert_string_equal(image->name, "/usr/bin/loop");
		assert_int_equal(image->build_id_len_bytes, 3);
		assert_memory_equal(image->build_id, "\1\2\3", 3);
	}
	return NULL;
}

static struct vmop_error *see_interval(void *arg, const struct vmop_db_interval *interval)
{
	int n = ++*(int *)arg;
	assert_int_equal(interval->id, n);
	assert_int_equal(interval->level, 0);
	assert_int_equal(interval->start_ns, TEST_START_NS + (unsigned)(n - 1) * VMOP_NS_PER_S);
	assert_int_equal(interval->len_ns, VMOP_NS_PER_S);
	return NULL;
}

static struct vmop_error *see_loss(void *arg, const struct vmop_db_loss *loss)
{
	++*(int *)arg;
	assert_string_equal(loss->name, "lost");
	assert_int_equal(loss->domain.number, 0);
	assert_int_equal(loss->count, 3 + 4 + 5);
	return NULL;
}

static void look_at_facts(struct vmop_db *db)
{
	int events = 0, domains = 0, vcpus = 0, tasks = 0, images = 0, intervals = 0, losses = 0;
	assert_ok(vmop_db_each_event(db, see_event, &events));
	assert_ok(vmop_db_each_domain(db, see_domain, &domains));
	assert_ok(vmop_db_each_vcpu(db, see_vcpu, &vcpus));
	assert_ok(vmop_db_each_task(db, see_task, &tasks));
	assert_ok(vmop_db_each_image(db, see_image, &images));
	assert_ok(vmop_db_each_interval(db, see_interval, &intervals));
	assert_ok(vmop_db_each_loss(db, see_loss, &losses));
	assert_int_equal(events, 1);
	assert_int_equal(domains, 2);
	assert_int_equal(vcpus, 1);
	assert_int_equal(tasks, 2);
	assert_int_equal(images, 2);
	assert_int_equal(intervals, 3);
	assert_int_equal(losses, 1);
	_cleanup_free_ char *value = NULL;
	assert_ok(vmop_db_get_info(db, "hostname", &value));
	assert_string_equal(value, "rig");
	_cleanup_free_ char *none = NULL;
	assert_ok(vmop_db_get_info(db, "nothing", &none));
	assert_null(none);
}

static void facts(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("facts");
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.id = {1},
					     .kind = VMOP_DOMAIN_PASSIVE,
					     .name = "g1",
					     .vmm_pid = 700,
					     .vmm = "qemu-system-x86_64",
					     .first_seen_ns = TEST_START_NS,
					     .last_seen_ns = TEST_START_NS + VMOP_NS_PER_S}));
	assert_ok(vmop_db_end_task(db, (struct vmop_task_row_id){2}, TEST_START_NS + 5));
	assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 3}));
	for (unsigned i = 0; i < 3; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 100}));
	vmop_db_rollback(db);
	assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 4}));
	assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 5}));
	look_at_facts(db);
	/* A reader beside the live writer reads the same. */
	struct vmop_db *reader = open_session("facts");
	look_at_facts(reader);
	vmop_db_close(reader);
	assert_ok(vmop_db_finish(db));
	assert_int_equal(access(test_path("facts-wal"), F_OK), -1);
	assert_int_equal(access(test_path("facts-shm"), F_OK), -1);
	reader = open_session("facts");
	look_at_facts(reader);
	assert_ok(vmop_db_check(reader));
	vmop_db_close(reader);
}

static struct vmop_error *stop_walk(void *arg, const struct vmop_db_total *total)
{
	(void)total;
	++*(int *)arg;
	return vmop_error_new(VMOP_ERROR_CANT, "enough");
}

static void totals_and_filters(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("totals");
	for (unsigned i = 0; i < 100; i++)
		assert_ok(put_second(db, i));
	struct totals all = totals_of(db, NULL);
	assert_int_equal(all.n, 4);
	assert_int_equal(all.samples, 1000);
	assert_int_equal(all.weight_events, 1000000000);
	struct vmop_image_id images[] = {{3}, {1}};
	struct vmop_task_row_id tasks[] = {{2}, {9}, {7}};
	int32_t cpus[] = {0};
	struct vmop_db_filter filter = {.images = images, .n_images = 2};
	assert_int_equal(totals_of(db, &filter).samples, 200);
	filter = (struct vmop_db_filter){.tasks = tasks, .n_tasks = 3};
	assert_int_equal(totals_of(db, &filter).samples, 500);
	filter = (struct vmop_db_filter){.cpus = cpus, .n_cpus = 1};
	assert_int_equal(totals_of(db, &filter).samples, 0);
	/* Two and a half seconds overlap three intervals; an interval that only touches is outside.
	 */
	filter = (struct vmop_db_filter){.from_ns = TEST_START_NS + 10 * VMOP_NS_PER_S,
					 .to_ns = TEST_START_NS + 12 * VMOP_NS_PER_S +
						  VMOP_NS_PER_S / 2};
	assert_int_equal(totals_of(db, &filter).samples, 30);
	filter.from_ns = TEST_START_NS + 99 * VMOP_NS_PER_S;
	filter.to_ns = 0;
	assert_int_equal(totals_of(db, &filter).samples, 10);
	int n = 0;
	assert_error(vmop_db_each_total(db, NULL, stop_walk, &n), VMOP_ERROR_CANT, "enough");
	assert_int_equal(n, 1);
	assert_ok(vmop_db_finish(db));
}

static struct vmop_error *add_to_seconds(void *arg, const struct vmop_db_interval *interval,
					 const struct vmop_db_total *total)
{
	uint64_t *seconds = arg;
	seconds[(interval->start_ns - TEST_START_NS) / VMOP_NS_PER_S] += total->samples;
	return NULL;
}

static void totals_of_intervals(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("interval-totals");
	uint64_t seconds[10] = {0}, few[10] = {0};
	for (unsigned i = 0; i < 10; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_each_interval_total(db, NULL, add_to_seconds, seconds));
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(seconds[i], 10);
	struct vmop_image_id images[] = {{3}, {1}};
	const struct vmop_db_filter filter = {
		.images = images, .n_images = 2, .from_ns = TEST_START_NS + 5 * VMOP_NS_PER_S};
	assert_ok(vmop_db_each_interval_total(db, &filter, add_to_seconds, few));
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(few[i], i < 5 ? 0 : 2);
	assert_ok(vmop_db_finish(db));
}

static struct vmop_error *sum_losses(void *arg, const struct vmop_db_loss *loss)
{
	*(uint64_t *)arg += loss->count;
	return NULL;
}

static uint64_t losses_in(struct vmop_db *db, uint64_t from_s, uint64_t to_s)
{
	uint64_t sum = 0;
	uint64_t from_ns = from_s ? TEST_START_NS + (from_s - 1) * VMOP_NS_PER_S : 0;
	uint64_t to_ns = to_s ? TEST_START_NS + (to_s - 1) * VMOP_NS_PER_S : 0;
	assert_ok(vmop_db_each_loss_in(db, from_ns, to_ns, sum_losses, &sum));
	return sum;
}

/* Losses of three seconds, and one of the whole session. */
static void losses_of_a_time(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("losses-in");
	assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 1000}));
	for (unsigned i = 0; i < 3; i++) {
		const struct vmop_db_loss loss = {.name = "lost", .count = 1 + i};
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		assert_ok(vmop_db_put_loss(db, &loss));
		assert_ok(vmop_db_commit(db));
	}
	assert_int_equal(losses_in(db, 0, 0), 1006);
	assert_int_equal(losses_in(db, 2, 3), 1002);
	assert_int_equal(losses_in(db, 2, 0), 1005);
	assert_int_equal(losses_in(db, 0, 2), 1001);
	assert_int_equal(losses_in(db, 4, 0), 1000);
	assert_ok(vmop_db_finish(db));
}

struct chunks {
	uint64_t samples;
	uint32_t last_image;
	uint32_t last_interval;
	int n;
};

static struct vmop_error *see_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	struct chunks *chunks = arg;
	assert_in_range(chunk->key.image.number, chunks->last_image, 2);
	chunks->last_image = chunk->key.image.number;
	chunks->n++;
	for (size_t i = 0; i < chunk->n_cells; i++)
		chunks->samples += chunk->cells[i].samples;
	if (chunk->key.image.number == 2) {
		assert_int_equal(chunk->n_cells, 2);
		assert_int_equal(chunk->cells[1].offset, 0x1010);
		assert_int_equal(chunk->key.mode, VMOP_MODE_USER);
		assert_int_equal(chunk->key.cpu, -1);
	}
	assert_int_equal(chunk->interval->start_ns,
			 TEST_START_NS + (chunk->interval->id - 1) * VMOP_NS_PER_S);
	return NULL;
}

struct pieces {
	uint64_t samples;
	uint32_t last_interval;
	unsigned n, read_symbols;
	struct vmop_db *db;
};

static struct vmop_error *see_piece(void *arg, const struct vmop_db_chunk *piece)
{
	struct pieces *pieces = arg;
	struct vmop_symbol *symbols;
	size_t n;
	assert_in_range(piece->interval->id, pieces->last_interval, 51);
	pieces->last_interval = piece->interval->id;
	pieces->n++;
	for (size_t i = 0; i < piece->n_cells; i++)
		pieces->samples += piece->cells[i].samples;
	struct vmop_error *err = vmop_db_get_symbols(pieces->db, piece->key.image, &symbols, &n);
	if (!err && symbols)
		pieces->read_symbols++;
	free(symbols);
	return err;
}

static struct vmop_error *stop_pieces(void *arg, const struct vmop_db_chunk *piece)
{
	(void)piece;
	return ++*(unsigned *)arg == 3 ? vmop_error_new(VMOP_ERROR_CANT, "enough") : NULL;
}

/* A chunk of many cells comes in several pieces, and the callback may read symbols. */
static void pieces(void **state)
{
	(void)state;
	enum { N = 5000 };
	struct vmop_db *db = new_session("pieces");
	static const struct vmop_symbol symbol = {0x100, 16, "f", 't'};
	struct vmop_db_cell *cells = calloc(N, sizeof(*cells));
	for (size_t i = 0; i < N; i++)
		cells[i] = (struct vmop_db_cell){i * 8, 1 + i % 3, (1 + i % 3) * 1000000};
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){1}, &symbol, 1));
	for (unsigned i = 0; i < 50; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + 50 * VMOP_NS_PER_S, VMOP_NS_PER_S));
	struct vmop_db_chunk_key key = key_of(1, 1);
	assert_ok(vmop_db_put_chunk(db, &key, cells, N));
	assert_ok(vmop_db_commit(db));
	struct pieces seen = {.db = db};
	assert_ok(vmop_db_each_piece(db, NULL, see_piece, &seen));
	assert_int_equal(seen.samples, totals_of(db, NULL).samples);
	assert_in_range(seen.n, 200 + N / 1024, 200 + N);
	assert_in_range(seen.read_symbols, N / 1024, seen.n - 50);
	unsigned n = 0;
	assert_error(vmop_db_each_piece(db, NULL, stop_pieces, &n), VMOP_ERROR_CANT, "enough");
	assert_int_equal(n, 3);
	free(cells);
	assert_ok(vmop_db_finish(db));
}

static struct vmop_error *see_sum(void *arg, const struct vmop_db_sum *sum)
{
	struct chunks *chunks = arg;
	assert_in_range(sum->key.image.number, chunks->last_image, 2);
	chunks->last_image = sum->key.image.number;
	chunks->n++;
	for (size_t i = 0; i < sum->n_cells; i++) {
		chunks->samples += sum->cells[i].samples;
		assert_int_equal(sum->cells[i].weight_events, sum->cells[i].samples * 1000000);
	}
	if (sum->key.image.number == 2) {
		assert_int_equal(sum->n_cells, 2);
		assert_int_equal(sum->cells[0].offset, 0x1000);
		assert_int_equal(sum->cells[0].samples, 3 * sum->cells[1].samples);
	}
	return NULL;
}

static void chunks_and_sums(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("chunks");
	for (unsigned i = 0; i < 50; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + 50 * VMOP_NS_PER_S, VMOP_NS_PER_S));
	struct vmop_db_chunk_key key = key_of(2, 1);
	key.cpu = 1;
	struct vmop_db_cell cell = {0x300, 5, 5000000};
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	assert_ok(vmop_db_commit(db));
	struct vmop_db *reader = open_session("chunks");
	assert_ok(vmop_db_begin_snapshot(reader));
	assert_ok(put_second(db, 51)); /* not in the snapshot */
	struct chunks seen = {0};
	assert_ok(vmop_db_each_chunk(reader, NULL, see_chunk, &seen));
	assert_int_equal(seen.n, 201);
	assert_int_equal(seen.samples, 505);
	seen = (struct chunks){0};
	assert_ok(vmop_db_each_sum(reader, NULL, 0, see_sum, &seen));
	assert_int_equal(seen.n, 5);
	assert_int_equal(seen.samples, 505);
	seen = (struct chunks){0};
	assert_ok(vmop_db_each_sum(reader, NULL, VMOP_DB_MERGE_TASKS, see_sum, &seen));
	assert_int_equal(seen.n, 3);
	seen = (struct chunks){0};
	assert_ok(vmop_db_each_sum(reader, NULL,
				   VMOP_DB_MERGE_TASKS | VMOP_DB_MERGE_CPUS | VMOP_DB_MERGE_STACKS,
				   see_sum, &seen));
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.samples, 505);
	vmop_db_close(reader);
	reader = open_session("chunks");
	assert_int_equal(totals_of(reader, NULL).samples, 515);
	vmop_db_close(reader);
	assert_ok(vmop_db_finish(db));
}

static void misuse(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("misuse"), *other;
	struct vmop_db_chunk_key key = key_of(1, 2);
	static const struct vmop_db_cell falling[] = {{5, 1, 1}, {4, 1, 1}};
	assert_error(vmop_db_create(test_path("misuse"), &other), VMOP_ERROR_OS, "misuse");
	assert_error(vmop_db_put_chunk(db, &key, falling, 1), VMOP_ERROR_CANT, "no interval");
	assert_error(vmop_db_commit(db), VMOP_ERROR_CANT, "no interval");
	assert_error(vmop_db_put_task(db, &(struct vmop_db_task){.id = {VMOP_DB_TASK_ID_LIMIT}}),
		     VMOP_ERROR_LIMIT, "id");
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_error(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S), VMOP_ERROR_CANT,
		     "open");
	assert_ok(vmop_db_put_chunk(db, &key, falling, 1));
	assert_error(vmop_db_put_chunk(db, &key, falling, 2), VMOP_ERROR_LIMIT, "ascending");
	/* An incomplete interval is not stored at all, and the next one is. */
	assert_error(vmop_db_commit(db), VMOP_ERROR_CANT, "dropped");
	assert_ok(put_second(db, 0));
	assert_int_equal(totals_of(db, NULL).samples, 10);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
	db = open_session("misuse");
	assert_error(vmop_db_begin_interval(db, 1, 1), VMOP_ERROR_CANT, "reading");
	assert_error(vmop_db_put_info(db, "a", "b"), VMOP_ERROR_CANT, "not writable");
	vmop_db_close(db);
}

static void odd_paths(void **state)
{
	(void)state;
	static const char *const names[] = {"a b?mode=memory", "100%#x", ":memory:", "\xc3\xa9"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct vmop_db *db = new_session(names[i]);
		assert_ok(put_second(db, 0));
		assert_int_equal(access(test_path(names[i]), R_OK), 0);
		assert_ok(vmop_db_finish(db));
		db = open_session(names[i]);
		assert_int_equal(totals_of(db, NULL).samples, 10);
		vmop_db_close(db);
	}
}

/* ---- files that are no session----------------------------------------------- */

static void write_file(const char *name, const void *data, size_t len)
{
	FILE *file = fopen(test_path(name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void run_sql(const char *name, const char *sql)
{
	sqlite3 *sqlite;
	assert_int_equal(sqlite3_open(test_path(name), &sqlite), SQLITE_OK);
	int rc = sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		print_error("%s: %s\n", sql, sqlite3_errmsg(sqlite));
	assert_int_equal(rc, SQLITE_OK);
	sqlite3_close(sqlite);
}

static void assert_refused(const char *name, enum vmop_error_code code, const char *text)
{
	struct vmop_db *db;
	struct vmop_error *err = vmop_db_open(test_path(name), &db);
	assert_non_null(err);
	assert_non_null(strstr(err->message, test_path(name)));
	assert_error(err, code, text);
}

static void refused(void **state)
{
	(void)state;
	static const char text[] = "a text file that is long enough to have a header of 100 bytes,"
				   " were it a database at all; but it is none.";
	assert_refused("absent", VMOP_ERROR_OS, "No such file");
	write_file("text", text, sizeof(text));
	assert_refused("text", VMOP_ERROR_CORRUPT, "not a session file");
	write_file("empty", "", 0);
	assert_refused("empty", VMOP_ERROR_CORRUPT, "not a session file");
	assert_int_equal(mkdir(test_path("folder"), 0755), 0);
	assert_refused("folder", VMOP_ERROR_CORRUPT, "not a session file");
	assert_int_equal(mkfifo(test_path("fifo"), 0644), 0);
	assert_refused("fifo", VMOP_ERROR_CORRUPT, "not a session file");
	run_sql("other", "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
	assert_refused("other", VMOP_ERROR_CORRUPT, "not a session file");

	assert_ok(vmop_db_finish(new_session("newer")));
	run_sql("newer", "PRAGMA user_version=6");
	assert_refused("newer", VMOP_ERROR_NEWER, "format is 6");
	run_sql("newer", "PRAGMA user_version=0");
	assert_refused("newer", VMOP_ERROR_CORRUPT, "format 0");
	run_sql("newer", "PRAGMA user_version=1; PRAGMA application_id=7");
	assert_refused("newer", VMOP_ERROR_CORRUPT, "not a session file");

	/* A view in place of a table is never read. */
	assert_ok(vmop_db_finish(new_session("view")));
	run_sql("view", "DROP TABLE image; CREATE VIEW image AS WITH RECURSIVE r(n) AS"
			" (SELECT 1 UNION ALL SELECT n FROM r) SELECT * FROM r");
	assert_refused("view", VMOP_ERROR_CORRUPT, "image");
	assert_ok(vmop_db_finish(new_session("missing")));
	run_sql("missing", "DROP TABLE chunk");
	assert_refused("missing", VMOP_ERROR_CORRUPT, "chunk");
}

static void cut_short(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("whole");
	for (unsigned i = 0; i < 500; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_finish(db));
	struct stat st;
	assert_int_equal(stat(test_path("whole"), &st), 0);
	_cleanup_fclose_ FILE *file = fopen(test_path("whole"), "r");
	_cleanup_free_ char *bytes = malloc((size_t)st.st_size);
	assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
	/* SQLite counts whole pages: a cut within the last one shows when it is read. */
	size_t end = (size_t)st.st_size - 4096;
	for (size_t len = 1; len <= end; len += len < 200 ? 33 : 4999) {
		write_file("cut", bytes, len);
		assert_refused("cut", VMOP_ERROR_CORRUPT, "");
	}
}

/* A changed byte is harmless or an error, and never a crash or a hang. */
static void damaged(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("good");
	for (unsigned i = 0; i < 20; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_finish(db));
	int fd = open(test_path("good"), O_RDWR);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	int refusals = 0;
	for (off_t at = 7; at < st.st_size; at += 97) {
		uint8_t byte, other;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ (uint8_t)(1 + at % 255);
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		struct vmop_error *err = vmop_db_open(test_path("good"), &db);
		if (!err) {
			err = vmop_db_check(db);
			vmop_db_close(db);
		}
		refusals += err != NULL;
		vmop_error_destroy(err);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	assert_in_range(refusals, 10, 1000000);
	db = open_session("good");
	assert_ok(vmop_db_check(db));
	vmop_db_close(db);
}

static struct vmop_error *count_interval(void *arg, const struct vmop_db_interval *interval)
{
	(void)interval;
	++*(unsigned *)arg;
	return NULL;
}

static unsigned count_intervals(struct vmop_db *db)
{
	unsigned n = 0;
	assert_ok(vmop_db_each_interval(db, count_interval, &n));
	return n;
}

static bool count_steps(void *arg, double share)
{
	assert_in_range((int)(share * 100), 0, 100);
	return --*(int *)arg > 0;
}

static void copies(void **state)
{
	(void)state;
	struct vmop_db *writer = new_session("written"), *reader, *copy;
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	struct stat st;
	int steps = 1000;
	assert_ok(vmop_dir_open(test_dir, 0, &dir));
	for (unsigned i = 0; i < 3; i++)
		assert_ok(put_second(writer, i));
	reader = open_session("written");
	assert_ok(vmop_db_begin_snapshot(reader));
	assert_ok(put_second(writer, 3));
	/* It has the moment of the snapshot, and the reader's snapshot goes on. */
	assert_ok(vmop_db_copy_at(reader, &dir, "copy", test_path("copy"), UINT64_MAX, count_steps,
				  &steps));
	vmop_db_close(reader);
	/* And without one, the moment of the call. */
	reader = open_session("written");
	assert_ok(
		vmop_db_copy_at(reader, &dir, "copy2", test_path("copy2"), UINT64_MAX, NULL, NULL));
	assert_error(
		vmop_db_copy_at(reader, &dir, "copy2", test_path("copy2"), UINT64_MAX, NULL, NULL),
		VMOP_ERROR_OS, "exists");
	assert_error(vmop_db_copy_at(reader, &dir, "copy3", test_path("copy3"), 4096, NULL, NULL),
		     VMOP_ERROR_LIMIT, "larger than the bound");
	assert_int_equal(access(test_path("copy3"), F_OK), -1);
	vmop_db_close(reader);
	assert_ok(vmop_db_finish(writer));
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i ? "copy2" : "copy";
		char wal[16];
		int n = 0;
		snprintf(wal, sizeof(wal), "%s-wal", name);
		assert_int_equal(access(test_path(wal), F_OK), -1);
		assert_int_equal(stat(test_path(name), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		copy = open_session(name);
		assert_ok(vmop_db_check(copy));
		assert_ok(vmop_db_each_event(copy, see_event, &n));
		assert_int_equal(n, 1);
		assert_int_equal(count_intervals(copy), 3 + i);
		vmop_db_close(copy);
	}
}

/* A copy that is stopped, and one of a damaged file, leave nothing. */
static void copies_that_fail(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("large");
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir;
	_cleanup_free_ char *text = malloc(6 << 20);
	int steps = 1;
	assert_ok(vmop_dir_open(test_dir, 0, &dir));
	memset(text, 'x', (6 << 20) - 1);
	text[(6 << 20) - 1] = '\0';
	assert_ok(vmop_db_put_info(db, "long", text));
	assert_ok(vmop_db_finish(db));
	db = open_session("large");
	assert_error(vmop_db_copy_at(db, &dir, "stopped", test_path("stopped"), UINT64_MAX,
				     count_steps, &steps),
		     VMOP_ERROR_BUSY, "interrupted");
	assert_int_equal(access(test_path("stopped"), F_OK), -1);
	assert_int_equal(truncate(test_path("large"), 1 << 20), 0);
	struct vmop_error *err =
		vmop_db_copy_at(db, &dir, "stopped", test_path("stopped"), UINT64_MAX, NULL, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	vmop_error_destroy(err);
	assert_int_equal(access(test_path("stopped"), F_OK), -1);
	vmop_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts),
		cmocka_unit_test(totals_and_filters),
		cmocka_unit_test(pieces),
		cmocka_unit_test(chunks_and_sums),
		cmocka_unit_test(misuse),
		cmocka_unit_test(odd_paths),
		cmocka_unit_test(refused),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(damaged),
		cmocka_unit_test(copies),
		cmocka_unit_test(copies_that_fail),
		cmocka_unit_test(totals_of_intervals),
		cmocka_unit_test(losses_of_a_time),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
