// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The map of a guest's RAM, shared by memory.c, which reads it, and the files that find it: map.c,
 * file.c.
 */
#ifndef VMOP_LIBGUEST_MEMORY_INTERNAL_H
#define VMOP_LIBGUEST_MEMORY_INTERNAL_H

#include <sys/types.h>

#include "libguest/memory/memory.h"

/* The origin of a region's bytes. */
enum vmop_guest_region_kind {
	VMOP_GUEST_REGION_PROCESS, /* host_start is an address in the VMM process */
	VMOP_GUEST_REGION_FILE,	   /* host_start is an offset in fd */
	VMOP_GUEST_REGION_BUFFER,
	VMOP_GUEST_REGION_XEN, /* addresses as in the domain's page tables */
};

struct vmop_guest_region {
	enum vmop_guest_region_kind kind;
	int fd;		     /* FILE: owned */
	const uint8_t *data; /* BUFFER */
	uint64_t host_start;
	uint64_t hva; /* address in the VMM, to match QMP's answers; 0: none */
	uint64_t len_bytes;
	uint64_t linear;
};

struct vmop_guest_span {
	uint64_t gpa, linear, len_bytes;
};

struct vmop_guest_placement {
	unsigned int spans;
	struct vmop_guest_span span[VMOP_GUEST_MAX_REGIONS + 1];
};

/* The RAM that was found in a VMM or a saved image. */
struct vmop_guest_map {
	unsigned int regions, placements;
	bool is_exact; /* the placement is known, not guessed */
	struct vmop_guest_region region[VMOP_GUEST_MAX_REGIONS];
	struct vmop_guest_placement placement[VMOP_GUEST_MAX_PLACEMENTS];
};

/*
 * Fill *ret with the RAM of a VMM. qmp_socket: as in struct vmop_guest_options. The caller closes
 * the fds in *ret, also on error.
 */
struct vmop_error *vmop_guest_map_of_process(pid_t pid, const char *qmp_socket,
					     struct vmop_guest_map *ret);

/*
 * Fill *ret with the RAM in a saved image, in one of the forms of file.c. The caller closes the fds
 * in *ret, also on error.
 */
struct vmop_error *vmop_guest_map_of_file(const char *path, struct vmop_guest_map *ret);

/*
 * Append the memory placements that x86 VMMs use for ram_bytes in one piece. The placement with
 * low_bytes of RAM below the hole (0: unknown) comes first.
 */
void vmop_guest_map_add_split_placements(struct vmop_guest_map *map, uint64_t ram_bytes,
					 uint64_t low_bytes);

#endif
