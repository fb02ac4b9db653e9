// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts of guests in the BPF output event, made by hand, also cut ones and impossible ones. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/bpf/layout.h"
#include "hv-interface/perf/event.h"
#include "hv-interface/perf/record.h"
#include "hv-interface/perf/stacks/guest.h"

enum {
	OUTPUT_ID = 77,
	TIME = 4711,
	PERIOD = 1234567,
	KERNEL_BYTES = 16,
	USER_BYTES = 24,
	WINDOWS_BYTES = KERNEL_BYTES + USER_BYTES,
	HOST_HALF_ID = 11,
	GUEST_HALF_ID = 21,
};

#define GUEST_IP UINT64_C(0xffffffff81000010)
#define FILL 0x5a /* of the windows */

static const uint64_t ids[] = {HOST_HALF_ID, 12};
static const uint64_t weights[] = {0, 5};
static uint8_t wanted[2];

/* A whole record: id, ip, pid and tid, time, cpu, period, and the program's part. */
struct __attribute__((packed)) made {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period;
	uint32_t raw_bytes;
	struct vmop_bpf_guest guest;
	uint8_t windows[WINDOWS_BYTES];
};

_Static_assert(offsetof(struct made, guest.context) % 8 == 0, "as in the ring");

static struct made usual(void)
{
	struct made made = {
		.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_GUEST_USER, sizeof(struct made)},
		.id = OUTPUT_ID,
		.ip = GUEST_IP,
		.pid = 100,
		.tid = 101,
		.time = TIME,
		.cpu = 1,
		.period = 1,
		.raw_bytes = sizeof(struct vmop_bpf_guest) + WINDOWS_BYTES,
		.guest = {.kind = VMOP_BPF_GUEST,
			  .len_bytes = sizeof(struct vmop_guest_context) + WINDOWS_BYTES,
			  .period_events = PERIOD,
			  .context = {.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP,
				      .window_bytes = {KERNEL_BYTES, 0, USER_BYTES}}},
	};
	memset(made.windows, FILL, sizeof(made.windows));
	return made;
}

/* Return a decoder without host stacks, whose output event has no callchain. */
static struct vmop_perf_decoder usual_decoder(void)
{
	wanted[0] = wanted[1] = VMOP_PERF_ALL_CLASSES;
	return (struct vmop_perf_decoder){
		.has_identifier = true,
		.ids = ids,
		.wanted = wanted,
		.fixed_weights = weights,
		.n_events = 2,
		.output_id = OUTPUT_ID,
		.max_frames = VMOP_STACK_FRAMES_MAX,
	};
}

struct decoded {
	struct vmop_record record;
	struct vmop_perf_capture capture;
};

static enum vmop_perf_decoded decode_by(const struct vmop_perf_decoder *decoder, const void *made,
					struct decoded *ret)
{
	memset(ret, 0xdd, sizeof(*ret));
	return vmop_perf_record_decode(decoder, made, &ret->record, &ret->capture);
}

static enum vmop_perf_decoded decode(const void *made, struct decoded *ret)
{
	const struct vmop_perf_decoder decoder = usual_decoder();
	return decode_by(&decoder, made, ret);
}

static void a_context_comes_with_a_sample_of_the_guest(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
	made = usual();
	assert_int_equal(decode(&made, &is), VMOP_PERF_DECODED);
	assert_int_equal(is.record.type, VMOP_RECORD_SAMPLE);
	assert_int_equal(is.record.time_ns, TIME);
	assert_true(is.record.sample.ip == GUEST_IP);
	assert_int_equal(is.record.sample.weight_events, PERIOD);
	assert_int_equal(is.record.sample.pid, 100);
	assert_int_equal(is.record.sample.tid, 101);
	assert_int_equal(is.record.sample.cpu, 1);
	assert_int_equal(is.record.sample.event, 0);
	/* The vCPU's mode counts, not perf's. */
	assert_int_equal(is.record.sample.flags,
			 VMOP_SAMPLE_GUEST | VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_MODE_KNOWN);
	assert_true(is.capture.is_here);
	const struct vmop_guest_context *context = is.capture.stack.guest;
	assert_ptr_equal(context, (const uint8_t *)&made + offsetof(struct made, guest.context));
	const uint8_t *user = (const uint8_t *)context +
			      vmop_guest_window_offset(context, VMOP_GUEST_USER_WINDOW);
	assert_ptr_equal(user, made.windows + KERNEL_BYTES);
	assert_null(is.capture.stack.kernel_frames);
	assert_null(is.capture.stack.user_frames);
	assert_null(is.capture.stack.user_stack);
}

static void the_context_has_the_mode_and_the_event(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
	made = usual();
	made.guest.context.parts |= VMOP_GUEST_IS_USER;
	made.guest.event = 1; /* with a weight of its own */
	made.header.misc = PERF_RECORD_MISC_GUEST_KERNEL | PERF_RECORD_MISC_EXACT_IP;
	made.ip = 0x401000;
	assert_int_equal(decode(&made, &is), VMOP_PERF_DECODED);
	assert_int_equal(is.record.sample.flags, VMOP_SAMPLE_GUEST | VMOP_SAMPLE_USER |
							 VMOP_SAMPLE_MODE_KNOWN |
							 VMOP_SAMPLE_EXACT_IP);
	assert_int_equal(is.record.sample.event, 1);
	assert_int_equal(is.record.sample.weight_events, 5);
	made.ip = 0;
	assert_int_equal(decode(&made, &is), VMOP_PERF_DECODED);
	assert_true(is.record.sample.flags & VMOP_SAMPLE_NO_IP);
	assert_true(is.capture.is_here);
}

static void the_modes_of_the_event_are_kept(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
	const struct vmop_perf_decoder decoder = usual_decoder();
	static const struct {
		uint8_t classes;
		bool is_user;
		enum vmop_perf_decoded decoded;
	} table[] = {
		{1 << VMOP_PERF_CLASS(true, true), false, VMOP_PERF_DECODED},
		{1 << VMOP_PERF_CLASS(true, true), true, VMOP_PERF_NOT_WANTED},
		{1 << VMOP_PERF_CLASS(true, false), true, VMOP_PERF_DECODED},
		{1 << VMOP_PERF_CLASS(true, false), false, VMOP_PERF_NOT_WANTED},
		{1 << VMOP_PERF_CLASS(false, true) | 1 << VMOP_PERF_CLASS(false, false), false,
		 VMOP_PERF_NOT_WANTED},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		made = usual();
		made.guest.context.parts |= table[i].is_user ? VMOP_GUEST_IS_USER : 0;
		wanted[0] = table[i].classes;
		assert_int_equal(decode_by(&decoder, &made, &is), table[i].decoded);
		assert_int_equal(is.capture.is_here, table[i].decoded == VMOP_PERF_DECODED);
	}
}

/* The host's half of a split event never counts in guests. */
static void a_split_events_context_is_of_its_guests_half(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	static const uint64_t guest_ids[] = {GUEST_HALF_ID, 0};
	struct decoded is;
	struct vmop_perf_decoder decoder = usual_decoder();
	decoder.guest_ids = guest_ids;
	decoder.guest_exit.is_here = true; /* where the host's half would make it the host's */
	made = usual();
	assert_int_equal(decode_by(&decoder, &made, &is), VMOP_PERF_DECODED);
	assert_true(is.record.sample.flags & VMOP_SAMPLE_GUEST);
	assert_true(is.capture.is_here);
}

/* perf/guest-exit.h: an interrupt that was delayed until the host ran again. */
static void a_hosts_sample_loses_the_context(void **state)
{
	(void)state;
	static _Alignas(8) struct {
		struct made made;
		struct vmop_perf_guest_exit_regs regs;
	} whole;
	struct decoded is;
	struct vmop_perf_decoder decoder = usual_decoder();
	decoder.guest_exit = (struct vmop_perf_guest_exit){
		.is_here = true, .has_regs = true, .start = 0x1000, .len_bytes = 0x100};
	whole.made = usual();
	whole.made.header.size = sizeof(whole);
	whole.regs =
		(struct vmop_perf_guest_exit_regs){.abi = PERF_SAMPLE_REGS_ABI_64, .pc = 0x5000};
	assert_int_equal(decode_by(&decoder, &whole, &is), VMOP_PERF_DECODED);
	assert_int_equal(is.record.sample.flags, VMOP_SAMPLE_KERNEL);
	assert_int_equal(is.record.sample.ip, 0x5000);
	assert_false(is.capture.is_here);
	whole.regs.pc = 0x1010;
	assert_int_equal(decode_by(&decoder, &whole, &is), VMOP_PERF_DECODED);
	assert_true(is.record.sample.flags & VMOP_SAMPLE_GUEST);
	assert_true(is.capture.is_here);
	whole.made.header.size -= 8;
	assert_int_equal(decode_by(&decoder, &whole, &is), VMOP_PERF_MALFORMED);
}

static void a_state_precedes_a_sample(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
	const struct vmop_perf_decoder decoder = usual_decoder();
	made = usual();
	made.header.misc = PERF_RECORD_MISC_KERNEL;
	made.guest.kind = VMOP_BPF_GUEST_STATE;
	made.guest.context.parts |= VMOP_GUEST_IS_EXITED;
	assert_int_equal(decode_by(&decoder, &made, &is), VMOP_PERF_DECODED);
	assert_int_equal(is.record.type, VMOP_RECORD_GUEST_STATE);
	assert_int_equal(is.record.time_ns, TIME);
	assert_int_equal(is.record.guest_state.cpu, 1);
	assert_int_equal(is.record.guest_state.pid, 100);
	assert_int_equal(is.record.guest_state.tid, 101);
	assert_true(is.capture.is_here);
	assert_ptr_equal(is.capture.stack.guest,
			 (const uint8_t *)&made + offsetof(struct made, guest.context));
	/* The sample that follows is left out, too. */
	wanted[0] = VMOP_PERF_ALL_CLASSES & ~(1 << VMOP_PERF_CLASS(false, true));
	assert_int_equal(decode_by(&decoder, &made, &is), VMOP_PERF_NOT_WANTED);
	/* The event's samples have no stacks to which it could belong. */
	wanted[0] = 1 << VMOP_PERF_CLASS(true, true);
	assert_int_equal(decode_by(&decoder, &made, &is), VMOP_PERF_NOT_WANTED);
	assert_false(is.capture.is_here);
}

/* perf's own samples between them have no capture, nor is an earlier one left. */
static void other_records_have_no_context(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
	made = usual();
	made.id = HOST_HALF_ID;
	assert_int_equal(decode(&made, &is), VMOP_PERF_DECODED);
	assert_int_equal(is.record.type, VMOP_RECORD_SAMPLE);
	assert_false(is.capture.is_here);
	made.header.type = PERF_RECORD_LOST_SAMPLES;
	assert_int_equal(decode(&made, &is), VMOP_PERF_DECODED);
	assert_false(is.capture.is_here);
}

/* With stacks that BPF unwinds, a callchain precedes the program's record. */
static void a_callchain_comes_before(void **state)
{
	(void)state;
	static _Alignas(8) struct {
		uint8_t fixed[offsetof(struct made, raw_bytes)];
		uint64_t n_chain, chain[2];
		uint8_t raw[sizeof(struct made) - offsetof(struct made, raw_bytes)];
	} whole;
	struct made made = usual();
	struct decoded is;
	struct vmop_perf_decoder decoder = usual_decoder();
	decoder.stack_sample_type = VMOP_PERF_SAMPLE_STACKS;
	decoder.output_sample_type = PERF_SAMPLE_CALLCHAIN;
	made.header.size = sizeof(whole);
	memcpy(whole.fixed, &made, sizeof(whole.fixed));
	whole.n_chain = 2;
	whole.chain[0] = (uint64_t)PERF_CONTEXT_KERNEL;
	memcpy(whole.raw, &made.raw_bytes, sizeof(whole.raw));
	assert_int_equal(decode_by(&decoder, &whole, &is), VMOP_PERF_DECODED);
	assert_true(is.capture.is_here);
	assert_int_equal(is.capture.stack.guest->window_bytes[2], USER_BYTES);
	assert_null(is.capture.stack.kernel_frames); /* they are the host's */
	whole.n_chain = UINT64_MAX;
	assert_int_equal(decode_by(&decoder, &whole, &is), VMOP_PERF_MALFORMED);
}

/* Every shorter record is refused, and read only within its own size. */
static void cut_records_are_malformed(void **state)
{
	(void)state;
	struct decoded is;
	const struct made whole = usual();
	for (uint16_t n = sizeof(struct perf_event_header); n < sizeof(whole); n++) {
		struct perf_event_header *made = malloc(n); /* a sanitizer sees bytes behind it */
		assert_non_null(made);
		memcpy(made, &whole, n);
		made->size = n;
		assert_int_equal(decode(made, &is), VMOP_PERF_MALFORMED);
		free(made);
	}
}

static void impossible_numbers_are_malformed(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		made = usual();                                                                    \
		made.field = value;                                                                \
		assert_int_equal(decode(&made, &is), VMOP_PERF_MALFORMED);                         \
	} while (0)
	REFUSED(guest.kind, 0);
	REFUSED(guest.kind, VMOP_BPF_HOST_STACK);
	REFUSED(guest.kind, VMOP_BPF_GUEST_STATE); /* without VMOP_GUEST_IS_EXITED */
	REFUSED(guest.kind, VMOP_BPF_GUEST_STATE + 1);
	REFUSED(guest.kind, UINT32_MAX);
	REFUSED(guest.event, 2);
	REFUSED(guest.event, UINT16_MAX);
	REFUSED(guest.len_bytes, 0);
	REFUSED(guest.len_bytes, made.guest.len_bytes - 8);
	REFUSED(guest.len_bytes, made.guest.len_bytes + 8);
	REFUSED(guest.len_bytes, UINT32_MAX);
	REFUSED(guest.context.parts, VMOP_GUEST_ALL_PARTS + 1);
	REFUSED(guest.context.parts, UINT32_MAX);
	REFUSED(guest.context.parts, VMOP_GUEST_IS_EXITED); /* of a VMOP_BPF_GUEST */
	REFUSED(guest.context.gap, VMOP_GUEST_N_GAPS);
	REFUSED(guest.context.gap, UINT8_MAX);
	REFUSED(guest.context.code_bytes, 17);
	REFUSED(guest.context.window_bytes[0], KERNEL_BYTES + 8);
	REFUSED(guest.context.window_bytes[0], KERNEL_BYTES - 8);
	REFUSED(guest.context.window_bytes[0], UINT32_MAX - 7);
	REFUSED(guest.context.window_bytes[1], 8);
	REFUSED(guest.context.window_bytes[2], USER_BYTES + 1);
	REFUSED(guest.context.window_bytes[2], UINT32_MAX);
	REFUSED(raw_bytes, 0);
	REFUSED(raw_bytes, sizeof(struct vmop_bpf_guest) - 8);
	REFUSED(raw_bytes, made.raw_bytes - 8);
	REFUSED(raw_bytes, made.raw_bytes - 1);
	REFUSED(raw_bytes, made.raw_bytes + 8);
	REFUSED(raw_bytes, UINT32_MAX);
	REFUSED(raw_bytes, UINT32_MAX - 3);
}

/* Return whether a context with a window of that many bytes is decoded. */
static bool takes_window(enum vmop_guest_window_kind window, uint32_t bytes, bool has_sp)
{
	size_t at = offsetof(struct made, windows), whole = at + bytes;
	struct decoded is;
	struct made made = usual();
	uint8_t *record = calloc(1, whole);
	assert_non_null(record);
	memset(made.guest.context.window_bytes, 0, sizeof(made.guest.context.window_bytes));
	made.guest.context.window_bytes[window] = bytes;
	made.guest.context.parts = has_sp ? VMOP_GUEST_HAS_SP : 0;
	made.guest.len_bytes = (uint32_t)sizeof(struct vmop_guest_context) + bytes;
	made.raw_bytes = (uint32_t)sizeof(struct vmop_bpf_guest) + bytes;
	made.header.size = (uint16_t)whole;
	memcpy(record, &made, at);
	bool is_taken = decode(record, &is) == VMOP_PERF_DECODED;
	free(record);
	return is_taken;
}

static void windows_have_limits(void **state)
{
	(void)state;
	static const struct {
		enum vmop_guest_window_kind window;
		uint32_t max;
		bool has_sp;
	} table[] = {
		{VMOP_GUEST_KERNEL_WINDOW, VMOP_GUEST_KERNEL_WINDOW_MAX, true},
		{VMOP_GUEST_KERNEL_WINDOW, VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX, false},
		{VMOP_GUEST_TASK_WINDOW, VMOP_GUEST_KERNEL_WINDOW_MAX, true},
		{VMOP_GUEST_TASK_WINDOW, VMOP_GUEST_KERNEL_WINDOW_MAX, false},
		{VMOP_GUEST_USER_WINDOW, VMOP_GUEST_USER_WINDOW_MAX, true},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_true(takes_window(table[i].window, table[i].max, table[i].has_sp));
		assert_false(takes_window(table[i].window, table[i].max + 8, table[i].has_sp));
		assert_false(takes_window(table[i].window, table[i].max - 4, table[i].has_sp));
		assert_true(takes_window(table[i].window, 0, table[i].has_sp));
	}
}

/* The program's output sizes are constants: bytes behind the windows are skipped. */
static void padding_is_skipped(void **state)
{
	(void)state;
	static _Alignas(8) struct made made;
	struct decoded is;
	made = usual();
	made.guest.context.window_bytes[2] = 0;
	made.guest.len_bytes -= USER_BYTES;
	assert_int_equal(decode(&made, &is), VMOP_PERF_DECODED);
	assert_true(is.capture.is_here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_context_comes_with_a_sample_of_the_guest),
		cmocka_unit_test(the_context_has_the_mode_and_the_event),
		cmocka_unit_test(the_modes_of_the_event_are_kept),
		cmocka_unit_test(a_split_events_context_is_of_its_guests_half),
		cmocka_unit_test(a_hosts_sample_loses_the_context),
		cmocka_unit_test(a_state_precedes_a_sample),
		cmocka_unit_test(other_records_have_no_context),
		cmocka_unit_test(a_callchain_comes_before),
		cmocka_unit_test(cut_records_are_malformed),
		cmocka_unit_test(impossible_numbers_are_malformed),
		cmocka_unit_test(windows_have_limits),
		cmocka_unit_test(padding_is_skipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
