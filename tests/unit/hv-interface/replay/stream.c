// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/replay/stream.h"
#include "hv-interface/source-list.h"
#include "libutil/io.h"

static char dir[] = "/tmp/vmop-stream-XXXXXX";
static char path[sizeof(dir) + 16];

static const struct vmop_event_info events[] = {
	{.name = "cycles", .unit = "events", .frequency_hz = 4000},
	{.name = "cpu-clock", .unit = "ns", .period_events = 1000000},
};

/* One record of every type. */
static const struct vmop_record records[] = {
	{VMOP_RECORD_SAMPLE, 10, {.sample = {0xffffffff81000010, 7, 1, 2, 3, 1, 5, 8, 9}}},
	{VMOP_RECORD_MMAP, 10, {.mmap = {1, 2, 3, 4, 5, 6, 7, 8, 0, {0}, "/lib/x.so"}}},
	{VMOP_RECORD_MMAP, 11, {.mmap = {1, 2, 3, 4, 5, 0, 0, 0, 3, {9, 8, 7}, ""}}},
	{VMOP_RECORD_COMM, 12, {.comm = {1, 2, 1, "seven77"}}},
	{VMOP_RECORD_COMM, 12, {.comm = {1, 2, 0, "eight888"}}},
	{VMOP_RECORD_FORK, 13, {.task = {1, 2, 3, 4}}},
	{VMOP_RECORD_EXIT, 13, {.task = {5, 6, 7, 8}}},
	{VMOP_RECORD_KSYMBOL, 14, {.ksymbol = {99, 16, 1, 0, "bpf_prog_x"}}},
	{VMOP_RECORD_KSYMBOL, 15, {.ksymbol = {99, 16, 0, 1, "tramp"}}},
	{VMOP_RECORD_LOST, 0, {.lost = {1, 1, 1234567890123}}},
	{VMOP_RECORD_THROTTLE, 17, {.throttle = {1, 1, 1}}},
	{VMOP_RECORD_THROTTLE, 18, {.throttle = {1, 1, 0}}},
	{VMOP_RECORD_CPU, 19, {.cpu = {5, 0}}},
	{VMOP_RECORD_CPU, 20, {.cpu = {5, 1}}},
	{VMOP_RECORD_UNHANDLED, 21, {.unhandled_type = 77}},
};
enum { N_RECORDS = sizeof(records) / sizeof(records[0]) };

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	strcat(strcpy(path, dir), "/stream");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static struct vmop_stream_writer *create(void)
{
	struct vmop_stream_writer *writer;
	assert_null(vmop_stream_writer_create(path, events, 2, &writer));
	return writer;
}

static void write_all(void)
{
	struct vmop_stream_writer *writer = create();
	for (size_t i = 0; i < N_RECORDS; i++)
		vmop_stream_writer_put(writer, &records[i]);
	assert_null(vmop_stream_writer_close(writer));
}

static void assert_same(const struct vmop_record *got, const struct vmop_record *want)
{
	assert_int_equal(got->type, want->type);
	assert_true(got->time_ns == want->time_ns);
	switch (want->type) {
	case VMOP_RECORD_SAMPLE:
		assert_memory_equal(&got->sample, &want->sample, sizeof(want->sample));
		break;
	case VMOP_RECORD_MMAP:
		assert_memory_equal(&got->mmap, &want->mmap,
				    offsetof(struct vmop_mmap_record, build_id));
		assert_memory_equal(got->mmap.build_id, want->mmap.build_id, VMOP_BUILD_ID_MAX);
		assert_string_equal(got->mmap.path, want->mmap.path);
		break;
	case VMOP_RECORD_COMM:
		assert_memory_equal(&got->comm, &want->comm,
				    offsetof(struct vmop_comm_record, comm));
		assert_string_equal(got->comm.comm, want->comm.comm);
		break;
	case VMOP_RECORD_FORK:
	case VMOP_RECORD_EXIT:
		assert_memory_equal(&got->task, &want->task, sizeof(want->task));
		break;
	case VMOP_RECORD_KSYMBOL:
		assert_memory_equal(&got->ksymbol, &want->ksymbol, 20);
		assert_string_equal(got->ksymbol.name, want->ksymbol.name);
		break;
	case VMOP_RECORD_LOST:
		assert_true(got->lost.lost_records == want->lost.lost_records);
		assert_int_equal(got->lost.cpu, want->lost.cpu);
		assert_int_equal(got->lost.event, want->lost.event);
		break;
	case VMOP_RECORD_THROTTLE:
		assert_int_equal(got->throttle.cpu, want->throttle.cpu);
		assert_int_equal(got->throttle.event, want->throttle.event);
		assert_int_equal(got->throttle.is_throttled, want->throttle.is_throttled);
		break;
	case VMOP_RECORD_CPU:
		assert_memory_equal(&got->cpu, &want->cpu, sizeof(want->cpu));
		break;
	case VMOP_RECORD_UNHANDLED:
		assert_int_equal(got->unhandled_type, want->unhandled_type);
		break;
	}
}

/* Compare the next record of a drain. */
static void expect(void *arg, const struct vmop_record *record,
		   const struct vmop_stack_capture *stack)
{
	(void)stack;
	size_t *at = arg;
	assert_true(*at < N_RECORDS);
	assert_same(record, &records[(*at)++]);
}

static struct vmop_source *open_replay(void)
{
	const struct vmop_source_setup setup = {.replay_path = path};
	struct vmop_source *source;
	struct vmop_error *err = vmop_source_open(vmop_source_find("replay"), &setup, &source);
	if (err)
		fail_msg("%s", err->message);
	return source;
}

static void every_type_comes_back(void **state)
{
	(void)state;
	write_all();
	struct vmop_source *source = open_replay();
	assert_int_equal(vmop_source_n_events(source), 2);
	assert_string_equal(vmop_source_event(source, 0)->name, "cycles");
	assert_int_equal(vmop_source_event(source, 0)->frequency_hz, 4000);
	assert_string_equal(vmop_source_event(source, 1)->unit, "ns");
	assert_int_equal(vmop_source_event(source, 1)->period_events, 1000000);
	assert_null(vmop_source_start(source));
	assert_int_equal(vmop_source_poll_fd(source), -1);
	size_t at = 0;
	bool ended = false;
	const struct vmop_sink sink = {expect, &at};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_true(ended);
	assert_int_equal(at, N_RECORDS);
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.records, N_RECORDS);
	assert_int_equal(stats.samples, 1);
	assert_true(stats.lost_records == 1234567890123);
	assert_int_equal(stats.throttles, 1);
	assert_int_equal(stats.unhandled_records, 1);
	assert_int_equal(stats.first_ns, 10);
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
}

static void a_horizon_is_honoured(void **state)
{
	(void)state;
	write_all();
	struct vmop_source *source = open_replay();
	size_t at = 0;
	bool ended = true;
	const struct vmop_sink sink = {expect, &at};
	assert_null(vmop_source_drain(source, 12, &sink, &ended));
	assert_int_equal(at, 3);
	assert_false(ended);
	assert_null(vmop_source_drain(source, 12, &sink, &ended));
	assert_int_equal(at, 3);
	assert_null(vmop_source_drain(source, 13, &sink, NULL));
	assert_int_equal(at, 5);
	assert_null(vmop_source_drain(source, 22, &sink, &ended));
	assert_int_equal(at, N_RECORDS);
	assert_true(ended);
	vmop_source_close(source);
}

static void every_cut_is_found(void **state)
{
	(void)state;
	write_all();
	char *data;
	size_t len;
	assert_null(vmop_io_read_file(path, 1 << 20, &data, &len));
	size_t whole = 0;
	for (size_t cut = 0; cut < len; cut++) {
		char *copy = aligned_alloc(8, (cut + 8) & ~(size_t)7);
		memcpy(copy, data, cut);
		struct vmop_stream_reader *reader = NULL;
		struct vmop_record record;
		bool ended = false;
		struct vmop_error *err = vmop_stream_reader_open_memory("cut", copy, cut, &reader);
		while (!err && !ended)
			err = vmop_stream_reader_next(reader, &record, &ended);
		whole += !err; /* cut between two records */
		if (err)
			assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
		vmop_error_destroy(err);
		vmop_stream_reader_close(reader);
		free(copy);
	}
	assert_int_equal(whole, N_RECORDS);
	free(data);
}

/* Change the file in one place and check the error. */
static void spoil(size_t at, const void *bytes, size_t n, enum vmop_error_code code,
		  const char *words)
{
	char *data;
	size_t len;
	assert_null(vmop_io_read_file(path, 1 << 20, &data, &len));
	assert_true(at + n <= len);
	memcpy(data + at, bytes, n);
	struct vmop_stream_reader *reader = NULL;
	struct vmop_record record;
	bool ended = false;
	struct vmop_error *err = vmop_stream_reader_open_memory("spoilt", data, len, &reader);
	while (!err && !ended)
		err = vmop_stream_reader_next(reader, &record, &ended);
	if (!err)
		fail_msg("the change at %zu was not noticed: '%s'", at, words);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, words))
		fail_msg("'%s' lacks '%s'", err->message, words);
	vmop_error_destroy(err);
	if (reader) { /* it stays at the end */
		assert_null(vmop_stream_reader_next(reader, &record, &ended));
		assert_true(ended);
	}
	vmop_stream_reader_close(reader);
	free(data);
}

static void impossible_requests_are_named(void **state)
{
	(void)state;
	enum { FIRST = 64 + 2 * 96, SECOND = FIRST + 56 };
	const uint32_t two = 2, zero = 0, many = 65;
	const uint16_t type = 99, odd = 57, shorter = 48, event = 2, tiny = 8;
	const uint64_t early = 3;
	char unending[64];
	memset(unending, 'x', sizeof(unending));
	write_all();
	spoil(0, "X", 1, VMOP_ERROR_CORRUPT, "the wrong beginning");
	spoil(8, &two, 4, VMOP_ERROR_NEWER, "version 2");
	spoil(8, &zero, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(12, &zero, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(12, &many, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(64, unending, 64, VMOP_ERROR_CORRUPT, "a name without an end");
	spoil(FIRST, &type, 2, VMOP_ERROR_CORRUPT, "unknown type");
	spoil(FIRST + 2, &odd, 2, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + 2, &shorter, 2, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + 2, &tiny, 2, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + 4, &event, 2, VMOP_ERROR_CORRUPT, "an event that is not listed");
	spoil(SECOND + 8, &early, 8, VMOP_ERROR_CORRUPT, "a time that goes back");
	spoil(SECOND + 16 + 48, "\x15", 1, VMOP_ERROR_CORRUPT, "a build-id that is too long");
	spoil(SECOND + 16 + 72 + 8, "xxxxxxxx", 8, VMOP_ERROR_CORRUPT, "a text without an end");
}

static void other_files_are_refused(void **state)
{
	(void)state;
	struct vmop_source *source;
	struct vmop_source_setup setup = {0};
	struct vmop_error *err = vmop_source_open(vmop_source_find("replay"), &setup, &source);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	setup.replay_path = "/nonexistent";
	err = vmop_source_open(vmop_source_find("replay"), &setup, &source);
	assert_non_null(strstr(err->message, "/nonexistent"));
	vmop_error_destroy(err);
	setup.replay_path = dir;
	err = vmop_source_open(vmop_source_find("replay"), &setup, &source);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
	assert_null(vmop_source_find("reply"));
}

/* Samples of a repeated block, which is larger than the reader's window. */
enum { BLOCK_SAMPLES = 10000, TIMES = 7 };

struct tally {
	uint64_t n, sum, last_ns;
};

static void add(void *arg, const struct vmop_record *record, const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct tally *tally = arg;
	assert_true(record->time_ns > tally->last_ns);
	tally->last_ns = record->time_ns;
	tally->n++;
	tally->sum += record->sample.ip;
}

static void put_block(struct vmop_stream_writer *writer, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		const struct vmop_record record = {
			.type = VMOP_RECORD_SAMPLE, .time_ns = 100 + i, .sample = {.ip = i}};
		vmop_stream_writer_put(writer, &record);
	}
}

static void a_block_comes_again(void **state)
{
	(void)state;
	struct vmop_stream_writer *writer = create();
	vmop_stream_writer_begin_repeat(writer, TIMES, BLOCK_SAMPLES);
	put_block(writer, BLOCK_SAMPLES);
	vmop_stream_writer_end_repeat(writer);
	const struct vmop_record last = {.type = VMOP_RECORD_SAMPLE,
					 .time_ns = 100 + TIMES * BLOCK_SAMPLES,
					 .sample = {.ip = 5}};
	vmop_stream_writer_put(writer, &last);
	assert_null(vmop_stream_writer_close(writer));
	struct vmop_source *source = open_replay();
	struct tally tally = {0};
	bool ended;
	const struct vmop_sink sink = {add, &tally};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_true(ended);
	assert_true(tally.n == (uint64_t)TIMES * BLOCK_SAMPLES + 1);
	assert_true(tally.sum == (uint64_t)TIMES * BLOCK_SAMPLES * (BLOCK_SAMPLES - 1) / 2 + 5);
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_true(stats.bytes == tally.n * 56);
	vmop_source_close(source);
}

static void bad_blocks_are_named(void **state)
{
	(void)state;
	enum {
		REPEAT = 64 + 2 * 96,
		TIMES_AT = REPEAT + 16,
		BYTES_AT = TIMES_AT + 8,
		STEP_AT = BYTES_AT + 8,
		SAMPLE = REPEAT + 40
	};
	const uint64_t none = 0, over = 3 * 56 + 8, across = 56 + 16, back = 0, far = UINT64_MAX,
		       too_often = VMOP_STREAM_MAX_TIMES + 1;
	const uint16_t nested = VMOP_STREAM_REPEAT, nested_len = 40;
	struct vmop_stream_writer *writer = create();
	vmop_stream_writer_begin_repeat(writer, 3, 3);
	put_block(writer, 3);
	vmop_stream_writer_end_repeat(writer);
	assert_null(vmop_stream_writer_close(writer));
	spoil(TIMES_AT, &none, 8, VMOP_ERROR_CORRUPT, "an invalid repeated block");
	spoil(TIMES_AT, &too_often, 8, VMOP_ERROR_CORRUPT, "an invalid repeated block");
	spoil(BYTES_AT, &none, 8, VMOP_ERROR_CORRUPT, "an invalid repeated block");
	spoil(BYTES_AT, &over, 8, VMOP_ERROR_CORRUPT, "an invalid repeated block");
	spoil(BYTES_AT, &far, 8, VMOP_ERROR_CORRUPT, "an invalid repeated block");
	spoil(BYTES_AT, &across, 8, VMOP_ERROR_CORRUPT, "across the end of a repeated block");
	spoil(STEP_AT, &back, 8, VMOP_ERROR_CORRUPT, "a time that goes back");
	spoil(STEP_AT, &far, 8, VMOP_ERROR_CORRUPT, "a time that goes back");
	struct vmop_stream_record inner = {.type = nested, .len_bytes = nested_len};
	spoil(SAMPLE, &inner, sizeof(inner), VMOP_ERROR_CORRUPT, "inside another");
}

static void the_writer_reports_errors(void **state)
{
	(void)state;
	struct vmop_stream_writer *writer;
	struct vmop_error *err = vmop_stream_writer_create("/nonexistent/x", events, 2, &writer);
	assert_non_null(strstr(err->message, "/nonexistent/x"));
	vmop_error_destroy(err);
	static char longest[VMOP_STREAM_MAX_TEXT_BYTES + 1];
	memset(longest, 'x', VMOP_STREAM_MAX_TEXT_BYTES);
	struct vmop_record record = {.type = VMOP_RECORD_COMM, .comm = {.comm = longest}};
	writer = create();
	vmop_stream_writer_put(writer, &record);
	err = vmop_stream_writer_close(writer);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	assert_null(vmop_stream_writer_create("/dev/full", events, 2, &writer));
	put_block(writer, 1000);
	err = vmop_stream_writer_close(writer);
	assert_non_null(strstr(err->message, "No space left"));
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_comes_back),
		cmocka_unit_test(a_horizon_is_honoured),
		cmocka_unit_test(every_cut_is_found),
		cmocka_unit_test(impossible_requests_are_named),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(a_block_comes_again),
		cmocka_unit_test(bad_blocks_are_named),
		cmocka_unit_test(the_writer_reports_errors),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
