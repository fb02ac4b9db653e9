// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/hv-interface/bpf/known-guest.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__

#include <linux/kvm.h>

#define PAGE UINT64_C(4096)
#define USER_PAGE_BITS 0x67 /* present, writable, user, accessed, dirty: SDM 3A, 4.5 */
#define LARGE_PAGE_BIT 0x80
#define ENTRY_ADDRESS UINT64_C(0xffffffffff000)

/* Guest-physical places of the kernel's data, and the offsets in its structs. */
enum {
	TABLES_GPA = 0x10000,
	OFFSETS_GPA = 0x200000,
	PER_CPU_GPA = 0x201000,
	TASK_GPA = 0x203000,
	LEADER_GPA = 0x300000, /* two pages apart from each other */
	INODE_GPA = 0x208000,
	MAPPING_GPA = INODE_GPA + 0x168, /* a part of the inode */
	OTHER_MAPPING_GPA = 0x207000,
	MM_GPA = 0x209000,
	OTHER_INODE_GPA = 0x20c000,
	PAGES_GPA = 0x20a000, /* struct pages around that of the code */
	KERNEL_STACK_GPA = 0x220000,
	IRQ_STACK_GPA = 0x238000,
	USER_STACK_GPA = 0x240000,
	CURRENT_OFFSET = 0x1f40,
	IRQ_STACK_OFFSET = CURRENT_OFFSET + 16,
	PAGE_STRUCT_BYTES = 64,
	PAGE_COMPOUND_HEAD = 8,
	PAGE_MAPPING = 24,
	PAGE_INDEX = 32,
	MAPPING_HOST = 0,
	INODE_SB = 40,
	INODE_NUMBER = 64,
	INODE_GENERATION_AT = 0x158,
	OFFSET_STACK = 32,
	OFFSET_MM = 0x900,
	OFFSET_PGD = 0x78,
	OFFSET_START_TIME = 0xa00,
	OFFSET_PID = 0x988,
	OFFSET_TGID = 0x98c,
	OFFSET_LEADER = 0x9c0,
	OFFSET_COMM = 0xba0,
	TAIL_OF_FOLIO = 3, /* the code's page in its folio */
};

/* The leader's comm lies across two pages that are not neighbours in memory. */
#define LEADER (VMALLOC + 0x1000 - OFFSET_COMM - 8)
#define SUPERBLOCK (DIRECT_MAP + 0x12340)

void *known_guest_at(struct known_guest *guest, uint64_t gpa)
{
	return gpa >= HIGH_GPA ? guest->high + (gpa - HIGH_GPA) : guest->low + gpa;
}

static void put(struct known_guest *guest, uint64_t gpa, uint64_t value)
{
	memcpy(known_guest_at(guest, gpa), &value, sizeof(value));
}

uint64_t known_guest_new_table(struct known_guest *guest)
{
	uint64_t table = guest->next_table;
	guest->next_table += PAGE;
	return table;
}

void known_guest_map(struct known_guest *guest, uint64_t root, uint64_t address, uint64_t gpa,
		     int size_level)
{
	uint64_t table = root;
	for (int level = guest->n_levels; level > size_level; level--) {
		uint64_t *entry = (uint64_t *)known_guest_at(guest, table) +
				  (address >> (3 + 9 * level) & 511);
		if (!*entry)
			*entry = known_guest_new_table(guest) | USER_PAGE_BITS;
		table = *entry & ENTRY_ADDRESS;
	}
	((uint64_t *)known_guest_at(guest, table))[address >> (3 + 9 * size_level) & 511] =
		gpa | USER_PAGE_BITS | (size_level > 1 ? LARGE_PAGE_BIT : 0);
}

uint64_t *known_guest_entry(struct known_guest *guest, uint64_t root, uint64_t address)
{
	uint64_t table = root;
	for (int level = guest->n_levels; level > 1; level--)
		table = ((uint64_t *)known_guest_at(guest,
						    table))[address >> (3 + 9 * level) & 511] &
			ENTRY_ADDRESS;
	return (uint64_t *)known_guest_at(guest, table) + (address >> 12 & 511);
}

uint64_t known_guest_user_stack_gpa(int page)
{
	return USER_STACK_GPA + (uint64_t)(page * 5 % 16) * 2 * PAGE;
}

/* Return memory with a page of SECRET before and after it. */
static uint8_t *make_memory(uint64_t bytes)
{
	uint8_t *memory = mmap(NULL, bytes + 2 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	for (uint64_t i = 0; i < PAGE; i += sizeof(uint64_t)) {
		uint64_t secret = SECRET;
		memcpy(memory + i, &secret, sizeof(secret));
		memcpy(memory + PAGE + bytes + i, &secret, sizeof(secret));
	}
	return memory + PAGE;
}

bool known_guest_set_slot(struct known_guest *guest, uint32_t slot, uint64_t gpa, uint64_t bytes,
			  void *memory)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.guest_phys_addr = gpa,
		.memory_size = bytes,
		.userspace_addr = (uint64_t)(uintptr_t)memory,
	};
	return ioctl(guest->vm, KVM_SET_USER_MEMORY_REGION, &region) == 0;
}

static const char *make_vm(struct known_guest *guest)
{
	guest->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (guest->kvm < 0)
		return "/dev/kvm can't be opened";
	guest->vm = ioctl(guest->kvm, KVM_CREATE_VM, 0);
	guest->low = make_memory(LOW_BYTES);
	guest->high = make_memory(HIGH_BYTES);
	if (guest->vm < 0 || !guest->low || !guest->high)
		return "KVM makes no VM";
	if (!known_guest_set_slot(guest, 0, 0, LOW_BYTES, guest->low) ||
	    !known_guest_set_slot(guest, 1, HIGH_GPA, HIGH_BYTES, guest->high))
		return "KVM takes no memory";
	for (uint32_t i = 0; i < guest->n_others; i++) {
		guest->others[i] = ioctl(guest->vm, KVM_CREATE_VCPU, KNOWN_VCPU + 1 + i);
		if (guest->others[i] < 0)
			return "KVM makes less vCPUs";
	}
	guest->vcpu = ioctl(guest->vm, KVM_CREATE_VCPU, KNOWN_VCPU);
	int bytes = ioctl(guest->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (guest->vcpu < 0 || mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				    guest->vcpu, 0) == MAP_FAILED)
		return "KVM makes no vCPU";
	return NULL;
}

/* Make the user's and the kernel's tables; the user's include the kernel's as without KPTI. */
static void make_tables(struct known_guest *guest)
{
	guest->next_table = TABLES_GPA;
	guest->root = known_guest_new_table(guest);
	guest->kernel_root = known_guest_new_table(guest);
	known_guest_map(guest, guest->root, CODE_PAGE, guest->code_gpa & ~(PAGE - 1), 1);
	for (int i = 0; i < USER_STACK_PAGES; i++)
		known_guest_map(guest, guest->root, USER_STACK_END - (uint64_t)(i + 1) * PAGE,
				known_guest_user_stack_gpa(i), 1);
	for (uint64_t at = 0; at < LOW_BYTES; at += 2 << 20)
		known_guest_map(guest, guest->kernel_root, DIRECT_MAP + at, at, 2);
	uint64_t page = VMEMMAP + (guest->code_gpa >> 12) * PAGE_STRUCT_BYTES;
	for (int i = -1; i <= 0; i++)
		known_guest_map(guest, guest->kernel_root,
				(page & ~(PAGE - 1)) + (uint64_t)i * PAGE,
				PAGES_GPA + (uint64_t)(i + 1) * PAGE, 1);
	known_guest_map(guest, guest->kernel_root, VMALLOC, LEADER_GPA, 1);
	known_guest_map(guest, guest->kernel_root, VMALLOC + PAGE, LEADER_GPA + 5 * PAGE, 1);
	known_guest_map(guest, guest->kernel_root, IRQ_STACK_END - PAGE, IRQ_STACK_GPA, 1);
	for (uint64_t i = 0; i < KERNEL_STACK_BYTES / PAGE; i++) {
		known_guest_map(guest, guest->kernel_root, KERNEL_STACK + i * PAGE,
				KERNEL_STACK_GPA + (3 - i) * 2 * PAGE, 1);
		/* The vCPU's own table has them too: code at level 0 uses the stack. */
		known_guest_map(guest, guest->root, KERNEL_STACK + i * PAGE,
				KERNEL_STACK_GPA + (3 - i) * 2 * PAGE, 1);
	}
}

/* Write bytes at a virtual address of the kernel's, which may be in two pages. */
static void put_bytes(struct known_guest *guest, uint64_t address, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t at = address + i;
		uint64_t gpa = *known_guest_entry(guest, guest->kernel_root, at) & ENTRY_ADDRESS;
		*((uint8_t *)known_guest_at(guest, gpa) + at % PAGE) = ((const uint8_t *)bytes)[i];
	}
}

static void put_words(struct known_guest *guest, uint64_t address, uint64_t word)
{
	put_bytes(guest, address, &word, sizeof(word));
}

static void make_task(struct known_guest *guest)
{
	char comm[16] = TASK_COMM;
	guest->task = DIRECT_MAP + TASK_GPA;
	guest->task_mm_gpa = TASK_GPA + OFFSET_MM;
	guest->mm_pgd_gpa = MM_GPA + OFFSET_PGD;
	put(guest, OFFSETS_GPA + guest->n_others * sizeof(uint64_t),
	    DIRECT_MAP + PER_CPU_GPA - CURRENT_OFFSET);
	put(guest, PER_CPU_GPA, guest->task);
	put(guest, PER_CPU_GPA + 16, IRQ_STACK_END - 8);
	put(guest, TASK_GPA + OFFSET_PID, TASK_PID | (uint64_t)TASK_TGID << 32);
	put(guest, TASK_GPA + OFFSET_LEADER, LEADER);
	put(guest, TASK_GPA + OFFSET_STACK, KERNEL_STACK);
	put(guest, guest->task_mm_gpa, DIRECT_MAP + MM_GPA);
	put(guest, guest->mm_pgd_gpa, DIRECT_MAP + guest->root);
	put_words(guest, LEADER + OFFSET_START_TIME, TASK_START_TIME);
	put_bytes(guest, LEADER + OFFSET_COMM, comm, sizeof(comm));
}

void known_guest_make_single_thread(struct known_guest *guest)
{
	char comm[16] = TASK_COMM;
	put(guest, TASK_GPA + OFFSET_LEADER, guest->task);
	put(guest, TASK_GPA + OFFSET_START_TIME, TASK_START_TIME);
	memcpy(known_guest_at(guest, TASK_GPA + OFFSET_COMM), comm, sizeof(comm));
}

/* Make the code's page the fourth of a folio of a file. */
static void make_file(struct known_guest *guest)
{
	uint64_t page = VMEMMAP + (guest->code_gpa >> 12) * PAGE_STRUCT_BYTES;
	uint64_t head = page - TAIL_OF_FOLIO * PAGE_STRUCT_BYTES;
	guest->mapping = DIRECT_MAP + MAPPING_GPA;
	guest->inode = DIRECT_MAP + INODE_GPA;
	guest->superblock = SUPERBLOCK;
	put_words(guest, page + PAGE_COMPOUND_HEAD, head + 1);
	put_words(guest, head + PAGE_MAPPING, guest->mapping);
	put_words(guest, head + PAGE_INDEX, FILE_INDEX - TAIL_OF_FOLIO);
	put(guest, MAPPING_GPA + MAPPING_HOST, guest->inode);
	put(guest, INODE_GPA + INODE_NUMBER, FILE_INODE);
	put(guest, INODE_GPA + INODE_SB, guest->superblock);
	put(guest, INODE_GPA + INODE_GENERATION_AT, FILE_GENERATION);
}

/* Return the guest-physical address of the mapping in the struct page of the code's folio. */
static uint64_t mapping_of_page(struct known_guest *guest)
{
	uint64_t page = VMEMMAP + (guest->code_gpa >> 12) * PAGE_STRUCT_BYTES;
	uint64_t at = page - TAIL_OF_FOLIO * PAGE_STRUCT_BYTES + PAGE_MAPPING;
	return (*known_guest_entry(guest, guest->kernel_root, at) & ENTRY_ADDRESS) + at % PAGE;
}

void known_guest_set_mapping(struct known_guest *guest, bool is_in_inode)
{
	uint64_t mapping = is_in_inode ? MAPPING_GPA : OTHER_MAPPING_GPA;
	put(guest, mapping + MAPPING_HOST, guest->inode);
	put(guest, mapping_of_page(guest), DIRECT_MAP + mapping);
}

uint64_t *known_guest_make_other_file(struct known_guest *guest)
{
	guest->other_mapping = DIRECT_MAP + OTHER_MAPPING_GPA;
	guest->other_inode = DIRECT_MAP + OTHER_INODE_GPA;
	put(guest, OTHER_MAPPING_GPA + MAPPING_HOST, guest->other_inode);
	put(guest, OTHER_INODE_GPA + INODE_NUMBER, FILE_INODE + 1);
	put(guest, OTHER_INODE_GPA + INODE_SB, guest->superblock);
	put(guest, OTHER_INODE_GPA + INODE_GENERATION_AT, FILE_GENERATION + 1);
	return known_guest_at(guest, mapping_of_page(guest));
}

/* Fill the stacks with words that contain their own address. */
static void make_stacks(struct known_guest *guest)
{
	for (int page = 0; page < USER_STACK_PAGES; page++) {
		uint64_t address = USER_STACK_END - (uint64_t)(page + 1) * PAGE;
		for (uint64_t at = 0; at < PAGE; at += 8)
			put(guest, known_guest_user_stack_gpa(page) + at, address + at);
	}
	for (uint64_t at = 0; at < KERNEL_STACK_BYTES; at += 8)
		put_words(guest, KERNEL_STACK + at, KERNEL_STACK + at);
	for (uint64_t at = IRQ_STACK_END - PAGE; at < IRQ_STACK_END; at += 8)
		put_words(guest, at, at);
	/* struct pt_regs: 21 words */
	uint64_t regs = KERNEL_STACK + KERNEL_STACK_BYTES - ENTRY_REGS_END - (uint64_t)21 * 8;
	put_words(guest, regs + 16 * 8, ENTRY_RIP_VALUE);
	put_words(guest, regs + 17 * 8, 0x33);
	put_words(guest, regs + 19 * 8, USER_SP);
}

static const char *set_registers(struct known_guest *guest, enum known_mode mode)
{
	struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[100];
	} cpuid = {.head.nent = 100};
	struct kvm_sregs sregs;
	uint8_t level = mode == KNOWN_USER ? 3 : 0;
	if (ioctl(guest->kvm, KVM_GET_SUPPORTED_CPUID, &cpuid) < 0 ||
	    ioctl(guest->vcpu, KVM_SET_CPUID2, &cpuid) < 0 ||
	    ioctl(guest->vcpu, KVM_GET_SREGS, &sregs) < 0)
		return "KVM does not tell its CPUID";
	struct kvm_segment segment = {
		.limit = UINT32_MAX, .present = 1, .dpl = level, .s = 1, .g = 1};
	sregs.cs = sregs.ss = segment;
	sregs.cs.selector = level ? 0x33 : 0x10;
	sregs.cs.type = 11;
	sregs.cs.l = 1;
	sregs.ss.selector = level ? 0x2b : 0x18;
	sregs.ss.type = 3;
	sregs.ss.db = 1;
	sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss;
	/* At level 3 the register is the program's; the other one, of swapgs, stays 0. */
	sregs.gs.base = level ? 0 : DIRECT_MAP + PER_CPU_GPA - CURRENT_OFFSET;
	sregs.cr3 = guest->root;
	sregs.cr4 = 1 << 5 | (guest->n_levels == 5 ? 1 << 12 : 0); /* PAE, LA57 */
	sregs.cr0 = 0x80050033;					   /* PG, AM, WP, NE, ET, MP, PE */
	sregs.efer = 0x501;					   /* LMA, LME, SCE */
	if (ioctl(guest->vcpu, KVM_SET_SREGS, &sregs) < 0)
		return "KVM refuses long mode";
	uint64_t *r = guest->regs;
	for (int i = 1; i < 16; i++)
		r[i] = UINT64_C(0x0101010101010101) * (unsigned)i;
	r[7] = mode == KNOWN_KERNEL ? KERNEL_STACK + 0x2c40 : USER_SP;
	struct kvm_regs regs = {
		.rdx = r[1],
		.rcx = r[2],
		.rbx = r[3],
		.rsi = r[4],
		.rdi = r[5],
		.rbp = r[6],
		.rsp = r[7],
		.r8 = r[8],
		.r9 = r[9],
		.r10 = r[10],
		.r11 = r[11],
		.r12 = r[12],
		.r13 = r[13],
		.r14 = r[14],
		.r15 = r[15],
		.rip = CODE_ADDRESS,
		.rflags = 2,
	};
	/* Interrupts are on at level 3, which cannot change them. */
	if (level)
		regs.rflags |= 0x200;
	return ioctl(guest->vcpu, KVM_SET_REGS, &regs) < 0 ? "KVM refuses registers" : NULL;
}

static const char *init(struct known_guest *guest, int n_levels, enum known_mode mode,
			uint32_t n_others)
{
	/* loop: inc %rax; jmp loop */
	static const uint8_t code[CODE_BYTES] = {0x48, 0xff, 0xc0, 0xeb, 0xfb};
	*guest = (struct known_guest){
		.kvm = -1, .vm = -1, .vcpu = -1, .n_levels = n_levels, .n_others = n_others};
	memset(guest->others, -1, sizeof(guest->others));
	guest->code_gpa = CODE_GPA + CODE_ADDRESS % PAGE;
	const char *why = make_vm(guest);
	if (why)
		return why;
	make_tables(guest);
	make_task(guest);
	make_file(guest);
	make_stacks(guest);
	memcpy(known_guest_at(guest, guest->code_gpa), code, sizeof(code));
	return set_registers(guest, mode);
}

const char *known_guest_init(struct known_guest *guest, int n_levels, enum known_mode mode)
{
	return init(guest, n_levels, mode, 0);
}

const char *known_guest_init_last(struct known_guest *guest, uint32_t n_others)
{
	return init(guest, 4, KNOWN_USER, n_others);
}

static void *run(void *arg)
{
	struct known_guest *guest = arg;
	while (!guest->is_over) {
		if (ioctl(guest->vcpu, KVM_RUN, 0) == 0) {
			guest->ended_early = true; /* it left its loop */
			break;
		}
		for (volatile uint64_t i = 0; i < guest->vmm_work; i++)
			;
	}
	return NULL;
}

static void nothing(int signal)
{
	(void)signal;
}

const char *known_guest_start(struct known_guest *guest)
{
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = nothing}, NULL);
	if (pthread_create(&guest->thread, NULL, run, guest))
		return "no thread";
	guest->runs = true;
	return NULL;
}

void known_guest_kick(struct known_guest *guest)
{
	pthread_kill(guest->thread, SIGUSR1);
}

void known_guest_deinit(struct known_guest *guest)
{
	guest->is_over = true;
	/* A signal between the test of is_over and KVM_RUN is lost. */
	while (guest->runs && pthread_tryjoin_np(guest->thread, NULL)) {
		pthread_kill(guest->thread, SIGUSR1);
		usleep(1000);
	}
	for (uint32_t i = 0; i < guest->n_others && guest->others[i] >= 0; i++)
		close(guest->others[i]);
	if (guest->vcpu >= 0)
		close(guest->vcpu);
	if (guest->vm >= 0)
		close(guest->vm);
	if (guest->kvm >= 0)
		close(guest->kvm);
	if (guest->low)
		munmap(guest->low - PAGE, LOW_BYTES + 2 * PAGE);
	if (guest->high)
		munmap(guest->high - PAGE, HIGH_BYTES + 2 * PAGE);
}

void known_guest_numbers(const struct known_guest *guest, struct vmop_guest_numbers *ret)
{
	*ret = (struct vmop_guest_numbers){
		.generation = 5,
		.kernel_page_table_gpa = guest->kernel_root,
		.direct_map = DIRECT_MAP,
		.direct_map_bytes = LOW_BYTES,
		.vmemmap = VMEMMAP,
		.per_cpu_offsets = DIRECT_MAP + OFFSETS_GPA,
		.current_in_per_cpu = CURRENT_OFFSET,
		.irq_stack_in_per_cpu = IRQ_STACK_OFFSET,
		.n_cpus = guest->n_others + 1,
		.page_bytes = PAGE_STRUCT_BYTES,
		.page_compound_head = PAGE_COMPOUND_HEAD,
		.page_mapping = PAGE_MAPPING,
		.page_index = PAGE_INDEX,
		.mapping_host = MAPPING_HOST,
		.inode_number = INODE_NUMBER,
		.inode_superblock = INODE_SB,
		.inode_generation = INODE_GENERATION_AT,
		.task_pid = OFFSET_PID,
		.task_tgid = OFFSET_TGID,
		.task_group_leader = OFFSET_LEADER,
		.task_comm = OFFSET_COMM,
		.task_start_time = OFFSET_START_TIME,
		.task_stack = OFFSET_STACK,
		.task_mm = OFFSET_MM,
		.mm_pgd = OFFSET_PGD,
		.stack_bytes = KERNEL_STACK_BYTES,
		.entry_regs_end = ENTRY_REGS_END,
		.page_shift = 12,
	};
}

#endif
