// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The numbers of guests' kernels that the source has (hv-interface/bpf/guest-maps.h), by which the
 * kernel's program captures contexts. They outlive the change of sessions, in which the source goes
 * on sampling: the next session finds the same guests, and no sample lacks them.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_GIVEN_NUMBERS_H
#define VMOP_DAEMON_GUEST_CONTEXT_GIVEN_NUMBERS_H

#include "daemon/guest/watched.h"

/* Give the source the numbers in a watched guest's view, if it has not got these yet. */
void vmop_given_numbers_put(struct vmop_guests *guests, const struct vmop_domain *domain);

/* Remove a guest's numbers, if the source has any. */
void vmop_given_numbers_remove(struct vmop_guests *guests, struct vmop_watched_guest *watched);

/*
 * Remove, once in a session and some seconds after its start, the numbers of guests that only the
 * session before watched.
 */
void vmop_given_numbers_sweep(struct vmop_guests *guests);

#endif
