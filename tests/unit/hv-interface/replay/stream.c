// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
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
	assert_null(vmop_stream_writer_create(path, events, 2, NULL, &writer));
	return writer;
}

static void write_all(void)
{
	struct vmop_stream_writer *writer = create();
	for (size_t i = 0; i < N_RECORDS; i++)
		vmop_stream_writer_put(writer, &records[i], NULL);
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
	case VMOP_RECORD_USER_CHAIN: /* no stream has them */
	case VMOP_RECORD_GUEST_STATE:
	case VMOP_RECORD_SWITCH:
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
		const struct vmop_stack_capture *stack;
		bool ended = false;
		struct vmop_error *err = vmop_stream_reader_open_memory("cut", copy, cut, &reader);
		while (!err && !ended)
			err = vmop_stream_reader_next(reader, &record, &stack, &ended);
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
	const struct vmop_stack_capture *stack;
	bool ended = false;
	struct vmop_error *err = vmop_stream_reader_open_memory("spoilt", data, len, &reader);
	while (!err && !ended)
		err = vmop_stream_reader_next(reader, &record, &stack, &ended);
	if (!err)
		fail_msg("the change at %zu was not noticed: '%s'", at, words);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, words))
		fail_msg("'%s' lacks '%s'", err->message, words);
	vmop_error_destroy(err);
	if (reader) { /* it stays at the end */
		assert_null(vmop_stream_reader_next(reader, &record, &stack, &ended));
		assert_true(ended);
	}
	vmop_stream_reader_close(reader);
	free(data);
}

static void impossible_requests_are_named(void **state)
{
	(void)state;
	enum { FIRST = 64 + 2 * 96, SECOND = FIRST + 56 };
	enum { LEN = 0, TYPE = 4, EVENT = 5 };
	const uint32_t newer = VMOP_STREAM_VERSION + 1, zero = 0, many = 65;
	const uint32_t odd = 57, shorter = 48, longer = 64, tiny = 8, huge = UINT32_MAX - 7;
	const uint64_t early = 3;
	char unending[64];
	memset(unending, 'x', sizeof(unending));
	write_all();
	spoil(0, "X", 1, VMOP_ERROR_CORRUPT, "the wrong beginning");
	spoil(8, &newer, 4, VMOP_ERROR_NEWER, "version 3");
	spoil(8, &zero, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(12, &zero, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(12, &many, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(64, unending, 64, VMOP_ERROR_CORRUPT, "a name without an end");
	spoil(FIRST + TYPE, "\x63", 1, VMOP_ERROR_CORRUPT, "unknown type");
	spoil(FIRST + LEN, &odd, 4, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + LEN, &shorter, 4, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + LEN, &longer, 4, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + LEN, &tiny, 4, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(SECOND + LEN, &huge, 4, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(FIRST + EVENT, "\2", 1, VMOP_ERROR_CORRUPT, "an event that is not listed");
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
		vmop_stream_writer_put(writer, &record, NULL);
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
	vmop_stream_writer_put(writer, &last, NULL);
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
	struct vmop_stream_record inner = {.type = VMOP_STREAM_REPEAT, .len_bytes = 40};
	spoil(SAMPLE, &inner, sizeof(inner), VMOP_ERROR_CORRUPT, "inside another");
}

/* ---- version 1 --------------------------------------------------------------- */

/* Give the stream in the file the headers of version 1. */
static void make_old(void)
{
	char *data;
	size_t len, at = 64 + 2 * 96;
	const uint32_t version = 1;
	assert_null(vmop_io_read_file(path, 1 << 20, &data, &len));
	memcpy(data + 8, &version, sizeof(version));
	while (at < len) {
		struct vmop_stream_record record;
		memcpy(&record, data + at, sizeof(record));
		struct vmop_stream_record_v1 old = {.type = record.type,
						    .len_bytes = (uint16_t)record.len_bytes,
						    .event = record.event,
						    .flags = record.flags,
						    .time_ns = record.time_ns};
		if (record.type == VMOP_STREAM_REPEAT)
			old.type = VMOP_STREAM_V1_REPEAT;
		memcpy(data + at, &old, sizeof(old));
		at += record.len_bytes;
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	free(data);
}

static void version_1_is_read(void **state)
{
	(void)state;
	write_all();
	make_old();
	struct vmop_source *source = open_replay();
	size_t at = 0;
	bool ended;
	const struct vmop_sink sink = {expect, &at};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_true(ended);
	assert_int_equal(at, N_RECORDS);
	assert_int_equal(vmop_source_stacks(source, NULL)->mode, VMOP_STACKS_OFF);
	vmop_source_close(source);
	/* Its headers have other bounds. */
	const uint16_t event = 0x100, repeat = VMOP_STREAM_REPEAT, longer = 64;
	spoil(64 + 2 * 96 + 4, &event, 2, VMOP_ERROR_CORRUPT, "an event that is not listed");
	spoil(64 + 2 * 96, &repeat, 2, VMOP_ERROR_CORRUPT, "unknown type");
	spoil(64 + 2 * 96 + 2, &longer, 2, VMOP_ERROR_CORRUPT, "impossible length");
}

static void a_block_of_version_1_comes_again(void **state)
{
	(void)state;
	struct vmop_stream_writer *writer = create();
	vmop_stream_writer_begin_repeat(writer, 3, 10);
	put_block(writer, 10);
	vmop_stream_writer_end_repeat(writer);
	assert_null(vmop_stream_writer_close(writer));
	make_old();
	struct vmop_source *source = open_replay();
	struct tally tally = {0};
	const struct vmop_sink sink = {add, &tally};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	assert_int_equal(tally.n, 30);
	vmop_source_close(source);
}

/* ---- call stacks --------------------------------------------------------------- */

static const struct vmop_stack_options by_cfi = {
	.mode = VMOP_STACKS_CFI, .user_stack_bytes = 4096, .max_frames = 99};
static const uint64_t frames[] = {0xffffffff81000010, 0xffffffff81000020, 0x400010};
static uint64_t regs[VMOP_USER_REGS];
static const uint8_t bytes[11] = "stack bytes";

/* Captures with all parts, some and none. */
static const struct vmop_stack_capture captures[] = {
	{.kernel_frames = frames,
	 .n_kernel_frames = 2,
	 .user_frames = frames + 2,
	 .n_user_frames = 1,
	 .user_end = VMOP_STACK_DEPTH_LIMIT,
	 .user_regs = regs,
	 .user_stack = bytes,
	 .user_stack_bytes = sizeof(bytes),
	 .user_stack_asked_bytes = 4096},
	{.user_regs = regs, .user_stack_asked_bytes = 4096},
	{.kernel_frames = frames, .n_kernel_frames = 1, .is_compat = true},
	{0},
};
enum { N_CAPTURES = sizeof(captures) / sizeof(captures[0]) };

/* Write a sample with each capture, and one without. */
static void write_captures(const struct vmop_stack_options *stacks)
{
	struct vmop_stream_writer *writer;
	struct vmop_record record = {.type = VMOP_RECORD_SAMPLE, .sample = {.ip = 1}};
	for (unsigned i = 0; i < VMOP_USER_REGS; i++)
		regs[i] = i << 8;
	assert_null(vmop_stream_writer_create(path, events, 2, stacks, &writer));
	const struct vmop_sink sink = vmop_stream_writer_sink(writer);
	for (size_t i = 0; i <= N_CAPTURES; i++) {
		record.time_ns = 10 + i;
		sink.record(sink.arg, &record, i < N_CAPTURES ? &captures[i] : NULL);
	}
	assert_null(vmop_stream_writer_close(writer));
}

static void assert_same_words(const uint64_t *got, const uint64_t *want, size_t n)
{
	if (n)
		assert_memory_equal(got, want, n * sizeof(*want));
}

static void expect_capture(void *arg, const struct vmop_record *record,
			   const struct vmop_stack_capture *got)
{
	size_t *at = arg;
	assert_int_equal(record->type, VMOP_RECORD_SAMPLE);
	if (*at == N_CAPTURES) {
		assert_null(got);
		(*at)++;
		return;
	}
	const struct vmop_stack_capture *want = &captures[(*at)++];
	assert_non_null(got);
	assert_int_equal(got->n_kernel_frames, want->n_kernel_frames);
	assert_same_words(got->kernel_frames, want->kernel_frames, want->n_kernel_frames);
	assert_int_equal(got->n_user_frames, want->n_user_frames);
	assert_same_words(got->user_frames, want->user_frames, want->n_user_frames);
	assert_int_equal(got->user_end, want->user_end);
	assert_int_equal(!got->user_regs, !want->user_regs);
	assert_same_words(got->user_regs, want->user_regs, want->user_regs ? VMOP_USER_REGS : 0);
	assert_int_equal(got->user_stack_bytes, want->user_stack_bytes);
	if (want->user_stack)
		assert_memory_equal(got->user_stack, want->user_stack, want->user_stack_bytes);
	assert_int_equal(got->user_stack_asked_bytes, want->user_stack_asked_bytes);
	assert_int_equal(got->is_compat, want->is_compat);
}

static void stacks_come_back(void **state)
{
	(void)state;
	const char *note;
	write_captures(&by_cfi);
	struct vmop_source *source = open_replay();
	const struct vmop_stack_options *stacks = vmop_source_stacks(source, &note);
	assert_null(note);
	assert_int_equal(stacks->mode, VMOP_STACKS_CFI);
	assert_int_equal(stacks->user_stack_bytes, 4096);
	assert_int_equal(stacks->max_frames, 99);
	size_t at = 0;
	bool ended;
	const struct vmop_sink sink = {expect_capture, &at};
	/* A record that was read but is not due keeps its stack. */
	assert_null(vmop_source_drain(source, 10, &sink, &ended));
	assert_int_equal(at, 0);
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_int_equal(at, N_CAPTURES + 1);
	assert_true(ended);
	vmop_source_close(source);
}

static void a_stream_without_stacks_leaves_them_out(void **state)
{
	(void)state;
	write_captures(NULL);
	struct vmop_source *source = open_replay();
	assert_int_equal(vmop_source_stacks(source, NULL)->mode, VMOP_STACKS_OFF);
	size_t at = N_CAPTURES; /* the one without */
	const struct vmop_sink sink = {expect_capture, &at};
	assert_null(vmop_source_drain(source, 11, &sink, NULL));
	assert_int_equal(at, N_CAPTURES + 1);
	vmop_source_close(source);
}

static void expect_no_user_part(void *arg, const struct vmop_record *record,
				const struct vmop_stack_capture *got)
{
	size_t *n = arg;
	(void)record;
	assert_true(!got || (!got->user_regs && !got->user_stack && !got->user_stack_bytes));
	*n += got && got->n_kernel_frames;
}

static void stacks_of_another_machine_end_in_the_kernel(void **state)
{
	(void)state;
	const char *note;
	const uint32_t machine = EM_RISCV;
	write_captures(&by_cfi);
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, offsetof(struct vmop_stream_header, machine), SEEK_SET), 0);
	assert_int_equal(fwrite(&machine, sizeof(machine), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	struct vmop_source *source = open_replay();
	assert_int_equal(vmop_source_stacks(source, &note)->mode, VMOP_STACKS_KERNEL);
	assert_non_null(strstr(note, "another machine"));
	size_t n = 0;
	const struct vmop_sink sink = {expect_no_user_part, &n};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	assert_int_equal(n, 2);
	vmop_source_close(source);
}

static void bad_stacks_are_named(void **state)
{
	(void)state;
	enum {
		MODE = offsetof(struct vmop_stream_header, stack_mode),
		FIRST = 64 + 2 * 96,
		CAPTURE = FIRST + 16 + 40
	};
	const uint32_t request = VMOP_STACKS_BPF, odd = 4097, far = VMOP_USER_STACK_BYTES_MAX + 8,
		       many = UINT32_MAX, more = 3, most = VMOP_STREAM_MAX_FRAMES + 1, zero = 0,
		       deep = VMOP_STACK_FRAMES_MAX + 1;
	const uint16_t few = VMOP_USER_REGS - 1;
	const uint8_t end = VMOP_N_STACK_ENDS, flag = 2;
	write_captures(&by_cfi);
	spoil(MODE, &request, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(MODE, &many, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(MODE, &zero, 4, VMOP_ERROR_CORRUPT, "impossible length");
	spoil(MODE + 4, &odd, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(MODE + 4, &far, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(MODE + 8, &zero, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	spoil(MODE + 8, &deep, 4, VMOP_ERROR_CORRUPT, "a header that can't be");
	for (size_t count = 0; count < 3; count++) { /* two of frames, one of bytes */
		spoil(CAPTURE + 4 * count, &many, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
		spoil(CAPTURE + 4 * count, &more, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
		spoil(CAPTURE + 4 * count, &most, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
		spoil(CAPTURE + 4 * count, &zero, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
	}
	spoil(CAPTURE + 8, &far, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
	spoil(CAPTURE + 12, &far, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
	spoil(CAPTURE + 16, &few, 2, VMOP_ERROR_CORRUPT, "an invalid call stack");
	spoil(CAPTURE + 18, &end, 1, VMOP_ERROR_CORRUPT, "an invalid call stack");
	spoil(CAPTURE + 19, &flag, 1, VMOP_ERROR_CORRUPT, "an invalid call stack");
	/* A sample that goes on, but not with a whole capture. */
	const uint32_t len = 16 + 40 + 16;
	spoil(FIRST, &len, 4, VMOP_ERROR_CORRUPT, "an invalid call stack");
}

static void the_largest_stack_comes_back(void **state)
{
	(void)state;
	static uint64_t many[VMOP_STREAM_MAX_FRAMES + 1];
	static uint8_t stack_bytes[VMOP_USER_STACK_BYTES_MAX];
	struct vmop_stack_capture stack = {.kernel_frames = many,
					   .n_kernel_frames = VMOP_STREAM_MAX_FRAMES,
					   .user_frames = many,
					   .n_user_frames = VMOP_STREAM_MAX_FRAMES,
					   .user_regs = many,
					   .user_stack = stack_bytes,
					   .user_stack_bytes = sizeof(stack_bytes),
					   .user_stack_asked_bytes = sizeof(stack_bytes)};
	const struct vmop_record record = {.type = VMOP_RECORD_SAMPLE, .time_ns = 5};
	struct vmop_stream_writer *writer;
	struct vmop_stream_reader *reader;
	struct vmop_record got;
	const struct vmop_stack_capture *got_stack;
	bool ended;
	stack_bytes[sizeof(stack_bytes) - 1] = 77;
	assert_null(vmop_stream_writer_create(path, events, 2, &by_cfi, &writer));
	for (unsigned i = 0; i < 9; i++) /* more than the reader's window */
		vmop_stream_writer_put(writer, &record, &stack);
	assert_null(vmop_stream_writer_close(writer));
	assert_null(vmop_stream_reader_open(path, &reader));
	for (unsigned i = 0; i < 9; i++) {
		assert_null(vmop_stream_reader_next(reader, &got, &got_stack, &ended));
		assert_int_equal(got_stack->user_stack_bytes, sizeof(stack_bytes));
		assert_int_equal(got_stack->user_stack[sizeof(stack_bytes) - 1], 77);
	}
	vmop_stream_reader_close(reader);
	/* One frame more is refused. */
	stack.n_kernel_frames++;
	assert_null(vmop_stream_writer_create(path, events, 2, &by_cfi, &writer));
	vmop_stream_writer_put(writer, &record, &stack);
	struct vmop_error *err = vmop_stream_writer_close(writer);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
}

/* ---------------------------------------------------------------------------- */

static void the_writer_reports_errors(void **state)
{
	(void)state;
	struct vmop_stream_writer *writer;
	struct vmop_error *err =
		vmop_stream_writer_create("/nonexistent/x", events, 2, NULL, &writer);
	assert_non_null(strstr(err->message, "/nonexistent/x"));
	vmop_error_destroy(err);
	static char longest[VMOP_STREAM_MAX_TEXT_BYTES + 1];
	memset(longest, 'x', VMOP_STREAM_MAX_TEXT_BYTES);
	struct vmop_record record = {.type = VMOP_RECORD_COMM, .comm = {.comm = longest}};
	writer = create();
	vmop_stream_writer_put(writer, &record, NULL);
	err = vmop_stream_writer_close(writer);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	assert_null(vmop_stream_writer_create("/dev/full", events, 2, NULL, &writer));
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
		cmocka_unit_test(version_1_is_read),
		cmocka_unit_test(a_block_of_version_1_comes_again),
		cmocka_unit_test(stacks_come_back),
		cmocka_unit_test(a_stream_without_stacks_leaves_them_out),
		cmocka_unit_test(stacks_of_another_machine_end_in_the_kernel),
		cmocka_unit_test(bad_stacks_are_named),
		cmocka_unit_test(the_largest_stack_comes_back),
		cmocka_unit_test(the_writer_reports_errors),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
