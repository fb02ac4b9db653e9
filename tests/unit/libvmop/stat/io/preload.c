// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory that programs share with vmopstat: what they can write there is not trusted. */
#include "libvmop/stat/io/preload.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libvmop/stat/io/account.h"

static struct vmop_preload *memory;

static int set_up(void **state)
{
	(void)state;
	memory = calloc(1, sizeof(*memory));
	return memory ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static void read_into(struct vmop_stat_io_account *account, struct vmop_appio_facts *facts)
{
	const struct vmop_appio_sink sink = {account, vmop_stat_io_account_put_task,
					     vmop_stat_io_account_put_entry};
	assert_null(vmop_stat_io_preload_pass(memory, &sink, facts));
}

static void nothing_was_loaded(void **state)
{
	(void)state;
	struct vmop_stat_io_account account = {0};
	struct vmop_appio_facts facts;
	memory->execs[5] = 5;
	read_into(&account, &facts);
	assert_int_equal(account.n_items, 0);
	assert_non_null(facts.no_counts);
	assert_int_equal(facts.n_unseen_programs, 1);
	vmop_stat_io_account_deinit(&account);
}

static void entries_and_rests(void **state)
{
	(void)state;
	struct vmop_stat_io_account account = {0};
	struct vmop_appio_facts facts;
	uint8_t read = (uint8_t)vmop_appio_call_id("read");
	memory->n_tasks = 1;
	memory->tasks[0] = (struct vmop_appio_task){.pid = 3, .tid = 3};
	memory->slots[77] = (struct vmop_preload_slot){
		.state = VMOP_PRELOAD_READY,
		.key = {.task = 1, .fd = 0, .call = read},
		.entry = {.counts = {.calls = 2, .bytes = 3}},
	};
	memory->slots[78] = memory->slots[77];
	memory->slots[78].state = VMOP_PRELOAD_TAKEN; /* not whole yet */
	memory->rests[read][1][2].calls = 9;
	read_into(&account, &facts);
	assert_int_equal(account.n_items, 2);
	assert_int_equal(account.items[0].entry.counts.bytes, 3);
	assert_int_equal(account.items[1].entry.counts.calls, 9);
	assert_int_equal(account.items[1].key.task, 0);
	assert_null(facts.no_counts);
	vmop_stat_io_account_deinit(&account);
}

static void rubbish_is_bounded(void **state)
{
	(void)state;
	struct vmop_stat_io_account account = {0};
	struct vmop_appio_facts facts;
	struct vmop_stat_io_totals totals;
	memset(memory, 0xff, sizeof(*memory));
	for (size_t i = 0; i < VMOP_PRELOAD_MAX_SLOTS; i++) {
		memory->slots[i].state = VMOP_PRELOAD_READY;
		memory->slots[i].key.call = (uint8_t)(i % 256);
		memory->slots[i].key.kind = (uint8_t)(i / 256 % 16);
	}
	read_into(&account, &facts);
	assert_int_equal(account.n_tasks, VMOP_PRELOAD_MAX_TASKS);
	for (size_t i = 0; i < account.n_items; i++) {
		assert_non_null(vmop_appio_call(account.items[i].key.call));
		assert_in_range(account.items[i].key.kind, 0, VMOP_APPIO_N_KINDS - 1);
		assert_in_range(account.items[i].key.direction, 0, 1);
	}
	assert_int_equal(account.tasks[0].name[15], '\0');
	vmop_stat_io_account_totals(&account, &totals);
	vmop_stat_io_account_deinit(&account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_was_loaded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(entries_and_rests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rubbish_is_bounded, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
