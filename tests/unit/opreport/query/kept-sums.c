// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Test that reports with kept sums are those without them, byte for byte: of random samples, while
 * the session is written, rolled up, summarised, shortened, ended and replaced.  A forged file
 * shows that the sums are used.
 */
#include "opreport/query/kept-sums.h"

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libsym/build-id.h"
#include "libutil/cleanup.h"
#include "opreport/arrange/report.h"
#include "opreport/output/output.h"
#include "opreport/query/kept-file.h"
#include "opreport/query/kept-state.h"
#include "tests/unit/ok.h"

enum { SECOND_NS = 1000000000, START_S = 1000, N_CELLS = 300 };
enum { CYCLES, MISSES };
enum { HOST, GUEST };
enum { TASK_IDLE = 1, TASK_A, TASK_B };
enum { KERNEL = 1, PROGRAM, JIT, GUEST_KERNEL, GONE, PROGRAM_MOVED, N_IMAGES };

static char dir[64], path[96], other_path[96], cache[96];
static uint64_t random_state, next_s;
static struct vmop_db *writer;
static struct vmop_build_id build_id; /* of this program, which has symbols */
static char program[4096];

/* xorshift64 (Marsaglia, 2003). */
static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

/* ---- the session ------------------------------------------------------------------ */

#define N_KERNEL_SYMBOLS 3000
#define KERNEL_STEP 64

static struct vmop_symbol *make_symbols(size_t n, uint64_t step, char (*names)[16])
{
	struct vmop_symbol *symbols = calloc(n, sizeof(*symbols));
	assert_non_null(symbols);
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "function%zu", i);
		symbols[i] = (struct vmop_symbol){i * step, step, names[i], 't'};
	}
	return symbols;
}

/* Let the n first functions of an image have names. */
static void put_symbols(uint32_t image, size_t n)
{
	static char names[N_KERNEL_SYMBOLS][16];
	_cleanup_free_ struct vmop_symbol *symbols = make_symbols(n, KERNEL_STEP, names);
	assert_ok(vmop_db_put_symbols(writer, (struct vmop_image_id){image}, symbols, n));
}

static void put_facts(void)
{
	const struct vmop_db_event events[] = {
		{{CYCLES}, "cycles", "perf", "events", 1000, 0, NULL},
		{{MISSES}, "misses", "perf", "events", 100, 0, NULL}};
	const struct vmop_db_domain domains[] = {
		{{HOST}, VMOP_DOMAIN_HOST, "host", NULL, 0, NULL, 1, 0},
		{{GUEST}, VMOP_DOMAIN_PASSIVE, "g1", "11111111-1111", 900, "qemu", 1, 0}};
	const struct vmop_db_task tasks[] = {{.id = {TASK_IDLE}, .comm = "swapper"},
					     {.id = {TASK_A}, .pid = 10, .comm = "a"},
					     {.id = {TASK_B}, .pid = 11, .comm = "b"}};
	struct vmop_db_image images[] = {
		{.id = {KERNEL}, .kind = VMOP_IMAGE_KERNEL, .name = "[kernel]", .base = 1u << 31},
		{.id = {PROGRAM}, .kind = VMOP_IMAGE_FILE, .name = program},
		{.id = {JIT}, .kind = VMOP_IMAGE_ANON, .name = "[anon java]"},
		{.id = {GUEST_KERNEL},
		 .kind = VMOP_IMAGE_GUEST_KERNEL,
		 .domain = {GUEST},
		 .name = "[guest g1 kernel]"},
		{.id = {GONE}, .kind = VMOP_IMAGE_FILE, .name = "/nonexistent/program"},
		{.id = {PROGRAM_MOVED}, .kind = VMOP_IMAGE_FILE, .name = "/old/kept-sums"}};
	for (size_t i = 1; i < N_IMAGES - 1; i += PROGRAM_MOVED - PROGRAM) {
		images[i].build_id_len_bytes = (uint8_t)build_id.len_bytes;
		memcpy(images[i].build_id, build_id.bytes, build_id.len_bytes);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_ok(vmop_db_put_event(writer, &events[i]));
		assert_ok(vmop_db_put_domain(writer, &domains[i]));
	}
	for (size_t i = 0; i < sizeof(tasks) / sizeof(*tasks); i++)
		assert_ok(vmop_db_put_task(writer, &tasks[i]));
	for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++)
		assert_ok(vmop_db_put_image(writer, &images[i]));
	assert_ok(vmop_db_put_info(writer, "hostname", "alpha"));
}

/* Begin a session whose random samples depend on the seed. */
static void begin_session(uint64_t seed)
{
	static const char *const always[] = {NULL};
	static char names[N_KERNEL_SYMBOLS][16];
	_cleanup_free_ struct vmop_symbol *symbols =
		make_symbols(N_KERNEL_SYMBOLS, KERNEL_STEP, names);
	_cleanup_free_ void *packed = NULL;
	size_t len_bytes;
	char start[32];
	random_state = seed;
	next_s = START_S;
	snprintf(start, sizeof(start), "%llu", (unsigned long long)START_S * SECOND_NS + seed);
	assert_ok(vmop_db_create(path, &writer));
	put_facts();
	assert_ok(vmop_db_put_info(writer, "start_ns", start));
	put_symbols(GUEST_KERNEL, 1000);
	assert_ok(vmop_db_pack_symbols(symbols, N_KERNEL_SYMBOLS, always, &packed, &len_bytes));
	assert_ok(vmop_db_begin_interval(writer, next_s++ * SECOND_NS, SECOND_NS));
	assert_ok(vmop_db_put_packed_symbols(writer, (struct vmop_image_id){KERNEL}, packed,
					     len_bytes));
	assert_ok(vmop_db_commit(writer));
}

extern const char __executable_start[]; /* the linker's */

/*
 * Return an offset in the first 200,000 bytes of an image, or around the code of this test in that
 * of this program: with sanitizers its first bytes have no functions.
 */
static uint64_t random_offset(uint32_t image)
{
	uint64_t first = 0;
	if (image == PROGRAM || image == PROGRAM_MOVED)
		first = (uintptr_t)random_offset - (uintptr_t)__executable_start;
	return (first > 100000 ? first - 100000 : 0) + random_below(200000);
}

static void put_chunk(void)
{
	struct vmop_db_cell cells[N_CELLS], scratch[N_CELLS];
	struct vmop_db_chunk_key key = {
		.event = {(uint32_t)random_below(2)},
		.mode = (uint8_t)(1 + random_below(3)),
		.certainty = (uint8_t)random_below(2),
		.vcpu = -1,
		.cpu = (int32_t)random_below(2),
		.task = {(uint32_t)random_below(4)},
		.image = {(uint32_t)(1 + random_below(N_IMAGES - 1))},
	};
	size_t n = 1 + random_below(N_CELLS), kept = 0;
	if (key.image.number == GUEST_KERNEL)
		key.domain.number = GUEST;
	key.billed = key.domain;
	if (key.domain.number == HOST && !random_below(3)) {
		key.bill = VMOP_BILL_VMM;
		key.billed.number = GUEST;
	}
	for (size_t i = 0; i < n; i++)
		cells[i] = (struct vmop_db_cell){random_offset(key.image.number),
						 1 + random_below(5), 1 + random_below(1000)};
	vmop_db_sort_cells(cells, scratch, n);
	for (size_t i = 0; i < n; i++)
		if (!kept || cells[kept - 1].offset != cells[i].offset)
			cells[kept++] = cells[i];
	assert_ok(vmop_db_put_chunk(writer, &key, cells, kept));
}

/* Store n intervals of a second. */
static void record(unsigned n)
{
	for (; n > 0; n--) {
		assert_ok(vmop_db_begin_interval(writer, next_s++ * SECOND_NS, SECOND_NS));
		for (uint64_t chunks = 5 + random_below(10); chunks; chunks--)
			put_chunk();
		assert_ok(vmop_db_commit(writer));
	}
}

static void roll_up(uint64_t len_s)
{
	bool more = true;
	while (more)
		assert_ok(vmop_db_roll_up(writer, 0, (next_s - 5) * SECOND_NS, len_s * SECOND_NS,
					  10, &more));
}

/* ---- reports ---------------------------------------------------------------------- */

/* Return the report of a query, on the heap. */
static char *report(const struct vmop_query *query, const char *word)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	const struct vmop_report_options options = {.show_address = true};
	const struct vmop_arrangement arrangement = {0};
	const struct vmop_output_options plain = {0};
	const struct vmop_ratios no_ratios = {0};
	struct vmop_result result;
	struct vmop_hidden hidden;
	struct vmop_report *made = NULL;
	struct vmop_db *db;
	char *text = NULL;
	size_t len;
	if (word)
		assert_ok(vmop_spec_parse(&spec, word));
	assert_ok(vmop_db_open(path, &db));
	struct vmop_session_input sessions[2] = {{.name = "s", .db = db}, {.name = "other"}};
	size_t n_sessions = access(other_path, F_OK) ? 1 : 2;
	if (n_sessions > 1)
		assert_ok(vmop_db_open(other_path, &sessions[1].db));
	assert_ok(vmop_query_run(query, &spec, sessions, n_sessions, &result));
	assert_ok(vmop_rows_arrange(&result, &no_ratios, &arrangement, &hidden));
	assert_ok(vmop_report_create(&options, &result, &no_ratios, &hidden, &made));
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	assert_ok(vmop_output_csv.print(vmop_report_sheet(made), &plain, out));
	assert_ok(vmop_output_table.print(vmop_report_sheet(made), &plain, out));
	assert_int_equal(fclose(out), 0);
	vmop_report_destroy(made);
	free(hidden.counts);
	vmop_result_deinit(&result);
	vmop_db_close(sessions[1].db);
	vmop_db_close(db);
	return text;
}

static const unsigned flat = VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL | VMOP_BY_CPU;

/* Compare a report with kept sums to the one without. */
static void compare(struct vmop_query query, const char *word)
{
	query.resolver.cache_path = NULL;
	_cleanup_free_ char *without = report(&query, word);
	query.resolver.cache_path = cache;
	_cleanup_free_ char *with = report(&query, word);
	assert_string_equal(with, without);
}

static void compare_some(void)
{
	compare((struct vmop_query){.dimensions = flat}, NULL);
	compare((struct vmop_query){.dimensions = flat, .exclude_idle = true}, "image:[k-q]*");
}

/* Compare reports of all forms. The first one keeps the sums. */
static void compare_all(void)
{
	struct vmop_query query = {.dimensions = flat};
	compare(query, NULL);
	compare(query, NULL);
	compare(query, "event:misses");
	compare(query, "image:[kernel]");
	compare(query, "image:/nonexistent/*");
	compare(query, "domain:g1");
	compare(query, "cpu:1");
	compare(query, "certainty:likely");
	compare(query, "task:b");
	compare(query, "time:@1004..");
	query.details = true;
	compare(query, NULL);
	query.details = false;
	query.exclude_idle = true;
	compare(query, NULL);
	query.exclude_idle = false;
	query.idle_functions = true;
	query.of_whole_session = true;
	compare(query, "domain:g1");
	query.dimensions = VMOP_BY_IMAGE | VMOP_BY_SYMBOL | VMOP_BY_MODE | VMOP_BY_CERTAINTY;
	compare(query, NULL);
	query = (struct vmop_query){
		.dimensions = flat, .accounting = VMOP_ACCOUNTING_DOMAIN, .by_part = true};
	compare(query, NULL);
	compare(query, "domain:g1");
}

/* ---- the kept file ---------------------------------------------------------------- */

/* Set ret to the path of the only kept file, "" without one. */
static void find_kept(char ret[512])
{
	_cleanup_closedir_ DIR *entries = opendir(cache);
	const struct dirent *entry;
	ret[0] = '\0';
	while (entries && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, "sums-", 5) != 0)
			continue;
		assert_string_equal(ret, "");
		snprintf(ret, 512, "%s/%s", cache, entry->d_name);
	}
}

static void forget_kept(void)
{
	char kept[512];
	find_kept(kept);
	assert_int_equal(unlink(kept), 0);
}

static char *read_all(const char *name, size_t *ret_len_bytes)
{
	struct stat st;
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	char *bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	*ret_len_bytes = (size_t)st.st_size;
	return bytes;
}

static void write_all(const char *name, const void *bytes, size_t len_bytes)
{
	_cleanup_close_ int fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len_bytes), len_bytes);
}

/* Return whether the present kept sums are used: whether a forged sample is in the report. */
static bool are_used(void)
{
	char kept[512];
	size_t len_bytes, forged_len_bytes;
	struct vmop_kept_file file;
	const struct vmop_query query = {.dimensions = flat, .resolver.cache_path = cache};
	const struct vmop_query without = {.dimensions = flat};
	find_kept(kept);
	assert_true(kept[0] != '\0');
	_cleanup_free_ char *bytes = read_all(kept, &len_bytes);
	assert_true(vmop_kept_file_parse(bytes, len_bytes, &file));
	_cleanup_free_ struct vmop_db_cell *cells = calloc(file.n_cells, sizeof(*cells));
	assert_non_null(cells);
	memcpy(cells, file.cells, file.n_cells * sizeof(*cells));
	cells[0].samples += 1000000;
	file.cells = cells;
	_cleanup_free_ void *forged = vmop_kept_file_make(&file, &forged_len_bytes);
	assert_non_null(forged);
	write_all(kept, forged, forged_len_bytes);
	_cleanup_free_ char *with = report(&query, NULL);
	_cleanup_free_ char *right = report(&without, NULL);
	write_all(kept, bytes, len_bytes);
	return strcmp(with, right) != 0;
}

/* ---- tests ------------------------------------------------------------------------ */

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/vmop-kept-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s.vmop", dir);
	snprintf(other_path, sizeof(other_path), "%s/other.vmop", dir);
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void end_session(void)
{
	assert_ok(vmop_db_finish(writer));
	writer = NULL;
}

/* The session grows, and its generated code gets names, between reports. */
static void test_live_session(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		begin_session(seed * 77777);
		record(6);
		compare_some();
		assert_true(are_used());
		record(1);
		compare_all();
		assert_true(are_used());
		put_symbols(JIT, 500);
		assert_false(are_used()); /* the image had no symbols before */
		compare_some();
		put_symbols(JIT, 2500);
		assert_false(are_used()); /* it has more of them */
		compare_some();
		put_symbols(JIT, 2500);
		assert_true(are_used());
		record(20);
		compare_some();
		assert_true(are_used());
		end_session();
		compare_some();
		assert_true(are_used());
		assert_int_equal(unlink(path), 0);
		forget_kept();
	}
}

static void test_roll_up_and_retention(void **state)
{
	(void)state;
	bool done;
	begin_session(4242);
	record(65);
	compare_some();
	roll_up(10);
	compare_some();
	assert_true(are_used()); /* the last interval is not rolled up */
	record(40);
	compare_some();
	roll_up(10);
	compare_all(); /* the sums may end within an interval now */
	assert_ok(vmop_db_drop_oldest(writer, next_s * SECOND_NS, &done));
	assert_true(done);
	compare_some();
	assert_true(are_used()); /* anew */
	assert_ok(vmop_db_drop_oldest(writer, next_s * SECOND_NS, &done));
	assert_false(are_used());
	compare_some();
	end_session();
}

/* Sums end within an interval after a roll-up. */
static void test_merged_across_the_end(void **state)
{
	(void)state;
	begin_session(99);
	record(15); /* seconds 1001 to 1015 */
	compare_some();
	assert_true(are_used());
	record(20);
	roll_up(30); /* 990 to 1019 */
	assert_false(are_used());
	compare_some();
	end_session();
}

static void test_summaries(void **state)
{
	(void)state;
	bool done = true;
	begin_session(31415);
	for (unsigned i = 0; i < 40; i++) {
		next_s += 59;
		record(1);
		if (i % 13 == 5)
			compare_some();
		while (i > 20 && done)
			assert_ok(vmop_db_summarize(writer, next_s * SECOND_NS, &done));
		done = true;
	}
	compare_some();
	assert_true(are_used());
	end_session();
}

/* Another session at the same path, with other samples in the same intervals. */
static void test_replaced(void **state)
{
	(void)state;
	begin_session(1);
	record(6);
	compare_some();
	end_session();
	for (uint64_t seed = 2; seed < 6; seed++) {
		assert_int_equal(unlink(path), 0); /* the next one often gets this inode */
		begin_session(seed);
		record(6);
		compare_some();
		end_session();
	}
}

/* Two sessions with the same programs, one of which has kept sums before the other. */
static void test_two_sessions(void **state)
{
	(void)state;
	begin_session(7);
	record(6);
	compare_some();
	end_session();
	assert_int_equal(rename(path, other_path), 0);
	begin_session(8);
	next_s += 1000;
	record(6);
	compare_all();
	record(1);
	compare_all();
	end_session();
}

/* The times of a file show later changes after some while, which depends on the file system. */
static void test_settled(void **state)
{
	(void)state;
	const uint64_t second_ns = SECOND_NS, ms_ns = second_ns / 1000, at_ns = 1000 * second_ns;
	struct vmop_kept_state file = {.mtime_ns = at_ns + 4 * ms_ns, .ctime_ns = at_ns + ms_ns};
	assert_false(vmop_kept_state_is_settled(&file, at_ns));
	assert_false(vmop_kept_state_is_settled(&file, at_ns + 50 * ms_ns));
	assert_true(vmop_kept_state_is_settled(&file, at_ns + 150 * ms_ns));
	file.mtime_ns = at_ns; /* of a file system that stores seconds */
	assert_false(vmop_kept_state_is_settled(&file, at_ns + 2900 * ms_ns));
	assert_true(vmop_kept_state_is_settled(&file, at_ns + 3100 * ms_ns));
	file.ctime_ns = at_ns + 2 * second_ns;
	assert_false(vmop_kept_state_is_settled(&file, at_ns + 4 * second_ns));
}

static void set_mtime(time_t mtime_s)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
					  {.tv_sec = mtime_s, .tv_nsec = 1}};
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A session that was changed after its end, by hand, has other times. */
static void test_ended(void **state)
{
	(void)state;
	begin_session(5);
	record(6);
	assert_ok(vmop_db_put_info(writer, "end_ns", "2000000000000"));
	end_session();
	set_mtime(time(NULL) + 3600);
	compare_some();
	char kept[512];
	find_kept(kept);
	assert_string_equal(kept, ""); /* it could change without a trace */
	set_mtime(time(NULL) - 3600);
	sleep(1);
	compare_some();
	assert_true(are_used());
	assert_int_equal(chmod(path, 0600), 0); /* changes its time */
	assert_false(are_used());
}

/* Let the kept file show all names as "forged". */
static void forge_shown_names(void)
{
	static const char forged[] = "forged";
	char kept[512];
	size_t len_bytes;
	struct vmop_kept_file file;
	find_kept(kept);
	_cleanup_free_ char *bytes = read_all(kept, &len_bytes);
	assert_true(vmop_kept_file_parse(bytes, len_bytes, &file));
	assert_true(file.n_runs > 0);
	_cleanup_free_ char *names = malloc(file.names_len_bytes + sizeof(forged));
	_cleanup_free_ struct vmop_kept_run *runs = calloc(file.n_runs, sizeof(*runs));
	assert_non_null(names);
	assert_non_null(runs);
	memcpy(names, file.names, file.names_len_bytes);
	memcpy(names + file.names_len_bytes, forged, sizeof(forged));
	memcpy(runs, file.runs, file.n_runs * sizeof(*runs));
	for (size_t i = 0; i < file.n_runs; i++)
		runs[i].shown = (uint32_t)file.names_len_bytes;
	file.names = names;
	file.names_len_bytes += sizeof(forged);
	file.runs = runs;
	_cleanup_free_ void *made = vmop_kept_file_make(&file, &len_bytes);
	assert_non_null(made);
	write_all(kept, made, len_bytes);
}

/* Names come from the kept file if it has them in the wanted form. */
static void test_shown_names(void **state)
{
	(void)state;
	struct vmop_query query = {
		.dimensions = flat,
		.resolver = {.cache_path = cache, .demangle = VMOP_DEMANGLE_SMART}};
	begin_session(11);
	record(6);
	compare(query, NULL);
	compare(query, NULL);
	forge_shown_names();
	_cleanup_free_ char *forged = report(&query, NULL);
	assert_non_null(strstr(forged, "forged"));
	query.resolver.demangle = VMOP_DEMANGLE_FULL;
	compare(query, NULL);
	query.resolver.demangle = VMOP_DEMANGLE_NONE;
	compare(query, NULL);
	end_session();
}

/* A damaged file is replaced. */
static void test_damaged(void **state)
{
	(void)state;
	char kept[512];
	size_t len_bytes;
	begin_session(6);
	record(6);
	compare_some();
	find_kept(kept);
	_cleanup_free_ char *bytes = read_all(kept, &len_bytes);
	for (size_t at = 5; at < len_bytes; at += len_bytes / 7) {
		bytes[at] ^= 1;
		write_all(kept, bytes, len_bytes);
		compare((struct vmop_query){.dimensions = flat}, NULL);
		assert_true(are_used());
		bytes[at] ^= 1;
	}
	write_all(kept, bytes, len_bytes / 2);
	compare_some();
	write_all(kept, "", 0);
	compare_some();
	assert_true(are_used());
	end_session();
}

int main(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct vmop_error *err = vmop_build_id_of_fd(fd, program, &build_id);
	if (len < 0 || err)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_live_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_roll_up_and_retention, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_merged_across_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_summaries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_sessions, set_up, tear_down),
		cmocka_unit_test(test_settled),
		cmocka_unit_test_setup_teardown(test_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shown_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
