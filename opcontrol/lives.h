// SPDX-License-Identifier: GPL-2.0-or-later
/* Find the lives of a guest, which was shut down and started again, among a daemon's domains. */
#ifndef VMOP_OPCONTROL_LIVES_H
#define VMOP_OPCONTROL_LIVES_H

#include <jansson.h>
#include <stddef.h>

/*
 * Domains are one guest when they have the same UUID; without any when they have the same name and
 * not two of that name are running.
 */
struct control_life {
	size_t number, n_lives; /* this one, from 1; of so many.  1 and 1 for what is no guest */
	size_t first;		/* index of the guest's first life */
};

/* Return the life that item i of a status's list "domains" is. */
struct control_life control_life_of(const json_t *domains, size_t i);

#endif
