// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find the lives of one guest among a daemon's domains: a guest that was shut down and started
 * again.
 */
#ifndef VMOP_OPCONTROL_LIVES_H
#define VMOP_OPCONTROL_LIVES_H

#include <jansson.h>
#include <stddef.h>

/*
 * Domains with the same UUID are one guest. Domains without a UUID are one guest if they have the
 * same name and at most one of them runs.
 */
struct control_life {
	size_t number, n_lives; /* number of this life, from 1, and of all lives; 1 and 1 for a
				   domain that is no guest */
	size_t first;		/* index of the guest's first life */
};

/* Return the life that item i of the list "domains" of a status is. */
struct control_life control_life_of(const json_t *domains, size_t i);

#endif
