// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of the rings that the kernel module maps (vmop/xen-device.h): all of them as one
 * stream in time order.
 *
 * The module's data is trusted. Its version, and that the rings fit into the mapping, are checked
 * once. Impossible counts skip a ring.
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
	uint64_t freed;	     /* tail as the module sees it */
	uint64_t lost;	     /* the reported part of ring->lost */
};

struct vmop_xen_rings {
	struct vmop_xen_ring_reader *readers;
	uint32_t n, n_records; /* number of rings; records in each */
	uint32_t current;      /* the ring that the last record came from */
	uint64_t others_ns;    /* until this time no other ring can have an older record */
	uint64_t malformed;    /* times that a ring was skipped to its head */
};

/*
 * Initialise over a mapping of len_bytes, which stays the caller's. Free with
 * vmop_xen_rings_deinit. VMOP_ERROR_CANT: the module has another version.
 */
struct vmop_error *vmop_xen_rings_init(struct vmop_xen_rings *rings, void *map, size_t len_bytes);
void vmop_xen_rings_deinit(struct vmop_xen_rings *rings);

/* Read how far the module has written. Later records wait for the next refresh. */
void vmop_xen_rings_refresh(struct vmop_xen_rings *rings);
/* Return the fill of the fullest ring in percent, as of the last refresh: 0 to 100. */
unsigned vmop_xen_rings_percent_used(const struct vmop_xen_rings *rings);
/*
 * Take out and return the oldest record if its time is before up_to_ns; NULL: no such record. Valid
 * until vmop_xen_rings_free. The records' times order them across rings.
 */
const struct vmop_xendev_record *vmop_xen_rings_next(struct vmop_xen_rings *rings,
						     uint64_t up_to_ns);
/*
 * Return the number of records that full rings have lost since the last call. The counts never
 * decrease.
 */
uint64_t vmop_xen_rings_take_lost(struct vmop_xen_rings *rings);
/*
 * Give the room of the read records back to the module. Call it from time to time, and after the
 * last record.
 */
void vmop_xen_rings_free(struct vmop_xen_rings *rings);

#endif
