// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Make the session of a month: 64 CPUs at 1 kHz, the host and 20 guests, 2,000 programs a day of
 * which 100 are steady, 1.7e11 samples in 30 days.
 *
 * usage: make-month [--days=N] [--addresses=N] PATH
 *
 * No sample is made one by one.  The session is driven at interval level, in the form that the
 * default ladder leaves after so many days: intervals of 10 minutes, of a minute for the last day,
 * and of a second for the last ten minutes, with their summaries.  Each goes through libdb as the
 *daemon's would.  An interval's cells are drawn:
 *
 *	Programs	A tenth of the 100 steady programs run on the host, the others in the
 *guests. They share 95 % of the samples, by 1 / rank.  The 1,900 others have the same names each
 *day.  Each runs once a day, at a random time, for 1 to 30 minutes, in a random domain, and they
 *share 5 %.
 *	Places		70 % of a program's samples are in its own file, 10 % in its domain's libc,
 *20 % in its domain's kernel.
 *	Addresses	A program has N sampled instructions (250) in its file, N / 4 in libc, N / 2
 *in the kernel, in functions of 16 of them; each has its share by 1 / rank, in a random order.  The
 *number of its samples in an interval is drawn from the Poisson distribution.
 *
 * Prints the numbers of samples, intervals, chunks and cells, and the longest CPU time of one of
 *the steps in which summaries are made.  The same arguments make the same session.
 */
#include <getopt.h>
#include <math.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/parse.h"

#define SECOND_NS UINT64_C(1000000000)
#define START_NS (UINT64_C(1791590400) * SECOND_NS) /* 2026-10-10 00:00:00 UTC */
#define DAY_S 86400u
#define SAMPLES_A_SECOND 64000.0
#define PERIOD_NS 1000000

enum {
	DOMAINS = 21,
	STEADY = 100,
	OTHERS = 1900,
	PROGRAMS = STEADY + OTHERS,
	PLACES = 3,
	FUNCTION_ADDRESSES = 16,
	FUNCTION_BYTES = 256,
	SHARED_FUNCTIONS = 2000, /* of a libc or a kernel */
	IMAGES_OF_DOMAIN = 2,
};

static const double place_shares[PLACES] = {0.7, 0.1, 0.2};

struct place {
	struct vmop_db_chunk_key key;
	uint32_t n;
	uint64_t *offsets; /* ascending */
	double *shares;	   /* of the program's samples */
};

struct program {
	double share;		 /* of all samples while it runs */
	uint32_t start_s, len_s; /* of an other one, in each day */
	struct place places[PLACES];
};

struct maker {
	struct vmop_db *db;
	uint64_t random;
	uint32_t n_addresses;
	struct program programs[PROGRAMS];
	struct vmop_db_cell *cells;
	uint64_t n_samples, n_intervals, n_chunks, n_cells;
	uint64_t longest_ns; /* CPU time of a step that makes a summary */
};

static void die(const char *message)
{
	fprintf(stderr, "make-month: %s\n", message);
	exit(1);
}

static void die_on(struct vmop_error *err)
{
	if (err)
		die(err->message);
}

/* xorshift64*, which is fast: the month has some hundred million draws. */
static uint64_t next_random(struct maker *maker)
{
	maker->random ^= maker->random >> 12;
	maker->random ^= maker->random << 25;
	maker->random ^= maker->random >> 27;
	return maker->random * UINT64_C(2685821657736338717);
}

static uint32_t below(struct maker *maker, uint32_t n)
{
	return (uint32_t)((next_random(maker) >> 32) * n >> 32);
}

/* Return a number above 0 and at most 1. */
static double fraction(struct maker *maker)
{
	return (double)((next_random(maker) >> 11) + 1) / 9007199254740992.0;
}

/* Draw from the Poisson distribution; above a mean of 32 from the normal one, which is close. */
static uint64_t poisson(struct maker *maker, double mean)
{
	if (mean > 32) {
		double normal = sqrt(-2 * log(fraction(maker))) * cos(2 * M_PI * fraction(maker));
		double drawn = round(mean + sqrt(mean) * normal);
		return drawn > 0 ? (uint64_t)drawn : 0;
	}
	uint64_t n = 0;
	double limit = exp(-mean);
	for (double product = fraction(maker); product > limit; n++)
		product *= fraction(maker);
	return n;
}

/* ---- facts ------------------------------------------------------------------- */

static void put_number(struct maker *maker, const char *name, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	die_on(vmop_db_put_info(maker->db, name, text));
}

/* Put an image with n functions. */
static void put_image(struct maker *maker, uint32_t id, enum vmop_image_kind kind, uint32_t domain,
		      const char *name, uint32_t n)
{
	_cleanup_free_ struct vmop_symbol *symbols = calloc(n, sizeof(*symbols));
	_cleanup_free_ char *names = malloc((size_t)n * 32);
	if (!symbols || !names)
		die("out of memory");
	die_on(vmop_db_put_image(
		maker->db, &(struct vmop_db_image){
				   .id = {id}, .kind = kind, .domain = {domain}, .name = name}));
	for (uint32_t i = 0; i < n; i++) {
		snprintf(names + (size_t)i * 32, 32, "function_%u_%u", id % 1000, i);
		symbols[i] = (struct vmop_symbol){.offset = (uint64_t)i * FUNCTION_BYTES,
						  .len_bytes = FUNCTION_BYTES,
						  .name = names + (size_t)i * 32};
	}
	die_on(vmop_db_put_symbols(maker->db, (struct vmop_image_id){id}, symbols, n));
}

static void put_domains(struct maker *maker)
{
	char name[32];
	for (uint32_t domain = 0; domain < DOMAINS; domain++) {
		snprintf(name, sizeof(name), domain ? "guest-%u" : "host", domain);
		die_on(vmop_db_put_domain(
			maker->db, &(struct vmop_db_domain){
					   .id = {domain},
					   .kind = domain ? VMOP_DOMAIN_PASSIVE : VMOP_DOMAIN_HOST,
					   .name = name,
					   .vmm_pid = domain ? 700 + (int32_t)domain : 0,
					   .vmm = domain ? "qemu-system-x86_64" : NULL,
					   .first_seen_ns = START_NS}));
		uint32_t image = 1 + domain * IMAGES_OF_DOMAIN;
		put_image(maker, image, domain ? VMOP_IMAGE_GUEST_KERNEL : VMOP_IMAGE_KERNEL,
			  domain, domain ? "[guest-kernel]" : "[kernel]", SHARED_FUNCTIONS);
		put_image(maker, image + 1, VMOP_IMAGE_ANON, domain, "libc", SHARED_FUNCTIONS);
	}
}

/* ---- programs ------------------------------------------------------------------ */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Choose n sampled instructions in n_functions functions, and their shares. */
static void fill_place(struct maker *maker, struct place *place, uint32_t n, uint32_t n_functions,
		       double share)
{
	place->offsets = calloc(n, sizeof(*place->offsets));
	place->shares = calloc(n, sizeof(*place->shares));
	if (!place->offsets || !place->shares)
		die("out of memory");
	uint32_t function = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (i % FUNCTION_ADDRESSES == 0)
			function = below(maker, n_functions);
		place->offsets[i] =
			(uint64_t)function * FUNCTION_BYTES + below(maker, FUNCTION_BYTES / 4) * 4;
	}
	qsort(place->offsets, n, sizeof(*place->offsets), compare_u64);
	uint32_t distinct = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!i || place->offsets[i] != place->offsets[i - 1])
			place->offsets[distinct++] = place->offsets[i];
	place->n = distinct;
	double sum = 0;
	for (uint32_t i = 0; i < distinct; i++) {
		place->shares[i] = 1.0 / (1 + below(maker, distinct));
		sum += place->shares[i];
	}
	for (uint32_t i = 0; i < distinct; i++)
		place->shares[i] *= share / sum;
}

/* Put the row of a program's task: its own, or the one of all that have ended. */
static struct vmop_task_row_id put_task(struct maker *maker, uint32_t i, uint32_t domain,
					uint32_t image)
{
	char comm[16];
	struct vmop_task_row_id row = {i + 1};
	snprintf(comm, sizeof(comm), i < STEADY ? "steady-%u" : "other-%u", i);
	const struct vmop_db_task task = {.id = row,
					  .domain = {domain},
					  .pid = (int32_t)i + 1000,
					  .tid = (int32_t)i + 1000,
					  .start_time_ns = START_NS,
					  .comm = comm,
					  .exe_image = {image}};
	if (i < STEADY)
		die_on(vmop_db_put_task(maker->db, &task));
	else
		die_on(vmop_db_merge_tasks(maker->db, &task, 30, &row));
	return row;
}

static void fill_program(struct maker *maker, uint32_t i)
{
	struct program *program = &maker->programs[i];
	char name[48];
	uint32_t n = maker->n_addresses;
	uint32_t image = 1 + DOMAINS * IMAGES_OF_DOMAIN + i;
	uint32_t domain = i < STEADY / 10 ? 0 : 1 + below(maker, DOMAINS - 1);
	uint32_t functions = n / FUNCTION_ADDRESSES + 1;
	uint32_t images[PLACES] = {image, 2 + domain * IMAGES_OF_DOMAIN,
				   1 + domain * IMAGES_OF_DOMAIN};
	uint32_t counts[PLACES] = {n, n / 4, n / 2};
	snprintf(name, sizeof(name), "program-%u", i);
	put_image(maker, image, VMOP_IMAGE_ANON, domain, name, functions);
	struct vmop_task_row_id task = put_task(maker, i, domain, image);
	for (unsigned at = 0; at < PLACES; at++) {
		program->places[at].key = (struct vmop_db_chunk_key){
			.domain = {domain},
			.billed = {domain},
			.mode = at == 2 ? VMOP_MODE_KERNEL : VMOP_MODE_USER,
			.vcpu = -1,
			.cpu = -1,
			.task = task,
			.image = {images[at]}};
		fill_place(maker, &program->places[at], counts[at],
			   at ? SHARED_FUNCTIONS : functions, place_shares[at]);
	}
	program->start_s = below(maker, DAY_S);
	program->len_s = 60 + below(maker, 1740);
}

static void fill_programs(struct maker *maker)
{
	double ranks = 0, seconds = 0;
	for (uint32_t i = 0; i < PROGRAMS; i++)
		fill_program(maker, i);
	for (uint32_t i = 0; i < STEADY; i++)
		ranks += 1.0 / (i + 1);
	for (uint32_t i = STEADY; i < PROGRAMS; i++)
		seconds += maker->programs[i].len_s;
	for (uint32_t i = 0; i < PROGRAMS; i++)
		maker->programs[i].share =
			i < STEADY ? 0.95 / (i + 1) / ranks : 0.05 * DAY_S / seconds;
}

/* ---- intervals ------------------------------------------------------------------- */

/* Return for how many seconds of [from, to) of the month a program runs. */
static double running_s(const struct program *program, bool is_steady, uint64_t from, uint64_t to)
{
	if (is_steady)
		return (double)(to - from);
	uint64_t sum = 0;
	for (uint64_t day = from / DAY_S ? from / DAY_S - 1 : 0; day <= to / DAY_S; day++) {
		uint64_t start = day * DAY_S + program->start_s, end = start + program->len_s;
		uint64_t first = start > from ? start : from, last = end < to ? end : to;
		sum += last > first ? last - first : 0;
	}
	return (double)sum;
}

static void put_place(struct maker *maker, const struct place *place, double samples)
{
	size_t n = 0;
	for (uint32_t i = 0; i < place->n; i++) {
		uint64_t drawn = poisson(maker, samples * place->shares[i]);
		if (!drawn)
			continue;
		maker->cells[n++] =
			(struct vmop_db_cell){place->offsets[i], drawn, drawn * PERIOD_NS};
		maker->n_samples += drawn;
	}
	if (!n)
		return;
	die_on(vmop_db_put_chunk(maker->db, &place->key, maker->cells, n));
	maker->n_cells += n;
	maker->n_chunks++;
}

static void put_interval(struct maker *maker, uint64_t from, uint64_t to)
{
	die_on(vmop_db_begin_interval(maker->db, START_NS + from * SECOND_NS,
				      (to - from) * SECOND_NS));
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		const struct program *program = &maker->programs[i];
		double samples = program->share * SAMPLES_A_SECOND *
				 running_s(program, i < STEADY, from, to);
		for (unsigned at = 0; samples > 0 && at < PLACES; at++)
			put_place(maker, &program->places[at], samples);
	}
	die_on(vmop_db_commit(maker->db));
	maker->n_intervals++;
}

/* Put the intervals from one time of the month to another. */
static void put_span(struct maker *maker, uint64_t from, uint64_t to, uint64_t step)
{
	for (; from < to; from += step)
		put_interval(maker, from, from + step);
}

/* Set the levels that roll-ups would have left: libdb writes level 0 only. */
static void set_levels(const char *path)
{
	sqlite3 *db;
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "UPDATE interval SET level = CASE len_ns WHEN 600000000000 THEN 2"
			 " WHEN 60000000000 THEN 1 ELSE 0 END",
			 NULL, NULL, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void make(struct maker *maker, uint64_t days, const char *path)
{
	uint64_t end = days * DAY_S;
	die_on(vmop_db_create(path, &maker->db));
	put_number(maker, "start_ns", START_NS);
	put_number(maker, "end_ns", START_NS + end * SECOND_NS);
	die_on(vmop_db_put_info(maker->db, "hostname", "month"));
	die_on(vmop_db_put_event(maker->db, &(struct vmop_db_event){.name = "cpu-clock",
								    .source = "perf",
								    .unit = "ns",
								    .period_events = PERIOD_NS,
								    .frequency_hz = 1000}));
	put_domains(maker);
	fill_programs(maker);
	put_span(maker, 0, end - DAY_S, 600);
	put_span(maker, end - DAY_S, end - 600, 60);
	put_span(maker, end - 600, end, 1);
	for (bool done = true; done;) {
		uint64_t begun_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		die_on(vmop_db_summarize(maker->db, START_NS + (end - 660) * SECOND_NS, &done));
		uint64_t took_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
		if (took_ns > maker->longest_ns)
			maker->longest_ns = took_ns;
	}
	die_on(vmop_db_finish(maker->db));
	set_levels(path);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"days", required_argument, NULL, 'd'},
						{"addresses", required_argument, NULL, 'a'},
						{0}};
	static struct maker maker = {.random = 88172645463325252u};
	uint64_t days = 30, addresses = 250;
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (option == '?' ||
		    !vmop_parse_u64(optarg, 10, option == 'd' ? &days : &addresses))
			die("usage: make-month [--days=N] [--addresses=N] PATH");
	if (argc - optind != 1 || days < 1 || days > 366 || addresses < 8 || addresses > 100000)
		die("usage: make-month [--days=N] [--addresses=N] PATH");
	maker.n_addresses = (uint32_t)addresses;
	maker.cells = calloc(addresses, sizeof(*maker.cells));
	if (!maker.cells)
		die("out of memory");
	make(&maker, days, argv[optind]);
	printf("samples %llu\nintervals %llu\nchunks %llu\ncells %llu\nsummary_ms %.1f\n",
	       (unsigned long long)maker.n_samples, (unsigned long long)maker.n_intervals,
	       (unsigned long long)maker.n_chunks, (unsigned long long)maker.n_cells,
	       (double)maker.longest_ns / 1e6);
	return 0;
}
