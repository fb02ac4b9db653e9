// SPDX-License-Identifier: GPL-2.0-or-later
/* What a session's set-up asks of the profiler. */
#ifndef VMOP_DAEMON_OPTIONS_H
#define VMOP_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What keeps samples apart beyond event, domain, process, image and mode (--separate). */
enum vmop_separate {
	VMOP_SEPARATE_THREAD = 1 << 0,
	VMOP_SEPARATE_CPU = 1 << 1, /* also vCPUs */
};

/*
 * One --passive-images element, paired with the domain at the same position.  At the
 * position of "all" it is for every guest that no other element names: a fleet
 * on one kernel.
 */
struct vmop_passive_image {
	const char *path;      /* vmlinux ELF, kallsyms or System.map text; NULL: none */
	uint64_t offset_bytes; /* KASLR offset given by hand: "path+0x1c000000"; 0: none */
};

struct vmop_profiler_options {
	unsigned separate; /* enum vmop_separate */
	bool keeps_tasks;  /* short-lived ones have rows of their own, too: short-lived.h */
	/*
	 * Names, uuids, pids or session ids of guests to see into, or "all".
	 * Samples of the others are counted on their domain all the same, with kind
	 * VMOP_DOMAIN_UNSELECTED and without addresses.
	 */
	const char *const *passive_domains;
	size_t n_passive_domains;
	/* On Xen: those that run vmopd themselves. */
	const char *const *active_domains;
	size_t n_active_domains;
	const char *xen; /* Xen's symbols: xen-syms or its map; NULL: looked for */
	const struct vmop_passive_image *passive_images; /* n_passive_domains of them, or NULL */
	/* Where the host kernel's symbols come from: a vmlinux or System.map; NULL: /proc/kallsyms.
	 */
	const char *vmlinux;
	/*
	 * What looking into passive guests may cost, in thousandths of one CPU; 0: their
	 * memory is not looked at.
	 */
	unsigned guest_cpu_permille;
	/* Where /proc and /sys are; "" but for tests. */
	const char *proc_root;
	bool is_replay; /* the records are not of this machine: look at nothing here */
	/*
	 * The profiler continues the work of another one.  A guest or a file of symbols that was
	 * there when the session began, and is gone, is not an error.
	 */
	bool goes_on;
};

#endif
