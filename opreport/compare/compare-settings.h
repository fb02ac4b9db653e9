// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of vmopcompare: its options, parsed and checked. */
#ifndef VMOP_OPREPORT_COMPARE_COMPARE_SETTINGS_H
#define VMOP_OPREPORT_COMPARE_COMPARE_SETTINGS_H

#include "opreport/compare/request.h"
#include "opreport/compare/run/one-command.h"
#include "opreport/options/symbol-options.h"
#include "opreport/query/spec.h"

struct vmop_compare_settings {
	struct vmop_compare_request request; /* points into the words below */
	struct vmop_symbol_options symbol_options;
	struct vmop_one_command one_command; /* run NULL: sessions are there */
	struct vmop_words common;
	struct vmop_words sides[VMOP_SIDES_MAX];
	bool has_width, has_top;
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/*
 * Parse the command line into *ret and check that its options fit together.  VMOP_ERROR_USAGE names
 * the option.  Strings of argv must outlive *ret.  The caller deinitialises ret also after an
 * error.
 */
struct vmop_error *vmop_compare_settings_init(struct vmop_compare_settings *ret, int argc,
					      char **argv);
void vmop_compare_settings_deinit(struct vmop_compare_settings *settings);

#endif
