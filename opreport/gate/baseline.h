// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The baseline of a gate, as the user names it:
 *
 *	SPEC[ SPEC...]	specs; its own session: replaces session: and time: of the report, and its
 *own time: replaces time: before:Nd	the same local hours on each of the N days before the
 *report's time, in all sessions of the directory; of a day or more, the N days before
 *	FILE		a report in JSON
 */
#ifndef VMOP_OPREPORT_GATE_BASELINE_H
#define VMOP_OPREPORT_GATE_BASELINE_H

#include "opreport/compare/side.h"
#include "opreport/gate/shares.h"

#define VMOP_BASELINE_DAYS_MAX 366

struct vmop_baseline_request {
	const char *text;
	struct vmop_side_words common; /* the report's specs */
	const char *session_dir;       /* NULL: the default */
	struct vmop_archive *archive;  /* NULL: none; not owned */
	struct vmop_query query;       /* with the dimensions of the shares */
	uint64_t from_ns, to_ns;       /* the report's time */
	bool normalised;	       /* other periods are accepted */
};

/* Check the text, before anything is read.  VMOP_ERROR_USAGE lists the accepted forms. */
struct vmop_error *vmop_baseline_check(const char *text);

/*
 * Initialise *ret with the baseline's rows, for comparison with `now`: it has the same events and
 * dimensions.  VMOP_ERROR_USAGE: nothing to compare, another event, or another period.  The caller
 * deinitialises ret also after an error.
 */
struct vmop_error *vmop_baseline_load(struct vmop_shares *ret,
				      const struct vmop_baseline_request *request,
				      const struct vmop_shares *now);

#endif
