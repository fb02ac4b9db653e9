// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executable mappings of sampled processes, and the images in them with their unwind tables,
 * from the records of a recording (sampler.h).
 */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_PROCESSES_H
#define VMOP_TESTS_UNIT_LIBSTACK_PROCESSES_H

#include <elf.h>

#include "libstack/unwind.h"
#include "sampler.h"

enum { MAX_IMAGE_LOADS = 16 };

/* An ELF file, whole in memory. */
struct image {
	char *path;
	const uint8_t *bytes; /* NULL: no ELF file of this machine */
	size_t len_bytes;
	struct vmop_cfi_table *table; /* NULL: none */
	Elf64_Phdr loads[MAX_IMAGE_LOADS];
	size_t n_loads;
	uint64_t eh_frame_hdr, eh_frame, eh_frame_bytes; /* ELF addresses; 0: none */
	void *search_table;				 /* reference.c */
	size_t n_search_rows;
	struct image *next;
};

struct mapping {
	uint64_t start, end, offset;
	struct image *image; /* NULL: no file */
	uint64_t bias;	     /* process address - ELF address */
};

struct process {
	uint32_t pid;
	struct mapping *mappings;
	size_t n_mappings;
	struct process *next;
};

struct processes {
	struct process *all;
	struct image *images;
	double build_ms;
	size_t table_bytes;
};

/* Apply a record other than a stack. */
void processes_apply(struct processes *processes, const struct sampled *record);
struct process *processes_get(struct processes *processes, uint32_t pid);
void processes_free(struct processes *processes);

/* Return the mapping that contains address, or NULL. */
const struct mapping *process_find(const struct process *process, uint64_t address);

/* A struct vmop_code_space's function; arg is the struct process. */
bool process_find_code(void *arg, uint64_t address, struct vmop_code_piece *ret);

/* Copy bytes of the image at an ELF address. False: there are none in the file. */
bool image_read(const struct image *image, uint64_t elf_address, void *to, size_t len_bytes);

#endif
