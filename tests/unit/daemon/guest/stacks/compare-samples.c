// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: compare-samples DIRECTORY
 *
 * Make a sample's context of each waiting thread of a captured guest (tests/rigs/capture-guest):
 * its registers and windows of its stacks, as the BPF program captures them. Unwind it as the
 * daemon does, and compare the frames with those of `vmopcontrol --inspect --stacks`, which reads
 * whole stacks. Prints every difference, and at the end:
 *
 *	THREADS threads, EQUAL equal, SHORT beyond the window; USERS user stacks, COMPLETE complete,
 *	EQUAL equal, SHORT beyond the window
 *	N stacks with the stack pointer withheld: RIGHT right (PERCENT %), NONE not found,
 *	US us each
 *
 * The latter are those of all frames of all threads, as if the thread had been interrupted there,
 * with the whole stack as the window.
 *
 * Exit status 1: there are differences, or less than 95 % of the latter are right; 2: failure.
 * tests/rigs/introspect-run runs it; it is not a test on its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/stacks/sample-unwinder.h"
#include "daemon/guest/stacks/user-stacks.h"
#include "daemon/guest/stacks/waiting-stacks.h"
#include "libutil/array.h"
#include "libutil/clock.h"
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

enum { WINDOW_BYTES = 4096, USER_WINDOW_BYTES = 16384, PAGE_BYTES = 4096, MAX_ROUNDS = 10 };

#if defined(__aarch64__)
enum { SP = 31, PC = 32, FP = 29 };
#else
enum { SP = 7, PC = 16, FP = 6 };
#endif

/* A waiting thread as a sample, and the frames of its whole stacks. */
struct sample {
	uint32_t pid, tid;
	uint64_t pgd_gpa, stack_end;
	char comm[16];
	struct vmop_stack_frame kernel[VMOP_STACK_FRAMES_MAX], user[VMOP_STACK_FRAMES_MAX];
	struct vmop_kernel_unwound kernel_unwound;
	struct vmop_unwound user_unwound;
	bool has_user;
	uint64_t user_regs[VMOP_USER_REGS];
	struct vmop_guest_context *context; /* with its windows */
};

struct counts {
	struct sample *samples;
	size_t n, capacity;
	size_t n_equal, n_short, n_users, n_users_complete, n_users_equal, n_users_short;
	size_t n_different;
	size_t n_withheld, n_right, n_none;
	uint64_t withheld_ns;
};

static void die(struct vmop_error *err)
{
	fprintf(stderr, "compare-samples: %s\n", err->message);
	exit(2);
}

/* ---- contexts --------------------------------------------------------------- */

static bool take(const struct vmop_waiting_thread *waiting, void *arg)
{
	struct counts *counts = arg;
	const struct vmop_guest_thread *thread = waiting->thread;
	if (!waiting->unwound.n_frames)
		return true;
	if (!vmop_array_reserve(counts->samples, counts->capacity, counts->n + 1))
		exit(2);
	struct sample *sample = &counts->samples[counts->n++];
	*sample = (struct sample){.pid = thread->pid,
				  .tid = thread->tid,
				  .pgd_gpa = thread->pgd_gpa,
				  .stack_end = thread->sp + thread->stack_bytes,
				  .kernel_unwound = waiting->unwound,
				  .has_user = waiting->has_user_regs};
	memcpy(sample->comm, thread->comm, sizeof(sample->comm));
	memcpy(sample->kernel, waiting->frames,
	       waiting->unwound.n_frames * sizeof(sample->kernel[0]));
	memcpy(sample->user_regs, waiting->user_regs, sizeof(sample->user_regs));
	struct vmop_guest_context *context = sample->context =
		calloc(1, sizeof(*context) + WINDOW_BYTES + USER_WINDOW_BYTES);
	if (!context)
		exit(2);
	context->parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP;
	context->parts |= sample->has_user ? (uint32_t)VMOP_GUEST_HAS_USER_REGS : 0;
	context->regs[PC] = thread->pc;
	context->regs[SP] = thread->sp;
	context->regs[FP] = thread->fp;
	memcpy(context->user_regs, sample->user_regs, sizeof(context->user_regs));
	context->window_address[VMOP_GUEST_KERNEL_WINDOW] = thread->sp;
	context->window_bytes[VMOP_GUEST_KERNEL_WINDOW] =
		thread->stack_bytes < WINDOW_BYTES ? (uint32_t)thread->stack_bytes & ~7u
						   : WINDOW_BYTES;
	memcpy(context + 1, thread->stack, context->window_bytes[VMOP_GUEST_KERNEL_WINDOW]);
	return true;
}

static void add_user_window(const struct sample *sample)
{
	struct vmop_guest_context *context = sample->context;
	uint64_t sp = sample->user_regs[SP];
	uint8_t *to =
		(uint8_t *)context + vmop_guest_window_offset(context, VMOP_GUEST_USER_WINDOW);
	uint32_t n = 0;
	while (n < USER_WINDOW_BYTES) {
		uint32_t len = PAGE_BYTES - (uint32_t)((sp + n) % PAGE_BYTES);
		if (len > USER_WINDOW_BYTES - n)
			len = USER_WINDOW_BYTES - n;
		if (!vmop_guest_read_user(tables_at_once_guest, sample->pgd_gpa, sp + n, to + n,
					  len))
			break;
		n += len;
	}
	context->window_address[VMOP_GUEST_USER_WINDOW] = sp;
	context->window_bytes[VMOP_GUEST_USER_WINDOW] = n & ~7u;
}

/* ---- the comparison ---------------------------------------------------------- */

/* Return how many of the frames are at *at and after it in callers, and move *at behind them. */
static size_t match(const struct vmop_guest_callers *callers, size_t *at,
		    const struct vmop_stack_frame *frames, size_t n)
{
	size_t i = 0;
	while (i < n && *at < callers->n &&
	       vmop_guest_frame_address(callers->frames[*at]) == frames[i].address &&
	       vmop_guest_frame_is_interrupted(callers->frames[*at]) == frames[i].is_interrupted) {
		(*at)++;
		i++;
	}
	return i;
}

static void print(const struct sample *sample, const struct vmop_guest_callers *callers)
{
	printf("%u %s: from windows, end %d:\n", sample->tid, sample->comm, callers->end);
	for (size_t i = 0; i < callers->n; i++)
		printf("  %" PRIx64 "\n", vmop_guest_frame_address(callers->frames[i]));
	printf(" from whole stacks, ends %d and %d:\n", sample->kernel_unwound.end,
	       sample->user_unwound.end);
	for (size_t i = 1; i < sample->kernel_unwound.n_frames; i++)
		printf("  %" PRIx64 "\n", sample->kernel[i].address);
	for (size_t i = 0; i < sample->user_unwound.n_frames; i++)
		printf("  %" PRIx64 "\n", sample->user[i].address);
}

static void print_withheld(const struct sample *sample, const struct vmop_kernel_regs *regs,
			   const struct vmop_stack_frame *frames, size_t n,
			   const struct vmop_guest_callers *callers)
{
	printf("%u %s: at %" PRIx64 " without the stack pointer, end %d:\n", sample->tid,
	       sample->comm, regs->pc, callers->end);
	for (size_t i = 0; i < callers->n; i++)
		printf("  %" PRIx64 "\n", vmop_guest_frame_address(callers->frames[i]));
	printf(" with it:\n");
	for (size_t i = 1; i < n; i++)
		printf("  %" PRIx64 "\n", frames[i].address);
}

static void compare(struct counts *counts, const struct sample *sample,
		    const struct vmop_guest_callers *callers)
{
	size_t at = 0, n = sample->kernel_unwound.n_frames - 1;
	bool is_short = callers->end == VMOP_STACK_COPY_SHORT;
	bool is_equal = match(callers, &at, sample->kernel + 1, n) == n;
	counts->n_equal += is_equal;
	counts->n_short += !is_equal && is_short && at == callers->n;
	if (is_equal && sample->has_user) {
		n = sample->user_unwound.n_frames;
		counts->n_users++;
		counts->n_users_complete += callers->end == VMOP_STACK_COMPLETE;
		is_equal = match(callers, &at, sample->user, n) == n && at == callers->n &&
			   callers->end == sample->user_unwound.end;
		counts->n_users_equal += is_equal;
		counts->n_users_short += !is_equal && is_short && at == callers->n;
	} else if (is_equal) {
		is_equal = at == callers->n && callers->end == sample->kernel_unwound.end;
	}
	if (is_equal || (is_short && at == callers->n))
		return;
	counts->n_different++;
	print(sample, callers);
}

/* ---- without the stack pointer ------------------------------------------------ */

enum { STACK_BYTES = 16384 };

struct stack {
	uint64_t start;
	uint8_t bytes[STACK_BYTES];
};

static bool read_stack(void *arg, uint64_t address, void *buf, size_t len_bytes)
{
	const struct stack *stack = arg;
	uint64_t offset = address - stack->start;
	if (offset > STACK_BYTES || len_bytes > STACK_BYTES - offset)
		return false;
	memcpy(buf, stack->bytes + offset, len_bytes);
	return true;
}

/* Unwind at a frame with the stack pointer and without, and compare. */
static void compare_withheld(struct counts *counts, struct vmop_guest_sample_unwinder *unwinder,
			     const struct vmop_guest_view *view,
			     const struct vmop_guest_process *process, const struct sample *sample,
			     const struct stack *stack, const struct vmop_kernel_regs *regs)
{
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX];
	struct vmop_kernel_unwound unwound;
	struct vmop_guest_callers callers;
	struct vmop_guest_context *context = calloc(1, sizeof(*context) + STACK_BYTES);
	const struct vmop_kernel_memory memory = {.read = read_stack, .arg = (void *)stack};
	vmop_guest_orc_tables_unwind(view->orc, regs, &memory, frames, VMOP_STACK_FRAMES_MAX,
				     &unwound);
	if (!context || unwound.end != VMOP_STACK_COMPLETE) {
		free(context);
		return;
	}
	*context = *sample->context;
	context->parts &= ~(uint32_t)VMOP_GUEST_HAS_SP;
	context->regs[PC] = regs->pc;
	context->regs[FP] = regs->fp;
	context->regs[SP] = 0;
	context->window_address[VMOP_GUEST_KERNEL_WINDOW] = stack->start;
	context->window_bytes[VMOP_GUEST_KERNEL_WINDOW] = STACK_BYTES;
	context->window_bytes[VMOP_GUEST_USER_WINDOW] = 0;
	memcpy(context + 1, stack->bytes, STACK_BYTES);
	uint64_t begun = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_guest_sample_unwinder_unwind(unwinder, view, process, context, &callers);
	counts->withheld_ns += vmop_clock_ns(CLOCK_MONOTONIC) - begun;
	free(context);
	size_t at = 0, n = unwound.n_frames - 1;
	bool is_right = match(&callers, &at, frames + 1, n) == n &&
			(at == callers.n || !(callers.frames[at] >> 63));
	counts->n_withheld++;
	counts->n_right += is_right;
	counts->n_none += !callers.n && n;
	if (!is_right)
		print_withheld(sample, regs, frames, unwound.n_frames, &callers);
}

/* Compare at each frame of a thread that a call made. */
static void withhold(struct counts *counts, struct vmop_guest_sample_unwinder *unwinder,
		     const struct vmop_guest_view *view, const struct vmop_guest_process *process,
		     const struct sample *sample)
{
	struct stack *stack = malloc(sizeof(*stack));
	struct vmop_kernel_regs regs = {.pc = sample->context->regs[PC],
					.sp = sample->context->regs[SP],
					.fp = sample->context->regs[FP],
					.is_interrupted = true,
					.has_others = true};
	if (!stack)
		exit(2);
	stack->start = sample->stack_end - STACK_BYTES;
	if (sample->stack_end % STACK_BYTES ||
	    !vmop_guest_read_kernel(tables_at_once_guest, stack->start, stack->bytes,
				    STACK_BYTES)) {
		free(stack);
		return;
	}
	compare_withheld(counts, unwinder, view, process, sample, stack, &regs);
	for (size_t i = 1; i < sample->kernel_unwound.n_frames; i++) {
		uint64_t word = 0;
		while (read_stack(stack, regs.sp, &word, sizeof(word)) &&
		       word != sample->kernel[i].address)
			regs.sp += sizeof(word);
		regs.sp += sizeof(word);
		regs.pc = sample->kernel[i].address;
		regs.fp = 0;
		if (!sample->kernel[i].is_interrupted)
			compare_withheld(counts, unwinder, view, process, sample, stack, &regs);
	}
	free(stack);
}

static void unwind_all(struct counts *counts, const struct vmop_guest_view *view)
{
	struct vmop_guest_sample_unwinder *unwinder;
	struct vmop_user_stacks *users;
	struct vmop_guest_callers callers;
	const struct vmop_domain_id domain = {0};
	struct vmop_error *err = vmop_guest_sample_unwinder_create(NULL, NULL, domain, &unwinder);
	if (!err)
		err = vmop_user_stacks_create(tables_at_once_guest, false, &users);
	if (err)
		die(err);
	vmop_user_stacks_begin(users, view->tasks->snapshot, 0);
	for (size_t i = 0; i < counts->n; i++) {
		struct sample *sample = &counts->samples[i];
		const struct vmop_guest_process *process =
			vmop_guest_snapshot_by_pid(view->tasks->snapshot, sample->pid);
		if (sample->has_user) {
			vmop_user_stacks_unwind(users, sample->pid, sample->pgd_gpa,
						sample->user_regs, sample->user,
						VMOP_STACK_FRAMES_MAX, &sample->user_unwound);
			add_user_window(sample);
		}
		int rounds = 0;
		do
			vmop_guest_sample_unwinder_unwind(unwinder, view, process, sample->context,
							  &callers);
		while (callers.end == VMOP_STACK_TABLE_LATE && rounds++ < MAX_ROUNDS);
		compare(counts, sample, &callers);
		if (view->orc->orc)
			withhold(counts, unwinder, view, process, sample);
	}
	vmop_user_stacks_destroy(users);
	vmop_guest_sample_unwinder_destroy(unwinder);
}

int main(int argc, char **argv)
{
	struct counts counts = {0};
	struct vmop_guest_snapshot *snapshot;
	char path[512];
	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "%s/ram", argv[1]);
	struct vmop_error *err = vmop_guest_open_file(path, NULL, &tables_at_once_guest);
	if (!err)
		err = vmop_guest_find_kernel(tables_at_once_guest);
	if (!err)
		err = vmop_waiting_stacks_each(tables_at_once_guest, take, &counts, NULL);
	if (!err)
		err = vmop_guest_snapshot_processes(tables_at_once_guest, 0, &snapshot);
	if (err)
		die(err);
	struct vmop_guest_view view = {
		.orc = vmop_guest_orc_tables_publish(tables_at_once_guest, 1, true, NULL),
		.tasks = vmop_guest_tasks_create(snapshot, 1)};
	if (!view.orc || !view.tasks)
		return 2;
	unwind_all(&counts, &view);
	printf("%zu threads, %zu equal, %zu beyond the window; %zu user stacks, %zu complete, "
	       "%zu equal, %zu beyond the window\n",
	       counts.n, counts.n_equal, counts.n_short, counts.n_users, counts.n_users_complete,
	       counts.n_users_equal, counts.n_users_short);
	double n_withheld = counts.n_withheld ? (double)counts.n_withheld : 1;
	printf("%zu stacks with the stack pointer withheld: %zu right (%.2f %%), %zu not found; "
	       "%.0f us each\n",
	       counts.n_withheld, counts.n_right, 100 * (double)counts.n_right / n_withheld,
	       counts.n_none, (double)counts.withheld_ns / 1e3 / n_withheld);
	counts.n_different += (double)counts.n_right < 0.95 * (double)counts.n_withheld;
	for (size_t i = 0; i < counts.n; i++)
		free(counts.samples[i].context);
	free(counts.samples);
	vmop_guest_orc_tables_unref(view.orc);
	vmop_guest_tasks_unref(view.tasks);
	vmop_guest_close(tables_at_once_guest);
	return counts.n_different || !counts.n_equal || !counts.n_users_equal;
}
