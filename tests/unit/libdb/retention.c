// SPDX-License-Identifier: GPL-2.0-or-later
/* Coarser detail, deleted intervals, and summaries: all other sums stay. */
#include "tests/unit/libdb/common.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <uthash.h>

#include "libdb/summaries/summary.h"

#define MINUTE_NS (60 * VMOP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)

enum { PROGRAMS = 6, IMAGES = 4, DOMAINS = 3, EVENTS = 2, STACKS = 8, TASKS_MAX = 4096 };

/* A small generator, so that a failure can be repeated by its seed. */
struct dice {
	uint64_t state;
};

static uint32_t roll(struct dice *dice, uint32_t n)
{
	dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(dice->state >> 33) % n;
}

/* ---- sums by every key ---------------------------------------------------------- */

/* A key with the program in the task's place: merging keeps only this. No padding. */
struct sum_key {
	uint32_t event, domain, billed, bill, mode, certainty, image, program, stack;
	int32_t vcpu, cpu;
	uint32_t zero;
	uint64_t offset;
};

struct sum {
	struct sum_key key;
	uint64_t samples, weight_events;
	UT_hash_handle hh;
};

static void add_sum(struct sum **sums, const struct sum_key *key, const struct vmop_db_cell *cell)
{
	struct sum *sum;
	HASH_FIND(hh, *sums, key, sizeof(*key), sum);
	if (!sum) {
		sum = calloc(1, sizeof(*sum));
		assert_non_null(sum);
		sum->key = *key;
		HASH_ADD(hh, *sums, key, sizeof(sum->key), sum);
	}
	sum->samples += cell->samples;
	sum->weight_events += cell->weight_events;
}

static void free_sums(struct sum **sums)
{
	struct sum *sum, *next;
	HASH_ITER (hh, *sums, sum, next) {
		HASH_DEL(*sums, sum);
		free(sum);
	}
}

static struct sum_key sum_key_of(const struct vmop_db_chunk_key *key, uint32_t program,
				 uint64_t offset)
{
	return (struct sum_key){.event = key->event.number,
				.domain = key->domain.number,
				.billed = key->billed.number,
				.bill = key->bill,
				.mode = key->mode,
				.certainty = key->certainty,
				.image = key->image.number,
				.program = program,
				.stack = key->stack.number,
				.vcpu = key->vcpu,
				.cpu = key->cpu,
				.offset = offset};
}

/* ---- a random stream ------------------------------------------------------------- */

struct stream {
	struct vmop_db *db;
	struct dice dice;
	struct sum *sums;
	uint64_t now_ns, losses;
	uint32_t n_tasks;		  /* begun until now; their ids are 1 to that */
	uint32_t programs[TASKS_MAX + 1]; /* by id */
	bool ended[TASKS_MAX + 1];
};

static void begin_task(struct stream *stream)
{
	char comm[8], cgroup[8];
	if (stream->n_tasks == TASKS_MAX)
		return;
	uint32_t id = ++stream->n_tasks, program = roll(&stream->dice, PROGRAMS);
	stream->programs[id] = program;
	snprintf(comm, sizeof(comm), "p%u", program % 3);
	snprintf(cgroup, sizeof(cgroup), "/c%u", program / 3);
	assert_ok(vmop_db_put_task(stream->db, &(struct vmop_db_task){.id = {id},
								      .pid = (int32_t)id,
								      .tid = (int32_t)id,
								      .comm = comm,
								      .exe_image = {1},
								      .cgroup = cgroup}));
}

/* Return a task that has not ended. */
static uint32_t some_task(struct stream *stream)
{
	for (unsigned i = 0; i < 64; i++) {
		uint32_t id = 1 + roll(&stream->dice, stream->n_tasks);
		if (!stream->ended[id])
			return id;
	}
	return 1; /* it never ends */
}

static struct vmop_db_chunk_key random_key(struct stream *stream)
{
	struct dice *dice = &stream->dice;
	return (struct vmop_db_chunk_key){.event = {roll(dice, EVENTS)},
					  .domain = {roll(dice, DOMAINS)},
					  .billed = {roll(dice, DOMAINS)},
					  .bill = roll(dice, 3),
					  .mode = 1 + roll(dice, 3),
					  .certainty = roll(dice, 3),
					  .vcpu = (int32_t)roll(dice, 2) - 1,
					  .cpu = (int32_t)roll(dice, 3) - 1,
					  .task = {some_task(stream)},
					  .image = {1 + roll(dice, IMAGES)}};
}

static void put_plain(struct stream *stream, const struct vmop_db_chunk_key *key)
{
	struct vmop_db_cell cells[8];
	size_t n = 1 + roll(&stream->dice, 8);
	uint64_t offset = roll(&stream->dice, 40) * 4;
	for (size_t i = 0; i < n; i++, offset += 4 + roll(&stream->dice, 5000)) {
		cells[i] = (struct vmop_db_cell){offset, 1 + roll(&stream->dice, 300),
						 roll(&stream->dice, 1u << 30)};
		struct sum_key sum = sum_key_of(key, stream->programs[key->task.number], offset);
		add_sum(&stream->sums, &sum, &cells[i]);
	}
	assert_ok(vmop_db_put_chunk(stream->db, key, cells, n));
}

static void put_with_stacks(struct stream *stream, struct vmop_db_chunk_key key)
{
	struct vmop_db_stack_cell cells[STACKS];
	uint32_t n = 1 + roll(&stream->dice, STACKS);
	for (uint32_t i = 0; i < n; i++) {
		cells[i] = (struct vmop_db_stack_cell){
			.stack = {i + 1},
			.cell = {roll(&stream->dice, 9), 1 + roll(&stream->dice, 9), 7}};
		key.stack = cells[i].stack;
		struct sum_key sum =
			sum_key_of(&key, stream->programs[key.task.number], cells[i].cell.offset);
		add_sum(&stream->sums, &sum, &cells[i].cell);
	}
	assert_ok(vmop_db_put_stacks_chunk(stream->db, &key, cells, n));
}

static void put_interval(struct stream *stream)
{
	struct dice *dice = &stream->dice;
	uint64_t len_ns = VMOP_NS_PER_S / 2 + roll(dice, 1000000000);
	if (roll(dice, 40) == 0)
		stream->now_ns += roll(dice, 7200) * VMOP_NS_PER_S; /* nothing was sampled */
	if (roll(dice, 3) == 0)
		begin_task(stream);
	assert_ok(vmop_db_begin_interval(stream->db, stream->now_ns, len_ns));
	for (uint32_t n = roll(dice, 12); n; n--) {
		const struct vmop_db_chunk_key key = random_key(stream);
		if (roll(dice, 4))
			put_plain(stream, &key);
		else
			put_with_stacks(stream, key);
	}
	if (roll(dice, 4) == 0) {
		uint64_t count = 1 + roll(dice, 9);
		stream->losses += count;
		assert_ok(vmop_db_put_loss(stream->db,
					   &(struct vmop_db_loss){.name = "lost", .count = count}));
	}
	stream->now_ns += len_ns;
	uint32_t ending = some_task(stream);
	if (roll(dice, 3) == 0 && ending != 1) {
		assert_ok(vmop_db_end_task(stream->db, (struct vmop_task_row_id){ending},
					   stream->now_ns));
		stream->ended[ending] = true;
	}
	assert_ok(vmop_db_commit(stream->db));
}

static void begin_stream(struct stream *stream, const char *name, uint64_t seed)
{
	*stream = (struct stream){.dice = {seed}, .now_ns = TEST_START_NS};
	assert_ok(vmop_db_create(test_path(name), &stream->db));
	for (uint32_t i = 0; i < DOMAINS; i++)
		assert_ok(vmop_db_put_domain(stream->db,
					     &(struct vmop_db_domain){.id = {i}, .name = "d"}));
	for (uint32_t i = 0; i < EVENTS; i++)
		assert_ok(vmop_db_put_event(
			stream->db, &(struct vmop_db_event){
					    .id = {i}, .name = "e", .source = "s", .unit = "u"}));
	for (uint32_t i = 1; i <= IMAGES; i++)
		assert_ok(vmop_db_put_image(
			stream->db,
			&(struct vmop_db_image){.id = {i}, .kind = VMOP_IMAGE_FILE, .name = "/i"}));
	begin_task(stream);
	struct vmop_db_stack_node nodes[STACKS];
	for (uint32_t i = 0; i < STACKS; i++)
		nodes[i] = (struct vmop_db_stack_node){
			.id = {i + 1}, .parent = {i}, .image = {i ? 1 : 0}, .offset = i};
	assert_ok(vmop_db_begin_interval(stream->db, stream->now_ns, 1));
	assert_ok(vmop_db_put_stack_nodes(stream->db, nodes, STACKS));
	assert_ok(vmop_db_commit(stream->db));
}

/* ---- reading it back -------------------------------------------------------------- */

struct reading {
	struct sum *sums;
	struct {
		uint32_t id, program;
	} rows[TASKS_MAX + PROGRAMS];
	size_t n_rows;
	uint64_t losses;
};

static struct vmop_error *read_task(void *arg, const struct vmop_db_task *task)
{
	struct reading *reading = arg;
	assert_true(reading->n_rows < TASKS_MAX + PROGRAMS);
	reading->rows[reading->n_rows].id = task->id.number;
	reading->rows[reading->n_rows++].program =
		(uint32_t)(atoi(task->comm + 1) + 3 * atoi(task->cgroup + 2));
	return NULL;
}

static struct vmop_error *read_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	struct reading *reading = arg;
	size_t i = 0;
	while (i < reading->n_rows && reading->rows[i].id != chunk->key.task.number)
		i++;
	assert_true(i < reading->n_rows);
	for (size_t at = 0; at < chunk->n_cells; at++) {
		struct sum_key key =
			sum_key_of(&chunk->key, reading->rows[i].program, chunk->cells[at].offset);
		add_sum(&reading->sums, &key, &chunk->cells[at]);
	}
	return NULL;
}

static struct vmop_error *read_loss(void *arg, const struct vmop_db_loss *loss)
{
	((struct reading *)arg)->losses += loss->count;
	return NULL;
}

/* Check that the file has the stream's sums by every key, and no others. */
static void check_sums(struct stream *stream)
{
	_cleanup_free_ struct reading *reading = calloc(1, sizeof(*reading));
	assert_ok(vmop_db_each_task(stream->db, read_task, reading));
	assert_ok(vmop_db_each_chunk(stream->db, NULL, read_chunk, reading));
	assert_ok(vmop_db_each_loss(stream->db, read_loss, reading));
	assert_int_equal(HASH_COUNT(reading->sums), HASH_COUNT(stream->sums));
	assert_int_equal(reading->losses, stream->losses);
	struct sum *expected, *next, *found;
	HASH_ITER (hh, stream->sums, expected, next) {
		HASH_FIND(hh, reading->sums, &expected->key, sizeof(expected->key), found);
		assert_non_null(found);
		assert_int_equal(found->samples, expected->samples);
		assert_int_equal(found->weight_events, expected->weight_events);
	}
	free_sums(&reading->sums);
	assert_ok(vmop_db_check(stream->db));
}

/* Sums by program and offset, of a span of time. */
static struct vmop_error *read_piece(void *arg, const struct vmop_db_chunk *piece)
{
	return read_chunk(arg, piece);
}

static struct vmop_error *read_total(void *arg, const struct vmop_db_total *total)
{
	*(uint64_t *)arg += total->samples;
	return NULL;
}

static struct vmop_error *read_sum(void *arg, const struct vmop_db_sum *sum)
{
	for (size_t i = 0; i < sum->n_cells; i++)
		*(uint64_t *)arg += sum->cells[i].samples;
	return NULL;
}

/* Check that a span of time has the same samples by each walk, with and without summaries. */
static void check_span(struct stream *stream, uint64_t from_ns, uint64_t to_ns)
{
	struct vmop_db_filter filter = {.from_ns = from_ns, .to_ns = to_ns};
	_cleanup_free_ struct reading *exact = calloc(1, sizeof(*exact));
	_cleanup_free_ struct reading *summed = calloc(1, sizeof(*summed));
	uint64_t by_totals = 0, by_sums = 0, all = 0;
	assert_ok(vmop_db_each_task(stream->db, read_task, exact));
	assert_ok(vmop_db_each_task(stream->db, read_task, summed));
	assert_ok(vmop_db_each_piece(stream->db, &filter, read_piece, exact));
	filter.needs_no_times = true;
	assert_ok(vmop_db_each_piece(stream->db, &filter, read_piece, summed));
	assert_ok(vmop_db_each_total(stream->db, &filter, read_total, &by_totals));
	assert_ok(vmop_db_each_sum(stream->db, &filter, VMOP_DB_MERGE_TASKS, read_sum, &by_sums));
	assert_int_equal(HASH_COUNT(exact->sums), HASH_COUNT(summed->sums));
	struct sum *expected, *next, *found;
	HASH_ITER (hh, exact->sums, expected, next) {
		HASH_FIND(hh, summed->sums, &expected->key, sizeof(expected->key), found);
		assert_non_null(found);
		assert_int_equal(found->samples, expected->samples);
		assert_int_equal(found->weight_events, expected->weight_events);
		all += expected->samples;
	}
	assert_int_equal(by_totals, all);
	assert_int_equal(by_sums, all);
	free_sums(&exact->sums);
	free_sums(&summed->sums);
}

static void check_spans(struct stream *stream)
{
	uint64_t len_ns = stream->now_ns - TEST_START_NS;
	check_span(stream, 0, 0);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t from_ns = TEST_START_NS + len_ns / 1000 * roll(&stream->dice, 1000);
		check_span(stream, from_ns,
			   from_ns + len_ns / 1000 * (1 + roll(&stream->dice, 500)));
	}
}

/* ---- tests ------------------------------------------------------------------------ */

/* A ladder of 1 to 3 random steps, each a multiple of the one before. */
static unsigned random_ladder(struct dice *dice, uint64_t lens_ns[3])
{
	unsigned n = 1 + roll(dice, 3);
	lens_ns[0] = (2 + roll(dice, 60)) * VMOP_NS_PER_S;
	for (unsigned i = 1; i < n; i++)
		lens_ns[i] = lens_ns[i - 1] * (2 + roll(dice, 10));
	return n;
}

static void totals_stay(void **state)
{
	(void)state;
	unsigned n_summaries = 0;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct stream *stream = malloc(sizeof(*stream));
		char name[24];
		uint64_t lens_ns[3];
		snprintf(name, sizeof(name), "stream-%" PRIu64, seed);
		begin_stream(stream, name, seed);
		unsigned n_lens = random_ladder(&stream->dice, lens_ns);
		for (unsigned i = 0; i < 300; i++) {
			bool more, summed = false;
			put_interval(stream);
			unsigned level = roll(&stream->dice, 4);
			uint64_t before_ns =
				stream->now_ns - roll(&stream->dice, 900) * VMOP_NS_PER_S;
			if (level < n_lens)
				assert_ok(vmop_db_roll_up(stream->db, (uint8_t)level, before_ns,
							  lens_ns[level],
							  1 + roll(&stream->dice, 3), &more));
			else if (i % 8 == 0)
				assert_ok(vmop_db_coarsen(stream->db, lens_ns, n_lens, before_ns,
							  &more));
			assert_ok(vmop_db_give_back(stream->db, 0, 4, &more));
			if (roll(&stream->dice, 3) == 0)
				assert_ok(vmop_db_summarize(
					stream->db,
					stream->now_ns - roll(&stream->dice, 900) * VMOP_NS_PER_S,
					&summed));
			n_summaries += summed;
			if (i % 75 == 0) {
				check_sums(stream);
				check_spans(stream);
			}
		}
		check_sums(stream);
		/* As coarse as it can be. */
		bool done = true;
		while (done)
			assert_ok(vmop_db_coarsen(stream->db, lens_ns, n_lens, UINT64_MAX / 4,
						  &done));
		check_sums(stream);
		check_spans(stream);
		/* Some of it is deleted. */
		done = true;
		for (unsigned i = 0; i < 5 && done; i++)
			assert_ok(vmop_db_drop_oldest(stream->db, UINT64_MAX / 4, &done));
		check_spans(stream);
		assert_ok(vmop_db_check(stream->db));
		free_sums(&stream->sums);
		assert_ok(vmop_db_finish(stream->db));
		free(stream);
	}
	assert_true(n_summaries > 20);
}

/* Roll up, sum up and delete for ever, in a process that will be killed. */
static void work_until_killed(const char *name)
{
	struct vmop_db *db;
	bool done;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	for (unsigned i = 0;; i++) {
		uint64_t now_ns = TEST_START_NS + i * VMOP_NS_PER_S;
		assert_ok(put_second(db, i));
		assert_ok(vmop_db_roll_up(db, 0, now_ns, 7 * VMOP_NS_PER_S, 1, &done));
		assert_ok(vmop_db_roll_up(db, 1, now_ns, MINUTE_NS, 1, &done));
		assert_ok(vmop_db_summarize(db, now_ns - MINUTE_NS, &done));
		assert_ok(vmop_db_give_back(db, 0, 2, &done));
		if (i > 3000)
			assert_ok(vmop_db_drop_oldest(db, now_ns - 3000 * VMOP_NS_PER_S, &done));
	}
}

static uint64_t number_of(struct vmop_db *db, const char *name);

/* Each interval has 10 samples, so whatever a killed writer left has ten times its seconds. */
static void kill_in_the_middle(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		char name[24], wal[32];
		struct vmop_db *db;
		int status;
		snprintf(name, sizeof(name), "killed-%u", round);
		snprintf(wal, sizeof(wal), "%s-wal", name);
		pid_t child = fork();
		if (child == 0)
			work_until_killed(name);
		/* Not before its first interval; the rest is chance. */
		struct stat st;
		while (stat(test_path(wal), &st) < 0 || st.st_size < 65536)
			usleep(1000);
		usleep(7919 * round);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_ok(vmop_db_recover(test_path(name)));
		assert_ok(vmop_db_open(test_path(name), &db));
		assert_ok(vmop_db_check(db));
		uint64_t samples = totals_of(db, NULL).samples, in_intervals = 0;
		struct vmop_db_filter filter = {.needs_no_times = true};
		assert_ok(vmop_db_each_sum(db, &filter, 0, read_sum, &in_intervals));
		assert_int_equal(samples % 10, 0);
		assert_int_equal(samples, in_intervals);
		assert_int_equal(number_of(db, "dropped_samples") % 10, 0);
		vmop_db_close(db);
	}
}

static uint64_t number_of(struct vmop_db *db, const char *name)
{
	_cleanup_free_ char *text = NULL;
	assert_ok(vmop_db_get_info(db, name, &text));
	return text ? strtoull(text, NULL, 10) : 0;
}

static void oldest_goes(void **state)
{
	(void)state;
	struct vmop_db *db;
	bool done;
	assert_ok(vmop_db_create(test_path("oldest"), &db));
	put_facts(db);
	assert_ok(vmop_db_drop_oldest(db, UINT64_MAX, &done));
	assert_false(done); /* nothing to delete */
	for (unsigned i = 0; i < 10; i++)
		assert_ok(put_second(db, i));
	/* The third second has not ended. */
	uint64_t before_ns = TEST_START_NS + 5 * VMOP_NS_PER_S / 2;
	unsigned n = 0;
	for (done = true; done; n += done)
		assert_ok(vmop_db_drop_oldest(db, before_ns, &done));
	assert_int_equal(n, 2);
	assert_int_equal(totals_of(db, NULL).samples, 80);
	assert_int_equal(number_of(db, "dropped_samples"), 20);
	assert_int_equal(number_of(db, "dropped_until_ns"), TEST_START_NS + 2 * VMOP_NS_PER_S);
	/* The last one stays, and with it the session's place in time. */
	for (done = true; done;)
		assert_ok(vmop_db_drop_oldest(db, UINT64_MAX, &done));
	assert_int_equal(totals_of(db, NULL).samples, 10);
	assert_int_equal(number_of(db, "dropped_samples"), 90);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, 1));
	assert_error(vmop_db_drop_oldest(db, UINT64_MAX, &done), VMOP_ERROR_CANT, "open");
	assert_error(vmop_db_give_back(db, 0, 1, &done), VMOP_ERROR_CANT, "open");
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(test_path("oldest"), &db));
	assert_error(vmop_db_drop_oldest(db, UINT64_MAX, &done), VMOP_ERROR_CANT, "reading");
	assert_error(vmop_db_give_back(db, 0, 1, &done), VMOP_ERROR_CANT, "reading");
	vmop_db_close(db);
}

/* Incompressible offsets: 64 chunks of 256 cells take some 50 KB. */
static void put_large_second(struct vmop_db *db, struct dice *dice, unsigned i)
{
	struct vmop_db_cell cells[256];
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S, VMOP_NS_PER_S));
	for (int cpu = 0; cpu < 64; cpu++) {
		struct vmop_db_chunk_key key = key_of(1, 2);
		uint64_t offset = 0;
		key.cpu = cpu;
		for (size_t at = 0; at < 256; at++) {
			offset += 1 + roll(dice, 100000);
			cells[at] = (struct vmop_db_cell){offset, 1 + roll(dice, 9), 1};
		}
		assert_ok(vmop_db_put_chunk(db, &key, cells, 256));
	}
	assert_ok(vmop_db_commit(db));
}

static void file_shrinks(void **state)
{
	(void)state;
	struct vmop_db *db;
	struct dice dice = {7};
	struct vmop_db_room full, emptied, given_back;
	struct stat st;
	bool more = true;
	unsigned calls = 0;
	assert_ok(vmop_db_create(test_path("shrinks"), &db));
	put_facts(db);
	for (unsigned i = 0; i < 200; i++)
		put_large_second(db, &dice, i);
	assert_ok(vmop_db_room(db, &full));
	while (more)
		assert_ok(vmop_db_drop_oldest(db, TEST_START_NS + 180 * VMOP_NS_PER_S, &more));
	assert_ok(vmop_db_room(db, &emptied));
	assert_true(emptied.used_bytes < full.used_bytes / 5);
	assert_true(emptied.free_bytes > full.used_bytes / 2);
	for (more = true; more; calls++)
		assert_ok(vmop_db_give_back(db, 1 << 20, 256, &more));
	assert_true(calls > 3);
	assert_ok(vmop_db_room(db, &given_back));
	assert_in_range(given_back.free_bytes, (1 << 20) - 65536, (1 << 20) + 65536);
	/* Writing goes on, and checkpoints cut the file itself. */
	for (unsigned i = 200; i < 400; i++) {
		put_large_second(db, &dice, i);
		assert_ok(vmop_db_drop_oldest(db, TEST_START_NS + (i - 20) * VMOP_NS_PER_S, &more));
	}
	assert_int_equal(stat(test_path("shrinks"), &st), 0);
	assert_true((uint64_t)st.st_size < full.used_bytes / 2);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

struct seen {
	struct vmop_db_detail details[8];
	size_t n;
};

static struct vmop_error *see_detail(void *arg, const struct vmop_db_detail *detail)
{
	struct seen *seen = arg;
	assert_true(seen->n < 8);
	seen->details[seen->n++] = *detail;
	return NULL;
}

static void spans_have_detail(void **state)
{
	(void)state;
	struct vmop_db *db;
	struct seen seen = {0};
	bool more;
	assert_ok(vmop_db_create(test_path("detail"), &db));
	put_facts(db);
	assert_ok(vmop_db_each_detail(db, see_detail, &seen));
	assert_int_equal(seen.n, 0);
	for (unsigned i = 0; i < 7500; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + 120 * MINUTE_NS, MINUTE_NS, 1000, &more));
	assert_ok(vmop_db_roll_up(db, 1, TEST_START_NS + 90 * MINUTE_NS, 10 * MINUTE_NS, 1000,
				  &more));
	assert_ok(vmop_db_each_detail(db, see_detail, &seen));
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.details[0].level, 2);
	assert_int_equal(seen.details[0].start_ns, TEST_START_NS);
	assert_int_equal(seen.details[0].longest_ns, 10 * MINUTE_NS);
	assert_int_equal(seen.details[1].level, 1);
	assert_int_equal(seen.details[1].start_ns, seen.details[0].end_ns);
	assert_int_equal(seen.details[1].longest_ns, MINUTE_NS);
	assert_int_equal(seen.details[2].level, 0);
	assert_int_equal(seen.details[2].n_intervals, 7500 - 7200);
	assert_int_equal(seen.details[2].end_ns, TEST_START_NS + 7500 * VMOP_NS_PER_S);
	/* The oldest detail goes first: the minutes after the last ten become ten, in their order.
	 */
	uint64_t lens_ns[] = {MINUTE_NS, 10 * MINUTE_NS, HOUR_NS};
	bool done;
	assert_ok(vmop_db_coarsen(db, lens_ns, 3, TEST_START_NS + 130 * MINUTE_NS, &done));
	assert_true(done);
	seen.n = 0;
	assert_ok(vmop_db_each_detail(db, see_detail, &seen));
	assert_int_equal(seen.details[0].level, 3);
	assert_in_range(seen.details[0].end_ns - TEST_START_NS, 10 * MINUTE_NS, HOUR_NS);
	assert_int_equal(totals_of(db, NULL).samples, 75000);
	assert_ok(vmop_db_finish(db));
}

struct summary_rows {
	unsigned n[5]; /* by level */
};

static struct vmop_error *count_summary(void *arg, const struct vmop_summary *summary)
{
	assert_in_range(summary->span.level, 0, 4);
	((struct summary_rows *)arg)->n[summary->span.level]++;
	return NULL;
}

/* From 22:14:00 on, 50 hours of a minute each: a part of a day, two days, and the last minutes. */
static void summaries_become_longer(void **state)
{
	(void)state;
	struct vmop_db *db;
	struct summary_rows rows = {0};
	bool done;
	assert_ok(vmop_db_create(test_path("summaries"), &db));
	put_facts(db);
	for (unsigned i = 0; i < 50 * 60; i++) {
		const struct vmop_db_cell cell = {16, 2, 2};
		struct vmop_db_chunk_key key = key_of(1, 2);
		uint64_t now_ns = TEST_START_NS + i * MINUTE_NS;
		assert_ok(vmop_db_begin_interval(db, now_ns, MINUTE_NS));
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
		assert_ok(vmop_db_commit(db));
		for (done = i % 5 == 0; done;)
			assert_ok(vmop_db_summarize(db, now_ns, &done));
	}
	assert_ok(vmop_summaries_each(db, count_summary, &rows));
	assert_in_range(rows.n[4], 1, 2); /* the days until midnight, which five days end */
	assert_int_equal(rows.n[3], 0);
	assert_int_equal(rows.n[2], 0);	  /* of six hours */
	assert_int_equal(rows.n[1], 0);	  /* of an hour */
	assert_in_range(rows.n[0], 0, 2); /* of ten minutes: until 00:14 */
	assert_int_equal(totals_of(db, NULL).samples, 6000);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_stay),	     cmocka_unit_test(kill_in_the_middle),
		cmocka_unit_test(oldest_goes),	     cmocka_unit_test(file_shrinks),
		cmocka_unit_test(spans_have_detail), cmocka_unit_test(summaries_become_longer),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
