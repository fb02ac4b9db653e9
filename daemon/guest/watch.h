// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks into passive guests beside the sampling: one thread for all of them,
 * with a budget of CPU time that it never exceeds for long.  It finds each guest's
 * kernel, follows its modules and processes and what its vCPUs run, and publishes
 * immutable views that the sampling thread picks up when it likes.
 *
 * All functions are for the sampling thread; none of them waits for a guest.
 */
#ifndef VMOP_DAEMON_GUEST_WATCH_H
#define VMOP_DAEMON_GUEST_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/view.h"
#include "libsym/symtab.h"
#include "libutil/error.h"

struct vmop_guest_watch;

struct vmop_guest_watch_options {
	/* Of one CPU, in thousandths; 0: nothing is looked at. The default is 10. */
	unsigned cpu_permille;
	/*
	 * How often processes and modules are listed and vCPUs read while the budget
	 * allows; 0: defaults.
	 */
	unsigned snapshot_ms, modules_ms, reading_ms;
	/* Directory of profiles of kernels without BTF (vmop-guest-profile(1)); NULL: none. */
	const char *profiles;
};

#define VMOP_GUEST_WATCH_DEFAULT_PERMILLE 10

struct vmop_error *vmop_guest_watch_create(const struct vmop_guest_watch_options *options,
					   struct vmop_guest_watch **ret);
/* Ends the thread, waiting for the look that is under way. NULL is allowed. */
void vmop_guest_watch_destroy(struct vmop_guest_watch *watch);

/* Who holds a guest's memory. */
struct vmop_guest_holder {
	bool is_xen;
	uint32_t number; /* pid of the VMM, or Xen's id of the domain */
};

/* Begins to watch a guest under the session's number for it. */
struct vmop_error *vmop_guest_watch_add(struct vmop_guest_watch *watch, uint32_t domain,
					struct vmop_guest_holder holder);
void vmop_guest_watch_remove(struct vmop_guest_watch *watch, uint32_t domain);

/* The newest view, with a reference for the caller; NULL: none so far. */
struct vmop_guest_view *vmop_guest_watch_view(struct vmop_guest_watch *watch, uint32_t domain);

/*
 * The caller has taken what it wants of the text of that generation: views that come
 * later may have it without symbols, which is most of what a guest costs in memory.
 */
void vmop_guest_watch_took_text(struct vmop_guest_watch *watch, uint32_t domain,
				uint32_t generation);

/*
 * Asks for the symbols of a file that a guest has mapped, out of its page cache.
 * image is the caller's name for it.  A full queue forgets the request (false): ask
 * again later.
 */
bool vmop_guest_watch_want_symbols(struct vmop_guest_watch *watch, uint32_t domain, uint32_t image,
				   const struct vmop_guest_vma *vma);

/* What came of such requests: symtab (the caller's) or NULL with why (never freed). */
struct vmop_guest_file_symbols {
	uint32_t domain, image;
	struct vmop_symtab *symtab;
	const char *why;
};
/* The next finished one; false: none now. */
bool vmop_guest_watch_take_symbols(struct vmop_guest_watch *watch,
				   struct vmop_guest_file_symbols *ret);

#endif
