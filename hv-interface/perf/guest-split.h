// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64: counting guests and the host apart.
 *
 * Linux on arm64 switches to a guest and back with interrupts masked.  The interrupt of a counter
 * that overflows meanwhile comes where that of an overflow in the guest comes too, and nothing of
 * the sample tells the one from the other (perf/guest-exit.h): of a guest that does little but exit
 * it is most samples.  So an event wanted of both worlds is *split*: one counter counts in
 * guests alone, another in the host alone, and whose a sample is follows from which of the two it
 * is of.  KVM and the hardware keep them apart at the switch (kvm_set_pmu_events() in
 * arch/arm64/kvm/pmu.c; on VHE by exception level).
 *
 * That takes two counters an event, of which a CPU may have as few as there are events: no more
 * events are split than the CPU has counters for, the first ones first.  What is left whole, and
 * the clock, which can't be split, says so in its note.
 */
#ifndef VMOP_HV_INTERFACE_PERF_GUEST_SPLIT_H
#define VMOP_HV_INTERFACE_PERF_GUEST_SPLIT_H

#include "hv-interface/perf/cpu.h"
#include "libutil/error.h"

/* Splits as many of the plan's events as that CPU can count together. */
void vmop_perf_worlds_split(struct vmop_perf_plan *plan, unsigned cpu);

/* Notes at those events wanted of both worlds that are not split what that means. */
struct vmop_error *vmop_perf_worlds_note(struct vmop_perf_plan *plan);

#endif
