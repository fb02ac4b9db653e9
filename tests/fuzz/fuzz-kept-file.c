// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a file of kept sums: as they are, and behind the right beginning with the right
 * hash. What is accepted lies within the file, and is the same when it is written again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libutil/cleanup.h"
#include "opreport/query/kept-file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Bytes of a header: its beginning is the same in all files, and its end is the hash. */
enum { BEGIN_BYTES = 36, HASH_AT = 128, HEADER_BYTES = 136 };

static void check(const void *bytes, size_t len_bytes)
{
	struct vmop_kept_file file;
	if (!vmop_kept_file_parse(bytes, len_bytes, &file))
		return;
	size_t n_cells = 0, n_runs = 0, names_len_bytes = 0, again_len_bytes;
	uint64_t sum = 0;
	for (size_t i = 0; i < file.n_places; i++)
		n_cells += file.places[i].n_cells;
	for (size_t i = 0; i < file.n_images; i++) {
		const struct vmop_kept_run *runs = file.runs + n_runs;
		n_runs += file.images[i].n_runs;
		for (size_t run = 0; run < file.images[i].n_runs; run++) {
			if (runs[run].index == VMOP_SYMTAB_NO_INDEX)
				continue;
			names_len_bytes += strlen(file.names + runs[run].name);
			names_len_bytes += strlen(file.names + runs[run].shown);
			if (runs[runs[run].first].index != runs[run].index)
				abort();
		}
	}
	for (size_t i = 0; i < n_cells; i++)
		sum += file.cells[i].samples;
	if (n_cells != file.n_cells || n_runs != file.n_runs || sum + names_len_bytes == 1)
		return; /* never the first two; the sums are used */
	_cleanup_free_ void *again = vmop_kept_file_make(&file, &again_len_bytes);
	if (!again)
		return;
	if (again_len_bytes != len_bytes || memcmp(again, bytes, len_bytes) != 0)
		abort();
}

/* Write the right beginning and hash into a copy of the data. */
static void repair(uint8_t *bytes, size_t len_bytes)
{
	size_t empty_len_bytes;
	const struct vmop_kept_file empty = {0};
	_cleanup_free_ void *begin = vmop_kept_file_make(&empty, &empty_len_bytes);
	if (!begin)
		return;
	memcpy(bytes, begin, BEGIN_BYTES);
	memset(bytes + HASH_AT, 0, HEADER_BYTES - HASH_AT);
	uint64_t seed = XXH3_64bits(bytes, HEADER_BYTES);
	uint64_t hash = XXH3_64bits_withSeed(bytes + HEADER_BYTES, len_bytes - HEADER_BYTES, seed);
	memcpy(bytes + HASH_AT, &hash, sizeof(hash));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_free_ uint8_t *bytes = malloc(len_bytes + 1);
	if (!bytes)
		abort();
	memcpy(bytes, data, len_bytes);
	check(bytes, len_bytes);
	if (len_bytes >= HEADER_BYTES) {
		repair(bytes, len_bytes);
		check(bytes, len_bytes);
	}
	return 0;
}
