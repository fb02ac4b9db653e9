// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/idle.h"

#include <stddef.h>
#include <string.h>

const struct vmop_symbol vmop_idle_symbol = {.name = "[idle]", .type = 't'};

/*
 * From Linux 5.4 to 6.12: arch/x86/kernel/process.c and paravirt.c, arch/x86/xen/irq.c,
 * arch/arm64/kernel/idle.c and process.c, kernel/sched/idle.c, drivers/idle/intel_idle.c,
 * drivers/acpi/processor_idle.c, drivers/cpuidle/.  From Xen 4.17: arch/x86/domain.c,
 * acpi/cpu_idle.c and cpu/mwait-idle.c.  In order of strcmp(3).
 *
 * cpuidle_enter_state and default_idle_call enable interrupts again: without NMIs, the samples of
 * the sleep that ended fall into them.
 */
static const char *const names[] = {
	"acpi_idle_do_entry",
	"acpi_idle_enter",
	"acpi_idle_enter_bm",
	"acpi_idle_enter_s2idle",
	"acpi_processor_ffh_cstate_enter",
	"acpi_processor_idle",
	"acpi_safe_halt",
	"amd_e400_idle",
	"arch_cpu_idle",
	"cpu_do_idle",
	"cpu_idle_poll",
	"cpuidle_enter_state",
	"default_enter_idle",
	"default_idle",
	"default_idle_call",
	"intel_idle",
	"intel_idle_hlt",
	"intel_idle_hlt_irq_on",
	"intel_idle_ibrs",
	"intel_idle_irq",
	"intel_idle_s2idle",
	"intel_idle_xstate",
	"io_idle",
	"mwait_idle",
	"mwait_idle_with_hints",
	"native_safe_halt",
	"poll_idle",
	"psci_enter_idle_state",
	"pv_native_safe_halt",
	"tdx_safe_halt",
	"xen_safe_halt",
};

bool vmop_idle_is_possible(enum vmop_image_kind kind)
{
	return kind == VMOP_IMAGE_KERNEL || kind == VMOP_IMAGE_MODULE ||
	       kind == VMOP_IMAGE_GUEST_KERNEL || kind == VMOP_IMAGE_HYPERVISOR;
}

struct vmop_idle_range vmop_idle_find_range(const struct vmop_symtab *symtab)
{
	static const char start[] = "__cpuidle_text_start", end[] = "__cpuidle_text_end";
	struct vmop_idle_range range = {0};
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	bool has_start = false, has_end = false;
	for (size_t i = 0; i < n && !(has_start && has_end); i++) {
		const char *name = symbols[i].name;
		/* A kernel has 100,000 symbols: most are not worth a call. */
		if (name[0] != '_' || name[1] != '_' || name[2] != 'c')
			continue;
		if (!strcmp(name, start)) {
			range.start = symbols[i].offset;
			has_start = true;
		} else if (!strcmp(name, end)) {
			range.end = symbols[i].offset;
			has_end = true;
		}
	}
	/* The section has some KiB: a larger range is an error. */
	bool is_sane = has_start && has_end && range.end > range.start &&
		       range.end - range.start <= UINT64_C(1) << 20;
	return is_sane ? range : (struct vmop_idle_range){0};
}

/* Return whether name is in the list, without a suffix of the compiler such as ".constprop.0". */
static bool is_named(const char *name)
{
	size_t len = strcspn(name, "."), low = 0, high = sizeof(names) / sizeof(*names);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(name, names[middle], len);
		if (!order && names[middle][len])
			order = -1;
		if (!order)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

bool vmop_idle_is_function(const struct vmop_idle_range *range, const struct vmop_symbol *symbol)
{
	bool is_inside = symbol->offset >= range->start && symbol->offset < range->end;
	return is_inside || is_named(symbol->name);
}
