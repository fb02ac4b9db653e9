// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collect what an archive has: copies of sessions, and the files that reports of them read. Files
 * stay open until the archive is written, so that it has those that were found.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_COLLECT_H
#define VMOP_OPREPORT_ARCHIVE_COLLECT_H

#include "libsym/resolver.h"
#include "opreport/archive/manifest.h"
#include "opreport/archive/staging.h"
#include "opreport/arrange/session.h"

struct vmop_collect_request {
	const struct vmop_spec *spec; /* sessions; image: limits whose files are collected */
	struct vmop_resolver_options resolver;
	bool exclude_dependent; /* only files of programs, not of libraries */
	bool with_sources;
	uint64_t max_bytes; /* of all members together */
};

/* A file that is in the archive already, by its identity. */
struct vmop_collected_file;

struct vmop_collection {
	struct vmop_manifest manifest;
	int *fds; /* of the manifest's members */
	size_t fds_capacity;
	struct vmop_collected_file *files;
	const struct vmop_staging *staging; /* has the copies of sessions, under their names */
	struct vmop_sessions sessions;	    /* the copies, open, by their names as shown */
	uint64_t size_bytes, max_bytes;
	size_t n_beyond; /* files that max_bytes left out */
};

/*
 * Collect into *ret. Copies of sessions are made in staging, which must outlive *ret. The
 * manifest has missing files with their reasons. VMOP_ERROR_LIMIT: the sessions exceed
 * max_bytes. The caller deinitialises *ret also after an error.
 */
struct vmop_error *vmop_collect(struct vmop_collection *ret,
				const struct vmop_collect_request *request,
				const struct vmop_staging *staging);
void vmop_collection_deinit(struct vmop_collection *collection);

/*
 * Add a file, unless it is there already, and set *ret to its member. fd is duplicated. Without
 * room *ret is VMOP_NO_MEMBER, and *ret_reason a constant.
 */
struct vmop_error *vmop_collection_add(struct vmop_collection *collection,
				       enum vmop_member_kind kind, const char *path, int fd,
				       const struct vmop_build_id *build_id, uint32_t *ret,
				       const char **ret_reason);

/* Add the source files of all sampled functions (collect-sources.c). */
struct vmop_error *vmop_collect_sources(struct vmop_collection *collection,
					const struct vmop_collect_request *request);

#endif
