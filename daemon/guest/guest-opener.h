// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens the memory of one passive guest, as often as necessary: the VMM may map RAM anew. When the
 * kernel is not found, QMP locates the RAM.
 *
 * Thread: that of the vmop_guest.
 */
#ifndef VMOP_DAEMON_GUEST_GUEST_OPENER_H
#define VMOP_DAEMON_GUEST_GUEST_OPENER_H

#include <stdbool.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libutil/error.h"

/* The owner of a guest's memory. */
struct vmop_guest_holder {
	bool is_xen;
	uint32_t number; /* pid of the VMM, or Xen's id of the domain */
};

/* Zeroed, with a holder: not open. */
struct vmop_guest_opener {
	struct vmop_guest_holder holder;
	const char *profiles;	  /* the directory of kernels' profiles; the owner's; NULL: none */
	struct vmop_guest *guest; /* NULL: not open */
	bool is_readable;	  /* the last attempt to open it succeeded */
	bool is_qmp_refused;	  /* the VMM has no QMP socket, or did not answer there */
	struct vmop_guest_cost closed_cost; /* of guests opened and closed before this one */
};

/*
 * Open the guest unless it is open. n_failures: searches for its kernel that failed in a row; after
 * some of them, QMP locates its RAM. Errors as vmop_guest_open_pid() and vmop_guest_open_xen().
 */
struct vmop_error *vmop_guest_opener_open(struct vmop_guest_opener *opener, unsigned n_failures);
/* Close the guest if it is open. */
void vmop_guest_opener_close(struct vmop_guest_opener *opener);

/* Return what reading the guest has cost in all. */
struct vmop_guest_cost vmop_guest_opener_cost(const struct vmop_guest_opener *opener);

#endif
