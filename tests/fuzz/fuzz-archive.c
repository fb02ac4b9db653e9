// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the manifest of an archive, which is written and read again as the same; and as an
 * archive to import (a tar file, which may be compressed), whose members lie below its directory,
 * or of which nothing is left.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "opreport/archive/manifest-json.h"
#include "opreport/archive/staging.h"
#include "opreport/archive/time-zone.h"
#include "opreport/archive/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define MAX_UNPACKED_BYTES (1 << 20)

/* Return whether there is no error. */
static bool check(struct vmop_error *err)
{
	if (err && (!err->message[0] || strchr(err->message, '\n')))
		abort(); /* always one line */
	bool is_ok = !err;
	vmop_error_destroy(err);
	return is_ok;
}

static void check_manifest(const struct vmop_manifest *manifest)
{
	for (size_t i = 0; i < manifest->n_members; i++)
		if (!vmop_member_name_is_valid(manifest->members[i].kind,
					       manifest->members[i].name))
			abort();
	for (size_t i = 0; i < manifest->n_images; i++)
		for (size_t d = 0; d < manifest->images[i].n_debug; d++)
			if (manifest->images[i].debug[d] >= manifest->n_members)
				abort();
	if (*manifest->time_zone && !vmop_time_zone_is_posix(manifest->time_zone))
		abort();
}

static void read_manifest(const uint8_t *data, size_t len_bytes)
{
	struct vmop_manifest manifest, again;
	_cleanup_free_ char *text = NULL, *second = NULL;
	size_t text_bytes, second_bytes;
	if (check(vmop_manifest_read_json(&manifest, (const char *)data, len_bytes))) {
		check_manifest(&manifest);
		if (!check(vmop_manifest_write_json(&manifest, &text, &text_bytes)) ||
		    !check(vmop_manifest_read_json(&again, text, text_bytes)) ||
		    !check(vmop_manifest_write_json(&again, &second, &second_bytes)) ||
		    strcmp(text, second))
			abort();
		vmop_manifest_deinit(&again);
	}
	vmop_manifest_deinit(&manifest);
}

static unsigned n_files;

static int count_file(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)path, (void)st, (void)where;
	if (type != FTW_F && type != FTW_D)
		abort(); /* a link or a device */
	n_files += type == FTW_F;
	return 0;
}

static char dir[] = "/tmp/vmop-fuzz-archive-XXXXXX", target[64];

static void remove_dir(void)
{
	rmdir(dir);
}

static void import(const uint8_t *data, size_t len_bytes)
{
	if (!*target) {
		if (!mkdtemp(dir) || atexit(remove_dir))
			abort();
		snprintf(target, sizeof(target), "%s/target", dir);
	}
	_cleanup_close_ int fd = memfd_create("archive", MFD_CLOEXEC);
	if (fd < 0 || vmop_io_write_full(fd, data, len_bytes) != (ssize_t)len_bytes)
		abort();
	lseek(fd, 0, SEEK_SET);
	struct vmop_staging staging;
	struct vmop_manifest manifest;
	if (!check(vmop_staging_init(&staging, target, true)))
		abort();
	if (check(vmop_archive_unpack(fd, "fuzz", MAX_UNPACKED_BYTES, &staging, &manifest))) {
		n_files = 0;
		if (nftw(staging.path, count_file, 8, FTW_PHYS) ||
		    n_files != manifest.n_members + 1)
			abort();
	}
	vmop_manifest_deinit(&manifest);
	vmop_staging_deinit(&staging);
	if (rmdir(dir) || mkdir(dir, 0700)) /* nothing is left */
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	read_manifest(data, len_bytes);
	import(data, len_bytes);
	return 0;
}
