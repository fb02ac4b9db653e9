// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/mini-debug-info.h"

#include "config.h"

#ifdef HAVE_LZMA

#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>

#include "libsym/elf/elf-symbols.h"
#include "libutil/cleanup.h"

/* Limits for the unpacked size of a section, and for the memory that unpacking uses. */
#define MAX_UNPACKED_BYTES ((size_t)256 << 20)
#define MAX_MEMORY_BYTES ((uint64_t)80 << 20) /* "xz -9" needs 65 MiB */

/* Bytes unpacked or read between two checks of the budget. */
#define PIECE_BYTES ((size_t)1 << 20)

struct unpacked {
	char *image;
	size_t len_bytes, capacity; /* capacity is charged to the budget's memory */
	struct vmop_sym_budget *budget;
};

static void unpacked_deinit(struct unpacked *unpacked)
{
	vmop_sym_budget_give_memory(unpacked->budget, unpacked->capacity);
	free(unpacked->image);
}

/*
 * Make room for one more piece. Return false on failure; *ret_no_memory is true if memory ran out.
 */
static bool grow(struct unpacked *unpacked, bool *ret_no_memory)
{
	size_t wanted = unpacked->capacity < PIECE_BYTES ? PIECE_BYTES : unpacked->capacity / 4 * 5;
	if (wanted > MAX_UNPACKED_BYTES)
		wanted = MAX_UNPACKED_BYTES;
	if (wanted == unpacked->capacity)
		return vmop_sym_budget_spend(unpacked->budget, VMOP_SYM_COST_UNPACKING);
	if (!vmop_sym_budget_take_memory(unpacked->budget, wanted - unpacked->capacity))
		return false;
	char *grown = realloc(unpacked->image, wanted);
	*ret_no_memory = !grown;
	if (!grown) {
		vmop_sym_budget_give_memory(unpacked->budget, wanted - unpacked->capacity);
		return false;
	}
	unpacked->image = grown;
	unpacked->capacity = wanted;
	return true;
}

/* Unpack one piece. Damaged or too large input gives another status than LZMA_OK. */
static lzma_ret unpack_piece(lzma_stream *stream, const struct vmop_elf_data *packed,
			     struct unpacked *unpacked, bool *ret_no_memory)
{
	if (unpacked->len_bytes == unpacked->capacity && !grow(unpacked, ret_no_memory))
		return LZMA_MEM_ERROR;
	size_t room = unpacked->capacity - unpacked->len_bytes;
	size_t taken_in = stream->total_in, left = packed->len_bytes - taken_in;
	stream->next_in = (const uint8_t *)packed->bytes + taken_in;
	stream->avail_in = left < PIECE_BYTES ? left : PIECE_BYTES;
	stream->next_out = (uint8_t *)unpacked->image + unpacked->len_bytes;
	stream->avail_out = room < PIECE_BYTES ? room : PIECE_BYTES;
	if (!vmop_sym_budget_take_read(unpacked->budget, stream->avail_out) ||
	    !vmop_sym_budget_look(unpacked->budget))
		return LZMA_MEM_ERROR;
	lzma_ret status = lzma_code(stream, left <= PIECE_BYTES ? LZMA_FINISH : LZMA_RUN);
	unpacked->len_bytes = stream->total_out;
	return status;
}

/* Unpack the section. unpacked->len_bytes is 0 if it is damaged or too large. */
static struct vmop_error *unpack(const struct vmop_elf_file *elf,
				 const struct vmop_elf_data *packed, struct unpacked *unpacked)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	bool no_memory = false;
	if (!vmop_sym_budget_take_memory(elf->budget, MAX_MEMORY_BYTES))
		return vmop_sym_budget_error(elf->budget, elf->path);
	lzma_ret status = lzma_stream_decoder(&stream, MAX_MEMORY_BYTES, LZMA_CONCATENATED);
	while (status == LZMA_OK)
		status = unpack_piece(&stream, packed, unpacked, &no_memory);
	lzma_end(&stream);
	vmop_sym_budget_give_memory(elf->budget, MAX_MEMORY_BYTES);
	if (status != LZMA_STREAM_END)
		unpacked->len_bytes = 0;
	if (no_memory)
		return &vmop_error_no_memory;
	return elf->budget->spent ? vmop_sym_budget_error(elf->budget, elf->path) : NULL;
}

static struct vmop_error *add_unpacked(const struct vmop_elf_file *elf,
				       const struct unpacked *unpacked,
				       const struct vmop_elf_file *layout,
				       struct vmop_symtab_builder *builder)
{
	_cleanup_(vmop_elf_cleanup) struct vmop_elf_file *mini = NULL;
	if (unpacked->len_bytes == 0)
		return NULL;
	struct vmop_error *err = vmop_elf_create_in_memory(unpacked->image, unpacked->len_bytes,
							   elf->path, elf->budget, &mini);
	if (err && err->code == VMOP_ERROR_CORRUPT) {
		/* Missing and damaged sections have the same result: only .dynsym is used. */
		vmop_error_destroy(err);
		return NULL;
	}
	return err ? err : vmop_elf_symbols_add(mini, SHT_SYMTAB, layout, builder);
}

struct vmop_error *vmop_mini_debug_info_add(const struct vmop_elf_file *elf,
					    const struct vmop_elf_file *layout,
					    struct vmop_symtab_builder *builder)
{
	_cleanup_(vmop_elf_data_deinit) struct vmop_elf_data packed;
	_cleanup_(unpacked_deinit) struct unpacked unpacked = {.budget = elf->budget};
	struct vmop_error *err = vmop_elf_data_read(
		elf, vmop_elf_find_section(elf, SHT_PROGBITS, ".gnu_debugdata"), &packed);

	if (err || !packed.bytes)
		return err;
	err = unpack(elf, &packed, &unpacked);
	return err ? err : add_unpacked(elf, &unpacked, layout, builder);
}

#else

struct vmop_error *vmop_mini_debug_info_add(const struct vmop_elf_file *elf,
					    const struct vmop_elf_file *layout,
					    struct vmop_symtab_builder *builder)
{
	(void)elf;
	(void)layout;
	(void)builder;
	return NULL;
}

#endif
