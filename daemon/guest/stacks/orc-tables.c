// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/orc-tables.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/kernel-text.h"
#include "libstack/kernel/orc.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

/* Bits of an arm64 kernel's addresses where they are not known. */
enum { DEFAULT_VA_BITS = 48 };

/* ---- reading --------------------------------------------------------------- */

struct sections {
	struct vmop_orc_section *at; /* each with an allocation of its own at ips */
	size_t n, capacity;
	bool is_out_of_memory;
};

static void sections_cleanup(struct sections *sections)
{
	for (size_t i = 0; i < sections->n; i++)
		free((void *)sections->at[i].ips);
	free(sections->at);
}

static bool take_section(const struct vmop_guest_orc *orc, void *arg)
{
	struct sections *sections = arg;
	size_t len = orc->n * VMOP_ORC_BYTES;
	uint8_t *bytes = malloc(len);
	sections->is_out_of_memory =
		!bytes || !vmop_array_reserve(sections->at, sections->capacity, sections->n + 1);
	if (sections->is_out_of_memory) {
		free(bytes);
		return false;
	}
	memcpy(bytes, orc->ips, 4 * orc->n);
	memcpy(bytes + 4 * orc->n, orc->entries, VMOP_ORC_ENTRY_BYTES * orc->n);
	sections->at[sections->n++] = (struct vmop_orc_section){
		.text_start = orc->text_start,
		.text_end = orc->text_end,
		.ip_address = orc->ip_address,
		.n = orc->n,
		.ips = bytes,
		.entries = bytes + 4 * orc->n,
	};
	return true;
}

/* Set *ret to the guest's ORC tables; NULL: its kernel was built with frame pointers. */
static struct vmop_error *read_orc(struct vmop_guest *guest, struct vmop_orc **ret)
{
	_cleanup_(sections_cleanup) struct sections sections = {0};
	struct vmop_guest_orc_format found;
	struct vmop_error *err = vmop_guest_each_orc(guest, take_section, &sections, &found);
	*ret = NULL;
	if (err && err->code == VMOP_ERROR_NOT_FOUND) {
		vmop_error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	if (sections.is_out_of_memory)
		return &vmop_error_no_memory;
	const struct vmop_orc_format format = {
		.type_bit = found.type_bit, .type_bits = found.type_bits, .end_bit = found.end_bit};
	return vmop_orc_create(&format, sections.at, sections.n, ret);
}

static struct vmop_error *fill(struct vmop_guest_orc_tables *tables, struct vmop_guest *guest)
{
	const struct vmop_guest_kernel_info *kernel = vmop_guest_kernel_info(guest);
	if (!kernel)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no kernel was found in the guest");
	tables->records.va_bits = kernel->va_bits ? kernel->va_bits : DEFAULT_VA_BITS;
	tables->records.kind_at = vmop_guest_frame_record_kind(guest);
	tables->is_arm64 = strcmp(kernel->architecture, "arm64") == 0;
	return tables->is_arm64 ? NULL : read_orc(guest, &tables->orc);
}

static struct vmop_guest_orc_tables *create(void)
{
	struct vmop_guest_orc_tables *tables = calloc(1, sizeof(*tables));
	if (tables)
		tables->refs = 1;
	return tables;
}

struct vmop_error *vmop_guest_orc_tables_read(struct vmop_guest *guest,
					      struct vmop_guest_orc_tables **ret)
{
	struct vmop_guest_orc_tables *tables = create();
	if (!tables)
		return &vmop_error_no_memory;
	struct vmop_error *err = fill(tables, guest);
	if (err)
		vmop_guest_orc_tables_unref(tables);
	else
		*ret = tables;
	return err;
}

struct vmop_guest_orc_tables *
vmop_guest_orc_tables_publish(struct vmop_guest *guest, uint32_t code_generation, bool has_code,
			      const struct vmop_guest_orc_tables *before)
{
	struct vmop_guest_orc_tables *tables = create();
	if (!tables)
		return NULL;
	tables->code_generation = code_generation;
	tables->has_code = has_code;
	struct vmop_error *err = fill(tables, guest);
	if (err)
		tables->unusable = VMOP_STACK_UNREADABLE;
	vmop_error_destroy(err);
	if (tables->orc || tables->is_arm64)
		tables->text = vmop_guest_kernel_text_create(guest, has_code,
							     before ? before->text : NULL);
	return tables;
}

struct vmop_guest_orc_tables *vmop_guest_orc_tables_ref(struct vmop_guest_orc_tables *tables)
{
	if (tables)
		__atomic_add_fetch(&tables->refs, 1, __ATOMIC_RELAXED);
	return tables;
}

void vmop_guest_orc_tables_unref(struct vmop_guest_orc_tables *tables)
{
	if (!tables || __atomic_sub_fetch(&tables->refs, 1, __ATOMIC_ACQ_REL))
		return;
	vmop_guest_kernel_text_destroy(tables->text);
	vmop_orc_destroy(tables->orc);
	free(tables);
}

/* ---- unwinding ------------------------------------------------------------- */

void vmop_guest_orc_tables_unwind(const struct vmop_guest_orc_tables *tables,
				  const struct vmop_kernel_regs *regs,
				  const struct vmop_kernel_memory *memory,
				  struct vmop_stack_frame *frames, size_t max_frames,
				  struct vmop_kernel_unwound *ret)
{
	if (tables->is_arm64)
		vmop_frame_records_unwind(regs, &tables->records, memory, frames, max_frames, ret);
	else if (tables->orc)
		vmop_orc_unwind(tables->orc, regs, memory, frames, max_frames, ret);
	else
		vmop_kernel_frame_pointers_unwind(regs, memory, frames, max_frames, ret);
}
