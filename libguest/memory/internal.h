// SPDX-License-Identifier: GPL-2.0-or-later
/* What memory.c and those that find a guest's RAM (memory/map.c, memory/file.c, qmp.c) share. */
#ifndef VMOP_LIBGUEST_MEMORY_INTERNAL_H
#define VMOP_LIBGUEST_MEMORY_INTERNAL_H

#include <sys/types.h>

#include "libguest/memory/memory.h"

/* Where a region's bytes come from. */
enum vmop_guest_region_kind {
	VMOP_GUEST_REGION_PROCESS, /* host_start is an address in the VMM */
	VMOP_GUEST_REGION_FILE,	   /* host_start is an offset in fd */
	VMOP_GUEST_REGION_BUFFER,
	VMOP_GUEST_REGION_XEN, /* addresses as the domain's page tables have them */
};

struct vmop_guest_region {
	enum vmop_guest_region_kind kind;
	int fd;		     /* FILE: owned */
	const uint8_t *data; /* BUFFER */
	uint64_t host_start;
	uint64_t hva; /* in the VMM, for QMP's answers; 0 where there is none */
	uint64_t len_bytes;
	uint64_t linear;
};

struct vmop_guest_span {
	uint64_t gpa, linear, len_bytes;
};

struct vmop_guest_layout {
	unsigned int spans;
	struct vmop_guest_span span[VMOP_GUEST_MAX_REGIONS + 1];
};

/* What a VMM was found to have as RAM. */
struct vmop_guest_map {
	unsigned int regions, layouts;
	bool is_exact; /* the layout is known, not guessed */
	struct vmop_guest_region region[VMOP_GUEST_MAX_REGIONS];
	struct vmop_guest_layout layout[VMOP_GUEST_MAX_LAYOUTS];
};

/* Fills *ret with the RAM of a VMM; fds in it are the caller's to close, also on error. */
struct vmop_error *vmop_guest_map_of_process(pid_t pid, const char *qmp_socket,
					     struct vmop_guest_map *ret);

/* The same with the RAM in a saved image; see memory/file.c for its forms. */
struct vmop_error *vmop_guest_map_of_file(const char *path, struct vmop_guest_map *ret);

/*
 * Appends the layouts that x86 VMMs use for ram_bytes in one piece, with the
 * one that low_bytes (bytes below the hole; 0: not known) asks for first.
 */
void vmop_guest_map_add_split_layouts(struct vmop_guest_map *map, uint64_t ram_bytes,
				      uint64_t low_bytes);

#endif
