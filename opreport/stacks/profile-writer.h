// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write a profile for pprof: protocol buffers (pprof.proto), compressed by gzip.
 *
 * Messages that follow one another are read as one: their lists are joined (Protocol Buffers,
 * "Encoding", "Last One Wins").  A profile is therefore written in pieces, and never is in memory
 * as a whole.  Errors are kept until vmop_profile_writer_finish.
 */
#ifndef VMOP_OPREPORT_STACKS_PROFILE_WRITER_H
#define VMOP_OPREPORT_STACKS_PROFILE_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "libutil/error.h"
#include "opreport/stacks/pprof.pb-c.h"
#include "opreport/stacks/profile-sample.h"

struct vmop_profile_writer;

/* Begin a profile with the string "" at index 0.  The caller checks ferror(out) and owns *ret. */
struct vmop_error *vmop_profile_writer_create(FILE *out, struct vmop_profile_writer **ret);
void vmop_profile_writer_destroy(struct vmop_profile_writer *writer); /* NULL is allowed */

/* Write a piece of the profile. */
void vmop_profile_writer_put(struct vmop_profile_writer *writer,
			     const struct Vmop__Pprof__Profile *piece);

/* Write a sample.  The list of types of values was written. */
void vmop_profile_writer_put_sample(struct vmop_profile_writer *writer,
				    const struct vmop_profile_path *path,
				    const struct vmop_profile_values *values);

/*
 * Return the index of a text, escaped (libutil/escape.h), in the table of strings.  Writes it if it
 * is new.  Equal texts have one index.
 */
int64_t vmop_profile_writer_text(struct vmop_profile_writer *writer, const char *text);

/* Write the remaining bytes.  Nothing may be put afterwards. */
struct vmop_error *vmop_profile_writer_finish(struct vmop_profile_writer *writer);

#endif
