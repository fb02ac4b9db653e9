// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A stack in the buffer. Its addresses, registers and bytes follow. */
struct item {
	size_t bytes; /* of all, a multiple of 8 */
	struct vmop_waiting_stack stack;
};

struct vmop_waiting_stacks {
	uint8_t *buffer;
	size_t size_bytes, used_bytes, n;
};

struct vmop_error *vmop_waiting_stacks_create(size_t size_bytes, struct vmop_waiting_stacks **ret)
{
	struct vmop_waiting_stacks *waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return &vmop_error_no_memory;
	/* Its pages are used when samples wait. */
	void *buffer = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buffer == MAP_FAILED) {
		free(waiting);
		return vmop_error_os(errno, "the queue of waiting call stacks");
	}
	waiting->buffer = buffer;
	waiting->size_bytes = size_bytes;
	*ret = waiting;
	return NULL;
}

void vmop_waiting_stacks_destroy(struct vmop_waiting_stacks *waiting)
{
	if (!waiting)
		return;
	munmap(waiting->buffer, waiting->size_bytes);
	free(waiting);
}

static size_t rounded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static size_t item_bytes(const struct vmop_stack_capture *capture)
{
	return sizeof(struct item) + capture->n_kernel_frames * sizeof(uint64_t) +
	       capture->n_user_frames * sizeof(uint64_t) +
	       (capture->user_regs ? VMOP_USER_REGS * sizeof(uint64_t) : 0) +
	       rounded(capture->user_stack ? capture->user_stack_bytes : 0);
}

/* Copy bytes to *to, and move *to behind the copy. from may be NULL: there are none. */
static void copy(uint8_t **to, const void *from, size_t bytes)
{
	if (!from || !bytes)
		return;
	memcpy(*to, from, bytes);
	*to += rounded(bytes);
}

/* Set the pointers of capture to what follows the item. */
static void point(struct item *item)
{
	struct vmop_stack_capture *capture = &item->stack.capture;
	uint64_t *words = (uint64_t *)(item + 1);
	capture->kernel_frames = words;
	words += capture->n_kernel_frames;
	capture->user_frames = words;
	words += capture->n_user_frames;
	if (capture->user_regs) {
		capture->user_regs = words;
		words += VMOP_USER_REGS;
	}
	if (capture->user_stack)
		capture->user_stack = (const uint8_t *)words;
}

bool vmop_waiting_stacks_add(struct vmop_waiting_stacks *waiting,
			     const struct vmop_waiting_stack *stack)
{
	const struct vmop_stack_capture *capture = &stack->capture;
	size_t bytes = item_bytes(capture);
	if (bytes > waiting->size_bytes - waiting->used_bytes)
		return false;
	struct item *item = (struct item *)(waiting->buffer + waiting->used_bytes);
	uint8_t *to = (uint8_t *)(item + 1);
	item->bytes = bytes;
	item->stack = *stack;
	copy(&to, capture->kernel_frames, capture->n_kernel_frames * sizeof(uint64_t));
	copy(&to, capture->user_frames, capture->n_user_frames * sizeof(uint64_t));
	copy(&to, capture->user_regs, VMOP_USER_REGS * sizeof(uint64_t));
	copy(&to, capture->user_stack, capture->user_stack_bytes);
	waiting->used_bytes += bytes;
	waiting->n++;
	return true;
}

void vmop_waiting_stacks_release(struct vmop_waiting_stacks *waiting,
				 bool (*release)(void *arg, struct vmop_waiting_stack *stack),
				 void *arg)
{
	size_t kept_bytes = 0, n = 0;
	for (size_t at = 0, bytes; at < waiting->used_bytes; at += bytes) {
		struct item *item = (struct item *)(waiting->buffer + at);
		bytes = item->bytes;
		point(item);
		if (release(arg, &item->stack))
			continue;
		memmove(waiting->buffer + kept_bytes, item, bytes);
		kept_bytes += bytes;
		n++;
	}
	/* Give back the pages, unless they are few. */
	if (waiting->used_bytes > waiting->size_bytes / 64 && !kept_bytes)
		madvise(waiting->buffer, waiting->size_bytes, MADV_DONTNEED);
	waiting->used_bytes = kept_bytes;
	waiting->n = n;
}

size_t vmop_waiting_stacks_n(const struct vmop_waiting_stacks *waiting)
{
	return waiting->n;
}
