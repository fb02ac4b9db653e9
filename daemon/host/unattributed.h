// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names of images that are none: every sample gets a key, and what can't be
 * attributed goes to one of these, which says why.  Their kind in session files
 * is VMOP_IMAGE_NONE, and the offsets are the addresses as sampled (0 where the
 * line says so).  vmop-session(5) lists them for users.
 */
#ifndef VMOP_DAEMON_HOST_UNATTRIBUTED_H
#define VMOP_DAEMON_HOST_UNATTRIBUTED_H

enum vmop_why {
	/* User address that none of the process's executable mappings holds. */
	VMOP_WHY_NO_MAPPING,
	/* The process was not known from its start, and was gone when /proc was read. */
	VMOP_WHY_EXITED,
	/* /proc/PID/maps can't be read (no CAP_SYS_PTRACE). */
	VMOP_WHY_DENIED,
	/* User address of a task that the source gives no pid for: it is about to end. */
	VMOP_WHY_NO_PROCESS,
	/* User address in dom0, where Xen samples and does not tell which task ran. */
	VMOP_WHY_DOM0_USER,
	/* The same in an active domain. */
	VMOP_WHY_DOMU_USER,
	/* More processes than are kept track of. */
	VMOP_WHY_PROCESS_LIMIT,
	/* More executable mappings than are kept track of, in the process or in all. */
	VMOP_WHY_MAPPING_LIMIT,
	/* More files than are kept track of. */
	VMOP_WHY_IMAGE_LIMIT,
	/* Address in kernel mode outside the kernel, modules, BPF programs and trampolines. */
	VMOP_WHY_KERNEL_TEXT,
	/* The sample has no address, though it is of the host. Offset 0. */
	VMOP_WHY_NO_ADDRESS,
	/* A guest that --passive-domains leaves out. Offset 0. */
	VMOP_WHY_UNSELECTED,
	/* A guest that gives no instruction pointer (SEV-ES, TDX). Offset 0. */
	VMOP_WHY_OPAQUE,
	/* Of one of Xen's domains, by perf in dom0, which does not tell of which. Offset 0. */
	VMOP_WHY_SOME_DOMAIN,
	/* More guests than are kept track of; on the host's domain. Offset 0. */
	VMOP_WHY_GUEST_LIMIT,
	VMOP_N_WHYS,
};

static const char *const vmop_why_names[VMOP_N_WHYS] = {
	[VMOP_WHY_NO_MAPPING] = "[no mapping]",
	[VMOP_WHY_EXITED] = "[exited before its maps were read]",
	[VMOP_WHY_DENIED] = "[maps not readable]",
	[VMOP_WHY_NO_PROCESS] = "[no process]",
	[VMOP_WHY_DOM0_USER] = "[dom0 user]",
	[VMOP_WHY_DOMU_USER] = "[domU user]",
	[VMOP_WHY_PROCESS_LIMIT] = "[process limit]",
	[VMOP_WHY_MAPPING_LIMIT] = "[mapping limit]",
	[VMOP_WHY_IMAGE_LIMIT] = "[image limit]",
	[VMOP_WHY_KERNEL_TEXT] = "[unknown kernel text]",
	[VMOP_WHY_NO_ADDRESS] = "[no address]",
	[VMOP_WHY_UNSELECTED] = "[unselected guest]",
	[VMOP_WHY_OPAQUE] = "[opaque guest]",
	[VMOP_WHY_SOME_DOMAIN] = "[some domain]",
	[VMOP_WHY_GUEST_LIMIT] = "[guest limit]",
};

#endif
