// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/images.h"
#include "daemon/guest/guest-file.h"

#include <stdio.h>
#include <string.h>

/* ---- kernel code -------------------------------------------------------------- */

static struct vmop_image *new_code_image(struct vmop_guests *guests,
					 const struct vmop_domain *domain,
					 const struct vmop_guest_code_image *from)
{
	struct vmop_image *image =
		vmop_images_new(guests->images, domain->id, from->kind, from->name, from->start,
				from->end - from->start);
	if (image->kind != from->kind)
		return image; /* the table is full: this image stands for all others */
	if (from->kind == VMOP_IMAGE_GUEST_KERNEL)
		vmop_domain_name_image(domain, image, "kernel");
	vmop_image_set_build_id(image, from->build_id, from->build_id_len_bytes);
	if (from->symbols)
		vmop_image_copy_symbols(image, from->symbols, from->n_symbols, 0);
	return image;
}

/* Return the image of map that equals `from`, such as a module that stayed; NULL: none does. */
static struct vmop_image *unchanged(const struct vmop_text_map *map,
				    const struct vmop_guest_code_image *from)
{
	size_t i = vmop_text_map_first_after(map, from->start);
	if (i == map->n || map->at[i].start != from->start || map->at[i].end != from->end)
		return NULL;
	struct vmop_image *image = map->at[i].image;
	bool is_same = image->kind == from->kind &&
		       image->build_id.len_bytes == from->build_id_len_bytes &&
		       !memcmp(image->build_id.bytes, from->build_id, from->build_id_len_bytes) &&
		       (from->kind == VMOP_IMAGE_GUEST_KERNEL || !strcmp(image->name, from->name));
	return is_same ? image : NULL;
}

static bool has_kernel_symbols(const struct vmop_guest_code *code)
{
	const struct vmop_guest_code_image *kernel =
		vmop_guest_code_find(code, code->kernel.text_start);
	return kernel && kernel->symbols;
}

void vmop_guest_take_code(struct vmop_guests *guests, struct vmop_domain *domain,
			  const struct vmop_guest_code *code)
{
	struct vmop_text_map map = {0};
	struct vmop_watched_guest *watched = domain->watched;
	bool has_symbols = has_kernel_symbols(code);
	bool gives_symbols = watched->lacks_symbols && has_symbols;
	if (!domain->code.n)
		vmop_domain_begin_code(guests->domains, domain);
	for (size_t i = 0; i < code->n_images; i++) {
		const struct vmop_guest_code_image *from = &code->images[i];
		struct vmop_image *image = unchanged(&domain->code, from);
		if (image && gives_symbols && from->symbols)
			vmop_image_copy_symbols(image, from->symbols, from->n_symbols, 0);
		struct vmop_text_piece piece = {
			.start = from->start,
			.end = from->end,
			.image = image ? vmop_image_ref(image)
				       : new_code_image(guests, domain, from)};
		vmop_text_map_put(&map, guests->images, &piece);
	}
	watched->lacks_symbols = !has_symbols && (watched->lacks_symbols || !domain->code.n);
	vmop_domain_set_code(guests->domains, domain, &map);
	vmop_domain_set_symbols_from(domain, "its memory");
}

/* ---- symbols ------------------------------------------------------------------- */

void vmop_guest_image_give_symbols(struct vmop_image *image, const struct vmop_symtab *symtab)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	vmop_image_copy_symbols(image, symbols, n, 0);
	vmop_image_mark_sampled(image); /* so that it is stored */
}

void vmop_guest_take_symbols(struct vmop_guests *guests)
{
	struct vmop_guest_file_symbols found;
	while (vmop_guest_watch_take_symbols(guests->watch, &found)) {
		struct vmop_image *image = found.image.at < guests->images->max
						   ? guests->images->slots[found.image.at]
						   : NULL;
		if (image && found.symtab && vmop_domain_id_equals(image->domain, found.domain) &&
		    !image->symbols)
			vmop_guest_image_give_symbols(image, found.symtab);
		if (image && found.is_gone && !image->symbols)
			vmop_image_mark_wanted(image, false); /* request them anew */
		if (image)
			vmop_image_unref(guests->images, image); /* taken in request_symbols */
		vmop_symtab_destroy(found.symtab);
	}
}

/* ---- user code ------------------------------------------------------------------- */

static void request_symbols(struct vmop_guests *guests, const struct vmop_domain *domain,
			    struct vmop_image *image, const struct vmop_guest_vma *vma)
{
	if (image->is_wanted || !vma->file)
		return;
	vmop_image_mark_wanted(image, vmop_guest_watch_request_symbols(guests->watch, domain->id,
								       image->slot, vma));
	if (image->is_wanted)
		vmop_image_ref(image); /* keeps its slot until the symbols come */
}

/* Keep an image until the interval is stored, and release the caller's reference. */
static struct vmop_image *keep(struct vmop_guests *guests, struct vmop_image *image)
{
	vmop_image_mark_sampled(image);
	vmop_image_unref(guests->images, image);
	return image;
}

struct vmop_image *vmop_guest_image_of_generated(struct vmop_guests *guests,
						 const struct vmop_domain *domain, const char *comm)
{
	char name[64];
	snprintf(name, sizeof(name), "[anon:%.15s]", comm);
	return keep(guests,
		    vmop_images_named(guests->images, domain->id, VMOP_IMAGE_ANON, name, 0, 0));
}

struct vmop_image *vmop_guest_image_of_vdso(struct vmop_guests *guests,
					    const struct vmop_domain *domain)
{
	return keep(guests,
		    vmop_images_named(guests->images, domain->id, VMOP_IMAGE_VDSO, "[vdso]", 0, 0));
}

struct vmop_image *vmop_guest_image_of_reason(struct vmop_guests *guests,
					      const struct vmop_domain *domain, const char *what)
{
	char name[VMOP_GUEST_NAME_BYTES + 64];
	snprintf(name, sizeof(name), "[guest %s %s]", domain->name, what);
	return keep(guests, vmop_images_named(guests->images, domain->id, VMOP_IMAGE_GUEST_USER,
					      name, 0, 0));
}

static struct vmop_image *image_of_file(struct vmop_guests *guests,
					const struct vmop_domain *domain,
					const struct vmop_guest_vma *vma)
{
	struct vmop_build_id id = vmop_guest_vma_build_id(vma);
	struct vmop_image *image =
		vmop_images_guest_file(guests->images, domain->id, vma->path, &id);
	request_symbols(guests, domain, image, vma);
	return keep(guests, image);
}

struct vmop_image *vmop_guest_image_of_vma(struct vmop_guests *guests, struct vmop_domain *domain,
					   const struct vmop_guest_process *process,
					   const struct vmop_guest_vma *vma)
{
	struct vmop_watched_guest *watched = domain->watched;
	if (vma == watched->last_vma)
		return watched->last_image;
	struct vmop_image *image;
	if (vmop_guest_vma_is_file(vma))
		image = image_of_file(guests, domain, vma);
	else if (!strcmp(vma->path, "[vdso]"))
		image = vmop_guest_image_of_vdso(guests, domain);
	else
		image = vmop_guest_image_of_generated(guests, domain, process->comm);
	watched->last_vma = vma;
	watched->last_image = image;
	return image;
}

uint64_t vmop_guest_offset_in_vma(const struct vmop_image *image, const struct vmop_guest_vma *vma,
				  uint64_t address)
{
	if (image->kind == VMOP_IMAGE_ANON)
		return address;
	return address + vma->file_offset_bytes - vma->start;
}
