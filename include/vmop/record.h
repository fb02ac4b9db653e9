// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The records that a source delivers to the daemon (hv-interface/source.h): one fixed-size struct
 * for every sample and every fact about a task or mapping. Records of a source are in time order.
 *
 * The source owns the strings in a record; they are valid only until the sink returns. A record of
 * type SAMPLE contains no strings.
 */
#ifndef VMOP_RECORD_H
#define VMOP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define VMOP_BUILD_ID_MAX 20 /* bytes: SHA-1, as perf's mmap2 records carry it */

enum vmop_record_type {
	VMOP_RECORD_SAMPLE = 1,
	VMOP_RECORD_MMAP,      /* an executable mapping in a process or the kernel (module) */
	VMOP_RECORD_COMM,      /* a task's name changed, or it executed a program */
	VMOP_RECORD_FORK,      /* a new process or thread */
	VMOP_RECORD_EXIT,      /* a thread ended; with its last thread, the process */
	VMOP_RECORD_KSYMBOL,   /* kernel text appeared or disappeared: BPF programs, trampolines */
	VMOP_RECORD_LOST,      /* samples that the source could not deliver */
	VMOP_RECORD_THROTTLE,  /* the kernel throttled an event on a CPU, or resumed it */
	VMOP_RECORD_CPU,       /* a CPU came online or went offline */
	VMOP_RECORD_UNHANDLED, /* a record of a type that the source does not support */
	/*
	 * The user stack of earlier samples, whose capture has this record's cookie. It is the
	 * capture that comes with the record.
	 */
	VMOP_RECORD_USER_CHAIN,
	/*
	 * The state in which a guest left a vCPU: it belongs to the next sample of the same CPU and
	 * thread, which is the host's work for that vCPU. It is the capture that comes with the
	 * record.
	 */
	VMOP_RECORD_GUEST_STATE,
	/* A task left a CPU or came to it. Only where the source's set-up wants them. */
	VMOP_RECORD_SWITCH,
};

enum vmop_sample_flags {
	VMOP_SAMPLE_GUEST = 1 << 0,	 /* ip is an address in a guest: the CPU ran guest code */
	VMOP_SAMPLE_HYPERVISOR = 1 << 1, /* ip is an address in the hypervisor (Xen) */
	VMOP_SAMPLE_KERNEL = 1 << 2,	 /* kernel mode, according to the source */
	VMOP_SAMPLE_USER = 1 << 3,	 /* user mode, according to the source */
	VMOP_SAMPLE_NO_IP = 1 << 4,	 /* opaque guest: no instruction pointer */
	VMOP_SAMPLE_EXACT_IP = 1 << 5,	 /* no skid (PERF_RECORD_MISC_EXACT_IP) */
	VMOP_SAMPLE_MODE_KNOWN = 1 << 6, /* in a guest: KERNEL or USER is certain, whatever ip is */
	VMOP_SAMPLE_STACK_LIKELY = 1 << 7, /* its stack is likely, not certain */
};

/* The domain of the sample is unknown to the source (perf in Xen's dom0). */
#define VMOP_SOURCE_DOMAIN_UNKNOWN UINT32_MAX

/* Values of a sample's pid that are no process, beside 0, the idle task. */
#define VMOP_PID_UNKNOWN UINT32_MAX	      /* the source does not name the task (Xen) */
#define VMOP_PID_SWITCHING (UINT32_MAX - 1)   /* the kernel switched from a task to another */
#define VMOP_PID_NEAR_SWITCH (UINT32_MAX - 2) /* too near a switch: one of several tasks */
#define VMOP_PID_NO_TASK (UINT32_MAX - 3)     /* no record of the task that ran */

/* Return whether a pid is a process's, and not one of the values above or 0. */
static inline bool vmop_pid_is_process(uint32_t pid)
{
	return pid && pid < VMOP_PID_NO_TASK;
}

struct vmop_sample {
	uint64_t ip;
	uint64_t weight_events; /* events that the sample stands for: the period */
	uint32_t pid;		/* host process; or 0 or VMOP_PID_... */
	uint32_t tid;
	uint32_t cpu;
	uint16_t event;		/* index into the source's events */
	uint16_t flags;		/* enum vmop_sample_flags */
	uint32_t source_domain; /* the source's domain id (Xen), or ..._UNKNOWN; 0 otherwise */
	uint32_t source_vcpu;	/* as source_domain */
};

struct vmop_mmap_record {
	uint64_t start, len_bytes;
	uint64_t file_offset_bytes;
	uint32_t pid, tid;	       /* pid UINT32_MAX: kernel */
	uint32_t dev_major, dev_minor; /* 0 when build_id is given instead */
	uint64_t inode;
	uint8_t build_id_len_bytes; /* 0: unknown */
	uint8_t build_id[VMOP_BUILD_ID_MAX];
	const char *path; /* as the process sees it; "[vdso]", "//anon", ... */
};

struct vmop_comm_record {
	uint32_t pid, tid;
	int is_exec; /* the process executed a program and lost its mappings */
	const char *comm;
};

struct vmop_task_record { /* FORK and EXIT */
	uint32_t pid, tid;
	uint32_t parent_pid, parent_tid;
};

struct vmop_ksymbol_record {
	uint64_t start;
	uint32_t len_bytes;
	int is_bpf;	     /* 0: out-of-line text such as trampolines */
	int is_unregistered; /* the text disappeared */
	const char *name;
};

struct vmop_lost_record {
	uint32_t cpu;
	uint16_t event;
	uint64_t lost_records;
};

struct vmop_throttle_record {
	uint32_t cpu;
	uint16_t event;
	int is_throttled; /* 0: resumed */
};

struct vmop_user_chain_record {
	uint64_t cookie;
};

struct vmop_guest_state_record {
	uint32_t cpu, pid, tid; /* of the vCPU's thread */
};

struct vmop_switch_record {
	uint32_t cpu, pid, tid; /* pid 0: the idle task */
	bool is_out;		/* it left */
};

struct vmop_cpu_record {
	uint32_t cpu;
	int is_online;
};

struct vmop_record {
	enum vmop_record_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the host; 0: unknown */
	union {
		struct vmop_sample sample;
		struct vmop_mmap_record mmap;
		struct vmop_comm_record comm;
		struct vmop_task_record task;
		struct vmop_ksymbol_record ksymbol;
		struct vmop_lost_record lost;
		struct vmop_throttle_record throttle;
		struct vmop_guest_state_record guest_state;
		struct vmop_cpu_record cpu;
		struct vmop_switch_record task_switch;
		struct vmop_user_chain_record user_chain;
		uint32_t unhandled_type; /* the source's number of the record type */
	};
};

#endif
