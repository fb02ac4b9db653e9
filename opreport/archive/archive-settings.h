// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of vmoparchive: its options, parsed and checked. */
#ifndef VMOP_OPREPORT_ARCHIVE_ARCHIVE_SETTINGS_H
#define VMOP_OPREPORT_ARCHIVE_ARCHIVE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "opreport/options/symbol-options.h"
#include "opreport/query/spec.h"

struct vmop_archive_settings {
	struct vmop_spec spec;
	struct vmop_symbol_options symbol_options;
	const char *output;	/* a packed archive; "-": stdout; NULL: none */
	const char *output_dir; /* NULL: none */
	const char *import;	/* a packed archive to unpack; "-": stdin; NULL: none */
	char *made_dir;		/* the default of output_dir for an import; owned */
	uint64_t max_bytes;
	bool list_files, exclude_dependent, with_sources;
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/*
 * Parse the command line into *ret and check it. VMOP_ERROR_USAGE names the option. Strings of argv
 * must outlive *ret. The caller deinitialises *ret also after an error.
 */
struct vmop_error *vmop_archive_settings_init(struct vmop_archive_settings *ret, int argc,
					      char **argv);
void vmop_archive_settings_deinit(struct vmop_archive_settings *settings);

#endif
