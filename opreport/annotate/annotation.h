// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Annotation: source lines and instructions with the samples that hit them.
 *
 * Caller: vmopannotate.c, with the rows of a query by symbol with details. Data meets the files of
 * this folder in this order:
 *   settings      the command line
 *   code-images   lines, inlined functions and bytes of the images, from files or the session
 *   source-file   finds and reads source files
 *   code-places     the line of each sampled address
 *   disassembly   bytes to instructions; open-fields names what a module's file leaves open
 *   by-file, by-function   make blocks of notes: of a source file, or of a function
 *   listing       prints blocks for people; note-sheet makes a sheet of them for programs
 *   source-tree   writes a file for each source file (--output-dir)
 */
#ifndef VMOP_OPREPORT_ANNOTATE_ANNOTATION_H
#define VMOP_OPREPORT_ANNOTATE_ANNOTATION_H

#include "opreport/annotate/code-places.h"
#include "opreport/annotate/disassembly.h"

/* A source line, an instruction, or a sampled address without one. */
struct vmop_note {
	const char *text;		 /* raw bytes; NULL: not known */
	const struct vmop_count *counts; /* n_events; NULL: no samples */
	const char *inlined;		 /* see struct vmop_code_place */
	uint64_t address;
	uint32_t file, line; /* 0: none */
	bool is_code;	     /* an instruction or an address; false: a source line */
};

struct vmop_block {
	const struct vmop_row *row; /* of a function; NULL: a source file's block */
	uint32_t file;
	bool is_image;			 /* of all functions without lines in row's image */
	const struct vmop_count *counts; /* n_events */
	const char *remark;		 /* names missing parts, and a remedy; NULL: complete */
	const char *functions;		 /* of a file or image: the heaviest ones; NULL: none */
	size_t first_note, n_notes;
};

/* The bound of notes: further ones are counted only. */
#define VMOP_NOTES_MAX ((size_t)4 << 20)

struct vmop_annotation {
	struct vmop_result *result;
	struct vmop_code_places *places;
	struct vmop_arena arena; /* of counts and texts */
	struct vmop_block *blocks;
	size_t n_blocks, blocks_capacity;
	struct vmop_note *notes;
	size_t n_notes, notes_capacity;
	uint64_t n_left_out; /* notes beyond the bound */
};

struct vmop_annotation_options {
	bool source, assembly; /* both: instructions below their source lines */
	enum vmop_syntax syntax;
	/* Source files to show, by path or base name; empty: all. */
	const struct vmop_words *include_files, *exclude_files;
};

/*
 * Make a block for each source file with samples, heaviest first, with all of its lines, and one
 * for the samples whose line is not known. places must outlive the annotation. The caller
 * deinitialises it also after an error.
 */
struct vmop_error *vmop_annotation_by_file(struct vmop_annotation *annotation,
					   struct vmop_code_places *places,
					   const struct vmop_annotation_options *options);

/* Make a block for each row of the result, in its order, with its lines or its instructions. */
struct vmop_error *vmop_annotation_by_function(struct vmop_annotation *annotation,
					       struct vmop_code_places *places,
					       const struct vmop_annotation_options *options);
void vmop_annotation_deinit(struct vmop_annotation *annotation);

/* The functions below are for by-file and by-function. */

/* Append a block that begins with the next note. *ret is valid until the next block. */
struct vmop_error *vmop_annotation_add_block(struct vmop_annotation *annotation,
					     struct vmop_block **ret);

/* Append a note to the last block, unless there are too many. */
struct vmop_error *vmop_annotation_add_note(struct vmop_annotation *annotation,
					    const struct vmop_note *note);

/* Set *ret to n_events counts of zero. */
struct vmop_error *vmop_annotation_new_counts(struct vmop_annotation *annotation,
					      struct vmop_count **ret);

/* Add counts[0..n_events) to `to`. */
void vmop_annotation_add_counts(const struct vmop_annotation *annotation, struct vmop_count *to,
				const struct vmop_count *counts);

/* Return whether the options let a source file pass. */
bool vmop_annotation_shows(const struct vmop_annotation_options *options,
			   const struct vmop_source_file *file);

/* Set *ret to text that printf(3) makes, in the arena. */
struct vmop_error *vmop_annotation_text(struct vmop_annotation *annotation, const char **ret,
					const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
