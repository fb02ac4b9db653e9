// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/code-places.h"

#include <stdlib.h>
#include <string.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libutil/cleanup.h"
#include "libutil/progress.h"

struct vmop_code_place_text {
	const char *text;
	UT_hash_handle hh;
};

/* Set *ret to the one copy of a text. */
static struct vmop_error *intern(struct vmop_code_places *places, const char *text,
				 const char **ret)
{
	struct vmop_code_place_text *entry;
	HASH_FIND_STR(places->texts, text, entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return &vmop_error_no_memory;
		entry->text = vmop_arena_name(&places->result->catalog.arena, text);
		if (entry->text)
			HASH_ADD_KEYPTR(hh, places->texts, entry->text, strlen(entry->text), entry);
		if (!entry->hh.tbl) {
			free(entry);
			return &vmop_error_no_memory;
		}
	}
	*ret = entry->text;
	return NULL;
}

/* Write the chain of inlined functions, and intern it. */
static struct vmop_error *find_inlined(struct vmop_code_places *places, size_t image,
				       uint64_t offset, const char **ret)
{
	const char *names[VMOP_INLINES_MAX];
	size_t n, len;
	_cleanup_free_ char *text = NULL;
	*ret = NULL;
	struct vmop_error *err = vmop_code_images_inlined(places->images, image, offset, names, &n);
	if (err || !n)
		return err;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_symbol symbol = {.name = names[i], .type = VMOP_SYMBOL_INLINED};
		fprintf(out, "%s%s", i ? " < " : "",
			*names[i] ? vmop_result_name_of(places->result, &symbol) : "(no name)");
	}
	return fclose(out) ? &vmop_error_no_memory : intern(places, text, ret);
}

struct vmop_error *vmop_code_places_find(struct vmop_code_places *places,
					 const struct vmop_row *row, uint64_t offset,
					 struct vmop_code_place *ret)
{
	size_t image = vmop_code_place_image(row);
	struct vmop_line line;
	*ret = (struct vmop_code_place){0};
	struct vmop_error *err = vmop_code_images_line(places->images, image, offset, &line);
	if (!err)
		err = vmop_sources_intern(places->sources, image, &line, &ret->file);
	if (!err && ret->file)
		ret->line = line.number;
	return err ? err : find_inlined(places, image, offset, &ret->inlined);
}

struct vmop_error *vmop_code_places_init(struct vmop_code_places *places,
					 struct vmop_result *result,
					 struct vmop_code_images *images,
					 struct vmop_sources *sources)
{
	struct vmop_progress progress;
	struct vmop_error *err = NULL;
	*places = (struct vmop_code_places){.result = result, .images = images, .sources = sources};
	places->details = calloc(result->n_details + 1, sizeof(*places->details));
	if (!places->details)
		return &vmop_error_no_memory;
	vmop_progress_begin(&progress, "looking for source lines", result->n_rows);
	for (size_t r = 0; r < result->n_rows && !err; r++) {
		const struct vmop_row *row = &result->rows[r];
		for (size_t i = 0; i < row->n_details && !err; i++) {
			size_t d = row->first_detail + i;
			uint64_t offset =
				vmop_code_place_offset(result, row, result->details[d].address);
			err = vmop_code_places_find(places, row, offset, &places->details[d]);
		}
		vmop_progress_step(&progress, r + 1);
	}
	vmop_progress_end(&progress);
	return err;
}

void vmop_code_places_deinit(struct vmop_code_places *places)
{
	struct vmop_code_place_text *entry, *next;
	HASH_ITER (hh, places->texts, entry, next) {
		HASH_DEL(places->texts, entry);
		free(entry);
	}
	free(places->details);
	*places = (struct vmop_code_places){0};
}
