// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/hash-seed.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

static uint64_t seed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * The kernel gives each program 16 random bytes (AT_RANDOM, getauxval(3)). glibc uses 15 of them.
 */
static void make_seed(void)
{
	const void *bytes = (const void *)getauxval(AT_RANDOM);
	uint64_t words[2] = {0};
	if (bytes)
		memcpy(words, bytes, sizeof(words));
	seed = (words[0] ^ words[1] * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

uint64_t vmop_hash_seed(void)
{
	pthread_once(&once, make_seed);
	return seed;
}
