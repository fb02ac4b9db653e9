// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A number that differs from run to run, for hash tables whose keys are untrusted: no set of keys
 * collides in all runs.
 */
#ifndef VMOP_LIBUTIL_HASH_SEED_H
#define VMOP_LIBUTIL_HASH_SEED_H

#include <stdint.h>

/* The same during a run, and odd. Any thread. */
uint64_t vmop_hash_seed(void);

#endif
