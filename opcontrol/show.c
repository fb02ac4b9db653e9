// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/show.h"

#include <stdio.h>
#include <string.h>

uint64_t control_number(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

double control_real(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

const char *control_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* A guest chooses its own name: nothing of it may steer the terminal. */
void control_put_clean(const char *raw, size_t len)
{
	for (; raw && *raw && len--; raw++)
		putchar((unsigned char)*raw < ' ' || *raw == 0x7f ? '?' : *raw);
}

#define LINE_WIDTH 80

/* Broken at blanks, so that it keeps to its column. */
void control_put_row(const char *label, const char *value)
{
	size_t column = CONTROL_LABEL_WIDTH;
	printf("%-*s", CONTROL_LABEL_WIDTH, label);
	while (value && *value) {
		size_t blanks = strspn(value, " "), len = strcspn(value + blanks, " ");
		if (column > CONTROL_LABEL_WIDTH && column + blanks + len > LINE_WIDTH) {
			printf("\n%*s", CONTROL_LABEL_WIDTH, "");
			column = CONTROL_LABEL_WIDTH;
			value += blanks;
			blanks = 0;
		}
		control_put_clean(value, blanks + len);
		value += blanks + len;
		column += blanks + len;
	}
	putchar('\n');
}
