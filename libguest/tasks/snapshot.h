// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A snapshot of a guest's processes.  It is immutable: any number of threads may read it, and it
 * stays valid after its guest was closed.
 */
#ifndef VMOP_LIBGUEST_TASKS_SNAPSHOT_H
#define VMOP_LIBGUEST_TASKS_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "libguest/types.h"

struct vmop_guest_snapshot;

void vmop_guest_snapshot_free(struct vmop_guest_snapshot *snapshot);

size_t vmop_guest_snapshot_count(const struct vmop_guest_snapshot *snapshot);
/* Processes left out because they changed while they were read. */
size_t vmop_guest_snapshot_torn(const struct vmop_guest_snapshot *snapshot);
uint64_t vmop_guest_snapshot_time_ns(const struct vmop_guest_snapshot *snapshot); /* MONOTONIC */
/* By rising pid. */
const struct vmop_guest_process *vmop_guest_snapshot_get(const struct vmop_guest_snapshot *snapshot,
							 size_t index);
const struct vmop_guest_process *
vmop_guest_snapshot_by_pid(const struct vmop_guest_snapshot *snapshot, uint32_t pid);
/*
 * By a CR3 value: PCID, LAM and KPTI's user half are taken off; on arm64 by one of
 * TTBR0_EL1, whose ASID is.  NULL: none.
 */
const struct vmop_guest_process *
vmop_guest_snapshot_by_cr3(const struct vmop_guest_snapshot *snapshot, uint64_t cr3);
/* The mapping of process at address; NULL: none. */
const struct vmop_guest_vma *vmop_guest_process_vma(const struct vmop_guest_process *process,
						    uint64_t address);

#endif
