// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Manifests in JSON. Paths are any bytes: those that JSON or a terminal does not carry unchanged,
 * and '%', are written as %HH.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_MANIFEST_JSON_H
#define VMOP_OPREPORT_ARCHIVE_MANIFEST_JSON_H

#include "opreport/archive/manifest.h"

/* Set *ret to the manifest's text, which the caller frees. VMOP_ERROR_LIMIT: it is too long. */
struct vmop_error *vmop_manifest_write_json(const struct vmop_manifest *manifest, char **ret,
					    size_t *ret_len_bytes);

/*
 * Read a manifest from len_bytes of text. VMOP_ERROR_CORRUPT names the first wrong item,
 * VMOP_ERROR_NEWER: of a later format. The names of members are valid and differ from one another;
 * every index is below n_members, and its member of the right kind. The caller deinitialises *ret
 * also after an error.
 */
struct vmop_error *vmop_manifest_read_json(struct vmop_manifest *ret, const char *text,
					   size_t len_bytes);

#endif
