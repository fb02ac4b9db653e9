// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds where a saved image keeps a guest's RAM. Three forms are accepted:
 *
 * - only RAM, as in a VMM's memory file: RAM above the hole under 4 GiB directly follows RAM below
 *   it;
 * - physical memory from 0 on with its hole: QEMU's pmemsave;
 * - an ELF core whose segments give their addresses: QEMU's dump-guest-memory (dump/dump.c),
 *   libvirt's `virsh dump --memory-only`.
 *
 * The first two look alike, so both placements are added and kernel/find.c decides.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libguest/memory/elf-header.h"
#include "libguest/memory/internal.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define PAGE ((uint64_t)VMOP_GUEST_PAGE_BYTES)
#define FOUR_GIB (UINT64_C(4) << 30)
#define MAX_PHYSICAL (UINT64_C(1) << 52) /* physical addresses of x86-64 and arm64 */

/* Files that users may mistake for such an image, by their first bytes. */
static const struct {
	const char *mark, *kind, *advice;
} other_formats[] = {
	{"KDUMP   ", "a compressed dump", "use dump-guest-memory with format elf"},
	{"makedumpfile", "a compressed dump", "use dump-guest-memory with format elf"},
	{"QEVM", "a saved machine", "restore it and use pmemsave or dump-guest-memory"},
	{"LibvirtQemudSave", "a saved machine",
	 "restore it and use virsh dump --memory-only --format=elf"},
	{"QFI\xfb", "a disk", "it does not contain the guest's memory"},
};

static struct vmop_error *check_other(const char *path, int fd)
{
	char head[32] = "";
	vmop_io_pread_full(fd, head, sizeof(head), 0);
	for (size_t i = 0; i < sizeof(other_formats) / sizeof(other_formats[0]); i++)
		if (!memcmp(head, other_formats[i].mark, strlen(other_formats[i].mark)))
			return vmop_error_new(VMOP_ERROR_CORRUPT,
					      "%s: %s, not an image of a guest's RAM; %s", path,
					      other_formats[i].kind, other_formats[i].advice);
	return NULL;
}

/* --- only RAM, or all of physical memory ------------------------------------------- */

static void map_raw(struct vmop_guest_map *map, int *fd, uint64_t file_bytes)
{
	uint64_t len = file_bytes & ~(PAGE - 1);
	map->regions = 1;
	map->region[0] = (struct vmop_guest_region){
		.kind = VMOP_GUEST_REGION_FILE, .fd = vmop_steal_fd(fd), .len_bytes = len};
	vmop_guest_map_add_split_placements(map, len, 0);
	if (len > FOUR_GIB && map->placements < VMOP_GUEST_MAX_PLACEMENTS)
		map->placement[map->placements++] =
			(struct vmop_guest_placement){.spans = 1, .span = {{.len_bytes = len}}};
}

/* --- an ELF core ---------------------------------------------------------------------- */

static bool read_file(void *arg, uint64_t offset, void *buf, size_t len_bytes)
{
	const int *fd = arg;
	return offset <= INT64_MAX &&
	       vmop_io_pread_full(*fd, buf, len_bytes, offset) == (ssize_t)len_bytes;
}

/* Add a segment as a region. Each region owns a file descriptor. */
static struct vmop_error *add_segment(const char *path, struct vmop_guest_map *map, int fd,
				      const struct vmop_guest_elf_segment *segment)
{
	uint64_t linear = 0;
	if (map->regions == VMOP_GUEST_MAX_REGIONS)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "%s: memory in more than %u pieces; dump it with paging off",
				      path, VMOP_GUEST_MAX_REGIONS);
	if (map->regions) {
		const struct vmop_guest_region *last = &map->region[map->regions - 1];
		linear = last->linear + last->len_bytes;
	}
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return vmop_error_os(errno, "%s", path);
	uint64_t len = segment->len_bytes & ~(PAGE - 1);
	map->region[map->regions++] = (struct vmop_guest_region){.kind = VMOP_GUEST_REGION_FILE,
								 .fd = own,
								 .host_start = segment->offset,
								 .len_bytes = len,
								 .linear = linear};
	map->placement[0].span[map->placement[0].spans++] = (struct vmop_guest_span){
		.gpa = segment->physical, .linear = linear, .len_bytes = len};
	return NULL;
}

static struct vmop_error *map_core(const char *path, const struct vmop_guest_elf *elf, int fd,
				   uint64_t file_bytes, struct vmop_guest_map *map)
{
	if (elf->type != ET_CORE || elf->segments >= PN_XNUM)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "%s: an ELF file, but no dump of a guest's memory", path);
	map->placements = 1;
	map->is_exact = true;
	for (uint32_t i = 0; i < elf->segments; i++) {
		struct vmop_guest_elf_segment segment;
		bool is_read = vmop_guest_elf_segment(elf, i, &segment);
		if (is_read && (segment.type != PT_LOAD || segment.len_bytes < PAGE))
			continue;
		if (!is_read || segment.offset > file_bytes ||
		    segment.len_bytes > file_bytes - segment.offset)
			return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: a dump that is cut short",
					      path);
		if (segment.physical % PAGE || segment.physical >= MAX_PHYSICAL)
			return vmop_error_new(VMOP_ERROR_CORRUPT,
					      "%s: memory at the impossible address 0x%" PRIx64,
					      path, segment.physical);
		struct vmop_error *err = add_segment(path, map, fd, &segment);
		if (err)
			return err;
	}
	return map->regions ? NULL
			    : vmop_error_new(VMOP_ERROR_CORRUPT, "%s: a dump without memory", path);
}

/* ---------------------------------------------------------------------------------------- */

struct vmop_error *vmop_guest_map_of_file(const char *path, struct vmop_guest_map *ret)
{
	/* O_NONBLOCK: do not wait for the other end of a named pipe. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < PAGE)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: not an image of a guest's RAM",
				      path);
	struct vmop_error *err = check_other(path, fd);
	if (err)
		return err;
	struct vmop_guest_elf elf;
	if (vmop_guest_elf_open(read_file, &fd, &elf))
		return map_core(path, &elf, fd, (uint64_t)st.st_size, ret);
	map_raw(ret, &fd, (uint64_t)st.st_size);
	return NULL;
}
