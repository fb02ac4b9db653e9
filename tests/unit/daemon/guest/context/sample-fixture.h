// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session over one guest, for the tests of samples with contexts: the VMM is a child process with
 * a synthetic guest in its memory, and the contexts have the addresses of its objects, as the
 * kernel's program would read them. Each program includes it once.
 */
#ifndef VMOP_TEST_SAMPLE_FIXTURE_H
#define VMOP_TEST_SAMPLE_FIXTURE_H

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/guest/context/frames.h"
#include "daemon/guest/context/samples.h"
#include "daemon/guest/guests.h"
#include "daemon/host/task.h"
#include "libutil/clock.h"
#include "tests/unit/daemon/guest/context/guest-maps-double.h"
#include "tests/unit/daemon/vmm.h"
#include "tests/unit/libguest/synthetic.h"

#define PATIENCE_MS 60000			       /* an idle machine takes some milliseconds */
#define STACK_POINTER (VMOP_GUEST_REGS == 33 ? 31 : 7) /* DWARF's number */
#define KERNEL_IP (SYNTHETIC_TEXT + 0x10)
#define WORKER_IP UINT64_C(0x401234) /* in page 1 of /bin/worker, whose bytes are 0x77 */
#define GENERATED_IP UINT64_C(0x7f0000000040)

static struct synthetic made;
static uint8_t *ram; /* shared with the VMM */
static pid_t vmm;
static struct vmop_images images;
static struct vmop_domains domains;
static struct vmop_tasks tasks;
static struct vmop_guests *guests;
static struct vmop_guest_maps maps;
static struct vmop_domain *domain;

/* ---- the guest ------------------------------------------------------------------------ */

static inline uint64_t get(uint64_t object, enum vmop_layout_field field)
{
	return synthetic_get_u64(&made, synthetic_member(&made, object, field));
}

static inline void set(uint64_t object, enum vmop_layout_field field, uint64_t value)
{
	synthetic_put_u64(&made, synthetic_member(&made, object, field), value);
}

/* Give /tmp/perf-2.map the page of memory that /bin/worker has otherwise. */
static inline void write_perf_map(const char *text)
{
	uint64_t page_bytes = (uint32_t)made.layout.value[VMOP_LAYOUT_PAGE_SIZE];
	uint64_t mapping = get(made.map_inode, VMOP_LAYOUT_INODE_MAPPING);
	memcpy(made.ram + (made.page - SYNTHETIC_VMEMMAP) / page_bytes * 4096, text, strlen(text));
	set(made.map_inode, VMOP_LAYOUT_INODE_SIZE, strlen(text));
	set(mapping, VMOP_LAYOUT_MAPPING_HEAD, made.page);
	synthetic_give_page(&made, mapping);
}

/* Begin a session, with the watching thread of the one before (NULL: none). */
static inline void open_session(enum vmop_stack_mode mode, struct vmop_guest_watch **before)
{
	const struct vmop_stack_options stacks = {
		.mode = mode, .user_stack_bytes = 8192, .max_frames = VMOP_STACK_FRAMES_MAX};
	assert_null(vmop_images_init(&images, 1024));
	assert_null(vmop_domains_init(&domains, NULL, NULL, &images, NULL, NULL));
	assert_null(vmop_guests_create(&domains, &images, &tasks, 1000, NULL, before, &guests));
	vmop_guests_set_maps(guests, &maps, &stacks);
	domain = vmop_domains_new(&domains);
	assert_non_null(domain);
	vmop_domain_set_name(domain, "g1");
	vmop_domain_set_kind(domain, VMOP_DOMAIN_PASSIVE);
	vmop_domain_set_vmm_pid(domain, (uint32_t)vmm);
	vmop_domain_name_images(domain);
	vmop_guests_tick(guests);
}

/* Begin the first session, and wait until its guest is known. */
static inline void begin_session(enum vmop_stack_mode mode)
{
	maps = (struct vmop_guest_maps){0};
	open_session(mode, NULL);
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		vmop_guests_drained(guests);
		const struct vmop_guest_view *view = vmop_guests_view(guests, domain);
		if (view && view->tasks && maps.vmm_pid)
			return;
		poll(NULL, 0, 5);
	}
	fail_msg("no view of the guest has its processes");
}

static inline void begin_with(enum vmop_stack_mode mode)
{
	ram = mmap(NULL, SYNTHETIC_RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		   -1, 0);
	assert_true(ram != MAP_FAILED);
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	vmm = vmm_begin();
	begin_session(mode);
}

static inline int begin(void **state)
{
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){0});
	begin_with(VMOP_STACKS_OFF);
	return 0;
}

static inline int begin_with_stacks(void **state)
{
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){0});
	begin_with(VMOP_STACKS_CFI);
	return 0;
}

static inline int begin_with_map(void **state)
{
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){0});
	write_perf_map("7f0000000000 80 generated_function\n");
	begin_with(VMOP_STACKS_OFF);
	return 0;
}

/* The worker has another pid in its container, and the map has that one in its name. */
static inline int begin_with_container_map(void **state)
{
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){0});
	write_perf_map("7f0000000000 80 contained_function\n");
	uint64_t alias = get(made.map_inode, VMOP_LAYOUT_INODE_DENTRIES);
	uint64_t dentry = alias - (uint32_t)made.layout.value[VMOP_LAYOUT_DENTRY_ALIAS];
	strcpy((char *)synthetic_at(&made, get(dentry, VMOP_LAYOUT_DENTRY_NAME)), "perf-77.map");
	set(made.task[2], VMOP_LAYOUT_TASK_FS, get(made.task[1], VMOP_LAYOUT_TASK_FS));
	begin_with(VMOP_STACKS_OFF);
	return 0;
}

static inline void end_session(void)
{
	vmop_domains_deinit(&domains);
	vmop_tasks_stored(&tasks, NULL); /* forgets those that wait for their row */
	vmop_tasks_deinit(&tasks);
	vmop_images_deinit(&images);
}

static inline int end(void **state)
{
	(void)state;
	vmop_guests_destroy(guests);
	vmm_end(vmm);
	end_session();
	munmap(ram, SYNTHETIC_RAM_BYTES);
	synthetic_free(&made);
	return 0;
}

/* ---- contexts ---------------------------------------------------------------------------- */

/* Return the context of "worker" in its file. */
static inline struct vmop_guest_context worker_context(void)
{
	struct vmop_guest_context context = {
		.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE |
			 VMOP_GUEST_HAS_GPA | VMOP_GUEST_HAS_CODE | VMOP_GUEST_HAS_PAGE |
			 VMOP_GUEST_HAS_INODE | VMOP_GUEST_HAS_TASK | VMOP_GUEST_IS_USER,
		.code_bytes = 16,
		.generation = maps.numbers.generation,
		.page_table = SYNTHETIC_USER_PGD_GPA,
		.gpa = 0x100000,
		.mapping = get(made.inode, VMOP_LAYOUT_INODE_MAPPING),
		.index = 1,
		.inode = made.inode,
		.superblock = get(made.inode, VMOP_LAYOUT_INODE_SUPER),
		.inode_number = get(made.inode, VMOP_LAYOUT_INODE_NUMBER),
		.inode_generation = 7,
		.task = made.task[2],
		.start_time_ns = 2000,
		.pid = 2,
		.tid = 2,
		.comm = "worker",
	};
	memset(context.code, 0x77, sizeof(context.code));
	context.regs[VMOP_GUEST_REGS - 1] = WORKER_IP;
	return context;
}

/* Return the context of a program that no list has. */
static inline struct vmop_guest_context brief_context(void)
{
	struct vmop_guest_context context = worker_context();
	context.pid = context.tid = 99;
	context.start_time_ns = 12345;
	context.task = made.task[2] + 64;
	context.page_table = 0x777000;
	strcpy(context.comm, "brief");
	return context;
}

/* Return the context of the guest's kernel at work for "worker". */
static inline struct vmop_guest_context kernel_context(void)
{
	struct vmop_guest_context context = worker_context();
	context.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_TASK;
	context.regs[VMOP_GUEST_REGS - 1] = KERNEL_IP;
	context.regs[STACK_POINTER] = SYNTHETIC_TEXT + 0x100000;
	return context;
}

static inline void hold(enum vmop_mode mode, uint64_t ip, const struct vmop_guest_context *context)
{
	const struct vmop_sample_key key = {.domain = domain->id, .mode = (uint8_t)mode};
	const struct vmop_record record = {.time_ns = vmop_clock_ns(CLOCK_MONOTONIC),
					   .sample = {.ip = ip, .weight_events = 1}};
	assert_true(vmop_guests_hold(guests, domain, &key, &record, 0, context));
}

/* The samples that were released, each as "COMM IMAGE+OFFSET CERTAINTY [END]; ". */
static char released[1024];

static inline const char *name_of(struct vmop_task_id id)
{
	const struct vmop_task *task;
	for (task = tasks.pending; task; task = task->next) {
		if (task->id.number == id.number)
			return task->comm;
	}
	return "-";
}

/* Append to released, as far as there is room: a storm of samples has more. */
static inline void append(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void append(const char *format, ...)
{
	size_t len = strlen(released);
	va_list args;
	va_start(args, format);
	vsnprintf(released + len, sizeof(released) - len, format, args);
	va_end(args);
}

static inline void put(void *arg, const struct vmop_guest_sample *sample)
{
	static const char *const certainties[] = {"exact", "likely", "ambiguous"};
	(void)arg;
	append("%s %s+%llx %s", name_of(sample->key.task), sample->image->name,
	       (unsigned long long)sample->offset, certainties[sample->key.certainty]);
	if (sample->callers)
		append(" %zu callers, %d", sample->callers->n, (int)sample->callers->end);
	append("; ");
	vmop_image_mark_sampled(sample->image);
}

static inline void ignore(void *arg, const struct vmop_guest_sample *sample)
{
	(void)arg;
	assert_non_null(sample->image);
}

/* Release all held samples, after the answers that they need. */
static inline const char *release(void)
{
	*released = '\0';
	vmop_guest_watch_await_answers(guests->watch, PATIENCE_MS);
	vmop_guests_release(guests, &(struct vmop_guest_sink){.put = put});
	assert_int_equal(vmop_guests_n_held(guests), 0);
	return released;
}

static inline const char *attribute(enum vmop_mode mode, uint64_t ip,
				    const struct vmop_guest_context *context)
{
	hold(mode, ip, context);
	return release();
}

#endif
