// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/perf-map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/symtab-builder.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

/* "START SIZE NAME", both in hex without or with "0x"; names can have blanks. Cuts line up. */
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

struct vmop_error *vmop_perf_map_parse(char *text, size_t len_bytes, struct vmop_symtab **ret)
{
	struct vmop_sym_budget budget;
	_cleanup_(vmop_symtab_builder_deinit) struct vmop_symtab_builder builder = {
		.budget = &budget,
		.latest_only = true,
	};
	char *end, *stop = text + len_bytes;

	vmop_sym_budget_init(&budget);
	if (!vmop_sym_budget_take_memory(&budget, len_bytes))
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s", vmop_sym_budget_message(&budget));
	for (char *line = text; line < stop; line = end + 1) {
		struct vmop_symbol symbol;
		end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			break; /* it is being written */
		*end = '\0';
		if (!vmop_sym_budget_take_steps(&budget, 4 + (size_t)(end - line) / 32))
			return vmop_error_new(VMOP_ERROR_LIMIT, "%s",
					      vmop_sym_budget_message(&budget));
		if (!parse_line(line, &symbol))
			continue;
		struct vmop_error *err = vmop_symtab_builder_add(
			&builder, &symbol, strlen(symbol.name), UINT64_MAX - symbol.offset, false);
		if (err)
			return err;
	}
	return vmop_symtab_builder_finish(&builder, "perf map", ret);
}

/* Neither another's, nor by a link that another has put there. */
static struct vmop_error *open_map(const char *path, uid_t owner, int *ret_fd, struct stat *ret_st)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err =
		vmop_io_open_regular(AT_FDCWD, path, VMOP_IO_NO_FOLLOW, INT64_MAX, &fd);
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

struct vmop_error *vmop_perf_map_read(const char *path, uid_t owner, struct vmop_symtab **ret)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	struct vmop_error *err = open_map(path, owner, &fd, &st);
	if (err)
		return err;
	size_t len_bytes = VMOP_PERF_MAP_MAX_BYTES;
	if ((uint64_t)st.st_size < len_bytes)
		len_bytes = (size_t)st.st_size;
	_cleanup_free_ char *text = malloc(len_bytes + 1);
	if (!text)
		return &vmop_error_no_memory;
	ssize_t n = vmop_io_pread_full(fd, text, len_bytes, 0);
	if (n < 0)
		return vmop_error_os(errno, "%s", path);
	text[n] = '\0';
	err = vmop_perf_map_parse(text, (size_t)n, ret);
	return err ? vmop_error_prefix(err, "%s", path) : NULL;
}
