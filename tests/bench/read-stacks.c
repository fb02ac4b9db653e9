// SPDX-License-Identifier: GPL-2.0-or-later
/* Time the reading of a session's stacks, in milliseconds of CPU time: read-stacks SESSION. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libdb/db.h"

#define MAX_BYTES ((size_t)1 << 30)

static void die_on(struct vmop_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "read-stacks: %s\n", err->message);
	exit(vmop_error_exit_status(err));
}

static double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

struct counts {
	unsigned long long calls, cells, samples;
};

static void count(struct counts *counts, const struct vmop_db_cell *cells, size_t n)
{
	counts->calls++;
	counts->cells += n;
	for (size_t i = 0; i < n; i++)
		counts->samples += cells[i].samples;
}

static struct vmop_error *count_sum(void *arg, const struct vmop_db_sum *sum)
{
	count(arg, sum->cells, sum->n_cells);
	return NULL;
}

static struct vmop_error *count_piece(void *arg, const struct vmop_db_chunk *piece)
{
	count(arg, piece->cells, piece->n_cells);
	return NULL;
}

static void print(const char *what, double from_ms, const struct counts *counts)
{
	printf("%-28s %8.1f ms, %llu calls, %llu cells, %llu samples\n", what, cpu_ms() - from_ms,
	       counts->calls, counts->cells, counts->samples);
}

static void time_sums(struct vmop_db *db, const char *what, unsigned merge)
{
	struct counts counts = {0};
	double from_ms = cpu_ms();
	die_on(vmop_db_each_sum(db, NULL, merge, count_sum, &counts));
	print(what, from_ms, &counts);
}

int main(int argc, char **argv)
{
	struct vmop_db *db;
	struct vmop_db_stacks *stacks;
	struct counts counts = {0};
	if (argc != 2)
		return 2;
	die_on(vmop_db_open(argv[1], &db));
	double from_ms = cpu_ms();
	die_on(vmop_db_load_stacks(db, MAX_BYTES, &stacks));
	counts.calls = vmop_db_stacks_last(stacks);
	print("nodes", from_ms, &counts);
	vmop_db_stacks_destroy(stacks);
	time_sums(db, "sums by stack", 0);
	time_sums(db, "sums by stack, tasks merged", VMOP_DB_MERGE_TASKS);
	time_sums(db, "sums, stacks merged", VMOP_DB_MERGE_STACKS);
	counts = (struct counts){0};
	from_ms = cpu_ms();
	die_on(vmop_db_each_piece(db, NULL, count_piece, &counts));
	print("pieces", from_ms, &counts);
	vmop_db_close(db);
	return 0;
}
