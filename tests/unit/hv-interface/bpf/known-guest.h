// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A KVM guest of this process for tests: one vCPU that spins at privilege level 3 in known code
 * with known registers, page tables that the test writes, and in its memory what a Linux kernel
 * would have there of its task, its page and its file.
 */
#ifndef VMOP_TESTS_UNIT_HV_INTERFACE_BPF_KNOWN_GUEST_H
#define VMOP_TESTS_UNIT_HV_INTERFACE_BPF_KNOWN_GUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "vmop/guest-numbers.h"

/* Memory: two slots with a gap between them. */
#define LOW_BYTES (UINT64_C(8) << 20)
#define HIGH_GPA (UINT64_C(1) << 32)
#define HIGH_BYTES (UINT64_C(1) << 20)

/* The user's part. The code ends its page, so that fewer than 16 bytes are left. */
#define CODE_PAGE UINT64_C(0x7f1200400000)
#define CODE_BYTES 5
#define CODE_ADDRESS (CODE_PAGE + 4096 - CODE_BYTES)
#define CODE_GPA (HIGH_GPA + 0x23000)
#define USER_STACK_END UINT64_C(0x7ffc00010000)
#define USER_STACK_PAGES 6
#define USER_SP (USER_STACK_END - 0x3128)

/* The kernel's part. */
#define DIRECT_MAP UINT64_C(0xffff888000000000)
#define VMEMMAP UINT64_C(0xffffea0000000000)
#define VMALLOC UINT64_C(0xffffc90000000000)
#define KNOWN_LEADER_PAGE (VMALLOC + 0x1000) /* the second page of the group leader's task */
#define KERNEL_STACK (VMALLOC + 0x100000)
#define KERNEL_STACK_BYTES 16384
#define ENTRY_REGS_END 16
#define IRQ_STACK_END (VMALLOC + 0x200000)

/* Values in the guest's memory. */
#define TASK_PID 4711
#define TASK_TGID 4700
#define TASK_START_TIME UINT64_C(0x123456789abc)
#define TASK_COMM "known\033guest"
#define FILE_INDEX 40 /* of the code's page: the folio's index, and its place in the folio */
#define FILE_INODE UINT64_C(0x1122334455)
#define FILE_GENERATION 77
#define ENTRY_RIP_VALUE UINT64_C(0x7f1200400123)

/* KVM's number of the only vCPU, which is the guest's CPU 0. */
#define KNOWN_VCPU 5

/* The vCPU's code: the user's, the kernel's on the task's stack, at the entry from user code. */
enum known_mode { KNOWN_USER, KNOWN_KERNEL, KNOWN_ENTRY };

enum { KNOWN_VCPUS_MAX = 256 };

struct known_guest {
	int kvm, vm, vcpu;
	int others[KNOWN_VCPUS_MAX]; /* vCPUs that never run */
	uint32_t n_others;
	uint8_t *low, *high; /* the VMM's memory: each has a page of SECRET before and after it */
	uint64_t next_table; /* gpa of the next free table */
	uint64_t root, kernel_root, code_gpa;
	uint64_t mapping, inode, superblock, task; /* the guest's virtual addresses */
	uint64_t other_mapping, other_inode;	   /* of known_guest_make_other_file */
	uint64_t task_mm_gpa, mm_pgd_gpa;	   /* of the task's mm, and of that one's pgd */
	int n_levels;
	uint64_t regs[17]; /* DWARF order; 0 and 16 change */
	pthread_t thread;
	volatile bool is_over;
	volatile uint64_t vmm_work; /* rounds of the VMM's own work after each exit */
	bool runs, ended_early;
};

/* In the VMM's memory beside the guest's: no record may have it. */
#define SECRET UINT64_C(0x5ec4e75ec4e75ec4)

/*
 * Make the guest. NULL, or the reason why that is impossible here. The caller may change its memory
 * before known_guest_start.
 */
const char *known_guest_init(struct known_guest *guest, int n_levels, enum known_mode mode);

/* The same with n_others vCPUs, below KNOWN_VCPUS_MAX, that were made before: it is the last CPU.
 */
const char *known_guest_init_last(struct known_guest *guest, uint32_t n_others);

const char *known_guest_start(struct known_guest *guest);
void known_guest_deinit(struct known_guest *guest); /* stops it */

/* Make the vCPU exit to the VMM. */
void known_guest_kick(struct known_guest *guest);

/* Return the VMM's address of guest-physical memory. */
void *known_guest_at(struct known_guest *guest, uint64_t gpa);

/* Map a page of 4 KiB, 2 MiB or 1 GiB: size_level is 1, 2 or 3. */
void known_guest_map(struct known_guest *guest, uint64_t root, uint64_t address, uint64_t gpa,
		     int size_level);
uint64_t known_guest_new_table(struct known_guest *guest);

/* Return the place of the last entry for an address, which must be mapped by 4 KiB pages. */
uint64_t *known_guest_entry(struct known_guest *guest, uint64_t root, uint64_t address);

/* Let the code's page have the mapping in its inode, as it has at first, or another one of it. */
void known_guest_set_mapping(struct known_guest *guest, bool is_in_inode);

/*
 * Make a second file, with the number and the generation of the first one + 1. Return where the
 * code's page has its mapping: a store there changes the page's owner.
 */
uint64_t *known_guest_make_other_file(struct known_guest *guest);

/*
 * Let the task be its own group leader, as most are. At first it has another one, which lies in two
 * pages that are no neighbours.
 */
void known_guest_make_single_thread(struct known_guest *guest);

/* Return the gpa of a page of the user's stack, the last page first. */
uint64_t known_guest_user_stack_gpa(int page);

/* Fill numbers with the true values of the guest, without windows. */
void known_guest_numbers(const struct known_guest *guest, struct vmop_guest_numbers *ret);

/* Add or remove a memory slot with a number above 1. False: KVM refused it. */
bool known_guest_set_slot(struct known_guest *guest, uint32_t slot, uint64_t gpa, uint64_t bytes,
			  void *memory);

#endif
