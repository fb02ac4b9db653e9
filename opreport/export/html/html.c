// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One HTML page that needs nothing else: summary, bills of the domains, timeline, flame graph and
 * table.  Its data are a JSON document (section.h); report.js, timeline.js and flame.js draw it.
 */
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/export/html/html-files.h"
#include "opreport/export/html/page.h"
#include "opreport/export/html/section.h"
#include "opreport/stacks/flamegraph-files.h"
#include "opreport/stacks/tree-output.h"

/* The bound of the data: with the rest, a page stays below 2 MB. */
#define DATA_MAX_BYTES ((size_t)1500000)
#define EVENTS_MAX 6
#define LINES_MAX 40
#define LOSSES_MAX 40

/* Narrower boxes are summed up: they are less than half a pixel on a wide screen. */
#define MIN_BOX_WIDTH (1 / 4000.0)

static void write_lines(const struct vmop_tree_output_options *options,
			struct vmop_json_writer *writer)
{
	vmop_json_writer_name(writer, "lines");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < options->n_lines && i < LINES_MAX; i++)
		vmop_json_writer_text(writer, options->lines[i]);
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_number_member(writer, "n_lines_left_out",
				       options->n_lines > LINES_MAX ? options->n_lines - LINES_MAX
								    : 0);
}

/* [name, domain, count] */
static void write_losses(const struct vmop_catalog *catalog, struct vmop_json_writer *writer)
{
	uint64_t others = 0;
	vmop_json_writer_name(writer, "losses");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < catalog->n_losses; i++) {
		const struct vmop_loss_item *loss = &catalog->losses[i];
		if (i >= LOSSES_MAX) {
			others += loss->count;
			continue;
		}
		vmop_json_writer_begin(writer, '[');
		vmop_json_writer_text(writer, loss->name);
		vmop_json_writer_text(writer, vmop_catalog_domain(catalog, loss->domain)->name);
		vmop_json_writer_number(writer, loss->count);
		vmop_json_writer_end(writer, ']');
	}
	if (others) {
		vmop_json_writer_begin(writer, '[');
		vmop_json_writer_text(writer, "others");
		vmop_json_writer_text(writer, "");
		vmop_json_writer_number(writer, others);
		vmop_json_writer_end(writer, ']');
	}
	vmop_json_writer_end(writer, ']');
}

static bool has_stacks(const struct vmop_result *result)
{
	const struct vmop_stack_facts *stacks = &result->stacks;
	uint64_t samples = stacks->damaged;
	for (unsigned end = 0; end < VMOP_N_STACK_ENDS; end++)
		samples += stacks->ends[end];
	return samples > 0;
}

static void write_facts(const struct vmop_call_tree *tree,
			const struct vmop_tree_output_options *options,
			struct vmop_json_writer *writer)
{
	const struct vmop_result *result = tree->result;
	const struct vmop_catalog *catalog = &result->catalog;
	write_lines(options, writer);
	write_losses(catalog, writer);
	vmop_json_writer_name(writer, "is_of_part");
	vmop_json_writer_bool(writer, result->choice.from_ns || result->choice.to_ns);
	vmop_json_writer_name(writer, "certain");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < VMOP_N_CERTAINTIES; i++)
		vmop_json_writer_number(writer, result->certain[i]);
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_name(writer, "start_s");
	vmop_json_writer_real(writer, (double)(catalog->start_ns / 1000000000));
	/* The first span's, after the session's start. */
	vmop_json_writer_number_member(writer, "from_s",
				       (tree->times.start_ns - catalog->start_ns) / 1000000000);
	vmop_json_writer_number_member(writer, "end_s",
				       catalog->end_ns > catalog->start_ns
					       ? (catalog->end_ns - catalog->start_ns) / 1000000000
					       : 0);
	vmop_json_writer_number_member(writer, "without_time", tree->times.left_out_samples);
	vmop_json_writer_number_member(writer, "n_events_left_out",
				       tree->n_events > EVENTS_MAX ? tree->n_events - EVENTS_MAX
								   : 0);
	vmop_json_writer_name(writer, "has_stacks");
	vmop_json_writer_bool(writer, has_stacks(result));
}

static struct vmop_error *write_data(struct vmop_call_tree *tree,
				     const struct vmop_tree_output_options *options, FILE *out)
{
	size_t n_events = tree->n_events < EVENTS_MAX ? tree->n_events : EVENTS_MAX;
	double threshold = options->threshold_percent / 100;
	_cleanup_(vmop_page_texts_deinit) struct vmop_page_texts texts = {0};
	struct vmop_json_writer writer;
	struct vmop_error *err = NULL;
	vmop_json_writer_init(&writer, out);
	vmop_json_writer_begin(&writer, '{');
	write_facts(tree, options, &writer);
	vmop_json_writer_name(&writer, "events");
	vmop_json_writer_begin(&writer, '[');
	for (size_t e = 0; e < n_events && !err; e++) {
		const struct vmop_page_section_options section = {
			.event = e,
			.min_width = threshold > MIN_BOX_WIDTH ? threshold : MIN_BOX_WIDTH,
			.max_bytes = DATA_MAX_BYTES / n_events,
		};
		err = vmop_page_section_write(tree, &section, &texts, &writer);
	}
	vmop_json_writer_end(&writer, ']');
	vmop_json_writer_name(&writer, "texts");
	vmop_page_texts_write(&texts, &writer);
	vmop_json_writer_end(&writer, '}');
	return err ? err : vmop_json_writer_finish(&writer);
}

static struct vmop_error *html_print(struct vmop_call_tree *tree,
				     const struct vmop_tree_output_options *options, FILE *out)
{
	static const char *const styles[] = {flamegraph_css, html_report_css};
	static const char *const scripts[] = {html_report_js, html_timeline_js, html_flame_js,
					      html_table_js};
	vmop_time_counts_sort(&tree->times);
	vmop_time_counts_sort(&tree->bills);
	vmop_page_begin(out, options->n_lines ? options->lines[0] : "vmop", styles, 2);
	fputs("<noscript><p>The charts and the table need JavaScript.</p></noscript>\n", out);
	vmop_page_begin_data(out, "data");
	struct vmop_error *err = write_data(tree, options, out);
	vmop_page_end_data(out);
	vmop_page_end(out, scripts, sizeof(scripts) / sizeof(*scripts));
	return err;
}

const struct vmop_tree_output vmop_tree_output_html = {
	.name = "html",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK, .without_stacks = true, .by_time = true},
	.has_own_groups = true, /* domains and tasks */
	.merge = VMOP_MERGE_TGID,
	.print = html_print,
};
