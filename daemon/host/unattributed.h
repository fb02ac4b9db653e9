// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The images of unattributed samples. Each names a reason. Their kind in session files is
 * VMOP_IMAGE_NONE. Offsets are the sampled addresses, or 0 where the comment has "Offset 0".
 * vmop-session(5) lists them for users.
 */
#ifndef VMOP_DAEMON_HOST_UNATTRIBUTED_H
#define VMOP_DAEMON_HOST_UNATTRIBUTED_H

enum vmop_unattributed {
	/* A user address outside of the process's executable mappings. */
	VMOP_UNATTRIBUTED_NO_MAPPING,
	/* The process had no fork record, and ended before /proc was read. */
	VMOP_UNATTRIBUTED_EXITED,
	/* /proc/PID/maps can't be read (no CAP_SYS_PTRACE). */
	VMOP_UNATTRIBUTED_DENIED,
	/* A user address of a task that is about to end, for which the source has no pid. */
	VMOP_UNATTRIBUTED_NO_PROCESS,
	/* A user address in dom0, from Xen's samples, which do not name the task. */
	VMOP_UNATTRIBUTED_DOM0_USER,
	/* A user address in an active domain, likewise. */
	VMOP_UNATTRIBUTED_DOMU_USER,
	/*
	 * A user address of an active guest whose samples the host hands over: the task that ran is
	 * not certain. The sample's task has the reason (vmop/record.h).
	 */
	VMOP_UNATTRIBUTED_NO_TASK,
	/* The process is beyond VMOP_PROCESSES_MAX. */
	VMOP_UNATTRIBUTED_PROCESS_LIMIT,
	/* The mapping is beyond VMOP_REGIONS_MAX or VMOP_REGIONS_TOTAL_MAX. */
	VMOP_UNATTRIBUTED_MAPPING_LIMIT,
	/* The image is beyond the maximum of images. */
	VMOP_UNATTRIBUTED_IMAGE_LIMIT,
	/* A kernel-mode address outside of the kernel, modules, BPF programs and trampolines. */
	VMOP_UNATTRIBUTED_KERNEL_TEXT,
	/* A sample of the host without an address. Offset 0. */
	VMOP_UNATTRIBUTED_NO_ADDRESS,
	/* A sample of a guest that --passive-domains excludes. Offset 0. */
	VMOP_UNATTRIBUTED_UNSELECTED,
	/* A sample of an opaque guest (SEV-ES, TDX). Offset 0. */
	VMOP_UNATTRIBUTED_OPAQUE,
	/* A sample by perf in dom0 of a Xen domain that perf can't identify. Offset 0. */
	VMOP_UNATTRIBUTED_SOME_DOMAIN,
	/* A sample of a guest beyond the maximum of guests, in the host's domain. Offset 0. */
	VMOP_UNATTRIBUTED_GUEST_LIMIT,
	VMOP_N_UNATTRIBUTED,
};

static const char *const vmop_unattributed_names[VMOP_N_UNATTRIBUTED] = {
	[VMOP_UNATTRIBUTED_NO_MAPPING] = "[no mapping]",
	[VMOP_UNATTRIBUTED_EXITED] = "[exited before its maps were read]",
	[VMOP_UNATTRIBUTED_DENIED] = "[maps not readable]",
	[VMOP_UNATTRIBUTED_NO_PROCESS] = "[no process]",
	[VMOP_UNATTRIBUTED_DOM0_USER] = "[dom0 user]",
	[VMOP_UNATTRIBUTED_DOMU_USER] = "[domU user]",
	[VMOP_UNATTRIBUTED_NO_TASK] = "[task not certain]",
	[VMOP_UNATTRIBUTED_PROCESS_LIMIT] = "[process limit]",
	[VMOP_UNATTRIBUTED_MAPPING_LIMIT] = "[mapping limit]",
	[VMOP_UNATTRIBUTED_IMAGE_LIMIT] = "[image limit]",
	[VMOP_UNATTRIBUTED_KERNEL_TEXT] = "[unknown kernel text]",
	[VMOP_UNATTRIBUTED_NO_ADDRESS] = "[no address]",
	[VMOP_UNATTRIBUTED_UNSELECTED] = "[unselected guest]",
	[VMOP_UNATTRIBUTED_OPAQUE] = "[opaque guest]",
	[VMOP_UNATTRIBUTED_SOME_DOMAIN] = "[some domain]",
	[VMOP_UNATTRIBUTED_GUEST_LIMIT] = "[guest limit]",
};

#endif
