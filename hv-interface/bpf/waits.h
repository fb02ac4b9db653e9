// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of vCPUs' threads, divided by a BPF program on the scheduler's and KVM's tracepoints:
 * waits.bpf.c, which waits.c loads and reads. This header is the contract by which daemon/guest
 * names the threads and takes the sums.
 *
 * All functions are for one thread. A vmop that was built without libbpf has waits-none.c instead:
 * nothing loads.
 */
#ifndef VMOP_HV_INTERFACE_BPF_WAITS_H
#define VMOP_HV_INTERFACE_BPF_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/waits.h"

struct vmop_waits;

/*
 * Load the program and attach it. The caller owns *ret. VMOP_ERROR_CANT: the machine does not
 * permit it, with the reason in one line.
 */
struct vmop_error *vmop_waits_create(struct vmop_waits **ret);
void vmop_waits_destroy(struct vmop_waits *waits); /* NULL is allowed */

/* Return why exits are not counted, or NULL: they are. */
const char *vmop_waits_no_exits(const struct vmop_waits *waits);

/* Take the threads of a process for those of a guest, or no longer. False: no room. */
bool vmop_waits_put_guest(struct vmop_waits *waits, uint32_t pid, uint32_t guest);
void vmop_waits_remove_guest(struct vmop_waits *waits, uint32_t pid);

/*
 * Watch a thread from now on; others that wait for it wait for that guest. False: no room. A thread
 * that is watched already stays so, and is renewed: vmop_waits_retain ends the watch of those that
 * were not since its last call. The next vmop_waits_take still returns the rest of their time.
 */
bool vmop_waits_watch(struct vmop_waits *waits, uint32_t tid, uint32_t guest, uint32_t vcpu);
void vmop_waits_retain(struct vmop_waits *waits);

/* A part of a vCPU's time since the last call. */
struct vmop_waits_amount {
	uint32_t guest, vcpu; /* as given to vmop_waits_watch */
	enum vmop_wait_state state;
	/* Only set for WAITING, whose amounts by culprit add up to the state. */
	enum vmop_culprit_kind culprit;
	uint64_t culprit_id;	 /* of GUEST: its number; of CGROUP: the kernel's id */
	uint32_t culprit_pid;	 /* a process of a CGROUP */
	char culprit_comm[17];	 /* of PROCESS */
	uint32_t reason;	 /* of EXIT; on arm64 the return code << 8 | the exception class */
	uint64_t count, time_ns; /* count: how often it began */
};

/* Exits at an address of a guest's code, since the last call. */
struct vmop_waits_address {
	uint32_t guest, reason;
	uint64_t address, count;
};

struct vmop_waits_sink {
	void (*amount)(void *arg, const struct vmop_waits_amount *amount);
	void (*address)(void *arg, const struct vmop_waits_address *address);
	void *arg;
};

/* Charge the time until now, and pass the growth since the last call to sink. */
void vmop_waits_take(struct vmop_waits *waits, const struct vmop_waits_sink *sink);

struct vmop_waits_facts {
	uint32_t n_watched, n_refused; /* threads */
	uint64_t n_switches, n_wakeups, n_exits;
	/* CPU time of the program on all CPUs, estimated from every 64th run. */
	uint64_t cost_ns;
	/* The mean of one run; 0: not measured yet. An exit is one with its entry. */
	double switch_ns, wakeup_ns, exit_ns;
};

void vmop_waits_facts(const struct vmop_waits *waits, struct vmop_waits_facts *ret);

/* Return how this machine numbers the reasons of exits. */
enum vmop_exit_machine vmop_waits_machine(const struct vmop_waits *waits);

#endif
