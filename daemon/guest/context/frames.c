// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/frames.h"

#include "daemon/guest/guest-file.h"
#include "daemon/guest/images.h"

/* The code whose frames are resolved. */
struct code {
	struct vmop_guests *guests;
	struct vmop_domain *domain;
	const struct vmop_guest_process *process; /* NULL: not known */
	bool may_allocate;
};

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

static struct vmop_stack_caller place_kernel(const struct code *code, uint64_t address)
{
	struct vmop_image *image = vmop_text_map_find(&code->domain->code, address);
	if (image)
		return (struct vmop_stack_caller){image, address - image->base};
	return (struct vmop_stack_caller){code->domain->kernel, address};
}

/* Return the image of a mapping. NULL: it has no image yet. */
static struct vmop_image *image_of(const struct code *code, const struct vmop_guest_vma *vma)
{
	if (code->may_allocate)
		return vmop_guest_image_of_vma(code->guests, code->domain, code->process, vma);
	struct vmop_build_id id = vmop_guest_vma_build_id(vma);
	return vmop_images_find_guest_file(code->guests->images, code->domain->id, vma->path, &id);
}

static struct vmop_stack_caller place_user(const struct code *code, uint64_t address)
{
	const struct vmop_guest_vma *vma =
		code->process ? vmop_guest_process_vma(code->process, address) : NULL;
	struct vmop_image *image = vma ? image_of(code, vma) : NULL;
	if (!image)
		return (struct vmop_stack_caller){code->domain->user, address};
	return (struct vmop_stack_caller){image, vmop_guest_offset_in_vma(image, vma, address)};
}

static void resolve(const struct code *code, const uint64_t *frames, size_t n,
		    enum vmop_stack_end end, struct vmop_stack_frames *ret)
{
	ret->n = 0;
	ret->end = end;
	ret->lacks = 0;
	ret->kernel_age = 0;
	for (size_t i = 0; i < n && ret->n < VMOP_STACK_FRAMES_MAX; i++) {
		/* A return address can be the first one of the next function. */
		uint64_t address = vmop_guest_frame_address(frames[i]) -
				   !vmop_guest_frame_is_interrupted(frames[i]);
		ret->at[ret->n++] = is_kernel(address) ? place_kernel(code, address)
						       : place_user(code, address);
	}
}

void vmop_guest_resolve_frames(struct vmop_guests *guests, struct vmop_domain *domain,
			       const struct vmop_guest_process *process, const uint64_t *frames,
			       size_t n, enum vmop_stack_end end, struct vmop_stack_frames *ret)
{
	const struct code code = {guests, domain, process, true};
	resolve(&code, frames, n, end, ret);
}

void vmop_guest_resolve_known_frames(struct vmop_guests *guests, struct vmop_domain *domain,
				     const struct vmop_guest_process *process,
				     const uint64_t *frames, size_t n, enum vmop_stack_end end,
				     struct vmop_stack_frames *ret)
{
	const struct code code = {guests, domain, process, false};
	resolve(&code, frames, n, end, ret);
}
