// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The facts that libguest reports about a guest: its kernel, modules, processes and mappings.
 * guest.h returns them to callers outside the folder; the files of the folder exchange them.
 */
#ifndef VMOP_LIBGUEST_TYPES_H
#define VMOP_LIBGUEST_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_GUEST_BUILD_ID_MAX 20 /* bytes; 0 of them: not known */

enum vmop_guest_kernel_state {
	VMOP_GUEST_KERNEL_NONE,	     /* none was found so far */
	VMOP_GUEST_KERNEL_CURRENT,   /* its clock has moved on since the last look */
	VMOP_GUEST_KERNEL_UNCERTAIN, /* intact, but the clock stands: idle, paused, or replaced */
	VMOP_GUEST_KERNEL_GONE,	     /* rebooted, kexec'd or gone: find again */
};

struct vmop_guest_kernel_info {
	char release[65];      /* "6.1.0-56-cloud-amd64" */
	char banner[256];      /* the "Linux version ..." line */
	uint64_t text_start;   /* _text, or _stext where that alone is known: images of kind
				  GUEST_KERNEL count offsets from it */
	uint64_t text_end;     /* _etext */
	uint64_t image_end;    /* _end */
	uint64_t text_gpa;     /* where _text lies in guest RAM */
	uint64_t kaslr_offset; /* how far _text was moved from where it was linked; 0: not, or not
				  known */
	uint64_t root_gpa;     /* the kernel's own page table */
	uint32_t symbols;      /* of the kernel proper */
	uint32_t modules;
	uint32_t cpus;		  /* nr_cpu_ids */
	const char *architecture; /* "x86-64", "arm64" */
	uint32_t page_bytes;	  /* of its smallest page */
	uint8_t va_bits;	  /* of addresses, in each half; arm64 alone */
	uint8_t levels;		  /* of its page tables: 4 or 5; arm64: 2 to 5 */
	bool has_kpti;		  /* user space runs on page tables of its own */
	bool has_processes;	  /* struct offsets are known (BTF or profile) */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	const char *found_by;	  /* "registers", "trampoline", "vmcoreinfo", "kallsyms" */
	const char *offsets_from; /* "BTF", "profile", "" */
};

/*
 * One symbol as in the guest's /proc/kallsyms.  module is NULL for the kernel
 * proper, a module's name, or "bpf", "__builtin__ftrace", "__builtin__kprobes".
 * Absolute (per-CPU) symbols have small addresses on kernels before 6.15.
 */
struct vmop_guest_symbol {
	uint64_t address;
	uint64_t len_bytes; /* to the next symbol (kernel), or as stated; 0: not known */
	const char *name;   /* hold till find_kernel, refresh_modules or close */
	const char *module;
	char type; /* as nm(1) has it: 'T', 't', 'D', ... */
};

enum vmop_guest_kernel_text_kind {
	VMOP_GUEST_TEXT_MODULE,
	VMOP_GUEST_TEXT_BPF,
	VMOP_GUEST_TEXT_TRAMPOLINE, /* ftrace, kprobes */
};

/* Kernel text outside the kernel image. */
struct vmop_guest_module {
	const char *name;    /* hold till find_kernel, refresh_modules or close */
	uint64_t text_start; /* core text: images of kind MODULE count offsets from it */
	uint64_t text_len_bytes;
	uint64_t start, len_bytes; /* all core memory from text_start on, where it is one piece */
	enum vmop_guest_kernel_text_kind kind;
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	uint32_t symbols;
};

/* One executable mapping of a process. */
struct vmop_guest_vma {
	uint64_t start, end;
	uint64_t file_offset_bytes; /* of start; 0 without a file */
	const char *path;	    /* as the guest's /proc/PID/maps has it; "[vdso]", "//anon" */
	uint64_t file;		    /* the guest's struct file, for vmop_guest_read_file; 0: none */
	uint32_t vm_flags;	    /* the kernel's VM_READ 1, VM_WRITE 2, VM_EXEC 4, VM_SHARED 8 */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
};

/* One process (thread group). */
struct vmop_guest_process {
	uint32_t pid;	 /* tgid, in the guest's first pid namespace */
	uint32_t ns_pid; /* in its own pid namespace: differs inside containers */
	uint32_t ppid;
	uint64_t pgd_gpa;	/* root page table; 0: a kernel thread */
	uint64_t start_time_ns; /* guest's clock; with pid tells a reused pid */
	uint64_t task;		/* the guest's task_struct */
	char comm[16];
	const char *cgroup; /* path in the unified (or first) hierarchy; "" unknown */
	const struct vmop_guest_vma *vmas; /* executable ones, by address (or all: see below) */
	uint32_t vma_count;
};

enum vmop_guest_snapshot_flags {
	VMOP_GUEST_ALL_VMAS = 1 << 0,	  /* not only the executable ones */
	VMOP_GUEST_NO_BUILD_IDS = 1 << 1, /* cheaper */
};

/* What runs on a vCPU at this moment. */
struct vmop_guest_current {
	uint32_t vcpu;
	uint32_t pid; /* process; 0: idle */
	uint32_t tid;
	uint64_t pgd_gpa; /* 0: a kernel thread */
	uint64_t task;
	bool is_idle;
	char comm[16];
};

#endif
