// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cfi-tables [-r ROUNDS] FILE...: build the unwind tables of each file and print a row for it: MiB
 * of text, rows, rules, rows with expressions, KiB a MiB of text, the fastest of ROUNDS (5) builds
 * in ms of CPU a MiB of text, and ns a look-up, of one page and of the whole text.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libstack/table.h"
#include "libutil/clock.h"
#include "libutil/error.h"

enum { N_LOOK_UPS = 2000000 };

static const struct vmop_cfi_limits limits = {
	.max_bytes = (size_t)1 << 30,
	.max_cpu_ns = 60 * VMOP_NS_PER_S,
};

static uint64_t cpu_ns(void)
{
	return vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Return ns a look-up of offsets that are spread over a range. */
static double look_up_ns(const struct vmop_cfi_table *table, uint64_t start, uint64_t len_bytes)
{
	uint64_t state = 1, begun_ns = cpu_ns();
	for (int i = 0; i < N_LOOK_UPS; i++) {
		struct vmop_cfi_rule rule;
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		vmop_cfi_table_find(table, start + (state >> 33) % len_bytes, &rule);
		/* Let the next offset wait for this rule, as an unwinder's does. */
		state ^= rule.kind == UINT8_MAX;
	}
	return (double)(cpu_ns() - begun_ns) / N_LOOK_UPS;
}

static uint64_t first_offset(const struct vmop_cfi_table *table)
{
	struct vmop_cfi_rule rule;
	uint64_t offset = 0;
	do
		vmop_cfi_table_find(table, offset += 16, &rule);
	while (rule.kind == VMOP_CFI_NONE && offset < (uint64_t)1 << 32);
	return offset;
}

static void print_row(const char *path, const struct vmop_cfi_table *table, uint64_t build_ns)
{
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	const char *slash = strrchr(path, '/');
	double text_mib = (double)facts.text_bytes / (1 << 20);
	uint64_t first = first_offset(table);
	printf("%-24.24s %8.2f %8zu %6zu %6zu %8.1f %8.3f %6.1f %6.1f\n", slash ? slash + 1 : path,
	       text_mib, facts.n_rows, facts.n_rules, facts.n_expression_rows,
	       (double)facts.table_bytes / 1024 / text_mib, (double)build_ns / 1e6 / text_mib,
	       look_up_ns(table, first, 4096), look_up_ns(table, first, facts.text_bytes));
}

static int measure(const char *path, int n_rounds)
{
	uint64_t best_ns = UINT64_MAX;
	struct vmop_cfi_table *table = NULL;
	struct vmop_error *err = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	for (int i = 0; i < n_rounds && !err; i++) {
		vmop_cfi_table_destroy(table);
		table = NULL;
		uint64_t begun_ns = cpu_ns();
		err = vmop_cfi_table_build(fd, &limits, &table);
		uint64_t took_ns = cpu_ns() - begun_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	close(fd);
	if (err)
		fprintf(stderr, "%s: %s\n", path, err->message);
	else
		print_row(path, table, best_ns);
	vmop_cfi_table_destroy(table);
	vmop_error_destroy(err);
	return err != NULL;
}

int main(int argc, char **argv)
{
	int option, n_rounds = 5, status = 0;
	while ((option = getopt(argc, argv, "r:")) != -1) {
		if (option != 'r' || atoi(optarg) < 1) {
			fprintf(stderr, "usage: %s [-r ROUNDS] FILE...\n", argv[0]);
			return 2;
		}
		n_rounds = atoi(optarg);
	}
	printf("%-24s %8s %8s %6s %6s %8s %8s %6s %6s\n", "image", "text_MiB", "rows", "rules",
	       "expr", "KiB/MiB", "ms/MiB", "ns_1pg", "ns_all");
	for (int i = optind; i < argc; i++)
		status |= measure(argv[i], n_rounds);
	return status;
}
