// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a synthetic guest by inode and by path, one process, and the effect of damage. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/libguest/opened.h"

#define ERROR_NAMESPACE ((uint64_t)-22) /* of the kernel's own mounts: ERR_PTR(-EINVAL) */
#define MAX_NS UINT64_C(200000000)	/* a look-up's bound, on a slow and busy machine */

static struct vmop_guest_inode_file file;

static void open_old(bool is_old)
{
	open_found(&(struct synthetic_options){.kallsyms = is_old ? SYNTHETIC_BEFORE_NAMES
								  : SYNTHETIC_AFTER_INDEX,
					       .vma_list = is_old});
}

static uint64_t member(uint64_t object, enum vmop_layout_field field)
{
	return synthetic_member(&made, object, field);
}

static void set(uint64_t object, enum vmop_layout_field field, uint64_t value)
{
	synthetic_put_u64(&made, member(object, field), value);
}

static uint64_t get(uint64_t object, enum vmop_layout_field field)
{
	return synthetic_get_u64(&made, member(object, field));
}

static struct vmop_guest_inode identity_of(uint64_t inode)
{
	return (struct vmop_guest_inode){.mapping = get(inode, VMOP_LAYOUT_INODE_MAPPING),
					 .inode = inode,
					 .superblock = get(inode, VMOP_LAYOUT_INODE_SUPER),
					 .number = get(inode, VMOP_LAYOUT_INODE_NUMBER),
					 .generation = 7};
}

static void expect_none(struct vmop_error *err)
{
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
	assert_true(vmop_guest_last_cost(guest).cpu_ns < MAX_NS);
}

static void expect_path(uint64_t inode, const char *path)
{
	struct vmop_guest_inode identity = identity_of(inode);
	struct vmop_error *err = vmop_guest_find_inode(guest, &identity, &file);
	if (err)
		fail_msg("%s: %s", path, err->message);
	assert_string_equal(file.path, path);
	assert_int_equal(file.mapping, identity.mapping);
}

static void expect_no_path(uint64_t inode)
{
	struct vmop_guest_inode identity = identity_of(inode);
	expect_none(vmop_guest_find_inode(guest, &identity, &file));
}

static void expect_at(const char *path, uint64_t inode)
{
	struct vmop_error *err = vmop_guest_find_path(guest, path, &file);
	if (err)
		fail_msg("%s: %s", path, err->message);
	assert_int_equal(file.mapping, get(inode, VMOP_LAYOUT_INODE_MAPPING));
}

/* --- by inode ------------------------------------------------------------------------------ */

static void path_size_and_build_id(void **state)
{
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		open_old(is_old);
		expect_path(made.inode, "/bin/worker");
		assert_int_equal(file.size_bytes, 8192);
		assert_true(file.is_elf);
		assert_false(file.is_deleted);
		assert_int_equal(file.build_id_len_bytes, 20);
		for (int i = 0; i < 20; i++)
			assert_int_equal(file.build_id[i], 0xab);
		expect_path(made.map_inode, "/tmp/perf-2.map");
		assert_false(file.is_elf); /* it has no pages */
		assert_int_equal(file.build_id_len_bytes, 0);
		close_guest();
	}
}

static void another_identity_is_not_found(void **state)
{
	(void)state;
	open_old(false);
	struct vmop_guest_inode right = identity_of(made.inode), wrong[5];
	for (int i = 0; i < 5; i++)
		wrong[i] = right;
	wrong[0].number++;
	wrong[1].generation++;
	wrong[2].superblock = made.tmp_super;
	wrong[3].mapping = get(made.map_inode, VMOP_LAYOUT_INODE_MAPPING);
	wrong[4].inode = 0x7f0000001000; /* user memory */
	for (int i = 0; i < 5; i++)
		expect_none(vmop_guest_find_inode(guest, &wrong[i], &file));
	/* The inode went away, and its memory is another's. */
	assert_null(vmop_guest_find_inode(guest, &right, &file));
	set(made.inode, VMOP_LAYOUT_INODE_NUMBER, 99);
	expect_none(vmop_guest_find_inode(guest, &right, &file));
	close_guest();
}

static void by_its_pages_once_it_was_found(void **state)
{
	(void)state;
	open_old(false);
	struct vmop_guest_inode identity = identity_of(made.inode);
	const struct vmop_guest_inode pages = {.mapping = identity.mapping};
	expect_none(vmop_guest_find_inode(guest, &pages, &file));
	assert_null(vmop_guest_find_inode(guest, &identity, &file));
	assert_null(vmop_guest_find_inode(guest, &pages, &file));
	assert_string_equal(file.path, "/bin/worker");
	synthetic_put_u32(&made, member(made.inode, VMOP_LAYOUT_INODE_GENERATION), 8);
	expect_none(vmop_guest_find_inode(guest, &pages, &file));
	close_guest();
}

static void names_that_were_removed(void **state)
{
	(void)state;
	open_old(false);
	uint64_t bin = get(made.dentry, VMOP_LAYOUT_DENTRY_PARENT);
	uint64_t other = synthetic_dentry(&made, bin, "other");
	synthetic_link(&made, other, made.inode);
	expect_path(made.inode, "/bin/other");
	set(other, VMOP_LAYOUT_DENTRY_HASH, 0);
	expect_path(made.inode, "/bin/worker");
	assert_false(file.is_deleted);
	set(made.dentry, VMOP_LAYOUT_DENTRY_HASH, 0);
	expect_path(made.inode, "/bin/other (deleted)");
	assert_true(file.is_deleted);
	set(made.inode, VMOP_LAYOUT_INODE_DENTRIES, 0);
	expect_no_path(made.inode);
	close_guest();
}

/* memfd and shared memory have a file system without directories, mounted by the kernel. */
static void memory_without_a_name(void **state)
{
	(void)state;
	open_old(false);
	uint64_t root = synthetic_dentry(&made, 0, "/");
	uint64_t super = synthetic_super(&made, root);
	uint64_t mount = synthetic_mount(&made, super, root, 0, root);
	set(mount, VMOP_LAYOUT_MOUNT_NAMESPACE, ERROR_NAMESPACE);
	uint64_t inode = synthetic_inode(&made, super, 5, S_IFREG);
	set(inode, VMOP_LAYOUT_INODE_LINKS, 0);
	uint64_t dentry = synthetic_dentry(&made, 0, "memfd:code");
	set(dentry, VMOP_LAYOUT_DENTRY_SUPER, super);
	set(super, VMOP_LAYOUT_SUPER_TYPE, synthetic_place(&made, NULL, 0, 2048, 2048));
	set(get(super, VMOP_LAYOUT_SUPER_TYPE), VMOP_LAYOUT_FS_TYPE_NAME,
	    get(dentry, VMOP_LAYOUT_DENTRY_NAME));
	synthetic_link(&made, dentry, inode);
	expect_path(inode, "/memfd:code (deleted)");
	assert_true(file.is_deleted);
	close_guest();
}

static void of_several_mounts_that_of_the_first_process(void **state)
{
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		open_old(is_old);
		uint64_t bin = get(made.dentry, VMOP_LAYOUT_DENTRY_PARENT);
		uint64_t point = synthetic_dentry(&made, made.tmp_root, "bound");
		/* a part of it, and again the whole: the older one is taken */
		synthetic_mount(&made, made.super, bin, made.tmp_mount, point);
		synthetic_mount(&made, made.super, made.root, made.tmp_mount, point);
		expect_path(made.inode, "/bin/worker");
		/* the root's mount needs no list, which can be long */
		uint64_t mounts = get(made.super, VMOP_LAYOUT_SUPER_MOUNTS);
		set(made.super, VMOP_LAYOUT_SUPER_MOUNTS, 0);
		expect_path(made.inode, "/bin/worker");
		set(made.super, VMOP_LAYOUT_SUPER_MOUNTS, mounts);
		/* only a container has it, at its root */
		uint64_t super = synthetic_super(&made, bin);
		uint64_t mount = synthetic_mount(&made, super, bin, 0, bin);
		set(mount, VMOP_LAYOUT_MOUNT_NAMESPACE, made.inode);
		set(made.inode, VMOP_LAYOUT_INODE_SUPER, super);
		expect_path(made.inode, "/worker");
		/* nothing shows it any longer */
		set(synthetic_member(&made, mount, VMOP_LAYOUT_MOUNT_MNT),
		    VMOP_LAYOUT_VFSMOUNT_ROOT, made.tmp_root);
		expect_no_path(made.inode);
		close_guest();
	}
}

static void hostile_directories(void **state)
{
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		open_old(is_old);
		uint64_t bin = get(made.dentry, VMOP_LAYOUT_DENTRY_PARENT);
		/* directories that contain each other */
		set(bin, VMOP_LAYOUT_DENTRY_PARENT, made.dentry);
		expect_no_path(made.inode);
		set(bin, VMOP_LAYOUT_DENTRY_PARENT, made.root);
		/* a list of mounts that never ends, without any that fits */
		set(synthetic_member(&made, made.mount, VMOP_LAYOUT_MOUNT_MNT),
		    VMOP_LAYOUT_VFSMOUNT_ROOT, made.tmp_root);
		set(made.mount,
		    is_old ? VMOP_LAYOUT_MOUNT_OF_SUPER : VMOP_LAYOUT_MOUNT_NEXT_OF_SUPER,
		    is_old ? member(made.mount, VMOP_LAYOUT_MOUNT_OF_SUPER) : made.mount);
		expect_no_path(made.inode);
		/* names of one inode that lead to another's, in a circle */
		uint64_t alias = member(made.dentry, VMOP_LAYOUT_DENTRY_ALIAS);
		synthetic_put_u64(&made, alias, alias);
		set(made.dentry, VMOP_LAYOUT_DENTRY_HASH, 0);
		expect_no_path(made.inode);
		set(made.inode, VMOP_LAYOUT_INODE_DENTRIES, UINT64_C(0xffff900000000000));
		expect_no_path(made.inode);
		close_guest();
	}
}

static void mounts_on_each_other(void **state)
{
	(void)state;
	open_old(false);
	set(made.mount, VMOP_LAYOUT_MOUNT_PARENT, made.tmp_mount);
	struct vmop_guest_inode identity = identity_of(made.inode);
	struct vmop_error *err = vmop_guest_find_inode(guest, &identity, &file);
	/* any bounded answer is right */
	if (!err)
		assert_true(strlen(file.path) < 4096);
	vmop_error_destroy(err);
	err = vmop_guest_find_path(guest, "/tmp/perf-2.map", &file);
	vmop_error_destroy(err);
	assert_true(vmop_guest_last_cost(guest).cpu_ns < MAX_NS);
	close_guest();
}

/* --- by path ------------------------------------------------------------------------------- */

static void paths_in_the_cache(void **state)
{
	static const char *const absent[] = {
		"/bin/none",  "/bin/worke", "/bin/worker2",  "/bin/worker/x", "/bin/../bin/worker",
		"bin/worker", "/tmp/link",  "/tmp/link/x",   "/tmp",	      "/tmp/directory",
		"/",	      "",	    "/tmp/negative",
	};
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		open_old(is_old);
		synthetic_dentry(&made, made.tmp_root, "negative");
		expect_at("/bin/worker", made.inode);
		assert_string_equal(file.path, "/bin/worker");
		assert_int_equal(file.build_id_len_bytes, 20);
		expect_at("//bin/./worker", made.inode);
		expect_at("/tmp/perf-2.map", made.map_inode);
		for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
			expect_none(vmop_guest_find_path(guest, absent[i], &file));
		set(made.dentry, VMOP_LAYOUT_DENTRY_HASH, 0);
		expect_none(vmop_guest_find_path(guest, "/bin/worker", &file));
		close_guest();
	}
}

static void a_later_mount_hides_an_earlier_one(void **state)
{
	(void)state;
	open_old(false);
	uint64_t root = synthetic_dentry(&made, 0, "/"), super = synthetic_super(&made, root);
	uint64_t inode = synthetic_inode(&made, super, 9, S_IFREG);
	synthetic_link(&made, root, synthetic_inode(&made, super, 1, S_IFDIR));
	synthetic_link(&made, synthetic_dentry(&made, root, "perf-2.map"), inode);
	synthetic_mount(&made, super, root, made.tmp_mount, made.tmp_root);
	expect_at("/tmp/perf-2.map", inode);
	close_guest();
}

/* Give the worker a root directory of its own, as a container has. */
static void make_container(uint64_t super, uint64_t root)
{
	uint64_t mount = synthetic_mount(&made, super, root, 0, root);
	uint64_t fs = synthetic_place(&made, NULL, 0, 1024, 1024);
	uint64_t path = member(fs, VMOP_LAYOUT_FS_ROOT);
	synthetic_put_u64(&made, member(path, VMOP_LAYOUT_PATH_MNT),
			  member(mount, VMOP_LAYOUT_MOUNT_MNT));
	synthetic_put_u64(&made, member(path, VMOP_LAYOUT_PATH_DENTRY), root);
	set(made.task[2], VMOP_LAYOUT_TASK_FS, fs);
}

static struct vmop_error *find_of_worker(const char *path)
{
	return vmop_guest_find_path_of(guest, made.task[2], 2,
				       get(made.task[2], VMOP_LAYOUT_TASK_START), path, &file);
}

static void a_container_has_paths_of_its_own(void **state)
{
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		open_old(is_old);
		uint64_t root = synthetic_dentry(&made, 0, "/");
		uint64_t super = synthetic_super(&made, root);
		uint64_t inode = synthetic_inode(&made, super, 9, S_IFREG);
		uint64_t tmp = synthetic_dentry(&made, root, "tmp");
		synthetic_link(&made, tmp, synthetic_inode(&made, super, 2, S_IFDIR));
		synthetic_link(&made, synthetic_dentry(&made, tmp, "perf-77.map"), inode);
		make_container(super, root);
		struct vmop_error *err = find_of_worker("/tmp/perf-77.map");
		if (err)
			fail_msg("%s", err->message);
		assert_int_equal(file.mapping, get(inode, VMOP_LAYOUT_INODE_MAPPING));
		expect_none(find_of_worker("/tmp/perf-2.map"));
		expect_none(vmop_guest_find_path(guest, "/tmp/perf-77.map", &file));
		expect_at("/tmp/perf-2.map", made.map_inode);
		/* Another process has this task now. */
		expect_none(vmop_guest_find_path_of(guest, made.task[2], 3, 0, "/tmp/perf-77.map",
						    &file));
		close_guest();
	}
}

static void files_of_an_overlay_have_their_pages_below(void **state)
{
	(void)state;
	open_old(false);
	uint64_t root = synthetic_dentry(&made, 0, "/"), super = synthetic_super(&made, root);
	uint64_t type = synthetic_place(&made, NULL, 0, 256, 256);
	uint64_t type_name = synthetic_place(&made, NULL, 0, 8, 8);
	uint64_t inode = synthetic_inode(&made, super, 9, S_IFREG);
	uint64_t pages = synthetic_inode(&made, made.super, 99, S_IFREG);
	uint64_t upper = synthetic_dentry(&made, made.root, "perf-1.map");
	uint64_t behind = member(inode, VMOP_LAYOUT_INODE_BYTES);
	strcpy((char *)synthetic_at(&made, type_name), "overlay");
	set(super, VMOP_LAYOUT_SUPER_TYPE, type);
	set(type, VMOP_LAYOUT_FS_TYPE_NAME, type_name);
	synthetic_link(&made, synthetic_dentry(&made, root, "perf-1.map"), inode);
	synthetic_link(&made, upper, pages);
	make_container(super, root);
	expect_none(find_of_worker("/perf-1.map")); /* it was not written to */
	synthetic_put_u64(&made, behind, upper);
	struct vmop_error *err = find_of_worker("/perf-1.map");
	if (err)
		fail_msg("%s", err->message);
	assert_int_equal(file.mapping, get(pages, VMOP_LAYOUT_INODE_MAPPING));
	assert_string_equal(file.path, "/perf-1.map");
	/* Some other kernel has something else there. */
	synthetic_put_u64(&made, behind, made.dentry);
	expect_none(find_of_worker("/perf-1.map"));
	synthetic_put_u64(&made, behind, inode);
	expect_none(find_of_worker("/perf-1.map"));
	/* Another file system. */
	synthetic_at(&made, type_name)[0] = 'x';
	assert_null(find_of_worker("/perf-1.map"));
	assert_int_equal(file.mapping, get(inode, VMOP_LAYOUT_INODE_MAPPING));
	close_guest();
}

static void hostile_lists_of_names(void **state)
{
	(void)state;
	for (int is_old = 0; is_old < 2; is_old++) {
		open_old(is_old);
		enum vmop_layout_field link =
			is_old ? VMOP_LAYOUT_DENTRY_CHILD : VMOP_LAYOUT_DENTRY_SIBLING;
		/* a circle that does not contain its head */
		set(made.dentry, link, member(made.dentry, link));
		expect_none(vmop_guest_find_path(guest, "/bin/none", &file));
		uint64_t child = member(made.tmp_mount, VMOP_LAYOUT_MOUNT_CHILD);
		synthetic_put_u64(&made, child, child);
		expect_none(vmop_guest_find_path(guest, "/bin/none", &file));
		/* no first process, or one without a root */
		set(made.task[1], VMOP_LAYOUT_TASK_FS, 0);
		expect_none(vmop_guest_find_path(guest, "/bin/worker", &file));
		synthetic_put_u32(&made, member(made.task[1], VMOP_LAYOUT_TASK_TGID), 5);
		expect_none(vmop_guest_find_path(guest, "/bin/worker", &file));
		close_guest();
	}
}

/* --- their pages --------------------------------------------------------------------------- */

static void pages_of_an_inode(void **state)
{
	uint8_t content[3 * 4096];
	uint64_t size;
	size_t got;
	(void)state;
	open_old(false);
	struct vmop_guest_inode identity = identity_of(made.inode);
	uint64_t mapping = identity.mapping;
	/* also before the inode was found */
	assert_null(vmop_guest_read_mapping(guest, mapping, 0, content, sizeof(content), &got));
	assert_int_equal(got, 8192);
	assert_memory_equal(content, "\177ELF", 4);
	assert_int_equal(content[4096], 0x77);
	assert_null(vmop_guest_mapping_size(guest, mapping, &size));
	assert_int_equal(size, 8192);
	assert_null(vmop_guest_find_inode(guest, &identity, &file));
	assert_null(vmop_guest_read_mapping(guest, mapping, 4096, content, 16, &got));
	assert_int_equal(got, 16);
	/* the memory of the inode is now that of another one */
	synthetic_put_u32(&made, member(made.inode, VMOP_LAYOUT_INODE_GENERATION), 8);
	expect_none(vmop_guest_read_mapping(guest, mapping, 0, content, 16, &got));
	assert_int_equal(got, 0);
	expect_none(vmop_guest_mapping_size(guest, mapping, &size));
	expect_none(vmop_guest_mapping_size(guest, made.task[1], &size));
	expect_none(vmop_guest_mapping_size(guest, 0, &size));
	close_guest();
}

/* --- one process --------------------------------------------------------------------------- */

static void one_process(void **state)
{
	struct vmop_guest_snapshot *snapshot;
	(void)state;
	open_old(false);
	uint64_t task = made.task[2];
	assert_null(vmop_guest_snapshot_process(guest, task, 2, 2000, &snapshot));
	assert_int_equal(vmop_guest_snapshot_count(snapshot), 1);
	const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, 0);
	assert_string_equal(process->comm, "worker");
	assert_int_equal(process->vma_count, 2);
	assert_string_equal(process->vmas[0].path, "/bin/worker");
	assert_int_equal(process->vmas[0].build_id_len_bytes, 20);
	vmop_guest_snapshot_free(snapshot);
	/* by another thread of it */
	set(made.task[1], VMOP_LAYOUT_TASK_LEADER, task);
	assert_null(vmop_guest_snapshot_process(guest, made.task[1], 2, 2000, &snapshot));
	assert_int_equal(vmop_guest_snapshot_get(snapshot, 0)->task, task);
	vmop_guest_snapshot_free(snapshot);
	expect_none(vmop_guest_snapshot_process(guest, task, 2, 2001, &snapshot));
	expect_none(vmop_guest_snapshot_process(guest, task, 3, 2000, &snapshot));
	expect_none(vmop_guest_snapshot_process(guest, 0x400000, 2, 2000, &snapshot));
	/* mappings that stay inconsistent */
	synthetic_put_u32(&made, member(made.mm[2], VMOP_LAYOUT_MM_MAP_COUNT), 5);
	expect_none(vmop_guest_snapshot_process(guest, task, 2, 2000, &snapshot));
	assert_int_equal(vmop_guest_last_cost(guest).retries, 2);
	close_guest();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_size_and_build_id),
		cmocka_unit_test(another_identity_is_not_found),
		cmocka_unit_test(by_its_pages_once_it_was_found),
		cmocka_unit_test(names_that_were_removed),
		cmocka_unit_test(memory_without_a_name),
		cmocka_unit_test(of_several_mounts_that_of_the_first_process),
		cmocka_unit_test(hostile_directories),
		cmocka_unit_test(mounts_on_each_other),
		cmocka_unit_test(paths_in_the_cache),
		cmocka_unit_test(a_later_mount_hides_an_earlier_one),
		cmocka_unit_test(a_container_has_paths_of_its_own),
		cmocka_unit_test(files_of_an_overlay_have_their_pages_below),
		cmocka_unit_test(hostile_lists_of_names),
		cmocka_unit_test(pages_of_an_inode),
		cmocka_unit_test(one_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
