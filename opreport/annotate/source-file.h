// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source files that the DWARF of images names. The names are those that any user's program chose,
 * so only regular files of bounded size are read, and nothing is waited for.
 */
#ifndef VMOP_OPREPORT_ANNOTATE_SOURCE_FILE_H
#define VMOP_OPREPORT_ANNOTATE_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libsym/line.h"
#include "opreport/query/query.h"

/* Bounds of one file, and of all files of a report. */
#define VMOP_SOURCE_MAX_BYTES ((size_t)16 << 20)
#define VMOP_SOURCES_MAX_BYTES ((size_t)256 << 20)

struct vmop_source_options {
	/*
	 * --search-dirs: a file is searched below each of them, by its path and then by its base
	 * name, and nowhere else. Empty: at its path, of host images only.
	 */
	const struct vmop_words *search_dirs;
	const struct vmop_words *base_dirs; /* --base-dirs: removed from the start of paths */
	const struct vmop_archive *archive; /* has them in place of this machine; NULL: none */
	const char *root;		    /* --root: what paths are relative to; NULL: "/" */
};

struct vmop_source_file {
	const char *path; /* absolute where the compiler's folder is known; without "." and ".." */
	size_t image;	  /* catalog index of the first image that names it */
	bool is_loaded;	  /* the fields below are set */
	char **lines;	  /* n_lines, without newlines; NULL: not found */
	size_t n_lines;
	const char *why; /* NULL: found */
	dev_t device;	 /* of the file that was read; inode 0: none */
	ino_t inode;
	bool is_newer; /* it was changed after the recording began */
	char *text;    /* that lines point into */
};

/* Files are numbered from 1; 0 stands for code without a line. */
struct vmop_sources {
	struct vmop_source_options options;
	struct vmop_result *result;
	struct vmop_source_file *files;
	size_t n, capacity;
	struct vmop_source_name *names; /* by path */
	size_t left_bytes;
};

/* The result must outlive sources; so must what options point to. */
struct vmop_error *vmop_sources_init(struct vmop_sources *sources,
				     const struct vmop_source_options *options,
				     struct vmop_result *result);
void vmop_sources_deinit(struct vmop_sources *sources);

/* Set *ret to the number of a line's file, 0 if it has none. image: catalog index. */
struct vmop_error *vmop_sources_intern(struct vmop_sources *sources, size_t image,
				       const struct vmop_line *line, uint32_t *ret);

/* Read the file of that number, once. Sets lines, or why. */
struct vmop_error *vmop_sources_load(struct vmop_sources *sources, uint32_t number);

/* Open a file where it is found. Returns a descriptor, or -1 with the reason. */
int vmop_source_open(const struct vmop_sources *sources, const struct vmop_source_file *file,
		     const char **ret_why);

/* Return a line of a loaded file, from 1, or NULL beyond its end. */
const char *vmop_source_line(const struct vmop_source_file *file, uint32_t line);

/* Return the path without "//", "/./" and "/../"; the caller frees it. NULL: no memory. */
char *vmop_source_path(const char *folder, const char *path);

/* Return the part of path behind the first of base_dirs that it begins with, else path. */
const char *vmop_source_strip(const struct vmop_words *base_dirs, const char *path);

#endif
