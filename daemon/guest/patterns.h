// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The patterns by which a set-up selects domains (--passive-domains, --active-domains), and the
 * kernel images that the user gives for passive ones (--passive-images).
 */
#ifndef VMOP_DAEMON_GUEST_PATTERNS_H
#define VMOP_DAEMON_GUEST_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/symtab.h"
#include "libutil/error.h"

struct vmop_domain_pattern {
	char *text;	  /* name, uuid, pid or Xen's id, session id, or "all" */
	char *image_path; /* NULL: none */
	uint64_t offset_bytes;
};

struct vmop_domain_patterns {
	struct vmop_domain_pattern *patterns;
	size_t n;
};

/* The symbols of a guest's kernel, and the addresses where it runs. */
struct vmop_domain_pattern_kernel {
	struct vmop_symtab *symtab; /* at link addresses */
	uint64_t link_base;	    /* the link address of _text */
	uint64_t base, end;	    /* in the running guest */
};

struct vmop_profiler_options;

/*
 * Copy the passive domains of options, and check that each image can be read: VMOP_ERROR_USAGE
 * names the first one that cannot.  Destroy *patterns after an error, too.
 */
struct vmop_error *vmop_domain_patterns_init(struct vmop_domain_patterns *patterns,
					     const struct vmop_profiler_options *options);
/* Copy the patterns from names, without images. */
struct vmop_error *vmop_domain_patterns_init_names(struct vmop_domain_patterns *patterns,
						   const char *const *names, size_t n);
void vmop_domain_patterns_deinit(struct vmop_domain_patterns *patterns);

/*
 * Return the pattern that selects a guest; NULL: none does.  The name, the uuid and host_number
 * (the VMM's pid, or Xen's domain id) precede the id in the session (UINT32_MAX: not compared),
 * and that precedes "all".
 */
const struct vmop_domain_pattern *
vmop_domain_patterns_match(const struct vmop_domain_patterns *patterns, const char *name,
			   const char *uuid, uint32_t host_number, uint32_t id);

/* Read the image of pattern, which must have one. The caller destroys ret->symtab. */
struct vmop_error *vmop_domain_pattern_read_kernel(const struct vmop_domain_pattern *pattern,
						   struct vmop_domain_pattern_kernel *ret);

#endif
