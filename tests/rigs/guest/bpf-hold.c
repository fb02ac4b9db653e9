// SPDX-License-Identifier: GPL-2.0-or-later
// usage: bpf-hold: load a small BPF program named rig_filter and keep it until killed.
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	// r0 = 0; exit
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insn_cnt = sizeof(program) / sizeof(program[0]);
	attr.insns = (uintptr_t)program;
	attr.license = (uintptr_t) "GPL";
	strcpy(attr.prog_name, "rig_filter");
	if (syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)) < 0) {
		perror("bpf-hold");
		return 1;
	}
	for (;;)
		pause();
}
