// SPDX-License-Identifier: GPL-2.0-or-later
/* Print a comparison in one of the formats of reports. */
#ifndef VMOP_OPREPORT_COMPARE_COMPARE_OUTPUT_H
#define VMOP_OPREPORT_COMPARE_COMPARE_OUTPUT_H

#include "opreport/compare/comparison.h"
#include "opreport/compare/order.h"
#include "opreport/output/output.h"

struct vmop_compare_output {
	const struct vmop_output *format;
	struct vmop_output_options options; /* of the format */
	struct vmop_ordering ordering;
	const char *file; /* NULL: stdout */
};

/*
 * Print a comparison: as tables, one for each event and other side; in other formats as one sheet
 * with all of them.
 */
struct vmop_error *vmop_compare_print(const struct vmop_compare_output *output,
				      const struct vmop_comparison *comparison);

/*
 * Set ret to a file's name, without suffix, for an event: its name with other characters than
 * letters, digits, '-', '_' and '.' replaced.  Each event has a name of its own, and none has
 * "joined".
 */
void vmop_compare_file_name(const struct vmop_comparison *comparison, size_t event, char *ret,
			    size_t ret_bytes);

/*
 * Write the files of a comparison as CSV into a directory, which is created if it is missing:
 * EVENT.csv for each event, and joined.csv with all of them.  Set *ret_n_files.
 */
struct vmop_error *vmop_compare_write_csv(const char *dir, const struct vmop_ordering *ordering,
					  const struct vmop_comparison *comparison,
					  size_t *ret_n_files);

#endif
