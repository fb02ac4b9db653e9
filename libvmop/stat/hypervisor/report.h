// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The output of vmopstat --hypervisor: facts in groups, each with a value or with the reason for
 * its absence. The format is a table, or one JSON object of objects.
 *
 * Out of memory is kept, and returned by vmop_hv_report_print.
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_REPORT_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "libutil/error.h"

struct vmop_hv_report {
	json_t *groups; /* group -> name -> value, or {"value": null, "reason": ...} */
	bool is_incomplete;
};

void vmop_hv_report_init(struct vmop_hv_report *report);
void vmop_hv_report_deinit(struct vmop_hv_report *report);

/* Add a fact. A second fact of that name replaces the first. */
void vmop_hv_report_text(struct vmop_hv_report *report, const char *group, const char *name,
			 const char *format, ...) __attribute__((format(printf, 4, 5)));
void vmop_hv_report_number(struct vmop_hv_report *report, const char *group, const char *name,
			   uint64_t value);
void vmop_hv_report_flag(struct vmop_hv_report *report, const char *group, const char *name,
			 bool value);
/* Add a text to the list of that name. */
void vmop_hv_report_append(struct vmop_hv_report *report, const char *group, const char *name,
			   const char *text);
/* Add the reason for which a value is not known. */
void vmop_hv_report_missing(struct vmop_hv_report *report, const char *group, const char *name,
			    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Print the facts to out: a table, or one line of JSON. */
struct vmop_error *vmop_hv_report_print(const struct vmop_hv_report *report, bool is_json,
					FILE *out);

#endif
