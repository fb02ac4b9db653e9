// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples of this program with its own registers and stack, through the real profiler into a real
 * file.
 */
#include "tests/unit/daemon/common.h"

#include <inttypes.h>
#include <ucontext.h>
#include <unwind.h>

#include "daemon/profile/profiler-open.h"
#include "libutil/clock.h"
#include "tests/unit/daemon/stack/unwind-maps-double.h"

enum { DEPTH = 9, STACK_BYTES = 60 << 10, KERNEL_FRAMES = 3 };

/* The sections of these functions have their bounds. */
extern char __start_f_recurse[], __stop_f_recurse[], __start_f_bottom[], __stop_f_bottom[];

static struct {
	uint64_t regs[VMOP_USER_REGS];
	uint8_t stack[STACK_BYTES];
	size_t stack_bytes;
	uint64_t ip;
	/* The same stack as the compiler's unwinder finds it: ip, then return addresses. */
	uint64_t frames[VMOP_STACK_FRAMES_MAX];
	size_t n_frames;
} captured;

static uint64_t kernel_frames[KERNEL_FRAMES];

/* Return the end of the mapping that contains address. */
static uint64_t mapping_end(uint64_t address)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end;
	char line[4096];
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && address >= start &&
		    address < end)
			return end;
	return address;
}

/* Copy the stack, also where AddressSanitizer keeps its own bytes between variables. */
__attribute__((no_sanitize("address"))) static void copy_stack(const volatile uint8_t *stack)
{
	for (size_t i = 0; i < captured.stack_bytes; i++)
		captured.stack[i] = stack[i];
}

static void keep_registers(const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		captured.regs[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	captured.ip = captured.regs[16];
	uint64_t sp = captured.regs[7];
#else
	memcpy(captured.regs, context->uc_mcontext.regs, 31 * sizeof(uint64_t));
	captured.regs[31] = context->uc_mcontext.sp;
	captured.ip = captured.regs[32] = context->uc_mcontext.pc;
	uint64_t sp = captured.regs[31];
#endif
	uint64_t end = mapping_end(sp);
	captured.stack_bytes = end - sp < STACK_BYTES ? end - sp : STACK_BYTES;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a register has it as a number */
	copy_stack((const volatile uint8_t *)(uintptr_t)sp);
}

static _Unwind_Reason_Code keep_frame(struct _Unwind_Context *context, void *arg)
{
	(void)arg;
	uint64_t address = _Unwind_GetIP(context);
	if (address && captured.n_frames < VMOP_STACK_FRAMES_MAX)
		captured.frames[captured.n_frames++] = address;
	return _URC_NO_REASON;
}

__attribute__((noinline, noclone, section("f_bottom"))) static int bottom(void)
{
	ucontext_t context;
	if (getcontext(&context))
		return 1;
	keep_registers(&context);
	captured.n_frames = 0;
	_Unwind_Backtrace(keep_frame, NULL);
	captured.frames[0] = captured.ip;
	return 0;
}

__attribute__((noinline, noclone, section("f_recurse"))) static int recurse(int depth)
{
	volatile int failed = depth ? recurse(depth - 1) : bottom();
	return failed;
}

static struct vmop_stack_capture capture_of(bool has_kernel)
{
	return (struct vmop_stack_capture){
		.kernel_frames = kernel_frames,
		.n_kernel_frames = has_kernel ? KERNEL_FRAMES : 0,
		.user_regs = captured.regs,
		.user_stack = captured.stack,
		.user_stack_bytes = captured.stack_bytes,
		.user_stack_asked_bytes = STACK_BYTES,
	};
}

static void give_stack(struct rig *rig, uint32_t pid, uint64_t ip, uint16_t flags,
		       const struct vmop_stack_capture *capture)
{
	const struct vmop_record record = {
		.type = VMOP_RECORD_SAMPLE,
		.time_ns = rig->now_ns++,
		.sample = {.ip = ip, .weight_events = 1, .pid = pid, .tid = pid, .flags = flags}};
	rig->sink.record(rig->sink.arg, &record, capture);
}

static void begin(struct rig *rig, enum vmop_stack_mode mode, uint32_t max_frames)
{
	rig_folder(rig);
	machine_file(rig, "/proc/kallsyms",
		     "ffffffff81000000 T _text\nffffffff81000100 T do_work\n"
		     "ffffffff81010000 T _etext\n");
	char from[64], to[128];
	snprintf(from, sizeof(from), "/proc/%d", getpid());
	snprintf(to, sizeof(to), "%s/root/proc/%d", rig->folder, getpid());
	assert_int_equal(symlink(from, to), 0);
	for (uint64_t i = 0; i < KERNEL_FRAMES; i++)
		kernel_frames[i] = 0xffffffff81000110 + i;
	assert_int_equal(recurse(DEPTH), 0);
	rig_begin(rig, (struct vmop_profiler_options){
			       .stacks = {.mode = mode, .max_frames = max_frames}});
	rig->now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
}

/* Wait until n samples have their stacks. */
static void await_stacks(const struct rig *rig, uint64_t n)
{
	struct vmop_profiler_stats stats;
	do {
		usleep(1000);
		vmop_profiler_drained(rig->profiler);
		vmop_profiler_stats(rig->profiler, &stats);
	} while (stats.stacks.n_stacks < n);
}

/* A stack as a list of nodes, the innermost caller first, the end mark last. */
struct path {
	struct vmop_db_stack_node at[256];
	size_t n;
};

static void path_of(const struct rig *rig, struct vmop_stack_id id, struct path *ret)
{
	struct vmop_db_stacks *stacks = NULL;
	ok(vmop_db_load_stacks(rig->db, SIZE_MAX, &stacks));
	ret->n = 0;
	for (; id.number; id = ret->at[ret->n++].parent)
		assert_true(vmop_db_stacks_node(stacks, id, &ret->at[ret->n]));
	vmop_db_stacks_destroy(stacks);
	assert_true(ret->n > 0);
}

static enum vmop_stack_end end_of(const struct path *path)
{
	assert_int_equal(path->at[path->n - 1].image.number, 0);
	return (enum vmop_stack_end)path->at[path->n - 1].offset;
}

/* Return the number of consecutive callers from `first` on in the function of that section. */
static size_t count_in(const struct path *path, size_t first, const char *start, const char *stop,
		       uint64_t address_minus_offset)
{
	size_t n = 0;
	for (size_t i = first; i + 1 < path->n; i++, n++) {
		uint64_t address = path->at[i].offset + address_minus_offset;
		if (address < (uintptr_t)start || address >= (uintptr_t)stop)
			break;
	}
	return n;
}

static void own_stack_is_found(void **state)
{
	struct rig rig;
	struct path path;
	(void)state;
	begin(&rig, VMOP_STACKS_CFI, VMOP_STACK_FRAMES_MAX);
	const struct vmop_stack_capture user = capture_of(false), both = capture_of(true);
	uint32_t pid = (uint32_t)getpid();
	give_stack(&rig, pid, captured.ip, VMOP_SAMPLE_USER, &user);
	give_stack(&rig, pid, 0xffffffff81000110, VMOP_SAMPLE_KERNEL, &both);
	await_stacks(&rig, 2);
	give_stack(&rig, pid, captured.ip, VMOP_SAMPLE_USER, &user);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 2);
	const struct row *kernel = &session->rows[session->rows[0].kind != VMOP_IMAGE_KERNEL];
	const struct row *own = &session->rows[session->rows[0].kind == VMOP_IMAGE_KERNEL];
	assert_int_equal(own->samples, 2);
	assert_int_equal(kernel->samples, 1);
	uint64_t minus = captured.ip - own->offset;

	path_of(&rig, own->key.stack, &path);
	assert_int_equal(count_in(&path, 0, __start_f_recurse, __stop_f_recurse, minus), DEPTH + 1);
	assert_int_equal(end_of(&path), VMOP_STACK_COMPLETE);
	size_t n_user = path.n;

	/* The kernel's callers come first, then the user code that entered it. */
	path_of(&rig, kernel->key.stack, &path);
	assert_int_equal(path.n, KERNEL_FRAMES - 1 + 1 + n_user);
	assert_int_equal(path.at[0].image.number, kernel->key.image.number);
	assert_int_equal(path.at[0].offset, 0x110);
	assert_int_equal(path.at[2].offset, own->offset);
	assert_int_equal(count_in(&path, 3, __start_f_recurse, __stop_f_recurse, minus), DEPTH + 1);
	assert_int_equal(end_of(&path), VMOP_STACK_COMPLETE);
	rig_end(&rig);
}

static void a_depth_limit_holds(void **state)
{
	struct rig rig;
	struct path path;
	(void)state;
	begin(&rig, VMOP_STACKS_CFI, 5);
	const struct vmop_stack_capture both = capture_of(true);
	give_stack(&rig, (uint32_t)getpid(), 0xffffffff81000110, VMOP_SAMPLE_KERNEL, &both);
	await_stacks(&rig, 1);
	path_of(&rig, rig_flush(&rig)->rows[0].key.stack, &path);
	assert_int_equal(path.n, 5 + 1);
	assert_int_equal(end_of(&path), VMOP_STACK_DEPTH_LIMIT);
	rig_end(&rig);
}

/* Return the end of the only stack of a flush. */
static enum vmop_stack_end flushed_end(struct rig *rig)
{
	struct path path;
	const struct session *session = rig_flush(rig);
	path_of(rig, session->rows[session->n - 1].key.stack, &path);
	return end_of(&path);
}

static void stacks_without_a_user_part_have_reasons(void **state)
{
	struct rig rig;
	(void)state;
	const struct vmop_stack_capture bare = {.kernel_frames = kernel_frames,
						.n_kernel_frames = KERNEL_FRAMES};
	uint32_t pid = (uint32_t)getpid();
	/* The kernel refuses the user part of a kernel thread only. */
	begin(&rig, VMOP_STACKS_CFI, VMOP_STACK_FRAMES_MAX);
	give_stack(&rig, pid, 0xffffffff81000110, VMOP_SAMPLE_KERNEL, &bare);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_COMPLETE);
	rig_end(&rig);
	begin(&rig, VMOP_STACKS_KERNEL, VMOP_STACK_FRAMES_MAX);
	give_stack(&rig, pid, 0xffffffff81000110, VMOP_SAMPLE_KERNEL, &bare);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_NOT_RECORDED);
	rig_end(&rig);
	begin(&rig, VMOP_STACKS_KERNEL, VMOP_STACK_FRAMES_MAX);
	give_stack(&rig, 0, 0xffffffff81000110, VMOP_SAMPLE_KERNEL, &bare); /* idle */
	assert_int_equal(flushed_end(&rig), VMOP_STACK_COMPLETE);
	rig_end(&rig);
}

/* Xen's profiler finds no user part below kernel code, and the source has the reason. */
static void a_source_may_know_why_there_is_no_user_part(void **state)
{
	static const struct {
		bool is_idle;
		enum vmop_stack_end given, wanted;
	} cases[] = {
		{false, VMOP_STACK_NOT_RECORDED, VMOP_STACK_NOT_RECORDED},
		{true, VMOP_STACK_NOT_RECORDED, VMOP_STACK_COMPLETE},
		{false, VMOP_STACK_NO_CFI, VMOP_STACK_NO_CFI},
		{true, VMOP_STACK_NO_CFI, VMOP_STACK_NO_CFI},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig rig;
		const struct vmop_stack_capture capture = {.kernel_frames = kernel_frames,
							   .n_kernel_frames = KERNEL_FRAMES,
							   .user_end = cases[i].given};
		begin(&rig, VMOP_STACKS_FP, VMOP_STACK_FRAMES_MAX);
		give_stack(&rig, cases[i].is_idle ? 0 : (uint32_t)getpid(), 0xffffffff81000110,
			   VMOP_SAMPLE_KERNEL, &capture);
		assert_int_equal(flushed_end(&rig), cases[i].wanted);
		rig_end(&rig);
	}
}

/* Frame pointers lead anywhere in code that does not keep them. */
static void given_frames_end_outside_of_code(void **state)
{
	struct rig rig;
	struct path path;
	(void)state;
	begin(&rig, VMOP_STACKS_FP, VMOP_STACK_FRAMES_MAX);
	uint64_t frames[] = {captured.ip, (uintptr_t)__start_f_recurse + 1,
			     (uintptr_t)__start_f_bottom + 1, 0x1234};
	struct vmop_stack_capture capture = {
		.user_frames = frames, .n_user_frames = 3, .user_end = VMOP_STACK_COMPLETE};
	give_stack(&rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, &capture);
	const struct row *row = rig_flush(&rig)->rows;
	uint64_t minus = captured.ip - row->offset;
	path_of(&rig, row->key.stack, &path);
	assert_int_equal(path.n, 3);
	assert_int_equal(path.at[0].offset + minus, (uintptr_t)__start_f_recurse);
	assert_int_equal(path.at[1].offset + minus, (uintptr_t)__start_f_bottom);
	assert_int_equal(end_of(&path), VMOP_STACK_COMPLETE);
	capture.n_user_frames = 4;
	give_stack(&rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, &capture);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_TORN);
	rig_end(&rig);
}

/* ---- a guest's frames below the host's ------------------------------------------------ */

#define GUEST_OFFSET 0x1000 /* of the guest's instruction; its caller is at twice that */

/* Give a sample of the host's kernel at work for a guest. Return whether it waits. */
static bool give_above_guest(struct rig *rig, struct vmop_process *process,
			     const struct vmop_stack_capture *capture)
{
	struct vmop_profiler *profiler = rig->profiler;
	struct vmop_image *code = vmop_images_named(&profiler->images, VMOP_DOMAIN_ID_HOST,
						    VMOP_IMAGE_GUEST_KERNEL, "[guest]", 0, 0);
	const struct vmop_stack_frames guest = {
		.at = {{code, GUEST_OFFSET}, {code, 2 * GUEST_OFFSET}},
		.n = 2,
		.end = VMOP_STACK_COPY_SHORT};
	struct vmop_stack_sample sample = {
		.key = {.mode = VMOP_MODE_KERNEL,
			.vcpu = -1,
			.cpu = -1,
			.image = vmop_kernel_find(&profiler->kernel, 0xffffffff81000110)->slot},
		.weight_events = 1,
		.time_ns = rig->now_ns++,
		.below = vmop_stacks_intern_guest(profiler->stacks, &guest)};
	assert_true(sample.below.id.number != 0);
	bool waits = !vmop_stacks_find(profiler->stacks, &sample, process, capture, true);
	if (!waits)
		vmop_attribution_put_stack_sample(&profiler->attribution, &sample);
	vmop_image_unref(&profiler->images, code);
	return waits;
}

/* Check that a path ends with the guest's frames, and return the number of frames above. */
static size_t check_guest_below(const struct path *path)
{
	assert_true(path->n > 3);
	assert_int_equal(end_of(path), VMOP_STACK_COPY_SHORT);
	assert_int_equal(path->at[path->n - 2].offset, 2 * GUEST_OFFSET);
	assert_int_equal(path->at[path->n - 3].offset, GUEST_OFFSET);
	return path->n - 3;
}

static void the_hosts_stack_is_above_the_guests(void **state)
{
	struct rig rig;
	struct path path;
	const struct vmop_stack_capture bare = {.kernel_frames = kernel_frames,
						.n_kernel_frames = KERNEL_FRAMES};
	(void)state;
	begin(&rig, VMOP_STACKS_KERNEL, VMOP_STACK_FRAMES_MAX);
	assert_false(give_above_guest(&rig, NULL, &bare));
	path_of(&rig, rig_flush(&rig)->rows[0].key.stack, &path);
	assert_int_equal(check_guest_below(&path), KERNEL_FRAMES - 1);
	assert_int_equal(path.at[0].offset, 0x110);
	rig_end(&rig);
}

static void a_stack_that_waited_is_above_the_guests(void **state)
{
	struct rig rig;
	struct path path;
	(void)state;
	begin(&rig, VMOP_STACKS_CFI, VMOP_STACK_FRAMES_MAX);
	const struct vmop_stack_capture both = capture_of(true);
	struct vmop_process *own =
		vmop_processes_read(&rig.profiler->processes, (uint32_t)getpid());
	assert_non_null(own);
	assert_true(give_above_guest(&rig, own, &both));
	await_stacks(&rig, 1);
	/* By the same process, without a guest below. */
	give_stack(&rig, (uint32_t)getpid(), 0xffffffff81000111, VMOP_SAMPLE_KERNEL, &both);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 2);
	size_t above = 0, alone = 0;
	for (size_t i = 0; i < session->n; i++) {
		path_of(&rig, session->rows[i].key.stack, &path);
		if (end_of(&path) == VMOP_STACK_COMPLETE)
			alone = path.n - 1;
		else
			above = check_guest_below(&path);
	}
	assert_true(above > DEPTH);
	assert_int_equal(above, alone);
	rig_end(&rig);
}

/* An unknown number of the host's frames is missing: the guest's would seem to call the others. */
static void a_stack_that_is_cut_is_not_above_the_guests(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_CFI, 5);
	const struct vmop_stack_capture both = capture_of(true);
	struct vmop_process *own =
		vmop_processes_read(&rig.profiler->processes, (uint32_t)getpid());
	if (give_above_guest(&rig, own, &both))
		await_stacks(&rig, 1);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_DEPTH_LIMIT);
	rig_end(&rig);
}

/* ---- stacks that the kernel unwound, by maps of the test --------------------------------------
 */

static struct vmop_unwind_maps maps;

static struct vmop_unwind_maps *test_unwind_maps(struct vmop_source *source)
{
	(void)source;
	return &maps;
}

static void begin_bpf(struct rig *rig, uint32_t max_frames)
{
	static struct vmop_source_ops ops;
	ops = fake_ops;
	ops.unwind_maps = test_unwind_maps;
	fake_source.ops = &ops;
	maps = (struct vmop_unwind_maps)DOUBLE_NEW;
	begin(rig, VMOP_STACKS_BPF, max_frames);
}

static void end_bpf(struct rig *rig)
{
	rig_end(rig);
	fake_source.ops = &fake_ops;
}

/* Bring the mappings of this process into the maps, with tables. Return their generation. */
static uint64_t await_mappings(struct rig *rig, const struct vmop_stack_capture *user)
{
	uint32_t pid = (uint32_t)getpid();
	for (;;) {
		give_stack(rig, pid, captured.ip, VMOP_SAMPLE_USER, user);
		vmop_profiler_drained(rig->profiler);
		usleep(10000);
		const struct double_process *process = double_process(&maps, pid);
		for (size_t i = 0; process && i < process->n; i++) {
			const struct vmop_unwind_mapping *at = &process->mappings[i];
			if (captured.ip >= at->start && captured.ip < at->end &&
			    at->table < DOUBLE_TABLES)
				return process->generation;
		}
	}
}

static struct vmop_stack_capture unwound_of(uint64_t generation, bool has_kernel)
{
	return (struct vmop_stack_capture){
		.kernel_frames = kernel_frames,
		.n_kernel_frames = has_kernel ? KERNEL_FRAMES : 0,
		.user_frames = captured.frames,
		.n_user_frames = captured.n_frames,
		.user_end = VMOP_STACK_COMPLETE,
		.user_generation = generation,
	};
}

static void give_kernel(struct rig *rig, const struct vmop_stack_capture *capture)
{
	give_stack(rig, (uint32_t)getpid(), 0xffffffff81000110, VMOP_SAMPLE_KERNEL, capture);
}

static void give_user(struct rig *rig, const struct vmop_stack_capture *capture)
{
	give_stack(rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, capture);
}

/* The kernel's stack and the copied one are the same nodes, at every depth limit. */
static void both_ways_lead_to_the_same_stack(void **state)
{
	static const uint32_t limits[] = {VMOP_STACK_FRAMES_MAX, 5, 1};
	struct vmop_profiler_stats stats;
	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rig rig;
		begin_bpf(&rig, limits[i]);
		const struct vmop_stack_capture user = capture_of(false), both = capture_of(true);
		uint64_t generation = await_mappings(&rig, &user);
		give_kernel(&rig, &both);
		vmop_profiler_stats(rig.profiler, &stats);
		uint64_t n_copied = stats.stacks.n_copied;
		assert_true(n_copied >= 2);
		const struct vmop_stack_capture by_kernel = unwound_of(generation, false),
						both_by_kernel = unwound_of(generation, true);
		/* From the second one on, frames are known by their addresses. */
		for (unsigned j = 0; j < 3; j++) {
			give_user(&rig, &by_kernel);
			give_kernel(&rig, &both_by_kernel);
			give_kernel(&rig, &both_by_kernel);
		}
		vmop_profiler_stats(rig.profiler, &stats);
		assert_int_equal(stats.stacks.n_by_kernel, 9);
		assert_int_equal(stats.stacks.n_copied, n_copied);
		assert_int_equal(stats.stacks.n_by_end[VMOP_STACK_OUTDATED], 0);
		/* A row for each stack: the user's and the kernel's. */
		assert_int_equal(rig_flush(&rig)->n, 2);
		end_bpf(&rig);
	}
}

static void an_interrupted_frame_is_no_return_address(void **state)
{
	struct rig rig;
	(void)state;
	begin_bpf(&rig, VMOP_STACK_FRAMES_MAX);
	const struct vmop_stack_capture user = capture_of(false);
	uint64_t generation = await_mappings(&rig, &user);
	const struct vmop_stack_capture plain = unwound_of(generation, false);
	uint64_t frames[VMOP_STACK_FRAMES_MAX];
	memcpy(frames, captured.frames, sizeof(frames));
	frames[1] = (frames[1] - 1) | VMOP_USER_FRAME_INTERRUPTED;
	struct vmop_stack_capture flagged = plain;
	flagged.user_frames = frames;
	give_user(&rig, &plain);
	give_user(&rig, &flagged);
	assert_int_equal(rig_flush(&rig)->n, 1);
	/* Not by tables: the bit is a part of some word on the stack. */
	flagged.user_generation = 0;
	give_user(&rig, &flagged);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_TORN);
	end_bpf(&rig);
}

/* The return address of a function in the middle was overwritten with 0. */
static void the_kernels_stack_ends_at_an_outermost_function(void **state)
{
	struct rig rig;
	(void)state;
	begin_bpf(&rig, VMOP_STACK_FRAMES_MAX);
	const struct vmop_stack_capture user = capture_of(false);
	struct vmop_stack_capture by_kernel = unwound_of(await_mappings(&rig, &user), false);
	by_kernel.n_user_frames = DEPTH;
	give_user(&rig, &by_kernel);
	give_user(&rig, &by_kernel);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_TORN);
	end_bpf(&rig);
}

static void a_stack_by_old_mappings_is_not_believed(void **state)
{
	struct rig rig;
	struct path path;
	(void)state;
	begin_bpf(&rig, VMOP_STACK_FRAMES_MAX);
	const struct vmop_stack_capture user = capture_of(false);
	uint64_t generation = await_mappings(&rig, &user);
	rig_flush(&rig);
	const struct vmop_stack_capture by_kernel = unwound_of(generation, false);
	const struct vmop_record record = {.type = VMOP_RECORD_MMAP,
					   .time_ns = vmop_clock_ns(CLOCK_MONOTONIC),
					   .mmap = {.pid = (uint32_t)getpid(),
						    .tid = (uint32_t)getpid(),
						    .start = captured.ip & ~UINT64_C(4095),
						    .len_bytes = 4096,
						    .path = "/elsewhere"}};
	rig.sink.record(rig.sink.arg, &record, NULL);
	give_user(&rig, &by_kernel);
	const struct session *session = rig_flush(&rig);
	path_of(&rig, session->rows[session->n - 1].key.stack, &path);
	assert_int_equal(path.n, 1);
	assert_int_equal(end_of(&path), VMOP_STACK_OUTDATED);
	end_bpf(&rig);
	assert_null(double_process(&maps, (uint32_t)getpid()));
}

extern char _start[]; /* the entry point, whose CFI ends the stack */

/* The kernel does not report why a chain of frame pointers ends; a table shows it. */
static void given_frames_are_complete_at_the_entry_point(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_FP, VMOP_STACK_FRAMES_MAX);
	uint64_t frames[] = {captured.ip, (uintptr_t)__start_f_recurse + 1, (uintptr_t)_start + 32};
	struct vmop_stack_capture capture = {.user_frames = frames, .n_user_frames = 3};
	give_stack(&rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, &capture);
	await_stacks(&rig, 1);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_COMPLETE);
	capture.n_user_frames = 2;
	give_stack(&rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, &capture);
	assert_int_equal(flushed_end(&rig), VMOP_STACK_END_UNKNOWN);
	rig_end(&rig);
}

/* Its fork record was lost: the flush reads its mappings, and the stack waits for them. */
static void a_strangers_stack_waits_for_its_mappings(void **state)
{
	struct rig rig;
	struct path path;
	(void)state;
	begin(&rig, VMOP_STACKS_CFI, VMOP_STACK_FRAMES_MAX);
	const struct vmop_stack_capture user = capture_of(false);
	char link[128];
	/* Build the table first, so that the flush need not wait for it. */
	give_stack(&rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, &user);
	await_stacks(&rig, 1);
	snprintf(link, sizeof(link), "%s/root/proc/7777777", rig.folder);
	char target[64];
	snprintf(target, sizeof(target), "/proc/%d", getpid());
	assert_int_equal(symlink(target, link), 0);
	give_stack(&rig, 7777777, captured.ip, VMOP_SAMPLE_USER, &user);
	assert_int_equal(vmop_profiler_waiting(rig.profiler), 2);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 2);
	assert_int_equal(session->rows[0].key.stack.number, session->rows[1].key.stack.number);
	path_of(&rig, session->rows[0].key.stack, &path);
	assert_int_equal(end_of(&path), VMOP_STACK_COMPLETE);
	rig_end(&rig);
}

/* More samples than the queue of waiting stacks holds. */
static void a_full_queue_loses_no_sample(void **state)
{
	enum { SAMPLES = 10000 };
	struct rig rig;
	struct vmop_profiler_stats stats;
	uint64_t n = 0;
	(void)state;
	begin(&rig, VMOP_STACKS_CFI, VMOP_STACK_FRAMES_MAX);
	struct vmop_stack_capture user = capture_of(false);
	user.user_stack_bytes = STACK_BYTES;   /* whatever is behind the stack */
	for (unsigned i = 0; i < SAMPLES; i++) /* no drain ends: no table comes */
		give_stack(&rig, (uint32_t)getpid(), captured.ip, VMOP_SAMPLE_USER, &user);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.stacks.n_queue_full, SAMPLES - stats.stacks.n_waited);
	assert_true(stats.stacks.n_queue_full > 0 && stats.stacks.n_waited > 0);
	assert_int_equal(stats.stacks.n_by_end[VMOP_STACK_TABLE_LATE], stats.stacks.n_queue_full);
	const struct session *session = rig_flush(&rig);
	for (size_t i = 0; i < session->n; i++)
		n += session->rows[i].samples;
	assert_int_equal(n, SAMPLES);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_stack_is_found),
		cmocka_unit_test(a_depth_limit_holds),
		cmocka_unit_test(stacks_without_a_user_part_have_reasons),
		cmocka_unit_test(a_source_may_know_why_there_is_no_user_part),
		cmocka_unit_test(given_frames_end_outside_of_code),
		cmocka_unit_test(the_hosts_stack_is_above_the_guests),
		cmocka_unit_test(a_stack_that_waited_is_above_the_guests),
		cmocka_unit_test(a_stack_that_is_cut_is_not_above_the_guests),
		cmocka_unit_test(both_ways_lead_to_the_same_stack),
		cmocka_unit_test(an_interrupted_frame_is_no_return_address),
		cmocka_unit_test(the_kernels_stack_ends_at_an_outermost_function),
		cmocka_unit_test(a_stack_by_old_mappings_is_not_believed),
		cmocka_unit_test(given_frames_are_complete_at_the_entry_point),
		cmocka_unit_test(a_strangers_stack_waits_for_its_mappings),
		cmocka_unit_test(a_full_queue_loses_no_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
