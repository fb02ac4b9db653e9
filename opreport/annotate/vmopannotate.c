// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopannotate: annotate source and machine code with samples.  See vmopannotate(1). */
#include "config.h"

#include <argp.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/heap.h"
#include "libutil/log.h"
#include "libutil/plural.h"
#include "opreport/annotate/note-sheet.h"
#include "opreport/annotate/settings.h"
#include "opreport/annotate/source-tree.h"
#include "opreport/arrange/report.h"
#include "opreport/arrange/session.h"
#include "opreport/output/line-width.h"
#include "opreport/output/printing.h"

/* An annotation while it is made. */
struct job {
	struct vmop_annotate_settings settings;
	struct vmop_sessions sessions;
	struct vmop_result result;
	struct vmop_ratios ratios;
	struct vmop_hidden hidden;
	struct vmop_report *report; /* the lines and facts about the sessions */
	struct vmop_code_images *images;
	struct vmop_sources sources;
	struct vmop_code_places places;
	struct vmop_annotation annotation;
};

static void job_deinit(struct job *job)
{
	vmop_annotation_deinit(&job->annotation);
	vmop_code_places_deinit(&job->places);
	vmop_sources_deinit(&job->sources);
	vmop_code_images_destroy(job->images);
	vmop_report_destroy(job->report);
	free(job->hidden.counts);
	vmop_ratios_deinit(&job->ratios);
	vmop_result_deinit(&job->result);
	vmop_sessions_deinit(&job->sessions);
	vmop_annotate_settings_deinit(&job->settings);
}

/* ---- printing --------------------------------------------------------------- */

static struct vmop_error *print_lines(const char *const *lines, size_t n, size_t width_columns,
				      FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *escaped = vmop_escape(lines[i], vmop_escape_locale());
		if (!escaped)
			return &vmop_error_no_memory;
		vmop_fit_print(escaped, width_columns, out);
	}
	return NULL;
}

static bool has_colours(const struct vmop_annotate_settings *settings)
{
	const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");
	return !settings->output_file && isatty(STDOUT_FILENO) && terminal &&
	       strcmp(terminal, "dumb") && !(no_colour && *no_colour);
}

static struct vmop_error *print_listing(const void *arg, FILE *out)
{
	const struct job *job = arg;
	const struct vmop_annotate_settings *settings = &job->settings;
	const struct vmop_sheet *sheet = vmop_report_sheet(job->report);
	const struct vmop_annotation *annotation = &job->annotation;
	const struct vmop_listing_options options = {
		.context = settings->context,
		.width_columns = settings->width_columns,
		.has_colours = has_colours(settings),
		.is_mixed = settings->annotation.source && settings->annotation.assembly,
	};
	struct vmop_error *err = NULL;
	if (!settings->no_header)
		err = print_lines(sheet->lines, sheet->n_lines, settings->width_columns, out);
	for (size_t i = 0; i < annotation->n_blocks && !err; i++) {
		if (i || !settings->no_header)
			fputc('\n', out);
		err = vmop_listing_print(annotation, &annotation->blocks[i], &options, out);
	}
	if (!err && annotation->n_left_out)
		fprintf(out,
			"\ntoo much for one report, left out: %" PRIu64
			" lines (specs, --include-symbols choose)\n",
			annotation->n_left_out);
	if (!err && sheet->n_footer)
		fputc('\n', out);
	return err ? err
		   : print_lines(sheet->footer, sheet->n_footer, settings->width_columns, out);
}

static struct vmop_error *print_sheet(const void *arg, FILE *out)
{
	struct job *job = (struct job *)arg;
	const struct vmop_annotate_settings *settings = &job->settings;
	const struct vmop_output_options options = {0};
	struct vmop_note_sheet *sheet = NULL;
	uint64_t n_left_out, n_columns = 16 + 3 * job->result.n_events;
	struct vmop_error *err = vmop_note_sheet_create(
		&job->annotation, settings->annotation.assembly, vmop_report_sheet(job->report),
		settings->output->max_values / n_columns, &n_left_out, &sheet);
	if (!err)
		err = settings->output->print(vmop_note_sheet(sheet), &options, out);
	if (!err && n_left_out)
		vmop_log_warning("too much for one report, left out: %" PRIu64 " row%s", n_left_out,
				 vmop_plural(n_left_out));
	vmop_note_sheet_destroy(sheet);
	return err;
}

static struct vmop_error *write_tree(const struct job *job)
{
	struct vmop_source_tree_counts counts;
	const char *dir = job->settings.output_dir;
	struct vmop_error *err = vmop_source_tree_write(&job->annotation, dir, &counts);
	if (err)
		return err;
	vmop_log_notice("%zu annotated source file%s written below %s", counts.n_written,
			vmop_plural(counts.n_written), dir);
	if (counts.n_without_source)
		vmop_log_notice("%zu source files were not found; without --output-dir each has "
				"its reason",
				counts.n_without_source);
	return NULL;
}

/* Log what a format without lines cannot show. */
static void log_losses(const struct job *job)
{
	const struct vmop_annotate_settings *settings = &job->settings;
	bool is_table = settings->output == &vmop_output_table;
	if (settings->output->has_facts ||
	    (is_table && !settings->no_header && !settings->output_dir))
		return;
	if (vmop_report_losses(job->report))
		vmop_log_warning("losses: %s", vmop_report_losses(job->report));
	if (vmop_report_left_out(job->report))
		vmop_log_warning("too much for one report, left out: %s",
				 vmop_report_left_out(job->report));
}

static struct vmop_error *print(struct job *job)
{
	const struct vmop_annotate_settings *settings = &job->settings;
	bool is_table = settings->output == &vmop_output_table;
	struct vmop_error *err =
		settings->output_dir ? write_tree(job)
				     : vmop_print_to(settings->output_file,
						     is_table ? print_listing : print_sheet, job);
	if (!err)
		log_losses(job);
	return err;
}

/* ---- making ----------------------------------------------------------------- */

/* Read the samples, and choose and sort the functions. */
static struct vmop_error *read_samples(struct job *job)
{
	struct vmop_annotate_settings *settings = &job->settings;
	const struct vmop_report_options report = {.long_filenames = true};
	struct vmop_error *err = vmop_sessions_open(&settings->spec, &job->sessions);
	if (!err)
		err = vmop_query_run(&settings->query, &settings->spec, job->sessions.items,
				     job->sessions.n, &job->result);
	if (err)
		return err;
	if (job->result.left_out.details)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "too many addresses for one annotation; image:, task: or "
				      "time: select fewer");
	err = vmop_rows_arrange(&job->result, &job->ratios, &settings->arrangement, &job->hidden);
	return err ? err
		   : vmop_report_create(&report, &job->result, &job->ratios, &job->hidden,
					&job->report);
}

static struct vmop_error *annotate(struct job *job)
{
	struct vmop_annotate_settings *settings = &job->settings;
	const struct vmop_source_options sources = {.search_dirs = &settings->search_dirs,
						    .base_dirs = &settings->base_dirs,
						    .archive = settings->spec.archive,
						    .root = settings->symbol_options.root};
	bool by_file = !settings->annotation.assembly && settings->output == &vmop_output_table;
	struct vmop_error *err = vmop_code_images_create(&job->result, job->sessions.items,
							 settings->lines_cpu_ns, &job->images);
	if (!err)
		err = vmop_sources_init(&job->sources, &sources, &job->result);
	if (!err)
		err = vmop_code_places_init(&job->places, &job->result, job->images, &job->sources);
	if (err)
		return err;
	err = by_file ? vmop_annotation_by_file(&job->annotation, &job->places,
						&settings->annotation)
		      : vmop_annotation_by_function(&job->annotation, &job->places,
						    &settings->annotation);
	if (!err && !job->annotation.n_blocks)
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "no source file matches");
	return err;
}

int main(int argc, char **argv)
{
	vmop_heap_prefer_huge_pages();
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmopannotate", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	struct job job = {0};
	struct vmop_error *err = vmop_annotate_settings_init(&job.settings, argc, argv);
	if (!err && !job.settings.has_width && !job.settings.output_file)
		job.settings.width_columns = vmop_terminal_columns(STDOUT_FILENO);
	if (!err)
		err = read_samples(&job);
	if (!err)
		err = annotate(&job);
	if (!err)
		err = print(&job);
	int status = vmop_error_exit_status(err);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	job_deinit(&job);
	return status;
}
