// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/request.h"

#include <stdlib.h>

#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/plural.h"
#include "opreport/arrange/losses.h"
#include "opreport/compare/comparison.h"
#include "opreport/compare/flame-report.h"

/* The sides while a request is served. */
struct sides {
	struct vmop_side *items; /* n */
	size_t n;
};

static void sides_deinit(struct sides *sides)
{
	for (size_t i = 0; i < sides->n; i++)
		vmop_side_deinit(&sides->items[i]);
	free(sides->items);
}

static struct vmop_error *run_sides(const struct vmop_compare_request *request, struct sides *sides)
{
	struct vmop_error *err = NULL;
	sides->items = calloc(request->n_sides, sizeof(*sides->items));
	if (!sides->items)
		return &vmop_error_no_memory;
	for (; sides->n < request->n_sides && !err; sides->n++)
		err = vmop_side_init(&sides->items[sides->n], sides->n, request->session_dir,
				     request->archive, &request->common, &request->sides[sides->n]);
	for (size_t i = 0; i < sides->n && !err; i++)
		err = vmop_side_call(&sides->items[i], request->labels[i]);
	for (size_t i = 0; i < sides->n && !err; i++) {
		if (sides->items[i].spec.stacks.n)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "stack: needs --format=flamegraph in a comparison");
		err = vmop_side_run(&sides->items[i], &request->query);
		vmop_side_close(&sides->items[i]);
	}
	return err;
}

static void log_losses(const struct vmop_side *side)
{
	struct vmop_arena arena = {0};
	const struct vmop_choice *choice = &side->result.choice;
	bool is_of_part = choice->from_ns || choice->to_ns;
	const char *losses = NULL;
	struct vmop_error *err =
		vmop_losses_describe(&side->result.catalog, is_of_part, &arena, &losses);
	if (err)
		vmop_log_and_destroy(VMOP_LOG_WARNING, err);
	else if (losses)
		vmop_log_warning("%c: losses: %s", side->letter, losses);
	vmop_arena_deinit(&arena);
}

static void log_sides(const struct vmop_compare_request *request, const struct sides *sides)
{
	bool shows_losses =
		!request->output_dir &&
		(request->output.format->has_facts || !request->output.options.no_header) &&
		request->output.format != &vmop_output_csv;
	for (size_t i = 0; i < sides->n; i++) {
		const struct vmop_side *side = &sides->items[i];
		const struct vmop_missing *missing = &side->result.missing;
		if (!shows_losses)
			log_losses(side);
		if (missing->samples)
			vmop_log_notice(
				"%c: no symbols for %llu sample%s; most (%llu) in %s: %s",
				side->letter, (unsigned long long)missing->samples,
				vmop_plural(missing->samples),
				(unsigned long long)missing->top_samples,
				vmop_catalog_image(&side->result.catalog, missing->top_image)->name,
				missing->top_why);
	}
}

struct vmop_error *vmop_compare(const struct vmop_compare_request *request)
{
	_cleanup_(sides_deinit) struct sides sides = {0};
	_cleanup_(vmop_comparison_deinit) struct vmop_comparison comparison = {0};
	size_t n_files;
	if (request->flamegraph)
		return vmop_compare_flamegraph(request);
	struct vmop_error *err = run_sides(request, &sides);
	if (!err)
		err = vmop_comparison_init(&comparison, sides.items, sides.n, request->by,
					   &request->per);
	if (err)
		return err;
	if (!request->output_dir)
		err = vmop_compare_print(&request->output, &comparison);
	else
		err = vmop_compare_write_csv(request->output_dir, &request->output.ordering,
					     &comparison, &n_files);
	if (!err && request->write_files)
		err = request->write_files(request->write_arg, &comparison);
	if (!err)
		log_sides(request, &sides);
	return err;
}
