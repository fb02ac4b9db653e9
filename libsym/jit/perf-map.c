// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/jit/perf-map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/symtab-builder.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/parse.h"

/*
 * Parse "START SIZE NAME". Both numbers are hex, with or without "0x"; the name may contain blanks.
 * Modifies line.
 */
static bool parse_line(char *line, struct vmop_symbol *ret)
{
	char *size = strchr(line, ' ');
	if (!size)
		return false;
	*size++ = '\0';
	char *name = strchr(size, ' ');
	if (!name)
		return false;
	*name++ = '\0';
	if (strncmp(line, "0x", 2) == 0)
		line += 2;
	if (strncmp(size, "0x", 2) == 0)
		size += 2;
	ret->name = name;
	ret->type = 't';
	return name[0] && vmop_parse_u64(line, 16, &ret->offset) &&
	       vmop_parse_u64(size, 16, &ret->len_bytes) && ret->len_bytes > 0;
}

struct function {
	struct vmop_symbol symbol;
	uint32_t order; /* later lines have greater numbers */
	bool is_covered;
};

/* The functions that contain the current address, the latest one on top. */
struct reach {
	struct entry {
		uint32_t order;
		uint64_t last; /* its last byte */
	} * at;
	size_t n;
};

static void reach_push(struct reach *reach, struct entry entry)
{
	size_t i = reach->n++;
	for (; i && reach->at[(i - 1) / 2].order < entry.order; i = (i - 1) / 2)
		reach->at[i] = reach->at[(i - 1) / 2];
	reach->at[i] = entry;
}

static void reach_pop(struct reach *reach)
{
	struct entry entry = reach->at[--reach->n];
	size_t i = 0, child;
	for (; (child = 2 * i + 1) < reach->n; i = child) {
		if (child + 1 < reach->n && reach->at[child + 1].order > reach->at[child].order)
			child++;
		if (reach->at[child].order < entry.order)
			break;
		reach->at[i] = reach->at[child];
	}
	reach->at[i] = entry;
}

/* Sort by address; of functions at one address the latest comes first. */
static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->symbol.offset != y->symbol.offset)
		return x->symbol.offset < y->symbol.offset ? -1 : 1;
	return x->order > y->order ? -1 : x->order < y->order;
}

static uint64_t last_byte(const struct vmop_symbol *symbol)
{
	uint64_t last;
	return __builtin_add_overflow(symbol->offset, symbol->len_bytes - 1, &last) ? UINT64_MAX
										    : last;
}

/*
 * Mark functions that a later function covers from the start; cut functions whose end is covered.
 */
static struct vmop_error *settle_overlaps(struct function *functions, size_t n)
{
	_cleanup_free_ struct entry *entries = reallocarray(NULL, n + 1, sizeof(*entries));
	struct reach reach = {.at = entries};
	struct function *before = NULL;
	if (!entries)
		return &vmop_error_no_memory;
	qsort(functions, n, sizeof(*functions), compare_functions);
	for (size_t i = 0; i < n; i++) {
		struct function *function = &functions[i];
		uint64_t start = function->symbol.offset;
		while (reach.n && reach.at[0].last < start)
			reach_pop(&reach);
		if (reach.n && reach.at[0].order > function->order) {
			function->is_covered = true;
			continue;
		}
		if (before && last_byte(&before->symbol) >= start)
			before->symbol.len_bytes = start - before->symbol.offset;
		reach_push(&reach, (struct entry){function->order, last_byte(&function->symbol)});
		before = function;
	}
	return NULL;
}

/* Set *ret_n to the number of functions; at most VMOP_PERF_MAP_MAX_FUNCTIONS. */
static struct vmop_error *parse_lines(char *text, size_t len_bytes, struct vmop_sym_budget *budget,
				      struct function *functions, size_t *ret_n, bool *ret_is_cut)
{
	char *end, *stop = text + len_bytes;
	size_t n = 0;
	for (char *line = text; line < stop; line = end + 1) {
		end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			break; /* the compiler is still writing it */
		*end = '\0';
		struct vmop_symbol symbol = {0};
		if (!vmop_sym_budget_take_steps(budget, 4 + (size_t)(end - line) / 32))
			return vmop_error_new(VMOP_ERROR_LIMIT, "%s",
					      vmop_sym_budget_message(budget));
		if (!parse_line(line, &symbol))
			continue;
		*ret_is_cut = n == VMOP_PERF_MAP_MAX_FUNCTIONS;
		if (*ret_is_cut)
			break;
		functions[n] = (struct function){.symbol = symbol, .order = (uint32_t)n};
		n++;
	}
	*ret_n = n;
	return NULL;
}

static size_t count_lines(const char *text, size_t len_bytes)
{
	size_t n = 0;
	for (const char *at = text, *stop = text + len_bytes;
	     n < VMOP_PERF_MAP_MAX_FUNCTIONS && (at = memchr(at, '\n', (size_t)(stop - at))); at++)
		n++;
	return n;
}

struct vmop_error *vmop_perf_map_parse(char *text, size_t len_bytes, struct vmop_symtab **ret,
				       bool *ret_is_cut)
{
	struct vmop_sym_budget budget;
	_cleanup_(vmop_symtab_builder_deinit) struct vmop_symtab_builder builder = {
		.budget = &budget,
	};
	bool is_cut = false;
	size_t n = 0, max = count_lines(text, len_bytes) + 1;
	vmop_sym_budget_init(&budget);
	if (!vmop_sym_budget_take_memory(&budget, len_bytes + max * sizeof(struct function)))
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s", vmop_sym_budget_message(&budget));
	_cleanup_free_ struct function *functions = reallocarray(NULL, max, sizeof(*functions));
	if (!functions)
		return &vmop_error_no_memory;
	struct vmop_error *err = parse_lines(text, len_bytes, &budget, functions, &n, &is_cut);
	if (!err)
		err = settle_overlaps(functions, n);
	for (size_t i = 0; !err && i < n; i++) {
		const struct vmop_symbol *symbol = &functions[i].symbol;
		if (!functions[i].is_covered)
			err = vmop_symtab_builder_add(
				&builder, symbol,
				strnlen(symbol->name, VMOP_PERF_MAP_MAX_NAME_BYTES),
				UINT64_MAX - symbol->offset, false);
	}
	if (ret_is_cut)
		*ret_is_cut = is_cut;
	return err ? err : vmop_symtab_builder_finish(&builder, "perf map", ret);
}

/* Open the file. Refuse a file of another user, and any symbolic link. */
static struct vmop_error *open_map(int dir_fd, const char *path, uid_t owner, int *ret_fd,
				   struct stat *ret_st)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err =
		vmop_io_open_regular(dir_fd, path, VMOP_IO_NO_FOLLOW, INT64_MAX, &fd);
	if (err && err->os_errno == ELOOP) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file, but a link", path);
	}
	if (err)
		return err;
	if (fstat(fd, ret_st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (ret_st->st_uid != owner && ret_st->st_uid != 0)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: belongs to user %u, not to %u", path,
				      ret_st->st_uid, owner);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

static bool is_same(const struct vmop_perf_map_state *a, const struct vmop_perf_map_state *b)
{
	return a->inode == b->inode && a->size_bytes == b->size_bytes &&
	       a->modified_ns == b->modified_ns;
}

struct vmop_error *vmop_perf_map_read(int dir_fd, const char *path, uid_t owner,
				      struct vmop_perf_map_state *state, struct vmop_symtab **ret)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	struct vmop_error *err = open_map(dir_fd, path, owner, &fd, &st);
	if (err)
		return err;
	struct vmop_perf_map_state now = {
		.inode = st.st_ino,
		.size_bytes = (uint64_t)st.st_size,
		.modified_ns =
			(uint64_t)st.st_mtim.tv_sec * VMOP_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec,
	};
	*ret = NULL;
	if (is_same(state, &now))
		return NULL;
	size_t len_bytes = VMOP_PERF_MAP_MAX_BYTES;
	if (now.size_bytes < len_bytes)
		len_bytes = (size_t)now.size_bytes;
	_cleanup_free_ char *text = malloc(len_bytes + 1);
	if (!text)
		return &vmop_error_no_memory;
	ssize_t n = vmop_io_pread_full(fd, text, len_bytes, 0);
	if (n < 0)
		return vmop_error_os(errno, "%s", path);
	text[n] = '\0';
	err = vmop_perf_map_parse(text, (size_t)n, ret, &now.is_cut);
	if (err)
		return vmop_error_prefix(err, "%s", path);
	now.is_cut |= now.size_bytes > VMOP_PERF_MAP_MAX_BYTES;
	*state = now;
	return NULL;
}
