// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: kvm-burn ROUNDS WRITES
 * A KVM guest (guest.S) of one vCPU: 75 % of its time at EL1, 25 % at EL0, and WRITES exits to the
 * VMM per round.  The kernel's addresses are in the upper half, as in Linux.  Prints "exits N".
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

extern const char guest_code[], guest_user[], guest_vectors[], guest_end[];

#define RAM_GPA UINT64_C(0x40000000) /* the second GiB */
#define DEVICE_GPA UINT64_C(0x10000000)
#define RAM_BYTES (1u << 20)
#define TABLE_USER_GPA (RAM_GPA + 0x10000)
#define TABLE_KERNEL_GPA (RAM_GPA + 0x11000)
#define KERNEL_BASE UINT64_C(0xffffff8000000000) /* 39 bits of address: T1SZ is 25 */

/* Arm ARM D8.3: block descriptors of level 1, 1 GiB each. */
#define BLOCK (1u | 3u << 8 | 1u << 10) /* valid, inner shareable, accessed */
#define BLOCK_USER (1u << 6)		/* AP: EL0 as well */
#define BLOCK_DEVICE (1u << 2)		/* the second of MAIR's attributes */

#define SYSTEM(op0, op1, crn, crm, op2) ARM64_SYS_REG(op0, op1, crn, crm, op2)
#define CORE(field)                                                                                \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |                                     \
	 (offsetof(struct kvm_regs, field) / sizeof(uint32_t)))

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(3);
}

static void set(int vcpu, uint64_t id, uint64_t value)
{
	struct kvm_one_reg reg = {.id = id, .addr = (uintptr_t)&value};
	must(ioctl(vcpu, KVM_SET_ONE_REG, &reg), "KVM_SET_ONE_REG");
}

static void fill_ram(char *ram)
{
	uint64_t *user = (void *)(ram + (TABLE_USER_GPA - RAM_GPA));
	uint64_t *kernel = (void *)(ram + (TABLE_KERNEL_GPA - RAM_GPA));
	memcpy(ram, guest_code, (size_t)(guest_end - guest_code));
	__builtin___clear_cache(ram, ram + RAM_BYTES);
	user[1] = RAM_GPA | BLOCK | BLOCK_USER;
	kernel[0] = BLOCK | BLOCK_DEVICE;
	kernel[1] = RAM_GPA | BLOCK;
}

static void set_registers(int vcpu, uint64_t writes)
{
	uint64_t tcr = 25 | 25 << 16 | UINT64_C(2) << 30; /* T0SZ, T1SZ, TG1: 4 KiB */
	tcr |= UINT64_C(0x3500) | UINT64_C(0x35000000);	  /* tables: cached, inner shareable */
	set(vcpu, SYSTEM(3, 0, 2, 0, 0), TABLE_USER_GPA); /* TTBR0_EL1 */
	set(vcpu, SYSTEM(3, 0, 2, 0, 1), TABLE_KERNEL_GPA);
	set(vcpu, SYSTEM(3, 0, 2, 0, 2), tcr);
	set(vcpu, SYSTEM(3, 0, 10, 2, 0), 0xff);      /* MAIR_EL1: normal, device */
	set(vcpu, SYSTEM(3, 0, 1, 0, 0), 0x30d01805); /* SCTLR_EL1: MMU and caches on */
	set(vcpu, SYSTEM(3, 0, 12, 0, 0),
	    KERNEL_BASE + RAM_GPA + (uint64_t)(guest_vectors - guest_code));
	set(vcpu, CORE(regs.regs[19]), 300000);
	set(vcpu, CORE(regs.regs[20]), 100000);
	set(vcpu, CORE(regs.regs[21]), writes);
	set(vcpu, CORE(regs.regs[22]), KERNEL_BASE + DEVICE_GPA);
	set(vcpu, CORE(regs.regs[23]), RAM_GPA + (uint64_t)(guest_user - guest_code));
	set(vcpu, CORE(regs.pc), KERNEL_BASE + RAM_GPA);
}

static void *start_guest(int *ret_vcpu, uint64_t writes)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	must(kvm, "/dev/kvm");
	int vm = ioctl(kvm, KVM_CREATE_VM, 0ul);
	must(vm, "KVM_CREATE_VM");
	char *ram =
		mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ram == MAP_FAILED)
		must(-1, "mmap");
	fill_ram(ram);
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = RAM_GPA,
		.memory_size = RAM_BYTES,
		.userspace_addr = (uintptr_t)ram,
	};
	must(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0ul);
	must(vcpu, "KVM_CREATE_VCPU");
	struct kvm_vcpu_init init = {0};
	must(ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init), "KVM_ARM_PREFERRED_TARGET");
	must(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "KVM_ARM_VCPU_INIT");
	set_registers(vcpu, writes);
	*ret_vcpu = vcpu;
	size_t run_bytes = (size_t)ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0ul);
	void *run = mmap(NULL, run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		must(-1, "mmap");
	return run;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	unsigned long wanted = strtoul(argv[1], NULL, 10), writes = strtoul(argv[2], NULL, 10);
	int vcpu;
	prctl(PR_SET_NAME, "CPU 0/KVM");
	const struct kvm_run *run = start_guest(&vcpu, writes);
	unsigned long exits = 0;
	for (; exits < wanted * writes; exits++) {
		must(ioctl(vcpu, KVM_RUN, 0ul), "KVM_RUN");
		if (run->exit_reason != KVM_EXIT_MMIO || run->mmio.phys_addr != DEVICE_GPA) {
			fprintf(stderr, "exit %u after %lu\n", run->exit_reason, exits);
			return 1;
		}
	}
	printf("exits %lu\n", exits);
	return 0;
}
