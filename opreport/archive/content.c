// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "opreport/archive/interrupt.h"

void vmop_content_finish(const XXH3_state_t *state, uint8_t ret[VMOP_MEMBER_HASH_BYTES])
{
	XXH128_canonical_t canonical;
	_Static_assert(sizeof(canonical) == VMOP_MEMBER_HASH_BYTES, "a hash of 128 bits");
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
	memcpy(ret, &canonical, sizeof(canonical));
}

static void free_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

struct vmop_error *vmop_content_read(int fd, const char *path, uint64_t len_bytes,
				     struct vmop_error *(*take)(void *arg, const void *block,
								size_t len_bytes),
				     void *arg, uint8_t ret_hash[VMOP_MEMBER_HASH_BYTES])
{
	_cleanup_free_ char *block = malloc(VMOP_CONTENT_BLOCK_BYTES);
	_cleanup_(free_state) XXH3_state_t *state = XXH3_createState();
	struct vmop_error *err = NULL;
	if (!block || !state)
		return &vmop_error_no_memory;
	XXH3_128bits_reset(state);
	for (uint64_t at = 0; at < len_bytes && !err;) {
		uint64_t left = len_bytes - at;
		size_t wanted =
			left < VMOP_CONTENT_BLOCK_BYTES ? (size_t)left : VMOP_CONTENT_BLOCK_BYTES;
		ssize_t n = vmop_io_pread_full(fd, block, wanted, at);
		if (n < 0)
			return vmop_error_os(errno, "%s", path);
		if ((size_t)n < wanted)
			return vmop_error_new(VMOP_ERROR_CANT,
					      "%s: it became shorter while it was read; try again",
					      path);
		XXH3_128bits_update(state, block, wanted);
		if (take)
			err = take(arg, block, wanted);
		if (!err)
			err = vmop_interrupt_check();
		at += wanted;
	}
	vmop_content_finish(state, ret_hash);
	return err;
}
