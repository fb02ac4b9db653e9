// SPDX-License-Identifier: GPL-2.0-or-later
/* Collect the source files of all functions that have samples, as vmopannotate shows them. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/progress.h"
#include "opreport/annotate/code-places.h"
#include "opreport/archive/collect.h"
#include "opreport/archive/interrupt.h"

/* CPU time for the DWARF of all images of a session. */
#define LINES_CPU_NS (60 * VMOP_NS_PER_S)

/* The bound of a function, as for the listing of its instructions. */
#define FUNCTION_MAX_BYTES (UINT64_C(1) << 20)

/* The search for the source files of one session. */
struct finding {
	struct vmop_collection *collection;
	struct vmop_result result;
	struct vmop_code_images *images;
	struct vmop_sources sources;
};

static void finding_deinit(struct finding *finding)
{
	vmop_sources_deinit(&finding->sources);
	vmop_code_images_destroy(finding->images);
	vmop_result_deinit(&finding->result);
}

/* Note the source file of the code at an offset of an image. */
static struct vmop_error *note_line(struct finding *finding, size_t image, uint64_t offset)
{
	struct vmop_line line;
	uint32_t number;
	struct vmop_error *err = vmop_code_images_line(finding->images, image, offset, &line);
	return err ? err : vmop_sources_intern(&finding->sources, image, &line, &number);
}

/* Note the files of a function's samples and, for --assembly, of its other code. */
static struct vmop_error *note_row(struct finding *finding, const struct vmop_row *row)
{
	const struct vmop_result *result = &finding->result;
	const struct vmop_symtab *symtab = NULL;
	size_t image = vmop_code_place_image(row);
	const char *why;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < row->n_details && !err; i++)
		err = note_line(
			finding, image,
			vmop_code_place_offset(result, row,
					       result->details[row->first_detail + i].address));
	if (err || !row->n_details || !row->symbol)
		return err;
	err = vmop_symbols_of(result->symbols, image, &symtab, &why);
	if (err || !symtab)
		return err;
	const struct vmop_symtab_run run = vmop_symtab_find_run(
		symtab,
		vmop_code_place_offset(result, row, result->details[row->first_detail].address));
	if (run.end - run.start > FUNCTION_MAX_BYTES)
		return NULL;
	/* An instruction can begin at each byte. */
	for (uint64_t at = run.start; at < run.end && !err; at++)
		err = note_line(finding, image, at);
	return err;
}

static struct vmop_error *note_rows(struct finding *finding)
{
	struct vmop_progress progress;
	struct vmop_error *err = NULL;
	vmop_progress_begin(&progress, "looking for source files", finding->result.n_rows);
	for (size_t i = 0; i < finding->result.n_rows && !err; i++) {
		err = note_row(finding, &finding->result.rows[i]);
		if (!err)
			err = vmop_interrupt_check();
		vmop_progress_step(&progress, i + 1);
	}
	vmop_progress_end(&progress);
	return err;
}

/* Return whether the manifest has a result for this path and root already. */
static bool is_known(const struct vmop_manifest *manifest, const char *path, const char *root)
{
	for (size_t i = 0; i < manifest->n_sources; i++)
		if (!strcmp(manifest->sources[i].path, path) &&
		    !strcmp(manifest->sources[i].root, root))
			return true;
	return false;
}

static const char private[] = "not every user may read it: root copies no such source files";

/*
 * Return whether a source file may be copied. Any program names its source files: that of another
 * user must not have root put private files into an archive.
 */
static bool is_public(int fd)
{
	struct stat st;
	return geteuid() || (!fstat(fd, &st) && st.st_mode & S_IROTH);
}

static struct vmop_error *add_source(struct finding *finding, const struct vmop_source_file *file)
{
	struct vmop_manifest *manifest = &finding->collection->manifest;
	const struct vmop_image_ref ref = vmop_symbols_ref(finding->result.symbols, file->image);
	const char *root = ref.root ? ref.root : "";
	struct vmop_manifest_source *source;
	if (is_known(manifest, file->path, root))
		return NULL;
	struct vmop_error *err = vmop_manifest_add_source(manifest, &source);
	if (err)
		return err;
	source->path = vmop_arena_text(&manifest->arena, file->path);
	source->root = vmop_arena_text(&manifest->arena, root);
	if (!source->path || !source->root)
		return &vmop_error_no_memory;
	_cleanup_close_ int fd = vmop_source_open(&finding->sources, file, &source->reason);
	if (fd < 0)
		return NULL;
	source->reason = is_public(fd) ? NULL : private;
	if (source->reason)
		return NULL;
	return vmop_collection_add(finding->collection, VMOP_MEMBER_SOURCE, source->path, fd, NULL,
				   &source->file, &source->reason);
}

static struct vmop_error *add_sources(struct finding *finding)
{
	struct vmop_error *err = NULL;
	for (size_t i = 1; i < finding->sources.n && !err; i++) { /* 0: code without a line */
		err = add_source(finding, &finding->sources.files[i]);
		if (!err)
			err = vmop_interrupt_check();
	}
	return err;
}

static struct vmop_error *collect_of(struct vmop_collection *collection,
				     const struct vmop_collect_request *request,
				     const struct vmop_session_input *session)
{
	_cleanup_(finding_deinit) struct finding finding = {.collection = collection};
	const struct vmop_query query = {.dimensions =
						 VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL,
					 .details = true,
					 .idle_functions = true,
					 .exclude_dependent = request->exclude_dependent,
					 .resolver = request->resolver};
	const struct vmop_spec all = {.archive = request->spec->archive,
				      .images = request->spec->images};
	const struct vmop_source_options options = {.root = request->resolver.root,
						    .archive = request->spec->archive};
	struct vmop_error *err = vmop_query_run(&query, &all, session, 1, &finding.result);
	if (err && err->code == VMOP_ERROR_NOT_FOUND) { /* no samples */
		vmop_error_destroy(err);
		return NULL;
	}
	if (!err && finding.result.left_out.details)
		err = vmop_error_new(VMOP_ERROR_LIMIT,
				     "--sources: session %s has samples at too many addresses; "
				     "image: selects fewer",
				     session->name);
	if (!err)
		err = vmop_code_images_create(&finding.result, session, LINES_CPU_NS,
					      &finding.images);
	if (!err)
		err = vmop_sources_init(&finding.sources, &options, &finding.result);
	if (!err)
		err = note_rows(&finding);
	return err ? err : add_sources(&finding);
}

struct vmop_error *vmop_collect_sources(struct vmop_collection *collection,
					const struct vmop_collect_request *request)
{
	const struct vmop_sessions *sessions = &collection->sessions;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < sessions->n && !err; i++)
		err = collect_of(collection, request, &sessions->items[i]);
	return err;
}
