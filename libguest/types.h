// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The facts that libguest reports about a guest: its kernel, modules, processes and mappings.
 * guest.h returns them to callers outside the folder; the folder's own files pass them to each
 * other.
 */
#ifndef VMOP_LIBGUEST_TYPES_H
#define VMOP_LIBGUEST_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_GUEST_BUILD_ID_MAX 20 /* bytes; a length of 0: unknown */

enum vmop_guest_kernel_state {
	VMOP_GUEST_KERNEL_NONE,	     /* no kernel was found yet */
	VMOP_GUEST_KERNEL_CURRENT,   /* its clock has advanced since the last check */
	VMOP_GUEST_KERNEL_UNCERTAIN, /* intact, but its clock stands: idle, paused or replaced */
	VMOP_GUEST_KERNEL_GONE,	     /* rebooted, replaced by kexec, or gone: find it again */
};

struct vmop_guest_kernel_info {
	char release[65];      /* "6.1.0-56-cloud-amd64" */
	char banner[256];      /* the "Linux version ..." line */
	uint64_t text_start;   /* _text, or _stext where only that is known; images of kind
				  GUEST_KERNEL count offsets from it */
	uint64_t text_end;     /* _etext */
	uint64_t image_end;    /* _end */
	uint64_t text_gpa;     /* guest-physical address of _text */
	uint64_t kaslr_offset; /* distance of _text from its link address; 0: none, or unknown */
	uint64_t root_gpa;     /* of the kernel's own page table */
	uint32_t symbols;      /* of the kernel proper */
	uint32_t modules;
	uint32_t cpus;		  /* nr_cpu_ids */
	const char *architecture; /* "x86-64", "arm64" */
	uint32_t page_bytes;	  /* of its smallest page */
	uint8_t va_bits;	  /* of addresses, in each half; only on arm64 */
	uint8_t levels;		  /* of its page tables: 4 or 5; arm64: 2 to 5 */
	bool has_kpti;		  /* user space runs on separate page tables */
	bool has_processes;	  /* struct offsets are known (BTF or profile) */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	const char *search_method;  /* "registers", "trampoline", "vmcoreinfo", "kallsyms" */
	const char *offsets_source; /* "BTF", "profile", "" */
};

/*
 * One symbol as in the guest's /proc/kallsyms. module is NULL for the kernel proper; otherwise it
 * is the name of a module, "bpf", "__builtin__ftrace" or "__builtin__kprobes". Absolute (per-CPU)
 * symbols have small addresses on kernels before 6.15.
 */
struct vmop_guest_symbol {
	uint64_t address;
	uint64_t len_bytes; /* to the next symbol (kernel), or as stated (module); 0: unknown */
	const char *name;   /* valid until find_kernel, refresh_modules or close */
	const char *module;
	char type; /* as nm(1) prints it: 'T', 't', 'D', ... */
};

enum vmop_guest_kernel_text_kind {
	VMOP_GUEST_TEXT_MODULE,
	VMOP_GUEST_TEXT_BPF,
	VMOP_GUEST_TEXT_TRAMPOLINE, /* ftrace, kprobes */
};

/* Kernel text outside the kernel image. */
struct vmop_guest_module {
	const char *name;    /* valid until find_kernel, refresh_modules or close */
	uint64_t text_start; /* core text: images of kind MODULE count offsets from it */
	uint64_t text_len_bytes;
	uint64_t start, len_bytes; /* all core memory from text_start on, where it is one piece */
	enum vmop_guest_kernel_text_kind kind;
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	uint32_t symbols;
	uint64_t object; /* the guest's struct module; 0: not a module */
};

/* One mapping of a process; executable unless VMOP_GUEST_ALL_VMAS was given. */
struct vmop_guest_vma {
	uint64_t start, end;
	uint64_t file_offset_bytes; /* offset of start; 0 without a file */
	const char *path;	    /* as in the guest's /proc/PID/maps; "[vdso]", "//anon" */
	uint64_t file;		    /* the guest's struct file, for vmop_guest_read_file; 0: none */
	uint32_t vm_flags;	    /* the kernel's VM_READ 1, VM_WRITE 2, VM_EXEC 4, VM_SHARED 8 */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
};

/* Return whether a mapping is of a file: "//" begins the names of anonymous memory. */
static inline bool vmop_guest_vma_is_file(const struct vmop_guest_vma *vma)
{
	return vma->path[0] == '/' && vma->path[1] != '/';
}

/* The CPU time of a thread, as its kernel accounts it. */
struct vmop_guest_account {
	bool is_known; /* false: the kernel's layout has not all of it */
	/* As /proc/PID/task/TID/schedstat: on a CPU, waiting for one, and how often it got one. */
	uint64_t run_ns, wait_ns, n_runs;
	uint64_t user_ns, system_ns; /* by the kernel's ticks; their sum can differ from run_ns */
};

/* One process (thread group). */
struct vmop_guest_process {
	uint32_t pid;	 /* tgid, in the guest's initial pid namespace */
	uint32_t ns_pid; /* pid in the process's own namespace: differs inside containers */
	uint32_t ppid;
	uint64_t pgd_gpa;	/* root page table; 0: a kernel thread */
	uint64_t start_time_ns; /* by the guest's clock; distinguishes processes that reuse a pid */
	uint64_t task;		/* address of the guest's task_struct */
	struct vmop_guest_account account; /* of its first thread */
	char comm[16];
	const char *cgroup; /* path in the unified (or first) hierarchy; "": unknown */
	const struct vmop_guest_vma
		*vmas; /* by rising address; executable ones, or all with VMOP_GUEST_ALL_VMAS */
	uint32_t vma_count;
};

enum vmop_guest_snapshot_flags {
	VMOP_GUEST_ALL_VMAS = 1 << 0,	  /* all mappings, not only the executable ones */
	VMOP_GUEST_NO_BUILD_IDS = 1 << 1, /* skip build-ids: cheaper */
};

/* The task that runs on a vCPU at the moment of the reading. */
struct vmop_guest_current {
	uint32_t vcpu;
	uint32_t pid; /* process; 0: idle */
	uint32_t tid;
	uint64_t pgd_gpa; /* 0: a kernel thread */
	uint64_t task;
	bool is_idle;
	char comm[16];
};

/*
 * A thread, and the registers with which it goes on when it is switched in again. Its kernel stack
 * is a copy of the bytes from sp up to the stack's end.
 */
struct vmop_guest_thread {
	uint32_t pid; /* of its process */
	uint32_t tid;
	char comm[16];
	/*
	 * As ps(1) prints it: R, S, D, T, t, X, Z, P or I. R: runnable, and waits for a CPU unless
	 * is_running.
	 */
	char state;
	bool is_running; /* on a vCPU now: it has no registers here and no stack */
	bool is_torn;	 /* it changed while it was read, several times: likewise */
	bool is_known;	 /* see vmop_guest_each_new_wait: only pid, tid, state, task and switches */
	uint64_t pgd_gpa; /* 0: a kernel thread */
	uint64_t task;
	uint64_t switches; /* the times that it was switched out */
	struct vmop_guest_account account;
	uint64_t pc, sp, fp; /* in the kernel; fp is rbp or x29 */
	/* arm64: where the registers of user code are kept while in the kernel; 0: not known */
	uint64_t entry_regs;
	const uint8_t *stack;
	size_t stack_bytes; /* from sp on */
};

/* A visitor of threads; false ends the iteration. thread is valid only during the call. */
typedef bool vmop_guest_thread_fn(const struct vmop_guest_thread *thread, void *arg);

/*
 * Return whether the caller has read this thread since it was switched out. Only task, tid and
 * switches of thread are set.
 */
typedef bool vmop_guest_known_fn(const struct vmop_guest_thread *thread, void *arg);

/*
 * A part of the kernel's ORC tables (libstack/kernel/orc.h): those of the kernel itself or of a
 * module. Arrays have the guest's bytes.
 */
struct vmop_guest_orc {
	uint64_t text_start, text_end;
	uint64_t ip_address;	/* of the array ips, in the guest's kernel */
	size_t n;		/* entries */
	const uint8_t *ips;	/* 4 * n bytes */
	const uint8_t *entries; /* 6 * n bytes */
};

/* The bit fields of an ORC entry, which differ between kernels. 0: no such field. */
struct vmop_guest_orc_format {
	uint8_t type_bit, type_bits, end_bit;
};

/* A visitor of ORC tables; false ends the iteration. orc is valid only during the call. */
typedef bool vmop_guest_orc_fn(const struct vmop_guest_orc *orc, void *arg);

/*
 * The identity of a file at a sample: addresses in the guest's kernel, and what they contained. A
 * page->mapping whose bit 0 is set is no file's but anonymous memory (struct anon_vma); bit 1 marks
 * pages that a driver can move. Neither must reach this struct.
 */
struct vmop_guest_inode {
	uint64_t mapping; /* page->mapping, without flags */
	/* 0: only mapping is known, and the rest is that of the last file found with it */
	uint64_t inode;
	uint64_t superblock, number;
	uint32_t generation;
};

struct vmop_guest_inode_file {
	/*
	 * As /proc/PID/maps prints it for a process in the first process's mount namespace: with
	 * " (deleted)" at its end where it has lost its name, "/memfd:NAME (deleted)",
	 * "/SYSV00000000 (deleted)", "/dev/zero (deleted)". A file that only containers have
	 * mounted has the path that it has in one of them.
	 */
	const char *path;
	bool is_deleted;  /* also memory that never had a name in a directory */
	uint64_t mapping; /* its pages, for vmop_guest_read_mapping */
	uint64_t size_bytes;
	bool is_elf;		    /* false also while its first page is not in memory */
	uint8_t build_id_len_bytes; /* 0: no ELF file, or no build-id */
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
};

#endif
