// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/jit/code-pages.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/host/code/code-store.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/procfs.h"
#include "libutil/readers.h"

#define PAGE_BYTES VMOP_CODE_PAGE_BYTES
#define JOB_MS 2000

/* Pages of one process that a job reads. */
enum { JOB_PAGES_MAX = 64 };

struct vmop_code_pages {
	struct vmop_processes *processes;
	struct vmop_readers *readers;
	struct vmop_code_store *store;
	struct vmop_code_page *wanted;
	size_t n_wanted;
	/* The jitdump of the wanted pages of an image: one at a time, so that few files are open.
	 */
	uint64_t dump_image;	/* id; 0: none */
	uint64_t missing_image; /* the last one without a jitdump that can be read */
	int dump_fd;
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
		struct vmop_code_key key;
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
		off_t at = (off_t)reading->pages[i].key.offset;
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

static void finish_reading(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct reading *reading = (struct reading *)job;
	struct vmop_code_pages *pages = arg;
	if (outcome == VMOP_READ_HUNG)
		return;
	for (size_t i = 0; i < reading->n; i++) {
		struct vmop_code_page *page =
			vmop_code_store_find(pages->store, &reading->pages[i].key);
		if (!page)
			continue;
		page->is_pending = false;
		if (outcome == VMOP_READ_DONE && reading->pages[i].len_bytes)
			vmop_code_store_take(pages->store, page, reading->time_ns,
					     reading->bytes[i], reading->pages[i].len_bytes);
	}
}

static const struct vmop_read_job_ops reading_ops = {
	.run = run_reading,
	.finish = finish_reading,
	.destroy = destroy_reading,
};

/* Add a page to those that the next reads take. */
static void want(struct vmop_code_pages *pages, struct vmop_code_page *page, uint32_t pid,
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
	    pages->n_wanted >= VMOP_CODE_PAGES_READ_MAX || !vmop_code_store_has_room(pages->store))
		return;
	uint32_t pid = image->pid;
	uint64_t process_start_ns = image->process_start_ns;
	image = vmop_image_canonical(image);
	struct vmop_code_key key = {
		.offset = offset & ~(uint64_t)(PAGE_BYTES - 1),
		.image = vmop_images_assign_id(pages->processes->images, image).number};
	struct vmop_code_page *page = vmop_code_store_find(pages->store, &key);
	if (page && (page->is_wanted || page->is_pending || !vmop_code_page_is_open(page)))
		return;
	if (!pid && !open_dump(pages, dumps, image))
		return;
	page = vmop_code_store_get(pages->store, &key);
	if (page)
		want(pages, page, pid, process_start_ns);
}

static struct reading *make_reading(const struct vmop_code_pages *pages,
				    const struct vmop_code_page *page)
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
static struct vmop_code_page *submit_first(struct vmop_code_pages *pages,
					   struct vmop_code_page *wanted)
{
	struct reading *reading = make_reading(pages, wanted);
	struct vmop_code_page *others = NULL, *next;
	uint32_t pid = wanted->pid;
	for (struct vmop_code_page *page = wanted; page; page = next) {
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

struct vmop_error *vmop_code_pages_create(struct vmop_processes *processes,
					  struct vmop_code_store *store,
					  struct vmop_code_pages **ret)
{
	struct vmop_code_pages *pages = calloc(1, sizeof(*pages));
	if (!pages)
		return &vmop_error_no_memory;
	pages->processes = processes;
	pages->store = store;
	pages->dump_fd = -1;
	struct vmop_error *err =
		vmop_readers_create("vmopd-code", JOB_MS, 0, pages, &pages->readers);
	if (err) {
		free(pages);
		return err;
	}
	*ret = pages;
	return NULL;
}

void vmop_code_pages_destroy(struct vmop_code_pages *pages)
{
	if (!pages)
		return;
	vmop_readers_destroy(pages->readers);
	if (pages->dump_fd >= 0)
		close(pages->dump_fd);
	free(pages);
}
