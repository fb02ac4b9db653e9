// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program that unwinds user stacks in the interrupt of a sampling event, as the perf source
 * uses it. The kernel's side is sample.bpf.c, compiled into this program.
 *
 * Callers: perf/stacks.c loads it, perf/cpu.c attaches it, perf/unwound.c decodes its records. Data
 * meets the files in this order:
 *	unwind-maps.h	the contract by which the daemon puts tables and mappings
 *	maps.h		its owner's side; pages.h packs tables, ranges.h divides the map of mappings
 *	layout.h	what both sides share: the maps' values and the record
 *	sample.bpf.c	the program, with unwind.bpf.h (the unwinder) and machine.bpf.h
 *
 * A vmop that was built without libbpf has without.c instead: nothing loads.
 */
#ifndef VMOP_HV_INTERFACE_BPF_PROGRAM_H
#define VMOP_HV_INTERFACE_BPF_PROGRAM_H

#include <stdint.h>

#include "hv-interface/bpf/layout.h"
#include "libutil/error.h"

struct vmop_bpf_program;

/*
 * Load the program with empty maps. Free *ret with vmop_bpf_program_destroy. VMOP_ERROR_CANT: the
 * message completes "not by BPF, because ...".
 */
struct vmop_error *vmop_bpf_program_load(struct vmop_bpf_program **ret);

/* Its events may still be open: they keep what they need. NULL is allowed. */
void vmop_bpf_program_destroy(struct vmop_bpf_program *program);

/*
 * Attach the program to an event, which is number event of the source's and has samples with
 * stacks; at most max_frames are found. Return a descriptor that keeps it attached, or -1 with
 * errno. EEXIST: the event has another program.
 */
int vmop_bpf_program_attach(const struct vmop_bpf_program *program, int event_fd, uint16_t event,
			    uint32_t max_frames);

/*
 * Set the BPF output event (PERF_COUNT_SW_BPF_OUTPUT) of a CPU, whose ring takes the records; -1:
 * none. The map holds a reference to it. Return 0, or -1 with errno.
 */
int vmop_bpf_program_set_output(const struct vmop_bpf_program *program, unsigned cpu, int event_fd);

/* Return the maps, which the program owns. */
struct vmop_unwind_maps *vmop_bpf_program_maps(const struct vmop_bpf_program *program);

#endif
