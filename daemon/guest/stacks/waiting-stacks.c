// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/waiting-stacks.h"

#include <endian.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"

struct walk {
	const struct vmop_guest_orc_tables *tables;
	vmop_guest_known_fn *is_known; /* NULL: no thread is known */
	vmop_waiting_thread_fn *visit;
	void *arg;
	size_t n_threads;
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX];
};

/* Unwinding reads only the thread's own stack, as it was copied. */
static bool read_copy(void *arg, uint64_t address, void *buf, size_t len_bytes)
{
	const struct vmop_guest_thread *thread = arg;
	if (address < thread->sp || address - thread->sp > thread->stack_bytes ||
	    len_bytes > thread->stack_bytes - (address - thread->sp))
		return false;
	memcpy(buf, thread->stack + (address - thread->sp), len_bytes);
	return true;
}

/*
 * Set the user registers to those in the x86-64 kernel's struct pt_regs at address
 * (arch/x86/include/asm/ptrace.h), or to those in arm64's, which are in the order of ours.
 */
static void take_user_regs(const struct walk *walk, uint64_t address,
			   const struct vmop_kernel_memory *memory,
			   struct vmop_waiting_thread *waiting)
{
	/* Indexes of rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
	static const uint8_t at[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
	uint64_t saved[VMOP_USER_REGS] = {0};
	size_t n = walk->tables->is_arm64 ? VMOP_USER_REGS : 20;
	if (!memory->read(memory->arg, address, saved, n * sizeof(saved[0])))
		return;
	for (size_t i = 0; i < VMOP_USER_REGS; i++)
		saved[i] = le64toh(saved[i]);
	waiting->has_user_regs = true;
	if (walk->tables->is_arm64)
		memcpy(waiting->user_regs, saved, sizeof(saved));
	for (size_t i = 0; !walk->tables->is_arm64 && i < sizeof(at); i++)
		waiting->user_regs[i] = saved[at[i]];
}

static bool unwind(const struct vmop_guest_thread *thread, void *arg)
{
	struct walk *walk = arg;
	struct vmop_waiting_thread waiting = {.thread = thread, .frames = walk->frames};
	const struct vmop_kernel_regs regs = {.pc = thread->pc, .sp = thread->sp, .fp = thread->fp};
	const struct vmop_kernel_memory memory = {.read = read_copy, .arg = (void *)thread};
	if (thread->stack)
		vmop_guest_orc_tables_unwind(walk->tables, &regs, &memory, walk->frames,
					     VMOP_STACK_FRAMES_MAX, &waiting.unwound);
	const struct vmop_kernel_entry *entry = &waiting.unwound.entry;
	uint64_t regs_at = walk->tables->is_arm64 ? thread->entry_regs : entry->address;
	if (thread->pgd_gpa && waiting.unwound.end == VMOP_STACK_COMPLETE && regs_at)
		take_user_regs(walk, regs_at, &memory, &waiting);
	walk->n_threads++;
	return walk->visit(&waiting, walk->arg);
}

static bool is_known(const struct vmop_guest_thread *thread, void *arg)
{
	const struct walk *walk = arg;
	return walk->is_known && walk->is_known(thread, walk->arg);
}

struct vmop_error *vmop_waiting_stacks_each_new(struct vmop_guest *guest,
						const struct vmop_guest_orc_tables *tables,
						vmop_guest_known_fn *known,
						vmop_waiting_thread_fn *visit, void *arg,
						size_t *ret_torn)
{
	struct walk walk = {.tables = tables, .is_known = known, .visit = visit, .arg = arg};
	return vmop_guest_each_new_wait(guest, is_known, unwind, &walk, ret_torn);
}

struct vmop_error *vmop_waiting_stacks_each(struct vmop_guest *guest, vmop_waiting_thread_fn *visit,
					    void *arg, struct vmop_waiting_cost *ret_cost)
{
	struct walk walk = {.visit = visit, .arg = arg};
	struct vmop_guest_orc_tables *tables = NULL;
	size_t torn = 0;
	struct vmop_error *err = vmop_guest_orc_tables_read(guest, &tables);
	uint64_t tables_cpu_ns = vmop_guest_last_cost(guest).cpu_ns;
	walk.tables = tables;
	if (!err)
		err = vmop_guest_each_thread(guest, unwind, &walk, &torn);
	vmop_guest_orc_tables_unref(tables);
	if (ret_cost)
		*ret_cost = (struct vmop_waiting_cost){
			.n_threads = walk.n_threads,
			.n_torn = torn,
			.tables_cpu_ns = tables_cpu_ns,
			.threads_cpu_ns = vmop_guest_last_cost(guest).cpu_ns,
		};
	return err;
}
