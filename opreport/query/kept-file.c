// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/kept-file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "config.h"

/* Change it with the format, and with the meaning of a part. */
#define FORMAT 3

static const char magic[8] = "vmopsum";

struct header {
	char magic[8];
	char version[24]; /* of the program */
	uint32_t format;
	uint32_t n_places, n_images, n_runs, n_cells, names_len_bytes;
	uint32_t demangle, zero;
	struct vmop_kept_state state;
	uint64_t hash; /* XXH3, of the header with a hash of 0, then of the rest */
};

_Static_assert(sizeof(struct header) == 136 && sizeof(struct vmop_kept_state) == 64 &&
		       sizeof(struct vmop_kept_place) == 40 &&
		       sizeof(struct vmop_kept_image) == 16 && sizeof(struct vmop_kept_run) == 56 &&
		       sizeof(struct vmop_db_cell) == 24,
	       "a file's form, of multiples of 8 bytes");

static uint64_t hash_file(const struct header *header, const void *rest, size_t len_bytes)
{
	struct header hashed = *header;
	hashed.hash = 0;
	XXH64_hash_t seed = XXH3_64bits(&hashed, sizeof(hashed));
	return XXH3_64bits_withSeed(rest, len_bytes, seed);
}

/* Return the bytes of the whole file. Its numbers have 32 bits, so that this cannot overflow. */
static size_t file_bytes(const struct header *header)
{
	return sizeof(*header) + header->n_places * sizeof(struct vmop_kept_place) +
	       header->n_images * sizeof(struct vmop_kept_image) +
	       header->n_runs * sizeof(struct vmop_kept_run) +
	       header->n_cells * sizeof(struct vmop_db_cell) + header->names_len_bytes;
}

static bool is_valid(const struct header *header, size_t len_bytes)
{
	const char version[sizeof(header->version)] = PACKAGE_VERSION;
	return !memcmp(header->magic, magic, sizeof(magic)) &&
	       !memcmp(header->version, version, sizeof(version)) && header->format == FORMAT &&
	       header->demangle <= VMOP_DEMANGLE_FULL && !header->zero &&
	       file_bytes(header) == len_bytes && header->state.first <= header->state.last;
}

static bool has_good_places(const struct vmop_kept_file *file)
{
	size_t n_cells = 0;
	for (size_t i = 0; i < file->n_places; i++)
		n_cells += file->places[i].n_cells;
	return n_cells == file->n_cells;
}

/* Return whether the runs of an image ascend without overlap, and have their names. */
static bool has_good_runs(const struct vmop_kept_file *file, const struct vmop_kept_run *runs,
			  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (runs[i].start >= runs[i].end || (i && runs[i].start < runs[i - 1].end))
			return false;
		if (runs[i].index == VMOP_SYMTAB_NO_INDEX)
			continue;
		if (runs[i].name >= file->names_len_bytes ||
		    runs[i].shown >= file->names_len_bytes || runs[i].first > i ||
		    runs[runs[i].first].index != runs[i].index)
			return false;
	}
	return true;
}

static bool has_good_images(const struct vmop_kept_file *file)
{
	size_t n_runs = 0;
	for (size_t i = 0; i < file->n_images; i++) {
		const struct vmop_kept_image *image = &file->images[i];
		if (image->n_runs > file->n_runs - n_runs ||
		    !has_good_runs(file, file->runs + n_runs, image->n_runs))
			return false;
		n_runs += image->n_runs;
	}
	return n_runs == file->n_runs &&
	       (!file->names_len_bytes || !file->names[file->names_len_bytes - 1]);
}

bool vmop_kept_file_parse(const void *bytes, size_t len_bytes, struct vmop_kept_file *ret)
{
	struct header header;
	const char *at = bytes;
	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	at += sizeof(header);
	if (!is_valid(&header, len_bytes) ||
	    hash_file(&header, at, len_bytes - sizeof(header)) != header.hash)
		return false;
	*ret = (struct vmop_kept_file){
		.state = header.state,
		.demangle = header.demangle,
		.n_places = header.n_places,
		.n_images = header.n_images,
		.n_runs = header.n_runs,
		.n_cells = header.n_cells,
		.names_len_bytes = header.names_len_bytes,
	};
	ret->places = (const void *)at;
	at += ret->n_places * sizeof(*ret->places);
	ret->images = (const void *)at;
	at += ret->n_images * sizeof(*ret->images);
	ret->runs = (const void *)at;
	at += ret->n_runs * sizeof(*ret->runs);
	ret->cells = (const void *)at;
	ret->names = at + ret->n_cells * sizeof(*ret->cells);
	return has_good_places(ret) && has_good_images(ret);
}

/* Copy a part to *at, and advance behind it. */
static void put(char **at, const void *part, size_t len_bytes)
{
	if (len_bytes)
		memcpy(*at, part, len_bytes);
	*at += len_bytes;
}

void *vmop_kept_file_make(const struct vmop_kept_file *file, size_t *ret_len_bytes)
{
	struct header header = {
		.format = FORMAT,
		.n_places = (uint32_t)file->n_places,
		.n_images = (uint32_t)file->n_images,
		.n_runs = (uint32_t)file->n_runs,
		.n_cells = (uint32_t)file->n_cells,
		.names_len_bytes = (uint32_t)file->names_len_bytes,
		.demangle = file->demangle,
		.state = file->state,
	};
	const size_t numbers[] = {file->n_places, file->n_images, file->n_runs, file->n_cells,
				  file->names_len_bytes};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i] > VMOP_KEPT_FILE_MAX_BYTES)
			return NULL;
	memcpy(header.magic, magic, sizeof(magic));
	snprintf(header.version, sizeof(header.version), "%s", PACKAGE_VERSION);
	size_t len_bytes = file_bytes(&header);
	char *bytes = len_bytes <= VMOP_KEPT_FILE_MAX_BYTES ? malloc(len_bytes) : NULL, *at = bytes;
	if (!bytes)
		return NULL;
	at += sizeof(header);
	put(&at, file->places, file->n_places * sizeof(*file->places));
	put(&at, file->images, file->n_images * sizeof(*file->images));
	put(&at, file->runs, file->n_runs * sizeof(*file->runs));
	put(&at, file->cells, file->n_cells * sizeof(*file->cells));
	put(&at, file->names, file->names_len_bytes);
	header.hash = hash_file(&header, bytes + sizeof(header), len_bytes - sizeof(header));
	memcpy(bytes, &header, sizeof(header));
	*ret_len_bytes = len_bytes;
	return bytes;
}
