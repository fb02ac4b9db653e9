// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/search.h"

#include "libsym/dwarf/module-place.h"
#include "libutil/cleanup.h"

struct search {
	const struct vmop_image_file *image;	  /* NULL: not found */
	const struct vmop_symtab *module_symbols; /* NULL: it is no module */
	bool addresses, is_found;
	bool is_elsewhere; /* a module's file does not fit the loaded module */
	vmop_dwarf_use_fn *use;
	void *arg;
};

/* Use the file of a module, or its debug file, which has the same sections. */
static struct vmop_error *use_module(struct search *search, struct vmop_elf_file *elf, bool *done)
{
	struct vmop_error *err = vmop_module_place(elf, search->module_symbols);
	search->is_elsewhere |= !elf->is_placed;
	return err || !elf->is_placed ? err : search->use(search->arg, elf, elf, done);
}

static struct vmop_error *use_image(struct search *search, const struct vmop_image_file *image)
{
	if (search->module_symbols)
		return use_module(search, image->elf, &search->is_found);
	return search->use(search->arg, image->elf, search->addresses ? NULL : image->elf,
			   &search->is_found);
}

static struct vmop_error *use_debug_file(void *arg, const struct vmop_image_file *file, bool *done)
{
	struct search *search = arg;
	/* A debug file has no bytes at its file offsets, so the program is the layout. */
	const struct vmop_elf_file *layout = search->image ? search->image->elf : file->elf;
	struct vmop_error *err = search->module_symbols
					 ? use_module(search, file->elf, done)
					 : search->use(search->arg, file->elf,
						       search->addresses ? NULL : layout, done);
	search->is_found |= *done;
	return err;
}

struct vmop_error *vmop_dwarf_search(const struct vmop_file_finder *finder,
				     const struct vmop_image_ref *ref,
				     struct vmop_sym_budget *budget, vmop_dwarf_use_fn *use,
				     void *arg, const char **ret_reason)
{
	_cleanup_(vmop_image_file_cleanup) struct vmop_image_file *image = NULL;
	struct search search = {.module_symbols = ref->module_symbols,
				.addresses = ref->addresses,
				.use = use,
				.arg = arg};
	bool is_too_costly = false;
	struct vmop_error *err =
		vmop_file_finder_find_image(finder, ref, budget, &image, ret_reason);
	if (err || (!image && !ref->addresses && !ref->module_symbols))
		return err;
	search.image = image;
	if (image)
		err = use_image(&search, image);
	if (!err && !search.is_found)
		err = vmop_file_finder_each_debug_file(finder, ref, image, use_debug_file, &search,
						       budget, &is_too_costly);
	if (search.is_found)
		*ret_reason = NULL;
	else if (is_too_costly)
		*ret_reason = "its debug file is too large to be verified by a checksum";
	else if (search.is_elsewhere)
		*ret_reason = "its file does not fit the symbols that it had in memory";
	else if (image)
		*ret_reason = "no DWARF was found";
	return err;
}
