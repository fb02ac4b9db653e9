// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sample source hands to the daemon: one fixed-size record for
 * everything that happens, in time order within a source.
 *
 * Text pointers belong to the source and hold only until the sink returns.
 * Records of type SAMPLE carry no text at all.
 */
#ifndef VMOP_RECORD_H
#define VMOP_RECORD_H

#include <stdint.h>

#define VMOP_BUILD_ID_MAX 20 /* bytes: SHA-1, as perf's mmap2 records carry it */

enum vmop_record_type {
	VMOP_RECORD_SAMPLE = 1,
	VMOP_RECORD_MMAP,      /* an executable mapping in a process or the kernel (module) */
	VMOP_RECORD_COMM,      /* a task's name changed, or it executed a program */
	VMOP_RECORD_FORK,      /* a new process or thread */
	VMOP_RECORD_EXIT,      /* a thread ended (the process, when tid == pid's last) */
	VMOP_RECORD_KSYMBOL,   /* kernel text appeared or went: BPF programs, trampolines */
	VMOP_RECORD_LOST,      /* samples that the source could not deliver */
	VMOP_RECORD_THROTTLE,  /* the kernel held back an event on a CPU (or resumes it) */
	VMOP_RECORD_CPU,       /* a CPU came online or went offline */
	VMOP_RECORD_UNHANDLED, /* a record of a type that the source does not know */
};

enum vmop_sample_flags {
	VMOP_SAMPLE_GUEST = 1 << 0,	 /* ip is a guest's: the CPU ran guest code */
	VMOP_SAMPLE_HYPERVISOR = 1 << 1, /* ip is the hypervisor's own (Xen) */
	VMOP_SAMPLE_KERNEL = 1 << 2,	 /* the source says: kernel mode */
	VMOP_SAMPLE_USER = 1 << 3,	 /* the source says: user mode */
	VMOP_SAMPLE_NO_IP = 1 << 4,	 /* opaque: there is no instruction pointer */
	VMOP_SAMPLE_EXACT_IP = 1 << 5,	 /* no skid (PERF_RECORD_MISC_EXACT_IP) */
	VMOP_SAMPLE_MODE_KNOWN = 1 << 6, /* of a guest: KERNEL or USER is sure, whatever ip is */
};

/* The source does not know the sample's domain (perf in Xen's dom0). */
#define VMOP_SOURCE_DOMAIN_UNKNOWN UINT32_MAX

struct vmop_sample {
	uint64_t ip;
	uint64_t weight_events; /* events that the sample stands for: the period */
	uint32_t pid;		/* host process; 0 idle; UINT32_MAX not known (Xen) */
	uint32_t tid;
	uint32_t cpu;
	uint16_t event;		/* index into the source's events */
	uint16_t flags;		/* enum vmop_sample_flags */
	uint32_t source_domain; /* the source's own domain id (Xen), or ..._UNKNOWN; else 0 */
	uint32_t source_vcpu;	/* likewise */
};

struct vmop_mmap_record {
	uint64_t start, len_bytes;
	uint64_t file_offset_bytes;
	uint32_t pid, tid;	       /* pid UINT32_MAX: kernel */
	uint32_t dev_major, dev_minor; /* 0 where build_id is given instead */
	uint64_t inode;
	uint8_t build_id_len_bytes; /* 0: not known */
	uint8_t build_id[VMOP_BUILD_ID_MAX];
	const char *path; /* as the process sees it; "[vdso]", "//anon", ... */
};

struct vmop_comm_record {
	uint32_t pid, tid;
	int is_exec; /* the process executed a program: its mappings are gone */
	const char *comm;
};

struct vmop_task_record { /* FORK and EXIT */
	uint32_t pid, tid;
	uint32_t parent_pid, parent_tid;
};

struct vmop_ksymbol_record {
	uint64_t start;
	uint32_t len_bytes;
	int is_bpf;	     /* else out-of-line text: trampolines */
	int is_unregistered; /* it went */
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
	int is_throttled; /* 0: it resumes */
};

struct vmop_cpu_record {
	uint32_t cpu;
	int is_online;
};

struct vmop_record {
	enum vmop_record_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the host; 0 not known */
	union {
		struct vmop_sample sample;
		struct vmop_mmap_record mmap;
		struct vmop_comm_record comm;
		struct vmop_task_record task;
		struct vmop_ksymbol_record ksymbol;
		struct vmop_lost_record lost;
		struct vmop_throttle_record throttle;
		struct vmop_cpu_record cpu;
		uint32_t unhandled_type; /* the source's own number for it */
	};
};

#endif
