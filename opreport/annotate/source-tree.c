// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/source-tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/io.h"
#include "opreport/output/printing.h"

struct writing {
	const struct vmop_annotation *annotation;
	const struct vmop_block *block;
};

static struct vmop_error *print_block(const void *arg, FILE *out)
{
	const struct writing *writing = arg;
	const struct vmop_listing_options options = {.context = UINT64_MAX};
	return vmop_listing_print(writing->annotation, writing->block, &options, out);
}

/* Refuse to write over the source file, as --output-dir=/ would. */
static struct vmop_error *check_is_other(const struct vmop_source_file *file, const char *path)
{
	struct stat st;
	if (stat(path, &st) || !file->inode || st.st_ino != file->inode ||
	    st.st_dev != file->device)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--output-dir: %s is the source file itself; name another folder",
			      path);
}

static struct vmop_error *write_file(const struct vmop_annotation *annotation,
				     const struct vmop_block *block, const char *dir)
{
	const struct vmop_sources *sources = annotation->places->sources;
	const struct vmop_source_file *file = &sources->files[block->file];
	const struct writing writing = {annotation, block};
	const char *below = vmop_source_strip(sources->options.base_dirs, file->path);
	_cleanup_free_ char *name = vmop_escape(below + strspn(below, "/"), VMOP_CHARSET_UTF8);
	_cleanup_free_ char *path = NULL;
	if (!name || asprintf(&path, "%s/%s", dir, name) < 0)
		return &vmop_error_no_memory;
	char *slash = strrchr(path, '/');
	*slash = '\0';
	struct vmop_error *err = vmop_io_make_dir(path, 0777);
	*slash = '/';
	if (!err)
		err = check_is_other(file, path);
	return err ? err : vmop_print_to(path, print_block, &writing);
}

struct vmop_error *vmop_source_tree_write(const struct vmop_annotation *annotation, const char *dir,
					  struct vmop_source_tree_counts *ret)
{
	struct vmop_error *err = NULL;
	*ret = (struct vmop_source_tree_counts){0};
	for (size_t i = 0; i < annotation->n_blocks && !err; i++) {
		const struct vmop_block *block = &annotation->blocks[i];
		if (block->row)
			continue;
		if (!annotation->places->sources->files[block->file].lines) {
			ret->n_without_source++;
			continue;
		}
		err = write_file(annotation, block, dir);
		ret->n_written += !err;
	}
	return err;
}
