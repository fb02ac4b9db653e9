// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The set-up: what the next session samples, apart by what, of whom, and
 * where to.  It persists as an INI file (vmop.conf) of `key = value` lines
 * without sections, which is parsed and never executed; vmopcontrol(8)
 * describes the keys.  A key that holds a list may be given several times.
 *
 * A set-up file is hostile input: bounded in size, lines and list lengths, and
 * each complaint names file, line and key.  Which events and domains exist is
 * not known here; the daemon says so when it starts.
 */
#ifndef VMOP_LIBUTIL_SETUP_H
#define VMOP_LIBUTIL_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"

#define VMOP_SETUP_MAX_BYTES 49152 /* of the text; fits a line of protocol.h */
#define VMOP_SETUP_MAX_LIST 64	   /* elements of one list */
#define VMOP_SETUP_FILE VMOP_SYSCONFDIR "/vmop.conf"

/*
 * opcontrol's words.  A session always keeps libraries and the kernel apart by
 * task, so LIB and KERNEL are remembered and change nothing.
 */
enum vmop_setup_separate {
	VMOP_SETUP_SEPARATE_LIB = 1 << 0,
	VMOP_SETUP_SEPARATE_KERNEL = 1 << 1,
	VMOP_SETUP_SEPARATE_THREAD = 1 << 2,
	VMOP_SETUP_SEPARATE_CPU = 1 << 3,
};

struct vmop_setup_list {
	char **items;
	size_t n;
};

struct vmop_setup {
	struct vmop_setup_list events; /* --event values as written; none: the default event */
	unsigned separate;	       /* enum vmop_setup_separate */
	char *vmlinux;		       /* host kernel's symbols; NULL: /proc/kallsyms */
	char *xen;		       /* Xen's symbols (xen-syms, its map); NULL: looked for */
	char *session_dir;	       /* absolute; never NULL */
	struct vmop_setup_list active_domains;	/* run vmopd themselves (Xen): "all", or names */
	struct vmop_setup_list passive_domains; /* never empty: "all", "none", or names */
	struct vmop_setup_list passive_images;	/* "PATH[+0xOFFSET]" or ""; paired by position */
	unsigned guest_cpu_permille; /* looking into guests may cost, of one CPU; 0: don't */
	uint64_t buffer_bytes;	     /* a CPU; 0: the source's default */
	uint64_t flush_ns;	     /* 0.1 s .. 1 h */
	uint64_t minute_after_ns;    /* age at which 1 s intervals become 1 min; 0: never */
	uint64_t hour_after_ns;	     /* age at which 1 min intervals become 1 h; 0: never */
	mode_t session_mode;	     /* of session files */
	char *status_group;	     /* may read --status; NULL: nobody but root */
};

/* The defaults. */
struct vmop_error *vmop_setup_init(struct vmop_setup *setup);
void vmop_setup_deinit(struct vmop_setup *setup);

/*
 * Sets one key to what a user wrote: "separate" to "thread,cpu".  For a list
 * the value is split at commas and replaces it, unless append.  VMOP_ERROR_USAGE
 * names the key or the value, and what would be accepted.
 */
struct vmop_error *vmop_setup_set(struct vmop_setup *setup, const char *key, const char *value,
				  bool append);

/*
 * Reads INI text over what setup holds; name is what messages call it.  A list
 * that occurs is replaced by its occurrences.  VMOP_ERROR_USAGE on the first bad line.
 */
struct vmop_error *vmop_setup_parse(struct vmop_setup *setup, const char *name, const char *text);

/* The same from a file. *ret_found (may be NULL) is false when there is none, no error. */
struct vmop_error *vmop_setup_read(struct vmop_setup *setup, const char *path, bool *ret_found);

/* What one key alone can't tell: images paired with domains. VMOP_ERROR_USAGE. */
struct vmop_error *vmop_setup_check(const struct vmop_setup *setup);

/* The whole set-up as INI text; *ret is the caller's to free. */
struct vmop_error *vmop_setup_format(const struct vmop_setup *setup, char **ret);

/*
 * Puts the values of the n keys into the file at path, in one step, and keeps
 * every other line as it is, comments too.  The directory is made if need be.
 */
struct vmop_error *vmop_setup_save(const struct vmop_setup *setup, const char *path,
				   const char *const *keys, size_t n);

/* "PATH+0x1c000000" apart: *ret_path is the caller's, NULL for "". VMOP_ERROR_USAGE. */
struct vmop_error *vmop_setup_split_image(const char *text, char **ret_path,
					  uint64_t *ret_offset_bytes);

#endif
