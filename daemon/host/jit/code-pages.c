// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/jit/code-pages.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without memory, HASH_ADD leaves the element's tbl NULL: look-ups do not find it. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <xxhash.h>

#include "daemon/host/procfs.h"
#include "daemon/host/readers.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"

#define PAGE_BYTES VMOP_DB_CODE_MAX_BYTES
#define JOB_MS 2000

/* Pages of one process that a job reads. */
enum { JOB_PAGES_MAX = 64 };

struct page_key {
	uint64_t address;
	uint64_t image; /* id; 64 bits, so that the key has no padding */
};

/* A page with samples. */
struct page {
	struct page_key key;
	UT_hash_handle hh;
	uint64_t hash; /* of the bytes that were taken last */
	unsigned n_versions;
	bool is_wanted; /* by the next job of its process */
	bool is_pending;
	uint32_t pid; /* 0: the page is one of a jitdump */
	uint64_t process_start_ns;
	struct page *next_wanted;
};

/* Bytes to store. */
struct taken {
	struct page_key key;
	uint64_t time_ns; /* CLOCK_REALTIME */
	size_t len_bytes;
	uint8_t bytes[PAGE_BYTES];
};

struct vmop_code_pages {
	struct vmop_processes *processes;
	struct vmop_readers *readers;
	struct page *pages; /* by key */
	struct page *wanted;
	size_t n_wanted;
	/* The jitdump of the wanted pages of an image: one at a time, so that few files are open.
	 */
	uint64_t dump_image;	/* id; 0: none */
	uint64_t missing_image; /* the last one without a jitdump that can be read */
	int dump_fd;
	struct taken *taken;
	size_t n_taken, capacity;
	uint64_t left_bytes, storing_bytes; /* of the bound; of the open interval */
	bool limit_was_logged;
};

/* A read of pages of one process, or of one jitdump. */
struct reading {
	struct vmop_read_job job;
	char *root;
	uint32_t pid;
	int dump_fd;		   /* -1: of a process */
	uint64_t process_start_ns; /* CLOCK_MONOTONIC */
	uint64_t boot_to_monotonic_ns;
	size_t n;
	struct {
		struct page_key key;
		size_t len_bytes; /* 0: not read */
	} pages[JOB_PAGES_MAX];
	uint64_t time_ns;
	uint8_t (*bytes)[PAGE_BYTES]; /* n */
};

/* ---- on the reader's thread ------------------------------------------------- */

/* Return whether the pid is still that of the process: its start is known to two ticks. */
static bool is_same_process(const struct reading *reading)
{
	struct vmop_procfs_stat stat;
	uint64_t tick_ns = VMOP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	if (!vmop_procfs_stat(reading->root, reading->pid, &stat))
		return false;
	uint64_t start_ns = stat.start_ticks * tick_ns;
	start_ns -=
		start_ns < reading->boot_to_monotonic_ns ? start_ns : reading->boot_to_monotonic_ns;
	uint64_t wanted_ns = reading->process_start_ns;
	uint64_t apart_ns = start_ns < wanted_ns ? wanted_ns - start_ns : start_ns - wanted_ns;
	return apart_ns <= 2 * tick_ns;
}

static void run_reading(struct vmop_read_job *job)
{
	struct reading *reading = (struct reading *)job;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/proc/%u/mem", reading->root, reading->pid);
	bool is_dump = reading->dump_fd >= 0;
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	_cleanup_close_ int fd = is_dump ? vmop_steal_fd(&reading->dump_fd)
					 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	/* The memory that was opened stays that of its process; the pid need not. */
	if (fd < 0 || (!is_dump && !is_same_process(reading)))
		return;
	reading->time_ns = vmop_clock_ns(CLOCK_REALTIME);
	for (size_t i = 0; i < reading->n; i++) {
		off_t at = (off_t)reading->pages[i].key.address;
		ssize_t len = pread(fd, reading->bytes[i], PAGE_BYTES, at);
		reading->pages[i].len_bytes = len > 0 ? (size_t)len : 0;
	}
}

static void destroy_reading(struct vmop_read_job *job)
{
	struct reading *reading = (struct reading *)job;
	if (reading->dump_fd >= 0)
		close(reading->dump_fd);
	free(reading->bytes);
	free(reading->root);
	free(reading);
}

/* ---- on the sampling thread ------------------------------------------------- */

static struct page *find(const struct vmop_code_pages *pages, const struct page_key *key)
{
	struct page *page;
	HASH_FIND(hh, pages->pages, key, sizeof(*key), page);
	return page;
}

/* Keep a page's bytes for the store, unless they are the ones that were taken last. */
static void take(struct vmop_code_pages *pages, struct page *page, uint64_t time_ns,
		 const uint8_t *bytes, size_t len_bytes)
{
	uint64_t hash = XXH3_64bits(bytes, len_bytes);
	if ((page->n_versions && hash == page->hash) ||
	    page->n_versions >= VMOP_CODE_PAGE_VERSIONS_MAX || !pages->left_bytes ||
	    pages->n_taken >= VMOP_CODE_PAGES_READ_MAX ||
	    !vmop_array_reserve(pages->taken, pages->capacity, pages->n_taken + 1))
		return;
	struct taken *taken = &pages->taken[pages->n_taken++];
	taken->key = page->key;
	taken->time_ns = time_ns;
	taken->len_bytes = len_bytes;
	memcpy(taken->bytes, bytes, len_bytes);
	page->hash = hash;
	page->n_versions++;
}

static void finish_reading(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct reading *reading = (struct reading *)job;
	struct vmop_code_pages *pages = arg;
	if (outcome == VMOP_READ_HUNG)
		return;
	for (size_t i = 0; i < reading->n; i++) {
		struct page *page = find(pages, &reading->pages[i].key);
		if (!page)
			continue;
		page->is_pending = false;
		if (outcome == VMOP_READ_DONE && reading->pages[i].len_bytes)
			take(pages, page, reading->time_ns, reading->bytes[i],
			     reading->pages[i].len_bytes);
	}
}

static const struct vmop_read_job_ops reading_ops = {
	.run = run_reading,
	.finish = finish_reading,
	.destroy = destroy_reading,
};

static struct page *add(struct vmop_code_pages *pages, const struct page_key *key)
{
	if (HASH_COUNT(pages->pages) >= VMOP_CODE_PAGES_MAX)
		return NULL;
	struct page *page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->key = *key;
	HASH_ADD(hh, pages->pages, key, sizeof(page->key), page);
	if (page->hh.tbl)
		return page;
	free(page); /* no memory for the table */
	return NULL;
}

/* Add a page to those that the next reads take. */
static void want(struct vmop_code_pages *pages, struct page *page, uint32_t pid,
		 uint64_t process_start_ns)
{
	page->pid = pid;
	page->process_start_ns = process_start_ns;
	page->is_wanted = true;
	page->next_wanted = pages->wanted;
	pages->wanted = page;
	pages->n_wanted++;
}

/* Return whether the image's jitdump can be read in this interval. */
static bool open_dump(struct vmop_code_pages *pages, const struct vmop_jitdumps *dumps,
		      const struct vmop_image *image)
{
	if (pages->dump_fd < 0 && dumps && pages->missing_image != image->id.number)
		pages->dump_fd = vmop_jitdumps_open_file(dumps, image);
	if (pages->dump_fd >= 0 && !pages->dump_image)
		pages->dump_image = image->id.number;
	if (pages->dump_fd < 0)
		pages->missing_image = image->id.number;
	return pages->dump_image && pages->dump_image == image->id.number;
}

void vmop_code_pages_sampled(struct vmop_code_pages *pages, const struct vmop_jitdumps *dumps,
			     struct vmop_image *image, uint64_t offset)
{
	bool is_mapped = image->pid && offset >= image->map_start && offset < image->map_end;
	if (image->kind != VMOP_IMAGE_ANON || !vmop_domain_id_is_host(image->domain) ||
	    image->base || (image->pid && !is_mapped) ||
	    pages->n_wanted >= VMOP_CODE_PAGES_READ_MAX || !pages->left_bytes)
		return;
	uint32_t pid = image->pid;
	uint64_t process_start_ns = image->process_start_ns;
	image = vmop_image_canonical(image);
	struct page_key key = {
		.address = offset & ~(uint64_t)(PAGE_BYTES - 1),
		.image = vmop_images_assign_id(pages->processes->images, image).number};
	struct page *page = find(pages, &key);
	if (page && (page->is_wanted || page->is_pending ||
		     page->n_versions >= VMOP_CODE_PAGE_VERSIONS_MAX))
		return;
	if (!pid && !open_dump(pages, dumps, image))
		return;
	if (!page)
		page = add(pages, &key);
	if (page)
		want(pages, page, pid, process_start_ns);
}

static struct reading *make_reading(const struct vmop_code_pages *pages, const struct page *page)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	if (!reading)
		return NULL;
	*reading = (struct reading){
		.job = {.ops = &reading_ops, .place = page->pid},
		.root = strdup(pages->processes->root),
		.pid = page->pid,
		.dump_fd = page->pid ? -1 : fcntl(pages->dump_fd, F_DUPFD_CLOEXEC, 0),
		.process_start_ns = page->process_start_ns,
		.boot_to_monotonic_ns = pages->processes->boot_to_monotonic_ns,
		.bytes = calloc(JOB_PAGES_MAX, PAGE_BYTES),
	};
	if (reading->root && reading->bytes)
		return reading;
	destroy_reading(&reading->job);
	return NULL;
}

/* Submit a read of the wanted pages of the first one's process, and return the others. */
static struct page *submit_first(struct vmop_code_pages *pages, struct page *wanted)
{
	struct reading *reading = make_reading(pages, wanted);
	struct page *others = NULL, *next;
	uint32_t pid = wanted->pid;
	for (struct page *page = wanted; page; page = next) {
		next = page->next_wanted;
		if (page->pid != pid || (reading && reading->n == JOB_PAGES_MAX)) {
			page->next_wanted = others;
			others = page;
			continue;
		}
		page->is_wanted = false;
		page->is_pending = reading != NULL;
		if (reading)
			reading->pages[reading->n++].key = page->key;
	}
	if (reading)
		vmop_readers_submit(pages->readers, &reading->job);
	return others;
}

void vmop_code_pages_collect(struct vmop_code_pages *pages, unsigned wait_ms)
{
	while (pages->wanted)
		pages->wanted = submit_first(pages, pages->wanted);
	pages->n_wanted = 0;
	if (pages->dump_fd >= 0)
		close(pages->dump_fd);
	pages->dump_fd = -1;
	pages->dump_image = pages->missing_image = 0;
	vmop_readers_collect(pages->readers, wait_ms);
}

struct vmop_error *vmop_code_pages_store(struct vmop_code_pages *pages, struct vmop_db *db)
{
	struct vmop_error *err = NULL;
	pages->storing_bytes = 0;
	for (size_t i = 0; i < pages->n_taken && !err; i++) {
		const struct taken *taken = &pages->taken[i];
		const struct vmop_db_code code = {
			.image = {(uint32_t)taken->key.image},
			.offset = taken->key.address,
			.time_ns = taken->time_ns,
			.bytes = taken->bytes,
			.len_bytes = taken->len_bytes,
		};
		size_t stored_bytes;
		if (pages->storing_bytes >= pages->left_bytes)
			break;
		err = vmop_db_put_code(db, &code, &stored_bytes);
		pages->storing_bytes += stored_bytes;
	}
	if (!err && pages->storing_bytes >= pages->left_bytes && pages->n_taken)
		err = vmop_db_put_info(db, "code", "full");
	return err;
}

void vmop_code_pages_stored(struct vmop_code_pages *pages)
{
	bool is_full = pages->storing_bytes >= pages->left_bytes;
	pages->left_bytes -= is_full ? pages->left_bytes : pages->storing_bytes;
	pages->storing_bytes = 0;
	pages->n_taken = 0;
	if (is_full && !pages->limit_was_logged) {
		pages->limit_was_logged = true;
		vmop_log_info("no more generated code is stored: --code sets its room");
	}
}

struct vmop_error *vmop_code_pages_create(struct vmop_processes *processes, uint64_t max_bytes,
					  struct vmop_code_pages **ret)
{
	struct vmop_code_pages *pages = calloc(1, sizeof(*pages));
	if (!pages)
		return &vmop_error_no_memory;
	pages->processes = processes;
	pages->left_bytes = max_bytes;
	pages->dump_fd = -1;
	struct vmop_error *err = vmop_readers_create("vmopd-code", JOB_MS, pages, &pages->readers);
	if (err) {
		free(pages);
		return err;
	}
	*ret = pages;
	return NULL;
}

void vmop_code_pages_destroy(struct vmop_code_pages *pages)
{
	struct page *page, *next;
	if (!pages)
		return;
	vmop_readers_destroy(pages->readers);
	if (pages->dump_fd >= 0)
		close(pages->dump_fd);
	HASH_ITER (hh, pages->pages, page, next) {
		HASH_DEL(pages->pages, page);
		free(page);
	}
	free(pages->taken);
	free(pages);
}
