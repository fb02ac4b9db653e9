// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: print the content of a session file, one "name value" per line, read only through
 * libdb: its info pairs, "samples", "intervals", "first_ns" (the first interval's start), "image
 * SAMPLES NAME", "symbols NUMBER NAME", "build-id BYTES NAME", "loss NUMBER NAME". Exit 1 with the
 * reason if the file is unreadable or fails libdb's check.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libutil/log.h"

static struct vmop_error *print_interval(void *arg, const struct vmop_db_interval *interval)
{
	uint64_t *span = arg;
	if (!span[0]++)
		span[2] = interval->start_ns;
	span[1] += interval->len_ns;
	return NULL;
}

static struct vmop_error *add_total(void *arg, const struct vmop_db_total *total)
{
	*(uint64_t *)arg += total->samples;
	return NULL;
}

static struct vmop_error *print_image(void *arg, const struct vmop_db_image *image)
{
	struct vmop_db *db = arg;
	uint64_t samples = 0;
	const struct vmop_db_filter filter = {.images = &image->id, .n_images = 1};
	struct vmop_error *err = vmop_db_each_total(db, &filter, add_total, &samples);
	struct vmop_symbol *symbols = NULL;
	size_t n = 0;
	if (!err)
		err = vmop_db_get_symbols(db, image->id, &symbols, &n);
	free(symbols);
	if (!err)
		printf("image %" PRIu64 " %s\nsymbols %zu %s\nbuild-id %u %s\n", samples,
		       image->name, n, image->name, image->build_id_len_bytes, image->name);
	return err;
}

static struct vmop_error *print_loss(void *arg, const struct vmop_db_loss *loss)
{
	(void)arg;
	printf("loss %" PRIu64 " %s\n", loss->count, loss->name);
	return NULL;
}

static struct vmop_error *print_info(struct vmop_db *db)
{
	static const char *const names[] = {"vmop", "source",	"hostname", "kernel",
					    "cpus", "start_ns", "end_ns"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *value = NULL;
		struct vmop_error *err = vmop_db_get_info(db, names[i], &value);
		if (err)
			return err;
		if (value)
			printf("%s %s\n", names[i], value);
		free(value);
	}
	return NULL;
}

static struct vmop_error *print_all(struct vmop_db *db)
{
	uint64_t samples = 0, span[3] = {0};
	/* A live session may store chunks, and the stacks that they refer to, in the middle of a
	 * check. */
	struct vmop_error *err = vmop_db_begin_snapshot(db);
	if (!err)
		err = vmop_db_check(db);
	if (!err)
		err = print_info(db);
	if (!err)
		err = vmop_db_each_total(db, &(struct vmop_db_filter){0}, add_total, &samples);
	if (!err)
		err = vmop_db_each_interval(db, print_interval, span);
	if (!err)
		printf("samples %" PRIu64 "\nintervals %" PRIu64 "\nspan_ns %" PRIu64
		       "\nfirst_ns %" PRIu64 "\n",
		       samples, span[0], span[1], span[2]);
	if (!err)
		err = vmop_db_each_image(db, print_image, db);
	return err ? err : vmop_db_each_loss(db, print_loss, NULL);
}

int main(int argc, char **argv)
{
	struct vmop_db *db = NULL;
	struct vmop_error *err = vmop_db_open(argc == 2 ? argv[1] : "", &db);
	if (!err)
		err = print_all(db);
	vmop_db_close(db);
	int status = err != NULL;
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	return status;
}
