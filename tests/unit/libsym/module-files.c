// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of modules below folders and a root, by name. */
#include "libsym/module-files.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/vmop-modules-XXXXXX";

static int set_up_group(void **state)
{
	(void)state;
	char line[1024];
	if (!mkdtemp(dir))
		return -1;
	snprintf(line, sizeof(line),
		 "cd %s && mkdir -p images/deep/er root/usr/lib/modules/6.1/kernel "
		 "root/usr/lib/modules/6.2/kernel && ln -s usr/lib root/lib && "
		 "touch images/kvm.ko images/deep/er/kvm-amd.ko.xz images/kvm.ko.bak "
		 "images/.ko images/deep/kvm.c root/usr/lib/modules/6.2/kernel/kvm_amd.ko && "
		 "touch root/usr/lib/modules/6.1/kernel/kvm-amd.ko.zst && "
		 "ln -s kernel/kvm-amd.ko.zst root/usr/lib/modules/6.1/linked.ko.gz && "
		 "ln -s .. images/deep/er/up",
		 dir);
	return system(line);
}

static int tear_down_group(void **state)
{
	(void)state;
	char line[256];
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line);
}

/* Check the files of a module: their paths without dir, each with a blank behind it. */
static void check(struct vmop_module_files *files, const char *name, const char *wanted)
{
	const struct vmop_module_file *found;
	char got[1024] = "";
	size_t n;
	assert_null(vmop_module_files_find(files, name, &found, &n));
	for (size_t i = 0; i < n; i++) {
		const char *path = found[i].path;
		size_t len = strlen(dir);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s ",
			 found[i].root_fd == AT_FDCWD ? "" : "root:",
			 strncmp(path, dir, len) ? path : path + len);
	}
	assert_string_equal(got, wanted);
}

static void names_match_with_dashes(void **state)
{
	(void)state;
	char images[64], root[64];
	struct vmop_module_files *files;
	snprintf(images, sizeof(images), "%s/images", dir);
	snprintf(root, sizeof(root), "%s/root", dir);
	char *const folders[] = {images, (char[]){"/nonexistent"}};
	int root_fd = open(root, O_PATH | O_DIRECTORY);
	assert_null(vmop_module_files_create(root_fd, folders, 2, &files));
	check(files, "[kvm]", "/images/kvm.ko ");
	const char *amd = "/images/deep/er/kvm-amd.ko.xz "
			  "root:/lib/modules/6.1/kernel/kvm-amd.ko.zst "
			  "root:/lib/modules/6.2/kernel/kvm_amd.ko ";
	check(files, "[kvm_amd]", amd);
	check(files, "[kvm-amd]", amd);
	check(files, "[linked]", "root:/lib/modules/6.1/linked.ko.gz ");
	check(files, "[kvm_intel]", "");
	check(files, "kvm", "");
	check(files, "[]", "");
	check(files, NULL, "");
	vmop_module_files_destroy(files);
	close(root_fd);
}

static void unused_and_empty_collections(void **state)
{
	(void)state;
	struct vmop_module_files *files;
	int root_fd = open(dir, O_PATH | O_DIRECTORY);
	assert_null(vmop_module_files_create(root_fd, NULL, 0, &files));
	vmop_module_files_destroy(files);
	assert_null(vmop_module_files_create(root_fd, NULL, 0, &files));
	check(files, "[kvm]", "");
	check(files, "[kvm]", "");
	vmop_module_files_destroy(files);
	vmop_module_files_destroy(NULL);
	close(root_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_match_with_dashes),
		cmocka_unit_test(unused_and_empty_collections),
	};
	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
