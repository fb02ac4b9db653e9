// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/inlines.h"

#include <stdlib.h>

#include "libsym/dwarf/inline-index.h"
#include "libsym/dwarf/search.h"
#include "libsym/link-base.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

struct vmop_inlines {
	struct vmop_resolver *resolver;
	struct vmop_sym_budget budget;
	bool is_over;			    /* no CPU time is left */
	struct vmop_inline_index **indexes; /* n; owned */
	size_t n, capacity;
};

_Static_assert(VMOP_INLINES_MAX == VMOP_INLINE_INDEX_MAX, "the same bound");

static const char out_of_time[] = "there was no CPU time left";

struct vmop_error *vmop_inlines_create(struct vmop_resolver *resolver, uint64_t max_cpu_ns,
				       struct vmop_inlines **ret)
{
	struct vmop_inlines *inlines = calloc(1, sizeof(*inlines));
	if (!inlines)
		return &vmop_error_no_memory;
	inlines->resolver = resolver;
	vmop_sym_budget_init_shared(&inlines->budget, max_cpu_ns);
	inlines->is_over = max_cpu_ns == 0;
	*ret = inlines;
	return NULL;
}

void vmop_inlines_destroy(struct vmop_inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->n; i++)
		vmop_inline_index_destroy(inlines->indexes[i]);
	free(inlines->indexes);
	free(inlines);
}

bool vmop_inlines_are_over(struct vmop_inlines *inlines)
{
	if (!inlines->is_over && !vmop_sym_budget_look(&inlines->budget))
		inlines->is_over = inlines->budget.spent == VMOP_SYM_COST_CPU_TIME;
	return inlines->is_over;
}

/* Note what ran out. Memory or a table's bound concern one image; others may need less. */
static void renew(struct vmop_inlines *inlines)
{
	inlines->is_over |= inlines->budget.spent == VMOP_SYM_COST_CPU_TIME;
	inlines->budget.spent = VMOP_SYM_COST_NONE;
}

static struct vmop_error *use_file(void *arg, const struct vmop_elf_file *dwarf,
				   const struct vmop_elf_file *layout, bool *ret_found)
{
	struct vmop_inline_index **found = arg;
	struct vmop_error *err = vmop_inline_index_create(dwarf, layout, found);
	*ret_found = *found != NULL;
	return err;
}

struct vmop_error *vmop_inlines_open(struct vmop_inlines *inlines, const struct vmop_image_ref *ref,
				     struct vmop_inline_index **ret, const char **ret_reason)
{
	struct vmop_inline_index *found = NULL;
	uint64_t base = 0;
	*ret = NULL;
	*ret_reason = out_of_time;
	if (vmop_inlines_are_over(inlines))
		return NULL;
	if (!vmop_array_reserve(inlines->indexes, inlines->capacity, inlines->n + 1))
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_dwarf_search(vmop_resolver_finder(inlines->resolver), ref,
						   &inlines->budget, use_file, &found, ret_reason);
	if (found)
		inlines->indexes[inlines->n++] = found;
	if (!err && found && ref->addresses)
		err = vmop_link_base(inlines->resolver, ref, &base, ret_reason);
	if (!err && found && !*ret_reason) {
		vmop_inline_index_set_base(found, base);
		*ret = found;
	}
	if (!err || err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	*ret_reason = inlines->budget.spent == VMOP_SYM_COST_CPU_TIME ? out_of_time
		      : inlines->budget.spent ? "its DWARF takes too much memory"
					      : "its DWARF is damaged";
	renew(inlines);
	vmop_error_destroy(err);
	return NULL;
}

bool vmop_inlines_find(struct vmop_inlines *inlines, struct vmop_inline_index *index,
		       uint64_t offset, const char *ret_names[VMOP_INLINES_MAX], size_t *ret_n)
{
	*ret_n = 0;
	if (inlines->is_over)
		return false;
	if (vmop_inline_index_find(index, offset, ret_names, ret_n))
		return true;
	renew(inlines);
	return false;
}
