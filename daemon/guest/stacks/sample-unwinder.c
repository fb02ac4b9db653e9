// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/sample-unwinder.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/kernel-text.h"
#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/stacks/table-cache.h"
#include "daemon/guest/watch.h"
#include "daemon/host/image.h"
#include "libstack/kernel/search.h"
#include "libstack/unwind.h"
#include "libutil/clock.h"

/*
 * How long after its first request an unwind table is requested again, which could not be read then
 * as a whole. The time doubles with each request, so many times at most.
 */
#define RETRY_NS (5 * VMOP_NS_PER_S)
#define RETRY_DOUBLINGS 7

enum { PAGE_BYTES = 4096 };

/* DWARF numbers of registers (vmop/stack.h). Guests have the host's architecture. */
#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, SP = 31, PC = 32, FP = 29, LINK = 30 };
#elif defined(__x86_64__)
enum { MACHINE = EM_X86_64, SP = 7, PC = 16, FP = 6, DX = 1, RCX = 2, DI = 5, R10 = 10, R13 = 13 };
#endif

struct vmop_guest_sample_unwinder {
	struct vmop_guest_watch *watch;
	const struct vmop_images *images; /* NULL: none */
	struct vmop_domain_id domain;
	struct vmop_unwinder *user;
	struct vmop_guest_table_cache tables;
	struct vmop_kernel_searcher *searcher;
	const struct vmop_guest_kernel_text *searched_text; /* only compared */
	uint32_t searched_generation;
	bool wants_code;					   /* requested */
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX + 1]; /* of the present call */
};

void vmop_guest_sample_unwinder_destroy(struct vmop_guest_sample_unwinder *unwinder)
{
	if (!unwinder)
		return;
	vmop_guest_watch_drop_tables(unwinder->watch, unwinder->domain);
	vmop_guest_table_cache_deinit(&unwinder->tables);
	vmop_kernel_searcher_destroy(unwinder->searcher);
	vmop_unwinder_destroy(unwinder->user);
	free(unwinder);
}

struct vmop_error *vmop_guest_sample_unwinder_create(struct vmop_guest_watch *watch,
						     const struct vmop_images *images,
						     struct vmop_domain_id domain,
						     struct vmop_guest_sample_unwinder **ret)
{
	struct vmop_guest_sample_unwinder *unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return &vmop_error_no_memory;
	unwinder->watch = watch;
	unwinder->images = images;
	unwinder->domain = domain;
	vmop_guest_table_cache_init(&unwinder->tables, VMOP_GUEST_TABLE_CACHE_BYTES);
	struct vmop_error *err = vmop_unwinder_create(MACHINE, &unwinder->user);
	if (!err)
		err = vmop_kernel_searcher_create(&unwinder->searcher);
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
#if defined(__x86_64__)
	ret->has_others = true;
	ret->r10 = regs[R10];
	ret->r13 = regs[R13];
	ret->di = regs[DI];
	ret->dx = regs[DX];
#else
	ret->link = regs[LINK];
#endif
}

/*
 * Return whether the registers where the task's stack begins are those of user code: a kernel
 * thread has zeros there.
 */
static bool has_saved_user_regs(const struct vmop_guest_context *context)
{
	uint64_t pc = context->user_regs[PC];
	return (context->parts & VMOP_GUEST_HAS_USER_REGS) && pc && !(pc >> 63);
}

/* Set the stacks of a search to the windows, by rising address. */
static void add_stacks(const struct vmop_guest_context *context, struct vmop_kernel_search *search)
{
	for (unsigned kind = VMOP_GUEST_KERNEL_WINDOW; kind <= VMOP_GUEST_TASK_WINDOW; kind++) {
		uint64_t start = context->window_address[kind], end;
		if (!context->window_bytes[kind] ||
		    __builtin_add_overflow(start, context->window_bytes[kind], &end))
			continue;
		search->stacks[search->n_stacks].start = start;
		search->stacks[search->n_stacks++].end = end;
	}
	search->has_all_stacks = search->n_stacks == 2;
	if (search->n_stacks == 2 && search->stacks[0].start > search->stacks[1].start) {
		uint64_t start = search->stacks[0].start, end = search->stacks[0].end;
		search->stacks[0] = search->stacks[1];
		search->stacks[1].start = start;
		search->stacks[1].end = end;
	}
}

/*
 * Return whether the registers where the task's stack begins are those with which user code entered
 * the kernel this time. arm64's entries have no other registers than these. An entry stores the
 * address last, from x22, and an exit loads it into x21. The last instructions of an exit have all
 * of the user's registers again. At the first ones of an entry, the stored registers are those of
 * the entry before (Linux: kernel_entry and kernel_exit in arch/arm64/kernel/entry.S).
 */
static bool are_of_this_entry(const struct vmop_guest_context *context, size_t n_frames)
{
#if defined(__aarch64__)
	enum { ENTRY_PC = 22, EXIT_PC = 21, N_RESTORED = 30 };
	const uint64_t *regs = context->regs, *saved = context->user_regs;
	if (!has_saved_user_regs(context))
		return false;
	if (!(regs[FP] >> 63))
		return memcmp(regs, saved, N_RESTORED * sizeof(*regs)) == 0;
	return n_frames > 1 || regs[ENTRY_PC] == saved[PC] || regs[EXIT_PC] == saved[PC];
#else
	(void)context;
	(void)n_frames;
	return false;
#endif
}

/*
 * On x86-64 the first and the last instructions of a system call run on the user's stack, and rcx
 * has the user's address (Intel SDM, SYSCALL).
 */
static bool is_on_user_stack(const struct vmop_guest_context *context,
			     struct vmop_kernel_entry *ret_entry)
{
#if defined(__x86_64__)
	const uint64_t *regs = context->regs;
	*ret_entry = (struct vmop_kernel_entry){
		.is_known = true, .pc = regs[RCX], .sp = regs[SP], .fp = regs[FP]};
	return (context->parts & VMOP_GUEST_HAS_SP) && !(regs[SP] >> 63) && !(regs[RCX] >> 63);
#else
	(void)context;
	(void)ret_entry;
	return false;
#endif
}

/* Request the code of the guest's kernel, once. */
static void want_code(struct vmop_guest_sample_unwinder *unwinder)
{
	if (!unwinder->wants_code)
		vmop_guest_watch_want_code(unwinder->watch, unwinder->domain);
	unwinder->wants_code = true;
}

/* Search a stack whose stack pointer was not captured, into unwinder->frames. */
static void search_stack(struct vmop_guest_sample_unwinder *unwinder,
			 const struct vmop_guest_orc_tables *tables,
			 const struct vmop_guest_context *context,
			 const struct vmop_kernel_regs *regs, struct vmop_kernel_unwound *unwound,
			 struct vmop_guest_callers *callers)
{
	struct vmop_kernel_text text;
	struct vmop_kernel_found found;
	struct vmop_kernel_search search = {
		.orc = tables->orc,
		.regs = *regs,
		.memory = {.read = read_windows, .arg = (void *)context},
		.text = &text,
		.has_user = has_saved_user_regs(context),
		.user_pc = context->user_regs[PC],
		.user_sp = context->user_regs[SP],
	};
	want_code(unwinder);
	*unwound = (struct vmop_kernel_unwound){.end = VMOP_STACK_TABLE_LATE};
	if (!tables->has_code)
		return;
	unwound->end = VMOP_STACK_UNREADABLE;
	if (!vmop_guest_kernel_text_is_usable(tables->text))
		return;
	vmop_guest_kernel_text_view(tables->text, &text);
	if (unwinder->searched_text != tables->text ||
	    unwinder->searched_generation != tables->code_generation)
		vmop_kernel_searcher_reset(unwinder->searcher);
	unwinder->searched_text = tables->text;
	unwinder->searched_generation = tables->code_generation;
	add_stacks(context, &search);
	vmop_kernel_search(unwinder->searcher, &search, unwinder->frames, VMOP_STACK_FRAMES_MAX + 1,
			   unwound, &found);
	callers->is_likely = !found.is_certain;
}

/* arm64: add the caller of a function that has no frame record, or none yet. */
static void add_link(struct vmop_guest_sample_unwinder *unwinder,
		     const struct vmop_guest_orc_tables *tables,
		     const struct vmop_kernel_regs *regs, struct vmop_kernel_unwound *unwound,
		     struct vmop_guest_callers *callers)
{
	struct vmop_kernel_text text;
	want_code(unwinder);
	if (!tables->text)
		return;
	vmop_guest_kernel_text_view(tables->text, &text);
	enum vmop_kernel_link link =
		vmop_frame_records_add_link(regs, &tables->records, &text, unwinder->frames,
					    VMOP_STACK_FRAMES_MAX + 1, unwound);
	callers->is_likely = link == VMOP_KERNEL_LINK_LIKELY;
}

/*
 * Return whether a sample is in the code of an entry or an exit, where the kernel's stack ends,
 * although the registers of user code are where the task's stack begins.
 */
static bool is_in_entry_code(const struct vmop_guest_context *context,
			     const struct vmop_kernel_unwound *unwound, bool is_this_entry)
{
	bool is_only_frame = MACHINE == EM_AARCH64 || unwound->n_frames == 1;
	return unwound->end == VMOP_STACK_COMPLETE && is_only_frame && !is_this_entry &&
	       !unwound->entry.is_known && has_saved_user_regs(context);
}

/*
 * Return whether the registers where the task's stack begins are those of this entry. A system call
 * has the user's address in rcx, and has not stored it yet while it has less than five words on the
 * stack (entry_SYSCALL_64).
 */
static bool has_stored_user_regs(const struct vmop_guest_context *context)
{
#if defined(__x86_64__)
	enum { STORED_BYTES = 40 };
	uint64_t end = context->window_address[VMOP_GUEST_KERNEL_WINDOW] +
		       context->window_bytes[VMOP_GUEST_KERNEL_WINDOW];
	return context->regs[RCX] == context->user_regs[PC] ||
	       ((context->parts & VMOP_GUEST_HAS_SP) && end - context->regs[SP] >= STORED_BYTES);
#else
	(void)context;
	return false;
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
	if (is_on_user_stack(context, ret_entry))
		return true;
	if (!context->window_bytes[VMOP_GUEST_KERNEL_WINDOW])
		return are_of_this_entry(context, 1);
	ret->end = view && view->orc ? view->orc->unusable : VMOP_STACK_TABLE_LATE;
	if (ret->end)
		return false;
	take_kernel_regs(context, &regs);
	if (view->orc->orc && !(context->parts & VMOP_GUEST_HAS_SP))
		search_stack(unwinder, view->orc, context, &regs, &unwound, ret);
	else
		vmop_guest_orc_tables_unwind(view->orc, &regs, &memory, unwinder->frames,
					     VMOP_STACK_FRAMES_MAX + 1, &unwound);
	bool is_this_entry = are_of_this_entry(context, unwound.n_frames);
	if (view->orc->is_arm64)
		add_link(unwinder, view->orc, &regs, &unwound, ret);
	put_frames(unwinder->frames, 1, unwound.n_frames, ret);
	ret->end = unwound.end;
	*ret_entry = unwound.entry;
	if (!is_in_entry_code(context, &unwound, is_this_entry))
		return unwound.end == VMOP_STACK_COMPLETE &&
		       (unwound.entry.is_known || is_this_entry);
	ret->end = VMOP_STACK_NOT_RECORDED;
	return has_stored_user_regs(context);
}

/* ---- the user part --------------------------------------------------------- */

/* The arguments of the look-ups in the code of one process. */
struct space {
	struct vmop_guest_sample_unwinder *unwinder;
	const struct vmop_guest_process *process;
	uint64_t now_ns; /* 0: the clock was not read yet */
};

static void take_answers(struct vmop_guest_sample_unwinder *unwinder)
{
	struct vmop_guest_table_answer answer;
	while (unwinder->tables.n_asked &&
	       vmop_guest_watch_take_table(unwinder->watch, unwinder->domain, &answer))
		vmop_guest_table_cache_put(&unwinder->tables, &answer.key, answer.state,
					   answer.table);
}

/* Return the time that must pass after the last request. */
static uint64_t pause_ns(const struct vmop_guest_table_slot *slot)
{
	unsigned n = slot->n_requested;
	if (!n)
		return 0;
	return RETRY_NS << (n - 1 < RETRY_DOUBLINGS ? n - 1 : RETRY_DOUBLINGS);
}

/* Find where this machine has a guest's file, if a program here has it mapped. */
static void find_host_path(const struct vmop_guest_sample_unwinder *unwinder,
			   const struct vmop_guest_code_key *key, char *ret)
{
	struct vmop_build_id id;
	*ret = 0;
	if (!unwinder->images || !vmop_guest_code_key_build_id(key, &id))
		return;
	const char *path = vmop_images_host_path(unwinder->images, &id);
	if (path && vmop_host_file_is_path_allowed(path))
		memcpy(ret, path, strlen(path) + 1);
}

/* Request a table that is not there as a whole, at first or after a while. */
static void request(struct space *space, const struct vmop_guest_code_mapping *mapping,
		    struct vmop_guest_table_slot *slot)
{
	struct vmop_guest_sample_unwinder *unwinder = space->unwinder;
	if (!space->now_ns)
		space->now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (space->now_ns - slot->requested_ns < pause_ns(slot))
		return;
	struct vmop_guest_table_request request = {.domain = unwinder->domain, .mapping = *mapping};
	find_host_path(unwinder, &mapping->key, request.host_path);
	if (vmop_guest_watch_request_table(unwinder->watch, &request))
		vmop_guest_table_cache_ask(&unwinder->tables, slot, space->now_ns);
}

static bool find_code(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	struct space *space = arg;
	struct vmop_guest_code_mapping mapping;
	const struct vmop_guest_vma *vma = vmop_guest_process_vma(space->process, address);
	if (!vma)
		return false;
	*ret = (struct vmop_code_piece){.start = vma->start,
					.end = vma->end,
					.offset = vma->file_offset_bytes,
					.state = VMOP_CODE_NO_TABLE};
	if (!vmop_guest_code_mapping_init(&mapping, space->process, vma))
		return true;
	struct vmop_guest_table_cache *tables = &space->unwinder->tables;
	struct vmop_guest_table_slot *slot = vmop_guest_table_cache_find(tables, &mapping.key);
	if (!slot)
		slot = vmop_guest_table_cache_add(tables, &mapping.key);
	if (slot->state == VMOP_CODE_PENDING || slot->state == VMOP_CODE_UNREADABLE ||
	    slot->is_partial)
		request(space, &mapping, slot);
	ret->state = slot->state;
	ret->table = slot->table;
	return true;
}

/* Set the captured bytes from sp on, if the window has them. */
static void take_stack(const struct vmop_guest_context *context, uint64_t sp,
		       struct vmop_stack_capture *capture)
{
	uint64_t offset = sp - context->window_address[VMOP_GUEST_USER_WINDOW];
	uint64_t bytes = context->window_bytes[VMOP_GUEST_USER_WINDOW];
	if (offset >= bytes)
		return;
	capture->user_stack = (const uint8_t *)context +
			      vmop_guest_window_offset(context, VMOP_GUEST_USER_WINDOW) + offset;
	capture->user_stack_bytes = (size_t)(bytes - offset);
	/* A window that ends at a page's end may be shorter than was asked. */
	bool may_be_short = (sp + capture->user_stack_bytes) % PAGE_BYTES == 0;
	capture->user_stack_asked_bytes =
		may_be_short ? VMOP_GUEST_USER_WINDOW_MAX : capture->user_stack_bytes;
}

/*
 * Put the frames of user code with these registers. The first one is left out if it is the sampled
 * address.
 */
static void unwind_user(struct vmop_guest_sample_unwinder *unwinder,
			const struct vmop_guest_process *process,
			const struct vmop_guest_context *context, const uint64_t *regs,
			bool is_sampled, struct vmop_guest_callers *ret)
{
	struct vmop_unwound unwound;
	struct space space = {.unwinder = unwinder, .process = process};
	const struct vmop_code_space code = {.find = find_code, .arg = &space};
	struct vmop_stack_capture capture = {.user_regs = regs};
	size_t room = VMOP_STACK_FRAMES_MAX - ret->n + is_sampled;
	ret->end = VMOP_STACK_DEPTH_LIMIT;
	if (!room)
		return;
	unwinder->frames[0] =
		(struct vmop_stack_frame){.address = regs[PC], .is_interrupted = true};
	unwound = (struct vmop_unwound){.n_frames = 1, .end = VMOP_STACK_UNREADABLE};
	take_stack(context, regs[SP], &capture);
	if (process && !capture.user_stack)
		unwound.end = VMOP_STACK_NOT_RECORDED;
	else if (process && process->vma_count) {
		take_answers(unwinder);
		vmop_unwind(unwinder->user, &code, &capture, unwinder->frames, room, &unwound);
	}
	put_frames(unwinder->frames, is_sampled, unwound.n_frames, ret);
	ret->end = unwound.end;
}

static bool agrees(const struct vmop_kernel_entry *entry, const uint64_t *regs)
{
	return regs[PC] == entry->pc && regs[SP] == entry->sp && regs[FP] == entry->fp;
}

/*
 * Set the registers of user code: of the sample, where entry is NULL, or those with which it
 * entered the kernel. While the entry itself is at work, it has stored only a few of them, and most
 * of the others are still those of the sample.
 */
static void take_user_regs(const struct vmop_guest_context *context,
			   const struct vmop_kernel_entry *entry, bool is_in_entry, uint64_t *ret)
{
	bool has_saved = entry && (context->parts & VMOP_GUEST_HAS_USER_REGS) &&
			 (!entry->is_known || !is_in_entry || agrees(entry, context->user_regs));
	memset(ret, 0, VMOP_USER_REGS * sizeof(*ret));
	memcpy(ret, has_saved ? context->user_regs : context->regs, sizeof(context->regs));
	if (!entry || !entry->is_known)
		return;
	ret[PC] = entry->pc;
	ret[SP] = entry->sp;
	ret[FP] = entry->fp;
}

/* The first address of x86-64's stacks for entries (Linux: Documentation/arch/x86/x86_64/mm.rst).
 */
#define ENTRY_STACKS UINT64_C(0xfffffe0000000000)

/*
 * Return whether the kernel's stack is not that of the task: it ends in other user registers than
 * the task's stack. The kernel changes the stack some instructions before its current task (Linux:
 * __switch_to_asm, __switch_to). On a stack for entries, the task's have not been stored yet.
 */
static bool is_stack_of_other_task(const struct vmop_guest_context *context,
				   const struct vmop_kernel_entry *entry, bool is_in_entry)
{
	const uint64_t *saved = context->user_regs;
	return MACHINE == EM_X86_64 && !is_in_entry && entry->is_known &&
	       context->parts & VMOP_GUEST_HAS_SP && context->regs[SP] < ENTRY_STACKS &&
	       context->parts & VMOP_GUEST_HAS_USER_REGS &&
	       (saved[PC] != entry->pc || saved[SP] != entry->sp);
}

/* ---- both ------------------------------------------------------------------ */

void vmop_guest_sample_unwinder_unwind(struct vmop_guest_sample_unwinder *unwinder,
				       const struct vmop_guest_view *view,
				       const struct vmop_guest_process *process,
				       const struct vmop_guest_context *context,
				       struct vmop_guest_callers *ret)
{
	struct vmop_kernel_entry entry = {0};
	uint64_t regs[VMOP_USER_REGS];
	bool is_user = context->parts & VMOP_GUEST_IS_USER;
	ret->n = 0;
	ret->is_likely = false;
	ret->end = VMOP_STACK_NOT_RECORDED;
	if (!(context->parts & VMOP_GUEST_HAS_REGS))
		return;
	if (!is_user && !unwind_kernel(unwinder, view, context, ret, &entry))
		return;
	if (!is_user && is_stack_of_other_task(context, &entry, ret->n == 0)) {
		ret->end = VMOP_STACK_NOT_RECORDED;
		return;
	}
	take_user_regs(context, is_user ? NULL : &entry, ret->n == 0, regs);
	unwind_user(unwinder, process, context, regs, is_user, ret);
}
