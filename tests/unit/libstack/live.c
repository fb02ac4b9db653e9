// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of real processes, sampled by perf: those of known-paths are the paths that it describes,
 * in the program as built, linked statically, and stripped; and the stacks of known programs of the
 * system are those that libunwind finds.
 */
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"
#include "sampler.h"
#include "unwind-agreement.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

#define FIXTURES VMOP_TEST_BUILDDIR "/tests/fixtures/"

enum {
	HZ = 1499,
	STACK_BYTES = 32 << 10,
	MAX_FRAMES = 127,
	MAX_LINES = 16,
	MAX_PATHS = 4,
	SECONDS = 20, /* until a program that hangs is killed */
};

/* Frames of a known path: count of them in start..end, or in any code (0..0). */
struct path_line {
	uint64_t start, end;
	unsigned count; /* 0: any number, the last line */
};

struct path {
	struct path_line lines[MAX_LINES];
	size_t n_lines;
	enum vmop_stack_end end;
	size_t n_right, n_wrong;
};

static size_t read_description(FILE *file, struct path paths[MAX_PATHS])
{
	size_t n = 0;
	char text[128];
	rewind(file);
	memset(paths, 0, MAX_PATHS * sizeof(paths[0]));
	while (n < MAX_PATHS && fgets(text, sizeof(text), file)) {
		struct path *path = &paths[n];
		struct path_line *line = &path->lines[path->n_lines];
		unsigned end;
		if (sscanf(text, "end %u", &end) == 1) {
			path->end = (enum vmop_stack_end)end;
			n++;
		} else if (sscanf(text, "%lx %lx %u", &line->start, &line->end, &line->count) ==
				   3 &&
			   path->n_lines + 1 < MAX_LINES) {
			path->n_lines++;
		}
	}
	return n;
}

static bool is_in(const struct path_line *line, const struct vmop_stack_frame *frame)
{
	uint64_t address = frame->address - !frame->is_interrupted;
	return line->end == 0 || (address >= line->start && address < line->end);
}

static bool is_path(const struct path *path, const struct vmop_stack_frame *frames,
		    const struct vmop_unwound *unwound)
{
	size_t at = 0;
	for (size_t i = 0; i < path->n_lines; i++) {
		if (path->lines[i].count == 0)
			return unwound->end == path->end;
		for (unsigned n = 0; n < path->lines[i].count; n++) {
			if (at == unwound->n_frames || !is_in(&path->lines[i], &frames[at++]))
				return false;
		}
	}
	return at == unwound->n_frames && unwound->end == path->end;
}

static void print_stack(const struct process *process, const struct vmop_stack_frame *frames,
			const struct vmop_unwound *unwound)
{
	for (size_t i = 0; i < unwound->n_frames; i++) {
		const struct mapping *mapping = process_find(process, frames[i].address);
		print_error("  %#lx %s+%#lx\n", frames[i].address,
			    mapping && mapping->image ? mapping->image->path : "?",
			    mapping ? frames[i].address - mapping->bias : 0);
	}
	print_error("  end %d\n", unwound->end);
}

/* Compare the stacks that begin in a path's innermost function with the path. */
static void compare(const struct recording *recording, struct path *paths, size_t n_paths)
{
	struct processes processes = {0};
	struct vmop_stack_frame frames[MAX_FRAMES];
	struct vmop_unwound unwound;
	struct vmop_unwinder *unwinder;
	assert_null(vmop_unwinder_create(MACHINE, &unwinder));
	for (size_t i = 0; i < recording->n_records; i++) {
		const struct sampled *record = &recording->records[i];
		if (record->kind != SAMPLED_STACK) {
			processes_apply(&processes, record);
			continue;
		}
		struct process *process = processes_get(&processes, record->pid);
		const struct vmop_code_space space = {process_find_code, process};
		const struct vmop_stack_capture capture = {
			.user_regs = record->regs,
			.user_stack = record->stack,
			.user_stack_bytes = record->stack_bytes,
			.user_stack_asked_bytes = record->asked_bytes,
		};
		vmop_unwind(unwinder, &space, &capture, frames, MAX_FRAMES, &unwound);
		for (size_t k = 0; k < n_paths; k++) {
			if (!is_in(&paths[k].lines[0], &frames[0]))
				continue;
			bool is_right = is_path(&paths[k], frames, &unwound);
			paths[k].n_right += is_right;
			if (!is_right && paths[k].n_wrong++ < 3)
				print_stack(process, frames, &unwound);
		}
	}
	vmop_unwinder_destroy(unwinder);
	processes_free(&processes);
}

/* Run known-paths in a mode, and check that all stacks in its innermost functions are right. */
static void check_mode(const char *program, const char *mode)
{
	struct recording recording;
	struct path paths[MAX_PATHS];
	FILE *description = tmpfile();
	char *argv[] = {(char *)program, (char *)mode, (char *)FIXTURES ".libs/known-library.so",
			NULL};
	assert_non_null(description);
	assert_null(sampler_run(argv, fileno(description), HZ, STACK_BYTES, SECONDS, &recording));
	size_t n = read_description(description, paths);
	fclose(description);
	assert_int_not_equal(n, 0);
	compare(&recording, paths, n);
	recording_free(&recording);
	for (size_t i = 0; i < n; i++) {
		printf("# %s %s path %zu: %zu right, %zu wrong\n", strrchr(program, '/') + 1, mode,
		       i, paths[i].n_right, paths[i].n_wrong);
		assert_int_equal(paths[i].n_wrong, 0);
		assert_int_not_equal(paths[i].n_right, 0);
	}
}

static const char *const modes[] = {"recursion",    "threads",	      "signals",
				    "signal-stack", "exception",      "landing",
				    "generated",    "generated-bare", "hole"};
enum { N_MODES = sizeof(modes) / sizeof(modes[0]) };

static void known_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_MODES; i++)
		check_mode(FIXTURES "known-paths", modes[i]);
	check_mode(FIXTURES "known-paths", "library");
}

static void static_program(void **state)
{
	(void)state;
	if (access(FIXTURES "known-paths-static", X_OK))
		skip();
	for (size_t i = 0; i < N_MODES; i++)
		check_mode(FIXTURES "known-paths-static", modes[i]);
}

static void stripped_program(void **state)
{
	char path[] = "/tmp/vmop-stripped-XXXXXX", command[1024];
	int fd = mkstemp(path);
	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "strip -o %s %s", path, FIXTURES "known-paths");
	bool is_stripped = system(command) == 0;
	if (is_stripped) {
		for (size_t i = 0; i < N_MODES; i++)
			check_mode(path, modes[i]);
	}
	unlink(path);
	if (!is_stripped)
		skip();
}

/*
 * Programs of the system, as far as they are installed: libunwind finds the same stacks. Few are
 * different, and each for a known reason: code without CFI such as _init, where both guess; a CFA
 * by a register that the tables do not follow, in the dynamic linker's _dl_runtime_resolve.
 */
static void system_programs(void **state)
{
	static const char *const commands[] = {
		"python3 -c 'import json\nfor i in range(20000): json.dumps({\"x\": [i] * 99})'",
		"perl -e 'for $i (1..300000) { $h{$i % 1000} .= \"x$i\" =~ s/1/22/gr }'",
		"sqlite3 :memory: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c "
		"LIMIT 200000) SELECT count(*), x % 97 AS m FROM c GROUP BY m ORDER BY hex(m);'",
		"openssl genrsa 3072",
		"seq 300000 | xz -6 -c",
		"echo 'int main(void) { return 0; }' | cc -O2 -x c -c -o /dev/null -",
	};
	struct agreement sum = {0};
	bool has_reference = true;
	(void)state;
	/* A machine with only a shell, which may lack CFI, has no such program. */
	if (system("for p in python3 perl sqlite3 openssl cc; do command -v $p && exit; done; exit "
		   "1"))
		skip();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct recording recording;
		char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)commands[i], NULL};
		assert_null(sampler_run(argv, -1, HZ, STACK_BYTES, SECONDS, &recording));
		has_reference = agreement_add(&sum, &recording, stdout);
		recording_free(&recording);
	}
	printf("# %lu stacks, %lu complete; libunwind: %lu same, %lu less, %lu more, %lu other\n",
	       sum.n_stacks, sum.ends[VMOP_STACK_COMPLETE], sum.n_same, sum.n_longer, sum.n_shorter,
	       sum.n_different);
	assert_int_not_equal(sum.n_stacks, 0);
	assert_true(sum.ends[VMOP_STACK_COMPLETE] * 100 >= sum.n_stacks * 90);
	if (has_reference)
		assert_true((sum.n_shorter + sum.n_different) * 100 <= sum.n_stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_paths),
		cmocka_unit_test(static_program),
		cmocka_unit_test(stripped_program),
		cmocka_unit_test(system_programs),
	};
	struct recording recording;
	char *argv[] = {(char *)"true", NULL};
	const char *reason = sampler_run(argv, -1, HZ, STACK_BYTES, SECONDS, &recording);
	recording_free(&recording);
	if (reason) {
		puts(reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
