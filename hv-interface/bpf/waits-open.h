// SPDX-License-Identifier: GPL-2.0-or-later
/* The waits, open to the files that implement waits.h: waits.c and waits-sums.c. */
#ifndef VMOP_HV_INTERFACE_BPF_WAITS_OPEN_H
#define VMOP_HV_INTERFACE_BPF_WAITS_OPEN_H

#include "hv-interface/bpf/loaded.h"
#include "hv-interface/bpf/waits-layout.h"
#include "hv-interface/bpf/waits.h"

enum vmop_waits_map {
	VMOP_WAITS_SLOTS,
	VMOP_WAITS_VICTIMS,
	VMOP_WAITS_CPUS,
	VMOP_WAITS_GUESTS,
	VMOP_WAITS_PAIRS,
	VMOP_WAITS_PLACES_OF_SLOTS,
	VMOP_WAITS_EXITS,
	VMOP_WAITS_ADDRESSES,
	VMOP_WAITS_HINTS,
	VMOP_WAITS_HINTED,
};
#define VMOP_WAITS_N_MAPS (VMOP_WAITS_HINTED + 1)

struct vmop_waits_slot {
	uint32_t tid; /* 0: free */
	uint32_t guest, vcpu;
	bool is_renewed; /* since the last vmop_waits_retain */
	bool is_leaving; /* free after the next take */
	uint64_t times_ns[VMOP_WAIT_N_STATES], counts[VMOP_WAIT_N_STATES], others_ns; /* taken */
};

struct vmop_waits_seen;

/* The parts of the maps' values that were taken already. The values only grow. */
struct vmop_waits_sums {
	struct vmop_waits_slot slots[VMOP_WAITS_MAX_VICTIMS];
	struct vmop_waits_seen *seen; /* uthash */
	void *keys, *values;	      /* room for the largest map */
};

struct vmop_waits {
	struct vmop_bpf_loaded loaded;
	int maps[VMOP_WAITS_N_MAPS];
	int settle_fd, prime_fd, words_fd;
	uint32_t n_words, n_cpus, n_watched, n_refused;
	struct vmop_waits_settings settings;
	const char *no_exits;
	enum vmop_exit_machine machine;
	struct vmop_waits_sums sums;
};

struct vmop_error *vmop_waits_sums_init(struct vmop_waits_sums *sums);
void vmop_waits_sums_deinit(struct vmop_waits_sums *sums);

/* Charge the time of all victims until now. */
void vmop_waits_settle(const struct vmop_waits *waits);

#endif
