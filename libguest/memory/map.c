// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds where a VMM process keeps its guest's RAM, from /proc/PID/maps and its command line, or
 * from QMP.
 *
 * QEMU maps RAM as one block (or one per memory backend), writable and not executable, of exactly
 * the size that -m states. The beginning of the block lies below the hole under 4 GiB, and the rest
 * from 4 GiB on. Where the hole begins depends on the machine and the size (QEMU: hw/i386/pc_q35.c,
 * pc_piix.c). Firecracker, cloud-hypervisor, crosvm and kvmtool do the same with other holes.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "libguest/memory/internal.h"
#include "libguest/memory/qmp.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define FOUR_GIB (4 * GIB)
#define ARM64_VIRT_RAM GIB /* QEMU: hw/arm/virt.c, VIRT_MEM */
#define MIN_REGION_BYTES MIB
#define MAX_MAPPINGS 1024
#define MAX_MAPS_BYTES (32u << 20)

/* A mapping that can be guest RAM. */
struct mapping {
	uint64_t start, end, offset, inode;
	unsigned int major, minor;
	bool is_file, is_shared;
	char path[256];
};

struct mappings {
	size_t count;
	struct mapping mapping[MAX_MAPPINGS];
};

/* Facts from the VMM's command line. */
struct hints {
	uint64_t ram_bytes; /* 0: not stated */
	uint64_t low_limit; /* max-ram-below-4g; 0: not stated */
	bool is_qemu, is_q35, is_arm64;
};

static uint64_t mapping_bytes(const struct mapping *mapping)
{
	return mapping->end - mapping->start;
}

/*
 * Return whether a mapping can be RAM: writable, not executable, and backed by memory, not by a
 * device or a program's file.
 */
static bool may_be_ram(const char *perms, const char *path, uint64_t inode)
{
	if (perms[0] != 'r' || perms[1] != 'w' || perms[2] == 'x')
		return false;
	if (inode == 0)
		return path[0] == '\0' || strncmp(path, "[anon", 5) == 0;
	if (strncmp(path, "/memfd:tcg-jit", 14) == 0)
		return false;
	return strncmp(path, "/dev/", 5) != 0 || strncmp(path, "/dev/shm/", 9) == 0 ||
	       strncmp(path, "/dev/huge", 9) == 0 || strncmp(path, "/dev/zero", 9) == 0;
}

/*
 * Add the mapping in one line of /proc/PID/maps (proc(5)), joined to the last mapping where it
 * continues that one.
 */
static void add_line(struct mappings *all, const char *line)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];
	int path_at = 0;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset, &major,
		   &minor, &inode, &path_at) < 7)
		return;
	const char *path = path_at ? line + path_at : "";
	if (end <= start || !may_be_ram(perms, path, inode))
		return;
	struct mapping *last = all->count ? &all->mapping[all->count - 1] : NULL;
	if (last && inode && last->inode == inode && last->major == major && last->minor == minor &&
	    last->end == start && last->offset + mapping_bytes(last) == offset) {
		last->end = end;
		return;
	}
	if (last && mapping_bytes(last) < MIN_REGION_BYTES)
		all->count--; /* it is complete and too small */
	if (all->count == MAX_MAPPINGS)
		return;
	struct mapping *mapping = &all->mapping[all->count++];
	*mapping = (struct mapping){.start = start,
				    .end = end,
				    .offset = offset,
				    .inode = inode,
				    .major = major,
				    .minor = minor,
				    .is_file = inode != 0,
				    .is_shared = perms[3] == 's'};
	snprintf(mapping->path, sizeof(mapping->path), "%s", path);
}

static struct vmop_error *read_mappings(pid_t pid, struct mappings *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_io_read_file(path, MAX_MAPS_BYTES, &text, NULL);
	if (err)
		return err;
	ret->count = 0;
	char *save;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		add_line(ret, line);
	if (ret->count && mapping_bytes(&ret->mapping[ret->count - 1]) < MIN_REGION_BYTES)
		ret->count--;
	return NULL;
}

/* --- the command line ------------------------------------------------------ */

/*
 * Parse a size as QEMU does, in default_unit when it has no suffix. Return bytes, or 0 when it is
 * not a size.
 */
static uint64_t qemu_size(const char *text, uint64_t default_unit)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	uint64_t unit = default_unit;
	switch (tolower((unsigned char)*end)) {
	case 'b':
		unit = 1;
		break;
	case 'k':
		unit = 1024;
		break;
	case 'm':
		unit = MIB;
		break;
	case 'g':
		unit = GIB;
		break;
	case 't':
		unit = 1024 * GIB;
		break;
	default:
		break;
	}
	return value < UINT64_MAX / unit ? value * unit : 0;
}

static void take_option(struct hints *hints, const char *option, const char *value)
{
	if (strcmp(option, "m") == 0) {
		if (strncmp(value, "size=", 5) == 0)
			value += 5;
		hints->ram_bytes = qemu_size(value, MIB);
	} else if (strcmp(option, "M") == 0 || strcmp(option, "machine") == 0) {
		hints->is_q35 |= strstr(value, "q35") != NULL;
		const char *limit = strstr(value, "max-ram-below-4g=");
		if (limit)
			hints->low_limit = qemu_size(strchr(limit, '=') + 1, 1);
	}
}

static struct hints read_hints(pid_t pid)
{
	struct hints hints = {0};
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_free_ char *text = NULL;
	size_t len;
	struct vmop_error *err = vmop_io_read_file(path, 1 << 20, &text, &len);
	if (err) {
		vmop_error_destroy(err); /* hints are optional */
		return hints;
	}
	hints.is_qemu = strstr(text, "qemu") || strstr(text, "kvm");
#ifdef __aarch64__
	hints.is_arm64 = true;
#else
	hints.is_arm64 = strstr(text, "aarch64") != NULL; /* the program's name */
#endif
	for (size_t at = 0; hints.is_qemu && at < len;) {
		const char *word = text + at;
		at += strlen(word) + 1;
		if (word[0] == '-' && at < len)
			take_option(&hints, word + 1 + (word[1] == '-'), text + at);
	}
	return hints;
}

/* Return the bytes of RAM below the hole, as QEMU 8 computes them (hw/i386/pc_q35.c, pc_piix.c). */
static uint64_t low_bytes_of(const struct hints *hints, uint64_t ram_bytes)
{
	uint64_t low = ram_bytes;
	if (hints->is_q35 && ram_bytes >= 0xb0000000)
		low = 2 * GIB;
	else if (!hints->is_q35 && ram_bytes >= 0xe0000000)
		low = 3 * GIB;
	if (hints->low_limit && low > hints->low_limit)
		low = hints->low_limit;
	return low;
}

/* --- placements --------------------------------------------------------------- */

static void add_split(struct vmop_guest_map *map, uint64_t linear, uint64_t ram_bytes, uint64_t low)
{
	if (low == 0 || low > FOUR_GIB || map->placements == VMOP_GUEST_MAX_PLACEMENTS)
		return;
	if (low > ram_bytes)
		low = ram_bytes;
	for (unsigned int i = 0; i < map->placements; i++)
		if (map->placement[i].span[0].linear == linear &&
		    map->placement[i].span[0].len_bytes == low)
			return;
	struct vmop_guest_placement *placement = &map->placement[map->placements++];
	placement->spans = 1;
	placement->span[0] = (struct vmop_guest_span){.gpa = 0, .linear = linear, .len_bytes = low};
	if (low < ram_bytes)
		placement->span[placement->spans++] = (struct vmop_guest_span){
			.gpa = FOUR_GIB, .linear = linear + low, .len_bytes = ram_bytes - low};
}

/* Add placements in which a piece of linear space is all of RAM, one for each hole that VMMs use.
 */
static void add_splits(struct vmop_guest_map *map, uint64_t linear, uint64_t ram_bytes,
		       uint64_t low_bytes)
{
	/* q35, pc, pc with max-ram-below-4g, Firecracker and kvmtool, cloud-hypervisor */
	static const uint64_t lows[] = {0xb0000000, 0x80000000, 0xc0000000,
					0xe0000000, 0xd0000000, 0xe8000000};
	add_split(map, linear, ram_bytes, low_bytes);
	if (ram_bytes < 0xb0000000)
		add_split(map, linear, ram_bytes, ram_bytes);
	for (size_t i = 0; i < sizeof(lows) / sizeof(lows[0]); i++)
		if (lows[i] < ram_bytes)
			add_split(map, linear, ram_bytes, lows[i]);
	if (ram_bytes >= 0xb0000000)
		add_split(map, linear, ram_bytes, ram_bytes);
}

void vmop_guest_map_add_split_placements(struct vmop_guest_map *map, uint64_t ram_bytes,
					 uint64_t low_bytes)
{
	add_splits(map, 0, ram_bytes, low_bytes);
}

/*
 * Add a placement with the regions one after another from 0, continued at 4 GiB, in order or
 * reversed.
 */
static void add_chain(struct vmop_guest_map *map, bool reverse)
{
	if (map->placements == VMOP_GUEST_MAX_PLACEMENTS)
		return;
	struct vmop_guest_placement placement = {0};
	uint64_t gpa = 0;
	for (unsigned int i = 0; i < map->regions; i++) {
		const struct vmop_guest_region *region =
			&map->region[reverse ? map->regions - 1 - i : i];
		if (gpa < FOUR_GIB && gpa + region->len_bytes > 0xf0000000)
			gpa = FOUR_GIB;
		placement.span[placement.spans++] = (struct vmop_guest_span){
			.gpa = gpa, .linear = region->linear, .len_bytes = region->len_bytes};
		gpa += region->len_bytes;
	}
	map->placement[map->placements++] = placement;
}

/* --- regions --------------------------------------------------------------- */

static bool same_file(int fd, const struct mapping *mapping)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == mapping->inode &&
	       (uint64_t)st.st_size >= mapping->offset + mapping_bytes(mapping);
}

/*
 * Open the file behind a shared mapping, so that a read of a hole allocates nothing. Return -1 for
 * a mapping without a file.
 */
static int open_backing(pid_t pid, const struct mapping *mapping)
{
	char path[96];
	if (!mapping->is_file || !mapping->is_shared)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && mapping->path[0] == '/')
		fd = open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && same_file(fd, mapping) ? vmop_steal_fd(&fd) : -1;
}

static void add_region(pid_t pid, struct vmop_guest_map *map, const struct mapping *mapping)
{
	if (map->regions == VMOP_GUEST_MAX_REGIONS)
		return;
	uint64_t linear = 0;
	if (map->regions) {
		const struct vmop_guest_region *last = &map->region[map->regions - 1];
		linear = last->linear + last->len_bytes;
	}
	struct vmop_guest_region *region = &map->region[map->regions++];
	*region = (struct vmop_guest_region){.kind = VMOP_GUEST_REGION_PROCESS,
					     .fd = -1,
					     .host_start = mapping->start,
					     .hva = mapping->start,
					     .len_bytes = mapping_bytes(mapping),
					     .linear = linear};
	int fd = open_backing(pid, mapping);
	if (fd >= 0) {
		region->kind = VMOP_GUEST_REGION_FILE;
		region->fd = fd;
		region->host_start = mapping->offset;
	}
}

/* Return the mapping with the size of RAM, a file before anonymous memory. NULL: none. */
static const struct mapping *by_size(const struct mappings *all, uint64_t ram_bytes)
{
	const struct mapping *found = NULL;
	for (size_t i = 0; ram_bytes && i < all->count; i++) {
		const struct mapping *mapping = &all->mapping[i];
		if (mapping_bytes(mapping) == ram_bytes && (!found || !found->is_file))
			found = mapping;
	}
	return found;
}

static int larger_first(const void *a, const void *b)
{
	uint64_t x = mapping_bytes(*(const struct mapping *const *)a);
	uint64_t y = mapping_bytes(*(const struct mapping *const *)b);
	return x < y ? 1 : x > y ? -1 : 0;
}

static int address_order(const void *a, const void *b)
{
	uint64_t x = (*(const struct mapping *const *)a)->start;
	uint64_t y = (*(const struct mapping *const *)b)->start;
	return x < y ? -1 : x > y ? 1 : 0;
}

/*
 * Return the size above which a mapping is not RAM: more than a machine overcommits is address
 * space that a runtime has reserved (sanitizers, Go, Java).
 */
static uint64_t likely_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	return pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) * 16 : UINT64_MAX;
}

/* Add the largest mappings by rising address, when no mapping has the stated size. */
static void add_largest(pid_t pid, const struct mappings *all, struct vmop_guest_map *map)
{
	const struct mapping *order[MAX_MAPPINGS];
	size_t count = 0;
	uint64_t most = likely_bytes();
	for (size_t i = 0; i < all->count; i++)
		if (mapping_bytes(&all->mapping[i]) <= most)
			order[count++] = &all->mapping[i];
	if (!count)
		return;
	qsort(order, count, sizeof(order[0]), larger_first);
	uint64_t least = mapping_bytes(order[0]) / 16;
	size_t keep = 1;
	while (keep < count && keep < 8 && mapping_bytes(order[keep]) >= least)
		keep++;
	qsort(order, keep, sizeof(order[0]), address_order);
	for (size_t i = 0; i < keep; i++)
		add_region(pid, map, order[i]);
}

static void guess_placements(struct vmop_guest_map *map, const struct hints *hints)
{
	if (map->regions == 1) {
		uint64_t ram = map->region[0].len_bytes;
		vmop_guest_map_add_split_placements(map, ram,
						    hints->is_qemu ? low_bytes_of(hints, ram) : 0);
		return;
	}
	/* kernel/find.c decides which of the regions is RAM. */
	uint64_t largest = 0;
	for (unsigned int i = 0; i < map->regions; i++)
		if (map->region[i].len_bytes > largest)
			largest = map->region[i].len_bytes;
	for (unsigned int i = 0; i < map->regions; i++)
		if (map->region[i].len_bytes == largest)
			add_splits(map, map->region[i].linear, largest, 0);
	add_chain(map, true); /* mmap(2) allocates downward: the first block lies highest */
	add_chain(map, false);
	for (unsigned int i = 0; i < map->regions; i++)
		add_splits(map, map->region[i].linear, map->region[i].len_bytes, 0);
}

/* --- QMP ------------------------------------------------------------------- */

static void qmp_cleanup(struct vmop_guest_qmp **qmp)
{
	vmop_guest_qmp_close(*qmp);
}

/* Return the linear offset of hva, and make its mapping a region if it is not one yet. */
static uint64_t linear_of_hva(pid_t pid, const struct mappings *all, struct vmop_guest_map *map,
			      uint64_t hva, uint64_t *ret_left)
{
	for (int again = 0; again < 2; again++) {
		for (unsigned int i = 0; i < map->regions; i++) {
			const struct vmop_guest_region *region = &map->region[i];
			uint64_t offset = hva - region->hva;
			if (offset < region->len_bytes) {
				*ret_left = region->len_bytes - offset;
				return region->linear + offset;
			}
		}
		for (size_t i = 0; i < all->count; i++)
			if (hva - all->mapping[i].start < mapping_bytes(&all->mapping[i]))
				add_region(pid, map, &all->mapping[i]);
	}
	return VMOP_GUEST_NO_ADDRESS;
}

/*
 * Follow guest-physical addresses from start, over the hole, as long as QEMU reports RAM there. On
 * arm64 flash lies below start, and QEMU maps it like RAM.
 */
static struct vmop_error *ask_qmp(pid_t pid, const char *socket_path, const struct mappings *all,
				  uint64_t start, struct vmop_guest_map *map)
{
	_cleanup_(qmp_cleanup) struct vmop_guest_qmp *qmp = NULL;
	struct vmop_error *err = vmop_guest_qmp_open(pid, socket_path, &qmp);
	if (err)
		return err;
	uint64_t high_hva;
	err = vmop_guest_qmp_host_address(qmp, FOUR_GIB, &high_hva);
	if (err)
		return err;
	struct vmop_guest_placement *placement = &map->placement[0];
	for (uint64_t gpa = start; placement->spans < VMOP_GUEST_MAX_REGIONS;) {
		uint64_t hva, left;
		err = vmop_guest_qmp_host_address(qmp, gpa, &hva);
		if (err)
			return err;
		uint64_t linear = hva == VMOP_GUEST_NO_ADDRESS
					  ? VMOP_GUEST_NO_ADDRESS
					  : linear_of_hva(pid, all, map, hva, &left);
		if (linear == VMOP_GUEST_NO_ADDRESS) {
			if (gpa >= FOUR_GIB)
				break;
			gpa = FOUR_GIB;
			continue;
		}
		if (gpa < FOUR_GIB && high_hva != VMOP_GUEST_NO_ADDRESS && high_hva > hva &&
		    high_hva - hva < left)
			left = high_hva - hva; /* the block continues above the hole */
		placement->span[placement->spans++] =
			(struct vmop_guest_span){.gpa = gpa, .linear = linear, .len_bytes = left};
		gpa = gpa + left < FOUR_GIB || gpa >= FOUR_GIB ? gpa + left : FOUR_GIB;
	}
	if (!placement->spans)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "%s: the VMM has no RAM at address 0x%" PRIx64, socket_path,
				      start);
	map->placements = 1;
	map->is_exact = true;
	return NULL;
}

struct vmop_error *vmop_guest_map_of_process(pid_t pid, const char *qmp_socket,
					     struct vmop_guest_map *ret)
{
	_cleanup_free_ struct mappings *all = malloc(sizeof(*all));
	if (!all)
		return &vmop_error_no_memory;
	struct vmop_error *err = read_mappings(pid, all);
	if (err)
		return err;
	struct hints hints = read_hints(pid);
	if (qmp_socket)
		return ask_qmp(pid, qmp_socket, all, hints.is_arm64 ? ARM64_VIRT_RAM : 0, ret);
	const struct mapping *ram = by_size(all, hints.ram_bytes);
	if (ram)
		add_region(pid, ret, ram);
	else
		add_largest(pid, all, ret);
	if (!ret->regions)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "process %d has no memory that can be a guest's RAM",
				      (int)pid);
	guess_placements(ret, &hints);
	return NULL;
}
