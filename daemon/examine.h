// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What records alone don't tell of what got samples: build-ids, mount namespaces,
 * cgroups, names.  Read between sampling and storing, once for each.
 */
#ifndef VMOP_DAEMON_EXAMINE_H
#define VMOP_DAEMON_EXAMINE_H

#include "daemon/image.h"
#include "daemon/process.h"

/* The cgroup of task, and its name where none is known; while its process lives. */
void vmop_examine_task(struct vmop_processes *processes, struct vmop_task *task);

/*
 * The build-id of image's file, through a process that has it mapped; and where the file
 * lies if that is in another mount namespace than own_mount_ns.
 */
void vmop_examine_image(struct vmop_processes *processes, struct vmop_image *image,
			uint64_t own_mount_ns);

/*
 * Symbols of image's file, to be stored with it, for a reader who won't have the file.  After
 * vmop_examine_image; what is stripped, or very large, goes without.
 */
void vmop_examine_symbols(const struct vmop_processes *processes, struct vmop_image *image);

/*
 * The vDSO that this program, and every other one of its width, has mapped:
 * gives image its build-id and symbols.
 */
void vmop_examine_vdso(struct vmop_images *images, struct vmop_image *image);

#endif
