// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of the rings that the kernel module maps (vmop/xen-device.h): all of them as one
 * stream in time order.
 *
 * The module is trusted to say what is so; that it is of our version, and that what it says of
 * its rings fits into the mapping, is checked once. Counts that can't be make a ring be skipped.
 */
#ifndef VMOP_HV_INTERFACE_XEN_RINGS_H
#define VMOP_HV_INTERFACE_XEN_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/xen-device.h"

/* One ring. Counts of records, as in struct vmop_xendev_ring. */
struct vmop_xen_ring_reader {
	struct vmop_xendev_ring *ring;
	const struct vmop_xendev_record *records;
	uint64_t head, tail; /* as of the last refresh; read up to */
	uint64_t freed;	     /* what the module was told of tail */
	uint64_t lost;	     /* what of ring->lost was told */
};

struct vmop_xen_rings {
	struct vmop_xen_ring_reader *readers;
	uint32_t n, n_records; /* of rings; of records in each */
	uint32_t current;      /* the ring that the last record came from */
	uint64_t others_ns;    /* it goes on up to this time, then another may be due */
	uint64_t malformed;    /* times that a ring was skipped to its head */
};

/*
 * Over a mapping of len_bytes, which stays the caller's. VMOP_ERROR_CANT: the module is of another
 * version. Freed with vmop_xen_rings_deinit.
 */
struct vmop_error *vmop_xen_rings_init(struct vmop_xen_rings *rings, void *map, size_t len_bytes);
void vmop_xen_rings_deinit(struct vmop_xen_rings *rings);

/* Looks how far the module has written; what comes later is for the next time. */
void vmop_xen_rings_refresh(struct vmop_xen_rings *rings);
/* How full with what is to be read the fullest ring is, as of the last refresh: 0 .. 100. */
unsigned vmop_xen_rings_percent_used(const struct vmop_xen_rings *rings);
/*
 * The oldest record, taken out, if its time is before up_to_ns; NULL: there is none. Holds until
 * vmop_xen_rings_free. The order between rings is by the time in the record.
 */
const struct vmop_xendev_record *vmop_xen_rings_next(struct vmop_xen_rings *rings,
						     uint64_t up_to_ns);
/* Records of any ring that were lost since the last call: it was full. A count never goes back. */
uint64_t vmop_xen_rings_take_lost(struct vmop_xen_rings *rings);
/* Gives the room of what was read back to the module. To be called now and then, and at last. */
void vmop_xen_rings_free(struct vmop_xen_rings *rings);

#endif
