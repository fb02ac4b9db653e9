// SPDX-License-Identifier: GPL-2.0-or-later
/* A made tree of files in the form of /proc and /sys, for what this machine has not. */
#ifndef VMOP_TESTS_UNIT_LIBVMOP_STAT_TREE_H
#define VMOP_TESTS_UNIT_LIBVMOP_STAT_TREE_H

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/error.h"
#include "libutil/io.h"

static char tree_root[64];

static inline void tree_begin(void)
{
	strcpy(tree_root, "/tmp/vmop-tree.XXXXXX");
	assert_non_null(mkdtemp(tree_root));
}

static inline void tree_end(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", tree_root);
	assert_int_equal(system(command), 0);
}

/* Write the full path to full, and make its directories. */
static inline void tree_make_path(char full[512], const char *path)
{
	snprintf(full, 512, "%s%s", tree_root, path);
	char *slash = strrchr(full, '/');
	*slash = '\0';
	assert_null(vmop_io_make_dir(full, 0755));
	*slash = '/';
}

/* Make a symbolic link with its directories; its target need not exist. */
static inline void tree_link(const char *path, const char *target)
{
	char full[512];
	tree_make_path(full, path);
	assert_int_equal(symlink(target, full), 0);
}

/* Write a file with its directories. */
static inline void tree_file(const char *path, const char *text)
{
	char full[512];
	tree_make_path(full, path);
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

#endif
