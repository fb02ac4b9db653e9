// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of a guest's vCPU, as the host's scheduler and KVM see its thread: the states between
 * which it is divided, the culprits that the thread waits for, and the reasons of exits.
 */
#ifndef VMOP_WAITS_H
#define VMOP_WAITS_H

/* The numbers are part of the session file. Except for EXIT, the states exclude one another. */
enum vmop_wait_state {
	VMOP_WAIT_RUNNING, /* on a CPU: guest code, KVM's or the VMM's */
	VMOP_WAIT_WAITING, /* ready to run, while the CPU runs a culprit */
	VMOP_WAIT_QUOTA,   /* ready to run, but its cgroup has used its quota of CPU time */
	VMOP_WAIT_HALTED,  /* asleep in KVM: the guest has nothing to run */
	VMOP_WAIT_BLOCKED, /* asleep in the host's kernel, for instance for a page from swap */
	VMOP_WAIT_VMM,	   /* asleep in the VMM: paused, or waiting for another thread of it */
	VMOP_WAIT_UNKNOWN, /* watched, but nothing has been seen of it yet */
	VMOP_WAIT_EXIT,	   /* on a CPU from an exit of the guest to its next entry: of RUNNING */
};
#define VMOP_WAIT_N_STATES (VMOP_WAIT_EXIT + 1)

/* The kinds of culprits, which had the CPU. The numbers are part of the session file. */
enum vmop_culprit_kind {
	VMOP_CULPRIT_GUEST,   /* a domain of the session, its VMM's threads included */
	VMOP_CULPRIT_CGROUP,  /* all processes of a cgroup */
	VMOP_CULPRIT_PROCESS, /* of the root cgroup: all processes with that name */
	VMOP_CULPRIT_IDLE,    /* an idle CPU that was about to wake up */
	VMOP_CULPRIT_OTHERS,  /* there were too many to keep apart */
};
#define VMOP_CULPRIT_N_KINDS (VMOP_CULPRIT_OTHERS + 1)

/* How a machine numbers the reasons of exits. The numbers are part of the session file. */
enum vmop_exit_machine {
	VMOP_EXIT_SVM,
	VMOP_EXIT_VMX,
	VMOP_EXIT_ARM64,
};
#define VMOP_EXIT_N_MACHINES (VMOP_EXIT_ARM64 + 1)

#endif
