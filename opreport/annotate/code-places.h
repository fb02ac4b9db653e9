// SPDX-License-Identifier: GPL-2.0-or-later
/* The source line and the inlined functions of each sampled address of a result. */
#ifndef VMOP_OPREPORT_ANNOTATE_CODE_PLACES_H
#define VMOP_OPREPORT_ANNOTATE_CODE_PLACES_H

#include "opreport/annotate/code-images.h"
#include "opreport/annotate/source-file.h"

struct vmop_code_place {
	uint32_t file;	     /* number in the sources; 0: none */
	uint32_t line;	     /* 0: none */
	const char *inlined; /* functions inlined there, "inner < outer"; NULL: no function */
};

struct vmop_code_places {
	struct vmop_result *result;
	struct vmop_code_images *images;
	struct vmop_sources *sources;
	struct vmop_code_place *details;    /* by the index of the result's details */
	struct vmop_code_place_text *texts; /* chains, by text */
};

/*
 * Find the places of the details of result->rows. All arguments must outlive places. The caller
 * deinitializes places also after an error.
 */
struct vmop_error *vmop_code_places_init(struct vmop_code_places *places,
					 struct vmop_result *result,
					 struct vmop_code_images *images,
					 struct vmop_sources *sources);
void vmop_code_places_deinit(struct vmop_code_places *places);

/* Set *ret to the place of the code at an offset of a row's image. */
struct vmop_error *vmop_code_places_find(struct vmop_code_places *places,
					 const struct vmop_row *row, uint64_t offset,
					 struct vmop_code_place *ret);

/* Return the catalog index of a row's image. */
static inline size_t vmop_code_place_image(const struct vmop_row *row)
{
	return row->group->image ? row->group->image - 1 : 0;
}

/* Return the offset of a detail in its row's image. */
static inline uint64_t vmop_code_place_offset(const struct vmop_result *result,
					      const struct vmop_row *row, uint64_t address)
{
	return address - vmop_row_image(result, row)->base;
}

#endif
