// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stack-agreement [-v] [-f HZ] [-s SECONDS] [COMMAND...]: sample each command (for sh) and print
 * how libstack unwinds its stacks: agreement with libunwind frame by frame, complete stacks with 8,
 * 16 and 32 KiB, and time. Without commands: a mixed load of programs of the system. -v: each
 * difference, on the standard error.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/libstack/unwind-agreement.h"

enum { COPY_BYTES = 32 << 10 };

static const char *const mixed_load[] = {
	"/usr/bin/python3 -c 'import json,re\nfor i in range(10**6):\n"
	" re.sub(\"a+b\",\"c\",json.dumps({\"x\":[i]*9,\"y\":\"aab\"*9}))'",
	"perl -e 'for $i (1..1e9) { $h{$i % 1000} .= \"x$i\" =~ s/1/22/gr; "
	"@s = sort { $h{$a} cmp $h{$b} } keys %h if $i % 999 == 0; %h = () if $i % 9999 == 0 }'",
	"while :; do (echo '#include <stdio.h>'; for i in $(seq 3000); do "
	"echo \"int f$i(int x) { for (int i = 0; i < x; i++) x ^= i * $i; return x; }\"; done) | "
	"gcc -O2 -x c -c - -o /dev/null || exit; done",
	"while :; do echo 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT "
	"99999) "
	"SELECT count(*), x % 97 AS m FROM c GROUP BY m ORDER BY hex(m);' | sqlite3 || exit; done",
	"openssl speed -seconds 1 sha256 rsa2048 ecdsap256",
	"while :; do openssl genrsa 2048 || exit; done",
	"cat /usr/bin/* 2>/dev/null | xz -3 -T1 -c",
	"while :; do ls -lR /usr/share/doc | sort | gzip; done",
};

static double share(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

static void print_row(const char *name, const struct agreement *a)
{
	static const char *const ends[VMOP_N_STACK_ENDS] = {"unknown", "complete", "depth",
							    "short",   "no CFI",   "unreadable",
							    "torn",    "",	   "late"};
	printf("%-24.24s %7lu %6.1f  %8.3f %6lu %6lu %6lu   %6.2f %6.2f %6.2f  %5.0f %5.0f %7.2f ",
	       name, a->n_stacks, (double)a->n_frames / (double)(a->n_stacks ? a->n_stacks : 1),
	       share(a->n_same, a->n_stacks), a->n_longer, a->n_shorter, a->n_different,
	       share(a->n_complete[0], a->n_stacks), share(a->n_complete[1], a->n_stacks),
	       share(a->n_complete[2], a->n_stacks),
	       (double)a->ns / (double)(a->n_frames ? a->n_frames : 1),
	       (double)a->warm_ns / (double)(a->n_frames ? a->n_frames : 1),
	       (double)a->ns / 1e3 / (double)(a->n_stacks ? a->n_stacks : 1));
	for (size_t i = 0; i < VMOP_N_STACK_ENDS; i++) {
		if (a->ends[i] && i != VMOP_STACK_COMPLETE)
			printf(" %s %lu", ends[i], a->ends[i]);
	}
	if (a->n_by_frame_pointer || a->n_by_expression)
		printf(" (frames by frame pointer %lu, by expression %lu)", a->n_by_frame_pointer,
		       a->n_by_expression);
	putchar('\n');
	fflush(stdout);
}

static void add(struct agreement *sum, const struct agreement *part)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)part;
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

/* Sample one command. False: this machine can't. */
static bool measure(const char *command, unsigned hz, double seconds, FILE *differences,
		    struct agreement *sum)
{
	struct recording recording;
	struct agreement agreement = {0};
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	const char *reason = sampler_run(argv, -1, hz, COPY_BYTES, seconds, &recording);
	if (reason) {
		fprintf(stderr, "stack-agreement: %s\n", reason);
		return false;
	}
	if (!agreement_add(&agreement, &recording, differences))
		fprintf(stderr, "stack-agreement: this build has no libunwind to compare with\n");
	recording_free(&recording);
	print_row(command, &agreement);
	add(sum, &agreement);
	return true;
}

int main(int argc, char **argv)
{
	struct agreement sum = {0};
	FILE *differences = NULL;
	unsigned hz = 999;
	double seconds = 5;
	int option;
	while ((option = getopt(argc, argv, "vf:s:")) != -1) {
		if (option == 'v')
			differences = stderr;
		else if (option == 'f')
			hz = (unsigned)atoi(optarg);
		else if (option == 's')
			seconds = atof(optarg);
		else
			return 2;
	}
	printf("%-24s %7s %6s  %8s %6s %6s %6s   %6s %6s %6s  %5s %5s %7s  ends\n", "load",
	       "stacks", "frames", "same %", "longer", "shorter", "differ", "8K %", "16K %",
	       "32K %", "ns/fr", "warm", "us/st");
	const char *const *commands =
		optind < argc ? (const char *const *)argv + optind : mixed_load;
	size_t n = optind < argc ? (size_t)(argc - optind)
				 : sizeof(mixed_load) / sizeof(mixed_load[0]);
	for (size_t i = 0; i < n; i++) {
		if (!measure(commands[i], hz, seconds, differences, &sum))
			return 77;
	}
	print_row("sum", &sum);
	return 0;
}
