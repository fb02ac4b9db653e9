// SPDX-License-Identifier: GPL-2.0-or-later
/* A call that has to succeed. */
#ifndef VMOP_TESTS_UNIT_OK_H
#define VMOP_TESTS_UNIT_OK_H

#include <cmocka.h>

#include "libutil/error.h"

/* Prints the message of an error that should not be. */
static inline void check_ok(struct vmop_error *err, const char *file, int line)
{
	if (err) {
		print_error("%s\n", err->message);
		vmop_error_destroy(err);
		_fail(file, line);
	}
}
#define assert_ok(call) check_ok(call, __FILE__, __LINE__)

#endif
