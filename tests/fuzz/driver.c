// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run a libFuzzer target without libFuzzer:
 * 	driver [-r ROUNDS] FILE...
 * The target gets each file, the file cut at each of 256 lengths and, ROUNDS times, the file with
 * some bytes changed.  The changes depend only on the number of the round, so that a failure can
 * be repeated.  With --enable-fuzz the same target is linked with libFuzzer instead.
 * Without AddressSanitizer it does an eighth of the ROUNDS: most of what damage does is not seen then.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define MAX_FILE_BYTES ((size_t)64 << 20)

/* Most formats have headers and tables at their ends: half of the changes are made there. */
#define END_BYTES 2048

#ifdef __SANITIZE_ADDRESS__
#define ROUNDS_DIVISOR 1
#else
#define ROUNDS_DIVISOR 8
#endif

static uint64_t random_state;

/* xorshift64 (Marsaglia, 2003). */
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static size_t pick_place(size_t len_bytes)
{
	size_t end = len_bytes < END_BYTES ? len_bytes : END_BYTES;
	switch (next_random() % 4) {
	case 0:
		return next_random() % end;
	case 1:
		return len_bytes - 1 - next_random() % end;
	default:
		return next_random() % len_bytes;
	}
}

static void change(uint8_t *data, size_t len_bytes)
{
	static const uint64_t numbers[] = {0,	      1,	  0x7f,		 0xff,
					   0xffff,    0x7fffffff, 0x80000000,	 0xffffffff,
					   INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
	static const size_t widths[] = {1, 2, 4, 8};
	size_t at = pick_place(len_bytes), width = widths[next_random() % 4];

	if (next_random() % 2) {
		data[at] ^= (uint8_t)(1U << next_random() % 8);
		return;
	}
	at -= at % width;
	if (len_bytes - at < width)
		return;
	uint64_t number = numbers[next_random() % (sizeof(numbers) / sizeof(numbers[0]))];
	memcpy(data + at, &number, width);
}

/* Pass a block of its exact size, so that a sanitizer detects reads behind its end. */
static void feed(const uint8_t *data, size_t len_bytes, uint64_t round)
{
	uint8_t *copy = malloc(len_bytes ? len_bytes : 1);
	if (!copy) {
		perror("malloc");
		exit(3);
	}
	memcpy(copy, data, len_bytes);
	if (round && len_bytes) {
		random_state = round * 0x9e3779b97f4a7c15;
		for (uint64_t n = 1 + next_random() % 8; n > 0; n--)
			change(copy, len_bytes);
	}
	LLVMFuzzerTestOneInput(copy, len_bytes);
	free(copy);
}

static void feed_all(const uint8_t *data, size_t len_bytes, uint64_t rounds)
{
	feed(data, len_bytes, 0);
	for (size_t i = 0; i < 128; i++) {
		/* The first 128 lengths, and 128 spread over all of them. */
		if (i < len_bytes)
			feed(data, i, 0);
		feed(data, (size_t)((double)len_bytes * (double)i / 128), 0);
	}
	for (uint64_t round = 1; round <= rounds; round++)
		feed(data, len_bytes, round);
}

static int feed_file(const char *path, uint64_t rounds)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(MAX_FILE_BYTES);
	if (!file || !data) {
		perror(path);
		free(data);
		if (file)
			fclose(file);
		return 3;
	}
	size_t len_bytes = fread(data, 1, MAX_FILE_BYTES, file);
	fclose(file);
	printf("%s: %zu bytes\n", path, len_bytes);
	fflush(stdout);
	feed_all(data, len_bytes, rounds);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t rounds = 0;
	int option, status = 0;

	while ((option = getopt(argc, argv, "r:")) != -1) {
		if (option != 'r') {
			fprintf(stderr, "usage: %s [-r ROUNDS] FILE...\n", argv[0]);
			return 2;
		}
		rounds = (strtoull(optarg, NULL, 10) + ROUNDS_DIVISOR - 1) / ROUNDS_DIVISOR;
	}
	for (int i = optind; i < argc && status == 0; i++)
		status = feed_file(argv[i], rounds);
	return status;
}
