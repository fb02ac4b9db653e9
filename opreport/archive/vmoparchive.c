// SPDX-License-Identifier: GPL-2.0-or-later
/* vmoparchive: sessions with the files that reports need, in one archive.  See vmoparchive(1). */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/heap.h"
#include "libutil/log.h"
#include "libutil/plural.h"
#include "opreport/archive/archive-settings.h"
#include "opreport/archive/collect.h"
#include "opreport/archive/interrupt.h"
#include "opreport/archive/listing.h"
#include "opreport/archive/pack.h"
#include "opreport/archive/unpack.h"

#define SUMMARY_BYTES 160

/* The packed archive's name in its staging directory. */
#define PACKED_NAME "packed"

static bool is_standard(const char *path)
{
	return path && !strcmp(path, "-");
}

/* ---- making ----------------------------------------------------------------- */

/* Make the staging directory: beside the result, or where temporary files are. */
static struct vmop_error *make_staging(const struct vmop_archive_settings *settings,
				       struct vmop_staging *ret)
{
	const char *beside = settings->output_dir ? settings->output_dir : settings->output;
	_cleanup_free_ char *path = NULL;
	if (beside && !is_standard(beside))
		return vmop_staging_init(ret, beside, settings->output_dir != NULL);
	const char *folder = getenv("TMPDIR");
	if (asprintf(&path, "%s/vmoparchive", folder && *folder ? folder : "/var/tmp") < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	return vmop_staging_init(ret, path, false);
}

/* Write the packed archive, to stdout or to its file. */
static struct vmop_error *write_packed(const struct vmop_collection *collection, const char *output,
				       struct vmop_staging *staging, uint64_t *ret_bytes)
{
	_cleanup_close_ int fd = -1;
	if (is_standard(output))
		return vmop_archive_pack(collection, STDOUT_FILENO, "stdout", ret_bytes);
	struct vmop_error *err = vmop_staging_create(staging, PACKED_NAME, &fd);
	if (!err)
		err = vmop_archive_pack(collection, fd, output, ret_bytes);
	return err ? err : vmop_staging_commit_file(staging, PACKED_NAME);
}

static struct vmop_error *write_archive(const struct vmop_archive_settings *settings,
					const struct vmop_collection *collection,
					struct vmop_staging *staging)
{
	char summary[SUMMARY_BYTES];
	uint64_t packed_bytes = 0;
	struct vmop_error *err;
	vmop_archive_summary(&collection->manifest, summary, sizeof(summary));
	if (settings->output) {
		err = write_packed(collection, settings->output, staging, &packed_bytes);
		if (!err)
			vmop_log_notice("%s: %s, packed in %.1f MiB", settings->output, summary,
					(double)packed_bytes / 1048576);
		return err;
	}
	err = vmop_archive_pack_directory(collection);
	if (!err)
		err = vmop_staging_commit(staging);
	if (!err)
		vmop_log_notice("%s: %s", settings->output_dir, summary);
	return err;
}

static struct vmop_error *make(const struct vmop_archive_settings *settings)
{
	_cleanup_(vmop_staging_deinit) struct vmop_staging staging = VMOP_STAGING_NONE;
	_cleanup_(vmop_collection_deinit) struct vmop_collection collection = {0};
	struct vmop_collect_request request = {
		.spec = &settings->spec,
		.resolver = vmop_symbol_options_resolver(&settings->symbol_options),
		.exclude_dependent = settings->exclude_dependent,
		.with_sources = settings->with_sources,
		.max_bytes = settings->max_bytes,
	};
	if (settings->spec.archive)
		request.resolver.answers = vmop_archive_answers(settings->spec.archive);
	struct vmop_error *err = make_staging(settings, &staging);
	if (!err)
		err = vmop_collect(&collection, &request, &staging);
	if (err)
		return err;
	if (settings->list_files) {
		vmop_archive_list(&collection.manifest, stdout);
		return fflush(stdout) ? vmop_error_os(errno, "stdout") : NULL;
	}
	err = write_archive(settings, &collection, &staging);
	if (err)
		return err;
	if (collection.n_beyond)
		vmop_log_warning("--max-size left out %zu file%s; --list-files shows which",
				 collection.n_beyond, vmop_plural(collection.n_beyond));
	vmop_archive_log_missing(&collection.manifest);
	return NULL;
}

/* ---- importing -------------------------------------------------------------- */

static struct vmop_error *import(const struct vmop_archive_settings *settings)
{
	_cleanup_(vmop_staging_deinit) struct vmop_staging staging = VMOP_STAGING_NONE;
	_cleanup_(vmop_manifest_deinit) struct vmop_manifest manifest = {0};
	bool is_stdin = is_standard(settings->import);
	const char *path = is_stdin ? "stdin" : settings->import;
	_cleanup_close_ int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					  : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return vmop_error_os(errno, "%s", path);
	struct vmop_error *err = vmop_staging_init(&staging, settings->output_dir, true);
	if (!err)
		err = vmop_archive_unpack(fd, path, settings->max_bytes, &staging, &manifest);
	if (!err)
		err = vmop_staging_commit(&staging);
	if (err)
		return err;
	char summary[SUMMARY_BYTES];
	vmop_archive_summary(&manifest, summary, sizeof(summary));
	vmop_log_notice("%s: %s, of %s; vmopreport --archive=%s reads it", settings->output_dir,
			summary, manifest.hostname, settings->output_dir);
	return NULL;
}

int main(int argc, char **argv)
{
	vmop_heap_prefer_huge_pages();
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmoparchive", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	struct vmop_archive_settings settings;
	struct vmop_error *err = vmop_archive_settings_init(&settings, argc, argv);
	vmop_interrupt_catch();
	if (!err)
		err = settings.import ? import(&settings) : make(&settings);
	int status = vmop_error_exit_status(err);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	vmop_archive_settings_deinit(&settings);
	return status;
}
