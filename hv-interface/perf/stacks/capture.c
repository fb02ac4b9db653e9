// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/capture.h"

#include <string.h>

#include "hv-interface/perf/stacks/deferred.h"

/* Part of the copied stack that is fetched into the cache: another CPU wrote it. */
enum { FETCHED_BYTES = 512, CACHE_LINE_BYTES = 64 };

/* The next unread bytes of a record. */
struct reader {
	const uint8_t *at;
	size_t left_bytes;
};

static bool read_u64(struct reader *reader, uint64_t *ret)
{
	if (reader->left_bytes < sizeof(*ret))
		return false;
	memcpy(ret, reader->at, sizeof(*ret));
	reader->at += sizeof(*ret);
	reader->left_bytes -= sizeof(*ret);
	return true;
}

/* Return the next n words, or NULL if the record ends before. Records are aligned to 8 bytes. */
static const uint64_t *take_words(struct reader *reader, uint64_t n)
{
	if (n > reader->left_bytes / sizeof(uint64_t))
		return NULL;
	const uint64_t *words = (const void *)reader->at;
	reader->at += n * sizeof(*words);
	reader->left_bytes -= n * sizeof(*words);
	return words;
}

/* Return whether a word of a callchain is a mark of the kernel's, not an address. */
static bool is_mark(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/*
 * Divide a callchain at its marks. Only the first run of kernel frames and the first of user frames
 * count, and the cookie of a deferred user stack. The words after any other mark, such as a guest's
 * frames, are skipped.
 */
static void divide(const uint64_t *words, size_t n, struct vmop_stack_capture *ret)
{
	size_t i = 0;
	while (i < n) {
		uint64_t mark = words[i];
		size_t first = is_mark(mark) ? i + 1 : i, end = first;
		while (end < n && !is_mark(words[end]))
			end++;
		if (mark == (uint64_t)PERF_CONTEXT_KERNEL && !ret->kernel_frames) {
			ret->kernel_frames = words + first;
			ret->n_kernel_frames = end - first;
		} else if (mark == (uint64_t)PERF_CONTEXT_USER && !ret->user_frames) {
			ret->user_frames = words + first;
			ret->n_user_frames = end - first;
		} else if (mark == VMOP_PERF_CONTEXT_USER_DEFERRED && end > first) {
			ret->user_cookie = words[first];
		}
		i = end;
	}
}

static bool decode_chain(struct reader *reader, uint32_t max_frames, struct vmop_stack_capture *ret)
{
	uint64_t n;
	const uint64_t *words = read_u64(reader, &n) ? take_words(reader, n) : NULL;
	if (!words)
		return false;
	divide(words, n, ret);
	if (ret->n_user_frames && ret->n_kernel_frames + ret->n_user_frames >= max_frames)
		ret->user_end = VMOP_STACK_DEPTH_LIMIT;
	return true;
}

/* Copy the registers into DWARF's order. */
static void order_registers(const uint64_t *words, uint64_t ret[VMOP_USER_REGS])
{
#if defined(__x86_64__)
	/* The record has them in the order ax bx cx dx si di bp sp ip r8-r15. */
	static const uint8_t places[VMOP_PERF_N_USER_REGS] = {0,  3,  2,  1,  4,  5,  6,  7, 9,
							      10, 11, 12, 13, 14, 15, 16, 8};
	for (size_t i = 0; i < VMOP_PERF_N_USER_REGS; i++)
		ret[i] = words[places[i]];
#else
	memcpy(ret, words, VMOP_PERF_N_USER_REGS * sizeof(*ret));
#endif
}

static bool decode_registers(struct reader *reader, struct vmop_perf_capture *ret)
{
	uint64_t abi;
	if (!read_u64(reader, &abi))
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	const uint64_t *words = take_words(reader, VMOP_PERF_N_USER_REGS);
	if (!words)
		return false;
	ret->stack.is_compat = abi != PERF_SAMPLE_REGS_ABI_64;
	if (ret->stack.is_compat)
		return true;
	order_registers(words, ret->user_regs);
	ret->stack.user_regs = ret->user_regs;
	return true;
}

/* Decode the copy of the stack. Without registers it has no address and is left out. */
static bool decode_copy(struct reader *reader, struct vmop_stack_capture *ret)
{
	uint64_t size_bytes, copied_bytes;
	if (!read_u64(reader, &size_bytes))
		return false;
	if (size_bytes == 0)
		return true;
	const uint64_t *words = take_words(reader, size_bytes / sizeof(uint64_t));
	if (!words || size_bytes % sizeof(uint64_t) || !read_u64(reader, &copied_bytes) ||
	    copied_bytes > size_bytes)
		return false;
	if (!ret->user_regs)
		return true;
	/* The innermost frames are read soon. */
	for (size_t i = 0; i < FETCHED_BYTES && i < copied_bytes; i += CACHE_LINE_BYTES)
		__builtin_prefetch((const uint8_t *)words + i);
	ret->user_stack = (const void *)words;
	ret->user_stack_bytes = copied_bytes;
	ret->user_stack_asked_bytes = size_bytes;
	return true;
}

size_t vmop_perf_capture_decode(uint64_t sample_type, uint32_t max_frames,
				const struct perf_event_header *header, size_t at_bytes,
				struct vmop_perf_capture *ret)
{
	ret->stack = (struct vmop_stack_capture){0};
	if (header->size < at_bytes)
		return 0;
	/* The number of copied bytes lies behind the copy, far from all else. */
	__builtin_prefetch((const uint8_t *)header + header->size - sizeof(uint64_t));
	struct reader reader = {(const uint8_t *)header + at_bytes, header->size - at_bytes};
	if (sample_type & PERF_SAMPLE_CALLCHAIN && !decode_chain(&reader, max_frames, &ret->stack))
		return 0;
	if (sample_type & PERF_SAMPLE_REGS_USER && !decode_registers(&reader, ret))
		return 0;
	if (sample_type & PERF_SAMPLE_STACK_USER && !decode_copy(&reader, &ret->stack))
		return 0;
	ret->is_here = true;
	return header->size - reader.left_bytes;
}
