// SPDX-License-Identifier: GPL-2.0-or-later
/* The synthetic guest of a test, opened from its RAM; one at a time. */
#ifndef VMOP_TESTS_UNIT_LIBGUEST_OPENED_H
#define VMOP_TESTS_UNIT_LIBGUEST_OPENED_H

#include <cmocka.h>

#include "libguest/guest-internal.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

static struct synthetic made;
static struct vmop_guest *guest;

static inline void open_with(const struct synthetic_options *options)
{
	struct vmop_guest_memory *memory;
	synthetic_make(&made, options);
	assert_null(vmop_guest_memory_open_buffer(made.ram, SYNTHETIC_RAM_BYTES, &memory));
	assert_null(vmop_guest_open_memory(memory, &guest));
}

static inline void close_guest(void)
{
	vmop_guest_close(guest);
	synthetic_free(&made);
	guest = NULL;
}

/* Open a guest and find its kernel. */
static inline void open_found(const struct synthetic_options *options)
{
	open_with(options);
	struct vmop_error *err = vmop_guest_find_kernel(guest);
	if (err)
		fail_msg("%s", err->message);
}

#endif
