// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/kernel-text.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/error.h"

/*
 * On x86-64 the kernel and its modules lie in the upper 2 GiB
 * (Documentation/arch/x86/x86_64/mm.rst). On arm64 most modules are within 128 MiB of the kernel
 * (arch/arm64/kernel/module.c), of which 1 GiB on each side is looked at.
 */
#define X86_TEXT_BASE UINT64_C(0xffffffff80000000)
#define ARM64_REACH (UINT64_C(1) << 30)
#define TEXT_BYTES (UINT64_C(2) << 30)
#define IS_COLD (UINT32_C(1) << 31)

/* The text of a distribution's kernel has 20 MiB, its largest module 3. */
#define MAX_PIECE_BYTES (UINT64_C(64) << 20)
#define MAX_BYTES (UINT64_C(128) << 20)
enum { MAX_FUNCTIONS = 1 << 20, PAGE_BYTES = 4096 };

/* Intel SDM 2: CALL and JMP with 32 bits of displacement. */
enum { CALL = 0xe8, JMP = 0xe9, BRANCH_BYTES = 5 };

struct piece {
	uint64_t start, end;
	uint8_t *code; /* NULL: not copied */
};

struct vmop_guest_kernel_text {
	struct piece *pieces; /* by rising address, without overlap */
	size_t n_pieces, pieces_capacity;
	uint64_t base;
	/* Offsets from base, rising, with IS_COLD. */
	uint32_t *functions;
	size_t n_functions, functions_capacity;
	/* n_functions of each; with code only. Direct calls, and tail calls of pointers' targets.
	 */
	bool *is_called, *is_jumped_to;
	bool has_kernel; /* the functions of the kernel proper are known */
	bool has_code;
	bool is_out_of_memory;
};

void vmop_guest_kernel_text_destroy(struct vmop_guest_kernel_text *text)
{
	if (!text)
		return;
	for (size_t i = 0; i < text->n_pieces; i++)
		free(text->pieces[i].code);
	free(text->pieces);
	free(text->functions);
	free(text->is_called);
	free(text->is_jumped_to);
	free(text);
}

/* ---- functions ------------------------------------------------------------- */

static bool add_function(struct vmop_guest_kernel_text *text, uint32_t function)
{
	text->is_out_of_memory = !vmop_array_reserve(text->functions, text->functions_capacity,
						     text->n_functions + 1);
	if (text->is_out_of_memory || text->n_functions == MAX_FUNCTIONS)
		return false;
	text->functions[text->n_functions++] = function;
	return true;
}

static bool take_symbol(const struct vmop_guest_symbol *symbol, void *arg)
{
	struct vmop_guest_kernel_text *text = arg;
	if (!symbol->type || !strchr("tTwW", symbol->type) ||
	    symbol->address - text->base >= TEXT_BYTES)
		return true;
	text->has_kernel |= !symbol->module;
	uint32_t cold = strstr(symbol->name, ".cold") ? IS_COLD : 0;
	return add_function(text, (uint32_t)(symbol->address - text->base) | cold);
}

static int by_address(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a & ~IS_COLD, right = *(const uint32_t *)b & ~IS_COLD;
	return (left > right) - (left < right);
}

static void sort_functions(struct vmop_guest_kernel_text *text)
{
	size_t n = 0;
	if (text->n_functions)
		qsort(text->functions, text->n_functions, sizeof(text->functions[0]), by_address);
	for (size_t i = 0; i < text->n_functions; i++)
		if (!n || by_address(&text->functions[n - 1], &text->functions[i]) != 0)
			text->functions[n++] = text->functions[i];
	text->n_functions = n;
}

/* Add the functions of the kernel proper that an earlier text had. */
static void inherit(struct vmop_guest_kernel_text *text,
		    const struct vmop_guest_kernel_info *kernel,
		    const struct vmop_guest_kernel_text *before)
{
	for (size_t i = 0; i < before->n_functions; i++) {
		uint64_t address = text->base + (before->functions[i] & ~IS_COLD);
		if (address >= kernel->text_start && address < kernel->image_end &&
		    !add_function(text, before->functions[i]))
			return;
	}
	text->has_kernel = before->has_kernel;
}

/* ---- code ------------------------------------------------------------------ */

/* Copy the code of a piece. Pages that are not there stay zeros, which call nothing. */
static bool copy_code(struct vmop_guest *guest, struct piece *piece)
{
	size_t len_bytes = (size_t)(piece->end - piece->start);
	piece->code = calloc(1, len_bytes);
	if (!piece->code)
		return false;
	if (vmop_guest_read_kernel(guest, piece->start, piece->code, len_bytes))
		return true;
	for (size_t at = 0; at < len_bytes; at += PAGE_BYTES) {
		size_t n = len_bytes - at < PAGE_BYTES ? len_bytes - at : PAGE_BYTES;
		if (!vmop_guest_read_kernel(guest, piece->start + at, piece->code + at, n))
			memset(piece->code + at, 0, n);
	}
	return true;
}

static void add_piece(struct vmop_guest_kernel_text *text, uint64_t start, uint64_t end)
{
	if (start - text->base >= TEXT_BYTES || end <= start || end - start > MAX_PIECE_BYTES ||
	    text->is_out_of_memory)
		return;
	text->is_out_of_memory =
		!vmop_array_reserve(text->pieces, text->pieces_capacity, text->n_pieces + 1);
	if (!text->is_out_of_memory)
		text->pieces[text->n_pieces++] = (struct piece){.start = start, .end = end};
}

static int by_start(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;
	return (left->start > right->start) - (left->start < right->start);
}

/* Sort the pieces, and drop those that overlap the one before, as only a hostile guest's do. */
static void sort_pieces(struct vmop_guest_kernel_text *text)
{
	size_t n = 0;
	if (text->n_pieces)
		qsort(text->pieces, text->n_pieces, sizeof(text->pieces[0]), by_start);
	for (size_t i = 0; i < text->n_pieces; i++)
		if (!n || text->pieces[n - 1].end <= text->pieces[i].start)
			text->pieces[n++] = text->pieces[i];
	text->n_pieces = n;
}

static void add_pieces(struct vmop_guest_kernel_text *text, struct vmop_guest *guest, bool has_code)
{
	const struct vmop_guest_kernel_info *kernel = vmop_guest_kernel_info(guest);
	uint64_t bytes = 0;
	add_piece(text, kernel->text_start, kernel->text_end);
	for (size_t i = 0; i < vmop_guest_module_count(guest); i++) {
		const struct vmop_guest_module *module = vmop_guest_module_get(guest, i);
		if (module->kind == VMOP_GUEST_TEXT_MODULE)
			add_piece(text, module->text_start,
				  module->text_start + module->text_len_bytes);
	}
	sort_pieces(text);
	text->has_code = has_code;
	for (size_t i = 0; i < text->n_pieces && has_code; i++) {
		struct piece *piece = &text->pieces[i];
		bytes += piece->end - piece->start;
		if (bytes > MAX_BYTES)
			return;
		text->is_out_of_memory |= !copy_code(guest, piece);
	}
}

/* ---- look-up --------------------------------------------------------------- */

/* Return the index of the last function that begins at or before address, or n_functions. */
static size_t find_index(const struct vmop_guest_kernel_text *text, uint64_t address)
{
	size_t low = 0, high = text->n_functions;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (text->base + (text->functions[middle] & ~IS_COLD) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : text->n_functions;
}

/*
 * Return the index of the function at whose start a CALL or JMP rel32 in a piece has its target, or
 * n_functions.
 */
static size_t find_target(const struct vmop_guest_kernel_text *text, const struct piece *piece,
			  size_t at)
{
	uint32_t relative;
	memcpy(&relative, piece->code + at + 1, sizeof(relative));
	uint64_t target =
		piece->start + at + BRANCH_BYTES + (uint64_t)(int64_t)(int32_t)le32toh(relative);
	size_t i = find_index(text, target);
	bool is_start =
		i < text->n_functions && text->base + (text->functions[i] & ~IS_COLD) == target;
	return is_start ? i : text->n_functions;
}

/* Note the functions that direct calls in a piece call, wherever the bytes of CALL rel32 are. */
static void find_called(struct vmop_guest_kernel_text *text, const struct piece *piece)
{
	size_t len_bytes = (size_t)(piece->end - piece->start);
	for (size_t at = 0; at + BRANCH_BYTES <= len_bytes; at++)
		if (piece->code[at] == CALL)
			text->is_called[find_target(text, piece, at)] = true;
}

/* Note the functions to which others jump that no direct call calls. */
static void find_jumped_to(struct vmop_guest_kernel_text *text, const struct piece *piece)
{
	size_t len_bytes = (size_t)(piece->end - piece->start);
	for (size_t at = 0; at + BRANCH_BYTES <= len_bytes; at++) {
		if (piece->code[at] != JMP)
			continue;
		size_t to = find_target(text, piece, at);
		size_t from = to < text->n_functions ? find_index(text, piece->start + at) : to;
		text->is_jumped_to[to] |= from != to && !text->is_called[from];
	}
}

static void find_all_called(struct vmop_guest_kernel_text *text)
{
	/* The last one is for all addresses that are none of a function. */
	text->is_called = calloc(text->n_functions + 1, sizeof(text->is_called[0]));
	text->is_jumped_to = calloc(text->n_functions + 1, sizeof(text->is_jumped_to[0]));
	text->is_out_of_memory |= !text->is_called || !text->is_jumped_to;
	for (size_t i = 0; i < text->n_pieces && !text->is_out_of_memory; i++)
		if (text->pieces[i].code)
			find_called(text, &text->pieces[i]);
	for (size_t i = 0; i < text->n_pieces && !text->is_out_of_memory; i++)
		if (text->pieces[i].code)
			find_jumped_to(text, &text->pieces[i]);
}

struct vmop_guest_kernel_text *
vmop_guest_kernel_text_create(struct vmop_guest *guest, bool has_code,
			      const struct vmop_guest_kernel_text *before)
{
	const struct vmop_guest_kernel_info *kernel = vmop_guest_kernel_info(guest);
	struct vmop_guest_kernel_text *text = calloc(1, sizeof(*text));
	if (!text || !kernel)
		return text;
	bool is_arm64 = strcmp(kernel->architecture, "arm64") == 0;
	text->base = is_arm64 ? kernel->text_start - ARM64_REACH : X86_TEXT_BASE;
	vmop_error_destroy(vmop_guest_each_symbol(guest, take_symbol, text));
	if (!text->has_kernel && before && before->base == text->base)
		inherit(text, kernel, before);
	sort_functions(text);
	add_pieces(text, guest, has_code);
	if (has_code && !is_arm64)
		find_all_called(text);
	if (text->is_out_of_memory) {
		vmop_guest_kernel_text_destroy(text);
		return NULL;
	}
	return text;
}

bool vmop_guest_kernel_text_is_usable(const struct vmop_guest_kernel_text *text)
{
	return text && text->has_code && text->has_kernel;
}

static const struct piece *find_piece(const struct vmop_guest_kernel_text *text, uint64_t address)
{
	size_t low = 0, high = text->n_pieces;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (text->pieces[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < text->pieces[low - 1].end ? &text->pieces[low - 1] : NULL;
}

static const uint8_t *find_code(void *arg, uint64_t address, size_t len_bytes)
{
	const struct piece *piece = find_piece(arg, address);
	if (!piece || !piece->code || len_bytes > piece->end - address)
		return NULL;
	return piece->code + (address - piece->start);
}

static bool find_function(void *arg, uint64_t address, struct vmop_kernel_function *ret)
{
	const struct vmop_guest_kernel_text *text = arg;
	const struct piece *piece = find_piece(text, address);
	size_t i = find_index(text, address);
	if (!piece || i == text->n_functions)
		return false;
	uint32_t function = text->functions[i];
	ret->start = text->base + (function & ~IS_COLD);
	ret->end = piece->end;
	if (i + 1 < text->n_functions) {
		uint64_t next = text->base + (text->functions[i + 1] & ~IS_COLD);
		ret->end = next < piece->end ? next : piece->end;
	}
	ret->is_cold = function & IS_COLD;
	ret->is_only_named = text->is_called && text->is_called[i] && !text->is_jumped_to[i];
	return ret->start >= piece->start;
}

void vmop_guest_kernel_text_view(const struct vmop_guest_kernel_text *text,
				 struct vmop_kernel_text *ret)
{
	*ret = (struct vmop_kernel_text){
		.code = find_code, .find_function = find_function, .arg = (void *)text};
}
