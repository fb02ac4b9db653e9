// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/annotation.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

struct vmop_error *vmop_annotation_add_block(struct vmop_annotation *annotation,
					     struct vmop_block **ret)
{
	if (!vmop_array_reserve(annotation->blocks, annotation->blocks_capacity,
				annotation->n_blocks + 1))
		return &vmop_error_no_memory;
	*ret = &annotation->blocks[annotation->n_blocks++];
	**ret = (struct vmop_block){.first_note = annotation->n_notes};
	return NULL;
}

struct vmop_error *vmop_annotation_add_note(struct vmop_annotation *annotation,
					    const struct vmop_note *note)
{
	if (annotation->n_notes >= VMOP_NOTES_MAX) {
		annotation->n_left_out++;
		return NULL;
	}
	if (!vmop_array_reserve(annotation->notes, annotation->notes_capacity,
				annotation->n_notes + 1))
		return &vmop_error_no_memory;
	annotation->notes[annotation->n_notes++] = *note;
	annotation->blocks[annotation->n_blocks - 1].n_notes++;
	return NULL;
}

struct vmop_error *vmop_annotation_new_counts(struct vmop_annotation *annotation,
					      struct vmop_count **ret)
{
	*ret = vmop_arena_alloc(&annotation->arena, annotation->result->n_events * sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

void vmop_annotation_add_counts(const struct vmop_annotation *annotation, struct vmop_count *to,
				const struct vmop_count *counts)
{
	for (size_t e = 0; e < annotation->result->n_events; e++)
		vmop_count_add(&to[e], counts[e].samples, counts[e].weight_events);
}

static bool matches(const struct vmop_words *words, const char *path)
{
	const char *slash = strrchr(path, '/');
	return vmop_words_match(words, path) || (slash && vmop_words_match(words, slash + 1));
}

bool vmop_annotation_shows(const struct vmop_annotation_options *options,
			   const struct vmop_source_file *file)
{
	const struct vmop_words *include = options->include_files;
	const struct vmop_words *exclude = options->exclude_files;
	return (!include || !include->n || matches(include, file->path)) &&
	       !(exclude && exclude->n && matches(exclude, file->path));
}

struct vmop_error *vmop_annotation_text(struct vmop_annotation *annotation, const char **ret,
					const char *format, ...)
{
	va_list args;
	va_start(args, format);
	*ret = vmop_arena_vformat(&annotation->arena, format, args);
	va_end(args);
	return *ret ? NULL : &vmop_error_no_memory;
}

void vmop_annotation_deinit(struct vmop_annotation *annotation)
{
	free(annotation->blocks);
	free(annotation->notes);
	vmop_arena_deinit(&annotation->arena);
	*annotation = (struct vmop_annotation){0};
}
