// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/code/kernel-code.h"

#include <stdlib.h>

#include "hv-interface/bpf/kernel-reader.h"
#include "libutil/clock.h"
#include "libutil/log.h"

_Static_assert(VMOP_KERNEL_READER_BYTES == VMOP_CODE_PAGE_BYTES, "a read is a page");

struct vmop_kernel_code {
	struct vmop_images *images;
	struct vmop_code_store *store;
	struct vmop_kernel_reader *reader;
	unsigned n_pages, n_read; /* of the session; in this interval */
};

static bool is_kernel_code(const struct vmop_image *image)
{
	return vmop_domain_id_is_host(image->domain) && image->base &&
	       (image->kind == VMOP_IMAGE_KERNEL || image->kind == VMOP_IMAGE_MODULE ||
		image->kind == VMOP_IMAGE_BPF || image->kind == VMOP_IMAGE_TRAMPOLINE);
}

/* Read the page of an image at an address, and keep the part of it that is the image's. */
static void read_page(struct vmop_kernel_code *code, struct vmop_code_page *page,
		      const struct vmop_image *image, uint64_t address)
{
	uint8_t bytes[VMOP_KERNEL_READER_BYTES];
	uint64_t start = address & ~(uint64_t)(sizeof(bytes) - 1);
	uint64_t first = start > image->base ? start : image->base;
	size_t skipped = (size_t)(first - start), len = sizeof(bytes) - skipped;
	uint64_t left = image->len_bytes - (first - image->base);
	code->n_read++;
	code->n_pages++;
	page->is_pending = true; /* it is read once */
	if (vmop_kernel_reader_read(code->reader, start, bytes))
		vmop_code_store_take(code->store, page, vmop_clock_ns(CLOCK_REALTIME),
				     bytes + skipped, left < len ? (size_t)left : len);
}

void vmop_kernel_code_sampled(struct vmop_kernel_code *code, struct vmop_image *image,
			      uint64_t offset, uint64_t n_samples)
{
	image = vmop_image_canonical(image);
	if (!is_kernel_code(image) || offset >= image->len_bytes ||
	    code->n_read >= VMOP_KERNEL_CODE_READ_MAX ||
	    code->n_pages >= VMOP_KERNEL_CODE_PAGES_MAX || !vmop_code_store_has_room(code->store))
		return;
	uint64_t address = image->base + offset;
	uint64_t start = address & ~(uint64_t)(VMOP_CODE_PAGE_BYTES - 1);
	const struct vmop_code_key key = {
		.offset = start > image->base ? start - image->base : 0,
		.image = vmop_images_assign_id(code->images, image).number};
	struct vmop_code_page *page = vmop_code_store_get(code->store, &key);
	if (!page || page->is_pending)
		return;
	uint64_t n = page->n_samples + n_samples;
	page->n_samples = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	if (page->n_samples >= VMOP_KERNEL_CODE_SAMPLES)
		read_page(code, page, image, address);
}

void vmop_kernel_code_next_interval(struct vmop_kernel_code *code)
{
	code->n_read = 0;
}

struct vmop_error *vmop_kernel_code_create(struct vmop_images *images,
					   struct vmop_code_store *store,
					   struct vmop_kernel_code **ret)
{
	struct vmop_kernel_code *code = calloc(1, sizeof(*code));
	*ret = NULL;
	if (!code)
		return &vmop_error_no_memory;
	code->images = images;
	code->store = store;
	struct vmop_error *err = vmop_kernel_reader_create(&code->reader);
	if (err) {
		free(code);
		if (err == &vmop_error_no_memory)
			return err;
		vmop_log_and_destroy(VMOP_LOG_INFO, err);
		return NULL;
	}
	*ret = code;
	return NULL;
}

void vmop_kernel_code_destroy(struct vmop_kernel_code *code)
{
	if (!code)
		return;
	vmop_kernel_reader_destroy(code->reader);
	free(code);
}
