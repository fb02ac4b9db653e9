// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples of a known guest (known-guest.h) by the BPF program on this machine's own KVM: start the
 * guest, sample it, and check each record and the program's counters.
 */
#ifndef VMOP_TESTS_UNIT_HV_INTERFACE_BPF_GUEST_SAMPLES_H
#define VMOP_TESTS_UNIT_HV_INTERFACE_BPF_GUEST_SAMPLES_H

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/program.h"
#include "tests/unit/hv-interface/bpf/known-guest.h"
#include "tests/unit/hv-interface/bpf/record-reader.h"

#define USER_PARTS                                                                                 \
	(VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE |                     \
	 VMOP_GUEST_HAS_GPA | VMOP_GUEST_HAS_CODE | VMOP_GUEST_IS_USER)

extern struct vmop_bpf_program *program;
extern struct vmop_guest_maps *maps;

/* The running test has these; its end stops them, even where it fails. */
extern struct known_guest guest;

/* Expectations of the records of this process's vCPU, and numbers of records. */
struct seen {
	struct known_guest *guest;
	void (*check)(struct seen *seen, const struct vmop_guest_context *context);
	struct vmop_guest_numbers numbers;
	uint64_t contexts, states, host_samples_after_state;
	uint64_t of_other_guests; /* records: other tests may run guests on this machine */
	uint64_t all_contexts, all_states, all_perf_guest_samples;
	uint64_t cpus; /* of this process's records, a bit of each; CPU 64 has that of 0 */
	uint64_t elsewhere, switching, with_task, vmm_samples_after_state;
	uint32_t tid_of_state[READER_CPUS_MAX]; /* 0: the CPU's last record was another */
	uint64_t gaps[VMOP_GUEST_N_GAPS];
};

/* Load the program. Return 0, or the exit status of a test that can't run; prints the reason. */
int begin_guest_tests(void);
void end_guest_tests(void);

uint64_t word_of_window(const struct vmop_guest_context *context, enum vmop_guest_window_kind kind,
			uint32_t at);
void sample(struct seen *seen, void (*meanwhile)(struct seen *seen));
int clean(void **state);
void start(struct seen *seen, int n_levels, enum known_mode mode);
void start_last(struct seen *seen, uint32_t n_others); /* known_guest_init_last */
void go(struct seen *seen);
void put(const struct seen *seen);
void check_registers(const struct seen *seen, const struct vmop_guest_context *context);
void check_code(const struct seen *seen, const struct vmop_guest_context *context);
void check_task(const struct seen *seen, const struct vmop_guest_context *context);
void check_file(const struct seen *seen, const struct vmop_guest_context *context);
void check_window(const struct vmop_guest_context *context, enum vmop_guest_window_kind kind,
		  uint64_t address, uint32_t bytes);
void check_known(struct seen *seen, const struct vmop_guest_context *context);

#endif
