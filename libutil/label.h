// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Labels keep names of guests, processes, files and functions apart from the words that vmop shows
 * in their place: "[kernel]", "[idle]", "(no symbols)", "host".
 *
 * A name that could be taken for such a word is shown in single quotes, and so is one that begins
 * with a quote.  In every format, a label that begins with a quote is therefore a real name, and
 * one that begins with a bracket is a word of vmop's.
 */
#ifndef VMOP_LIBUTIL_LABEL_H
#define VMOP_LIBUTIL_LABEL_H

#include <stdbool.h>

enum vmop_label {
	VMOP_LABEL_NAME,   /* of a file, process, cgroup */
	VMOP_LABEL_SYMBOL, /* as its image has it; "[plt]" is libsym's */
	VMOP_LABEL_DOMAIN, /* of a guest; also "NAME #2" and "NAME (SESSION)" are vmop's */
	VMOP_LABEL_MODULE, /* of a kernel, in brackets that are vmop's: "['kernel']" */
};

/* Return true where name is shown in quotes. */
bool vmop_label_is_quoted(enum vmop_label kind, const char *name);

/* Return name as it is shown; the caller frees it. NULL: out of memory. */
char *vmop_label(enum vmop_label kind, const char *name);

#endif
