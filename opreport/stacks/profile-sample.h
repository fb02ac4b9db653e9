// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pack the samples of a profile for pprof.  Nearly all bytes of a profile are samples, and their
 * lists of locations differ in the last callees only.  These are packed once for each frame of a
 * call tree, where protobuf-c would pack the whole list again for each sample, and take several
 * times as long.
 *
 * Format: protobuf.dev/programming-guides/encoding; messages as in pprof.proto.
 */
#ifndef VMOP_OPREPORT_STACKS_PROFILE_SAMPLE_H
#define VMOP_OPREPORT_STACKS_PROFILE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "opreport/stacks/call-path.h"

#define VMOP_VARINT64_MAX_BYTES 10

/*
 * The packed ids of the locations on the path to a node of a call tree.  The list begins with the
 * innermost, so it grows downwards from the end.  A zeroed path is empty.
 */
struct vmop_profile_path {
	size_t n;			       /* locations */
	uint32_t lens[VMOP_CALL_PATH_MAX + 1]; /* by number of locations: their packed bytes */
	uint8_t ids[VMOP_CALL_PATH_MAX * VMOP_VARINT64_MAX_BYTES];
};

/* Keep the n outermost locations, and add one that they call.  n is below VMOP_CALL_PATH_MAX. */
void vmop_profile_path_enter(struct vmop_profile_path *path, size_t n, uint64_t location_id);

/* The rest of a sample. */
struct vmop_profile_values {
	const int64_t *values; /* n_values */
	size_t n_values;
	const void *labels; /* packed, as fields of a sample */
	size_t labels_len_bytes;
};

/* Return the room that vmop_profile_sample_pack needs at most. */
size_t vmop_profile_sample_bound_bytes(const struct vmop_profile_path *path,
				       const struct vmop_profile_values *values);

/* Write a profile's field `sample` with one sample to buf.  Returns its length. */
size_t vmop_profile_sample_pack(const struct vmop_profile_path *path,
				const struct vmop_profile_values *values, uint8_t *buf);

#endif
