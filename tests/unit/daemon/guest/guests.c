// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples of a guest whose kernel is found later.  The VMM is a child process, and the guest's RAM
 * is synthetic: a kernel appears in it as one that boots.
 */
#include "daemon/guest/guests.h"

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/guest/view.h"
#include "daemon/host/image.h"
#include "daemon/host/task.h"
#include "libutil/clock.h"
#include "tests/unit/daemon/vmm.h"
#include "tests/unit/libguest/synthetic.h"

#define PATIENCE_MS 60000 /* an idle machine takes some milliseconds */
#define KERNEL_IP (SYNTHETIC_TEXT + 0x10)
#define USER_IP UINT64_C(0x400010)
#define NOWHERE_IP (SYNTHETIC_TEXT - 0x100000)
#define FIRMWARE_IP UINT64_C(0xea65f)

static struct synthetic made;
static uint8_t *ram; /* shared with the VMM */
static pid_t vmm;
static struct vmop_images images;
static struct vmop_domains domains;
static struct vmop_tasks tasks;
static struct vmop_guests *guests;
static struct vmop_domain *domain;
static uint64_t begun_ns;

static int begin(void **state)
{
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){0});
	ram = mmap(NULL, SYNTHETIC_RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		   -1, 0);
	assert_true(ram != MAP_FAILED);
	vmm = vmm_begin();
	assert_null(vmop_images_init(&images, 1024));
	assert_null(vmop_domains_init(&domains, NULL, NULL, &images, NULL, NULL));
	assert_null(vmop_guests_create(&domains, &images, &tasks, 1000, NULL, NULL, &guests));
	domain = vmop_domains_new(&domains);
	assert_non_null(domain);
	vmop_domain_set_name(domain, "g1");
	vmop_domain_set_kind(domain, VMOP_DOMAIN_PASSIVE);
	vmop_domain_set_vmm_pid(domain, (uint32_t)vmm);
	vmop_domain_name_images(domain);
	begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

/* Begin with a guest that is watched already. */
static int begin_watched(void **state)
{
	begin(state);
	vmop_guests_tick(guests);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_guests_destroy(guests);
	vmm_end(vmm);
	vmop_domains_deinit(&domains);
	vmop_tasks_deinit(&tasks);
	vmop_images_deinit(&images);
	munmap(ram, SYNTHETIC_RAM_BYTES);
	synthetic_free(&made);
	return 0;
}

static void hold(enum vmop_mode mode, uint64_t ip)
{
	const struct vmop_sample_key key = {.domain = domain->id, .mode = (uint8_t)mode};
	const struct vmop_record record = {.time_ns = vmop_clock_ns(CLOCK_MONOTONIC),
					   .sample = {.ip = ip, .weight_events = 1}};
	assert_true(vmop_guests_hold(guests, domain, &key, &record, 0, NULL));
}

/* The samples that were released, each as "IMAGE+OFFSET "; and how many of them have a task. */
static char released[1024];
static unsigned n_with_task;

static void put(void *arg, const struct vmop_guest_sample *sample)
{
	(void)arg;
	size_t len = strlen(released);
	snprintf(released + len, sizeof(released) - len, "%s+%llx ", sample->image->name,
		 (unsigned long long)sample->offset);
	sample->image->is_sampled = true;
	n_with_task += sample->key.task.number != 0;
}

static const char *release(void)
{
	*released = '\0';
	vmop_guests_release(guests, &(struct vmop_guest_sink){.put = put});
	return released;
}

/* Return the first samples that are released; "": none within PATIENCE_MS. */
static const char *release_some(void)
{
	for (int waited_ms = 0; !*release() && waited_ms < PATIENCE_MS; waited_ms += 5)
		poll(NULL, 0, 5);
	return released;
}

/* Skip the test if it took longer than samples wait, in seconds of real time. */
static void must_be_within(unsigned limit_s)
{
	if (vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns < limit_s * VMOP_NS_PER_S)
		return;
	printf("skipped: the machine is too busy for a wait of %u s\n", limit_s);
	exit(77);
}

static void wait_until(bool (*has)(const struct vmop_guest_view *view))
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		release(); /* takes the view over */
		const struct vmop_guest_view *view = vmop_guests_view(guests, domain);
		if (view && has(view))
			return;
		poll(NULL, 0, 5);
	}
	fail_msg("no view of the guest has that");
}

static bool has_looked(const struct vmop_guest_view *view)
{
	return view->error;
}

static bool has_tasks(const struct vmop_guest_view *view)
{
	return view->tasks;
}

static void a_booting_kernels_samples_wait_for_its_symbols(void **state)
{
	(void)state;
	wait_until(has_looked);
	hold(VMOP_MODE_KERNEL, KERNEL_IP);
	hold(VMOP_MODE_USER, USER_IP);
	assert_string_equal(release(), "[guest g1 user]+400010 ");
	assert_string_equal(release(), "");
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	const char *all = release_some();
	must_be_within(14);
	assert_string_equal(all, "[guest g1 kernel]+10 ");
	wait_until(has_tasks);
	hold(VMOP_MODE_KERNEL, NOWHERE_IP);
	assert_string_equal(release(), "[guest g1 unknown kernel text]+ffffffff99f00000 ");
}

static void samples_of_a_new_guest_wait_for_its_symbols(void **state)
{
	(void)state;
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	hold(VMOP_MODE_KERNEL, KERNEL_IP);
	const char *first = release();
	must_be_within(2);
	assert_string_equal(first, "");
	vmop_guests_tick(guests);
	const char *all = release_some();
	must_be_within(14);
	assert_string_equal(all, "[guest g1 kernel]+10 ");
}

static void samples_that_could_not_wait_have_their_own_image(void **state)
{
	(void)state;
	wait_until(has_looked);
	while (!vmop_guests_want_flush(guests))
		hold(VMOP_MODE_KERNEL, KERNEL_IP);
	struct vmop_image *before = domain->kernel;
	vmop_images_assign_id(&images, before);
	static const char first[] = "[guest g1 kernel]+ffffffff9a000010 ";
	assert_memory_equal(release(), first, strlen(first));
	before->is_sampled = false; /* the interval was stored */
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	wait_until(has_tasks);
	assert_string_equal(before->name, "[guest g1 kernel, not yet found]");
	assert_true(before->is_sampled); /* its new name is stored */
	hold(VMOP_MODE_KERNEL, KERNEL_IP);
	hold(VMOP_MODE_KERNEL, NOWHERE_IP);
	assert_string_equal(release(), "[guest g1 kernel]+10 "
				       "[guest g1 unknown kernel text]+ffffffff99f00000 ");
}

/* A reset leaves the kernel from before, with its tasks, in the guest's memory. */
static void firmware_is_no_kernel_and_has_no_task(void **state)
{
	(void)state;
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	wait_until(has_tasks);
	n_with_task = 0;
	hold(VMOP_MODE_KERNEL, FIRMWARE_IP);
	assert_string_equal(release(), "[guest g1 firmware or boot code]+ea65f ");
	assert_int_equal(n_with_task, 0);
}

static void no_sample_waits_at_the_end(void **state)
{
	(void)state;
	wait_until(has_looked);
	hold(VMOP_MODE_KERNEL, KERNEL_IP);
	vmop_guests_set_ending(guests, true);
	assert_string_equal(release(), "[guest g1 kernel]+ffffffff9a000010 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_booting_kernels_samples_wait_for_its_symbols,
						begin_watched, end),
		cmocka_unit_test_setup_teardown(samples_of_a_new_guest_wait_for_its_symbols, begin,
						end),
		cmocka_unit_test_setup_teardown(samples_that_could_not_wait_have_their_own_image,
						begin_watched, end),
		cmocka_unit_test_setup_teardown(firmware_is_no_kernel_and_has_no_task,
						begin_watched, end),
		cmocka_unit_test_setup_teardown(no_sample_waits_at_the_end, begin_watched, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
