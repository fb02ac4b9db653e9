// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A read-only view into one passive Linux guest, from outside, with nothing
 * configured: its kernel's symbols, modules and processes.
 *
 * This is the whole interface for the daemon; the other headers of the folder
 * are its insides.
 *
 *	struct vmop_guest *guest;
 *	err = vmop_guest_open_pid(vmm_pid, NULL, &guest);
 *	err = vmop_guest_find_kernel(guest);		(once, and after GONE)
 *	err = vmop_guest_each_symbol(guest, store, arg);
 *	err = vmop_guest_snapshot_processes(guest, &snapshot);	(again and again)
 *
 * Everything read is hostile input: loops, lengths and total work are bounded,
 * nothing outside the guest's RAM is read, nothing is ever written, no page
 * that the guest has not touched is allocated, and the guest is not stopped.
 * What it tells may be a lie; it can't be a crash or an endless loop.
 *
 * A vmop_guest belongs to one thread at a time.  Snapshots are immutable and
 * may be read by any number of threads.  Text is copied out of the guest as
 * it is: who prints it escapes it (libutil/escape.h).
 */
#ifndef VMOP_LIBGUEST_GUEST_H
#define VMOP_LIBGUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vmop_error;
struct vmop_guest;
struct vmop_guest_snapshot;

#define VMOP_GUEST_BUILD_ID_MAX 20 /* bytes; 0 of them: not known */

/* --- opening ------------------------------------------------------------- */

struct vmop_guest_options {
	/*
	 * QMP socket of the VMM, asked where guest RAM lies when it is given;
	 * NULL: worked out from /proc/PID/maps.  Waits at most two seconds.
	 */
	const char *qmp_socket;
	/*
	 * Struct offsets for kernels without BTF: an INI file made by
	 * vmop-guest-profile (see layout.h), or a directory of them, each named as
	 * its kernel's release; NULL: none.
	 */
	const char *profile;
	/* Bytes that one call may read from the guest; 0: the default, 1 TiB of
	 * scanning when a kernel is searched, 256 MiB else. */
	uint64_t max_read_bytes;
};

/*
 * Opens the RAM of the guest that VMM process pid runs.  options may be NULL.
 * VMOP_ERROR_CANT without the permission to read the process,
 * VMOP_ERROR_NOT_FOUND when nothing in it looks like guest RAM.
 */
struct vmop_error *vmop_guest_open_pid(pid_t pid, const struct vmop_guest_options *options,
				       struct vmop_guest **ret);

/*
 * Opens the memory of a Xen domain, from dom0: PV, PVH or HVM.  VMOP_ERROR_CANT where there is no
 * Xen, no permission, or vmop was built without its libraries; VMOP_ERROR_NOT_FOUND without
 * such a domain.  Of options, only profile and max_read_bytes mean something.
 */
struct vmop_error *vmop_guest_open_xen(uint32_t domid, const struct vmop_guest_options *options,
				       struct vmop_guest **ret);

/*
 * Opens a saved image of a guest's memory: RAM below the 4 GiB hole, then RAM above it; all of
 * physical memory from 0 on; of an arm64 guest, RAM in one piece from wherever it begins; or an
 * ELF core as QEMU dumps it.  VMOP_ERROR_CORRUPT, with one line that says why, for what is none.
 */
struct vmop_error *vmop_guest_open_file(const char *path, const struct vmop_guest_options *options,
					struct vmop_guest **ret);

/* NULL is allowed.  Snapshots stay valid. */
void vmop_guest_close(struct vmop_guest *guest);

/* What the last call on the guest has cost, and all calls together. */
struct vmop_guest_cost {
	uint64_t cpu_ns; /* of the calling thread, user and system */
	uint64_t read_bytes;
	uint64_t retries; /* torn reads: lists that changed while they were read */
};
struct vmop_guest_cost vmop_guest_last_cost(const struct vmop_guest *guest);
struct vmop_guest_cost vmop_guest_total_cost(const struct vmop_guest *guest);
/* RAM that the guest has, in bytes; sure once a kernel was found in it. */
uint64_t vmop_guest_ram_bytes(const struct vmop_guest *guest);

/* --- the kernel ---------------------------------------------------------- */

/*
 * Finds the running kernel and reads its symbols, BTF and modules.  What was
 * known of an earlier kernel is dropped first.  VMOP_ERROR_NOT_FOUND, with one
 * line that says so, for a guest that does not run a Linux that this knows
 * (also: that has not booted so far).  May sleep for up to a second when RAM
 * holds several kernels and it must be seen which one's clock ticks.
 */
struct vmop_error *vmop_guest_find_kernel(struct vmop_guest *guest);

enum vmop_guest_kernel_state {
	VMOP_GUEST_KERNEL_NONE,	     /* none was found so far */
	VMOP_GUEST_KERNEL_CURRENT,   /* its clock has moved on since the last look */
	VMOP_GUEST_KERNEL_UNCERTAIN, /* intact, but the clock stands: idle, paused, or replaced */
	VMOP_GUEST_KERNEL_GONE,	     /* rebooted, kexec'd or gone: find again */
};

/*
 * A cheap look (a few pages) at whether the kernel that was found still runs:
 * its text is where it was, it names itself alike, its clock did not go back.
 * After a kexec the old kernel can lie in RAM intact: its clock stands, so
 * call find_kernel again when UNCERTAIN lasts for longer than some seconds
 * while vCPUs are seen to run.
 */
enum vmop_guest_kernel_state vmop_guest_kernel_state(struct vmop_guest *guest);

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

/* NULL while no kernel is known; valid till the next find_kernel or close. */
const struct vmop_guest_kernel_info *vmop_guest_kernel_info(const struct vmop_guest *guest);

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

/* Returns false to end the iteration. */
typedef bool vmop_guest_symbol_fn(const struct vmop_guest_symbol *symbol, void *arg);

/*
 * Calls visit for every symbol, in the order of /proc/kallsyms: the kernel,
 * modules in the list's order, ftrace trampolines, BPF programs, kprobe pages.
 */
struct vmop_error *vmop_guest_each_symbol(struct vmop_guest *guest, vmop_guest_symbol_fn *visit,
					  void *arg);

/* The text symbol that covers address; false: none. */
bool vmop_guest_symbol_at(struct vmop_guest *guest, uint64_t address,
			  struct vmop_guest_symbol *ret);

/* The address of a symbol of the kernel proper; false: there is none. */
bool vmop_guest_symbol_address(const struct vmop_guest *guest, const char *name, uint64_t *ret);

/*
 * Frees the kernel's own symbols (about 8 MiB for a distribution's kernel) once
 * they are stored elsewhere.  The three functions above then know the modules'
 * alone, until the next find_kernel; everything else works on.
 */
void vmop_guest_drop_symbols(struct vmop_guest *guest);

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

/*
 * Reads the modules, BPF programs and trampolines anew.  *ret_changed (may be
 * NULL) tells whether they differ from before.  find_kernel does it first.
 */
struct vmop_error *vmop_guest_refresh_modules(struct vmop_guest *guest, bool *ret_changed);
size_t vmop_guest_module_count(const struct vmop_guest *guest);
const struct vmop_guest_module *vmop_guest_module_get(const struct vmop_guest *guest, size_t index);

/* --- processes ----------------------------------------------------------- */

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

/*
 * Reads all processes without stopping the guest.  What changes under the
 * reading is retried a few times and then left out, counted in torn.
 * Build-ids are remembered from snapshot to snapshot.  The caller frees *ret.
 * VMOP_ERROR_NOT_FOUND without a kernel or without struct offsets.
 */
struct vmop_error *vmop_guest_snapshot_processes(struct vmop_guest *guest, unsigned int flags,
						 struct vmop_guest_snapshot **ret);
void vmop_guest_snapshot_free(struct vmop_guest_snapshot *snapshot);

size_t vmop_guest_snapshot_count(const struct vmop_guest_snapshot *snapshot);
/* Processes left out because they changed while they were read. */
size_t vmop_guest_snapshot_torn(const struct vmop_guest_snapshot *snapshot);
uint64_t vmop_guest_snapshot_time_ns(const struct vmop_guest_snapshot *snapshot); /* MONOTONIC */
/* By rising pid. */
const struct vmop_guest_process *vmop_guest_snapshot_get(const struct vmop_guest_snapshot *snapshot,
							 size_t index);
const struct vmop_guest_process *
vmop_guest_snapshot_by_pid(const struct vmop_guest_snapshot *snapshot, uint32_t pid);
/*
 * By a CR3 value: PCID, LAM and KPTI's user half are taken off; on arm64 by one of
 * TTBR0_EL1, whose ASID is.  NULL: none.
 */
const struct vmop_guest_process *
vmop_guest_snapshot_by_cr3(const struct vmop_guest_snapshot *snapshot, uint64_t cr3);
/* The mapping of process at address; NULL: none. */
const struct vmop_guest_vma *vmop_guest_process_vma(const struct vmop_guest_process *process,
						    uint64_t address);

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

/*
 * The current task of each vCPU, up to max; *ret_count tells how many were
 * written.  A vCPU whose entry can't be read is left out.
 */
struct vmop_error *vmop_guest_current_tasks(struct vmop_guest *guest,
					    struct vmop_guest_current *ret, size_t max,
					    size_t *ret_count);

/*
 * Reads len_bytes from offset of a file (vma->file) out of the guest's page
 * cache, so that a binary's .symtab is had with no copy on the host.
 * *ret_read (may be NULL) tells how many bytes could be read: pages that the
 * guest does not hold in memory are zero in buf and end the count.
 * VMOP_ERROR_NOT_FOUND when the guest no longer has the file open.
 */
struct vmop_error *vmop_guest_read_file(struct vmop_guest *guest, uint64_t file, uint64_t offset,
					void *buf, size_t len_bytes, size_t *ret_read);
/* The file's size in bytes. */
struct vmop_error *vmop_guest_file_size(struct vmop_guest *guest, uint64_t file, uint64_t *ret);

/*
 * Reads user memory of a process through its page tables: the vDSO's image,
 * JIT code.  False when a page is not there.
 */
bool vmop_guest_read_user(struct vmop_guest *guest, uint64_t pgd_gpa, uint64_t address, void *buf,
			  size_t len_bytes);

#endif
