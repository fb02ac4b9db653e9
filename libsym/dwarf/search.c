// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/search.h"

#include "libutil/cleanup.h"

struct search {
	const struct vmop_image_file *image; /* NULL: not found */
	bool addresses, is_found;
	vmop_dwarf_use_fn *use;
	void *arg;
};

static struct vmop_error *use_debug_file(void *arg, const struct vmop_image_file *file, bool *done)
{
	struct search *search = arg;
	/* A debug file has no bytes at its file offsets, so the program is the layout. */
	const struct vmop_elf_file *layout = search->image ? search->image->elf : file->elf;
	struct vmop_error *err =
		search->use(search->arg, file->elf, search->addresses ? NULL : layout, done);
	search->is_found |= *done;
	return err;
}

struct vmop_error *vmop_dwarf_search(const struct vmop_file_finder *finder,
				     const struct vmop_image_ref *ref,
				     struct vmop_sym_budget *budget, vmop_dwarf_use_fn *use,
				     void *arg, const char **ret_reason)
{
	_cleanup_(vmop_image_file_cleanup) struct vmop_image_file *image = NULL;
	struct search search = {.addresses = ref->addresses, .use = use, .arg = arg};
	bool is_too_costly = false;
	struct vmop_error *err =
		vmop_file_finder_find_image(finder, ref, budget, &image, ret_reason);
	if (err || (!image && !ref->addresses))
		return err;
	search.image = image;
	if (image)
		err = use(arg, image->elf, ref->addresses ? NULL : image->elf, &search.is_found);
	if (!err && !search.is_found)
		err = vmop_file_finder_each_debug_file(finder, ref, image, use_debug_file, &search,
						       budget, &is_too_costly);
	if (search.is_found)
		*ret_reason = NULL;
	else if (is_too_costly)
		*ret_reason = "its debug file is too large to be verified by a checksum";
	else if (image)
		*ret_reason = "no DWARF was found";
	return err;
}
