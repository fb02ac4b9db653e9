// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program in the interrupt of a sampling event, as the perf source uses it. It has two
 * parts, each of which can be left out: it unwinds the host's user stacks, and it reads what the
 * vCPUs of KVM guests run. The kernel's side is sample.bpf.c, compiled into this program.
 *
 * Callers: perf/stacks loads it, perf/cpu.c attaches it, perf/stacks/unwound.c decodes its records.
 * Data meets the files in this order:
 *	unwind-maps.h	the contract by which the daemon puts tables and mappings
 *	guest-maps.h	the contract by which the daemon puts the numbers of guests' kernels
 *	maps.h		their owner's side; pages.h packs tables, ranges.h divides the map of
 *			mappings
 *	host-layout.h	where this kernel keeps a vCPU's registers and its guest's memory
 *	layout.h	what both sides share: the maps' values and the records
 *	sample.bpf.c	the program, with unwind.bpf.h (the unwinder), guest.bpf.h (the reader of
 *			guests) and machine.bpf.h
 *
 * A vmop that was built without libbpf has without.c instead: nothing loads.
 */
#ifndef VMOP_HV_INTERFACE_BPF_PROGRAM_H
#define VMOP_HV_INTERFACE_BPF_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/bpf/layout.h"
#include "libutil/error.h"

struct vmop_bpf_program;

/* The parts of the program that are wanted, and the reasons why they are not there. */
struct vmop_bpf_request {
	bool wants_unwinding; /* of the host's user stacks */
	bool wants_guests;    /* contexts of guests' samples */
	/*
	 * For tests: leave out the stack pointer and the page table's address, which VMX does not
	 * have either.
	 */
	bool withholds_registers;
	/*
	 * Set by the load, the caller's, freed with vmop_error_destroy. NULL: the part is there or
	 * not wanted. Else VMOP_ERROR_CANT: the messages complete "not by BPF, because ..." and
	 * "guest contexts: not captured, because ...".
	 */
	struct vmop_error *no_unwinding, *no_guests;
};

/*
 * Load the program with empty maps and those of the wanted parts that the machine permits. *ret is
 * NULL if it permits none; else free it with vmop_bpf_program_destroy. An error is one of memory.
 */
struct vmop_error *vmop_bpf_program_load(struct vmop_bpf_request *request,
					 struct vmop_bpf_program **ret);

/* Its events may still be open: they keep what they need. NULL is allowed. */
void vmop_bpf_program_destroy(struct vmop_bpf_program *program);

/*
 * Attach the program to an event, which is number event of the source's. With max_frames of 1 or
 * more its samples of the host have stacks, of which at most that many user frames are found; with
 * 0 only the guests' samples are read, and perf's own samples of the host stay. is_software: the
 * kernel's software counts the event (PERF_TYPE_SOFTWARE), not a counter of the processor. Return a
 * descriptor that keeps it attached, or -1 with errno. EEXIST: the event has another program.
 */
int vmop_bpf_program_attach(const struct vmop_bpf_program *program, int event_fd, uint16_t event,
			    uint32_t max_frames, bool is_software);

/*
 * Set the BPF output event (PERF_COUNT_SW_BPF_OUTPUT) of a CPU, whose ring takes the records; -1:
 * none. The map holds a reference to it. Return 0, or -1 with errno.
 */
int vmop_bpf_program_set_output(const struct vmop_bpf_program *program, unsigned cpu, int event_fd);

/* Return the maps of a part, which the program owns, or NULL: the part is not there. */
struct vmop_unwind_maps *vmop_bpf_program_maps(const struct vmop_bpf_program *program);
struct vmop_guest_maps *vmop_bpf_program_guest_maps(const struct vmop_bpf_program *program);

#endif
