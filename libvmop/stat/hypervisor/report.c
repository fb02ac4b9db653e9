// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/report.h"

#include <stdarg.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/json.h"

/* The column of the table at which values begin. */
#define VALUE_COLUMN 27

void vmop_hv_report_init(struct vmop_hv_report *report)
{
	*report = (struct vmop_hv_report){.groups = json_object()};
	report->is_incomplete = !report->groups;
}

void vmop_hv_report_deinit(struct vmop_hv_report *report)
{
	json_decref(report->groups);
	report->groups = NULL;
}

static json_t *group_of(struct vmop_hv_report *report, const char *group)
{
	json_t *object = json_object_get(report->groups, group);
	if (object)
		return object;
	object = json_object();
	if (json_object_set_new(report->groups, group, object) != 0) {
		report->is_incomplete = true;
		return NULL;
	}
	return object;
}

/* Takes the reference to value. */
static void set(struct vmop_hv_report *report, const char *group, const char *name, json_t *value)
{
	/* It also takes the reference if it fails, as it does for NULL. */
	if (json_object_set_new(group_of(report, group), name, value) != 0)
		report->is_incomplete = true;
}

static json_t *text_of(const char *format, va_list arguments)
{
	_cleanup_free_ char *text = NULL;
	if (vasprintf(&text, format, arguments) < 0) {
		text = NULL;
		return NULL;
	}
	return vmop_json_text(text);
}

void vmop_hv_report_text(struct vmop_hv_report *report, const char *group, const char *name,
			 const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	set(report, group, name, text_of(format, arguments));
	va_end(arguments);
}

void vmop_hv_report_number(struct vmop_hv_report *report, const char *group, const char *name,
			   uint64_t value)
{
	if (value <= INT64_MAX)
		set(report, group, name, json_integer((json_int_t)value));
	else
		vmop_hv_report_missing(report, group, name, "its value is out of range");
}

void vmop_hv_report_flag(struct vmop_hv_report *report, const char *group, const char *name,
			 bool value)
{
	set(report, group, name, json_boolean(value));
}

void vmop_hv_report_append(struct vmop_hv_report *report, const char *group, const char *name,
			   const char *text)
{
	json_t *list = json_object_get(group_of(report, group), name);
	if (!list) {
		list = json_array();
		set(report, group, name, json_incref(list));
		json_decref(list);
	}
	if (json_array_append_new(list, vmop_json_text(text)) != 0)
		report->is_incomplete = true;
}

void vmop_hv_report_missing(struct vmop_hv_report *report, const char *group, const char *name,
			    const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	json_t *fact = json_object();
	if (json_object_set_new(fact, "value", json_null()) != 0 ||
	    json_object_set_new(fact, "reason", text_of(format, arguments)) != 0)
		report->is_incomplete = true;
	set(report, group, name, fact);
	va_end(arguments);
}

static void print_escaped(const char *text, FILE *out)
{
	vmop_escape_print(text, strlen(text), vmop_escape_locale(), out);
}

/* Print words with commas between them in lines of 80 columns, and each sentence on a line. */
static void print_list(const json_t *list, FILE *out)
{
	size_t i, column = VALUE_COLUMN;
	const json_t *element;
	json_array_foreach ((json_t *)(uintptr_t)list, i, element) {
		const char *text = json_string_value(element);
		bool is_word = !strchr(text, ' ');
		size_t width = strlen(text) + strlen(", ");
		if (i && is_word)
			fputc(',', out);
		if (i && (!is_word || column + width > 80)) {
			fprintf(out, "\n%-*s", VALUE_COLUMN, "");
			column = VALUE_COLUMN;
		} else if (i) {
			fputc(' ', out);
		}
		print_escaped(text, out);
		column += width;
	}
}

static void print_value(const json_t *value, FILE *out)
{
	if (json_is_string(value)) {
		print_escaped(json_string_value(value), out);
	} else if (json_is_integer(value)) {
		fprintf(out, "%lld", (long long)json_integer_value(value));
	} else if (json_is_boolean(value)) {
		fputs(json_is_true(value) ? "yes" : "no", out);
	} else if (json_is_array(value)) {
		print_list(value, out);
	} else {
		fputs("n/a: ", out);
		print_escaped(json_string_value(json_object_get(value, "reason")), out);
	}
}

static void print_table(const json_t *groups, FILE *out)
{
	const char *group, *name;
	json_t *facts, *value;
	json_object_foreach((json_t *)(uintptr_t)groups, group, facts)
	{
		fprintf(out, "%s\n", group);
		json_object_foreach(facts, name, value)
		{
			fprintf(out, "  %-24s ", name);
			print_value(value, out);
			fputc('\n', out);
		}
	}
}

struct vmop_error *vmop_hv_report_print(const struct vmop_hv_report *report, bool is_json,
					FILE *out)
{
	if (report->is_incomplete)
		return &vmop_error_no_memory;
	if (is_json)
		return vmop_json_print(report->groups, JSON_COMPACT, out);
	print_table(report->groups, out);
	return NULL;
}
