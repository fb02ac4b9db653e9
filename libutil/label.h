// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Labels distinguish the names of guests, processes, files and functions from the words that vmop
 * shows instead of a name: "[kernel]", "[idle]", "(no symbols)", "host".
 *
 * A name that looks like such a word, or that begins with a quote, is shown in single quotes.
 * Therefore, in every format, a label that begins with a quote is a real name, and a label that
 * begins with a bracket is one of vmop's words.
 */
#ifndef VMOP_LIBUTIL_LABEL_H
#define VMOP_LIBUTIL_LABEL_H

#include <stdbool.h>

enum vmop_label {
	VMOP_LABEL_NAME,   /* of a file, process or cgroup */
	VMOP_LABEL_SYMBOL, /* as stored in its image; libsym produces "[plt]" */
	VMOP_LABEL_DOMAIN, /* of a guest; vmop also makes "NAME #2" and "NAME (SESSION)" */
	VMOP_LABEL_MODULE, /* of a kernel module, in vmop's brackets: "['kernel']" */
};

/* Return true if name is shown in quotes. */
bool vmop_label_is_quoted(enum vmop_label kind, const char *name);

/* Return name as shown; the caller frees it. NULL: out of memory. */
char *vmop_label(enum vmop_label kind, const char *name);

#endif
