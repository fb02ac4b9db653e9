// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel lets this process do with perf events, asked by a trial. */
#ifndef VMOP_HV_INTERFACE_PERF_PERMISSION_H
#define VMOP_HV_INTERFACE_PERF_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether this process may sample the whole machine as it is now.  True also where something other
 * than permission is in the way, such as a kernel without perf events.
 */
bool vmop_perf_is_permitted(void);

/*
 * Whether samples can carry the registers that were interrupted.  registers: a bit for each, as in
 * the kernel's asm/perf_regs.h of this machine.
 */
bool vmop_perf_gives_registers(uint64_t registers);

#endif
