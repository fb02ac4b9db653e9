// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts of application I/O, as the BPF program keeps them and as a preloaded library does. An
 * entry has the counts of one thread, descriptor, file, call and direction.
 */
#ifndef VMOP_HV_INTERFACE_APPIO_COUNTS_H
#define VMOP_HV_INTERFACE_APPIO_COUNTS_H

#include <stdint.h>

enum vmop_appio_kind {
	VMOP_APPIO_KIND_NONE, /* no open descriptor */
	VMOP_APPIO_KIND_FILE,
	VMOP_APPIO_KIND_PIPE,
	VMOP_APPIO_KIND_SOCKET,
	VMOP_APPIO_KIND_TTY,
	VMOP_APPIO_KIND_DEVICE,
	VMOP_APPIO_KIND_OTHER, /* such as eventfd, directory */
};
#define VMOP_APPIO_N_KINDS 8 /* with room */

enum vmop_appio_direction { VMOP_APPIO_IN, VMOP_APPIO_OUT };

struct vmop_appio_counts {
	uint64_t calls, bytes;
	uint64_t errors;      /* other than the two below */
	uint64_t shorts;      /* fewer bytes than wanted, but some */
	uint64_t ends;	      /* of file; of select: timed out */
	uint64_t interrupted; /* by a signal, and not restarted */
	uint64_t would_block;
	uint64_t time_ns; /* 0 without times; that of a copy is the read's */
};

static inline void vmop_appio_counts_add(struct vmop_appio_counts *sum,
					 const struct vmop_appio_counts *counts)
{
	sum->calls += counts->calls;
	sum->bytes += counts->bytes;
	sum->errors += counts->errors;
	sum->shorts += counts->shorts;
	sum->ends += counts->ends;
	sum->interrupted += counts->interrupted;
	sum->would_block += counts->would_block;
	sum->time_ns += counts->time_ns;
}

struct vmop_appio_key {
	uint32_t task; /* number of the thread, from 1 on; 0: left out */
	int32_t fd;    /* -1: none */
	uint64_t inode;
	uint8_t call, direction, kind; /* id of appio-calls.h, enums above */
	uint8_t zero[5];
};
_Static_assert(sizeof(struct vmop_appio_key) == 24, "a key without gaps");

#define VMOP_APPIO_NAME_BYTES 32
struct vmop_appio_entry {
	struct vmop_appio_counts counts;
	char name[VMOP_APPIO_NAME_BYTES]; /* the file's, without its directory; may be cut */
};

struct vmop_appio_task {
	uint32_t pid, tid;
	char name[16];
	uint32_t open_peak; /* most descriptors that its process had open after a call that opens */
	uint32_t zero;
	uint64_t file_faults, major_faults; /* in mapped files */
};

#endif
