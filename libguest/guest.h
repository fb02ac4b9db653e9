// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A read-only look into one passive Linux guest from outside, with nothing configured: its kernel's
 * symbols, modules and processes.
 *
 * This header and hypervisor-xen.h are the whole interface of the folder. Callers are the daemon's
 * watching thread (daemon/guest/) and `vmopcontrol --inspect` (daemon/inspect-image.c). tests/ may
 * include the other headers.
 *
 *	struct vmop_guest *guest;
 *	err = vmop_guest_open_pid(vmm_pid, NULL, &guest);
 *	err = vmop_guest_find_kernel(guest);		(once, and after GONE)
 *	err = vmop_guest_each_symbol(guest, store, arg);
 *	err = vmop_guest_snapshot_processes(guest, &snapshot);	(repeatedly)
 *
 * Data meets the folder's files in this order:
 *  1. memory/ finds the guest's RAM and reads it: by guest-physical address, or by virtual address
 *     through the guest's page tables (memory/memory.h).
 *  2. kernel/ finds the kernel in RAM, unpacks its symbols, and reads its BTF and modules
 *     (kernel/kernel.h).
 *  3. tasks/ reads the processes with their mappings, paths and build-ids into a snapshot
 *     (tasks/processes.h).
 *  4. guest.c joins the three behind this interface and accounts for the cost of each call.
 *
 * All input is hostile. Loops, lengths and total work are bounded. Reads stay inside the guest's
 * RAM, nothing is written, and no page is allocated that the guest has not touched. The guest is
 * not stopped. A guest can make the results wrong; it cannot cause a crash or an endless loop.
 *
 * Thread: a vmop_guest belongs to one thread at a time. Snapshots are immutable, and any number of
 * threads may read them. Text is copied from the guest unchanged: the code that prints it must
 * escape it (libutil/escape.h).
 *
 * Errors: each function that returns an error may return the errors in its comment, the
 * out-of-memory error, and VMOP_ERROR_LIMIT when the call has used up its budget
 * (libguest/budget.h).
 */
#ifndef VMOP_LIBGUEST_GUEST_H
#define VMOP_LIBGUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libguest/tasks/snapshot.h"
#include "libguest/types.h"
#include "vmop/guest-numbers.h"

struct vmop_error;
struct vmop_guest;

/* --- opening ------------------------------------------------------------- */

struct vmop_guest_options {
	/*
	 * The path of the VMM's QMP socket, which returns where guest RAM lies. NULL: derive it
	 * from /proc/PID/maps. All waits together take at most two seconds.
	 */
	const char *qmp_socket;
	/*
	 * Struct offsets for kernels without BTF: an INI file written by vmop-guest-profile (see
	 * kernel/layout.h), or a directory of such files, each named after the release of its
	 * kernel. NULL: none.
	 */
	const char *profile;
	/*
	 * The number of bytes that one call may read from the guest. 0: the default, which is 1 TiB
	 * for the search of a kernel and 256 MiB for other calls.
	 */
	uint64_t max_read_bytes;
};

/*
 * Open the RAM of the guest that VMM process `pid` runs. options may be NULL. The caller closes
 * *ret. VMOP_ERROR_CANT: no permission to read the process. VMOP_ERROR_NOT_FOUND: the process has
 * no memory that can be guest RAM.
 */
struct vmop_error *vmop_guest_open_pid(pid_t pid, const struct vmop_guest_options *options,
				       struct vmop_guest **ret);

/*
 * Open the memory of a Xen domain (PV, PVH or HVM) from dom0. Only profile and max_read_bytes of
 * options are used. The caller closes *ret. VMOP_ERROR_CANT: no Xen, no permission, or vmop was
 * built without Xen's libraries. VMOP_ERROR_NOT_FOUND: no such domain.
 */
struct vmop_error *vmop_guest_open_xen(uint32_t domid, const struct vmop_guest_options *options,
				       struct vmop_guest **ret);

/*
 * Open a saved image of a guest's memory. The accepted forms are RAM below the 4 GiB hole followed
 * by RAM above it; all physical memory from 0 on; RAM of an arm64 guest in one piece from any
 * address; and an ELF core as QEMU dumps it. The caller closes *ret. VMOP_ERROR_CORRUPT, with the
 * reason in one line: the file has none of these forms.
 */
struct vmop_error *vmop_guest_open_file(const char *path, const struct vmop_guest_options *options,
					struct vmop_guest **ret);

/* Close a guest; NULL is allowed. Its snapshots stay valid. */
void vmop_guest_close(struct vmop_guest *guest);

/* The cost of the last call on a guest, or of all its calls together. */
struct vmop_guest_cost {
	uint64_t cpu_ns; /* of the calling thread, user and system */
	uint64_t read_bytes;
	uint64_t retries; /* reads of lists that changed meanwhile */
};
struct vmop_guest_cost vmop_guest_last_cost(const struct vmop_guest *guest);
struct vmop_guest_cost vmop_guest_total_cost(const struct vmop_guest *guest);
/* Return the size of the guest's RAM in bytes. It is certain only once a kernel was found. */
uint64_t vmop_guest_ram_bytes(const struct vmop_guest *guest);

/* --- the kernel ---------------------------------------------------------- */

/*
 * Find the running kernel and read its symbols, BTF and modules. Facts about an earlier kernel are
 * dropped first. VMOP_ERROR_NOT_FOUND, with the reason in one line: the guest has not booted yet,
 * or does not run a Linux kernel that vmop can read. May sleep for up to a second when RAM holds
 * several kernels, to see whose clock ticks.
 */
struct vmop_error *vmop_guest_find_kernel(struct vmop_guest *guest);

/*
 * Check at low cost (a few pages) whether the kernel that was found still runs: its text has not
 * moved, its banner is the same, and its clock did not go back. After a kexec the old kernel can
 * lie in RAM intact, but its clock stands. Call find_kernel again when the result is UNCERTAIN for
 * some seconds while the guest's vCPUs run.
 */
enum vmop_guest_kernel_state vmop_guest_kernel_state(struct vmop_guest *guest);

/*
 * Return the facts about the kernel, or NULL while no kernel is known. The result is valid until
 * the next find_kernel or close.
 */
const struct vmop_guest_kernel_info *vmop_guest_kernel_info(const struct vmop_guest *guest);

/*
 * A visitor of symbols; false ends the iteration. symbol is valid only during the call; its strings
 * live as types.h states.
 */
typedef bool vmop_guest_symbol_fn(const struct vmop_guest_symbol *symbol, void *arg);

/*
 * Call visit for every symbol, in the order of /proc/kallsyms: the kernel, modules in the list's
 * order, ftrace trampolines, BPF programs, kprobe pages. VMOP_ERROR_NOT_FOUND: no kernel is known.
 */
struct vmop_error *vmop_guest_each_symbol(struct vmop_guest *guest, vmop_guest_symbol_fn *visit,
					  void *arg);

/* Set *ret to the text symbol that covers address. Return false when no symbol does. */
bool vmop_guest_symbol_at(struct vmop_guest *guest, uint64_t address,
			  struct vmop_guest_symbol *ret);

/*
 * Set *ret to the address of a symbol of the kernel proper. Return false when it has no such
 * symbol.
 */
bool vmop_guest_symbol_address(const struct vmop_guest *guest, const char *name, uint64_t *ret);

/*
 * Free the kernel's own symbols (about 8 MiB for a distribution's kernel) once they are stored
 * elsewhere. Until the next find_kernel the three functions above return only symbols of modules;
 * all other functions work as before.
 */
void vmop_guest_drop_symbols(struct vmop_guest *guest);

/* Read these symbols again. False: they cannot be read, or differ in number. */
bool vmop_guest_reload_symbols(struct vmop_guest *guest);

/*
 * Read the modules, BPF programs and trampolines again. Set *ret_changed (may be NULL) to whether
 * they differ from the previous reading. find_kernel makes the first reading. VMOP_ERROR_NOT_FOUND:
 * no kernel is known. VMOP_ERROR_CORRUPT: a list stays inconsistent; the previous modules are kept.
 */
struct vmop_error *vmop_guest_refresh_modules(struct vmop_guest *guest, bool *ret_changed);
size_t vmop_guest_module_count(const struct vmop_guest *guest);
const struct vmop_guest_module *vmop_guest_module_get(const struct vmop_guest *guest, size_t index);

/*
 * Call visit for the ORC tables of the kernel and of each module that has one, and set *ret_format
 * first. VMOP_ERROR_NOT_FOUND: no kernel is known, or it has no ORC tables, because it was built
 * with frame pointers or is arm64's. VMOP_ERROR_CANT: the form of its tables is not known.
 */
struct vmop_error *vmop_guest_each_orc(struct vmop_guest *guest, vmop_guest_orc_fn *visit,
				       void *arg, struct vmop_guest_orc_format *ret_format);

/*
 * Return the offset in an arm64 kernel's struct pt_regs of the word that states what the entry
 * interrupted (stackframe.type, from Linux 6.13 on), or 0: it has none.
 */
uint32_t vmop_guest_frame_record_kind(const struct vmop_guest *guest);

/* --- processes ----------------------------------------------------------- */

/*
 * Read all processes while the guest runs. flags are enum vmop_guest_snapshot_flags. A process that
 * changes during the reading is read again a few times, then left out and counted as torn.
 * Build-ids are kept from snapshot to snapshot. The caller frees *ret with
 * vmop_guest_snapshot_free(). VMOP_ERROR_NOT_FOUND: no kernel or no struct offsets are known.
 */
struct vmop_error *vmop_guest_snapshot_processes(struct vmop_guest *guest, unsigned int flags,
						 struct vmop_guest_snapshot **ret);

/*
 * Read the current task of each vCPU into ret, at most max of them, and set *ret_count to the
 * number written. A vCPU whose entry cannot be read is left out. VMOP_ERROR_NOT_FOUND: no kernel or
 * no struct offsets are known.
 */
struct vmop_error *vmop_guest_current_tasks(struct vmop_guest *guest,
					    struct vmop_guest_current *ret, size_t max,
					    size_t *ret_count);

/*
 * Call visit for every thread of every process. The stacks of those that wait can be unwound from
 * their registers and the copy of the kernel stack. Set *ret_torn (may be NULL) to the number of
 * threads that changed on every try. VMOP_ERROR_NOT_FOUND: no kernel or no struct offsets are
 * known.
 */
struct vmop_error *vmop_guest_each_thread(struct vmop_guest *guest, vmop_guest_thread_fn *visit,
					  void *arg, size_t *ret_torn);

/*
 * The same for a caller that reads again and again. A thread that waits and for which is_known
 * returns true has not moved since: it is visited with is_known set and without a stack, at a third
 * of the cost.
 */
struct vmop_error *vmop_guest_each_new_wait(struct vmop_guest *guest, vmop_guest_known_fn *is_known,
					    vmop_guest_thread_fn *visit, void *arg,
					    size_t *ret_torn);

/*
 * Set *ret to the number of times that the guest's CPUs switched threads, at the cost of one small
 * read a CPU. While it stays, no thread has begun or ended to run. Return false when it cannot be
 * read.
 */
bool vmop_guest_switches(struct vmop_guest *guest, uint64_t *ret);

/*
 * Return whether a thread still waits and was not switched in since it was read: only then does a
 * user stack that was read afterwards belong to it.
 */
bool vmop_guest_thread_waits(struct vmop_guest *guest, uint64_t task, uint64_t switches);

/*
 * Read len_bytes at offset of a file (vma->file) from the guest's page cache. The .symtab of a
 * binary can thus be read without a copy on the host. Set *ret_read (may be NULL) to the number of
 * bytes before the first page that the guest does not hold in memory; such pages are zero in buf.
 * VMOP_ERROR_NOT_FOUND: the guest no longer has the file open.
 */
struct vmop_error *vmop_guest_read_file(struct vmop_guest *guest, uint64_t file, uint64_t offset,
					void *buf, size_t len_bytes, size_t *ret_read);
/* Set *ret to the size of a file in bytes. VMOP_ERROR_NOT_FOUND: as above. */
struct vmop_error *vmop_guest_file_size(struct vmop_guest *guest, uint64_t file, uint64_t *ret);

/*
 * Read user memory of a process through its page tables: a stack, or JIT code. Return false when a
 * page is not present.
 */
bool vmop_guest_read_user(struct vmop_guest *guest, uint64_t pgd_gpa, uint64_t address, void *buf,
			  size_t len_bytes);

/*
 * Read len_bytes at offset of the vDSO, which a process has mapped from start to end. A page that
 * no process has used is in no page table. It is found by another one, because the image is one
 * piece of the kernel's (kernel: arch/x86/entry/vdso/vma.c, arch/arm64/kernel/vdso.c). Return false
 * for bytes outside of the mapping, and if the process has used no page.
 */
bool vmop_guest_read_vdso(struct vmop_guest *guest, uint64_t pgd_gpa, uint64_t start, uint64_t end,
			  uint64_t offset, void *buf, size_t len_bytes);

/*
 * Read user memory of a process by the address of the task_struct of any of its threads. pid and
 * start_time_ns are its leader's. Return false when a page is not present, or the process has ended
 * or executed another program meanwhile: then other processes may own its pages.
 */
bool vmop_guest_read_process(struct vmop_guest *guest, uint64_t task, uint32_t pid,
			     uint64_t start_time_ns, uint64_t address, void *buf, size_t len_bytes);

/* Read the kernel's memory: its code. Return false when a page is not present. */
bool vmop_guest_read_kernel(struct vmop_guest *guest, uint64_t address, void *buf,
			    size_t len_bytes);

/* --- what a sample shows (vmop/guest-context.h) ------------------------------------------- */

/*
 * Set *ret to the numbers by which the current task, pages and stacks are found at a sample.
 * Unknown addresses and sizes are 0, and unknown offsets VMOP_GUEST_NO_OFFSET; generation and
 * windows are 0. VMOP_ERROR_NOT_FOUND: no kernel or no struct offsets are known.
 */
struct vmop_error *vmop_guest_sample_numbers(struct vmop_guest *guest,
					     struct vmop_guest_numbers *ret);

/*
 * Find the file of an inode that a sample showed. Set *ret, whose path is valid until the next call
 * of this function or the next one. VMOP_ERROR_NOT_FOUND: the inode is another one now (number,
 * superblock or generation differ), has no name, or changed at every try.
 */
struct vmop_error *vmop_guest_find_inode(struct vmop_guest *guest,
					 const struct vmop_guest_inode *inode,
					 struct vmop_guest_inode_file *ret);

/*
 * Find a file by its path in the root file system of the guest's init, among the names that the
 * guest's kernel has in its cache; symbolic links are not followed. VMOP_ERROR_NOT_FOUND: no such
 * name is cached.
 */
struct vmop_error *vmop_guest_find_path(struct vmop_guest *guest, const char *path,
					struct vmop_guest_inode_file *ret);

/*
 * The same in the root file system of a process, which is its own in a container, by the address of
 * the task_struct of any of its threads. pid and start_time_ns are its leader's.
 * VMOP_ERROR_NOT_FOUND: also if the task is no longer one of this process.
 */
struct vmop_error *vmop_guest_find_path_of(struct vmop_guest *guest, uint64_t task, uint32_t pid,
					   uint64_t start_time_ns, const char *path,
					   struct vmop_guest_inode_file *ret);

/*
 * As vmop_guest_read_file and vmop_guest_file_size, by the handle of a file's pages
 * (vmop_guest_inode_file.mapping). VMOP_ERROR_NOT_FOUND: it is no longer that of the inode that was
 * found with it, also if the inode went away during the read.
 */
struct vmop_error *vmop_guest_read_mapping(struct vmop_guest *guest, uint64_t mapping,
					   uint64_t offset, void *buf, size_t len_bytes,
					   size_t *ret_read);
struct vmop_error *vmop_guest_mapping_size(struct vmop_guest *guest, uint64_t mapping,
					   uint64_t *ret);

/*
 * Read one process by the address of the task_struct of any of its threads, with its executable
 * mappings, into a snapshot that has only this process. pid and start_time_ns are its leader's. A
 * process that is exiting has no mappings any longer. The caller frees *ret. VMOP_ERROR_NOT_FOUND:
 * the task is no longer one of this process, or it changed at every try.
 */
struct vmop_error *vmop_guest_snapshot_process(struct vmop_guest *guest, uint64_t task,
					       uint32_t pid, uint64_t start_time_ns,
					       struct vmop_guest_snapshot **ret);

#endif
