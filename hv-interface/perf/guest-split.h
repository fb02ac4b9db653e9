// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64: separate counters for guests and the host.
 *
 * Linux on arm64 switches to a guest and back with interrupts masked. A counter that overflows
 * meanwhile has its interrupt where one from the guest would come, and the sample does not show the
 * difference (perf/guest-exit.h). For a guest that does little but exit that is most samples. So an
 * event wanted in both worlds is *split*: one counter counts only in guests, another only in the
 * host, and the counter identifies the world. KVM and the hardware stop and start them at the
 * switch (kvm_set_pmu_events() in arch/arm64/kvm/pmu.c; on VHE by exception level).
 *
 * A split event takes two counters, and a CPU may have only as many as there are events. The first
 * events are split, as far as the CPU's counters suffice. The others, and the clock, which cannot
 * be split, get a note.
 */
#ifndef VMOP_HV_INTERFACE_PERF_GUEST_SPLIT_H
#define VMOP_HV_INTERFACE_PERF_GUEST_SPLIT_H

#include "hv-interface/perf/cpu.h"
#include "libutil/error.h"

/* Split as many of the plan's events as that CPU can count together. */
void vmop_perf_guest_split_apply(struct vmop_perf_plan *plan, unsigned cpu);

/* Add a note about the remaining error to events that are wanted in both worlds but not split. */
struct vmop_error *vmop_perf_guest_split_note(struct vmop_perf_plan *plan);

#endif
