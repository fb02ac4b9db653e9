// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/flame-report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "libutil/plural.h"
#include "opreport/compare/comparison-sheet.h"
#include "opreport/compare/flame-difference.h"
#include "opreport/output/printing.h"
#include "opreport/stacks/stack-reader.h"
#include "opreport/stacks/tree-output.h"

/* Everything of one flame graph. */
struct job {
	const struct vmop_compare_request *request;
	struct vmop_query queries[2];
	struct vmop_side sides[2];
	struct vmop_stack_reader *readers[2];
	struct vmop_call_tree *trees[2];
	struct vmop_comparison comparison;
	struct vmop_flame_difference difference;
	struct vmop_comparison_sheet *sheet; /* for its lines */
	const char **lines;		     /* n_lines */
	size_t n_lines;
};

static void job_deinit(struct job *job)
{
	free(job->lines);
	vmop_comparison_sheet_destroy(job->sheet);
	vmop_flame_difference_deinit(&job->difference);
	vmop_comparison_deinit(&job->comparison);
	for (size_t i = 0; i < 2; i++) {
		vmop_stack_reader_destroy(job->readers[i]);
		vmop_side_deinit(&job->sides[i]);
	}
}

/* Run a side's query into a call tree. */
static struct vmop_error *run_side(struct job *job, size_t i)
{
	const struct vmop_compare_request *request = job->request;
	const struct vmop_call_tree_options options = {.groups =
							       request->by & VMOP_COMPARED_GROUPS};
	struct vmop_side *side = &job->sides[i];
	const struct vmop_stack_filter filter = {.any = &side->spec.stacks};
	struct vmop_error *err = vmop_side_init(side, i, request->session_dir, request->archive,
						&request->common, &request->sides[i]);
	job->queries[i] = request->query;
	if (!err)
		err = vmop_stack_reader_create(&job->queries[i], &options, &filter,
					       &job->readers[i]);
	if (err)
		return err;
	job->queries[i].sink = vmop_stack_reader_sink(job->readers[i]);
	err = vmop_side_run(side, &job->queries[i]);
	err = vmop_stack_reader_finish(job->readers[i], err, &job->trees[i]);
	vmop_side_close(side);
	return err;
}

/* Return the comparison's event that is the first one of side B, of which the graph is. */
static struct vmop_error *find_event(const struct vmop_comparison *comparison, size_t *ret)
{
	for (size_t e = 0; e < comparison->n_events; e++) {
		*ret = e;
		if (comparison->events[e].slots[1] == 0)
			return NULL;
	}
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "both sides need the same first event; event:NAME chooses it");
}

static struct vmop_error *add_lines(struct job *job, size_t event)
{
	const struct vmop_comparison_sheet_options options = {
		.for_people = true, .event = event, .other = 1, .with_head = true, .max_rows = 1};
	struct vmop_count gone = job->difference.gone;
	struct vmop_error *err =
		vmop_comparison_sheet_create(&options, &job->comparison, &job->sheet);
	if (err)
		return err;
	const struct vmop_sheet *sheet = vmop_comparison_sheet_of(job->sheet);
	job->lines = calloc(sheet->n_lines + 1, sizeof(*job->lines));
	if (!job->lines)
		return &vmop_error_no_memory;
	for (; job->n_lines < sheet->n_lines; job->n_lines++)
		job->lines[job->n_lines] = sheet->lines[job->n_lines];
	if (!gone.samples)
		return NULL;
	double percent = 100 * (double)gone.samples /
			 (double)vmop_comparison_all(&job->comparison, event, 0).samples;
	job->lines[job->n_lines] = vmop_arena_format(
		&job->difference.arena,
		"not drawn: %" PRIu64 " sample%s of A in stacks that B lacks, %.2f %% of A's",
		gone.samples, vmop_plural(gone.samples), percent);
	return job->lines[job->n_lines++] ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *print(const void *arg, FILE *out)
{
	const struct job *job = arg;
	const struct vmop_tree_output_options options = {
		.lines = job->lines,
		.n_lines = job->n_lines,
		.tints = &job->difference.tints,
	};
	return vmop_tree_output_flamegraph.print(job->trees[1], &options, out);
}

struct vmop_error *vmop_compare_flamegraph(const struct vmop_compare_request *request)
{
	_cleanup_(job_deinit) struct job job = {.request = request};
	size_t event = 0;
	if (request->n_sides != 2)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--format=flamegraph compares two sides, not %zu",
				      request->n_sides);
	struct vmop_error *err = run_side(&job, 0);
	if (!err)
		err = run_side(&job, 1);
	if (!err)
		err = vmop_comparison_init(&job.comparison, job.sides, 2, request->by,
					   &request->per);
	if (!err)
		err = find_event(&job.comparison, &event);
	if (!err)
		err = vmop_flame_difference_init(&job.difference, &job.comparison, event,
						 job.trees);
	if (!err)
		err = add_lines(&job, event);
	return err ? err : vmop_print_to(request->output.file, print, &job);
}
