// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A snapshot of a guest's processes. It is immutable: any number of threads may read it, and it
 * stays valid after its guest was closed. Results point into the snapshot.
 */
#ifndef VMOP_LIBGUEST_TASKS_SNAPSHOT_H
#define VMOP_LIBGUEST_TASKS_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "libguest/types.h"

struct vmop_guest_snapshot;

void vmop_guest_snapshot_free(struct vmop_guest_snapshot *snapshot); /* NULL is allowed */

size_t vmop_guest_snapshot_count(const struct vmop_guest_snapshot *snapshot);
/* Return the number of processes left out because they changed while they were read. */
size_t vmop_guest_snapshot_torn(const struct vmop_guest_snapshot *snapshot);
uint64_t
vmop_guest_snapshot_time_ns(const struct vmop_guest_snapshot *snapshot); /* of CLOCK_MONOTONIC */
/* Return a process: by index below count, in order of rising pid, or by pid. NULL: no such pid. */
const struct vmop_guest_process *vmop_guest_snapshot_get(const struct vmop_guest_snapshot *snapshot,
							 size_t index);
const struct vmop_guest_process *
vmop_guest_snapshot_by_pid(const struct vmop_guest_snapshot *snapshot, uint32_t pid);
/*
 * Return the process with a CR3 value, without its PCID, LAM and KPTI bits, or on arm64 with a
 * value of TTBR0_EL1, without its ASID. NULL: none.
 */
const struct vmop_guest_process *
vmop_guest_snapshot_by_cr3(const struct vmop_guest_snapshot *snapshot, uint64_t cr3);
/* Return the mapping of a process that contains address, or NULL. */
const struct vmop_guest_vma *vmop_guest_process_vma(const struct vmop_guest_process *process,
						    uint64_t address);

#endif
