// SPDX-License-Identifier: GPL-2.0-or-later
/* The counting part of vmop-appio.so, in this process, and vmopstat's reading of it. */
#include "libvmop/stat/io/preload-counts.h"

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libvmop/stat/io/account.h"
#include "libvmop/stat/io/preload.h"

static struct vmop_preload *memory;

static int set_up(void **state)
{
	(void)state;
	char path[] = "/tmp/vmop-test-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, sizeof(*memory)) != 0)
		return -1;
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	assert_false(vmop_preload_attach(path)); /* no magic */
	assert_false(vmop_preload_attach("/dev/null"));
	memory->magic = VMOP_PRELOAD_MAGIC;
	memory->has_times = 1;
	assert_true(vmop_preload_attach(path));
	close(fd);
	unlink(path);
	return 0;
}

static void count(const char *name, int fd, long result, size_t wanted, int os_errno)
{
	const struct vmop_preload_call call = {.id = (uint8_t)vmop_appio_call_id(name),
					       .fd = fd,
					       .result = result,
					       .bytes = result,
					       .wanted = wanted,
					       .begin_ns = vmop_preload_begin(),
					       .os_errno = os_errno};
	errno = 1234;
	vmop_preload_count(&call);
	assert_int_equal(errno, 1234);
}

static void *in_a_thread(void *null_fd)
{
	count("read", *(int *)null_fd, 5, 5, 0);
	return NULL;
}

static void outcomes(void **state)
{
	(void)state;
	int null = open("/dev/null", O_RDWR);
	count("read", null, 100, 100, 0);
	count("read", null, 60, 100, 0);
	count("read", null, 0, 100, 0);
	count("read", null, -1, 0, EINTR);
	count("read", null, -1, 0, EAGAIN);
	count("read", null, -1, 0, EIO);
	pthread_t thread;
	pthread_create(&thread, NULL, in_a_thread, &null);
	pthread_join(thread, NULL);
	close(null);

	struct vmop_stat_io_account account = {0};
	struct vmop_appio_facts facts;
	const struct vmop_appio_sink sink = {&account, vmop_stat_io_account_put_task,
					     vmop_stat_io_account_put_entry};
	assert_null(vmop_stat_io_preload_pass(memory, &sink, &facts));
	assert_int_equal(facts.n_tasks, 2);
	assert_int_equal(account.n_items, 2);
	const struct vmop_stat_io_item *own =
		&account.items[account.items[0].entry.counts.calls == 6 ? 0 : 1];
	const struct vmop_appio_counts *counts = &own->entry.counts;
	assert_int_equal(counts->calls, 6);
	assert_int_equal(counts->bytes, 160);
	assert_int_equal(counts->shorts, 1);
	assert_int_equal(counts->ends, 1);
	assert_int_equal(counts->interrupted, 1);
	assert_int_equal(counts->would_block, 1);
	assert_int_equal(counts->errors, 1);
	assert_int_not_equal(counts->time_ns, 0);
	assert_int_equal(own->key.kind, VMOP_APPIO_KIND_DEVICE);
	assert_string_equal(own->entry.name, "null");
	vmop_stat_io_account_deinit(&account);
}

/* More entries than there is room for: the sums are whole. */
static void what_has_no_room_is_left_out(void **state)
{
	(void)state;
	int n = VMOP_PRELOAD_MAX_SLOTS + 5000;
	for (int i = 0; i < n; i++)
		count("write", 100000 + i, 1, 1, 0);
	uint64_t sum = 0, n_rests = 0;
	for (size_t i = 0; i < VMOP_PRELOAD_MAX_SLOTS; i++) {
		if (memory->slots[i].key.call == vmop_appio_call_id("write"))
			sum += memory->slots[i].entry.counts.calls;
	}
	for (size_t i = 0; i < VMOP_APPIO_N_KINDS; i++)
		n_rests += memory->rests[vmop_appio_call_id("write")][0][i].calls;
	assert_int_equal(sum + n_rests, n);
	assert_int_equal(memory->n_left_out, n_rests);
	assert_true(n_rests >= 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcomes),
		cmocka_unit_test(what_has_no_room_is_left_out),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
