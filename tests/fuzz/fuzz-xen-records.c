// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the memory that the kernel module vmop.ko maps: hv-interface/xen/rings.h and
 * xen/records.h. The input's first byte is the size of the mapping in units of 64 bytes, less one.
 * The second byte is the number of vCPUs that may have backtraces (0: none). The initial content of
 * the mapping follows, and then steps of 16 bytes: the position and new value of 8 bytes, and the
 * time up to which the rings are drained.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum { UNIT_BYTES = 64, HEAD_BYTES = 2, DOMAIN = 3 };

struct step {
	uint32_t at;
	uint32_t up_to_ns; /* all ones: everything */
	uint64_t value;
};

/* A drain in progress. */
struct drain {
	const struct vmop_xen_records *records;
	uint64_t up_to_ns;
	uint64_t n_left; /* the rings cannot contain more entries than these */
};

static void take_entry(void *arg, const struct vmop_xen_entry *entry)
{
	struct drain *drain = arg;
	if (entry->ip == VMOP_XENOPROF_ESCAPE || entry->time_ns >= drain->up_to_ns ||
	    (entry->is_caller && drain->records->n_domains == 0) || drain->n_left == 0)
		abort();
	drain->n_left--;
}

static void take_lost(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n)
{
	(void)arg;
	(void)domain;
	(void)vcpu;
	(void)n;
}

static void drain_up_to(struct vmop_xen_records *records, struct vmop_xen_rings *rings,
			uint64_t up_to_ns)
{
	struct drain drain = {
		.records = records,
		.n_left = (uint64_t)rings->n * rings->n_records,
	};
	const struct vmop_xen_entry_sink sink = {take_entry, take_lost, &drain};
	vmop_xen_rings_refresh(rings);
	unsigned percent = vmop_xen_rings_percent_used(rings);
	if (percent > 100)
		abort();
	drain.up_to_ns = percent > 75 ? UINT64_MAX : up_to_ns;
	vmop_xen_records_drain(records, rings, up_to_ns, &sink);
	/* Exactly the room of the entries that were read is returned. */
	for (uint32_t i = 0; i < rings->n; i++)
		if (rings->readers[i].freed != rings->readers[i].tail ||
		    rings->readers[i].head - rings->readers[i].tail > rings->n_records)
			abort();
}

/* A write of the module during a read is equivalent to one between two drains. */
static void run(struct vmop_xen_records *records, struct vmop_xen_rings *rings, uint8_t *memory,
		size_t map_bytes, const uint8_t *steps, size_t len_bytes)
{
	drain_up_to(records, rings, UINT64_MAX);
	for (; len_bytes >= sizeof(struct step); len_bytes -= sizeof(struct step)) {
		struct step step;
		memcpy(&step, steps, sizeof(step));
		steps += sizeof(step);
		memcpy(memory + step.at % (map_bytes / 8) * 8, &step.value, 8);
		drain_up_to(records, rings,
			    step.up_to_ns == UINT32_MAX ? UINT64_MAX : step.up_to_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_xen_rings rings;
	struct vmop_xen_records records = {0};
	if (len_bytes < HEAD_BYTES)
		return 0;
	size_t map_bytes = UNIT_BYTES * ((size_t)data[0] + 1), n_vcpus = data[1];
	data += HEAD_BYTES;
	len_bytes -= HEAD_BYTES;
	size_t first_bytes = len_bytes < map_bytes ? len_bytes : map_bytes;
	/* The block has the exact size, so that a sanitizer detects accesses outside. */
	uint8_t *memory = aligned_alloc(UNIT_BYTES, map_bytes);
	if (!memory)
		abort();
	memset(memory, 0, map_bytes);
	memcpy(memory, data, first_bytes);
	struct vmop_error *err = vmop_xen_rings_init(&rings, memory, map_bytes);
	if (!err && n_vcpus > 0)
		err = vmop_xen_records_add(&records, DOMAIN, (uint32_t)n_vcpus);
	if (!err)
		run(&records, &rings, memory, map_bytes, data + first_bytes,
		    len_bytes - first_bytes);
	vmop_error_destroy(err);
	vmop_xen_records_deinit(&records);
	vmop_xen_rings_deinit(&rings);
	free(memory);
	return 0;
}
