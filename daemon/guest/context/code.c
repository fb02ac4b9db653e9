// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/code.h"

#include "daemon/guest/context/placement.h"
#include "daemon/guest/context/samples.h"
#include "libutil/clock.h"

_Static_assert(VMOP_GUEST_CODE_BYTES == VMOP_CODE_PAGE_BYTES, "an answer is a page");

#define PAGE_MASK ((uint64_t)VMOP_CODE_PAGE_BYTES - 1)

static bool is_kernel_code(const struct vmop_image *image)
{
	return image->kind == VMOP_IMAGE_GUEST_KERNEL || image->kind == VMOP_IMAGE_MODULE ||
	       image->kind == VMOP_IMAGE_BPF || image->kind == VMOP_IMAGE_TRAMPOLINE;
}

static bool is_user_code(const struct vmop_image *image)
{
	return image->kind == VMOP_IMAGE_FILE || image->kind == VMOP_IMAGE_VDSO ||
	       image->kind == VMOP_IMAGE_ANON;
}

/* Set the page of kernel code: pages count by address, and an image can begin within one. */
static bool find_kernel_page(const struct vmop_image *image, uint64_t offset,
			     struct vmop_guest_request *request)
{
	uint64_t address, start, end;
	if (!image->base || offset >= image->len_bytes ||
	    __builtin_add_overflow(image->base, offset, &address))
		return false;
	start = address & ~PAGE_MASK;
	end = start + VMOP_CODE_PAGE_BYTES;
	if (start < image->base)
		start = image->base;
	if (end - image->base > image->len_bytes)
		end = image->base + image->len_bytes;
	request->code.place = VMOP_GUEST_CODE_OF_KERNEL;
	request->code.address = start;
	request->code.offset = start - image->base;
	request->code.len_bytes = (uint32_t)(end - start);
	return true;
}

/* Return whether the page of a sample's context is that of its file. */
static bool is_page_of_file(const struct vmop_guest_sample *sample,
			    const struct vmop_held_context *context)
{
	return sample->image->kind == VMOP_IMAGE_FILE && context &&
	       vmop_guest_page_is_file(context->parts, &context->page);
}

/* Set the page of user code: by its file, or in the memory of its process. */
static bool find_user_page(const struct vmop_held_sample *held,
			   const struct vmop_held_context *context,
			   const struct vmop_guest_process *process,
			   const struct vmop_guest_sample *sample,
			   struct vmop_guest_request *request)
{
	bool has_task = context && context->parts & VMOP_GUEST_HAS_TASK;
	uint64_t past = sample->offset & PAGE_MASK;
	request->code.offset = sample->offset - past;
	request->code.len_bytes = VMOP_CODE_PAGE_BYTES;
	if (is_page_of_file(sample, context)) {
		request->code.place = VMOP_GUEST_CODE_OF_FILE;
		request->code.mapping = context->page.mapping;
		request->code.address = request->code.offset;
		return true;
	}
	if (held->ip < past || (!process && !has_task))
		return false;
	request->code.place = VMOP_GUEST_CODE_OF_PROCESS;
	request->code.address = held->ip - past;
	request->code.task = process ? process->task : context->task;
	request->code.pid = process ? process->pid : context->pid;
	request->code.start_time_ns = process ? process->start_time_ns : context->start_time_ns;
	return true;
}

static struct vmop_code_key key_of(struct vmop_guests *guests, struct vmop_image *image,
				   uint64_t offset)
{
	return (struct vmop_code_key){
		.offset = offset,
		.image = vmop_images_assign_id(guests->images, image).number,
	};
}

/* Return whether a page with one more sample needs to be read. */
static bool is_due(struct vmop_code_page *page, const struct vmop_image *image)
{
	bool is_generated = image->kind == VMOP_IMAGE_ANON;
	page->n_samples++;
	if (page->is_pending || !vmop_code_page_is_open(page))
		return false;
	return is_generated || (!page->n_versions && page->n_samples >= VMOP_GUEST_CODE_SAMPLES);
}

void vmop_guest_code_sampled(struct vmop_guests *guests, const struct vmop_held_sample *held,
			     const struct vmop_held_context *context,
			     const struct vmop_guest_process *process,
			     const struct vmop_guest_sample *sample)
{
	struct vmop_watched_guest *watched = held->domain->watched;
	struct vmop_image *image = vmop_image_canonical(sample->image);
	struct vmop_guest_request request = {.kind = VMOP_GUEST_REQUEST_CODE,
					     .domain = held->domain->id};
	if (!watched->view || watched->n_code_requests >= VMOP_GUEST_CODE_REQUESTS ||
	    !vmop_code_store_has_room(guests->code))
		return;
	bool is_found = is_kernel_code(image) ? find_kernel_page(image, sample->offset, &request)
			: is_user_code(image)
				? find_user_page(held, context, process, sample, &request)
				: false;
	if (!is_found)
		return;
	const struct vmop_code_key key = key_of(guests, image, request.code.offset);
	struct vmop_code_page *page = vmop_code_store_get(guests->code, &key);
	if (!page || !is_due(page, image))
		return;
	request.generation = watched->view->numbers.generation;
	request.code.image = image->slot;
	if (!vmop_guest_watch_request(guests->watch, &request))
		return;
	watched->n_code_requests++;
	page->is_pending = true;
	vmop_image_ref(image); /* keeps its slot until the answer comes */
}

void vmop_guest_take_code_page(struct vmop_guests *guests, const struct vmop_guest_answer *answer)
{
	struct vmop_image *image = guests->images->slots[answer->request.code.image.at];
	const struct vmop_code_key key = key_of(guests, image, answer->request.code.offset);
	struct vmop_code_page *page =
		guests->code ? vmop_code_store_find(guests->code, &key) : NULL;
	if (page) {
		page->is_pending = false;
		page->n_samples = 0; /* a page that could not be read needs as many again */
	}
	if (page && answer->is_found)
		vmop_code_store_take(guests->code, page, vmop_clock_ns(CLOCK_REALTIME),
				     answer->code, answer->request.code.len_bytes);
	vmop_image_unref(guests->images, image); /* taken in vmop_guest_code_sampled */
}
