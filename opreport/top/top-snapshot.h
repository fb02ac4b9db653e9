// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows that a view shows, as they are in the session at one moment. */
#ifndef VMOP_OPREPORT_TOP_TOP_SNAPSHOT_H
#define VMOP_OPREPORT_TOP_TOP_SNAPSHOT_H

#include "opreport/arrange/report.h"
#include "opreport/arrange/rows.h"
#include "opreport/arrange/session.h"
#include "opreport/options/symbol-options.h"
#include "opreport/query/query.h"
#include "opreport/query/spec.h"
#include "opreport/top/top-view.h"

/* The most rows. */
#define VMOP_TOP_MAX_ROWS 1000

struct vmop_top_snapshot {
	struct vmop_sessions sessions;
	struct vmop_result result;
	struct vmop_ratios ratios;
	struct vmop_hidden hidden;
	struct vmop_report *report; /* NULL: not made */
	uint64_t cpu_ns;	    /* that making it took */
};

/*
 * Read the rows of the view from the sessions that spec names, by its further conditions.  No
 * sample is VMOP_ERROR_NOT_FOUND, no session VMOP_ERROR_CANT.  The caller deinitialises ret also
 * after an error.
 */
struct vmop_error *vmop_top_snapshot_init(struct vmop_top_snapshot *ret,
					  const struct vmop_top_view *view,
					  const struct vmop_spec *spec,
					  const struct vmop_symbol_options *symbols);
void vmop_top_snapshot_deinit(struct vmop_top_snapshot *snapshot); /* a zeroed one, too */

/* Return the sheet, or NULL. */
const struct vmop_sheet *vmop_top_snapshot_sheet(const struct vmop_top_snapshot *snapshot);

/*
 * Set *ret_word to the spec that selects a row of the sheet, and *ret_name to its name.  *ret_word
 * is on the heap; *ret_name belongs to the snapshot.  VMOP_ERROR_CANT: a row of this kind cannot be
 * selected.
 */
struct vmop_error *vmop_top_snapshot_word(const struct vmop_top_snapshot *snapshot,
					  enum vmop_top_kind kind, size_t row, char **ret_word,
					  const char **ret_name);

#endif
