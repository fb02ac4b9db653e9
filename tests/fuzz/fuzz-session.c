// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a session file: open it, and read it by every walk. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdb/db.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static uint64_t seen;

/* Read the argument of a callback to its end, so that a sanitizer checks it. */
static void see(const char *text)
{
	if (text)
		seen += strlen(text);
}

static struct vmop_error *see_event(void *arg, const struct vmop_db_event *event)
{
	(void)arg;
	see(event->name);
	see(event->source);
	see(event->unit);
	see(event->note);
	return NULL;
}

static struct vmop_error *see_domain(void *arg, const struct vmop_db_domain *domain)
{
	(void)arg;
	see(domain->name);
	see(domain->uuid);
	see(domain->vmm);
	return NULL;
}

static struct vmop_error *see_vcpu(void *arg, const struct vmop_db_vcpu *vcpu)
{
	(void)arg;
	seen += vcpu->tid;
	return NULL;
}

static struct vmop_error *see_task(void *arg, const struct vmop_db_task *task)
{
	(void)arg;
	see(task->comm);
	see(task->cgroup);
	return NULL;
}

static struct vmop_error *see_code(void *arg, const struct vmop_db_code *code)
{
	const uint8_t *bytes = code->bytes;
	(void)arg;
	if (!code->len_bytes || code->len_bytes > VMOP_DB_CODE_MAX_BYTES)
		abort();
	for (size_t i = 0; i < code->len_bytes; i++)
		seen += bytes[i];
	return NULL;
}

/* Read the symbols and the code of each image during the walk over the images. */
static struct vmop_error *see_image(void *arg, const struct vmop_db_image *image)
{
	struct vmop_symbol *symbols;
	size_t n;
	see(image->name);
	see(image->root);
	struct vmop_error *err = vmop_db_get_symbols(arg, image->id, &symbols, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		see(symbols[i].name);
	free(symbols);
	return vmop_db_each_code(arg, image->id, 0, UINT64_MAX, see_code, NULL);
}

static struct vmop_error *see_wait(void *arg, const struct vmop_db_wait *wait)
{
	(void)arg;
	if (wait->state >= VMOP_WAIT_N_STATES)
		abort();
	return NULL;
}

static struct vmop_error *see_interval_wait(void *arg, const struct vmop_db_interval *interval,
					    const struct vmop_db_wait *wait)
{
	seen += interval->start_ns + interval->len_ns;
	return see_wait(arg, wait);
}

static struct vmop_error *see_exit_place(void *arg, const struct vmop_db_exit_place *place)
{
	(void)arg;
	(void)place;
	return NULL;
}

static struct vmop_error *see_culprit(void *arg, const struct vmop_db_culprit *culprit)
{
	(void)arg;
	if (culprit->kind >= VMOP_CULPRIT_N_KINDS || !culprit->name)
		abort();
	return NULL;
}

static struct vmop_error *see_loss(void *arg, const struct vmop_db_loss *loss)
{
	(void)arg;
	see(loss->name);
	return NULL;
}

static struct vmop_error *see_total(void *arg, const struct vmop_db_total *total)
{
	(void)arg;
	seen += total->samples;
	return NULL;
}

static void see_cells(const struct vmop_db_cell *cells, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		seen += cells[i].samples;
		if (i && cells[i].offset <= cells[i - 1].offset)
			abort();
	}
}

static struct vmop_error *see_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	(void)arg;
	seen += chunk->interval->start_ns;
	see_cells(chunk->cells, chunk->n_cells);
	return NULL;
}

static struct vmop_error *see_detail(void *arg, const struct vmop_db_detail *detail)
{
	(void)arg;
	seen += detail->end_ns - detail->start_ns;
	if (!detail->n_intervals)
		abort();
	return NULL;
}

static struct vmop_error *see_sum(void *arg, const struct vmop_db_sum *sum)
{
	(void)arg;
	see_cells(sum->cells, sum->n_cells);
	return NULL;
}

static void see_stacks(struct vmop_db *db)
{
	struct vmop_db_stacks *stacks;
	struct vmop_db_stack_node node;
	vmop_error_destroy(vmop_db_load_stacks(db, 1 << 20, &stacks)); /* NULL after an error */
	for (uint32_t id = 1; id <= vmop_db_stacks_last(stacks); id++) {
		if (!vmop_db_stacks_node(stacks, (struct vmop_stack_id){id}, &node) ||
		    node.parent.number >= id)
			abort();
		seen += node.offset;
	}
	vmop_db_stacks_destroy(stacks);
}

static void read_everything(struct vmop_db *db)
{
	struct vmop_db_filter filter = {.from_ns = UINT64_C(1700000050000000000)};
	char *value = NULL;
	vmop_error_destroy(vmop_db_get_info(db, "hostname", &value));
	see(value);
	free(value);
	vmop_error_destroy(vmop_db_each_event(db, see_event, NULL));
	vmop_error_destroy(vmop_db_each_domain(db, see_domain, NULL));
	vmop_error_destroy(vmop_db_each_vcpu(db, see_vcpu, NULL));
	vmop_error_destroy(vmop_db_each_task(db, see_task, NULL));
	vmop_error_destroy(vmop_db_each_image(db, see_image, db));
	vmop_error_destroy(vmop_db_each_loss(db, see_loss, NULL));
	vmop_error_destroy(vmop_db_each_culprit(db, see_culprit, NULL));
	vmop_error_destroy(vmop_db_each_wait_in(db, 0, 0, see_wait, NULL));
	vmop_error_destroy(vmop_db_each_interval_wait(db, 0, 0, see_interval_wait, NULL));
	vmop_error_destroy(vmop_db_each_exit_place_in(db, 1, 1000, see_exit_place, NULL));
	vmop_error_destroy(vmop_db_each_total(db, &filter, see_total, NULL));
	vmop_error_destroy(vmop_db_each_chunk(db, NULL, see_chunk, NULL));
	vmop_error_destroy(vmop_db_each_piece(db, NULL, see_chunk, NULL));
	vmop_error_destroy(vmop_db_each_sum(db, NULL, VMOP_DB_MERGE_TASKS, see_sum, NULL));
	vmop_error_destroy(vmop_db_each_sum(db, NULL, VMOP_DB_MERGE_STACKS, see_sum, NULL));
	vmop_error_destroy(vmop_db_each_detail(db, see_detail, NULL));
	filter.needs_no_times = true;
	vmop_error_destroy(vmop_db_each_piece(db, &filter, see_chunk, NULL));
	see_stacks(db);
	vmop_error_destroy(vmop_db_check(db));
}

/* One file in memory, which each run overwrites. */
static char dir[] = "/dev/shm/vmop-fuzz-session-XXXXXX";
static char path[sizeof(dir) + 16], wal[sizeof(dir) + 16], shm[sizeof(dir) + 16];

/* Remove the file that WAL mode adds: the next run must not find it. */
static void remove_wal(void)
{
	unlink(wal);
	unlink(shm);
}

static void remove_all(void)
{
	remove_wal();
	unlink(path);
	rmdir(dir);
}

static FILE *make_file(void)
{
	if (!mkdtemp(dir)) {
		perror(dir);
		exit(3);
	}
	snprintf(path, sizeof(path), "%s/session", dir);
	snprintf(wal, sizeof(wal), "%s/session-wal", dir);
	snprintf(shm, sizeof(shm), "%s/session-shm", dir);
	atexit(remove_all);
	return fopen(path, "w");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static FILE *file;
	struct vmop_db *db;
	if (!file)
		file = make_file();
	if (!file || ftruncate(fileno(file), 0) < 0 ||
	    pwrite(fileno(file), data, len_bytes, 0) != (ssize_t)len_bytes)
		abort();
	struct vmop_error *err = vmop_db_open(path, &db);
	if (!err) {
		read_everything(db);
		vmop_db_close(db);
	}
	vmop_error_destroy(err);
	remove_wal();
	return 0;
}
