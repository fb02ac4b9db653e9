// SPDX-License-Identifier: GPL-2.0-or-later
/* Write an annotated copy of each source file below a folder (--output-dir). */
#ifndef VMOP_OPREPORT_ANNOTATE_SOURCE_TREE_H
#define VMOP_OPREPORT_ANNOTATE_SOURCE_TREE_H

#include "opreport/annotate/listing.h"

struct vmop_source_tree_counts {
	size_t n_written;
	size_t n_without_source; /* not found */
};

/*
 * Write the file blocks of an annotation by file. A file's path below dir is its own, without
 * --base-dirs; folders are made. What would replace the source file itself is refused, as is any
 * file that cannot be written. The source's names never lead out of dir.
 */
struct vmop_error *vmop_source_tree_write(const struct vmop_annotation *annotation, const char *dir,
					  struct vmop_source_tree_counts *ret);

#endif
