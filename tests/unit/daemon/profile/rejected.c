// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts and samples that a session can't hold, through the real profiler into a real file: the
 * others are stored, and these are counted.
 */
#include "tests/unit/daemon/common.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "daemon/guest/watch.h"
#include "daemon/host/image.h"
#include "libsym/symtab.h"
#include "libutil/io.h"

/* ---- a stand-in for the watching thread of guests --------------------------- */

static struct vmop_guest_file_symbols found[4];
static size_t n_found;

bool __wrap_vmop_guest_watch_take_symbols(struct vmop_guest_watch *watch,
					  struct vmop_guest_file_symbols *ret);
bool __wrap_vmop_guest_watch_take_symbols(struct vmop_guest_watch *watch,
					  struct vmop_guest_file_symbols *ret)
{
	(void)watch;
	if (!n_found)
		return false;
	*ret = found[--n_found];
	return true;
}

/* The symbols of a program that was linked with -s. */
static struct vmop_symtab *stripped_program(void)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	struct vmop_symtab *symtab = NULL;
	_cleanup_close_ int fd = memfd_create("stripped", MFD_CLOEXEC);
	assert_int_equal(vmop_io_write_full(fd, &header, sizeof(header)), sizeof(header));
	ok(vmop_symtab_read_elf(fd, "stripped", 0, &symtab));
	size_t n;
	vmop_symtab_symbols(symtab, &n);
	assert_int_equal(n, 0);
	return symtab;
}

static void a_program_without_symbols(void **state)
{
	(void)state;
	struct rig rig;
	rig_folder(&rig);
	machine_file(&rig, "/proc/modules", "%s", "");
	rig_begin(&rig, (struct vmop_profiler_options){
				.setup = &(struct vmop_setup){.guest_cpu_permille = 1}});
	/* Slot 0 is the first image: of addresses without a mapping. */
	found[n_found++] = (struct vmop_guest_file_symbols){
		.domain = VMOP_DOMAIN_ID_HOST, .image = {0}, .symtab = stripped_program()};
	for (unsigned i = 1; i <= 3; i++) {
		give_program(&rig, 100 + i, "prog", "/bin/prog", 1);
		give_sample(&rig, 100 + i, 100 + i, 0x400010, VMOP_SAMPLE_USER);
		const struct session *session = rig_flush(&rig);
		assert_int_equal(samples_of(session, "/bin/prog", NULL), i);
		assert_int_equal(loss_of(session, "fact-rejected"), 0);
	}
	rig_end(&rig);
}

/* A record of a hostile stream has an impossible CPU. */
static void a_cpu_that_cant_be(void **state)
{
	(void)state;
	struct rig rig;
	rig_records_only(&rig, VMOP_SETUP_SEPARATE_CPU);
	vmop_db_drop_rejected(rig.db);
	give_program(&rig, 100, "prog", "/bin/prog", 1);
	for (unsigned i = 1; i <= 3; i++) {
		give_sample(&rig, 100, 100, 0x400010, VMOP_SAMPLE_USER);
		give(&rig, (struct vmop_record){.type = VMOP_RECORD_SAMPLE,
						.sample = {.ip = 0x400010,
							   .weight_events = 1,
							   .pid = 100,
							   .tid = 100,
							   .cpu = 0x80000001,
							   .flags = VMOP_SAMPLE_USER}});
		const struct session *session = rig_flush(&rig);
		assert_int_equal(samples_of(session, "/bin/prog", NULL), i);
		assert_int_equal(loss_of(session, "sample-rejected"), i);
	}
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.samples, 6);
	assert_int_equal(stats.samples_rejected, 3);
	rig_end(&rig);
}

/* Each flush has an impossible count. */
static void a_count_that_cant_be(void **state)
{
	(void)state;
	struct rig rig;
	rig_records_only(&rig, 0);
	vmop_db_drop_rejected(rig.db);
	give_program(&rig, 100, "prog", "/bin/prog", 1);
	for (unsigned i = 1; i <= 3; i++) {
		give_sample(&rig, 100, 100, 0x400010, VMOP_SAMPLE_USER);
		give(&rig, (struct vmop_record){.type = VMOP_RECORD_LOST,
						.lost = {.lost_records = UINT64_MAX / 2}});
		assert_int_equal(samples_of(rig_flush(&rig), "/bin/prog", NULL), i);
	}
	rig_end(&rig);
}

/* Names of the greatest length, with every byte. */
static void names_that_are_hostile(void **state)
{
	(void)state;
	struct rig rig;
	static char path[70000];
	memset(path, '\xff', sizeof(path) - 1);
	path[0] = '/';
	rig_records_only(&rig, 0);
	vmop_db_drop_rejected(rig.db);
	for (unsigned i = 1; i < 256; i++)
		path[i] = (char)i;
	give_program(&rig, 100, "\x1b[31m\n", path, 0);
	give_sample(&rig, 100, 100, 0x400010, VMOP_SAMPLE_USER);
	const struct session *session = rig_flush(&rig);
	uint64_t samples = 0;
	for (size_t i = 0; i < session->n; i++)
		samples += session->rows[i].samples;
	assert_int_equal(samples, 1);
	assert_int_equal(loss_of(session, "fact-rejected"), 0);
	rig_end(&rig);
}

/* Without a file samples are counted, and the profiler of the next file has the count. */
static void a_file_that_is_gone(void **state)
{
	(void)state;
	struct rig rig, next;
	rig_records_only(&rig, 0);
	give_program(&rig, 100, "prog", "/bin/prog", 1);
	give_sample(&rig, 100, 100, 0x400010, VMOP_SAMPLE_USER);
	rig_flush(&rig);
	vmop_profiler_count_last_as_gone(rig.profiler);
	give_sample(&rig, 100, 100, 0x400010, VMOP_SAMPLE_USER);
	assert_int_equal(vmop_profiler_waiting(rig.profiler), 1);
	vmop_profiler_detach(rig.profiler);
	for (unsigned i = 0; i < 3; i++) {
		give_sample(&rig, 100, 100, 0x400010, VMOP_SAMPLE_USER);
		ok(vmop_profiler_flush(rig.profiler, SECOND_NS, SECOND_NS));
	}
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.store_gone, 5);
	assert_int_equal(vmop_profiler_waiting(rig.profiler), 0);
	rig_records_only(&next, 0);
	vmop_profiler_inherit(next.profiler, rig.profiler);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(loss_of(rig_flush(&next), "store-gone"), 5);
	rig_end(&next);
	rig_end(&rig);
}

/* Without room on the disk every sample is stored or counted, also with a full aggregate. */
static void a_full_disk_accounts_for_all(void **state)
{
	(void)state;
	struct rig rig;
	struct rlimit was, none = {0};
	const uint64_t rounds = 12, in_a_round = 9000;
	rig_records_only(&rig, 0);
	vmop_db_drop_rejected(rig.db);
	give_program(&rig, 100, "prog", "/bin/prog", 1);
	rig_flush(&rig);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	none.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	for (uint64_t i = 0; i < rounds * in_a_round; i++) {
		give_sample(&rig, 100, 100, 0x400000 + i % 0xff00, VMOP_SAMPLE_USER);
		give_sample(&rig, 200 + i % 3, 200, i, VMOP_SAMPLE_USER);
		if (i % in_a_round)
			continue;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
		struct vmop_error *err = vmop_profiler_flush(rig.profiler, SECOND_NS, SECOND_NS);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
		assert_non_null(err);
		assert_int_equal(err->os_errno, EFBIG);
		vmop_error_destroy(err);
	}
	const struct session *session = rig_flush(&rig);
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(rig.profiler, &stats);
	uint64_t stored = 0;
	for (size_t i = 0; i < session->n; i++)
		stored += session->rows[i].samples;
	assert_int_equal(stats.samples, 2 * rounds * in_a_round);
	assert_true(stats.store_full > 0);
	assert_int_equal(stored + loss_of(session, "store-full"), stats.samples);
	assert_int_equal(loss_of(session, "table-full"), 0);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_without_symbols),
		cmocka_unit_test(a_cpu_that_cant_be),
		cmocka_unit_test(a_count_that_cant_be),
		cmocka_unit_test(names_that_are_hostile),
		cmocka_unit_test(a_file_that_is_gone),
		cmocka_unit_test(a_full_disk_accounts_for_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
