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

#include "libguest/tasks/snapshot.h"
#include "libguest/types.h"

struct vmop_error;
struct vmop_guest;

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

/*
 * A cheap look (a few pages) at whether the kernel that was found still runs:
 * its text is where it was, it names itself alike, its clock did not go back.
 * After a kexec the old kernel can lie in RAM intact: its clock stands, so
 * call find_kernel again when UNCERTAIN lasts for longer than some seconds
 * while vCPUs are seen to run.
 */
enum vmop_guest_kernel_state vmop_guest_kernel_state(struct vmop_guest *guest);

/* NULL while no kernel is known; valid till the next find_kernel or close. */
const struct vmop_guest_kernel_info *vmop_guest_kernel_info(const struct vmop_guest *guest);

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

/*
 * Reads the modules, BPF programs and trampolines anew.  *ret_changed (may be
 * NULL) tells whether they differ from before.  find_kernel does it first.
 */
struct vmop_error *vmop_guest_refresh_modules(struct vmop_guest *guest, bool *ret_changed);
size_t vmop_guest_module_count(const struct vmop_guest *guest);
const struct vmop_guest_module *vmop_guest_module_get(const struct vmop_guest *guest, size_t index);

/* --- processes ----------------------------------------------------------- */

/*
 * Reads all processes without stopping the guest.  What changes under the
 * reading is retried a few times and then left out, counted in torn.
 * Build-ids are remembered from snapshot to snapshot.  The caller frees *ret.
 * VMOP_ERROR_NOT_FOUND without a kernel or without struct offsets.
 */
struct vmop_error *vmop_guest_snapshot_processes(struct vmop_guest *guest, unsigned int flags,
						 struct vmop_guest_snapshot **ret);

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
