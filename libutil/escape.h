// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Escape text from guests, files and processes before it reaches a terminal, a log or a table.
 * Names are stored and passed on unchanged, byte by byte.  The code that prints or logs a name
 * escapes it once, as the last step:
 * 	\xHH		a control character (C0, DEL), or a byte that is not UTF-8 (RFC 3629)
 * 	\uHHHH		another character that is invisible or controls the terminal
 * 	\UHHHHHHHH	likewise, above U+FFFF
 * 	\\		a backslash
 * Everything else stays.  bash's $'...' and printf %b read these escapes and give the name back.
 * Escaped are the categories Cc, Cf, Zl and Zp and the default ignorable and noncharacter code
 * points of Unicode 15: C1 controls, bidirectional controls, line separators, tags.
 */
#ifndef VMOP_LIBUTIL_ESCAPE_H
#define VMOP_LIBUTIL_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum vmop_charset {
	VMOP_CHARSET_UTF8,
	VMOP_CHARSET_ASCII, /* escape everything else: for terminals without UTF-8 */
};

/* Return the character set of the program's locale (setlocale(3)). */
enum vmop_charset vmop_escape_locale(void);

/* Return true if vmop_escape() would not change text. */
bool vmop_escape_is_plain(const char *text, enum vmop_charset charset);

/*
 * Return the number of bytes at the beginning of text, of at most len_bytes, that are printable
 * ASCII and need no escape. Each takes one column.
 */
size_t vmop_escape_simple_len(const char *text, size_t len_bytes);

/* Return the escaped text; the caller frees it. NULL: out of memory. */
char *vmop_escape(const char *text, enum vmop_charset charset);

/* Print at most len_bytes of text, escaped. Print nothing if text is NULL. */
void vmop_escape_print(const char *text, size_t len_bytes, enum vmop_charset charset, FILE *out);

/*
 * Write the escaped text into ret and end it with NUL. Leave out the rest that does not fit, and
 * never split an escape. Return false if something was left out.
 */
bool vmop_escape_into(char *ret, size_t size_bytes, const char *text, enum vmop_charset charset);

/*
 * Decode the character at text, which has at most len_bytes. Return its length in bytes. If it is
 * not UTF-8, return 1 and set *ret to UINT32_MAX.
 */
size_t vmop_escape_decode(const char *text, size_t len_bytes, uint32_t *ret);

/* Return true for a character that every print escapes. The backslash is none of these. */
bool vmop_escape_is_steering(uint32_t character);

/* Return whether text is valid UTF-8. */
bool vmop_is_utf8(const char *text);

#endif
