// SPDX-License-Identifier: GPL-2.0-or-later
/* An annotation as a sheet, for programs: a row for each line or instruction of a function. */
#ifndef VMOP_OPREPORT_ANNOTATE_NOTE_SHEET_H
#define VMOP_OPREPORT_ANNOTATE_NOTE_SHEET_H

#include "opreport/annotate/annotation.h"
#include "opreport/output/sheet.h"

struct vmop_note_sheet;

/*
 * Make a sheet of an annotation by function, with the facts of `facts`: both must outlive *ret. It
 * has at most max_rows; *ret_n_left_out is the number of further ones. The caller destroys *ret.
 */
struct vmop_error *vmop_note_sheet_create(struct vmop_annotation *annotation, bool assembly,
					  const struct vmop_sheet *facts, uint64_t max_rows,
					  uint64_t *ret_n_left_out, struct vmop_note_sheet **ret);
void vmop_note_sheet_destroy(struct vmop_note_sheet *sheet); /* NULL is allowed */
const struct vmop_sheet *vmop_note_sheet(const struct vmop_note_sheet *sheet);

#endif
