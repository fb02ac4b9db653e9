// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/threads.h"

#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/memory.h"
#include "libguest/tasks/account.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MAX_PROCESSES 65536u
#define MAX_THREADS 262144u
#define TRIES 3
#define MAX_CPUS 8192u

/* THREAD_SIZE: 16 KiB usually, and up to 64 KiB with KASAN or large pages. */
#define USUAL_STACK_BYTES (16u << 10)
#define MAX_STACK_BYTES (64u << 10)

/* include/linux/sched.h: bits of task_struct.__state and exit_state */
enum {
	STATE_INTERRUPTIBLE = 0x1,
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_STOPPED = 0x4,
	STATE_TRACED = 0x8,
	STATE_EXIT_DEAD = 0x10,
	STATE_EXIT_ZOMBIE = 0x20,
	STATE_PARKED = 0x40,
	STATE_NOLOAD = 0x400,
	STATE_RTLOCK_WAIT = 0x1000,
};

struct reader {
	struct vmop_guest_kernel *kernel;
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
	vmop_guest_known_fn *is_known; /* NULL: no thread is known */
	vmop_guest_thread_fn *visit;
	void *arg;
	uint64_t *retries;
	uint32_t stack_bytes;
	uint32_t left; /* threads still allowed */
	bool is_ended;
	size_t torn;
	uint8_t *stack; /* stack_bytes */
};

/* The fields that change when a thread is switched in or out. */
struct moment {
	uint64_t sp, switches, forced_switches;
	uint32_t on_cpu, state, exit_state;
};

static uint64_t at(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(reader->layout, field);
}

static bool has(const struct reader *reader, enum vmop_layout_field field)
{
	return vmop_layout_has(reader->layout, field);
}

static uint64_t load(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(reader->space, at(reader, base, field));
}

static uint32_t load32(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u32(reader->space, at(reader, base, field));
}

static uint8_t load8(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u8(reader->space, at(reader, base, field));
}

static bool is_arm64(const struct reader *reader)
{
	return reader->space->paging.arch == VMOP_PAGING_ARM64;
}

bool vmop_layout_has_threads(const struct vmop_layout *layout, bool is_arm64)
{
	static const enum vmop_layout_field common[] = {
		VMOP_LAYOUT_TASK_TASKS,
		VMOP_LAYOUT_TASK_PID,
		VMOP_LAYOUT_TASK_TGID,
		VMOP_LAYOUT_TASK_COMM,
		VMOP_LAYOUT_TASK_MM,
		VMOP_LAYOUT_MM_PGD,
		VMOP_LAYOUT_TASK_STATE,
		VMOP_LAYOUT_TASK_EXIT_STATE,
		VMOP_LAYOUT_TASK_ON_CPU,
		VMOP_LAYOUT_TASK_STACK,
		VMOP_LAYOUT_TASK_SIGNAL,
		VMOP_LAYOUT_TASK_THREAD_NODE,
		VMOP_LAYOUT_SIGNAL_THREADS,
		VMOP_LAYOUT_TASK_SWITCHES,
		VMOP_LAYOUT_TASK_FORCED_SWITCHES,
	};
	static const enum vmop_layout_field x86[] = {
		VMOP_LAYOUT_TASK_SP, VMOP_LAYOUT_SWITCH_FRAME_BP, VMOP_LAYOUT_SWITCH_FRAME_PC,
		VMOP_LAYOUT_SWITCH_FRAME_BYTES};
	static const enum vmop_layout_field arm64[] = {
		VMOP_LAYOUT_TASK_CPU_CONTEXT, VMOP_LAYOUT_CONTEXT_FP, VMOP_LAYOUT_CONTEXT_SP,
		VMOP_LAYOUT_CONTEXT_PC};
	bool has_all = true;
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		has_all &= vmop_layout_has(layout, common[i]);
	for (size_t i = 0; i < 4; i++)
		has_all &= vmop_layout_has(layout, is_arm64 ? arm64[i] : x86[i]);
	return has_all;
}

/* --- one thread --------------------------------------------------------------------------- */

/* Return the letter of a state (kernel: fs/proc/array.c, get_task_state). */
static char state_letter(uint32_t state, uint32_t exit_state)
{
	static const struct {
		uint32_t bit;
		char letter;
	} letters[] = {
		{STATE_EXIT_ZOMBIE, 'Z'}, {STATE_EXIT_DEAD, 'X'},     {STATE_TRACED, 't'},
		{STATE_STOPPED, 'T'},	  {STATE_PARKED, 'P'},	      {STATE_UNINTERRUPTIBLE, 'D'},
		{STATE_RTLOCK_WAIT, 'D'}, {STATE_INTERRUPTIBLE, 'S'},
	};
	uint32_t both = state | exit_state;
	if ((both & STATE_NOLOAD) && (both & STATE_UNINTERRUPTIBLE))
		return 'I';
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (both & letters[i].bit)
			return letters[i].letter;
	return 'R';
}

static struct moment read_moment(const struct reader *reader, uint64_t task)
{
	return (struct moment){
		.sp = is_arm64(reader) ? at(reader, task, VMOP_LAYOUT_TASK_CPU_CONTEXT)
				       : load(reader, task, VMOP_LAYOUT_TASK_SP),
		.switches = load(reader, task, VMOP_LAYOUT_TASK_SWITCHES),
		.forced_switches = load(reader, task, VMOP_LAYOUT_TASK_FORCED_SWITCHES),
		/* An int before Linux 7.0, and a byte since. */
		.on_cpu = load8(reader, task, VMOP_LAYOUT_TASK_ON_CPU),
		.state = load32(reader, task, VMOP_LAYOUT_TASK_STATE),
		.exit_state = load32(reader, task, VMOP_LAYOUT_TASK_EXIT_STATE),
	};
}

static uint64_t stack_u64(const uint8_t *bytes, uint64_t offset)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)bytes[offset + i] << 8 * i;
	return value;
}

/* Set pc, sp and fp, and copy the stack from sp on. False: a read failed, or sp lies elsewhere. */
static bool read_stack(struct reader *reader, uint64_t task, const struct moment *moment,
		       struct vmop_guest_thread *thread)
{
	uint64_t stack = load(reader, task, VMOP_LAYOUT_TASK_STACK);
	uint64_t sp = moment->sp;
	if (is_arm64(reader)) {
		uint64_t context = at(reader, task, VMOP_LAYOUT_TASK_CPU_CONTEXT);
		sp = load(reader, context, VMOP_LAYOUT_CONTEXT_SP);
		thread->fp = load(reader, context, VMOP_LAYOUT_CONTEXT_FP);
		thread->pc = load(reader, context, VMOP_LAYOUT_CONTEXT_PC);
	}
	if (!stack || sp < stack || sp - stack >= reader->stack_bytes)
		return false;
	size_t len = reader->stack_bytes - (size_t)(sp - stack);
	if (!vmop_guest_space_read(reader->space, sp, reader->stack, len))
		return false;
	thread->sp = sp;
	thread->stack = reader->stack;
	thread->stack_bytes = len;
	/* arch/arm64/include/asm/processor.h: task_pt_regs */
	if (is_arm64(reader) && has(reader, VMOP_LAYOUT_PT_REGS_BYTES))
		thread->entry_regs = stack + reader->stack_bytes -
				     vmop_layout_value(reader->layout, VMOP_LAYOUT_PT_REGS_BYTES);
	if (is_arm64(reader))
		return true;
	const int32_t *value = reader->layout->value;
	uint64_t frame = (uint32_t)value[VMOP_LAYOUT_SWITCH_FRAME_BYTES];
	uint64_t bp = (uint32_t)value[VMOP_LAYOUT_SWITCH_FRAME_BP];
	uint64_t pc = (uint32_t)value[VMOP_LAYOUT_SWITCH_FRAME_PC];
	if (frame > len || bp + 8 > frame || pc + 8 > frame)
		return false;
	thread->fp = stack_u64(reader->stack, bp);
	thread->pc = stack_u64(reader->stack, pc);
	thread->sp += frame; /* as after the return of the function that switches */
	thread->stack += frame;
	thread->stack_bytes -= frame;
	return true;
}

static void read_names(struct reader *reader, uint64_t task, struct vmop_guest_thread *thread)
{
	uint64_t pgd, mm = load(reader, task, VMOP_LAYOUT_TASK_MM);
	thread->task = task;
	thread->pid = load32(reader, task, VMOP_LAYOUT_TASK_TGID);
	thread->tid = load32(reader, task, VMOP_LAYOUT_TASK_PID);
	vmop_guest_space_read(reader->space, at(reader, task, VMOP_LAYOUT_TASK_COMM), thread->comm,
			      sizeof(thread->comm));
	thread->comm[sizeof(thread->comm) - 1] = '\0';
	thread->account = vmop_guest_account_read(reader->space, reader->layout, task);
	pgd = mm ? load(reader, mm, VMOP_LAYOUT_MM_PGD) : 0;
	if (!pgd || !vmop_guest_space_translate(reader->space, pgd, &thread->pgd_gpa, NULL))
		thread->pgd_gpa = 0;
}

/* Read one thread once. False: it changed meanwhile, or a read failed. */
static bool read_thread(struct reader *reader, uint64_t task, struct vmop_guest_thread *thread)
{
	*thread = (struct vmop_guest_thread){0};
	vmop_guest_memory_forget(reader->space->memory);
	vmop_guest_space_take_fault(reader->space);
	read_names(reader, task, thread);
	struct moment before = read_moment(reader, task);
	if (vmop_guest_space_take_fault(reader->space))
		return false;
	thread->switches = before.switches + before.forced_switches;
	thread->state = state_letter(before.state, before.exit_state);
	thread->is_running = before.on_cpu != 0;
	if (thread->is_running || before.exit_state)
		return true;
	bool is_read = read_stack(reader, task, &before, thread);
	vmop_guest_memory_forget(reader->space->memory);
	struct moment after = read_moment(reader, task);
	if (vmop_guest_space_take_fault(reader->space))
		return false;
	return is_read && !after.on_cpu && after.sp == before.sp &&
	       after.switches == before.switches && after.forced_switches == before.forced_switches;
}

/* Visit a thread that the caller knows, by one look at it. Return false for any other. */
static bool visit_known(struct reader *reader, uint64_t task)
{
	if (!reader->is_known)
		return false;
	struct moment moment = read_moment(reader, task);
	struct vmop_guest_thread thread = {
		.pid = load32(reader, task, VMOP_LAYOUT_TASK_TGID),
		.tid = load32(reader, task, VMOP_LAYOUT_TASK_PID),
		.state = state_letter(moment.state, moment.exit_state),
		.is_known = true,
		.task = task,
		.switches = moment.switches + moment.forced_switches,
	};
	if (vmop_guest_space_take_fault(reader->space) || moment.on_cpu || moment.exit_state ||
	    !reader->is_known(&thread, reader->arg))
		return false;
	reader->is_ended = !reader->visit(&thread, reader->arg);
	return true;
}

static void visit_thread(struct reader *reader, uint64_t task)
{
	struct vmop_guest_thread thread;
	if (visit_known(reader, task))
		return;
	bool is_good = read_thread(reader, task, &thread);
	for (int try = 1; try < TRIES && !is_good; try++) {
		++*reader->retries;
		vmop_guest_space_forget(reader->space);
		is_good = read_thread(reader, task, &thread);
	}
	if (!is_good) {
		thread.is_torn = true;
		thread.stack = NULL;
		thread.stack_bytes = 0;
		reader->torn++;
	}
	if (thread.tid || is_good)
		reader->is_ended = !reader->visit(&thread, reader->arg);
}

/* --- all threads -------------------------------------------------------------------------- */

/* Return the next node of a list_head list, or 0 at its end or where it is torn. */
static uint64_t next_node(struct reader *reader, uint64_t head, uint64_t node)
{
	if (!vmop_guest_budget_step(reader->space->budget))
		return 0;
	uint64_t next = vmop_guest_space_u64(reader->space, node);
	if (vmop_guest_space_take_fault(reader->space) ||
	    !vmop_guest_space_is_kernel(reader->space, next)) {
		reader->torn++;
		return 0;
	}
	return next == head ? 0 : next;
}

/* Visit the threads of a process: those in signal->thread_head. */
static void visit_process(struct reader *reader, uint64_t leader)
{
	uint64_t signal = load(reader, leader, VMOP_LAYOUT_TASK_SIGNAL);
	uint64_t head = at(reader, signal, VMOP_LAYOUT_SIGNAL_THREADS);
	uint64_t offset = vmop_layout_value(reader->layout, VMOP_LAYOUT_TASK_THREAD_NODE);
	if (vmop_guest_space_take_fault(reader->space) || !signal)
		return; /* it has exited */
	for (uint64_t node = head; (node = next_node(reader, head, node)) && !reader->is_ended;) {
		if (!reader->left--) {
			reader->is_ended = true;
			return;
		}
		visit_thread(reader, node - offset);
	}
}

static void visit_processes(struct reader *reader)
{
	uint64_t offset = vmop_layout_value(reader->layout, VMOP_LAYOUT_TASK_TASKS);
	uint64_t first = vmop_guest_kernel_symbol(reader->kernel, "init_task");
	uint64_t head = first + offset;
	uint64_t node = head;
	/* init_task itself is the first CPU's idle task. */
	for (uint32_t i = 0; i < MAX_PROCESSES && !reader->is_ended; i++) {
		node = next_node(reader, head, node);
		if (!node)
			return;
		visit_process(reader, node - offset);
	}
}

static uint64_t span(const struct vmop_guest_kernel *kernel, const char *from, const char *to)
{
	uint64_t start = vmop_guest_kernel_symbol(kernel, from);
	uint64_t end = vmop_guest_kernel_symbol(kernel, to);
	return start && end > start ? end - start : 0;
}

uint32_t vmop_guest_stack_bytes(const struct vmop_guest_kernel *kernel)
{
	/* The linker lays out the first task's; the names changed in 6.10. */
	uint64_t first = span(kernel, "__start_init_stack", "__end_init_stack");
	uint64_t page_bytes = vmop_paging_page_bytes(&kernel->space.paging);
	uint32_t usual = USUAL_STACK_BYTES;
	if (!first)
		first = span(kernel, "__start_init_task", "__end_init_task");
	if (first && first <= MAX_STACK_BYTES)
		return (uint32_t)first;
	/* arch/arm64/include/asm/memory.h: KASAN_THREAD_SHIFT */
	if (vmop_guest_kernel_symbol(kernel, "__asan_loadN") ||
	    vmop_guest_kernel_symbol(kernel, "__hwasan_loadN_noabort"))
		usual *= 2;
	return page_bytes > usual ? (uint32_t)page_bytes : usual;
}

struct vmop_error *vmop_guest_threads_read(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   vmop_guest_known_fn *is_known,
					   vmop_guest_thread_fn *visit, void *arg,
					   uint64_t *retries, size_t *ret_torn)
{
	bool arm64 = kernel->space.paging.arch == VMOP_PAGING_ARM64;
	if (!vmop_layout_has_threads(layout, arm64))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "kernel %s: the places of its threads' stacks are not known",
				      kernel->info.release);
	if (!vmop_guest_kernel_symbol(kernel, "init_task"))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "kernel %s: its tasks were not found",
				      kernel->info.release);
	_cleanup_free_ struct reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return &vmop_error_no_memory;
	reader->kernel = kernel;
	reader->space = &kernel->space;
	reader->layout = layout;
	reader->is_known = is_known;
	reader->visit = visit;
	reader->arg = arg;
	reader->retries = retries;
	reader->left = MAX_THREADS;
	reader->stack_bytes = vmop_guest_stack_bytes(kernel);
	reader->stack = malloc(reader->stack_bytes);
	if (!reader->stack)
		return &vmop_error_no_memory;
	visit_processes(reader);
	free(reader->stack);
	*ret_torn = reader->torn;
	return NULL;
}

bool vmop_guest_thread_still_waits(struct vmop_guest_kernel *kernel,
				   const struct vmop_layout *layout, uint64_t task,
				   uint64_t switches)
{
	const struct reader reader = {.space = &kernel->space, .layout = layout};
	vmop_guest_space_take_fault(&kernel->space);
	struct moment moment = read_moment(&reader, task);
	return !vmop_guest_space_take_fault(&kernel->space) && !moment.on_cpu &&
	       moment.switches + moment.forced_switches == switches;
}

bool vmop_guest_threads_switches(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
				 uint64_t *ret)
{
	const struct reader reader = {.space = &kernel->space, .layout = layout};
	uint64_t queues = vmop_guest_kernel_symbol(kernel, "runqueues");
	uint64_t offsets = vmop_guest_kernel_symbol(kernel, "__per_cpu_offset");
	if (!queues || !offsets || !has(&reader, VMOP_LAYOUT_RQ_SWITCHES))
		return false;
	vmop_guest_space_take_fault(&kernel->space);
	*ret = 0;
	for (uint32_t cpu = 0; cpu < kernel->info.cpus && cpu < MAX_CPUS; cpu++) {
		uint64_t base = vmop_guest_space_u64(&kernel->space, offsets + 8 * (uint64_t)cpu);
		*ret += load(&reader, base + queues, VMOP_LAYOUT_RQ_SWITCHES);
	}
	return !vmop_guest_space_take_fault(&kernel->space);
}
