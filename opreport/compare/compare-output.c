// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/compare-output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "opreport/compare/comparison-sheet.h"
#include "opreport/output/printing.h"

/* A terminal this wide has room for the numbers of samples beside everything else. */
#define WIDE_COLUMNS 120

struct printed {
	const struct vmop_compare_output *output;
	const struct vmop_comparison *comparison;
};

/* Make a sheet, print it, and destroy it. */
static struct vmop_error *print_sheet(const struct printed *printed,
				      const struct vmop_comparison_sheet_options *options,
				      FILE *out)
{
	struct vmop_comparison_sheet *sheet = NULL;
	const struct vmop_compare_output *output = printed->output;
	struct vmop_error *err = vmop_comparison_sheet_create(options, printed->comparison, &sheet);
	if (!err)
		err = output->format->print(vmop_comparison_sheet_of(sheet), &output->options, out);
	vmop_comparison_sheet_destroy(sheet);
	return err;
}

/* Return about how many rows a format prints soon and in bounded memory. */
static uint64_t max_rows(const struct vmop_output *format, const struct vmop_comparison *comparison)
{
	return format->max_values / (8 + 12 * comparison->n_sides);
}

static struct vmop_error *print_tables(const struct printed *printed, FILE *out)
{
	const struct vmop_compare_output *output = printed->output;
	const struct vmop_comparison *comparison = printed->comparison;
	size_t width = output->options.width_columns;
	struct vmop_error *err = NULL;
	bool is_first = true;
	for (size_t e = 0; e < comparison->n_events; e++) {
		for (size_t other = 1; other < comparison->n_sides && !err; other++) {
			if (comparison->events[e].slots[other] == SIZE_MAX)
				continue;
			const struct vmop_comparison_sheet_options options = {
				.ordering = output->ordering,
				.for_people = true,
				.event = e,
				.other = other,
				.with_head = is_first,
				.is_wide = !width || width >= WIDE_COLUMNS,
				.max_rows = max_rows(output->format, comparison),
			};
			if (!is_first)
				fputc('\n', out);
			is_first = false;
			err = print_sheet(printed, &options, out);
		}
	}
	return err;
}

static struct vmop_error *print_printed(const void *arg, FILE *out)
{
	const struct printed *printed = arg;
	const struct vmop_comparison_sheet_options options = {
		.ordering = printed->output->ordering,
		.event = VMOP_COMPARE_ALL,
		.other = VMOP_COMPARE_ALL,
		.max_rows = max_rows(printed->output->format, printed->comparison),
	};
	if (printed->output->format == &vmop_output_table)
		return print_tables(printed, out);
	return print_sheet(printed, &options, out);
}

struct vmop_error *vmop_compare_print(const struct vmop_compare_output *output,
				      const struct vmop_comparison *comparison)
{
	return vmop_print_to(output->file, print_printed,
			     &(const struct printed){output, comparison});
}

/* ---- files ------------------------------------------------------------------------ */

/* A CSV file, of one event or of all. */
struct csv {
	struct printed printed;
	size_t event;
};

static struct vmop_error *print_csv(const void *arg, FILE *out)
{
	const struct csv *csv = arg;
	const struct vmop_comparison_sheet_options options = {
		.ordering = csv->printed.output->ordering,
		.event = csv->event,
		.other = VMOP_COMPARE_ALL,
		.max_rows = max_rows(&vmop_output_csv, csv->printed.comparison),
	};
	return print_sheet(&csv->printed, &options, out);
}

void vmop_compare_file_name(const struct vmop_comparison *comparison, size_t event, char *ret,
			    size_t ret_bytes)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.";
	char name[100];
	snprintf(name, sizeof(name), "%s", comparison->events[event].label);
	bool is_plain = strlen(comparison->events[event].label) < sizeof(name) && *name != '.' &&
			*name && strcmp(name, "joined") != 0;
	for (char *at = name + strspn(name, plain); *at; at += strspn(at, plain)) {
		*at = '_';
		is_plain = false;
	}
	if (*name == '.')
		*name = '_';
	if (is_plain)
		snprintf(ret, ret_bytes, "%s", name);
	else /* a plain name has no '=': is not one */
		snprintf(ret, ret_bytes, "%s=%zu", name, event + 1);
}

static struct vmop_error *write_csv(const char *dir, const char *name, const struct csv *csv)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/%s.csv", dir, name) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	return vmop_print_to(path, print_csv, csv);
}

struct vmop_error *vmop_compare_write_csv(const char *dir, const struct vmop_ordering *ordering,
					  const struct vmop_comparison *comparison,
					  size_t *ret_n_files)
{
	const struct vmop_compare_output output = {.format = &vmop_output_csv,
						   .ordering = *ordering};
	struct csv csv = {{&output, comparison}, VMOP_COMPARE_ALL};
	*ret_n_files = 0;
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return vmop_error_os(errno, "--output-dir=%s", dir);
	struct vmop_error *err = write_csv(dir, "joined", &csv);
	for (size_t e = 0; e < comparison->n_events && !err; e++) {
		char name[128];
		vmop_compare_file_name(comparison, e, name, sizeof(name));
		csv.event = e;
		(*ret_n_files)++;
		err = write_csv(dir, name, &csv);
	}
	*ret_n_files += !err;
	return err;
}
