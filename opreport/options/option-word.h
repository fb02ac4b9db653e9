// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values of options: words of a list, percentages and numbers.  Each error is VMOP_ERROR_USAGE and
 * names the option, the text and the accepted values.
 *
 * This folder is what the command lines of all readers of session files share.  vmopreport.c and
 * the other programs call option-word for their own options, and have symbol-options as a child
 * parser beside that of specs (query/spec.h).
 */
#ifndef VMOP_OPREPORT_OPTIONS_OPTION_WORD_H
#define VMOP_OPREPORT_OPTIONS_OPTION_WORD_H

#include <stdint.h>

#include "libutil/error.h"

/* A word and its value. An array of words ends with a name of NULL. */
struct vmop_option_word {
	const char *name;
	unsigned value;
};

/* Set *ret to the value of the word that equals text. */
struct vmop_error *vmop_option_word_parse(const struct vmop_option_word *words, const char *option,
					  const char *text, unsigned *ret);

/* Parse a comma list of words. Add the bits of each word's value to *ret. */
struct vmop_error *vmop_option_bits_parse(const struct vmop_option_word *words, const char *option,
					  const char *text, unsigned *ret);

/* Parse a percentage in [0, 100]. */
struct vmop_error *vmop_option_percent_parse(const char *option, const char *text, double *ret);

/* Parse a decimal number in [0, max]. */
struct vmop_error *vmop_option_number_parse(const char *option, const char *text, uint64_t max,
					    uint64_t *ret);

#endif
