/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Count what a region of code does. Build with the installed library:
 *	cc region.c $(pkg-config --cflags --libs libvmop)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vmop.h>

enum { MAX_EVENTS = 8 };

static int failed(struct vmop_error *error)
{
	fprintf(stderr, "region: %s\n", vmop_error_text(error));
	vmop_error_destroy(error);
	return 1;
}

int main(int argc, char **argv)
{
	const char *events = argc > 1 ? argv[1] : "page-faults,task-clock";
	struct vmop_region_count counts[MAX_EVENTS];
	struct vmop_counters *counters;
	struct vmop_error *error = vmop_counters_open(events, NULL, &counters);
	if (error)
		return failed(error);

	size_t len_bytes = 8 << 20;
	char *memory = malloc(len_bytes);
	error = vmop_region_begin(counters);
	if (!error && memory)
		memset(memory, 1, len_bytes);
	if (!error)
		error = vmop_region_end(counters, counts, MAX_EVENTS);
	if (error)
		return failed(error);

	for (size_t i = 0; i < vmop_counters_n(counters); i++)
		printf("%-20s %12llu  +- %llu, less %llu of the reads, %s\n",
		       vmop_counters_name(counters, i), (unsigned long long)counts[i].value,
		       (unsigned long long)counts[i].spread, (unsigned long long)counts[i].cost,
		       counts[i].way == VMOP_BY_PAGE ? "without a system call" : "by read(2)");
	printf("%d\n", memory ? memory[len_bytes - 1] : 0);
	vmop_counters_close(counters);
	free(memory);
	return 0;
}
