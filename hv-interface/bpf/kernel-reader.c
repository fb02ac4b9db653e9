// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/kernel-reader.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vmop_kernel_reader {
	int page_fd; /* a map with one value: the bytes that were read last */
	int program_fd;
};

/* Return an instruction of linux/bpf.h's form. */
static struct bpf_insn insn(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t value)
{
	return (struct bpf_insn){
		.code = code, .dst_reg = to, .src_reg = from, .off = offset, .imm = value};
}

/*
 * Load the program: copy the bytes at the address in its context's first word into the map's value.
 * Its result is 0, or negative. Written by hand, because a reader needs no compiler of BPF.
 */
static int load(int page_fd)
{
	const struct bpf_insn code[] = {
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0),
		/* page = bpf_map_lookup_elem(map, &zero) */
		insn(BPF_ST | BPF_W | BPF_MEM, BPF_REG_10, 0, -4, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		insn(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		insn(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, page_fd),
		insn(0, 0, 0, 0, 0),
		insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 2, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, -1),
		insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		/* return bpf_probe_read_kernel(page, its size, address) */
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_0, 0, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, VMOP_KERNEL_READER_BYTES),
		insn(BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_3, BPF_REG_6, 0, 0),
		insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel),
		insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "vmop_read", "GPL", code,
			     sizeof(code) / sizeof(*code), NULL);
}

struct vmop_error *vmop_kernel_reader_create(struct vmop_kernel_reader **ret)
{
	struct vmop_kernel_reader *reader = calloc(1, sizeof(*reader));
	*ret = NULL;
	if (!reader)
		return &vmop_error_no_memory;
	reader->program_fd = -1;
	reader->page_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vmop_page", sizeof(uint32_t),
					 VMOP_KERNEL_READER_BYTES, 1, NULL);
	if (reader->page_fd >= 0)
		reader->program_fd = load(reader->page_fd);
	if (reader->program_fd < 0) {
		int os_errno = errno;
		vmop_kernel_reader_destroy(reader);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "the kernel's code can't be read: bpf() failed (%s)",
				      strerror(os_errno));
	}
	*ret = reader;
	return NULL;
}

void vmop_kernel_reader_destroy(struct vmop_kernel_reader *reader)
{
	if (!reader)
		return;
	if (reader->program_fd >= 0)
		close(reader->program_fd);
	if (reader->page_fd >= 0)
		close(reader->page_fd);
	free(reader);
}

bool vmop_kernel_reader_read(const struct vmop_kernel_reader *reader, uint64_t address, void *buf)
{
	uint64_t context[] = {address};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = context, .ctx_size_in = sizeof(context));
	uint32_t zero = 0;
	return bpf_prog_test_run_opts(reader->program_fd, &run) == 0 && run.retval == 0 &&
	       bpf_map_lookup_elem(reader->page_fd, &zero, buf) == 0;
}
