// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "reference.h"

#ifdef HAVE_UNWIND

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *info,
			unw_proc_info_t *ret, int need_unwind_info, void *arg);

#if defined(__x86_64__)
enum { SP = 7 };
#else
enum { SP = 31 };
#endif

/* Where the search tables of images without .eh_frame_hdr are, from libunwind's point of view. */
#define MADE_TABLE UINT64_C(0xfffffffe00000000)

struct search_row {
	int32_t function, fde;
};

struct reference {
	unw_addr_space_t space;
	const struct process *process;
	const struct sampled *stack;
	const struct image *made; /* the image whose search table is at MADE_TABLE */
};

static int by_function(const void *a, const void *b)
{
	const struct search_row *x = a, *y = b;
	return x->function < y->function ? -1 : x->function > y->function;
}

/*
 * Make a search table of the FDEs, relative to .eh_frame. They all have addresses of 4 bytes
 * relative to their place, as gcc makes them.
 */
static void make_search_table(struct image *image)
{
	struct search_row *rows = NULL;
	size_t n = 0;
	uint32_t len_bytes, id;
	for (uint64_t at = image->eh_frame; at < image->eh_frame + image->eh_frame_bytes;
	     at += 4 + len_bytes) {
		int32_t function;
		if (!image_read(image, at, &len_bytes, 4) || !len_bytes ||
		    !image_read(image, at + 4, &id, 4))
			break;
		if (id == 0 || !image_read(image, at + 8, &function, 4))
			continue;
		rows = realloc(rows, (n + 1) * sizeof(*rows));
		rows[n++] = (struct search_row){
			.function = (int32_t)(at + 8 + (uint64_t)function - image->eh_frame),
			.fde = (int32_t)(at - image->eh_frame)};
	}
	if (n)
		qsort(rows, n, sizeof(*rows), by_function);
	image->search_table = rows;
	image->n_search_rows = n;
}

static bool find_table(struct reference *reference, const struct mapping *mapping,
		       unw_dyn_remote_table_info_t *ret)
{
	struct image *image = mapping->image;
	uint8_t header[12];
	uint32_t n;
	if (image->eh_frame_hdr) {
		if (!image_read(image, image->eh_frame_hdr, header, sizeof(header)) ||
		    header[2] != 3 || header[3] != 0x3b)
			return false;
		memcpy(&n, header + 8, sizeof(n));
		ret->segbase = mapping->bias + image->eh_frame_hdr;
		ret->table_data = ret->segbase + sizeof(header);
	} else {
		if (!image->search_table && image->eh_frame)
			make_search_table(image);
		if (!image->search_table)
			return false;
		reference->made = image;
		n = (uint32_t)image->n_search_rows;
		ret->segbase = mapping->bias + image->eh_frame;
		ret->table_data = MADE_TABLE;
	}
	ret->table_len = n * sizeof(struct search_row) / sizeof(unw_word_t);
	return true;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *ret, int need,
			  void *arg)
{
	struct reference *reference = arg;
	const struct mapping *mapping = process_find(reference->process, ip);
	unw_dyn_info_t info = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	if (!mapping || !mapping->image || !find_table(reference, mapping, &info.u.rti))
		return -UNW_ENOINFO;
	info.start_ip = mapping->start;
	info.end_ip = mapping->end;
	return search_unwind_table(as, ip, &info, ret, need, arg);
}

static bool read_image(const struct reference *reference, uint64_t address, unw_word_t *ret)
{
	const struct process *process = reference->process;
	for (size_t i = 0; i < process->n_mappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		if (!mapping->image)
			continue;
		*ret = 0;
		/* The last word of a segment may be cut. */
		for (size_t len = 8; len > 0; len -= 4) {
			if (image_read(mapping->image, address - mapping->bias, ret, len))
				return true;
		}
	}
	return false;
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int is_write,
		      void *arg)
{
	const struct reference *reference = arg;
	const struct sampled *stack = reference->stack;
	uint64_t offset = address - stack->regs[SP], made = address - MADE_TABLE;
	(void)as;
	if (is_write)
		return -UNW_EINVAL;
	if (stack->stack_bytes >= 8 && offset <= stack->stack_bytes - 8) {
		memcpy(value, stack->stack + offset, 8);
		return 0;
	}
	if (reference->made && made < reference->made->n_search_rows * 8) {
		memcpy(value, (const uint8_t *)reference->made->search_table + made, 8);
		return 0;
	}
	return read_image(reference, address, value) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int is_write,
		      void *arg)
{
	const struct reference *reference = arg;
	(void)as;
	if (is_write || reg < 0 || reg >= VMOP_USER_REGS)
		return -UNW_EBADREG;
	*value = reference->stack->regs[reg];
	return 0;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	(void)as, (void)info, (void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *address, void *arg)
{
	(void)as, (void)address, (void)arg;
	return -UNW_ENOINFO;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int is_write,
			void *arg)
{
	(void)as, (void)reg, (void)value, (void)is_write, (void)arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

struct reference *reference_create(void)
{
	unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
	};
	struct reference *reference = calloc(1, sizeof(*reference));
	reference->space = unw_create_addr_space(&accessors, 0);
	return reference;
}

void reference_destroy(struct reference *reference)
{
	unw_destroy_addr_space(reference->space);
	free(reference);
}

size_t reference_unwind(struct reference *reference, const struct process *process,
			const struct sampled *stack, uint64_t *addresses, size_t max)
{
	unw_cursor_t cursor;
	unw_word_t ip;
	size_t n = 0;
	reference->process = process;
	reference->stack = stack;
	reference->made = NULL;
	if (unw_init_remote(&cursor, reference->space, reference))
		return 0;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip)
			break;
		addresses[n++] = ip;
	} while (n < max && unw_step(&cursor) > 0);
	return n;
}

#else

struct reference *reference_create(void)
{
	return NULL;
}

void reference_destroy(struct reference *reference)
{
	(void)reference;
}

size_t reference_unwind(struct reference *reference, const struct process *process,
			const struct sampled *stack, uint64_t *addresses, size_t max)
{
	(void)reference, (void)process, (void)stack, (void)addresses, (void)max;
	return 0;
}

#endif
