// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names in JSON. JSON keeps the data: a UTF-8 name is restored exactly. The characters that
 * escape.h escapes are written as \uHHHH, so that JSON on a terminal is plain as well.
 */
#ifndef VMOP_LIBUTIL_JSON_H
#define VMOP_LIBUTIL_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "libutil/error.h"

/* Make a JSON string of text. Each byte that is not UTF-8 becomes U+FFFD. NULL: out of memory. */
json_t *vmop_json_text(const char *text);

/*
 * Print json as json_dumpf(3) does with these flags, and a newline. The only error is
 * VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_json_print(const json_t *json, size_t flags, FILE *out);

#endif
