// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/kallsyms.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libsym/symtab-builder.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/* On average. Decides the initial capacity. */
#define BYTES_PER_LINE 44

struct module {
	const char *name;
	uint32_t index;
	size_t n;
	UT_hash_handle hh;
};

struct parsed {
	struct vmop_sym_budget *budget;
	struct vmop_symbol *symbols;
	uint32_t *modules; /* module index of each symbol; NULL: not wanted */
	size_t n, capacity;
	struct module *by_name;
	struct module *last;
	bool any_address;
};

/* Return the memory per symbol. */
static size_t each_bytes(const struct parsed *parsed)
{
	return sizeof(*parsed->symbols) + (parsed->modules ? sizeof(*parsed->modules) : 0);
}

static void parsed_deinit(struct parsed *parsed)
{
	struct module *module, *next;
	HASH_ITER (hh, parsed->by_name, module, next) {
		HASH_DEL(parsed->by_name, module);
		free(module);
	}
	vmop_sym_budget_give_memory(parsed->budget, parsed->capacity * each_bytes(parsed));
	free(parsed->symbols);
	free(parsed->modules);
}

static struct vmop_error *find_module(struct parsed *parsed, const char *name, struct module **ret)
{
	if (parsed->last && strcmp(parsed->last->name, name) == 0) {
		*ret = parsed->last;
		return NULL;
	}
	struct module *module;
	HASH_FIND_STR(parsed->by_name, name, module);
	if (!module) {
		if (HASH_COUNT(parsed->by_name) >= VMOP_KALLSYMS_MAX_MODULES)
			return vmop_error_new(VMOP_ERROR_LIMIT, "more than %d modules",
					      VMOP_KALLSYMS_MAX_MODULES);
		module = calloc(1, sizeof(*module));
		if (!module)
			return &vmop_error_no_memory;
		module->name = name;
		module->index = HASH_COUNT(parsed->by_name);
		HASH_ADD_KEYPTR(hh, parsed->by_name, module->name, strlen(module->name), module);
		if (!module->hh.tbl) {
			free(module);
			return &vmop_error_no_memory;
		}
	}
	parsed->last = module;
	*ret = module;
	return NULL;
}

static struct vmop_error *make_room(struct parsed *parsed, size_t first, bool with_modules)
{
	if (parsed->n < parsed->capacity)
		return NULL;
	size_t wanted = parsed->capacity ? parsed->capacity / 2 * 3 : first;
	if (wanted > VMOP_SYMTAB_MAX_SYMBOLS)
		wanted = VMOP_SYMTAB_MAX_SYMBOLS;
	size_t added_bytes = (wanted - parsed->capacity) *
			     (sizeof(*parsed->symbols) + with_modules * sizeof(*parsed->modules));
	if (wanted == parsed->n)
		vmop_sym_budget_spend(parsed->budget, VMOP_SYM_COST_SYMBOLS);
	if (wanted == parsed->n || !vmop_sym_budget_take_memory(parsed->budget, added_bytes))
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s",
				      vmop_sym_budget_message(parsed->budget));
	void *grown = reallocarray(parsed->symbols, wanted, sizeof(*parsed->symbols));
	if (!grown)
		return &vmop_error_no_memory;
	parsed->symbols = grown;
	if (with_modules) {
		grown = reallocarray(parsed->modules, wanted, sizeof(*parsed->modules));
		if (!grown)
			return &vmop_error_no_memory;
		parsed->modules = grown;
	}
	parsed->capacity = wanted;
	return NULL;
}

/*
 * Parse an address: strtoull without locale, sign and "0x", at most 16 digits. Return the text
 * after it, or NULL.
 */
static char *parse_address(char *at, uint64_t *ret)
{
	static const signed char digits[256] = {
		['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
		['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
	};
	uint64_t value = 0;
	int n = 0, digit;

	while ((digit = digits[(unsigned char)*at]) != 0) {
		if (++n > 16)
			return NULL;
		value = value << 4 | (uint64_t)(digit - 1);
		at++;
	}
	*ret = value;
	return n ? at : NULL;
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Return the name in "[name]" at the end of a line and end it with a NUL, or return "". */
static char *parse_module(char *at, char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	if (end - at < 3 || *at != '[' || end[-1] != ']')
		return end;
	end[-1] = '\0';
	return at + 1;
}

/*
 * Parse a line, with a NUL at end. *ret_text is false if it is no text symbol and should be
 * skipped. Return false for a malformed line.
 */
static bool parse_line(char *line, char *end, struct vmop_symbol *ret, char **ret_module,
		       bool *ret_text)
{
	*ret_text = false;
	/* nm(1) prints blanks for the address of an undefined symbol. */
	if (line == end || *line == ' ')
		return true;
	char *at = parse_address(line, &ret->offset);
	if (!at || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	ret->type = at[1];
	ret->name = at += 3;
	/* Most lines are data symbols: stop here. */
	if (!is_text(ret->type))
		return true;
	while (at < end && *at != '\t' && *at != ' ')
		at++;
	if (at == ret->name)
		return false;
	*ret_module = at < end ? parse_module(at + 1, end) : end;
	*at = '\0';
	*ret_text = true;
	return true;
}

static struct vmop_error *parse(char *text, size_t len_bytes, const char *path, bool with_modules,
				struct parsed *parsed)
{
	struct vmop_sym_budget *budget = parsed->budget;
	char *end, *stop = text + len_bytes;
	size_t number = 0;

	if (memchr(text, '\0', len_bytes))
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "%s: neither an ELF file nor kallsyms or System.map text",
				      path);
	for (char *line = text; line < stop; line = end + 1) {
		struct vmop_symbol symbol = {0};
		char *module_name;
		bool is_text_symbol;

		number++;
		end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			end = stop;
		*end = '\0';
		if (!vmop_sym_budget_take_steps(budget, 2 + (size_t)(end - line) / 64))
			return vmop_sym_budget_error(budget, path);
		if (!parse_line(line, end, &symbol, &module_name, &is_text_symbol))
			return vmop_error_new(VMOP_ERROR_CORRUPT,
					      "%s: line %zu is not \"ADDRESS TYPE NAME\"", path,
					      number);
		if (!is_text_symbol)
			continue;
		struct vmop_error *err =
			make_room(parsed, len_bytes / BYTES_PER_LINE + 16, with_modules);
		if (err)
			return vmop_error_prefix(err, "%s", path);
		if (with_modules) {
			struct module *module;
			err = find_module(parsed, module_name, &module);
			if (err)
				return vmop_error_prefix(err, "%s", path);
			module->n++;
			parsed->modules[parsed->n] = module->index;
		}
		parsed->any_address |= symbol.offset != 0;
		parsed->symbols[parsed->n++] = symbol;
	}
	if (parsed->n == 0)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: no text symbols", path);
	if (!parsed->any_address)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: all addresses are 0; read it as root (CAP_SYSLOG), with "
				      "kernel.kptr_restrict at most 1",
				      path);
	return NULL;
}

/*
 * Return whether the symbols are in order of their modules, which are numbered by their first
 * symbol. The kernel lists one module after the other, so a copy of its 120,000 symbols (4 MB of
 * pages) can be avoided.
 */
static bool is_grouped(const struct parsed *parsed)
{
	for (size_t i = 1; i < parsed->n; i++)
		if (parsed->modules[i] < parsed->modules[i - 1])
			return false;
	return true;
}

/* Sort the symbols by module and keep the order within one. */
static struct vmop_error *group(struct parsed *parsed)
{
	if (is_grouped(parsed))
		return NULL;
	size_t n_modules = HASH_COUNT(parsed->by_name);
	_cleanup_free_ size_t *next = calloc(n_modules, sizeof(*next));
	struct vmop_symbol *grouped = reallocarray(NULL, parsed->n, sizeof(*grouped));
	if (!next || !grouped) {
		free(grouped);
		return &vmop_error_no_memory;
	}
	/* uthash iterates in order of insertion, which is that of the index. */
	size_t at = 0;
	for (struct module *module = parsed->by_name; module; module = module->hh.next) {
		next[module->index] = at;
		at += module->n;
	}
	for (size_t i = 0; i < parsed->n; i++)
		grouped[next[parsed->modules[i]]++] = parsed->symbols[i];
	free(parsed->symbols);
	parsed->symbols = grouped;
	return NULL;
}

struct vmop_error *
vmop_kallsyms_parse(char *text, size_t len_bytes, const char *path, struct vmop_sym_budget *budget,
		    struct vmop_error *(*each)(void *arg, const char *module,
					       const struct vmop_symbol *symbols, size_t n),
		    void *arg)
{
	_cleanup_(parsed_deinit) struct parsed parsed = {.budget = budget};
	struct vmop_error *err = parse(text, len_bytes, path, true, &parsed);
	if (!err)
		err = group(&parsed);
	if (err)
		return err;
	struct vmop_symbol *symbols = parsed.symbols;
	for (struct module *module = parsed.by_name; module; module = module->hh.next) {
		err = vmop_symbols_sort(symbols, module->n, budget, path);
		if (err)
			return err;
		err = each(arg, module->name, symbols, module->n);
		if (err)
			return err;
		symbols += module->n;
	}
	return NULL;
}

struct vmop_error *vmop_kallsyms_parse_symtab(char *text, size_t len_bytes, const char *path,
					      struct vmop_sym_budget *budget,
					      struct vmop_symtab **ret)
{
	_cleanup_free_ char *names = text;
	_cleanup_(parsed_deinit) struct parsed parsed = {.budget = budget};
	struct vmop_error *err = parse(text, len_bytes, path, false, &parsed);
	if (!err)
		err = vmop_symbols_sort(parsed.symbols, parsed.n, budget, path);
	if (err)
		return err;
	return vmop_symtab_create(vmop_steal(&parsed.symbols), parsed.n, vmop_steal(&names), ret);
}

struct vmop_error *vmop_kallsyms_read(const char *path,
				      struct vmop_error *(*each)(void *arg, const char *module,
								 const struct vmop_symbol *symbols,
								 size_t n),
				      void *arg)
{
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	struct vmop_error *err =
		vmop_io_read_file(path, VMOP_KALLSYMS_MAX_TEXT_BYTES, &text, &len_bytes);
	if (err)
		return err;
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	if (!vmop_sym_budget_take_memory(&budget, len_bytes))
		return vmop_sym_budget_error(&budget, path);
	return vmop_kallsyms_parse(text, len_bytes, path, &budget, each, arg);
}
