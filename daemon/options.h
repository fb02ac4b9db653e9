// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that a session's set-up gives to the profiler. */
#ifndef VMOP_DAEMON_OPTIONS_H
#define VMOP_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/setup.h"

/*
 * An element of --passive-images. It belongs to the domain at the same position. At the position of
 * "all" it belongs to every guest that no other element names.
 */
struct vmop_passive_image {
	const char *path;      /* vmlinux ELF, kallsyms or System.map text; NULL: none */
	uint64_t offset_bytes; /* the KASLR offset in "path+0x1c000000"; 0: none */
};

struct vmop_guest_watch; /* guest/watch.h */

struct vmop_profiler_options {
	/*
	 * The set-up, from which the profiler reads `separate`, `active_domains`, `xen`, `vmlinux`
	 * and `guest_cpu_permille`.  Borrowed until vmop_profiler_create() returns; vmlinux until
	 * the profiler is destroyed.
	 */
	const struct vmop_setup *setup;
	/*
	 * The set-up's passive domains, paired with their images: names, uuids, pids or session ids
	 * of guests, or "all".  The samples of any other guest are counted on its domain, which has
	 * the kind VMOP_DOMAIN_UNSELECTED, and are stored without addresses.
	 */
	const char *const *passive_domains;
	size_t n_passive_domains;
	const struct vmop_passive_image *passive_images; /* n_passive_domains elements, or NULL */
	/*
	 * The call stacks that the source captures: mode OFF, KERNEL, FP or CFI. max_frames limits
	 * the frames of kernel and user together.
	 */
	struct vmop_stack_options stacks;
	uint64_t memory_bytes; /* for the tables together; 0: no limit but their own */
	bool keeps_tasks; /* store a row for each short-lived task as well: host/short-lived.h */
	const char *given_uuid; /* of this machine, from its host; NULL: none. Borrowed likewise. */
	const char *proc_root;	/* the directory that contains /proc and /sys; "" except in tests */
	/*
	 * The session will be read on the host of this guest. That does not have its files: store
	 * their symbols. And it does not accept UUIDs of further guests, which could be those of
	 * its own: store none.
	 */
	bool is_read_elsewhere;
	bool is_replay; /* the records are of another machine: do not examine this one */
	/*
	 * The profiler continues the work of another one.  A guest or a symbol file that existed
	 * when the session began and is now missing is not an error.
	 */
	bool goes_on;
	/* The watching thread of the profiler before (vmop_profiler_guest_watch()); may be NULL.
	 */
	struct vmop_guest_watch **guest_watch;
};

#endif
