// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of vCPUs as sheets: a row for each guest or vCPU, victim and culprit, or exit's reason.
 */
#ifndef VMOP_OPREPORT_WAITS_WAITS_SHEET_H
#define VMOP_OPREPORT_WAITS_WAITS_SHEET_H

#include "opreport/output/sheet.h"
#include "opreport/waits/waits.h"

enum vmop_waits_table {
	VMOP_WAITS_NO_TABLE,
	VMOP_WAITS_GUESTS,
	VMOP_WAITS_VCPUS,
	VMOP_WAITS_CULPRITS,  /* the matrix victim x culprit, in rows */
	VMOP_WAITS_BY_REASON, /* exits */
	VMOP_WAITS_TASKS,     /* a sheet of its own: task-times-sheet.h */
};

struct vmop_waits_sheet;

/*
 * Make *ret of facts, which must outlive it; changes their order. VMOP_ERROR_NOT_FOUND: there are
 * no rows of that kind.
 */
struct vmop_error *vmop_waits_sheet_create(struct vmop_waits_facts_of *facts,
					   enum vmop_waits_table table,
					   struct vmop_waits_sheet **ret);
void vmop_waits_sheet_destroy(struct vmop_waits_sheet *sheet); /* NULL is allowed */
const struct vmop_sheet *vmop_waits_sheet_of(const struct vmop_waits_sheet *sheet);

#endif
