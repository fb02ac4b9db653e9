// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the maps of the BPF program of waits: how their sums have grown since the last call. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory, HASH_ADD leaves an element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "hv-interface/bpf/waits-open.h"

/* Calls after which an entry that stays the same is dropped: names of commands come and go. */
#define STALE_CALLS 600

enum {
	KEY_BYTES = 24,
	VALUE_BYTES = 64,
	ENTRIES = 16384,
	ALL_PLACES = VMOP_WAITS_MAX_VICTIMS * VMOP_WAITS_PLACES,
};
_Static_assert(sizeof(struct vmop_waits_pair_key) <= KEY_BYTES &&
		       sizeof(struct vmop_waits_exit_key) <= KEY_BYTES &&
		       sizeof(struct vmop_waits_address_key) <= KEY_BYTES,
	       "keys fit");
_Static_assert(sizeof(struct vmop_waits_pair) <= VALUE_BYTES &&
		       sizeof(struct vmop_waits_place) <= VALUE_BYTES &&
		       sizeof(struct vmop_waits_exit) <= VALUE_BYTES,
	       "values fit");
_Static_assert(VMOP_WAITS_MAX_PAIRS <= ENTRIES && VMOP_WAITS_MAX_EXITS <= ENTRIES &&
		       VMOP_WAITS_MAX_ADDRESSES <= ENTRIES && ALL_PLACES <= ENTRIES,
	       "maps fit");

struct seen_key {
	uint64_t map; /* enum vmop_waits_map */
	uint8_t bytes[KEY_BYTES];
};

struct vmop_waits_seen {
	UT_hash_handle hh;
	struct seen_key key;
	uint64_t count, time_ns;
	unsigned n_unchanged;
};

struct vmop_error *vmop_waits_sums_init(struct vmop_waits_sums *sums)
{
	sums->slots[0].tid = UINT32_MAX; /* the program takes 0 for no slot */
	sums->keys = malloc((size_t)ENTRIES * KEY_BYTES);
	sums->values = malloc((size_t)ENTRIES * VALUE_BYTES);
	return sums->keys && sums->values ? NULL : &vmop_error_no_memory;
}

void vmop_waits_sums_deinit(struct vmop_waits_sums *sums)
{
	struct vmop_waits_seen *seen, *next;
	HASH_ITER (hh, sums->seen, seen, next) {
		HASH_DEL(sums->seen, seen);
		free(seen);
	}
	free(sums->keys);
	free(sums->values);
}

void vmop_waits_settle(const struct vmop_waits *waits)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	bpf_prog_test_run_opts(waits->settle_fd, &opts);
}

/* The key of a place's sums. */
struct place_key {
	uint32_t slot, place;
};

static uint32_t place_index(struct place_key key)
{
	return key.slot * VMOP_WAITS_PLACES + key.place;
}

/* Make a place free for the next culprit. Its owner, if it runs just now, loses one wait. */
static void empty_place(const struct vmop_waits *waits, struct place_key key)
{
	static const struct vmop_waits_place none;
	uint32_t index = place_index(key);
	bpf_map_update_elem(waits->maps[VMOP_WAITS_PLACES_OF_SLOTS], &index, &none, BPF_ANY);
}

/*
 * Read a whole hash map, or the first max elements of an array, into sums->keys and values. Return
 * how many these are.
 */
static uint32_t read_map(struct vmop_waits *waits, enum vmop_waits_map map, uint32_t max)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t n = max, position;
	int status = bpf_map_lookup_batch(waits->maps[map], NULL, &position, waits->sums.keys,
					  waits->sums.values, &n, &opts);
	return status == 0 || errno == ENOENT ? n : 0;
}

static void forget(struct vmop_waits *waits, struct vmop_waits_seen *seen)
{
	struct place_key key;
	memcpy(&key, seen->key.bytes, sizeof(key));
	if (seen->key.map == VMOP_WAITS_PLACES_OF_SLOTS)
		empty_place(waits, key);
	else
		bpf_map_delete_elem(waits->maps[seen->key.map], seen->key.bytes);
	HASH_DEL(waits->sums.seen, seen);
	free(seen);
}

static struct vmop_waits_seen *find_seen(const struct vmop_waits *waits, enum vmop_waits_map map,
					 const void *key, size_t key_bytes, struct seen_key *ret_of)
{
	struct vmop_waits_seen *seen;
	*ret_of = (struct seen_key){.map = map};
	memcpy(ret_of->bytes, key, key_bytes);
	HASH_FIND(hh, waits->sums.seen, ret_of, sizeof(*ret_of), seen);
	return seen;
}

/*
 * Replace a map's value by its growth since the last call. False: it has not grown. A value below
 * the last one is of an entry that was dropped and came again.
 */
static bool take(struct vmop_waits *waits, enum vmop_waits_map map, const void *key,
		 size_t key_bytes, uint64_t *count, uint64_t *time_ns)
{
	struct seen_key of;
	struct vmop_waits_seen *seen = find_seen(waits, map, key, key_bytes, &of);
	if (!seen) {
		seen = calloc(1, sizeof(*seen));
		if (!seen)
			return false;
		seen->key = of;
		HASH_ADD(hh, waits->sums.seen, key, sizeof(seen->key), seen);
		if (!seen->hh.tbl) {
			free(seen);
			return false;
		}
	}
	if (*count < seen->count || *time_ns < seen->time_ns)
		seen->count = seen->time_ns = 0;
	uint64_t count_before = seen->count, time_before_ns = seen->time_ns;
	seen->count = *count;
	seen->time_ns = *time_ns;
	*count -= count_before;
	*time_ns -= time_before_ns;
	if (*count || *time_ns) {
		seen->n_unchanged = 0;
		return true;
	}
	if (++seen->n_unchanged > STALE_CALLS)
		forget(waits, seen);
	return false;
}

/* Return the slot of a key. Its thread id is 0 if nothing is watched there. */
static const struct vmop_waits_slot *slot_at(const struct vmop_waits *waits, uint32_t slot)
{
	return &waits->sums.slots[slot % VMOP_WAITS_MAX_VICTIMS];
}

/* Return what a slot's vCPU spent in a state. */
static struct vmop_waits_amount amount_of(const struct vmop_waits_slot *slot,
					  enum vmop_wait_state state, uint64_t count,
					  uint64_t time_ns)
{
	return (struct vmop_waits_amount){.guest = slot->guest,
					  .vcpu = slot->vcpu,
					  .state = state,
					  .count = count,
					  .time_ns = time_ns};
}

/* Pass on what a thread waited for a culprit. map, bytes: see take. */
static void take_wait(struct vmop_waits *waits, const struct vmop_waits_sink *sink,
		      enum vmop_waits_map map, const void *bytes, size_t n_bytes,
		      const struct vmop_waits_pair_key *key, const struct vmop_waits_pair *pair)
{
	const struct vmop_waits_slot *slot = slot_at(waits, key->slot);
	struct vmop_waits_amount amount =
		amount_of(slot, VMOP_WAIT_WAITING, pair->count, pair->time_ns);
	amount.culprit = key->kind;
	amount.culprit_pid = pair->tgid;
	if (amount.culprit == VMOP_CULPRIT_PROCESS)
		memcpy(amount.culprit_comm, key->id, sizeof(key->id));
	else
		amount.culprit_id = key->id[0];
	if (slot->tid && take(waits, map, bytes, n_bytes, &amount.count, &amount.time_ns))
		sink->amount(sink->arg, &amount);
}

static void take_pairs(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	uint32_t n = read_map(waits, VMOP_WAITS_PAIRS, VMOP_WAITS_MAX_PAIRS);
	const struct vmop_waits_pair_key *keys = waits->sums.keys;
	const struct vmop_waits_pair *values = waits->sums.values;
	for (uint32_t i = 0; i < n; i++)
		take_wait(waits, sink, VMOP_WAITS_PAIRS, &keys[i], sizeof(keys[i]), &keys[i],
			  &values[i]);
}

/* Return the number of slots up to the last one in use. */
static uint32_t n_slots(const struct vmop_waits *waits)
{
	uint32_t n = VMOP_WAITS_MAX_VICTIMS;
	while (n && !waits->sums.slots[n - 1].tid)
		n--;
	return n;
}

static void take_place(struct vmop_waits *waits, const struct vmop_waits_sink *sink,
		       struct place_key at, const struct vmop_waits_place *place)
{
	const struct vmop_waits_pair_key key = {
		.slot = at.slot, .kind = place->kind_after - 1, .id = {place->id[0], place->id[1]}};
	const struct vmop_waits_pair pair = {
		.time_ns = place->time_ns, .count = place->count, .tgid = place->tgid};
	take_wait(waits, sink, VMOP_WAITS_PLACES_OF_SLOTS, &at, sizeof(at), &key, &pair);
}

static void take_places(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	uint32_t n =
		read_map(waits, VMOP_WAITS_PLACES_OF_SLOTS, n_slots(waits) * VMOP_WAITS_PLACES);
	struct vmop_waits_place *places = waits->sums.values;
	for (uint32_t i = 0; i < n; i++) {
		const struct place_key at = {i / VMOP_WAITS_PLACES, i % VMOP_WAITS_PLACES};
		struct seen_key of;
		if (!places[i].kind_after)
			continue;
		/* A new one may have been filled while it was copied; it is complete now. */
		if (!find_seen(waits, VMOP_WAITS_PLACES_OF_SLOTS, &at, sizeof(at), &of))
			bpf_map_lookup_elem(waits->maps[VMOP_WAITS_PLACES_OF_SLOTS], &i,
					    &places[i]);
		take_place(waits, sink, at, &places[i]);
	}
}

static void take_exits(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	uint32_t n = read_map(waits, VMOP_WAITS_EXITS, VMOP_WAITS_MAX_EXITS);
	const struct vmop_waits_exit_key *keys = waits->sums.keys;
	const struct vmop_waits_exit *values = waits->sums.values;
	for (uint32_t i = 0; i < n; i++) {
		const struct vmop_waits_slot *slot = slot_at(waits, keys[i].slot);
		struct vmop_waits_amount amount =
			amount_of(slot, VMOP_WAIT_EXIT, values[i].count, values[i].time_ns);
		amount.reason = keys[i].reason;
		if (slot->tid && take(waits, VMOP_WAITS_EXITS, &keys[i], sizeof(keys[i]),
				      &amount.count, &amount.time_ns))
			sink->amount(sink->arg, &amount);
	}
}

static void take_addresses(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	uint32_t n = read_map(waits, VMOP_WAITS_ADDRESSES, VMOP_WAITS_MAX_ADDRESSES);
	const struct vmop_waits_address_key *keys = waits->sums.keys;
	const uint64_t *values = waits->sums.values;
	for (uint32_t i = 0; i < n; i++) {
		struct vmop_waits_address address = {.guest = keys[i].guest,
						     .reason = keys[i].reason,
						     .address = keys[i].address,
						     .count = values[i]};
		uint64_t no_time = 0;
		if (take(waits, VMOP_WAITS_ADDRESSES, &keys[i], sizeof(keys[i]), &address.count,
			 &no_time))
			sink->address(sink->arg, &address);
	}
}

static void take_states(struct vmop_waits_slot *slot, const struct vmop_waits_victim *victim,
			const struct vmop_waits_sink *sink)
{
	for (unsigned state = 0; state < VMOP_WAIT_EXIT; state++) {
		uint64_t count = victim->states[state].count;
		uint64_t time_ns = victim->states[state].time_ns + victim->settled_ns[state];
		const struct vmop_waits_amount amount = amount_of(
			slot, state, count - slot->counts[state], time_ns - slot->times_ns[state]);
		slot->counts[state] = count;
		slot->times_ns[state] = time_ns;
		if (state != VMOP_WAIT_WAITING && (amount.count || amount.time_ns))
			sink->amount(sink->arg, &amount);
	}
	struct vmop_waits_amount others =
		amount_of(slot, VMOP_WAIT_WAITING, 0, victim->others_ns - slot->others_ns);
	others.culprit = VMOP_CULPRIT_OTHERS;
	slot->others_ns = victim->others_ns;
	if (others.time_ns)
		sink->amount(sink->arg, &others);
}

static void take_slots(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	for (uint32_t i = 1; i < VMOP_WAITS_MAX_VICTIMS; i++) {
		struct vmop_waits_victim victim;
		if (waits->sums.slots[i].tid &&
		    bpf_map_lookup_elem(waits->maps[VMOP_WAITS_VICTIMS], &i, &victim) == 0)
			take_states(&waits->sums.slots[i], &victim, sink);
	}
}

/* Free the slots of threads that are no longer watched, and what the maps have of them. */
static void free_slots(struct vmop_waits *waits)
{
	static const struct vmop_waits_victim none;
	struct vmop_waits_seen *seen, *next;
	bool any = false;
	for (uint32_t i = 1; i < VMOP_WAITS_MAX_VICTIMS; i++) {
		if (!waits->sums.slots[i].is_leaving)
			continue;
		any = true;
		bpf_map_update_elem(waits->maps[VMOP_WAITS_VICTIMS], &i, &none, BPF_ANY);
		for (uint32_t place = 0; place < VMOP_WAITS_PLACES; place++)
			empty_place(waits, (struct place_key){i, place});
	}
	if (!any)
		return;
	HASH_ITER (hh, waits->sums.seen, seen, next) {
		uint32_t slot; /* the first member of these keys */
		memcpy(&slot, seen->key.bytes, sizeof(slot));
		if (seen->key.map != VMOP_WAITS_ADDRESSES && slot_at(waits, slot)->is_leaving)
			forget(waits, seen);
	}
	for (uint32_t i = 1; i < VMOP_WAITS_MAX_VICTIMS; i++)
		if (waits->sums.slots[i].is_leaving)
			waits->sums.slots[i] = (struct vmop_waits_slot){0};
}

void vmop_waits_take(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	vmop_waits_settle(waits);
	take_slots(waits, sink);
	take_places(waits, sink);
	take_pairs(waits, sink);
	if (!waits->no_exits) {
		take_exits(waits, sink);
		take_addresses(waits, sink);
	}
	free_slots(waits);
}
