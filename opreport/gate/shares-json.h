// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read shares from a report that vmopreport wrote with --format=json.  The file can be anyone's:
 * its size, its depth and its numbers are bounded, and nothing of it is trusted.
 */
#ifndef VMOP_OPREPORT_GATE_SHARES_JSON_H
#define VMOP_OPREPORT_GATE_SHARES_JSON_H

#include <stddef.h>

#include "opreport/gate/shares.h"

/* jansson takes about 20 times the memory of a dense document. */
#define VMOP_SHARES_JSON_MAX_BYTES ((size_t)48 << 20)

/*
 * Initialise *ret with the rows of a report, for comparison with `like`: it has like's events and
 * dimensions.  The periods of its events are those of the report.
 *
 * VMOP_ERROR_CORRUPT: no such report, or numbers that contradict each other.  VMOP_ERROR_USAGE: the
 * report lacks rows or a dimension.  Errors name path.  The caller deinitialises ret also after an
 * error.
 */
struct vmop_error *vmop_shares_of_json(struct vmop_shares *ret, const char *path, const char *text,
				       size_t len_bytes, const struct vmop_shares *like);

/* Do the same for a regular file of at most VMOP_SHARES_JSON_MAX_BYTES. */
struct vmop_error *vmop_shares_of_file(struct vmop_shares *ret, const char *path,
				       const struct vmop_shares *like);

#endif
