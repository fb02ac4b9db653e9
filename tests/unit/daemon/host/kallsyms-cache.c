// SPDX-License-Identifier: GPL-2.0-or-later
/* The copy of /proc/kallsyms in the run directory. */
#include "tests/unit/daemon/common.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/host/kallsyms-cache.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/run-dir.h"

#define KALLSYMS                                                                                   \
	"0000000000000000 A percpu\nffffffff81000000 T _text\nffffffff81000100 T do_work\n"        \
	"ffffffff81010000 T _etext\n"
#define MODULE "ffffffffc0000000 t a_start\t[moda]\n"
#define BPF "ffffffffc0200000 t bpf_prog_1_x\t[bpf]\n"
#define TRAMPOLINE "ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
#define KEPT                                                                                       \
	"ffffffff81000000 T _text\nffffffff81000100 T do_work\nffffffff81010000 T _etext\n" MODULE
#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

struct place {
	struct rig rig;
	char root[128], run[128], copy[192];
	int dir_fd;
};

static void place_init(struct place *place)
{
	rig_folder(&place->rig);
	machine_file(&place->rig, "/proc/sys/kernel/random/boot_id", BOOT "\n");
	machine_file(&place->rig, "/proc/sys/kernel/kptr_restrict", "1\n");
	machine_file(&place->rig, "/proc/kallsyms", KALLSYMS MODULE BPF TRAMPOLINE);
	snprintf(place->root, sizeof(place->root), "%s/root", place->rig.folder);
	snprintf(place->run, sizeof(place->run), "%s/run", place->rig.folder);
	snprintf(place->copy, sizeof(place->copy), "%s/" VMOP_RUN_KALLSYMS, place->run);
	assert_int_equal(mkdir(place->run, 0755), 0);
	assert_int_equal(setenv("VMOP_RUNDIR", place->run, 1), 0);
	place->dir_fd = open(place->run, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->dir_fd >= 0);
}

static void place_deinit(struct place *place)
{
	close(place->dir_fd);
	rig_end(&place->rig);
}

/* Open the copy and return its inode, after a check that it has `lines` behind its first line. */
static ino_t open_copy(const struct place *place, uint64_t modules_hash, const char *lines)
{
	_cleanup_close_ int fd = vmop_kallsyms_cache_open(place->dir_fd, place->root, modules_hash);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	ok(vmop_io_read_fd(fd, place->copy, 4096, &text, NULL));
	assert_int_equal(*text, ' ');
	assert_string_equal(strchr(text, '\n') + 1, lines);
	return st.st_ino;
}

static void expect_none(const struct place *place)
{
	assert_int_equal(vmop_kallsyms_cache_open(place->dir_fd, place->root, 1), -1);
	assert_int_equal(access(place->copy, F_OK), -1);
}

static void a_copy_is_made_once(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	ino_t first = open_copy(&place, 1, KEPT);
	assert_int_equal(open_copy(&place, 1, KEPT), first);
	place_deinit(&place);
}

/* Keep the old inode in use, so that a new file can't have its number. */
static void expect_new_copy(const struct place *place, uint64_t modules_hash, const char *lines)
{
	_cleanup_close_ int old = open(place->copy, O_RDONLY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstat(old, &st), 0);
	assert_int_not_equal(open_copy(place, modules_hash, lines), st.st_ino);
}

static void another_key_is_another_copy(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	open_copy(&place, 1, KEPT);
	expect_new_copy(&place, 2, KEPT);
	machine_file(&place.rig, "/proc/sys/kernel/random/boot_id", "9" BOOT "\n");
	expect_new_copy(&place, 2, KEPT);
	machine_file(&place.rig, "/sys/kernel/notes", "notes");
	expect_new_copy(&place, 2, KEPT);
	machine_file(&place.rig, "/proc/sys/kernel/kptr_restrict", "0\n");
	expect_new_copy(&place, 2, KEPT);
	machine_file(&place.rig, "/proc/kallsyms", "ffffffff81000000 T _text\n");
	expect_new_copy(&place, 2, "ffffffff81000000 T _text\n");
	place_deinit(&place);
}

static void a_damaged_copy_is_replaced(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	open_copy(&place, 1, KEPT);
	assert_int_equal(truncate(place.copy, 200), 0);
	expect_new_copy(&place, 1, KEPT);
	FILE *file = fopen(place.copy, "a");
	assert_non_null(file);
	fputs(BPF, file);
	fclose(file);
	expect_new_copy(&place, 1, KEPT);
	assert_int_equal(chmod(place.copy, 0644), 0);
	expect_new_copy(&place, 1, KEPT);
	assert_int_equal(truncate(place.copy, 0), 0);
	expect_new_copy(&place, 1, KEPT);
	place_deinit(&place);
}

static void other_kinds_of_files_are_replaced(void **state)
{
	struct place place;
	char victim[192];
	(void)state;
	place_init(&place);
	snprintf(victim, sizeof(victim), "%s/proc/kallsyms", place.root);
	assert_int_equal(symlink(victim, place.copy), 0);
	open_copy(&place, 1, KEPT);
	assert_int_equal(unlink(place.copy), 0);
	assert_int_equal(mkfifo(place.copy, 0600), 0);
	open_copy(&place, 1, KEPT);
	open_copy(&place, 2, KEPT); /* the link's target is unchanged */
	place_deinit(&place);
}

static void nothing_is_copied_without_addresses_or_boot_id(void **state)
{
	struct place place;
	char path[192];
	(void)state;
	place_init(&place);
	machine_file(&place.rig, "/proc/kallsyms",
		     "0000000000000000 T _text\n0000000000000000 T _etext\n");
	expect_none(&place);
	machine_file(&place.rig, "/proc/kallsyms", "%s", "");
	expect_none(&place);
	machine_file(&place.rig, "/proc/kallsyms", KALLSYMS);
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/random/boot_id", place.root);
	assert_int_equal(unlink(path), 0);
	expect_none(&place);
	place_deinit(&place);
}

/* A session takes kernel and modules from the copy, and generated code from the kernel. */
static void a_session_names_all_code(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	machine_file(&place.rig, "/proc/modules", "moda 16384 3 - Live 0xffffffffc0000000\n");
	rig_begin(&place.rig, (struct vmop_profiler_options){0});
	assert_int_equal(access(place.copy, F_OK), 0);
	give_sample(&place.rig, 100, 100, 0xffffffff81000110, VMOP_SAMPLE_KERNEL);
	give_sample(&place.rig, 100, 100, 0xffffffffc0000010, VMOP_SAMPLE_KERNEL);
	give_sample(&place.rig, 100, 100, 0xffffffffc0200010, VMOP_SAMPLE_KERNEL);
	give_sample(&place.rig, 100, 100, 0xffffffffc0201010, VMOP_SAMPLE_KERNEL);
	const struct session *session = rig_flush(&place.rig);
	assert_int_equal(samples_of(session, "[kernel]", NULL), 1);
	assert_int_equal(samples_of(session, "[moda]", NULL), 1);
	assert_int_equal(samples_of(session, "[bpf bpf_prog_1_x]", NULL), 1);
	assert_int_equal(samples_of(session, "[ftrace_trampoline]", NULL), 1);
	place_deinit(&place);
}

/* If the parser refuses the copy, /proc/kallsyms is read and the copy removed. */
static void text_that_is_none_is_not_used(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	rig_begin(&place.rig, (struct vmop_profiler_options){0});
	vmop_profiler_destroy(place.rig.profiler);
	vmop_db_close(place.rig.db);
	int fd = open(place.copy, O_WRONLY | O_CLOEXEC);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, "no", 2, st.st_size - (off_t)strlen(MODULE)), 2);
	close(fd);
	assert_int_equal(unlink(place.rig.path), 0);
	rig_begin(&place.rig, (struct vmop_profiler_options){0});
	assert_int_equal(access(place.copy, F_OK), -1);
	give_sample(&place.rig, 100, 100, 0xffffffff81000110, VMOP_SAMPLE_KERNEL);
	assert_int_equal(samples_of(rig_flush(&place.rig), "[kernel]", NULL), 1);
	place_deinit(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_made_once),
		cmocka_unit_test(another_key_is_another_copy),
		cmocka_unit_test(a_damaged_copy_is_replaced),
		cmocka_unit_test(other_kinds_of_files_are_replaced),
		cmocka_unit_test(nothing_is_copied_without_addresses_or_boot_id),
		cmocka_unit_test(a_session_names_all_code),
		cmocka_unit_test(text_that_is_none_is_not_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
