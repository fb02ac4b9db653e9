// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/code.h"

#include <stdlib.h>
#include <unistd.h>

#include "libsym/dwarf/module-place.h"
#include "libsym/file-finder.h"
#include "libsym/link-base.h"
#include "libsym/module-code.h"
#include "libutil/cleanup.h"

/* A piece of the file that is code. */
struct piece {
	uint64_t start, len_bytes; /* in the image's offsets, less base */
	uint64_t file_offset;
};

struct vmop_image_code {
	struct vmop_sym_budget budget;
	struct vmop_image_file *file;
	uint64_t base; /* of offsets */
	struct piece *pieces;
	size_t n;
	struct vmop_module_code *module; /* NULL: it is no module */
};

/* List the pieces with code, by their addresses or by their file offsets. */
static struct vmop_error *list_pieces(struct vmop_image_code *code, bool by_address)
{
	const struct vmop_elf_file *elf = code->file->elf;
	code->pieces = calloc(elf->n_segments + elf->n_sections + 1, sizeof(*code->pieces));
	if (!code->pieces)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < elf->n_segments && !by_address; i++) {
		const GElf_Phdr *segment = &elf->segments[i];
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			code->pieces[code->n++] = (struct piece){
				segment->p_offset, segment->p_filesz, segment->p_offset};
	}
	for (size_t i = 0; i < elf->n_sections && by_address; i++) {
		const GElf_Shdr *section = &elf->sections[i];
		bool has_place = !code->module || section->sh_addr;
		if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_EXECINSTR &&
		    has_place)
			code->pieces[code->n++] = (struct piece){section->sh_addr, section->sh_size,
								 section->sh_offset};
	}
	return NULL;
}

/* Return whether a file has code: a debug file keeps the headers of its sections only. */
static bool has_code(const struct vmop_elf_file *elf)
{
	bool has_sections = false;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const GElf_Shdr *section = &elf->sections[i];
		has_sections |= section->sh_flags & SHF_EXECINSTR;
		if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_EXECINSTR)
			return true;
	}
	return !has_sections;
}

/* Find the places of a module's code in memory, and the fields that the kernel filled in. */
static struct vmop_error *place_module(struct vmop_image_code *code,
				       const struct vmop_image_ref *ref, const char **ret_reason)
{
	struct vmop_elf_file *elf = code->file->elf;
	struct vmop_error *err = vmop_module_place(elf, ref->module_symbols);
	if (err)
		return err;
	if (!elf->is_placed) {
		*ret_reason = "its file does not fit the symbols that it had in memory";
		return NULL;
	}
	code->base = VMOP_MODULE_START;
	return vmop_module_code_create(elf, &code->module);
}

/* The kernel's file is mostly found as its own debug file. */
static struct vmop_error *use_debug_file(void *arg, const struct vmop_image_file *file, bool *done)
{
	struct vmop_image_code *code = arg;
	*done = has_code(file->elf);
	if (!*done)
		return NULL;
	int fd = dup(file->fd);
	return fd < 0 ? NULL : vmop_image_file_open_fd(fd, file->path, &code->budget, &code->file);
}

static struct vmop_error *find_file(const struct vmop_resolver *resolver,
				    const struct vmop_image_ref *ref, struct vmop_image_code *code,
				    const char **ret_reason)
{
	const struct vmop_file_finder *finder = vmop_resolver_finder(resolver);
	bool is_too_costly;
	struct vmop_error *err =
		vmop_file_finder_find_image(finder, ref, &code->budget, &code->file, ret_reason);
	if (!err && code->file && !has_code(code->file->elf)) {
		*ret_reason = "the file has no code";
		vmop_image_file_close(code->file);
		code->file = NULL;
	}
	if (!err && !code->file && ref->addresses && ref->build_id.len_bytes)
		err = vmop_file_finder_each_debug_file(finder, ref, NULL, use_debug_file, code,
						       &code->budget, &is_too_costly);
	return err;
}

static void destroy_cleanup(struct vmop_image_code **code)
{
	vmop_image_code_destroy(*code);
}

struct vmop_error *vmop_image_code_open(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					struct vmop_image_code **ret, const char **ret_reason)
{
	_cleanup_(destroy_cleanup) struct vmop_image_code *code = calloc(1, sizeof(*code));
	const char *no_base = NULL;
	*ret = NULL;
	*ret_reason = NULL;
	if (!code)
		return &vmop_error_no_memory;
	vmop_sym_budget_init(&code->budget);
	struct vmop_error *err = find_file(resolver, ref, code, ret_reason);
	if (!err && code->file && ref->addresses)
		err = vmop_link_base(resolver, ref, &code->base, &no_base);
	if (!err && code->file && ref->is_module)
		err = place_module(code, ref, &no_base);
	if (!err && code->file && !no_base)
		err = list_pieces(code, ref->addresses || ref->is_module);
	if (err && err->code != VMOP_ERROR_NO_MEMORY) {
		*ret_reason = code->budget.spent ? vmop_sym_budget_message(&code->budget)
						 : "not an ELF file, or a damaged one";
		vmop_error_destroy(err);
		return NULL;
	}
	if (no_base)
		*ret_reason = no_base;
	if (!err && code->file && !no_base)
		*ret = vmop_steal(&code);
	return err;
}

void vmop_image_code_destroy(struct vmop_image_code *code)
{
	if (!code)
		return;
	free(code->pieces);
	vmop_module_code_destroy(code->module);
	vmop_image_file_close(code->file);
	free(code);
}

enum vmop_machine vmop_image_code_machine(const struct vmop_image_code *code)
{
	const GElf_Ehdr *header = &code->file->elf->header;
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return VMOP_MACHINE_OTHER;
	return header->e_machine == EM_X86_64	 ? VMOP_MACHINE_X86_64
	       : header->e_machine == EM_AARCH64 ? VMOP_MACHINE_ARM64
						 : VMOP_MACHINE_OTHER;
}

size_t vmop_image_code_read(struct vmop_image_code *code, uint64_t offset, void *ret,
			    size_t len_bytes)
{
	uint64_t place = code->base + offset;
	for (size_t i = 0; i < code->n; i++) {
		const struct piece *piece = &code->pieces[i];
		uint64_t within = place - piece->start;
		if (place < piece->start || within >= piece->len_bytes)
			continue;
		uint64_t left = piece->len_bytes - within;
		size_t n = left < len_bytes ? (size_t)left : len_bytes;
		bool is_read =
			vmop_sym_budget_take_read(&code->budget, n) &&
			vmop_elf_read_at(code->file->elf, piece->file_offset + within, ret, n);
		return is_read ? n : 0;
	}
	return 0;
}

bool vmop_image_code_field(const struct vmop_image_code *code, uint64_t offset, uint64_t end,
			   struct vmop_code_field *ret)
{
	return code->module && vmop_module_code_field(code->module, offset, end, ret);
}

int vmop_source_from_debuginfod(const struct vmop_resolver *resolver,
				const struct vmop_image_ref *ref, const char *path)
{
	const struct vmop_file_finder *finder = vmop_resolver_finder(resolver);
	return vmop_debuginfod_client_find_source(finder->debuginfod, &ref->build_id, path);
}
