// SPDX-License-Identifier: GPL-2.0-or-later
/* Trials that show what the kernel permits this process with perf events. */
#ifndef VMOP_HV_INTERFACE_PERF_PERMISSION_H
#define VMOP_HV_INTERFACE_PERF_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return whether this process may sample the whole machine. True also where another obstacle than
 * permission exists, such as a kernel without perf events.
 */
bool vmop_perf_is_permitted(void);

/*
 * Return whether samples can carry the interrupted registers. registers: one bit for each, as in
 * this machine's asm/perf_regs.h.
 */
bool vmop_perf_gives_registers(uint64_t registers);

#endif
