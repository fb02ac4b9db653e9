// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/json.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"

json_t *vmop_json_text(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	json_t *value = json_string(text);
	if (value)
		return value;
	size_t left = strlen(text), used = 0;
	_cleanup_free_ char *valid = malloc(left * (sizeof(replacement) - 1) + 1);
	while (valid && left) {
		uint32_t character;
		size_t len = vmop_escape_decode(text, left, &character);
		bool is_valid = character != UINT32_MAX;
		size_t valid_len = is_valid ? len : sizeof(replacement) - 1;
		memcpy(valid + used, is_valid ? text : replacement, valid_len);
		used += valid_len;
		text += len;
		left -= len;
	}
	return valid ? json_stringn(valid, used) : NULL;
}

static void put_code_unit(FILE *out, uint32_t unit)
{
	fprintf(out, "\\u%04x", (unsigned)unit);
}

/*
 * Characters outside ASCII occur only in strings, and each call has whole characters (jansson's
 * dump.c).
 */
static int print_part(const char *text, size_t len_bytes, void *out)
{
	for (size_t at = 0, plain = 0; at < len_bytes;) {
		uint32_t character;
		size_t len = vmop_escape_decode(text + at, len_bytes - at, &character);
		bool is_plain = character == '\n' || !vmop_escape_is_steering(character);
		at += len;
		if (is_plain && at < len_bytes)
			continue;
		size_t end = is_plain ? at : at - len;
		if (end > plain)
			fwrite(text + plain, 1, end - plain, out);
		plain = at;
		if (!is_plain && character > 0xffff && character != UINT32_MAX) {
			put_code_unit(out, 0xd800 + ((character - 0x10000) >> 10));
			put_code_unit(out, 0xdc00 + ((character - 0x10000) & 0x3ff));
		} else if (!is_plain) {
			put_code_unit(out, character == UINT32_MAX ? 0xfffd : character);
		}
	}
	return 0;
}

struct vmop_error *vmop_json_print(const json_t *json, size_t flags, FILE *out)
{
	if (json_dump_callback(json, print_part, out, flags))
		return &vmop_error_no_memory;
	fputc('\n', out);
	return NULL;
}
