// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/kept-state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "libutil/clock.h"

/*
 * A file that was changed lately could be changed again without another time.  Some file systems
 * store seconds, or every other second.  Linux stores its tick, of at most 10 ms, where the file
 * system stores fractions.
 */
#define SETTLED_NS (3 * VMOP_NS_PER_S)
#define SETTLED_WITH_FRACTIONS_NS (VMOP_NS_PER_S / 10)

static uint64_t to_ns(struct statx_timestamp time)
{
	return (uint64_t)time.tv_sec * VMOP_NS_PER_S + time.tv_nsec;
}

bool vmop_kept_state_identify(const struct vmop_session_facts *facts, const struct statx *file,
			      struct vmop_kept_state *state)
{
	if (!file || !facts->start_ns)
		return false;
	bool has_birth = file->stx_mask & STATX_BTIME;
	const uint64_t numbers[] = {file->stx_dev_major, file->stx_dev_minor, file->stx_ino,
				    has_birth ? to_ns(file->stx_btime) : 0, facts->start_ns};
	XXH128_hash_t hash = XXH3_128bits(numbers, sizeof(numbers));
	const char *const texts[] = {facts->hostname, facts->kernel, facts->machine, facts->vmop};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		hash = XXH3_128bits_withSeed(texts[i], strlen(texts[i]), hash.low64 ^ hash.high64);
	state->session[0] = hash.low64;
	state->session[1] = hash.high64;
	if (!facts->is_finished && has_birth)
		return true;
	state->file_len_bytes = file->stx_size;
	state->mtime_ns = to_ns(file->stx_mtime);
	state->ctime_ns = to_ns(file->stx_ctime);
	return true;
}

bool vmop_kept_state_is_settled(const struct vmop_kept_state *state, uint64_t now_ns)
{
	uint64_t last_ns = state->mtime_ns > state->ctime_ns ? state->mtime_ns : state->ctime_ns;
	bool has_fractions = state->mtime_ns % VMOP_NS_PER_S && state->ctime_ns % VMOP_NS_PER_S;
	return last_ns + (has_fractions ? SETTLED_WITH_FRACTIONS_NS : SETTLED_NS) < now_ns;
}

void vmop_kept_state_name(const struct vmop_kept_state *state, char ret[VMOP_KEPT_NAME_BYTES])
{
	snprintf(ret, VMOP_KEPT_NAME_BYTES, "sums-%016" PRIx64 "%016" PRIx64, state->session[0],
		 state->session[1]);
}

struct spans {
	struct vmop_kept_state all, kept; /* kept: within [first, last] */
	uint32_t first, last;
	bool is_good;
};

static void widen(struct vmop_kept_state *span, const struct vmop_db_interval *interval)
{
	uint64_t end_ns = interval->start_ns + interval->len_ns;
	bool is_first = !span->last;
	if (is_first || interval->id < span->first)
		span->first = interval->id;
	if (interval->id > span->last)
		span->last = interval->id;
	if (is_first || interval->start_ns < span->start_ns)
		span->start_ns = interval->start_ns;
	if (end_ns > span->end_ns)
		span->end_ns = end_ns;
}

static struct vmop_error *add_interval(void *arg, const struct vmop_db_interval *interval)
{
	struct spans *spans = arg;
	/* A greater id is a summary's. */
	spans->is_good &= interval->id > 0 && interval->id <= INT32_MAX;
	widen(&spans->all, interval);
	if (interval->id <= spans->last)
		widen(&spans->kept, interval);
	return NULL;
}

struct vmop_error *vmop_kept_state_read_span(struct vmop_db *db, const struct vmop_kept_state *kept,
					     struct vmop_kept_state *now, bool *ret_is_same)
{
	struct spans spans = {.last = kept->last, .is_good = true};
	struct vmop_error *err = vmop_db_each_interval(db, add_interval, &spans);
	if (err)
		return err;
	now->first = spans.all.first;
	now->last = spans.all.last;
	now->start_ns = spans.all.start_ns;
	now->end_ns = spans.all.end_ns;
	if (!spans.is_good || !spans.all.last)
		now->session[0] = now->session[1] = 0;
	*ret_is_same = spans.is_good && spans.kept.first == kept->first &&
		       spans.kept.start_ns == kept->start_ns && spans.kept.end_ns == kept->end_ns;
	return NULL;
}

bool vmop_kept_state_is_same_file(const struct vmop_kept_state *kept,
				  const struct vmop_kept_state *now)
{
	if (memcmp(kept->session, now->session, sizeof(kept->session)) != 0)
		return false;
	return !kept->file_len_bytes ||
	       (kept->file_len_bytes == now->file_len_bytes && kept->mtime_ns == now->mtime_ns &&
		kept->ctime_ns == now->ctime_ns);
}
