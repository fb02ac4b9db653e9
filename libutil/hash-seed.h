// SPDX-License-Identifier: GPL-2.0-or-later
/* A random number for hash tables with untrusted keys: no set of keys collides in every run. */
#ifndef VMOP_LIBUTIL_HASH_SEED_H
#define VMOP_LIBUTIL_HASH_SEED_H

#include <stdint.h>

/* Return an odd number that stays the same during a run. Any thread. */
uint64_t vmop_hash_seed(void);

#endif
