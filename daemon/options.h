// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that a session's set-up gives to the profiler. */
#ifndef VMOP_DAEMON_OPTIONS_H
#define VMOP_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys that separate samples besides event, domain, process, image and mode (--separate). */
enum vmop_separate {
	VMOP_SEPARATE_THREAD = 1 << 0,
	VMOP_SEPARATE_CPU = 1 << 1, /* also vCPUs */
};

/*
 * An element of --passive-images. It belongs to the domain at the same position. At the position of
 * "all" it belongs to every guest that no other element names.
 */
struct vmop_passive_image {
	const char *path;      /* vmlinux ELF, kallsyms or System.map text; NULL: none */
	uint64_t offset_bytes; /* the KASLR offset in "path+0x1c000000"; 0: none */
};

struct vmop_profiler_options {
	unsigned separate; /* enum vmop_separate */
	bool keeps_tasks;  /* also short-lived tasks have rows of their own: host/short-lived.h */
	/*
	 * Names, uuids, pids or session ids of guests to see into, or "all".
	 * Samples of the other guests count for their domain, of kind
	 * VMOP_DOMAIN_UNSELECTED, without addresses.
	 */
	const char *const *passive_domains;
	size_t n_passive_domains;
	/* On Xen: the names of the active domains. */
	const char *const *active_domains;
	size_t n_active_domains;
	const char *xen; /* Xen's symbols: xen-syms or its map; NULL: search for them */
	const struct vmop_passive_image *passive_images; /* n_passive_domains of them, or NULL */
	/* The host kernel's vmlinux or System.map; NULL: /proc/kallsyms. */
	const char *vmlinux;
	/*
	 * The CPU time for reading passive guests' memory, in thousandths of one CPU; 0: do not
	 * read it.
	 */
	unsigned guest_cpu_permille;
	/* The parent of /proc and /sys; "" except in tests. */
	const char *proc_root;
	bool is_replay; /* the records are of another machine: read nothing of this one */
	/*
	 * The profiler continues the work of another one. A guest or a file of symbols that is
	 * gone since the session began is no error.
	 */
	bool goes_on;
};

#endif
