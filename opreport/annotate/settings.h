// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of vmopannotate: its options, parsed and checked. */
#ifndef VMOP_OPREPORT_ANNOTATE_SETTINGS_H
#define VMOP_OPREPORT_ANNOTATE_SETTINGS_H

#include "opreport/annotate/annotation.h"
#include "opreport/arrange/rows.h"
#include "opreport/options/symbol-options.h"
#include "opreport/output/output.h"

struct vmop_annotate_settings {
	struct vmop_spec spec;
	struct vmop_symbol_options symbol_options;
	struct vmop_query query;
	struct vmop_arrangement arrangement;
	struct vmop_annotation_options annotation;
	const struct vmop_output *output;
	const char *output_file; /* NULL: stdout */
	const char *output_dir;	 /* NULL: none */
	struct vmop_words include, exclude, include_files, exclude_files;
	struct vmop_words search_dirs, base_dirs;
	uint64_t context; /* lines around those with samples; UINT64_MAX: all */
	uint64_t width_columns, lines_cpu_ns;
	bool no_header, has_width;
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/*
 * Parse the command line into *ret and check it. VMOP_ERROR_USAGE names the option. Strings of argv
 * must outlive *ret. The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_annotate_settings_init(struct vmop_annotate_settings *ret, int argc,
					       char **argv);
void vmop_annotate_settings_deinit(struct vmop_annotate_settings *settings);

#endif
