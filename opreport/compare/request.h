// SPDX-License-Identifier: GPL-2.0-or-later
/* A whole comparison, from the words of its sides to its output. */
#ifndef VMOP_OPREPORT_COMPARE_REQUEST_H
#define VMOP_OPREPORT_COMPARE_REQUEST_H

#include "opreport/compare/compare-output.h"
#include "opreport/compare/per.h"
#include "opreport/compare/side.h"
#include "opreport/query/query.h"

struct vmop_compare_request {
	const char *session_dir;      /* NULL: the default */
	struct vmop_archive *archive; /* of sides that name none; NULL: none; not owned */
	struct vmop_side_words common;
	struct vmop_side_words sides[VMOP_SIDES_MAX];
	const char *labels[VMOP_SIDES_MAX]; /* what to call them; NULL: by their words */
	size_t n_sides;
	/* Each side's query.  The dimensions are VMOP_COMPARED_DIMENSIONS at most, with the domain.
	 */
	struct vmop_query query;
	unsigned by; /* the dimensions that the user named */
	struct vmop_per per;
	struct vmop_compare_output output;
	bool flamegraph; /* in place of the output's format */
	/* Called with the comparison, after its output was printed; NULL: none. */
	struct vmop_error *(*write_files)(const void *arg,
					  const struct vmop_comparison *comparison);
	const void *write_arg;
	const char *output_dir; /* CSV files there in place of the output; NULL: none */
};

/*
 * Run the queries, join them and print the comparison.  Log on the way which samples have no
 * symbols, and with a format without facts also losses.
 */
struct vmop_error *vmop_compare(const struct vmop_compare_request *request);

#endif
