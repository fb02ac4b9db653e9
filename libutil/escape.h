// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text from guests, files and processes on its way to a terminal, a log or a table.
 *
 * Names are stored and handed on as they are, byte by byte.  Whatever prints or logs one escapes
 * it, once, as the last step:
 *
 *	\xHH		a control character (C0, DEL), or a byte that is not UTF-8 (RFC 3629)
 *	\uHHHH		another character that shows nothing or steers the terminal
 *	\UHHHHHHHH	likewise, above U+FFFF
 *	\\		a backslash
 *
 * All else stays.  bash's $'...' and printf %b read these escapes, so a name can be had back.
 * Escaped are the categories Cc, Cf, Zl and Zp and the default ignorable and noncharacter code
 * points of Unicode 15: C1 controls, bidirectional controls, separators of lines, tags.
 */
#ifndef VMOP_LIBUTIL_ESCAPE_H
#define VMOP_LIBUTIL_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum vmop_charset {
	VMOP_CHARSET_UTF8,
	VMOP_CHARSET_ASCII, /* everything else is escaped: for terminals without UTF-8 */
};

/* Return the character set of the program's locale (setlocale(3)). */
enum vmop_charset vmop_escape_locale(void);

/* Return true where vmop_escape() would change nothing. */
bool vmop_escape_is_plain(const char *text, enum vmop_charset charset);

/* Return text escaped; the caller frees it. NULL: out of memory. */
char *vmop_escape(const char *text, enum vmop_charset charset);

/* Print at most len_bytes of text escaped. NULL prints nothing. */
void vmop_escape_print(const char *text, size_t len_bytes, enum vmop_charset charset, FILE *out);

/*
 * Write text escaped into ret, ended with NUL.  What doesn't fit is left out, never a part of an
 * escape.  Return false where something was left out.
 */
bool vmop_escape_into(char *ret, size_t size_bytes, const char *text, enum vmop_charset charset);

/*
 * Decode the character at text, of len_bytes at most.  Return its bytes, and 1 with *ret UINT32_MAX
 * where there is no UTF-8.
 */
size_t vmop_escape_decode(const char *text, size_t len_bytes, uint32_t *ret);

/* Return true for a character that is escaped wherever it is printed; the backslash is not. */
bool vmop_escape_is_steering(uint32_t character);

#endif
