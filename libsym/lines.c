// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/lines.h"

#include <stdlib.h>

#include "libsym/dwarf/line-index.h"
#include "libsym/dwarf/search.h"
#include "libsym/link-base.h"
#include "libutil/array.h"

struct vmop_image_lines {
	struct vmop_line_index *index;
	uint64_t base; /* of offsets */
};

struct vmop_lines {
	struct vmop_resolver *resolver;
	struct vmop_sym_budget budget;
	bool is_over;			  /* no CPU time is left */
	struct vmop_image_lines **images; /* n; owned */
	size_t n, capacity;
};

static const char out_of_time[] = "there was no CPU time left";

struct vmop_error *vmop_lines_create(struct vmop_resolver *resolver, uint64_t max_cpu_ns,
				     struct vmop_lines **ret)
{
	struct vmop_lines *lines = calloc(1, sizeof(*lines));
	if (!lines)
		return &vmop_error_no_memory;
	lines->resolver = resolver;
	vmop_sym_budget_init_shared(&lines->budget, max_cpu_ns);
	lines->is_over = max_cpu_ns == 0;
	*ret = lines;
	return NULL;
}

static void destroy_image(struct vmop_image_lines *image)
{
	vmop_line_index_destroy(image->index);
	free(image);
}

void vmop_lines_destroy(struct vmop_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->n; i++)
		destroy_image(lines->images[i]);
	free(lines->images);
	free(lines);
}

/* Note what ran out. Memory or a table's bound concern one image; others may need less. */
static void renew(struct vmop_lines *lines)
{
	lines->is_over |= lines->budget.spent == VMOP_SYM_COST_CPU_TIME;
	lines->budget.spent = VMOP_SYM_COST_NONE;
}

static struct vmop_error *use_file(void *arg, const struct vmop_elf_file *dwarf,
				   const struct vmop_elf_file *layout, bool *ret_found)
{
	struct vmop_image_lines *image = arg;
	struct vmop_error *err = vmop_line_index_create(dwarf, layout, &image->index);
	*ret_found = image->index != NULL;
	return err;
}

/* Return a constant for an error. */
static const char *describe(const struct vmop_lines *lines)
{
	return lines->budget.spent == VMOP_SYM_COST_CPU_TIME ? out_of_time
	       : lines->budget.spent			     ? "its DWARF takes too much memory"
							     : "its DWARF is damaged";
}

struct vmop_error *vmop_lines_open(struct vmop_lines *lines, const struct vmop_image_ref *ref,
				   struct vmop_image_lines **ret, const char **ret_reason)
{
	*ret = NULL;
	*ret_reason = out_of_time;
	if (lines->is_over)
		return NULL;
	struct vmop_image_lines *image = calloc(1, sizeof(*image));
	if (!image || !vmop_array_reserve(lines->images, lines->capacity, lines->n + 1)) {
		free(image);
		return &vmop_error_no_memory;
	}
	lines->images[lines->n++] = image;
	struct vmop_error *err = vmop_dwarf_search(vmop_resolver_finder(lines->resolver), ref,
						   &lines->budget, use_file, image, ret_reason);
	if (err && err->code != VMOP_ERROR_NO_MEMORY) {
		*ret_reason = describe(lines);
		renew(lines);
		vmop_error_destroy(err);
		return NULL;
	}
	if (!err && image->index && ref->addresses)
		err = vmop_link_base(lines->resolver, ref, &image->base, ret_reason);
	if (!err && image->index && !*ret_reason)
		*ret = image;
	return err;
}

bool vmop_lines_find(struct vmop_lines *lines, struct vmop_image_lines *image, uint64_t offset,
		     struct vmop_line *ret)
{
	*ret = (struct vmop_line){0};
	if (lines->is_over)
		return false;
	if (vmop_line_index_find(image->index, image->base + offset, ret))
		return true;
	renew(lines);
	return false;
}
