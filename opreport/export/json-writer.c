// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/json-writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"

void vmop_json_writer_init(struct vmop_json_writer *ret, FILE *out)
{
	*ret = (struct vmop_json_writer){.out = out};
}

struct vmop_error *vmop_json_writer_finish(const struct vmop_json_writer *writer)
{
	assert(writer->depth == 0);
	return writer->lacks_memory ? &vmop_error_no_memory : NULL;
}

/* Write what stands between the value before and the next one. */
static void separate(struct vmop_json_writer *writer)
{
	if (writer->has_name) {
		writer->has_name = false;
		return;
	}
	if (writer->has_item[writer->depth])
		putc_unlocked(',', writer->out);
	writer->has_item[writer->depth] = true;
}

void vmop_json_writer_begin(struct vmop_json_writer *writer, char opening)
{
	separate(writer);
	putc_unlocked(opening, writer->out);
	assert(writer->depth + 1 < VMOP_JSON_DEPTH_MAX);
	writer->has_item[++writer->depth] = false;
}

void vmop_json_writer_end(struct vmop_json_writer *writer, char closing)
{
	assert(writer->depth > 0);
	writer->depth--;
	putc_unlocked(closing, writer->out);
	if (closing == '}') /* lines stay readable, and no value begins one */
		putc_unlocked('\n', writer->out);
}

static void put_text(struct vmop_json_writer *writer, const char *text)
{
	putc_unlocked('"', writer->out);
	for (; *text; text++) {
		if (strchr("<>&", *text)) {
			fprintf(writer->out, "\\u%04x", (unsigned char)*text);
			continue;
		}
		if (*text == '"' || *text == '\\')
			putc_unlocked('\\', writer->out);
		putc_unlocked(*text, writer->out);
	}
	putc_unlocked('"', writer->out);
}

void vmop_json_writer_name(struct vmop_json_writer *writer, const char *name)
{
	separate(writer);
	put_text(writer, name);
	putc_unlocked(':', writer->out);
	writer->has_name = true;
}

void vmop_json_writer_text(struct vmop_json_writer *writer, const char *text)
{
	separate(writer);
	if (vmop_escape_is_plain(text, VMOP_CHARSET_UTF8)) {
		put_text(writer, text);
		return;
	}
	_cleanup_free_ char *escaped = vmop_escape(text, VMOP_CHARSET_UTF8);
	writer->lacks_memory |= !escaped;
	put_text(writer, escaped ? escaped : "");
}

void vmop_json_writer_escaped_text(struct vmop_json_writer *writer, const char *text)
{
	separate(writer);
	put_text(writer, text);
}

void vmop_json_writer_number(struct vmop_json_writer *writer, uint64_t number)
{
	char digits[20];
	size_t n = sizeof(digits);
	separate(writer);
	do {
		digits[--n] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	fwrite(digits + n, 1, sizeof(digits) - n, writer->out);
}

void vmop_json_writer_real(struct vmop_json_writer *writer, double number)
{
	separate(writer);
	fprintf(writer->out, "%.9g", isfinite(number) ? number : 0);
}

void vmop_json_writer_bool(struct vmop_json_writer *writer, bool value)
{
	separate(writer);
	fputs(value ? "true" : "false", writer->out);
}

void vmop_json_writer_null(struct vmop_json_writer *writer)
{
	separate(writer);
	fputs("null", writer->out);
}

void vmop_json_writer_text_member(struct vmop_json_writer *writer, const char *name,
				  const char *text)
{
	vmop_json_writer_name(writer, name);
	vmop_json_writer_text(writer, text);
}

void vmop_json_writer_number_member(struct vmop_json_writer *writer, const char *name,
				    uint64_t number)
{
	vmop_json_writer_name(writer, name);
	vmop_json_writer_number(writer, number);
}
