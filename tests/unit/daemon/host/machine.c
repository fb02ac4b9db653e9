// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the machine, a made-up /proc and /sys, besides records. */
#include "tests/unit/daemon/common.h"

#include "daemon/host/maps.h"
#include "libutil/cleanup.h"
#include "libutil/procfs.h"

#define USER VMOP_SAMPLE_USER
#define KERNEL VMOP_SAMPLE_KERNEL
#define KALLSYMS                                                                                   \
	"ffffffff81000000 T _text\nffffffff81000100 T do_work\n"                                   \
	"ffffffff81010000 T _etext\n"                                                              \
	"ffffffffc0000000 t a_start\t[moda]\nffffffffc0000100 t a_end\t[moda]\n"
#define BPF_KALLSYMS                                                                               \
	"ffffffffc0200000 t bpf_prog_1_x\t[bpf]\n"                                                 \
	"ffffffffc0200100 t bpf_prog_2_y\t[bpf]\n"                                                 \
	"ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
#define MODULES "moda 16384 3 - Live 0xffffffffc0000000\n"

/* Make a machine whose processes start 100 ticks after boot, before all records. */
static void machine(struct rig *rig)
{
	rig_folder(rig);
	machine_file(rig, "/proc/kallsyms", KALLSYMS BPF_KALLSYMS);
	machine_file(rig, "/proc/modules", MODULES);
	machine_process(rig, 100, "old) name",
			"00400000-00410000 r-xp 00001000 fe:00 11 /bin/old\n");
}

/* The uuid from the machine's host; NULL: none. */
static const char *given_uuid;

static void begin(struct rig *rig)
{
	rig_begin(rig, (struct vmop_profiler_options){.given_uuid = given_uuid});
	rig->now_ns = UINT64_MAX / 2;
}

static void what_runs_already_is_known(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	machine_file(&rig, "/proc/100/cgroup", "4:memory:/other\n0::/system.slice/old.service\n");
	begin(&rig);
	give_sample(&rig, 100, 100, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 1);
	assert_string_equal(session->rows[0].image, "/bin/old");
	assert_string_equal(session->rows[0].comm, "old) name");
	assert_string_equal(session->rows[0].cgroup, "/system.slice/old.service");
	assert_int_equal(session->rows[0].offset, 0x1010);
	rig_end(&rig);
}

static void records_older_than_the_scan_change_nothing(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	rig_begin(&rig, (struct vmop_profiler_options){0});
	rig.now_ns = 10; /* long before the scan */
	give_fork(&rig, 1, 100, 100);
	give_comm(&rig, 100, 100, "before", 1);
	give_mmap(&rig, 100, 0x400000, 0x10000, 0, "/bin/before", 1);
	give_exit(&rig, 100, 100); /* of an earlier process of that pid */
	give_sample(&rig, 100, 100, 0x400010, USER);
	assert_int_equal(samples_of(rig_flush(&rig), "/bin/old", "old) name"), 1);
	rig.now_ns = UINT64_MAX / 2;
	give_comm(&rig, 100, 100, "after", 1);
	give_mmap(&rig, 100, 0x400000, 0x10000, 0, "/bin/after", 1);
	give_sample(&rig, 100, 100, 0x400010, USER);
	assert_int_equal(samples_of(rig_flush(&rig), "/bin/after", "after"), 1);
	rig_end(&rig);
}

/* Its fork record was lost. */
static void a_stranger_is_read_at_the_flush(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	(void)state;
	machine(&rig);
	begin(&rig);
	machine_process(&rig, 200, "stranger",
			"00400000-00410000 r-xp 00000000 fe:00 12 /bin/stranger\n");
	give_sample(&rig, 200, 200, 0x400010, USER);
	give_sample(&rig, 200, 200, 0x700000, USER);
	give_sample(&rig, 300, 300, 0x400010, USER); /* it has ended before the flush */
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/stranger", "stranger"), 1);
	assert_int_equal(samples_of(session, "[exited before its maps were read]", "stranger"), 1);
	assert_int_equal(samples_of(session, "[exited before its maps were read]", ""), 1);
	assert_int_equal(loss_of(session, "maps-unread"), 1);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.unattributed, 2);
	rig_end(&rig);
}

/* Unread maps are no loss until a user sample needs them. */
static void unread_maps_count_once_samples_want_them(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	machine_file(&rig, "/proc/400/stat",
		     "400 (guarded) S 1 1 1 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 1 0 100 1000 1 1\n");
	begin(&rig); /* its maps can't be read */
	give_sample(&rig, 400, 400, 0xffffffff81000000, VMOP_SAMPLE_KERNEL);
	assert_int_equal(loss_of(rig_flush(&rig), "maps-unread"), 0);
	give_sample(&rig, 400, 400, 0x400010, USER);
	give_sample(&rig, 400, 400, 0x400020, USER);
	assert_int_equal(loss_of(rig_flush(&rig), "maps-unread"), 1);
	give_sample(&rig, 400, 400, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(loss_of(session, "maps-unread"), 1);
	assert_int_equal(samples_of(session, "[exited before its maps were read]", "guarded"), 3);
	rig_end(&rig);
}

/* A mapping without a record is found, because the maps are read again. */
static void a_lost_mapping_is_found(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	begin(&rig);
	machine_process(&rig, 100, "old",
			"00400000-00410000 r-xp 00001000 fe:00 11 /bin/old\n"
			"00500000-00510000 r-xp 00000000 fe:00 12 /lib/new\n");
	give_sample(&rig, 100, 100, 0x500010, USER);
	give_sample(&rig, 100, 100, 0x600010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/lib/new", NULL), 1);
	assert_int_equal(samples_of(session, "[no mapping]", NULL), 1);
	rig_end(&rig);
}

static void an_end_without_a_record_is_noticed(void **state)
{
	struct rig rig;
	struct vmop_profiler_stats stats;
	char command[160];
	(void)state;
	machine(&rig);
	begin(&rig);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.processes, 2);
	snprintf(command, sizeof(command), "rm -r %s/root/proc/100", rig.folder);
	assert_int_equal(system(command), 0);
	ok(vmop_profiler_tick(rig.profiler));
	rig_flush(&rig);
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.processes, 1);
	rig_end(&rig);
}

static size_t n_symbols(const struct rig *rig, struct vmop_image_id image, const char *first)
{
	struct vmop_db *db;
	struct vmop_symbol *symbols;
	size_t n;
	ok(vmop_db_open(rig->path, &db));
	ok(vmop_db_get_symbols(db, image, &symbols, &n));
	if (n)
		assert_string_equal(symbols[0].name, first);
	free(symbols);
	vmop_db_close(db);
	return n;
}

static void kernel_modules_and_generated_code(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	begin(&rig);
	give_sample(&rig, 100, 100, 0xffffffff81000110, KERNEL);
	give_sample(&rig, 100, 100, 0xffffffffc0000110, KERNEL);
	give_sample(&rig, 100, 100, 0xffffffffc0200010, KERNEL);
	give_sample(&rig, 100, 100, 0xffffffffc0200110, KERNEL);
	give_sample(&rig, 100, 100, 0xffffffffc0201010, KERNEL);
	const struct session *session = rig_flush(&rig);
	static const struct {
		const char *image, *symbol;
		enum vmop_image_kind kind;
		uint64_t offset;
		size_t n;
	} expected[] = {
		{"[kernel]", "do_work", VMOP_IMAGE_KERNEL, 0x110, 1},
		{"[moda]", "a_end", VMOP_IMAGE_MODULE, 0x110, 1},
		{"[bpf bpf_prog_1_x]", "bpf_prog_1_x", VMOP_IMAGE_BPF, 0x10, 1},
		{"[bpf bpf_prog_2_y]", "bpf_prog_2_y", VMOP_IMAGE_BPF, 0x10, 1},
		{"[ftrace_trampoline]", "ftrace_trampoline", VMOP_IMAGE_TRAMPOLINE, 0x10, 1},
	};
	size_t n = sizeof(expected) / sizeof(expected[0]);
	assert_int_equal(session->n, n);
	for (size_t i = 0; i < n; i++) {
		const struct row *row = session->rows;
		while (strcmp(row->image, expected[i].image) != 0)
			assert_true(++row < session->rows + n);
		assert_int_equal(row->kind, expected[i].kind);
		assert_int_equal(row->offset, expected[i].offset);
		assert_int_equal(n_symbols(&rig, row->key.image, expected[i].symbol),
				 expected[i].n);
	}
	rig_end(&rig);
}

static void a_module_loaded_later(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	begin(&rig);
	give_sample(&rig, 100, 100, 0xffffffffc0100010, KERNEL);
	assert_int_equal(samples_of(rig_flush(&rig), "[unknown kernel text]", NULL), 1);
	machine_file(&rig, "/proc/modules", MODULES "modb 8192 0 - Live 0xffffffffc0100000\n");
	machine_file(&rig, "/proc/kallsyms",
		     KALLSYMS "ffffffffc0100000 t b_start\t[modb]\n" BPF_KALLSYMS);
	give_sample(&rig, 100, 100, 0xffffffffc0100010, KERNEL);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[unknown kernel text]", NULL), 1);
	assert_int_equal(samples_of(session, "[modb]", NULL), 1);
	for (size_t i = 0; i < session->n; i++)
		if (!strcmp(session->rows[i].image, "[modb]"))
			assert_int_equal(n_symbols(&rig, session->rows[i].key.image, "b_start"), 1);
	rig_end(&rig);
}

/* Check the session's and the host status's reason for a kernel without symbols. */
static void assert_kernel_symbols(struct rig *rig, const char *want)
{
	_cleanup_free_ char *value = NULL;
	struct vmop_domain_stats host;
	ok(vmop_db_get_info(rig->db, "kernel_symbols", &value));
	if (!value || !strstr(value, want))
		fail_msg("'%s' lacks '%s'", value ? value : "", want);
	assert_true(vmop_profiler_domain(rig->profiler, 0, &host));
	assert_string_equal(host.image, value);
}

/* A kernel with hidden addresses is one image, and samples keep their addresses. */
static void kernel_addresses_hidden(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	machine_file(&rig, "/proc/kallsyms", "0000000000000000 T _text\n");
	begin(&rig);
	assert_kernel_symbols(&rig, "none: /proc/kallsyms shows no addresses: run vmopd as root");
	give_sample(&rig, 100, 100, 0xffffffff81000110, KERNEL);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 1);
	assert_string_equal(session->rows[0].image, "[kernel]");
	assert_int_equal(session->rows[0].offset, 0xffffffff81000110);
	rig_end(&rig);
}

static void kernel_addresses_hidden_from_everybody(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	machine_file(&rig, "/proc/kallsyms", "0000000000000000 T _text\n");
	machine_file(&rig, "/proc/sys/kernel/kptr_restrict", "2\n");
	begin(&rig);
	assert_kernel_symbols(&rig, "none: sysctl kernel.kptr_restrict is 2");
	rig_end(&rig);
}

static void kernel_addresses_shown(void **state)
{
	struct rig rig;
	(void)state;
	machine(&rig);
	machine_file(&rig, "/proc/sys/kernel/kptr_restrict", "2\n"); /* set after the start */
	begin(&rig);
	assert_kernel_symbols(&rig, "/proc/kallsyms");
	rig_end(&rig);
}

static void container_files_keep_their_root(void **state)
{
	struct rig rig;
	char path[160];
	(void)state;
	machine(&rig);
	snprintf(path, sizeof(path), "/proc/%d/x", getpid());
	machine_file(&rig, "/proc/100/ns/x", "-");
	machine_file(&rig, "/proc/self/ns/x", "-");
	snprintf(path, sizeof(path), "/proc/%d/ns/x", getpid());
	machine_file(&rig, path, "-");
	snprintf(path, sizeof(path), "%s/root/proc/100/ns/mnt", rig.folder);
	assert_int_equal(symlink("mnt:[2]", path), 0);
	snprintf(path, sizeof(path), "%s/root/proc/%d/ns/mnt", rig.folder, getpid());
	assert_int_equal(symlink("mnt:[1]", path), 0);
	begin(&rig);
	give_sample(&rig, 100, 100, 0x400010, USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(session->n, 1);
	assert_string_equal(session->rows[0].root, "/proc/100/root");
	rig_end(&rig);
}

struct counted {
	size_t n;
	char path[64];
};

static void count_line(void *arg, const struct vmop_maps_line *line)
{
	struct counted *counted = arg;
	counted->n++;
	snprintf(counted->path, sizeof(counted->path), "%s", line->path);
}

static void maps_lines_as_they_may_come(void **state)
{
	struct rig rig;
	struct vmop_maps_line line;
	struct counted counted = {0};
	char text[256], root[96], *huge = malloc(100000);
	static const char *const bad[] = {
		"",
		"-",
		"400000-",
		"400000-410000",
		"400000-410000 r-x",
		"400000-410000 r-xp",
		"400000-410000 r-xp 0 fe 1 /x",
		"z-410000 r-xp 0 fe:00 1 /x",
		"11111111111111111-2 r-xp 0 fe:00 1 /x",
		"400000-410000 r-xp 0 fe:00 x",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(text, bad[i]);
		assert_false(vmop_maps_parse(text, &line));
	}
	strcpy(text, "400000-410000 r-xp 00001000 103:0a 42     /a\\012b\\134 (deleted)");
	assert_true(vmop_maps_parse(text, &line));
	assert_string_equal(line.path, "/a\nb\\134 (deleted)");
	assert_int_equal(line.dev_major, 0x103);
	assert_int_equal(line.dev_minor, 10);
	assert_int_equal(line.inode, 42);
	assert_true(line.is_executable);
	/* A line without an end is skipped, and the next lines are read. */
	rig_folder(&rig);
	memset(huge, 'x', 99999);
	huge[99999] = '\0';
	machine_file(&rig, "/proc/5/maps",
		     "1000-2000 r-xp 0 0:0 0 /a\n3000-4000 r-xp 0 0:0 0 /%s\n"
		     "5000-6000 r-xp 0 0:0 0 /c\nno newline",
		     huge);
	snprintf(root, sizeof(root), "%s/root", rig.folder);
	assert_int_equal(vmop_maps_read(NULL, root, 5, count_line, &counted), 0);
	assert_int_equal(counted.n, 2);
	assert_string_equal(counted.path, "/c");
	free(huge);
	rig_end(&rig);
}

static void hostile_stat_and_cgroup(void **state)
{
	struct rig rig;
	struct vmop_procfs_stat stat;
	char root[96], text[64];
	(void)state;
	rig_folder(&rig);
	snprintf(root, sizeof(root), "%s/root", rig.folder);
	machine_file(&rig, "/proc/5/stat",
		     "5 (a) R 1 (b\n) S 7 0 0 0 0 2097152 0 0 0 0 0 0 0 0 0 0 "
		     "3 0 99 0");
	assert_true(vmop_procfs_stat(root, 5, &stat));
	assert_string_equal(stat.comm, "a) R 1 (b\n");
	assert_int_equal(stat.ppid, 7);
	assert_true(stat.is_kthread);
	assert_int_equal(stat.n_threads, 3);
	assert_int_equal(stat.start_ticks, 99);
	machine_file(&rig, "/proc/6/stat", "6 (a");
	assert_false(vmop_procfs_stat(root, 6, &stat));
	assert_false(vmop_procfs_stat(root, 7, &stat));
	machine_file(&rig, "/proc/5/cgroup", "x\n1\n:\n9:name=systemd:/\n4:memory:/box:1\n0::/\n");
	assert_true(vmop_procfs_cgroup(root, 5, text, sizeof(text)));
	assert_string_equal(text, "/box:1");
	rig_end(&rig);
}

/* Check the uuid of domain 0 in a session of this machine; "": no uuid. */
static void expect_uuid(const char *of_xen, const char *of_firmware, const char *wanted)
{
	struct rig rig;
	machine(&rig);
	if (of_xen)
		machine_file(&rig, "/sys/hypervisor/uuid", "%s\n", of_xen);
	if (of_firmware)
		machine_file(&rig, "/sys/class/dmi/id/product_uuid", "%s\n", of_firmware);
	begin(&rig);
	rig_flush(&rig);
	assert_true(vmop_domain_id_is_host(rig.session.domains[0].id));
	const char *uuid = rig.session.domains[0].uuid;
	assert_string_equal(uuid ? uuid : "", wanted);
	rig_end(&rig);
}

static void the_machines_own_uuid(void **state)
{
	static const char zeros[] = "00000000-0000-0000-0000-000000000000";
	static const char ones[] = "FFFFFFFF-ffff-ffff-ffff-ffffffffffff";
	static const char a[] = "aaaaaaaa-0001-4000-8000-00000000000a";
	static const char b[] = "bbbbbbbb-0002-4000-8000-00000000000b";
	(void)state;
	expect_uuid(NULL, NULL, "");
	expect_uuid(a, b, a);
	expect_uuid(zeros, b, b); /* dom0 */
	expect_uuid(NULL, "AAAAAAAA-0001-4000-8000-00000000000A", a);
	expect_uuid(NULL, zeros, "");
	expect_uuid(zeros, ones, "");
	expect_uuid(NULL, "Not Settable", "");
	expect_uuid(NULL, "aaaaaaaa-0001-4000-8000-00000000000a-and-more-of-it-than-there-is-room",
		    "");
	/* A guest without firmware has the one from its host, which never replaces its own. */
	given_uuid = "BBBBBBBB-0002-4000-8000-00000000000B";
	expect_uuid(NULL, NULL, b);
	expect_uuid(NULL, zeros, b);
	expect_uuid(NULL, a, a);
	given_uuid = zeros;
	expect_uuid(NULL, NULL, "");
	given_uuid = "bbbbbbbb-0002-4000-8000-00000000000b, and more of it than there is room for "
		     "at all";
	expect_uuid(NULL, NULL, "");
	given_uuid = "";
	expect_uuid(NULL, NULL, "");
	given_uuid = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_runs_already_is_known),
		cmocka_unit_test(records_older_than_the_scan_change_nothing),
		cmocka_unit_test(a_stranger_is_read_at_the_flush),
		cmocka_unit_test(unread_maps_count_once_samples_want_them),
		cmocka_unit_test(a_lost_mapping_is_found),
		cmocka_unit_test(an_end_without_a_record_is_noticed),
		cmocka_unit_test(kernel_modules_and_generated_code),
		cmocka_unit_test(a_module_loaded_later),
		cmocka_unit_test(kernel_addresses_hidden),
		cmocka_unit_test(kernel_addresses_hidden_from_everybody),
		cmocka_unit_test(kernel_addresses_shown),
		cmocka_unit_test(container_files_keep_their_root),
		cmocka_unit_test(maps_lines_as_they_may_come),
		cmocka_unit_test(hostile_stat_and_cgroup),
		cmocka_unit_test(the_machines_own_uuid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
