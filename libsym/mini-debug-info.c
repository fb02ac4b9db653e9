// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/mini-debug-info.h"

#include "config.h"

#ifdef HAVE_LZMA

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/elf-symbols.h"
#include "libutil/cleanup.h"

/* What a small section may unpack to, and what unpacking it may take meanwhile. */
#define MAX_UNPACKED_BYTES ((size_t)256 << 20)
#define MAX_MEMORY_BYTES ((uint64_t)128 << 20)

/* *ret_len_bytes 0: damaged, or too large. */
static struct vmop_error *unpack(const Elf_Data *packed, char **ret, size_t *ret_len_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	_cleanup_free_ char *image = NULL;
	size_t capacity = 0;
	lzma_ret status = lzma_stream_decoder(&stream, MAX_MEMORY_BYTES, LZMA_CONCATENATED);

	*ret_len_bytes = 0;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	while (status == LZMA_OK && stream.total_out < MAX_UNPACKED_BYTES) {
		if (stream.avail_out == 0) {
			capacity = capacity ? capacity * 2 : 65536;
			char *grown = realloc(image, capacity);
			if (!grown) {
				lzma_end(&stream);
				return &vmop_error_no_memory;
			}
			image = grown;
			stream.next_out = (uint8_t *)image + stream.total_out;
			stream.avail_out = capacity - stream.total_out;
		}
		status = lzma_code(&stream, LZMA_FINISH);
	}
	if (status == LZMA_STREAM_END)
		*ret_len_bytes = stream.total_out;
	lzma_end(&stream);
	*ret = vmop_steal(&image);
	return NULL;
}

struct vmop_error *vmop_mini_debug_info_add(const struct vmop_elf *elf,
					    const struct vmop_elf *layout,
					    struct vmop_symtab_builder *builder)
{
	GElf_Shdr header;
	Elf_Data *packed = vmop_elf_section_data(
		elf, vmop_elf_find_section(elf, SHT_PROGBITS, ".gnu_debugdata", &header));
	_cleanup_free_ char *image = NULL;
	size_t len_bytes;

	if (!packed)
		return NULL;
	struct vmop_error *err = unpack(packed, &image, &len_bytes);
	if (err || len_bytes == 0)
		return err;
	_cleanup_(vmop_elf_cleanup) struct vmop_elf *mini = NULL;
	err = vmop_elf_create_in_memory(image, len_bytes, elf->path, &mini);
	if (err) {
		/* What isn't there and what is damaged have the same outcome: .dynsym it is. */
		vmop_error_destroy(err);
		return NULL;
	}
	return vmop_elf_symbols_add(mini, SHT_SYMTAB, layout, builder);
}

#else

struct vmop_error *vmop_mini_debug_info_add(const struct vmop_elf *elf,
					    const struct vmop_elf *layout,
					    struct vmop_symtab_builder *builder)
{
	(void)elf;
	(void)layout;
	(void)builder;
	return NULL;
}

#endif
