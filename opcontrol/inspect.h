// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the daemon's answer to "inspect" is shown: what is known of a guest's inside, or of a
 * saved image of one.
 */
#ifndef VMOP_OPCONTROL_INSPECT_H
#define VMOP_OPCONTROL_INSPECT_H

#include <jansson.h>
#include <stdbool.h>

#include "libutil/error.h"

/* Asks vmopd for all pages about domain; *ret, one reply with all items, is the caller's. */
struct vmop_error *control_inspect_ask(const char *domain, json_t **ret);

/* For people, on stdout, 80 columns; with mappings: those of every process too. */
struct vmop_error *control_inspect_table(const json_t *reply, bool with_mappings);

#endif
