// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory that vmopstat shares with the processes that have loaded vmop-appio.so. A thread takes
 * a number, and an entry for each of its keys: it is the only one that writes there. The memory
 * is taken page by page, as it is used.
 */
#ifndef VMOP_LIBVMOP_STAT_IO_PRELOAD_LAYOUT_H
#define VMOP_LIBVMOP_STAT_IO_PRELOAD_LAYOUT_H

#include <stdint.h>

#include "hv-interface/appio-calls.h"
#include "hv-interface/appio-counts.h"

#define VMOP_PRELOAD_VARIABLE "VMOP_APPIO" /* the file's name in the environment */
#define VMOP_PRELOAD_MAGIC 0x6f69706d766f7031
#define VMOP_PRELOAD_MAX_TASKS 16384
#define VMOP_PRELOAD_MAX_SLOTS 65536 /* a power of two */
#define VMOP_PRELOAD_MAX_PROBES 32
#define VMOP_PRELOAD_MAX_EXECS 4096

enum vmop_preload_state { VMOP_PRELOAD_FREE, VMOP_PRELOAD_TAKEN, VMOP_PRELOAD_READY };

struct vmop_preload_slot {
	uint32_t state, zero;
	struct vmop_appio_key key;
	struct vmop_appio_entry entry;
};

struct vmop_preload {
	uint64_t magic;
	uint32_t has_times;
	uint32_t n_tasks;    /* that were to have a number */
	uint64_t n_left_out; /* calls that are in the rests only */
	/*
	 * Processes that began to execute a program, by their id modulo the size: the library of
	 * that program takes it away. n_unseen counts those that were found there by another one.
	 */
	uint32_t execs[VMOP_PRELOAD_MAX_EXECS];
	uint32_t n_unseen;
	uint32_t command_pid;
	struct vmop_appio_counts rests[VMOP_APPIO_MAX_CALLS][2][VMOP_APPIO_N_KINDS];
	struct vmop_appio_task tasks[VMOP_PRELOAD_MAX_TASKS];
	struct vmop_preload_slot slots[VMOP_PRELOAD_MAX_SLOTS];
};

#endif
