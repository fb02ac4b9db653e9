// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/guest-exit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/perf/permission.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

#define FUNCTION "kvm_arch_vcpu_ioctl_run"
#define MAX_FUNCTION_BYTES (64u << 10) /* the function has about 2 KiB */

/* A static function, of which each object file may have a copy: the nearest one is called. */
#define UNMASK "arch_local_irq_enable"

struct addresses {
	uint64_t *at;
	size_t n, capacity;
};

static void addresses_deinit(struct addresses *addresses)
{
	free(addresses->at);
}

static bool add(struct addresses *addresses, uint64_t address)
{
	if (!vmop_array_reserve(addresses->at, addresses->capacity, addresses->n + 1))
		return false;
	addresses->at[addresses->n++] = address;
	return true;
}

/* Return the distance from a function's start to the next symbol, in bytes. */
static uint64_t length(const struct addresses *all, uint64_t start)
{
	uint64_t least = MAX_FUNCTION_BYTES;
	for (size_t i = 0; i < all->n; i++) {
		if (all->at[i] > start && all->at[i] - start < least)
			least = all->at[i] - start;
	}
	return least;
}

static uint64_t nearest(const struct addresses *all, uint64_t to)
{
	uint64_t best = 0, least = UINT64_MAX;
	for (size_t i = 0; i < all->n; i++) {
		uint64_t at = all->at[i], distance = at > to ? at - to : to - at;
		if (distance < least) {
			least = distance;
			best = at;
		}
	}
	return best;
}

/*
 * Read the symbols in one pass: the kernel writes the file anew for each. The order of its lines is
 * not guaranteed.
 */
static struct vmop_error *read_symbols(const char *path, struct addresses *all,
				       struct addresses *unmasks, uint64_t *ret_start)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	if (!file)
		return vmop_error_os(errno, "%s", path);
	while (getline(&line, &size, file) > 0) {
		uint64_t address;
		char type, name[64];
		if (sscanf(line, "%" SCNx64 " %c %63s", &address, &type, name) != 3)
			continue;
		if (!add(all, address) || (!strcmp(name, UNMASK) && !add(unmasks, address)))
			return &vmop_error_no_memory;
		if (!strcmp(name, FUNCTION))
			*ret_start = address;
	}
	return NULL;
}

struct vmop_error *vmop_perf_guest_exit_find(const char *path, struct vmop_perf_guest_exit *ret)
{
	_cleanup_(addresses_deinit) struct addresses all = {0};
	_cleanup_(addresses_deinit) struct addresses unmasks = {0};
	uint64_t start = 0;
	struct vmop_error *err = read_symbols(path, &all, &unmasks, &start);
	if (!err && !start)
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s tells no address of " FUNCTION,
				     path);
	if (err)
		return err;
	ret->start = start;
	ret->len_bytes = length(&all, start);
	ret->unmask_start = nearest(&unmasks, start);
	ret->unmask_len_bytes = ret->unmask_start ? length(&all, ret->unmask_start) : 0;
	return NULL;
}

#ifdef __aarch64__
/*
 * Find the function once for the process: the kernel's text does not move, and its list of symbols
 * is long.
 */
static const struct vmop_perf_guest_exit *find_once(void)
{
	static struct vmop_perf_guest_exit found;
	static bool was_looked_for;
	if (!was_looked_for)
		vmop_error_destroy(vmop_perf_guest_exit_find("/proc/kallsyms", &found));
	was_looked_for = true;
	return &found;
}
#endif

void vmop_perf_guest_exit_init(struct vmop_perf_guest_exit *ret)
{
	*ret = (struct vmop_perf_guest_exit){0};
#ifdef __aarch64__
	if (access("/dev/kvm", F_OK) != 0)
		return;
	bool has_regs = vmop_perf_gives_registers(VMOP_PERF_GUEST_EXIT_REGS);
	if (has_regs)
		*ret = *find_once();
	ret->is_here = true;
	ret->has_regs = has_regs;
#endif
}
