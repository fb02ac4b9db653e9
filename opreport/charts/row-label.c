// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/row-label.h"

#include <inttypes.h>
#include <string.h>

#include "vmop/domain.h"

/* The dimensions that have names, from the most specific one. */
static const struct {
	unsigned dimension;
	const char *plural;
} dimensions_named[] = {
	{VMOP_BY_SYMBOL, "Functions"}, {VMOP_BY_IMAGE, "Images"},
	{VMOP_BY_TASK, "Tasks"},       {VMOP_BY_CGROUP, "Cgroups"},
	{VMOP_BY_CPU, "CPUs"},	       {VMOP_BY_VCPU, "vCPUs"},
	{VMOP_BY_MODE, "Modes"},       {VMOP_BY_CERTAINTY, "Certainties"},
	{VMOP_BY_SESSION, "Sessions"}, {VMOP_BY_LIFE, "Lives"},
	{VMOP_BY_DOMAIN, "Domains"},
};

#define N_NAMED (sizeof(dimensions_named) / sizeof(*dimensions_named))

static const char *mode_name(const struct vmop_group *group)
{
	switch (group->mode - 1) {
	case VMOP_MODE_USER:
		return "user";
	case VMOP_MODE_KERNEL:
		return "kernel";
	case VMOP_MODE_HYPERVISOR:
		return "hypervisor";
	default:
		return "unknown mode";
	}
}

static const char *certainty_name(const struct vmop_group *group)
{
	static const char *const names[] = {"exact", "likely", "ambiguous"};
	unsigned certainty = group->certainty - 1u;
	return certainty < sizeof(names) / sizeof(*names) ? names[certainty] : "unknown";
}

/* Return a copy of a number with a word before it, or NULL without memory. */
static const char *number_text(struct vmop_arena *arena, const char *word, bool is_known,
			       uint32_t number)
{
	return is_known ? vmop_arena_format(arena, "%s %" PRIu32, word, number) : "-";
}

/* Return the command, with its pid where the row is of one process. */
static const char *task_name(const struct vmop_result *result, const struct vmop_row *row,
			     struct vmop_arena *arena)
{
	const struct vmop_task_item *task = vmop_row_task(result, row);
	if (!task->pid)
		return task->comm;
	return vmop_arena_format(arena, "%s, %" PRIu32, task->comm, task->pid);
}

/* Return the image's name; without domains in the label, kernels of all domains have one name. */
static const char *image_name(const struct vmop_image_item *image, bool with_domain)
{
	bool is_kernel = image->kind == VMOP_IMAGE_KERNEL || image->kind == VMOP_IMAGE_GUEST_KERNEL;
	return is_kernel && !with_domain ? "[kernel]" : vmop_image_base_name(image->name);
}

/* Return the row's name in one of the dimensions, or NULL without memory. */
static const char *name_in(struct vmop_result *result, struct vmop_row *row, unsigned dimension,
			   unsigned dimensions, struct vmop_arena *arena)
{
	const struct vmop_group *group = row->group;
	switch (dimension) {
	case VMOP_BY_SYMBOL:
		return vmop_result_symbol_name(result, row);
	case VMOP_BY_IMAGE:
		return image_name(vmop_row_image(result, row), dimensions & VMOP_BY_DOMAIN);
	case VMOP_BY_TASK:
		return task_name(result, row, arena);
	case VMOP_BY_CGROUP:
		return vmop_row_cgroup(result, row);
	case VMOP_BY_CPU:
		return number_text(arena, "CPU", vmop_group_has_cpu(group), group->cpu - 2);
	case VMOP_BY_VCPU:
		return number_text(arena, "vCPU", vmop_group_has_vcpu(group), group->vcpu - 2);
	case VMOP_BY_MODE:
		return mode_name(group);
	case VMOP_BY_CERTAINTY:
		return certainty_name(group);
	case VMOP_BY_SESSION:
		return vmop_row_session(result, row);
	case VMOP_BY_LIFE:
		return vmop_row_domain(result, row)->life_name;
	default:
		return vmop_row_domain(result, row)->name;
	}
}

/* Set *detail to it and one more name. */
static struct vmop_error *append(struct vmop_arena *arena, const char **detail, const char *name)
{
	if (!*detail) {
		*detail = name;
		return NULL;
	}
	*detail = vmop_arena_format(arena, "%s, %s", *detail, name);
	return *detail ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_row_label(struct vmop_result *result, struct vmop_row *row,
				  unsigned dimensions, bool with_pids, struct vmop_arena *arena,
				  struct vmop_row_label *ret)
{
	*ret = (struct vmop_row_label){0};
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < N_NAMED && !err; i++) {
		unsigned dimension = dimensions_named[i].dimension;
		if (!(dimensions & dimension))
			continue;
		const char *name = dimension == VMOP_BY_TASK && !with_pids
					   ? vmop_row_task(result, row)->comm
					   : name_in(result, row, dimension, dimensions, arena);
		if (!name)
			return &vmop_error_no_memory;
		if (!ret->name)
			ret->name = name;
		else if (*name)
			err = append(arena, &ret->detail, name);
	}
	if (!ret->name)
		ret->name = "all";
	return err;
}

int vmop_row_label_compare(const struct vmop_row_label *a, const struct vmop_row_label *b)
{
	int order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->detail ? a->detail : "", b->detail ? b->detail : "");
}

const char *vmop_row_label_plural(unsigned dimensions)
{
	for (size_t i = 0; i < N_NAMED; i++) {
		if (dimensions & dimensions_named[i].dimension)
			return dimensions_named[i].plural;
	}
	return "All samples";
}
