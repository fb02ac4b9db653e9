// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions to the daemon that records (libutil/protocol.h), about a guest that is named on the
 * command line.
 */
#ifndef VMOP_OPREPORT_COMPARE_RUN_GUEST_STATE_H
#define VMOP_OPREPORT_COMPARE_RUN_GUEST_STATE_H

#include "libutil/error.h"

enum vmop_guest_state {
	VMOP_GUEST_IS_KNOWN,	  /* its kernel and processes; or there is nothing to be found */
	VMOP_GUEST_IS_SOUGHT,	  /* the daemon is still looking for its kernel */
	VMOP_GUEST_IS_CLOSED,	  /* the daemon has looked, and found no kernel */
	VMOP_GUEST_IS_UNSELECTED, /* the set-up's --passive-domains leaves it out */
};

/*
 * Ask for the state of the running domain of that name.  VMOP_ERROR_CANT: no session runs, or it
 * has no such domain; then the message lists those that there are.
 */
struct vmop_error *vmop_guest_state_ask(const char *name, enum vmop_guest_state *ret);

/* Check that a session runs.  VMOP_ERROR_CANT: it ended, or the daemon did. */
struct vmop_error *vmop_guest_check_session(void);

/* End the current interval of the session: samples from now on are stored in intervals of their
 * own. */
struct vmop_error *vmop_guest_end_interval(void);

#endif
