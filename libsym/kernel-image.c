// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>

#include "libsym/elf/elf-file.h"
#include "libsym/elf/elf-symbols.h"
#include "libsym/kallsyms.h"
#include "libsym/kernel-image.h"
#include "libsym/symtab.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/*
 * Recognise the compressed images that boot loaders read: they have no symbols, and deserve a
 * better message than "not text".
 */
static bool is_packed_kernel(const unsigned char *head, size_t len_bytes)
{
	static const struct {
		const char *magic;
		size_t len_bytes;
	} packers[] = {
		{"MZ", 2},
		{"\x1f\x8b", 2},
		{"\xfd"
		 "7zXZ",
		 5},
		{"(\xb5/\xfd", 4},
		{"BZh", 3},
	};
	for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++) {
		if (len_bytes >= packers[i].len_bytes &&
		    memcmp(head, packers[i].magic, packers[i].len_bytes) == 0)
			return true;
	}
	return false;
}

static struct vmop_error *read_elf_image(int fd, const char *path, struct vmop_sym_budget *budget,
					 struct vmop_symtab **ret)
{
	struct vmop_symtab *symtab;
	struct vmop_error *err =
		vmop_elf_symtab_read(fd, path, VMOP_SYMTAB_ADDRESSES, budget, &symtab);
	if (err)
		return err;
	size_t n;
	vmop_symtab_symbols(symtab, &n);
	if (n == 0) {
		vmop_symtab_destroy(symtab);
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "%s: has no symbols (stripped); give its debug file or a "
				      "System.map",
				      path);
	}
	*ret = symtab;
	return NULL;
}

struct vmop_error *vmop_kernel_image_read(const char *path, struct vmop_sym_budget *budget,
					  struct vmop_symtab **ret)
{
	_cleanup_close_ int fd = -1;
	unsigned char head[8];
	struct vmop_error *err = vmop_elf_open_path(AT_FDCWD, path, &fd);
	if (err)
		return err;
	ssize_t n = vmop_io_pread_full(fd, head, sizeof(head), 0);
	if (n < 0)
		return vmop_error_os(errno, "%s", path);
	if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return read_elf_image(fd, path, budget, ret);
	if (is_packed_kernel(head, (size_t)n))
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"%s: a compressed kernel without symbols; give a vmlinux, its "
			"debug file, or a System.map",
			path);
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	err = vmop_io_read_fd(fd, path, VMOP_KALLSYMS_MAX_TEXT_BYTES, &text, &len_bytes);
	if (err)
		return err;
	if (!vmop_sym_budget_take_memory(budget, len_bytes) ||
	    !vmop_sym_budget_take_read(budget, len_bytes))
		return vmop_sym_budget_error(budget, path);
	return vmop_kallsyms_parse_symtab(vmop_steal(&text), len_bytes, path, budget, ret);
}

struct vmop_error *vmop_symtab_read_kernel_image(const char *path, struct vmop_symtab **ret)
{
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	return vmop_kernel_image_read(path, &budget, ret);
}
