// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which guests are looked into (--passive-domains), and the kernel images given
 * for them by hand (--passive-images).
 */
#ifndef VMOP_DAEMON_GUEST_PASSIVE_H
#define VMOP_DAEMON_GUEST_PASSIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/symtab.h"
#include "libutil/error.h"

struct vmop_passive_pattern {
	char *text;	  /* name, uuid, pid or Xen's id, session id, or "all" */
	char *image_path; /* NULL: none */
	uint64_t offset_bytes;
};

struct vmop_passive {
	struct vmop_passive_pattern *patterns;
	size_t n;
};

/* A guest kernel's symbols and where it runs. */
struct vmop_passive_kernel {
	struct vmop_symtab *symtab; /* at link addresses */
	uint64_t link_base;	    /* _text there */
	uint64_t base, end;	    /* in the running guest */
};

struct vmop_profiler_options;

/* Checks that each image can be read: VMOP_ERROR_USAGE names the one that can't. */
struct vmop_error *vmop_passive_init(struct vmop_passive *passive,
				     const struct vmop_profiler_options *options);
/* The same from names alone. */
struct vmop_error *vmop_passive_init_names(struct vmop_passive *passive, const char *const *names,
					   size_t n);
void vmop_passive_deinit(struct vmop_passive *passive);

/*
 * The pattern that selects such a guest: by name, uuid, its number on the host (the VMM's
 * pid; Xen's domain id) or its id in the session (UINT32_MAX: by none) before "all".  NULL: none.
 */
const struct vmop_passive_pattern *vmop_passive_match(const struct vmop_passive *passive,
						      const char *name, const char *uuid,
						      uint32_t host_number, uint32_t id);

/* The image of pattern, which has one. ret->symtab is the caller's to destroy. */
struct vmop_error *vmop_passive_read(const struct vmop_passive_pattern *pattern,
				     struct vmop_passive_kernel *ret);

#endif
