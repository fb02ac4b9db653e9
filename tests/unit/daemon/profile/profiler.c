// SPDX-License-Identifier: GPL-2.0-or-later
/* Attribution of host samples from hand-made records. */
#include "tests/unit/daemon/common.h"

#include <signal.h>
#include <sys/resource.h>

#define USER VMOP_SAMPLE_USER
#define KERNEL VMOP_SAMPLE_KERNEL

/* Return the session's only row. */
static const struct row *only(const struct session *session)
{
	assert_int_equal(session->n, 1);
	return &session->rows[0];
}

static void a_sample_finds_task_image_and_offset(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "prog", "/bin/prog", 9);
	give_sample(&rig, 100, 100, 0x400123, USER);
	give_sample(&rig, 100, 101, 0x400123, USER);
	const struct row *row = only(rig_flush(&rig));
	assert_string_equal(row->image, "/bin/prog");
	assert_string_equal(row->comm, "prog");
	assert_string_equal(row->exe, "/bin/prog");
	assert_int_equal(row->kind, VMOP_IMAGE_FILE);
	assert_int_equal(row->build_id_len_bytes, 20);
	assert_int_equal(row->offset, 0x1123);
	assert_int_equal(row->samples, 2);
	assert_int_equal(row->weight_events, 2000);
	assert_int_equal(row->pid, 100);
	assert_int_equal(row->tid, 0);
	assert_int_equal(row->key.mode, VMOP_MODE_USER);
	assert_int_equal(row->key.bill, VMOP_BILL_SELF);
	assert_int_equal(row->key.cpu, -1);
	assert_int_equal(row->key.vcpu, -1);
	rig_end(&rig);
}

static void threads_and_cpus_apart_when_asked(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, VMOP_SETUP_SEPARATE_THREAD | VMOP_SETUP_SEPARATE_CPU);
	give_program(&rig, 100, "prog", "/bin/prog", 9);
	give_fork(&rig, 100, 100, 101);
	give_comm(&rig, 100, 101, "worker", 0);
	give_sample(&rig, 100, 100, 0x400123, USER);
	give_sample(&rig, 100, 101, 0x400123, USER);
	give_exit(&rig, 100, 101);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 2);
	assert_int_equal(samples_of(session, "/bin/prog", "worker"), 1);
	assert_int_equal(samples_of(session, "/bin/prog", "prog"), 1);
	for (size_t i = 0; i < session->n; i++) {
		assert_true(session->rows[i].tid == 100 || session->rows[i].tid == 101);
		assert_int_equal(session->rows[i].key.cpu, session->rows[i].tid % 4);
	}
	/* A reused tid is another thread. */
	give_fork(&rig, 100, 100, 101);
	give_sample(&rig, 100, 101, 0x400123, USER);
	session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/prog", "prog"), 2);
	/* After an exec in a thread, no sample counts for the previous program. */
	give_comm(&rig, 100, 100, "next", 1);
	give_mmap(&rig, 100, 0x400000, 0x1000, 0, "/bin/next", 3);
	give_sample(&rig, 100, 100, 0x400123, USER);
	session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/next", "next"), 1);
	rig_end(&rig);
}

static void fork_shares_until_exec(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "shell", "/bin/shell", 1);
	give_fork(&rig, 100, 200, 200);
	give_sample(&rig, 200, 200, 0x400010, USER);
	give_comm(&rig, 200, 200, "true", 1);
	give_sample(&rig, 200, 200, 0x400010, USER); /* before the first mapping */
	give_mmap(&rig, 200, 0x400000, 0x1000, 0, "/bin/true", 2);
	give_sample(&rig, 200, 200, 0x400010, USER);
	give_exit(&rig, 200, 200);
	give_sample(&rig, 200, 200, 0xffffffff81000000, KERNEL); /* while it exits */
	give_sample(&rig, 100, 100, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/shell", "shell"), 2);
	assert_int_equal(samples_of(session, "[no mapping]", "true"), 1);
	assert_int_equal(samples_of(session, "/bin/true", "true"), 1);
	assert_int_equal(samples_of(session, "[unknown kernel text]", "true"), 1);
	size_t n_pid_200 = 0;
	for (size_t i = 0; i < session->n_tasks; i++)
		n_pid_200 += session->tasks[i].pid == 200;
	assert_int_equal(n_pid_200, 2); /* as shell, and as true */
	rig_end(&rig);
}

static void a_reused_pid_is_another_task(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "old", "/bin/old", 1);
	give_sample(&rig, 100, 100, 0x400010, USER);
	give_program(&rig, 100, "new", "/bin/new", 2); /* its exit was lost */
	give_sample(&rig, 100, 100, 0x400010, USER);
	give_exit(&rig, 100, 100);
	give_program(&rig, 100, "newer", "/bin/newer", 3);
	give_sample(&rig, 100, 100, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/old", "old"), 1);
	assert_int_equal(samples_of(session, "/bin/new", "new"), 1);
	assert_int_equal(samples_of(session, "/bin/newer", "newer"), 1);
	for (size_t i = 0; i < session->n_tasks; i++)
		assert_true(session->tasks[i].start_time_ns);
	rig_end(&rig);
}

static void a_process_outlives_its_first_thread(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "prog", "/bin/prog", 1);
	give_fork(&rig, 100, 100, 101);
	give_exit(&rig, 100, 100);
	rig_flush(&rig);
	give_sample(&rig, 100, 101, 0x400010, USER);
	assert_int_equal(samples_of(rig_flush(&rig), "/bin/prog", "prog"), 1);
	give_exit(&rig, 100, 101);
	rig_flush(&rig);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.processes, 1); /* idle */
	rig_end(&rig);
}

static void one_file_is_one_image_by_build_id(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "a", "/usr/lib/libc.so", 5);
	give_program(&rig, 200, "b", "/container/usr/lib/libc.so", 5);
	give_sample(&rig, 100, 100, 0x400010, USER);
	give_sample(&rig, 200, 200, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 2);
	assert_int_equal(session->rows[0].key.image.number, session->rows[1].key.image.number);
	rig_end(&rig);
}

static void mappings_replace_and_split(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "prog", "/bin/a", 1); /* 0x400000-0x410000, offset 0x1000 */
	give_mmap(&rig, 100, 0x404000, 0x1000, 0x8000, "/bin/b", 2);
	give_sample(&rig, 100, 100, 0x403fff, USER);
	give_sample(&rig, 100, 100, 0x404000, USER);
	give_sample(&rig, 100, 100, 0x404fff, USER);
	give_sample(&rig, 100, 100, 0x405000, USER);
	give_sample(&rig, 100, 100, 0x40ffff, USER);
	give_sample(&rig, 100, 100, 0x410000, USER);
	const struct session *session = rig_flush(&rig);
	static const struct {
		const char *image;
		uint64_t offset;
	} expected[] = {{"/bin/a", 0x4fff}, {"/bin/b", 0x8000},	 {"/bin/b", 0x8fff},
			{"/bin/a", 0x6000}, {"/bin/a", 0x10fff}, {"[no mapping]", 0x410000}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		size_t found = 0;
		for (size_t j = 0; j < session->n; j++)
			found += !strcmp(session->rows[j].image, expected[i].image) &&
				 session->rows[j].offset == expected[i].offset;
		assert_int_equal(found, 1);
	}
	rig_end(&rig);
}

static void generated_code_is_kept_by_region(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "jit", "/bin/jit", 1);
	give_mmap(&rig, 100, 0x7f0000000000, 0x1000, 0, "//anon", 0);
	give_sample(&rig, 100, 100, 0x7f0000000010, USER);
	give_mmap(&rig, 100, 0x7f0000000000, 0x3000, 0, "//anon", 0); /* it grew */
	give_sample(&rig, 100, 100, 0x7f0000002010, USER);
	give_mmap(&rig, 100, 0x7f1000000000, 0x1000, 0, "//anon", 0);
	give_sample(&rig, 100, 100, 0x7f1000000010, USER);
	give_mmap(&rig, 100, 0x7f2000000000, 0x1000, 0, "/memfd:code (deleted)", 0);
	give_sample(&rig, 100, 100, 0x7f2000000010, USER);
	give_mmap(&rig, 100, 0x7f3000000000, 0x1000, 0, "[heap]", 0);
	give_sample(&rig, 100, 100, 0x7f3000000010, USER);
	give_mmap(&rig, 100, 0x7f4000000000, 0x1000, 0, "[vdso]", 0);
	give_sample(&rig, 100, 100, 0x7f4000000010, USER);
	give_mmap(&rig, 100, 0x7f5000000000, 0x1000, 0x3000, "/bin/gone (deleted)", 0);
	give_sample(&rig, 100, 100, 0x7f5000000010, USER);
	give_sample(&rig, 100, 100, 0xffffffffff600123, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[anon jit 100 0x7f0000000000]", "jit"), 2);
	assert_int_equal(samples_of(session, "[anon jit 100 0x7f1000000000]", "jit"), 1);
	assert_int_equal(samples_of(session, "[memfd jit 100 0x7f2000000000]", "jit"), 1);
	assert_int_equal(samples_of(session, "[heap jit 100 0x7f3000000000]", "jit"), 1);
	assert_int_equal(samples_of(session, "[vdso]", "jit"), 1);
	assert_int_equal(samples_of(session, "/bin/gone", "jit"), 1);
	assert_int_equal(samples_of(session, "[vsyscall]", "jit"), 1);
	for (size_t i = 0; i < session->n; i++) {
		const struct row *row = &session->rows[i];
		if (row->kind == VMOP_IMAGE_ANON)
			assert_int_equal(row->offset & 0xff0000000fff, 0x7f0000000010);
		if (!strcmp(row->image, "[vdso]"))
			assert_int_equal(row->offset, 0x10);
		if (!strcmp(row->image, "/bin/gone"))
			assert_int_equal(row->offset, 0x3010);
	}
	rig_end(&rig);
}

static void kernel_text_comes_and_goes(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_mmap(&rig, UINT32_MAX, 0xffffffff81000000, 0x1000000, 0, "[kernel.kallsyms]_text", 4);
	give_mmap(&rig, UINT32_MAX, 0xffffffffc0000000, 0x10000, 0, "[kvm]", 5);
	struct vmop_record bpf = {.type = VMOP_RECORD_KSYMBOL,
				  .ksymbol = {.start = 0xffffffffc0100000,
					      .len_bytes = 0x100,
					      .is_bpf = 1,
					      .name = "bpf_prog_0011223344556677_f"}};
	give(&rig, bpf);
	give_sample(&rig, 0, 0, 0xffffffff81000010, KERNEL);
	give_sample(&rig, 0, 0, 0xffffffffc0000020, KERNEL);
	give_sample(&rig, 0, 0, 0xffffffffc0100030, KERNEL);
	give_sample(&rig, 0, 0, 0xffffffffc0100100, KERNEL); /* just after it */
	bpf.ksymbol.is_unregistered = 1;
	give(&rig, bpf);
	give_sample(&rig, 0, 0, 0xffffffffc0100031, KERNEL);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[kernel]", "[idle]"), 1);
	assert_int_equal(samples_of(session, "[kvm]", "[idle]"), 1);
	assert_int_equal(samples_of(session, "[bpf bpf_prog_0011223344556677_f]", "[idle]"), 1);
	assert_int_equal(samples_of(session, "[unknown kernel text]", "[idle]"), 2);
	for (size_t i = 0; i < session->n; i++)
		if (session->rows[i].kind == VMOP_IMAGE_BPF) {
			assert_int_equal(session->rows[i].offset, 0x30);
			assert_int_equal(session->rows[i].base, 0xffffffffc0100000);
		}
	rig_end(&rig);
}

static void what_has_no_place_says_why(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	(void)state;
	rig_records_only(&rig, 0);
	give_sample(&rig, UINT32_MAX, UINT32_MAX, 0x400000, USER);
	give_sample(&rig, 7, 7, 0x400000, USER);
	give_sample(&rig, 7, 7, 0, USER | VMOP_SAMPLE_NO_IP);
	give_sample(&rig, 7, 7, 0xffffffff81000000, KERNEL);
	give_sample(&rig, 7, 7, 0xffffffff81000000, 0); /* a source without the mode */
	struct vmop_record odd = {.type = VMOP_RECORD_SAMPLE, .sample = {.event = 9}};
	give(&rig, odd);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[no process]", NULL), 1);
	assert_int_equal(samples_of(session, "[no mapping]", NULL), 1);
	assert_int_equal(samples_of(session, "[no address]", NULL), 1);
	assert_int_equal(samples_of(session, "[unknown kernel text]", NULL), 2);
	assert_int_equal(samples_of(session, NULL, NULL), 5);
	assert_int_equal(loss_of(session, "malformed"), 1);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.samples, 5);
	assert_int_equal(stats.unattributed, 5);
	rig_end(&rig);
}

static void losses_are_stored_as_differences(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give(&rig, (struct vmop_record){.type = VMOP_RECORD_LOST,
					.lost = {.event = 1, .lost_records = 5}});
	give(&rig, (struct vmop_record){.type = VMOP_RECORD_THROTTLE,
					.throttle = {.event = 1, .is_throttled = 1}});
	give(&rig, (struct vmop_record){.type = VMOP_RECORD_THROTTLE, .throttle = {.event = 1}});
	give(&rig, (struct vmop_record){.type = VMOP_RECORD_UNHANDLED, .unhandled_type = 99});
	fake_stats_now.lost_records = 7; /* two without a record */
	const struct session *session = rig_flush(&rig);
	assert_int_equal(loss_of(session, "lost"), 7);
	assert_int_equal(loss_of(session, "throttled"), 1);
	assert_int_equal(loss_of(session, "unhandled"), 1);
	session = rig_flush(&rig);
	assert_int_equal(loss_of(session, "lost"), 7);
	for (size_t i = 0; i < session->n_losses; i++)
		if (!strcmp(session->losses[i].name, "lost"))
			assert_int_equal(session->losses[i].count,
					 session->losses[i].event.number == 1 ? 5 : 2);
	rig_end(&rig);
}

static struct vmop_error *note_of_event(void *arg, const struct vmop_db_event *event)
{
	char(*notes)[64] = arg;
	snprintf(notes[event->id.number], sizeof(notes[event->id.number]), "%s",
		 event->note ? event->note : "-");
	return NULL;
}

static void assert_info(struct vmop_db *db, const char *name, const char *want)
{
	_cleanup_free_ char *value = NULL;
	struct vmop_error *err = vmop_db_get_info(db, name, &value);
	vmop_error_destroy(err);
	if (!want)
		assert_null(value);
	else
		assert_string_equal(value, want);
}

/* Storing events again replaces the rows from the session's start. */
static void events_that_share_counters_are_stored_with_their_times(void **state)
{
	struct rig rig;
	char notes[2][64] = {"", ""};
	(void)state;
	rig_records_only(&rig, 0);
	fake_infos[0].enabled_ns = fake_infos[0].running_ns = 4000;
	fake_infos[1].enabled_ns = 4000;
	fake_infos[1].running_ns = 1000;
	fake_infos[1].note = "multiplexed";
	fake_infos[1].asked = "LLC_MISSES";
	ok(vmop_profiler_store_events(rig.profiler));
	ok(vmop_db_each_event(rig.db, note_of_event, notes));
	assert_string_equal(notes[0], "-");
	assert_string_equal(notes[1], "multiplexed");
	assert_info(rig.db, "event-0-enabled_ns", NULL);
	assert_info(rig.db, "event-1-enabled_ns", "4000");
	assert_info(rig.db, "event-1-running_ns", "1000");
	assert_info(rig.db, "event-0-asked", NULL);
	assert_info(rig.db, "event-1-asked", "LLC_MISSES");
	rig_end(&rig);
}

static void names_are_stored_as_they_are(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "a\nb\033c", "/bin/x\ny", 1);
	give_sample(&rig, 100, 100, 0x400010, USER);
	assert_int_equal(samples_of(rig_flush(&rig), "/bin/x\ny", "a\nb\033c"), 1);
	rig_end(&rig);
}

/* A thousand short-lived processes a second must not enlarge the daemon. */
static void a_fork_storm_leaves_nothing_behind(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 1, "init", "/bin/init", 1);
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			uint32_t pid = 1000 + (round * 1000 + i) % 5000;
			give_fork(&rig, 1, pid, pid);
			give_comm(&rig, pid, pid, "short", 1);
			for (uint64_t m = 0; m < 8; m++)
				give_mmap(&rig, pid, 0x400000 + m * 0x10000, 0x10000, 0,
					  m ? "/lib/lib" : "/bin/short", (uint8_t)(2 + m));
			if (i % 10 == 0)
				give_sample(&rig, pid, pid, 0x400010, USER);
			give_exit(&rig, pid, pid);
		}
		ok(vmop_profiler_flush(rig.profiler, round, 1));
		vmop_profiler_stats(rig.profiler, &stats);
		assert_int_equal(stats.processes, 2); /* init and idle */
		assert_true(stats.images < 40);
	}
	session_read(rig.path, &rig.session);
	assert_int_equal(samples_of(&rig.session, "/bin/short", "short"), 2000);
	assert_int_equal(rig.session.n_tasks, 1);
	assert_int_equal(rig.session.tasks[0].merged, 2000);
	rig_end(&rig);
}

/* Everything above its limit is counted as a loss, and nothing breaks. */
static void limits_are_named(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	char path[32];
	(void)state;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "many", "/bin/many", 1);
	for (uint32_t i = 0; i < 5000; i++) /* mappings of one process */
		give_mmap(&rig, 100, 0x10000000 + (uint64_t)i * 0x10000, 0x1000, 0, "/lib/x", 2);
	give_sample(&rig, 100, 100, 0x10000010, USER);
	give_sample(&rig, 100, 100, 0x10000010 + 4999 * 0x10000, USER);
	for (uint32_t i = 0; i < 20000; i++) { /* files */
		snprintf(path, sizeof(path), "/lib/%u", i);
		give_mmap(&rig, 1000 + i / 1000, 0x10000000 + (uint64_t)i * 0x10000, 0x1000, 0,
			  path, 0);
	}
	give_sample(&rig, 1000, 1000, 0x10000010, USER);
	give_sample(&rig, 1019, 1019, 0x10000010 + 19999 * 0x10000, USER);
	for (uint32_t i = 0; i < 70000; i++) /* processes */
		give_fork(&rig, 1, 10000 + i, 10000 + i);
	give_sample(&rig, 79999, 79999, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/lib/x", NULL), 1);
	assert_int_equal(samples_of(session, "[mapping limit]", NULL), 1);
	assert_int_equal(samples_of(session, "/lib/0", NULL), 1);
	assert_int_equal(samples_of(session, "[image limit]", NULL), 1);
	assert_int_equal(samples_of(session, "[process limit]", NULL), 1);
	assert_true(loss_of(session, "mapping-limit") > 0);
	assert_true(loss_of(session, "image-limit") > 0);
	assert_true(loss_of(session, "process-limit") > 0);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_in_range(stats.processes, 60000, 65536);
	rig_end(&rig);
}

/* Samples above the aggregate's room are counted, and the aggregate grows. */
static void a_full_table_is_counted(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	(void)state;
	rig_records_only(&rig, 0);
	give_fork(&rig, 1, 100, 100);
	give_mmap(&rig, 100, 0x400000, 1 << 30, 0, "/bin/big", 1);
	assert_false(vmop_profiler_wants_flush(rig.profiler));
	const uint32_t n = 600000;
	for (uint32_t i = 0; i < n; i++)
		give_sample(&rig, 100, 100, 0x400000 + 16 * i, USER);
	assert_true(vmop_profiler_wants_flush(rig.profiler));
	const struct session *session = rig_flush(&rig);
	uint64_t kept = samples_of(session, "/bin/big", NULL);
	assert_true(kept >= 16384);
	assert_int_equal(kept + loss_of(session, "table-full"), n);
	assert_false(vmop_profiler_wants_flush(rig.profiler));
	const uint32_t n_more = (uint32_t)kept + 1000; /* more than fit before */
	for (uint32_t i = 0; i < n_more; i++)
		give_sample(&rig, 100, 100, 0x400000 + 16 * i, USER);
	session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/big", NULL), kept + n_more);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.store_full, 0);
	rig_end(&rig);
}

/* Samples that don't fit on the disk wait while there is room, and are stored later. */
static void a_full_disk_loses_nothing_stored(void **state)
{
	struct rig rig;
	struct rlimit before, small;
	struct vmop_profiler_stats stats;
	(void)state;
	rig_records_only(&rig, 0);
	signal(SIGXFSZ, SIG_IGN);
	give_program(&rig, 100, "prog", "/bin/prog", 1);
	give_sample(&rig, 100, 100, 0x400010, USER);
	assert_int_equal(samples_of(rig_flush(&rig), "/bin/prog", "prog"), 1);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int round = 0; round < 3; round++) {
		give_program(&rig, 200, "late", "/bin/late", 2);
		give_sample(&rig, 200, 200, 0x400010, USER);
		give_exit(&rig, 200, 200);
		struct vmop_error *err = vmop_profiler_flush(rig.profiler, 5, 1);
		assert_non_null(err);
		vmop_error_destroy(err);
	}
	for (uint32_t i = 0; i < 600000; i++) /* until the aggregate is full */
		give_sample(&rig, 100, 100, 0x800000 + i, USER);
	vmop_error_destroy(vmop_profiler_flush(rig.profiler, 5, 1));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_true(stats.store_full > 0);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/prog", "prog"), 1);
	assert_int_equal(samples_of(session, "/bin/late", "late"), 3);
	assert_int_equal(loss_of(session, "store-full"), stats.store_full);
	assert_int_equal(samples_of(session, NULL, NULL) + stats.store_full, stats.samples);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_finds_task_image_and_offset),
		cmocka_unit_test(threads_and_cpus_apart_when_asked),
		cmocka_unit_test(fork_shares_until_exec),
		cmocka_unit_test(a_reused_pid_is_another_task),
		cmocka_unit_test(a_process_outlives_its_first_thread),
		cmocka_unit_test(one_file_is_one_image_by_build_id),
		cmocka_unit_test(mappings_replace_and_split),
		cmocka_unit_test(generated_code_is_kept_by_region),
		cmocka_unit_test(kernel_text_comes_and_goes),
		cmocka_unit_test(what_has_no_place_says_why),
		cmocka_unit_test(losses_are_stored_as_differences),
		cmocka_unit_test(events_that_share_counters_are_stored_with_their_times),
		cmocka_unit_test(names_are_stored_as_they_are),
		cmocka_unit_test(a_fork_storm_leaves_nothing_behind),
		cmocka_unit_test(limits_are_named),
		cmocka_unit_test(a_full_table_is_counted),
		cmocka_unit_test(a_full_disk_loses_nothing_stored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
