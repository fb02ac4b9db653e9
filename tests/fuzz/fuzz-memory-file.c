// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: any bytes as a saved image of a guest's memory. Whatever the headers contain,
 * no address leads out of the file, and the two conversions are inverse to each other.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libguest/memory/memory.h"
#include "libutil/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct vmop_guest_memory *memory)
{
	uint64_t linear = 0, len;
	uint8_t byte;
	for (int i = 0; i < 64 && vmop_guest_memory_next_touched(memory, &linear, 1 << 20, &len);
	     i++) {
		uint64_t gpa = vmop_guest_memory_to_gpa(memory, linear);
		if (linear + len > vmop_guest_memory_linear_bytes(memory) ||
		    gpa == VMOP_GUEST_NO_ADDRESS ||
		    vmop_guest_memory_to_linear(memory, gpa) == VMOP_GUEST_NO_ADDRESS)
			abort();
		if (!vmop_guest_memory_read(memory, gpa, &byte, 1) ||
		    !vmop_guest_memory_read_linear(memory, linear + len - 1, &byte, 1))
			abort();
		linear += len;
	}
	vmop_guest_memory_read(memory, UINT64_MAX, &byte, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[32];
	struct vmop_guest_memory *memory;
	if (fd < 0)
		fd = memfd_create("image", MFD_CLOEXEC);
	/* Only the file header and segment headers are input; memory follows, all zeros. */
	if (fd < 0 || ftruncate(fd, 0) < 0 || ftruncate(fd, 1 << 20) < 0 ||
	    pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct vmop_error *err = vmop_guest_memory_open_file(path, &memory);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	walk(memory);
	vmop_guest_memory_close(memory);
	return 0;
}
