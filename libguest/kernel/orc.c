// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/orc.h"

#include <stdlib.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/kernel/module-set.h"
#include "libguest/memory/page-table.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

/* A distribution's kernel has some 500,000 entries, a large module some 20,000. */
#define MAX_ENTRIES (4u << 20)

enum { IP_BYTES = 4, ENTRY_BYTES = 6 };

/* Read the two arrays of a table and visit it. Set *ret_goes_on to what visit returned. */
static struct vmop_error *visit_table(struct vmop_guest_space *space, struct vmop_guest_orc *orc,
				      uint64_t entries_address, vmop_guest_orc_fn *visit, void *arg,
				      bool *ret_goes_on)
{
	*ret_goes_on = true;
	if (!orc->n || orc->n > MAX_ENTRIES)
		return NULL;
	_cleanup_free_ uint8_t *bytes = malloc(orc->n * (IP_BYTES + ENTRY_BYTES));
	if (!bytes)
		return &vmop_error_no_memory;
	orc->ips = bytes;
	orc->entries = bytes + IP_BYTES * orc->n;
	if (vmop_guest_space_read(space, orc->ip_address, bytes, IP_BYTES * orc->n) &&
	    vmop_guest_space_read(space, entries_address, bytes + IP_BYTES * orc->n,
				  ENTRY_BYTES * orc->n))
		*ret_goes_on = visit(orc, arg);
	vmop_guest_space_take_fault(space); /* the code of this table is unwound without it */
	return NULL;
}

static bool read_format(const struct vmop_layout *layout, struct vmop_guest_orc_format *ret)
{
	const int32_t *value = layout->value;
	int32_t bit = value[VMOP_LAYOUT_ORC_TYPE_BIT], bits = value[VMOP_LAYOUT_ORC_TYPE_BITS];
	int32_t end = value[VMOP_LAYOUT_ORC_END_BIT];
	*ret = (struct vmop_guest_orc_format){0};
	if (value[VMOP_LAYOUT_ORC_ENTRY_BYTES] != ENTRY_BYTES || bit < 0 || bits < 0 ||
	    bit + bits > 8 * ENTRY_BYTES || end >= 8 * ENTRY_BYTES)
		return false;
	ret->type_bit = (uint8_t)bit;
	ret->type_bits = (uint8_t)bits;
	ret->end_bit = end < 0 ? 0 : (uint8_t)end;
	return true;
}

static struct vmop_error *visit_kernel(struct vmop_guest_kernel *kernel, vmop_guest_orc_fn *visit,
				       void *arg, bool *ret_goes_on)
{
	uint64_t ips = vmop_guest_kernel_symbol(kernel, "__start_orc_unwind_ip");
	uint64_t ips_end = vmop_guest_kernel_symbol(kernel, "__stop_orc_unwind_ip");
	uint64_t entries = vmop_guest_kernel_symbol(kernel, "__start_orc_unwind");
	if (!ips || !entries || ips_end <= ips)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "kernel %s has no ORC tables",
				      kernel->info.release);
	struct vmop_guest_orc orc = {.text_start = kernel->info.text_start,
				     .text_end = kernel->info.image_end,
				     .ip_address = ips,
				     .n = (ips_end - ips) / IP_BYTES};
	return visit_table(&kernel->space, &orc, entries, visit, arg, ret_goes_on);
}

static struct vmop_error *visit_module(struct vmop_guest_kernel *kernel,
				       const struct vmop_layout *layout,
				       const struct vmop_guest_module *module,
				       vmop_guest_orc_fn *visit, void *arg, bool *ret_goes_on)
{
	struct vmop_guest_space *space = &kernel->space;
	const int32_t *value = layout->value;
	*ret_goes_on = true;
	if (!module->object)
		return NULL;
	uint64_t at = module->object;
	struct vmop_guest_orc orc = {
		.text_start = module->text_start,
		.text_end = module->text_start + module->text_len_bytes,
		.ip_address = vmop_guest_space_u64(
			space, at + (uint32_t)value[VMOP_LAYOUT_MODULE_ORC_IPS]),
		.n = vmop_guest_space_u32(space,
					  at + (uint32_t)value[VMOP_LAYOUT_MODULE_ORC_COUNT]),
	};
	uint64_t entries =
		vmop_guest_space_u64(space, at + (uint32_t)value[VMOP_LAYOUT_MODULE_ORC_ENTRIES]);
	if (vmop_guest_space_take_fault(space))
		return NULL; /* unloaded meanwhile */
	return visit_table(space, &orc, entries, visit, arg, ret_goes_on);
}

struct vmop_error *vmop_guest_orc_read(struct vmop_guest_kernel *kernel,
				       const struct vmop_layout *layout,
				       const struct vmop_guest_module_set *modules,
				       vmop_guest_orc_fn *visit, void *arg,
				       struct vmop_guest_orc_format *ret_format)
{
	bool goes_on;
	bool has_tables = vmop_guest_kernel_symbol(kernel, "__start_orc_unwind_ip") != 0;
	if (!read_format(layout, ret_format) && has_tables)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "kernel %s: the form of its ORC tables is not known",
				      kernel->info.release);
	struct vmop_error *err = visit_kernel(kernel, visit, arg, &goes_on);
	bool has_modules = modules && vmop_layout_has(layout, VMOP_LAYOUT_MODULE_ORC_COUNT) &&
			   vmop_layout_has(layout, VMOP_LAYOUT_MODULE_ORC_IPS) &&
			   vmop_layout_has(layout, VMOP_LAYOUT_MODULE_ORC_ENTRIES);
	size_t n = has_modules ? vmop_guest_module_set_count(modules) : 0;
	for (size_t i = 0; !err && goes_on && i < n; i++)
		err = visit_module(kernel, layout, vmop_guest_module_set_get(modules, i), visit,
				   arg, &goes_on);
	return err;
}
