// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the facts about sampled tasks and images that records lack: build-ids, mount namespaces,
 * cgroups, names. Each is read once, before the interval of the first sample is stored.
 *
 * A separate thread reads files of other users (readers.h).
 */
#ifndef VMOP_DAEMON_HOST_EXAMINE_H
#define VMOP_DAEMON_HOST_EXAMINE_H

#include "daemon/host/image.h"
#include "daemon/host/process.h"

struct vmop_examiner;

/*
 * processes must outlive the result. own_mount_ns is that of vmopd (vmop_procfs_mount_ns).
 * keeps_symbols: store the symbols of each image's file, for readers without the file.
 */
struct vmop_error *vmop_examiner_create(struct vmop_processes *processes, uint64_t own_mount_ns,
					bool keeps_symbols, struct vmop_examiner **ret);
void vmop_examiner_destroy(struct vmop_examiner *examiner); /* NULL is allowed */

/* Read the cgroup of task, and its name if that is unknown, while its process lives. */
void vmop_examine_task(struct vmop_processes *processes, struct vmop_task *task);

/*
 * Submit a read of the build-id of image's file, through a process that has it mapped. Set the
 * image's root if that process has another mount namespace than vmopd.
 */
void vmop_examine_image(struct vmop_examiner *examiner, struct vmop_image *image);

/*
 * Take the results of the finished reads. Wait up to a tenth of a second for the others, except
 * while the last wait was too short for a read. is_last: wait up to two seconds in any case, and
 * longer on a busy machine (vmop_readers_collect_last). The row of an image whose file is read
 * later is stored again.
 */
void vmop_examiner_collect(struct vmop_examiner *examiner, bool is_last);

/*
 * Give image the build-id and symbols of the vDSO of this program, which all programs of the same
 * word size share.
 */
void vmop_examine_vdso(struct vmop_images *images, struct vmop_image *image);

#endif
