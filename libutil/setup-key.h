// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of the set-up's keys, for the code that reads and writes them. All other code uses
 * setup.h.
 */
#ifndef VMOP_LIBUTIL_SETUP_KEY_H
#define VMOP_LIBUTIL_SETUP_KEY_H

#include <stdio.h>

#include "libutil/setup.h"

#define VMOP_SETUP_KEYS 29 /* the number of keys */

/*
 * Return the number of the key whose name is the len characters at name, or VMOP_SETUP_KEYS. name
 * needs no NUL: it can be part of a line.
 */
size_t vmop_setup_key(const char *name, size_t len);

/* Make a VMOP_ERROR_USAGE that lists the keys. */
struct vmop_error *vmop_setup_unknown_key(const char *name);

/* Print the key's value as lines of the file. */
void vmop_setup_put(FILE *out, size_t key, const struct vmop_setup *setup);

/* The setters and printers of set-up/callgraph.c, for the table of keys. */
struct vmop_error *vmop_setup_set_callgraph(struct vmop_setup *setup, const char *key,
					    const char *value);
struct vmop_error *vmop_setup_set_callgraph_depth(struct vmop_setup *setup, const char *key,
						  const char *value);
void vmop_setup_put_callgraph(FILE *out, const char *key, const struct vmop_setup *setup);
void vmop_setup_put_callgraph_depth(FILE *out, const char *key, const struct vmop_setup *setup);

/* Likewise of set-up/off-cpu.c. */
struct vmop_error *vmop_setup_set_off_cpu(struct vmop_setup *setup, const char *key,
					  const char *value);
struct vmop_error *vmop_setup_set_off_cpu_states(struct vmop_setup *setup, const char *key,
						 const char *value);
void vmop_setup_put_off_cpu(FILE *out, const char *key, const struct vmop_setup *setup);
void vmop_setup_put_off_cpu_states(FILE *out, const char *key, const struct vmop_setup *setup);

/* Likewise of set-up/code.c. */
struct vmop_error *vmop_setup_set_code(struct vmop_setup *setup, const char *key,
				       const char *value);
void vmop_setup_put_code(FILE *out, const char *key, const struct vmop_setup *setup);

/* Likewise of set-up/fetch.c. */
struct vmop_error *vmop_setup_set_fetch_size(struct vmop_setup *setup, const char *key,
					     const char *value);
void vmop_setup_put_fetch_size(FILE *out, const char *key, const struct vmop_setup *setup);

/* The setter and printer of set-up/waits.c. */
struct vmop_error *vmop_setup_set_waits(struct vmop_setup *setup, const char *key,
					const char *value);
void vmop_setup_put_waits(FILE *out, const char *key, const struct vmop_setup *setup);

/* The functions of set-up/active-samples.c. */
struct vmop_error *vmop_setup_set_active_samples(struct vmop_setup *setup, const char *key,
						 const char *value);
void vmop_setup_put_active_samples(FILE *out, const char *key, const struct vmop_setup *setup);

/* The functions of set-up/guest-context.c. */
struct vmop_error *vmop_setup_set_guest_context(struct vmop_setup *setup, const char *key,
						const char *value);
void vmop_setup_put_guest_context(FILE *out, const char *key, const struct vmop_setup *setup);

/* Likewise of set-up/ladder.c. The key rollup of older files sets a ladder, too. */
void vmop_setup_default_ladder(struct vmop_setup_ladder *ret);
struct vmop_error *vmop_setup_set_ladder(struct vmop_setup *setup, const char *key,
					 const char *value);
struct vmop_error *vmop_setup_set_rollup(struct vmop_setup *setup, const char *key,
					 const char *value);
void vmop_setup_put_ladder(FILE *out, const char *key, const struct vmop_setup *setup);
void vmop_setup_put_rollup(FILE *out, const char *key, const struct vmop_setup *setup);
struct vmop_error *vmop_setup_check_ladder(const struct vmop_setup *setup);

/* Likewise of set-up/retention.c. */
struct vmop_error *vmop_setup_set_keep(struct vmop_setup *setup, const char *key,
				       const char *value);
struct vmop_error *vmop_setup_set_max_size(struct vmop_setup *setup, const char *key,
					   const char *value);
struct vmop_error *vmop_setup_set_rotate(struct vmop_setup *setup, const char *key,
					 const char *value);
void vmop_setup_put_keep(FILE *out, const char *key, const struct vmop_setup *setup);
void vmop_setup_put_max_size(FILE *out, const char *key, const struct vmop_setup *setup);
void vmop_setup_put_rotate(FILE *out, const char *key, const struct vmop_setup *setup);
struct vmop_error *vmop_setup_check_retention(const struct vmop_setup *setup);

/* Likewise of set-up/overhead.c. */
struct vmop_error *vmop_setup_set_max_overhead(struct vmop_setup *setup, const char *key,
					       const char *value);
struct vmop_error *vmop_setup_set_nice(struct vmop_setup *setup, const char *key,
				       const char *value);
void vmop_setup_put_max_overhead(FILE *out, const char *key, const struct vmop_setup *setup);
void vmop_setup_put_nice(FILE *out, const char *key, const struct vmop_setup *setup);

#endif
