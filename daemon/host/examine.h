// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What records alone don't tell of what got samples: build-ids, mount namespaces,
 * cgroups, names.  Read between sampling and storing, once for each.
 *
 * Files of other users are read by a thread that sampling does not wait for (readers.h).
 */
#ifndef VMOP_DAEMON_HOST_EXAMINE_H
#define VMOP_DAEMON_HOST_EXAMINE_H

#include "daemon/host/image.h"
#include "daemon/host/process.h"

struct vmop_examiner;

/*
 * processes must outlive it.  own_mount_ns: see vmop_procfs_mount_ns.  keeps_symbols: those of
 * each image's file are stored with it, for a reader who won't have the file.
 */
struct vmop_error *vmop_examiner_create(struct vmop_processes *processes, uint64_t own_mount_ns,
					bool keeps_symbols, struct vmop_examiner **ret);
void vmop_examiner_destroy(struct vmop_examiner *examiner); /* NULL is allowed */

/* The cgroup of task, and its name where none is known; while its process lives. */
void vmop_examine_task(struct vmop_processes *processes, struct vmop_task *task);

/*
 * Asks for the build-id of image's file, through a process that has it mapped; notes where the
 * file lies if that is in another mount namespace than our own.
 */
void vmop_examine_image(struct vmop_examiner *examiner, struct vmop_image *image);

/*
 * Takes up the files that were read.  Waits for the others up to a tenth of a second, but not
 * while a file is still being read that was too slow for that; is_last: up to two seconds in any
 * case.  An image whose file is read later has its row stored again.
 */
void vmop_examiner_collect(struct vmop_examiner *examiner, bool is_last);

/*
 * The vDSO that this program, and every other one of its width, has mapped:
 * gives image its build-id and symbols.
 */
void vmop_examine_vdso(struct vmop_images *images, struct vmop_image *image);

#endif
