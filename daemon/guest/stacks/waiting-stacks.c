// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/waiting-stacks.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libstack/orc.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

/* ---- the tables ------------------------------------------------------------ */

struct tables {
	struct vmop_orc_section *sections; /* each with an allocation of its own at ips */
	size_t n, capacity;
	bool is_out_of_memory;
};

static void tables_cleanup(struct tables *tables)
{
	for (size_t i = 0; i < tables->n; i++)
		free((void *)tables->sections[i].ips);
	free(tables->sections);
}

static bool take_table(const struct vmop_guest_orc *orc, void *arg)
{
	struct tables *tables = arg;
	size_t len = orc->n * VMOP_ORC_BYTES;
	uint8_t *bytes = malloc(len);
	tables->is_out_of_memory =
		!bytes || !vmop_array_reserve(tables->sections, tables->capacity, tables->n + 1);
	if (tables->is_out_of_memory) {
		free(bytes);
		return false;
	}
	memcpy(bytes, orc->ips, 4 * orc->n);
	memcpy(bytes + 4 * orc->n, orc->entries, VMOP_ORC_ENTRY_BYTES * orc->n);
	tables->sections[tables->n++] = (struct vmop_orc_section){
		.text_start = orc->text_start,
		.text_end = orc->text_end,
		.ip_address = orc->ip_address,
		.n = orc->n,
		.ips = bytes,
		.entries = bytes + 4 * orc->n,
	};
	return true;
}

/* Set *ret to the guest's ORC tables; NULL: its kernel was built with frame pointers. */
static struct vmop_error *read_orc(struct vmop_guest *guest, struct vmop_orc **ret)
{
	_cleanup_(tables_cleanup) struct tables tables = {0};
	struct vmop_guest_orc_format found;
	struct vmop_error *err = vmop_guest_each_orc(guest, take_table, &tables, &found);
	*ret = NULL;
	if (err && err->code == VMOP_ERROR_NOT_FOUND) {
		vmop_error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	if (tables.is_out_of_memory)
		return &vmop_error_no_memory;
	const struct vmop_orc_format format = {
		.type_bit = found.type_bit, .type_bits = found.type_bits, .end_bit = found.end_bit};
	return vmop_orc_create(&format, tables.sections, tables.n, ret);
}

/* ---- the threads ----------------------------------------------------------- */

struct walk {
	bool is_arm64;
	struct vmop_orc *orc; /* x86-64; NULL: frame pointers */
	unsigned va_bits;
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
	size_t n = walk->is_arm64 ? VMOP_USER_REGS : 20;
	if (!memory->read(memory->arg, address, saved, n * sizeof(saved[0])))
		return;
	for (size_t i = 0; i < VMOP_USER_REGS; i++)
		saved[i] = le64toh(saved[i]);
	waiting->has_user_regs = true;
	if (walk->is_arm64)
		memcpy(waiting->user_regs, saved, sizeof(saved));
	for (size_t i = 0; !walk->is_arm64 && i < sizeof(at); i++)
		waiting->user_regs[i] = saved[at[i]];
}

static bool unwind(const struct vmop_guest_thread *thread, void *arg)
{
	struct walk *walk = arg;
	struct vmop_waiting_thread waiting = {.thread = thread, .frames = walk->frames};
	const struct vmop_kernel_regs regs = {.pc = thread->pc, .sp = thread->sp, .fp = thread->fp};
	const struct vmop_kernel_memory memory = {.read = read_copy, .arg = (void *)thread};
	if (thread->stack && walk->is_arm64)
		vmop_frame_records_unwind(&regs, walk->va_bits, &memory, walk->frames,
					  VMOP_STACK_FRAMES_MAX, &waiting.unwound);
	else if (thread->stack && walk->orc)
		vmop_orc_unwind(walk->orc, &regs, &memory, walk->frames, VMOP_STACK_FRAMES_MAX,
				&waiting.unwound);
	else if (thread->stack)
		vmop_kernel_frame_pointers_unwind(&regs, &memory, walk->frames,
						  VMOP_STACK_FRAMES_MAX, &waiting.unwound);
	const struct vmop_kernel_entry *entry = &waiting.unwound.entry;
	uint64_t regs_at = walk->is_arm64 ? thread->entry_regs : entry->address;
	if (thread->pgd_gpa && waiting.unwound.end == VMOP_STACK_COMPLETE && regs_at)
		take_user_regs(walk, regs_at, &memory, &waiting);
	walk->n_threads++;
	return walk->visit(&waiting, walk->arg);
}

struct vmop_error *vmop_waiting_stacks_each(struct vmop_guest *guest, vmop_waiting_thread_fn *visit,
					    void *arg, struct vmop_waiting_cost *ret_cost)
{
	struct walk walk = {.visit = visit, .arg = arg};
	size_t torn = 0;
	const struct vmop_guest_kernel_info *kernel = vmop_guest_kernel_info(guest);
	if (!kernel)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no kernel was found in the guest");
	walk.va_bits = kernel->va_bits ? kernel->va_bits : 48;
	walk.is_arm64 = strcmp(kernel->architecture, "arm64") == 0;
	struct vmop_error *err = walk.is_arm64 ? NULL : read_orc(guest, &walk.orc);
	uint64_t tables_cpu_ns = vmop_guest_last_cost(guest).cpu_ns;
	if (!err)
		err = vmop_guest_each_thread(guest, unwind, &walk, &torn);
	vmop_orc_destroy(walk.orc);
	if (ret_cost)
		*ret_cost = (struct vmop_waiting_cost){
			.n_threads = walk.n_threads,
			.n_torn = torn,
			.tables_cpu_ns = tables_cpu_ns,
			.threads_cpu_ns = vmop_guest_last_cost(guest).cpu_ns,
		};
	return err;
}
