// SPDX-License-Identifier: GPL-2.0-or-later
/* The build of tables: from an image's FDEs to the rows of table-builder.h. */
#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "libstack/budget.h"
#include "libstack/cie-cache.h"
#include "libstack/fde-index.h"
#include "libstack/functions.h"
#include "libstack/image.h"
#include "libstack/table-builder.h"
#include "libstack/table-layout.h"
#include "libstack/table.h"
#include "libutil/error.h"

/* Compilers and linkers align functions by up to so many bytes without instructions that run. */
enum { MAX_PADDING_BYTES = 16 };

/* The longest `_start` without CFI. ld.so's has some twenty bytes. */
enum { MAX_ENTRY_POINT_BYTES = 64 };

enum { EH_FRAME, DEBUG_FRAME, N_SECTIONS };

enum { DWARF_X86_64_RBX = 3 };

struct build {
	struct vmop_cfi_budget budget;
	struct vmop_cfi_image image;
	struct vmop_cfi_section sections[N_SECTIONS];
	struct vmop_fde_index index; /* of .eh_frame */
	struct vmop_cie_cache caches[N_SECTIONS];
	struct vmop_cfi_functions functions;
	struct vmop_cfi_builder builder;
	uint64_t extra_column; /* of the rows; VMOP_CFI_NO_COLUMN at first */
};

static void build_deinit(struct build *build)
{
	vmop_cfi_builder_deinit(&build->builder);
	vmop_cfi_functions_deinit(&build->functions, &build->budget);
	vmop_fde_index_deinit(&build->index, &build->budget);
	for (size_t i = 0; i < N_SECTIONS; i++)
		vmop_cfi_image_free_cfi(&build->sections[i], &build->budget);
}

static struct vmop_error *add_section(struct build *build, int i)
{
	static const struct vmop_fde_index no_index;
	struct vmop_cfi_section *section = &build->sections[i];
	struct vmop_error *err =
		vmop_cfi_image_read_cfi(&build->image, i == DEBUG_FRAME, &build->budget, section);
	if (!err && section->n_holes > 0)
		err = vmop_fde_index_read(&build->image, section, &build->budget, &build->index);
	if (err || !section->bytes)
		return err;
	return vmop_cfi_functions_add(&build->functions, &build->image, section,
				      i == EH_FRAME ? &build->index : &no_index, &build->caches[i],
				      &build->budget);
}

static struct vmop_error *find_functions(struct build *build)
{
	struct vmop_error *err = NULL;
	for (int i = 0; i < N_SECTIONS && !err; i++)
		err = add_section(build, i);
	if (!err && build->functions.is_partial && !build->functions.n)
		err = vmop_error_new(VMOP_ERROR_CORRUPT,
				     "its call frame information can't be read");
	return err ? err : vmop_cfi_functions_arrange(&build->functions, &build->budget);
}

/* The records of the function being added. */
struct records {
	const struct vmop_cfi_section *section;
	const struct vmop_cached_cie *cached;
	struct vmop_cfi_fde fde;
};

/* Read the records of a function again. They were good before, and the section has not changed. */
static void read_records(struct build *build, const struct vmop_cfi_function *function,
			 struct records *ret)
{
	int i = function->is_debug_frame ? DEBUG_FRAME : EH_FRAME;
	size_t offset = function->record;
	struct vmop_cfi_record record;
	ret->section = &build->sections[i];
	vmop_cfi_next_record(ret->section, &offset, &record);
	ret->cached = vmop_cie_cache_get(&build->caches[i], ret->section, record.cie_offset,
					 &build->budget);
	vmop_cfi_read_fde(ret->section, &record, &ret->cached->cie, &ret->fde);
}

static bool keep_records(struct build *build, const struct vmop_cfi_function *function,
			 const struct records *records)
{
	struct vmop_cfi_kept_entry entry = {
		.start = function->start,
		.end = function->start + function->len_bytes,
		.function_address = records->fde.function_address,
		.function_bytes = records->fde.function_bytes,
		.address_minus_offset = records->fde.function_address - function->start,
	};
	return vmop_cfi_builder_keep(&build->builder, records->section,
				     &records->cached->cie.record, &records->fde.record, &entry);
}

/* Add a function's rows. False: a limit was reached. */
static bool add_function(struct build *build, const struct vmop_cfi_function *function)
{
	struct records records;
	struct vmop_cfi_program program;
	bool needs_records = false, is_ok = true;
	read_records(build, function, &records);
	vmop_cfi_program_begin(&program, records.section, &records.cached->cie,
			       &records.cached->initial, &records.fde, build->extra_column);
	while (is_ok && vmop_cfi_program_next(&program) && program.from < function->len_bytes) {
		enum vmop_cfi_kind kind = VMOP_CFI_NONE;
		is_ok = vmop_cfi_builder_add(&build->builder, function->start + program.from,
					     &program.row, records.cached->cie.is_signal, &kind);
		needs_records |= kind == VMOP_CFI_EXPRESSION;
	}
	if (is_ok && program.is_bad && program.from < function->len_bytes)
		is_ok = vmop_cfi_builder_add_none(&build->builder, function->start + program.from);
	return is_ok && (!needs_records || keep_records(build, function, &records)) &&
	       vmop_cfi_budget_work(&build->budget, records.fde.record.len_bytes);
}

static struct vmop_error *add_functions(struct build *build)
{
	const struct vmop_cfi_functions *functions = &build->functions;
	uint64_t padding_bytes = functions->is_partial ? 0 : MAX_PADDING_BYTES;
	for (size_t i = 0; i < functions->n; i++) {
		const struct vmop_cfi_function *function = &functions->items[i];
		uint64_t end = function->start + function->len_bytes;
		bool is_gap = i + 1 == functions->n || function[1].start - end > padding_bytes;
		if (!add_function(build, function) ||
		    (is_gap && !vmop_cfi_builder_add_none(&build->builder, end)))
			return vmop_cfi_budget_error(&build->budget);
	}
	return NULL;
}

/* Find the end of the function at the entry point: where the next one begins, or a few bytes on. */
static void set_entry_point(const struct build *build, struct vmop_cfi_table *table)
{
	const struct vmop_cfi_functions *functions = &build->functions;
	const struct vmop_cfi_segment *segment =
		vmop_cfi_image_segment(&build->image, build->image.entry);
	if (!segment || !build->image.entry)
		return;
	uint64_t start = segment->offset + (build->image.entry - segment->address);
	table->entry_point = start;
	table->entry_point_end = start + MAX_ENTRY_POINT_BYTES;
	for (size_t i = 0; i < functions->n; i++) {
		if (functions->items[i].start <= start)
			continue;
		if (functions->items[i].start < table->entry_point_end)
			table->entry_point_end = functions->items[i].start;
		break;
	}
}

/* Return the serial number of a new table. */
static uint32_t next_serial(void)
{
	static _Atomic uint64_t last;
	uint64_t serial = atomic_fetch_add(&last, 1) + 1;
	return serial <= UINT32_MAX ? (uint32_t)serial : 0;
}

/* Begin to add functions, with rows for the register of a column. */
static void begin(struct build *build, uint64_t extra_column)
{
	const struct vmop_cfi_row_kind kind = {.machine = build->image.machine,
					       .has_extra = extra_column != VMOP_CFI_NO_COLUMN};
	build->extra_column = extra_column;
	for (size_t i = 0; i < N_SECTIONS; i++)
		vmop_cie_cache_init(&build->caches[i], extra_column);
	vmop_cfi_builder_init(&build->builder, kind, &build->budget);
}

/*
 * Return whether a function's CFA is rbx and an offset. glibc's ld.so has some, which call others:
 * `_dl_runtime_resolve`. The frames that they call must know where rbx is saved.
 */
static bool has_cfa_by_rbx(const struct build *build)
{
	const struct vmop_cfi_rule_set *set = &build->builder.rules;
	for (size_t i = 0; build->image.machine == EM_X86_64 && i < set->n; i++)
		if ((set->rules[i].kind == VMOP_CFI_REGISTER ||
		     set->rules[i].kind == VMOP_CFI_DEREF) &&
		    set->rules[i].cfa_register == DWARF_X86_64_RBX)
			return true;
	return false;
}

/* Add the functions, a second time if they need rbx: its rows would take room in every table. */
static struct vmop_error *add_functions_and_rbx(struct build *build)
{
	struct vmop_error *err = add_functions(build);
	if (err || !has_cfa_by_rbx(build))
		return err;
	vmop_cfi_builder_deinit(&build->builder);
	begin(build, DWARF_X86_64_RBX);
	return add_functions(build);
}

static struct vmop_error *run_build(struct build *build, struct vmop_cfi_table **ret)
{
	struct vmop_error *err = vmop_cfi_image_read(&build->image);
	begin(build, VMOP_CFI_NO_COLUMN);
	if (!err)
		err = find_functions(build);
	if (!err)
		err = add_functions_and_rbx(build);
	if (!err)
		err = vmop_cfi_builder_finish(&build->builder, ret);
	if (err)
		return err;
	(*ret)->serial = next_serial();
	(*ret)->machine = build->image.machine;
	(*ret)->ends_with_zero = build->image.is_go;
	(*ret)->is_partial = build->functions.is_partial;
	(*ret)->text_bytes = build->image.text_bytes;
	set_entry_point(build, *ret);
	return NULL;
}

static struct vmop_error *build_image(const struct vmop_cfi_image *image,
				      const struct vmop_cfi_limits *limits,
				      struct vmop_cfi_table **ret)
{
	struct build *build = calloc(1, sizeof(*build));
	if (!build)
		return &vmop_error_no_memory;
	build->image = *image;
	vmop_cfi_budget_init(&build->budget, limits);
	struct vmop_error *err = run_build(build, ret);
	build_deinit(build);
	free(build);
	return err;
}

struct vmop_error *vmop_cfi_table_build(int fd, const struct vmop_cfi_limits *limits,
					struct vmop_cfi_table **ret)
{
	struct vmop_cfi_image image = {.fd = fd};
	return build_image(&image, limits, ret);
}

struct vmop_error *vmop_cfi_table_build_from_memory(const void *memory, size_t len_bytes,
						    const struct vmop_cfi_limits *limits,
						    struct vmop_cfi_table **ret)
{
	struct vmop_cfi_image image = {.fd = -1, .memory = memory, .memory_bytes = len_bytes};
	return build_image(&image, limits, ret);
}

struct vmop_error *vmop_cfi_table_build_by(const struct vmop_cfi_reader *reader,
					   const struct vmop_cfi_limits *limits,
					   struct vmop_cfi_table **ret)
{
	struct vmop_cfi_image image = {.reader = reader, .fd = -1};
	return build_image(&image, limits, ret);
}
