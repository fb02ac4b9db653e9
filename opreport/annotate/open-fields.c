// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/open-fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's names are shorter. */
enum { NAME_MAX_BYTES = 512 };

/* Write the place that a field refers to. */
static void put_target(const struct vmop_instruction *instruction,
		       const struct vmop_code_field *field, uint64_t base,
		       char ret[NAME_MAX_BYTES + 32])
{
	int64_t addend = field->addend;
	size_t size = NAME_MAX_BYTES + 32;
	if (field->is_from_end)
		addend += (int64_t)(instruction->address + instruction->len_bytes - base -
				    field->offset);
	if (field->is_inside)
		snprintf(ret, size, "0x%" PRIx64, base + field->target + (uint64_t)addend);
	else if (addend)
		snprintf(ret, size, "%.*s%c0x%" PRIx64, NAME_MAX_BYTES, field->name,
			 addend < 0 ? '-' : '+', addend < 0 ? -(uint64_t)addend : (uint64_t)addend);
	else
		snprintf(ret, size, "%.*s", NAME_MAX_BYTES, field->name);
}

/* Return whether the only operand is a number, as of a call or jump. */
static bool is_number(const char *operand)
{
	char *end;
	operand += *operand == '#';
	if (*operand < '0' || *operand > '9')
		return false;
	(void)strtoull(operand, &end, 0);
	return !*end;
}

struct vmop_error *vmop_open_field_text(struct vmop_annotation *annotation,
					const struct vmop_instruction *instruction,
					const struct vmop_code_field *field, uint64_t base,
					const char **ret)
{
	char target[NAME_MAX_BYTES + 32];
	const char *text = instruction->text, *space = strchr(text, ' ');
	put_target(instruction, field, base, target);
	if (field->is_distance && space && is_number(space + 1))
		return vmop_annotation_text(annotation, ret, "%.*s %s", (int)(space - text), text,
					    target);
	return vmop_annotation_text(annotation, ret, "%s  ; %s", text, target);
}
