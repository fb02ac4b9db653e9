// SPDX-License-Identifier: GPL-2.0-or-later
/* Look-ups in a guest's view: the image of an address, and the task of a vCPU at a time. */
#include "daemon/guest/view.h"

#include <cmocka.h>
#include <string.h>

enum { GAP_NS = 100 };

static struct vmop_guest_vcpu_readings readings;
static struct vmop_guest_view view = {.vcpus = &readings, .n_vcpus = 1};

static void take(uint64_t time_ns, uint32_t pid)
{
	readings.at[readings.n++ % VMOP_GUEST_READINGS] =
		(struct vmop_guest_reading){.time_ns = time_ns, .pid = pid};
}

/* Return the pid of the reading for time_ns; -1: none. */
static int pid_at(uint64_t time_ns, bool *ret_certain)
{
	struct vmop_guest_reading reading;
	*ret_certain = false;
	if (!vmop_guest_view_reading(&view, 0, time_ns, GAP_NS, &reading, ret_certain))
		return -1;
	return (int)reading.pid;
}

static void readings_on_both_sides_agree_or_not(void **state)
{
	(void)state;
	bool is_certain;
	memset(&readings, 0, sizeof(readings));
	take(1000, 7);
	take(1050, 7);
	take(1100, 8);
	assert_int_equal(pid_at(1020, &is_certain), 7);
	assert_true(is_certain);
	assert_int_equal(pid_at(1060, &is_certain), 7); /* the nearer one */
	assert_false(is_certain);
	assert_int_equal(pid_at(1090, &is_certain), 8);
	assert_false(is_certain);
	assert_int_equal(pid_at(1150, &is_certain), 8); /* no reading after it yet */
	assert_false(is_certain);
}

static void far_readings_are_not_used(void **state)
{
	(void)state;
	bool is_certain;
	memset(&readings, 0, sizeof(readings));
	assert_int_equal(pid_at(1000, &is_certain), -1);
	take(1000, 7);
	take(2000, 7);
	assert_int_equal(pid_at(1500, &is_certain), -1);
	assert_int_equal(pid_at(1050, &is_certain), 7);
	assert_false(is_certain);
	assert_int_equal(pid_at(800, &is_certain), -1);
	struct vmop_guest_reading reading;
	assert_false(vmop_guest_view_reading(&view, 1, 1000, GAP_NS, &reading, &is_certain));
}

static void old_readings_are_overwritten(void **state)
{
	(void)state;
	bool is_certain;
	memset(&readings, 0, sizeof(readings));
	for (uint64_t i = 0; i < 3 * VMOP_GUEST_READINGS; i++)
		take(1000 + i * 10, (uint32_t)i);
	assert_int_equal(pid_at(1000, &is_certain), -1);
	assert_int_equal(pid_at(1000 + (3 * VMOP_GUEST_READINGS - 2) * 10 + 1, &is_certain),
			 3 * VMOP_GUEST_READINGS - 2);
}

static void image_by_address(void **state)
{
	(void)state;
	struct vmop_guest_code_image images[] = {
		{.kind = VMOP_IMAGE_GUEST_KERNEL, .start = 0x1000, .end = 0x3000},
		{.kind = VMOP_IMAGE_MODULE, .start = 0x5000, .end = 0x6000},
	};
	const struct vmop_guest_code text = {.images = images, .n_images = 2};
	assert_null(vmop_guest_code_find(&text, 0xfff));
	assert_ptr_equal(vmop_guest_code_find(&text, 0x1000), &images[0]);
	assert_ptr_equal(vmop_guest_code_find(&text, 0x2fff), &images[0]);
	assert_null(vmop_guest_code_find(&text, 0x3000));
	assert_ptr_equal(vmop_guest_code_find(&text, 0x5fff), &images[1]);
	assert_null(vmop_guest_code_find(&text, UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_on_both_sides_agree_or_not),
		cmocka_unit_test(far_readings_are_not_used),
		cmocka_unit_test(old_readings_are_overwritten),
		cmocka_unit_test(image_by_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
