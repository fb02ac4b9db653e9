// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/image-names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/elf/elf-symbols.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/* Most names are shorter. A longer one is read in two steps. */
#define FIRST_BYTES 512

struct kept_name {
	struct kept_name *next;
	char text[];
};

struct vmop_image_names {
	int fd;
	struct stat st; /* when the table was loaded */
	struct vmop_names_place place;
	struct kept_name *kept;
	char *all; /* the string table, with a NUL behind it; NULL: not read */
};

struct vmop_error *vmop_image_names_create(int fd, const struct vmop_names_place *place,
					   struct vmop_image_names **ret)
{
	_cleanup_free_ struct vmop_image_names *names = calloc(1, sizeof(*names));
	if (!names)
		return &vmop_error_no_memory;
	names->place = *place;
	names->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (names->fd < 0)
		return vmop_error_os(errno, "an image's names");
	if (fstat(names->fd, &names->st)) {
		int fstat_errno = errno;
		close(names->fd);
		return vmop_error_os(fstat_errno, "an image's names");
	}
	*ret = vmop_steal(&names);
	return NULL;
}

void vmop_image_names_destroy(struct vmop_image_names *names)
{
	struct kept_name *next;
	if (!names)
		return;
	for (struct kept_name *kept = names->kept; kept; kept = next) {
		next = kept->next;
		free(kept);
	}
	close(names->fd);
	free(names->all);
	free(names);
}

bool vmop_image_names_are_whole(const struct vmop_image_names *names)
{
	const struct stat *then = &names->st;
	struct stat now;
	return !fstat(names->fd, &now) && now.st_size == then->st_size &&
	       now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == then->st_mtim.tv_nsec &&
	       now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

static bool read_bytes(const struct vmop_image_names *names, size_t at, char *ret, size_t len_bytes)
{
	return vmop_io_pread_full(names->fd, ret, len_bytes, names->place.at + at) ==
	       (ssize_t)len_bytes;
}

static const char *keep(struct vmop_image_names *names, const char *name, size_t len_bytes)
{
	struct kept_name *kept = malloc(sizeof(*kept) + len_bytes + 1);
	if (!kept)
		return NULL;
	memcpy(kept->text, name, len_bytes);
	kept->text[len_bytes] = '\0';
	kept->next = names->kept;
	names->kept = kept;
	return kept->text;
}

/* Read a name that can have max_bytes with its NUL. Return NULL if it has more. */
static const char *read_name(struct vmop_image_names *names, size_t at, char *bytes,
			     size_t max_bytes)
{
	size_t left_bytes = names->place.len_bytes - at;
	if (max_bytes > left_bytes)
		max_bytes = left_bytes;
	if (!read_bytes(names, at, bytes, max_bytes))
		return NULL;
	const char *end = memchr(bytes, '\0', max_bytes);
	return end ? keep(names, bytes, vmop_elf_name_len(bytes, (size_t)(end - bytes))) : NULL;
}

const char *vmop_image_names_at(struct vmop_image_names *names, size_t at)
{
	char first[FIRST_BYTES];
	if (at >= names->place.len_bytes)
		return NULL;
	if (names->all) {
		char *name = names->all + at;
		name[vmop_elf_name_len(name, strlen(name))] = '\0';
		return name;
	}
	if (!vmop_image_names_are_whole(names))
		return NULL;
	const char *name = read_name(names, at, first, sizeof(first));
	if (name)
		return name;
	_cleanup_free_ char *longest = malloc(VMOP_ELF_MAX_NAME_BYTES);
	return longest ? read_name(names, at, longest, VMOP_ELF_MAX_NAME_BYTES) : NULL;
}

void vmop_image_names_read_all(struct vmop_image_names *names)
{
	size_t len_bytes = names->place.len_bytes;
	if (names->all)
		return;
	_cleanup_free_ char *all = malloc(len_bytes + 1);
	if (!all || !vmop_image_names_are_whole(names) || !read_bytes(names, 0, all, len_bytes))
		return;
	all[len_bytes] = '\0';
	names->all = vmop_steal(&all);
}
