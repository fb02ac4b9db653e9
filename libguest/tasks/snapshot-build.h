// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The construction of a vmop_guest_snapshot; snapshot.h reads it. Thread: one, until it is
 * finished.
 */
#ifndef VMOP_LIBGUEST_TASKS_SNAPSHOT_BUILD_H
#define VMOP_LIBGUEST_TASKS_SNAPSHOT_BUILD_H

#include "libguest/memory/page-table.h"
#include "libguest/tasks/snapshot.h"
#include "libguest/types.h"

struct vmop_error;

struct vmop_error *vmop_guest_snapshot_new(struct vmop_guest_snapshot **ret);

/*
 * Store a text in the snapshot, each distinct text once, and set *ret to its handle.
 * vmop_guest_snapshot_finish() turns handles into pointers. VMOP_ERROR_LIMIT: too much text.
 */
struct vmop_error *vmop_guest_snapshot_text(struct vmop_guest_snapshot *snapshot, const char *text,
					    uint32_t *ret);

/*
 * Append a process and its mappings. Their texts are handles: cgroup for the process, paths[i] for
 * vmas[i]. Pointers in process and vmas are ignored.
 */
struct vmop_error *vmop_guest_snapshot_add(struct vmop_guest_snapshot *snapshot,
					   const struct vmop_guest_process *process,
					   uint32_t cgroup, const struct vmop_guest_vma *vmas,
					   const uint32_t *paths, uint32_t vma_count);

/* Sort the snapshot. It is immutable from here on. kernel is the paging of the guest's kernel. */
struct vmop_error *vmop_guest_snapshot_finish(struct vmop_guest_snapshot *snapshot, size_t torn,
					      const struct vmop_paging *kernel, bool has_kpti);

#endif
