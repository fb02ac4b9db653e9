// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of the host's kernel and its modules, packed by vmop_db_pack_symbols, in a file of
 * the run directory. A session that finds them there does not make the kernel write /proc/kallsyms,
 * and neither parses nor compresses. These are nine tenths of the instructions of a short session.
 *
 * The file is VMOP_RUN_KERNEL_SYMBOLS; a reboot empties its directory. It has one line and then an
 * entry for each image (struct entry in the .c file):
 *
 *	line = "vmop-kernel-symbols-2", the key, the length and the hash of all entries
 *	key  = vmop's version, boot id, hash of the kernel's notes, kptr_restrict, hash of the first
 *	       block of /proc/kallsyms, hash of the modules' names and addresses
 *
 * The key has everything that changes the symbols of the kernel and its modules, or the right of
 * this process to see them. Generated code (BPF programs, trampolines, probes) comes and goes
 * without a change of the key, so the file has none of its symbols.
 *
 * The file is used only if vmopd's user owns it, no other user has a right to it, and line and
 * entries are as written. Otherwise it is replaced. Used in the thread that starts a session.
 */
#ifndef VMOP_DAEMON_HOST_KERNEL_CACHE_H
#define VMOP_DAEMON_HOST_KERNEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* The key of the symbols that this process would read now. */
struct vmop_kernel_cache_key {
	char text[192];
};

/* The symbols of one image. Offsets in packed count from base. */
struct vmop_kernel_cache_image {
	const char *name; /* "[kernel]", or that of a module in brackets */
	uint64_t base, len_bytes;
	const void *packed; /* by vmop_db_pack_symbols */
	size_t packed_bytes;
};

/* All bytes of a valid file, on the heap; at: the position of the next image. */
struct vmop_kernel_cache {
	char *bytes;
	size_t len_bytes, at;
};

/*
 * Make the key for the /proc and /sys below root. modules_hash stands for the names and addresses
 * of the loaded modules. Return false if nothing can be cached: this process sees no addresses in
 * /proc/kallsyms, or root has no boot id.
 */
bool vmop_kernel_cache_key(const char *root, uint64_t modules_hash,
			   struct vmop_kernel_cache_key *ret);

/*
 * Read the file in the run directory dir_fd. Return false without a file that is valid with this
 * key. The caller calls vmop_kernel_cache_deinit in each case.
 */
bool vmop_kernel_cache_load(int dir_fd, const struct vmop_kernel_cache_key *key,
			    struct vmop_kernel_cache *ret);
void vmop_kernel_cache_deinit(struct vmop_kernel_cache *cache);

/* Set *ret to the next image, valid until deinit, or return false: there are no more. */
bool vmop_kernel_cache_next(struct vmop_kernel_cache *cache, struct vmop_kernel_cache_image *ret);

/* Replace the file by one with n images. After an error the file is gone. */
struct vmop_error *vmop_kernel_cache_save(int dir_fd, const struct vmop_kernel_cache_key *key,
					  const struct vmop_kernel_cache_image *images, size_t n);

#endif
