// SPDX-License-Identifier: GPL-2.0-or-later
/* Unwind tables of real files, this program's among them. */
#include "daemon/stack/tables.h"

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/ok.h"

enum { IMAGES_MAX = 64 };

struct rig {
	struct vmop_images images;
	struct vmop_image *vdso;
	struct vmop_stack_tables *tables;
};

static void begin(struct rig *rig, const char *root, size_t max_bytes)
{
	memset(rig, 0, sizeof(*rig));
	assert_ok(vmop_images_init(&rig->images, IMAGES_MAX));
	rig->vdso = vmop_images_named(&rig->images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_VDSO, "[vdso]",
				      0, 0);
	assert_ok(vmop_stack_tables_create(
		&rig->images, rig->vdso, root,
		&(struct vmop_stack_tables_limits){
			.image = {.max_bytes = 64 << 20, .max_cpu_ns = 10000000000ull},
			.max_bytes = max_bytes,
			.max_images = IMAGES_MAX},
		&rig->tables));
}

static void end(struct rig *rig)
{
	vmop_stack_tables_destroy(rig->tables);
	vmop_image_unref(&rig->images, rig->vdso);
	vmop_images_deinit(&rig->images);
}

/* Return a region at 0x1000 with the file at path. Its process is this one, which need not map it.
 */
static struct vmop_region map(struct rig *rig, const char *path)
{
	struct stat st = {0};
	stat(path, &st);
	return (struct vmop_region){
		.start = 0x1000,
		.end = 0x100000,
		.image = vmop_images_file(&rig->images,
					  &(struct vmop_mapped_file){.path = path,
								     .inode = st.st_ino,
								     .pid = (uint32_t)getpid()}),
	};
}

static enum vmop_code_state find(struct rig *rig, const struct vmop_region *region)
{
	const struct vmop_cfi_table *table;
	enum vmop_code_state state =
		vmop_stack_tables_find(rig->tables, region, (uint32_t)getpid(), &table);
	assert_int_equal(table != NULL, state == VMOP_CODE_HAS_TABLE);
	return state;
}

/* Return the state once it is final. */
static enum vmop_code_state await(struct rig *rig, const struct vmop_region *region)
{
	while (find(rig, region) == VMOP_CODE_PENDING)
		vmop_stack_tables_collect(rig->tables, 1000);
	return find(rig, region);
}

static void own_path(char *buf, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", buf, size - 1);
	assert_true(len > 0);
	buf[len] = '\0';
}

static void a_table_is_built_once(void **state)
{
	struct rig rig;
	struct vmop_stack_tables_facts facts;
	char path[4096];
	(void)state;
	begin(&rig, "", 64 << 20);
	own_path(path, sizeof(path));
	struct vmop_region region = map(&rig, path);
	assert_int_equal(find(&rig, &region), VMOP_CODE_PENDING);
	vmop_stack_tables_facts(rig.tables, &facts);
	assert_int_equal(facts.n_pending, 1);
	assert_int_equal(await(&rig, &region), VMOP_CODE_HAS_TABLE);
	vmop_stack_tables_facts(rig.tables, &facts);
	assert_int_equal(facts.n_ready, 1);
	assert_int_equal(facts.n_pending, 0);
	assert_true(facts.bytes > 0);
	assert_false(vmop_stack_tables_collect(rig.tables, 0));
	vmop_image_unref(&rig.images, region.image);
	end(&rig);
}

static void files_without_a_table_have_reasons(void **state)
{
	struct rig rig;
	char folder[] = "/tmp/vmop-test-XXXXXX", path[64];
	(void)state;
	begin(&rig, "", 64 << 20);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/text", folder);
	FILE *out = fopen(path, "w");
	fputs("no program", out);
	fclose(out);
	struct vmop_region text = map(&rig, path), gone = map(&rig, "/nowhere/program");
	struct vmop_region folder_region = map(&rig, folder);
	assert_int_equal(await(&rig, &text), VMOP_CODE_UNREADABLE);
	assert_int_equal(await(&rig, &gone), VMOP_CODE_UNREADABLE);
	assert_int_equal(await(&rig, &folder_region), VMOP_CODE_UNREADABLE);
	/* A file that could not be opened is tried again later, a damaged one is not. */
	for (int i = 0; i < 20; i++)
		vmop_stack_tables_stored(rig.tables);
	assert_int_equal(find(&rig, &gone), VMOP_CODE_PENDING);
	assert_int_equal(find(&rig, &text), VMOP_CODE_UNREADABLE);
	assert_int_equal(await(&rig, &gone), VMOP_CODE_UNREADABLE);
	vmop_image_unref(&rig.images, text.image);
	vmop_image_unref(&rig.images, gone.image);
	vmop_image_unref(&rig.images, folder_region.image);
	unlink(path);
	rmdir(folder);
	end(&rig);
}

/* The path leads to another file than the mapped one. */
static void a_replaced_file_is_not_used(void **state)
{
	struct rig rig;
	char path[4096];
	(void)state;
	begin(&rig, "", 64 << 20);
	own_path(path, sizeof(path));
	struct vmop_region region = {
		.end = 0x1000,
		.image = vmop_images_file(&rig.images,
					  &(struct vmop_mapped_file){.path = path, .inode = 1}),
	};
	assert_int_equal(await(&rig, &region), VMOP_CODE_UNREADABLE);
	vmop_image_unref(&rig.images, region.image);
	end(&rig);
}

static void generated_code_has_no_table(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, "", 64 << 20);
	struct vmop_region jit = {.end = 0x1000,
				  .image = vmop_images_new(&rig.images, VMOP_DOMAIN_ID_HOST,
							   VMOP_IMAGE_ANON, "[anon]", 0, 0)};
	assert_int_equal(find(&rig, &jit), VMOP_CODE_NO_TABLE);
	vmop_image_unref(&rig.images, jit.image);
	end(&rig);
}

static void the_vdso_has_the_own_ones_table(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, "", 64 << 20);
	struct vmop_region region = {.end = 0x2000, .image = rig.vdso};
	assert_int_equal(find(&rig, &region),
			 getauxval(AT_SYSINFO_EHDR) ? VMOP_CODE_HAS_TABLE : VMOP_CODE_UNREADABLE);
	end(&rig);
}

static void a_replay_reads_no_files(void **state)
{
	struct rig rig;
	char path[4096];
	(void)state;
	begin(&rig, NULL, 64 << 20);
	own_path(path, sizeof(path));
	struct vmop_region region = map(&rig, path);
	assert_int_equal(await(&rig, &region), VMOP_CODE_UNREADABLE);
	vmop_image_unref(&rig.images, region.image);
	end(&rig);
}

/* Two copies of this program are two images, and there is room for one table. */
static void a_table_that_is_not_used_makes_room(void **state)
{
	struct rig rig;
	struct vmop_stack_tables_facts facts;
	char path[4096], folder[] = "/tmp/vmop-test-XXXXXX", copy[64], command[4200];
	(void)state;
	own_path(path, sizeof(path));
	assert_non_null(mkdtemp(folder));
	snprintf(copy, sizeof(copy), "%s/copy", folder);
	snprintf(command, sizeof(command), "cp '%s' '%s'", path, copy);
	assert_int_equal(system(command), 0);
	begin(&rig, "", 64 << 20);
	struct vmop_region region = map(&rig, path);
	assert_int_equal(await(&rig, &region), VMOP_CODE_HAS_TABLE);
	vmop_stack_tables_facts(rig.tables, &facts);
	vmop_image_unref(&rig.images, region.image);
	end(&rig);

	begin(&rig, "", facts.bytes + facts.bytes / 2);
	struct vmop_region first = map(&rig, path), second = map(&rig, copy);
	assert_int_equal(await(&rig, &first), VMOP_CODE_HAS_TABLE);
	/* All tables are in use: the second one has no room. */
	assert_int_equal(await(&rig, &second), VMOP_CODE_UNREADABLE);
	for (int i = 0; i < 20; i++)
		vmop_stack_tables_stored(rig.tables);
	assert_int_equal(await(&rig, &second), VMOP_CODE_HAS_TABLE);
	vmop_stack_tables_facts(rig.tables, &facts);
	assert_int_equal(facts.n_evicted, 1);
	assert_int_equal(facts.n_ready, 1);
	/* The first one is built again. */
	vmop_stack_tables_stored(rig.tables);
	assert_int_equal(await(&rig, &first), VMOP_CODE_HAS_TABLE);
	vmop_image_unref(&rig.images, first.image);
	vmop_image_unref(&rig.images, second.image);
	end(&rig);
	unlink(copy);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_built_once),
		cmocka_unit_test(files_without_a_table_have_reasons),
		cmocka_unit_test(a_replaced_file_is_not_used),
		cmocka_unit_test(generated_code_has_no_table),
		cmocka_unit_test(the_vdso_has_the_own_ones_table),
		cmocka_unit_test(a_replay_reads_no_files),
		cmocka_unit_test(a_table_that_is_not_used_makes_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
