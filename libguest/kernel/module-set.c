// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/module-set.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/error.h"

#define MAX_SYMBOLS (1u << 20)
#define MAX_POOL_BYTES (1u << 30) /* of names: handles have 32 bits */

struct vmop_guest_module_set {
	struct vmop_guest_module *module;
	uint32_t *first_symbol; /* index of each module's first symbol */
	size_t modules, modules_size, first_symbol_size;
	struct vmop_guest_module_symbol *symbol;
	size_t symbols, symbols_size;
	char *pool; /* names; a handle is an offset in it */
	size_t pool_len, pool_size;
	uint64_t signature;
};

struct vmop_error *vmop_guest_module_set_new(struct vmop_guest_module_set **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

void vmop_guest_module_set_free(struct vmop_guest_module_set *set)
{
	if (!set)
		return;
	free(set->module);
	free(set->first_symbol);
	free(set->symbol);
	free(set->pool);
	free(set);
}

/* --- construction ------------------------------------------------------------ */

bool vmop_guest_module_set_add_name(struct vmop_guest_module_set *set, const char *name,
				    uint32_t *ret)
{
	size_t len = strlen(name) + 1;
	if (set->pool_len + len > MAX_POOL_BYTES ||
	    !vmop_array_reserve(set->pool, set->pool_size, set->pool_len + len))
		return false;
	memcpy(set->pool + set->pool_len, name, len);
	*ret = (uint32_t)set->pool_len;
	set->pool_len += len;
	return true;
}

struct vmop_guest_module *vmop_guest_module_set_add(struct vmop_guest_module_set *set,
						    uint32_t name,
						    enum vmop_guest_kernel_text_kind kind,
						    uint64_t start, uint64_t len_bytes)
{
	if (!vmop_array_reserve(set->module, set->modules_size, set->modules + 1) ||
	    !vmop_array_reserve(set->first_symbol, set->first_symbol_size, set->modules + 1))
		return NULL;
	set->first_symbol[set->modules] = (uint32_t)set->symbols;
	struct vmop_guest_module *module = &set->module[set->modules++];
	*module = (struct vmop_guest_module){.name = (const char *)(uintptr_t)name,
					     .kind = kind,
					     .text_start = start,
					     .text_len_bytes = len_bytes,
					     .start = start,
					     .len_bytes = len_bytes};
	return module;
}

bool vmop_guest_module_set_add_symbol(struct vmop_guest_module_set *set,
				      const struct vmop_guest_module_symbol *symbol, bool of_last)
{
	if (set->symbols == MAX_SYMBOLS)
		return true;
	if (!vmop_array_reserve(set->symbol, set->symbols_size, set->symbols + 1))
		return false;
	set->symbol[set->symbols++] = *symbol;
	if (of_last)
		set->module[set->modules - 1].symbols++;
	return true;
}

void vmop_guest_module_set_finish(struct vmop_guest_module_set *set, uint64_t signature)
{
	set->signature = signature;
	for (size_t i = 0; i < set->modules; i++)
		set->module[i].name = set->pool + (uintptr_t)set->module[i].name;
}

/* --- look-ups ---------------------------------------------------------------- */

uint64_t vmop_guest_module_set_signature(const struct vmop_guest_module_set *set)
{
	return set->signature;
}

size_t vmop_guest_module_set_count(const struct vmop_guest_module_set *set)
{
	return set->modules;
}

const struct vmop_guest_module *vmop_guest_module_set_get(const struct vmop_guest_module_set *set,
							  size_t index)
{
	return &set->module[index];
}

size_t vmop_guest_module_set_symbol_count(const struct vmop_guest_module_set *set)
{
	return set->symbols;
}

void vmop_guest_module_set_symbol(const struct vmop_guest_module_set *set, size_t index,
				  struct vmop_guest_symbol *ret)
{
	const struct vmop_guest_module_symbol *symbol = &set->symbol[index];
	*ret = (struct vmop_guest_symbol){.address = symbol->address,
					  .len_bytes = symbol->len_bytes,
					  .name = set->pool + symbol->name,
					  .module = set->pool + symbol->module,
					  .type = symbol->type};
}

bool vmop_guest_module_set_symbol_at(const struct vmop_guest_module_set *set, uint64_t address,
				     struct vmop_guest_symbol *ret)
{
	for (size_t i = 0; i < set->modules; i++) {
		const struct vmop_guest_module *module = &set->module[i];
		const struct vmop_guest_module_symbol *best = NULL;
		if (address - module->start >= module->len_bytes)
			continue;
		for (uint32_t j = 0; j < module->symbols; j++) {
			const struct vmop_guest_module_symbol *symbol =
				&set->symbol[set->first_symbol[i] + j];
			if (symbol->address <= address &&
			    (!best || symbol->address > best->address))
				best = symbol;
		}
		if (best) {
			vmop_guest_module_set_symbol(set, (size_t)(best - set->symbol), ret);
			return true;
		}
	}
	return false;
}
