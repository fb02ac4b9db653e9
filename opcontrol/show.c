// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/show.h"

#include <stdio.h>
#include <string.h>

#include "libutil/escape.h"
#include "libutil/label.h"

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

void control_put_clean(const char *raw, size_t len)
{
	vmop_escape_print(raw, len, vmop_escape_locale(), stdout);
}

void control_put(const json_t *object, const char *name)
{
	control_put_clean(control_text(object, name), SIZE_MAX);
}

bool control_set_text(struct libscols_line *line, size_t column, const char *raw)
{
	char *text = vmop_escape(raw, vmop_escape_locale());
	return text && scols_line_refer_data(line, column, text) == 0;
}

char *control_domain_label(const json_t *domain)
{
	const char *name = control_text(domain, "name"), *kind = control_text(domain, "kind");
	const json_t *id = json_object_get(domain, "id");
	bool is_host = id && !json_integer_value(id);
	bool is_stand_in = kind && !strcmp(kind, "unsampled") &&
			   !json_is_integer(json_object_get(domain, "xen_domid"));
	bool is_own = is_host || is_stand_in || (kind && !strcmp(kind, "hypervisor"));
	if (!name)
		name = "?";
	return is_own ? strdup(name) : vmop_label(VMOP_LABEL_DOMAIN, name);
}

void control_format_size(uint64_t bytes, char ret[CONTROL_SIZE_BYTES])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t unit = 0;
	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(ret, CONTROL_SIZE_BYTES, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

#define LINE_WIDTH 80

void control_put_wrapped(size_t indent, const char *value)
{
	size_t column = indent;
	while (value && *value) {
		size_t blanks = strspn(value, " "), len = strcspn(value + blanks, " ");
		if (column > indent && column + blanks + len > LINE_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
			value += blanks;
			blanks = 0;
		}
		control_put_clean(value, blanks + len);
		value += blanks + len;
		column += blanks + len;
	}
}

void control_put_row(const char *label, const char *value)
{
	printf("%-*s", CONTROL_LABEL_WIDTH, label);
	control_put_wrapped(CONTROL_LABEL_WIDTH, value);
	putchar('\n');
}
