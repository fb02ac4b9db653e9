// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names come from guests, files and processes, which may put anything into
 * them: what would steer a terminal, or isn't UTF-8, is shown as \xHH.
 */
#ifndef VMOP_OPREPORT_ESCAPE_H
#define VMOP_OPREPORT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True when text is UTF-8 without control characters (C0, DEL, C1), line and
 * paragraph separators and bidirectional overrides (Unicode 15, UAX #9).
 */
bool vmop_text_is_plain(const char *text);

/* Plain, and every byte of it ASCII. */
bool vmop_text_is_plain_ascii(const char *text);

/* text with all such bytes as \xHH; a heap string that the caller frees, NULL without memory. */
char *vmop_text_escape(const char *text);
/* The same, with every byte that isn't ASCII: for terminals without UTF-8. */
char *vmop_text_escape_ascii(const char *text);

#endif
