// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/sample-unwinder.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/watch.h"
#include "libstack/unwind.h"

/* DWARF numbers of registers (vmop/stack.h). Guests have the host's architecture. */
#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, SP = 31, PC = 32, FP = 29 };
#else
enum { MACHINE = EM_X86_64, SP = 7, PC = 16, FP = 6, DX = 1, RCX = 2, DI = 5, R10 = 10, R13 = 13 };
#endif

struct vmop_guest_sample_unwinder {
	struct vmop_guest_watch *watch;
	struct vmop_domain_id domain;
	struct vmop_unwinder *user;
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX + 1]; /* of the present call */
};

void vmop_guest_sample_unwinder_destroy(struct vmop_guest_sample_unwinder *unwinder)
{
	if (!unwinder)
		return;
	vmop_unwinder_destroy(unwinder->user);
	free(unwinder);
}

struct vmop_error *vmop_guest_sample_unwinder_create(struct vmop_guest_watch *watch,
						     struct vmop_domain_id domain,
						     struct vmop_guest_sample_unwinder **ret)
{
	struct vmop_guest_sample_unwinder *unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return &vmop_error_no_memory;
	unwinder->watch = watch;
	unwinder->domain = domain;
	struct vmop_error *err = vmop_unwinder_create(MACHINE, &unwinder->user);
	if (err) {
		vmop_guest_sample_unwinder_destroy(unwinder);
		return err;
	}
	vmop_guest_watch_want_stacks(watch, domain);
	*ret = unwinder;
	return NULL;
}

/* Append frames from index first on. */
static void put_frames(const struct vmop_stack_frame *frames, size_t first, size_t n,
		       struct vmop_guest_callers *callers)
{
	for (size_t i = first; i < n && callers->n < VMOP_STACK_FRAMES_MAX; i++)
		callers->frames[callers->n++] =
			vmop_guest_frame_pack(frames[i].address, frames[i].is_interrupted);
}

/* ---- the kernel part ------------------------------------------------------- */

/* Unwinding reads only the windows of the kernel's stacks. */
static bool read_windows(void *arg, uint64_t address, void *buf, size_t len_bytes)
{
	const struct vmop_guest_context *context = arg;
	for (unsigned kind = VMOP_GUEST_KERNEL_WINDOW; kind <= VMOP_GUEST_TASK_WINDOW; kind++) {
		uint64_t offset = address - context->window_address[kind];
		uint32_t bytes = context->window_bytes[kind];
		if (offset > bytes || len_bytes > bytes - offset)
			continue;
		memcpy(buf,
		       (const uint8_t *)context +
			       vmop_guest_window_offset(context,
							(enum vmop_guest_window_kind)kind) +
			       offset,
		       len_bytes);
		return true;
	}
	return false;
}

static void take_kernel_regs(const struct vmop_guest_context *context, struct vmop_kernel_regs *ret)
{
	const uint64_t *regs = context->regs;
	*ret = (struct vmop_kernel_regs){
		.pc = regs[PC], .sp = regs[SP], .fp = regs[FP], .is_interrupted = true};
#if !defined(__aarch64__)
	ret->has_others = true;
	ret->r10 = regs[R10];
	ret->r13 = regs[R13];
	ret->di = regs[DI];
	ret->dx = regs[DX];
#endif
}

/* Put the kernel's frames. Return whether the stack goes on in user code. */
static bool unwind_kernel(struct vmop_guest_sample_unwinder *unwinder,
			  const struct vmop_guest_view *view,
			  const struct vmop_guest_context *context, struct vmop_guest_callers *ret,
			  struct vmop_kernel_entry *ret_entry)
{
	struct vmop_kernel_regs regs;
	struct vmop_kernel_unwound unwound;
	const struct vmop_kernel_memory memory = {.read = read_windows, .arg = (void *)context};
	bool has_window = (context->parts & VMOP_GUEST_HAS_SP) &&
			  context->window_bytes[VMOP_GUEST_KERNEL_WINDOW];
	ret->end = VMOP_STACK_NOT_RECORDED;
	if (!has_window)
		return false;
	ret->end = view && view->orc ? view->orc->unusable : VMOP_STACK_TABLE_LATE;
	if (ret->end)
		return false;
	take_kernel_regs(context, &regs);
	vmop_guest_orc_tables_unwind(view->orc, &regs, &memory, unwinder->frames,
				     VMOP_STACK_FRAMES_MAX + 1, &unwound);
	put_frames(unwinder->frames, 1, unwound.n_frames, ret);
	ret->end = unwound.end;
	*ret_entry = unwound.entry;
	return unwound.end == VMOP_STACK_COMPLETE && unwound.entry.is_known;
}

/* ---- both ------------------------------------------------------------------ */

void vmop_guest_sample_unwinder_unwind(struct vmop_guest_sample_unwinder *unwinder,
				       const struct vmop_guest_view *view,
				       const struct vmop_guest_process *process,
				       const struct vmop_guest_context *context,
				       struct vmop_guest_callers *ret)
{
	struct vmop_kernel_entry entry;
	(void)process;
	ret->n = 0;
	ret->is_likely = false;
	ret->end = VMOP_STACK_NOT_RECORDED;
	if (!(context->parts & VMOP_GUEST_HAS_REGS))
		return;
	if (!(context->parts & VMOP_GUEST_IS_USER) &&
	    !unwind_kernel(unwinder, view, context, ret, &entry))
		return;
	ret->end = VMOP_STACK_UNREADABLE;
}
