// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/deferred.h"

#include <string.h>

/* Bits of the flags that follow perf_event_attr.read_format. */
#define DEFER_CALLCHAIN (UINT64_C(1) << 38)
#define DEFER_OUTPUT (UINT64_C(1) << 39)

/* The body begins with the cookie and the number of frames. */
enum { WORDS_BEFORE_FRAMES = 2 };

static void set_flag(struct perf_event_attr *attr, uint64_t flag)
{
	const size_t at = offsetof(struct perf_event_attr, read_format) + sizeof(uint64_t);
	uint64_t flags;
	memcpy(&flags, (const char *)attr + at, sizeof(flags));
	flags |= flag;
	memcpy((char *)attr + at, &flags, sizeof(flags));
}

void vmop_perf_deferred_ask(struct perf_event_attr *attr)
{
	set_flag(attr, DEFER_CALLCHAIN);
}

void vmop_perf_deferred_deliver(struct perf_event_attr *attr)
{
	set_flag(attr, DEFER_OUTPUT);
}

bool vmop_perf_deferred_decode(const uint8_t *body, size_t len_bytes, struct vmop_record *ret,
			       struct vmop_perf_capture *capture)
{
	const uint64_t *words = (const void *)body;
	size_t n_words = len_bytes / sizeof(*words);
	if (n_words < WORDS_BEFORE_FRAMES || words[1] > n_words - WORDS_BEFORE_FRAMES)
		return false;
	const uint64_t *frames = words + WORDS_BEFORE_FRAMES;
	size_t n = words[1];
	/* A chain can begin with the mark of its kind. */
	if (n && frames[0] == (uint64_t)PERF_CONTEXT_USER) {
		frames++;
		n--;
	}
	ret->type = VMOP_RECORD_USER_CHAIN;
	ret->user_chain = (struct vmop_user_chain_record){.cookie = words[0]};
	if (!capture)
		return true;
	capture->stack = (struct vmop_stack_capture){.user_frames = frames, .n_user_frames = n};
	capture->is_here = true;
	return true;
}
