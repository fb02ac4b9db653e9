// SPDX-License-Identifier: GPL-2.0-or-later
/* The running kernel's memory, at addresses whose content is known, and at others. */
#include "hv-interface/bpf/kernel-reader.h"

#include <bpf/bpf.h>
#include <cmocka.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct vmop_kernel_reader *reader;

/* Load a program of which the kernel shows both the address and the machine code. */
static int load_program(void)
{
	struct bpf_insn code[64];
	for (size_t i = 0; i < 63; i++) /* r0 = i */
		code[i] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K,
					    .imm = (int32_t)(i * 0x01010101)};
	code[63] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "vmop_known", "GPL", code, 64, NULL);
}

static void the_kernels_memory_is_read(void **state)
{
	uint8_t buf[VMOP_KERNEL_READER_BYTES], code[4096];
	uint64_t address = 0;
	struct bpf_prog_info info = {
		.jited_prog_insns = (uintptr_t)code,
		.jited_prog_len = sizeof(code),
		.jited_ksyms = (uintptr_t)&address,
		.nr_jited_ksyms = 1,
	};
	uint32_t len = sizeof(info);
	int fd = load_program();
	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	if (!address || !info.jited_prog_len) { /* programs are interpreted, or it is hidden */
		close(fd);
		skip();
	}
	assert_in_range(info.jited_prog_len, 64, sizeof(code));
	/* Whole pages, because the one behind a program's may be unmapped. */
	for (uint64_t page = address & -(uint64_t)sizeof(buf); page < address + info.jited_prog_len;
	     page += sizeof(buf)) {
		uint64_t begin = page > address ? page : address;
		uint64_t end = address + info.jited_prog_len;
		if (end > page + sizeof(buf))
			end = page + sizeof(buf);
		assert_true(vmop_kernel_reader_read(reader, page, buf));
		assert_memory_equal(buf + (begin - page), code + (begin - address), end - begin);
	}
	close(fd);
}

/* Addresses that are not the kernel's are refused, also those of this process. */
static void other_memory_is_not_read(void **state)
{
	uint8_t buf[VMOP_KERNEL_READER_BYTES], own[2 * VMOP_KERNEL_READER_BYTES] = {1};
	(void)state;
	assert_false(vmop_kernel_reader_read(reader, 0, buf));
	assert_false(vmop_kernel_reader_read(reader, 4096, buf));
	assert_false(vmop_kernel_reader_read(reader, (uintptr_t)own, buf));
	assert_false(vmop_kernel_reader_read(reader, UINT64_C(0x0123456789abcdef), buf));
	assert_false(vmop_kernel_reader_read(reader, UINT64_MAX - 100, buf)); /* it wraps */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_memory_is_read),
		cmocka_unit_test(other_memory_is_not_read),
	};
	struct vmop_error *err = vmop_kernel_reader_create(&reader);
	if (err) {
		printf("skipped: %s\n", err->message);
		return 77;
	}
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	vmop_kernel_reader_destroy(reader);
	return status;
}
