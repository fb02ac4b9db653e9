// SPDX-License-Identifier: GPL-2.0-or-later
/* Text in documents of XML and HTML: as content of an element, or of an attribute in quotes. */
#ifndef VMOP_LIBUTIL_MARKUP_H
#define VMOP_LIBUTIL_MARKUP_H

#include <stdio.h>

/* Return the entity that stands for a character, or NULL: the character stands for itself. */
const char *vmop_markup_entity(char c);

/* Print text that is plain already (libutil/escape.h). */
void vmop_markup_print(const char *text, FILE *out);

#endif
