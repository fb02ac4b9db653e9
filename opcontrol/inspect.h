// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print the reply to "inspect": the kernel, tasks and mappings of a guest, or of an image of its
 * memory.
 */
#ifndef VMOP_OPCONTROL_INSPECT_H
#define VMOP_OPCONTROL_INSPECT_H

#include <jansson.h>
#include <stdbool.h>

#include "libutil/error.h"

/*
 * Request all pages about domain from vmopd. *ret is one reply with all items; the caller owns it.
 */
struct vmop_error *control_inspect_ask(const char *domain, json_t **ret);

/*
 * Inspect a running guest and the stacks of its waiting threads, by a vmopd of its own that reads
 * the guest's memory while this call waits. domain: also the pid of a VMM that no session knows.
 * *ret has "threads" (daemon/inspect-stacks.h); the caller owns it.
 */
struct vmop_error *control_inspect_stacks(const char *domain, json_t **ret);

/*
 * Print the reply on stdout for people, in 80 columns. with_mappings: the mappings of every process
 * as well.
 */
struct vmop_error *control_inspect_table(const json_t *reply, bool with_mappings);

#endif
