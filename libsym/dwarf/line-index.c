// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/line-index.h"

#include <dwarf.h>
#include <stdlib.h>

#include "libsym/dwarf/line-cost.h"
#include "libsym/dwarf/units.h"
#include "libutil/cleanup.h"

/* Steps for a byte of a line table: libdw decodes a row and sorts it. */
enum { STEPS_PER_BYTE = 64 };

struct unit {
	bool is_read;
	Dwarf_Lines *lines; /* NULL: none that can be read; by ascending address */
	size_t n_lines;
	const char *folder;
};

struct vmop_line_index {
	struct vmop_dwarf_units units;
	struct unit *read; /* by unit */
};

static const char *read_folder(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *folder =
		dwarf_attr(die, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
	return folder ? folder : "";
}

/*
 * Decode the line table of a unit. Charge the most that it can cost, and afterwards what the
 * process grew by. Return false if the budget ran out; a damaged table is none.
 */
static bool read_lines(struct vmop_line_index *index, Dwarf_Die *die, struct unit *unit)
{
	struct vmop_dwarf_units *units = &index->units;
	const struct vmop_debug_sections *sections = &units->sections;
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	uint64_t cost_bytes;
	if (!dwarf_attr(die, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &offset) ||
	    !vmop_line_cost(sections->lines, sections->lines_len_bytes, offset,
			    VMOP_DEBUG_PATH_MAX_BYTES, &cost_bytes))
		return true;
	if (!vmop_sym_budget_take_steps(units->budget, cost_bytes / 128 * STEPS_PER_BYTE) ||
	    !vmop_dwarf_units_charge(units, cost_bytes))
		return false;
	uint64_t before_bytes = vmop_dwarf_resident_bytes();
	if (dwarf_getsrclines(die, &unit->lines, &unit->n_lines)) {
		unit->lines = NULL;
		unit->n_lines = 0;
	}
	uint64_t after_bytes = vmop_dwarf_resident_bytes();
	uint64_t grown_bytes = after_bytes > before_bytes ? after_bytes - before_bytes : 0;
	if (grown_bytes < cost_bytes)
		vmop_dwarf_units_discharge(units, cost_bytes - grown_bytes);
	return vmop_sym_budget_look(units->budget);
}

static bool read_unit(struct vmop_line_index *index, uint32_t number)
{
	struct unit *unit = &index->read[number];
	Dwarf_Die die;
	if (unit->is_read)
		return true;
	unit->is_read = true;
	unit->folder = "";
	if (!dwarf_offdie(index->units.dwarf, index->units.entries[number], &die))
		return true;
	unit->folder = read_folder(&die);
	return read_lines(index, &die, unit);
}

/* Return the last row at or before an address, or NULL. */
static Dwarf_Line *find_row(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->n_lines;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr at = 0;
		if (dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &at))
			return NULL;
		if (at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? dwarf_onesrcline(unit->lines, low - 1) : NULL;
}

bool vmop_line_index_find(struct vmop_line_index *index, uint64_t offset, struct vmop_line *ret)
{
	uint64_t address;
	bool is_end = true;
	int number;
	*ret = (struct vmop_line){0};
	uint32_t unit = vmop_dwarf_units_find(&index->units, offset, &address);
	if (unit == VMOP_RANGE_NONE)
		return true;
	if (!read_unit(index, unit) || !vmop_sym_budget_take_steps(index->units.budget, 64))
		return false;
	Dwarf_Line *row = find_row(&index->read[unit], address);
	if (!row || dwarf_lineendsequence(row, &is_end) || is_end || dwarf_lineno(row, &number))
		return true;
	ret->path = dwarf_linesrc(row, NULL, NULL);
	ret->folder = index->read[unit].folder;
	ret->number = number > 0 ? (uint32_t)number : 0;
	return true;
}

static void destroy_cleanup(struct vmop_line_index **index)
{
	vmop_line_index_destroy(*index);
}

struct vmop_error *vmop_line_index_create(const struct vmop_elf_file *dwarf,
					  const struct vmop_elf_file *layout,
					  struct vmop_line_index **ret)
{
	_cleanup_(destroy_cleanup) struct vmop_line_index *index = calloc(1, sizeof(*index));
	*ret = NULL;
	if (!index)
		return &vmop_error_no_memory;
	struct vmop_dwarf_units *units = &index->units;
	struct vmop_error *err = vmop_dwarf_units_init(units, dwarf, layout, VMOP_DEBUG_LINES);
	if (err || !units->dwarf)
		return err;
	if (!vmop_dwarf_units_charge(units, units->n * sizeof(*index->read)))
		return vmop_sym_budget_error(units->budget, dwarf->path);
	index->read = calloc(units->n + 1, sizeof(*index->read));
	if (!index->read)
		return &vmop_error_no_memory;
	*ret = vmop_steal(&index);
	return NULL;
}

void vmop_line_index_destroy(struct vmop_line_index *index)
{
	if (!index)
		return;
	free(index->read);
	vmop_dwarf_units_deinit(&index->units);
	free(index);
}
