// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/listing.h"

#include <inttypes.h>
#include <string.h>

#include "libutil/escape.h"
#include "libutil/log.h"
#include "libutil/plural.h"

static void print_path(const char *path, FILE *out)
{
	vmop_escape_print(path, strlen(path), vmop_escape_locale(), out);
}

static void print_missing(const char *path, const char *reason, FILE *out)
{
	fprintf(out, "%14s  %-8s ", "-", "missing");
	print_path(path, out);
	fprintf(out, " (%s)\n", reason);
}

void vmop_archive_list(const struct vmop_manifest *manifest, FILE *out)
{
	for (size_t i = 0; i < manifest->n_members; i++) {
		const struct vmop_member *member = &manifest->members[i];
		fprintf(out, "%14" PRIu64 "  %-8s ", member->size_bytes,
			vmop_member_kind_word(member->kind));
		print_path(member->path, out);
		fputc('\n', out);
	}
	for (size_t i = 0; i < manifest->n_images; i++)
		if (manifest->images[i].file == VMOP_NO_MEMBER && !manifest->images[i].n_debug)
			print_missing(manifest->images[i].ref.path, manifest->images[i].reason,
				      out);
	for (size_t i = 0; i < manifest->n_sources; i++)
		if (manifest->sources[i].file == VMOP_NO_MEMBER)
			print_missing(manifest->sources[i].path, manifest->sources[i].reason, out);
	if (!manifest->has_sources)
		print_missing("source files", "--sources adds them", out);
}

void vmop_archive_summary(const struct vmop_manifest *manifest, char *ret, size_t size_bytes)
{
	size_t n[VMOP_N_MEMBER_KINDS] = {0};
	for (size_t i = 0; i < manifest->n_members; i++)
		n[manifest->members[i].kind]++;
	size_t n_files = n[VMOP_MEMBER_IMAGE] + n[VMOP_MEMBER_DEBUG];
	snprintf(ret, size_bytes,
		 "%zu session%s, %zu file%s of images, %zu source file%s, %.1f MiB",
		 n[VMOP_MEMBER_SESSION], vmop_plural(n[VMOP_MEMBER_SESSION]), n_files,
		 vmop_plural(n_files), n[VMOP_MEMBER_SOURCE], vmop_plural(n[VMOP_MEMBER_SOURCE]),
		 (double)vmop_manifest_size_bytes(manifest) / 1048576);
}

void vmop_archive_log_missing(const struct vmop_manifest *manifest)
{
	size_t n_images = 0, n_sources = 0;
	for (size_t i = 0; i < manifest->n_images; i++) {
		const struct vmop_manifest_image *image = &manifest->images[i];
		if (image->file != VMOP_NO_MEMBER || image->n_debug)
			continue;
		n_images++;
		vmop_log_info("missing: %s: %s", image->ref.path, image->reason);
	}
	for (size_t i = 0; i < manifest->n_sources; i++) {
		const struct vmop_manifest_source *source = &manifest->sources[i];
		if (source->file != VMOP_NO_MEMBER)
			continue;
		n_sources++;
		vmop_log_info("missing: %s: %s", source->path, source->reason);
	}
	if (n_images || n_sources)
		vmop_log_notice("without a file here, and so in the archive: %zu image%s, %zu "
				"source file%s; --list-files names them",
				n_images, vmop_plural(n_images), n_sources, vmop_plural(n_sources));
	if (!manifest->has_sources)
		vmop_log_info("source files are left out; --sources adds them");
}
