// SPDX-License-Identifier: GPL-2.0-or-later
/* A folder for one file, for tests of code that reads files; set_up and tear_down are cmocka's. */
#ifndef VMOP_TESTS_LIBGUEST_SCRATCH_H
#define VMOP_TESTS_LIBGUEST_SCRATCH_H

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/vmop-memory-XXXXXX";
static char path[sizeof(dir) + 16]; /* path of the file, which does not exist at first */

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

#endif
