// SPDX-License-Identifier: GPL-2.0-or-later
/* The making of a vmop_guest_snapshot; snapshot.h reads it. */
#ifndef VMOP_LIBGUEST_TASKS_SNAPSHOT_BUILD_H
#define VMOP_LIBGUEST_TASKS_SNAPSHOT_BUILD_H

#include "libguest/memory/page-table.h"
#include "libguest/tasks/snapshot.h"
#include "libguest/types.h"

struct vmop_error;

struct vmop_error *vmop_guest_snapshot_new(struct vmop_guest_snapshot **ret);

/*
 * Text kept by the snapshot, the same text once; *ret is a handle until
 * vmop_guest_snapshot_finish(), which makes pointers of handles.
 */
struct vmop_error *vmop_guest_snapshot_text(struct vmop_guest_snapshot *snapshot, const char *text,
					    uint32_t *ret);

/*
 * Appends a process and its mappings, whose text is given by handles: cgroup
 * for the process, paths[i] for vmas[i]; the pointers in them are ignored.
 */
struct vmop_error *vmop_guest_snapshot_add(struct vmop_guest_snapshot *snapshot,
					   const struct vmop_guest_process *process,
					   uint32_t cgroup, const struct vmop_guest_vma *vmas,
					   const uint32_t *paths, uint32_t vma_count);

/* Sorts; from here on nothing changes. kernel: the guest's kernel's paging. */
struct vmop_error *vmop_guest_snapshot_finish(struct vmop_guest_snapshot *snapshot, size_t torn,
					      const struct vmop_paging *kernel, bool has_kpti);

#endif
