// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uthash with a hash function whose seed differs in each run.  Keys come from session files: with a
 * constant seed, an attacker could choose keys that all collide.
 */
#ifndef VMOP_LIBDB_HASH_H
#define VMOP_LIBDB_HASH_H

#include <xxhash.h>

#include "libutil/hash-seed.h"

#define HASH_FUNCTION(key, len, hash)                                                              \
	((hash) = (unsigned)XXH3_64bits_withSeed((key), (len), vmop_hash_seed()))
#include <uthash.h>

#endif
