// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: libguest-compare-samples [-p PID] DIRECTORY
 *
 * Check what libguest finds for samples of a captured guest (tests/rigs/capture-guest, DIRECTORY)
 * against what it finds for processes, which tests/unit/libguest/compare.c compares with the
 * guest's own data. With -p the guest runs.
 *
 * Every page of every executable mapping is taken for the address of a sample: the process's page
 * table leads to its frame, the numbers for samples from there to its struct page, mapping and
 * inode, and the inode must lead to the path and the build-id of the mapping's file. The numbers
 * must lead to the same current tasks, start times and user registers as the readers of processes.
 * The map of all RAM is compared with the page table.
 *
 * Prints a line per subject, and every difference. Exit status 1: there are differences; 2:
 * failure. tests/rigs/introspect-run runs it; it is not a test on its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libguest/guest-internal.h"
#include "libutil/error.h"

#define MAX_SHOWN 20
#define PAGE 4096u
#define MAX_READ (64u << 10)

static struct vmop_guest *guest;
static struct vmop_guest_numbers numbers;
static struct vmop_guest_snapshot *snapshot;
static int differences;

#define DIFFERS(...)                                                                               \
	do {                                                                                       \
		if (differences++ < MAX_SHOWN)                                                     \
			printf("  " __VA_ARGS__), putchar('\n');                                   \
	} while (0)

static void die(struct vmop_error *err)
{
	fprintf(stderr, "libguest-compare-samples: %s\n", err->message);
	exit(2);
}

/* The CPU time of calls of one kind. */
struct cost {
	uint64_t calls, ns, max_ns;
};

static void add_cost(struct cost *cost)
{
	uint64_t ns = vmop_guest_last_cost(guest).cpu_ns;
	cost->calls++;
	cost->ns += ns;
	if (ns > cost->max_ns)
		cost->max_ns = ns;
}

static void print_cost(const char *what, const struct cost *cost)
{
	if (cost->calls)
		printf("%s: %" PRIu64 " calls, %.1f us each, at most %.1f\n", what, cost->calls,
		       (double)cost->ns / 1e3 / (double)cost->calls, (double)cost->max_ns / 1e3);
}

/* --- as a program in the host's kernel reads the guest ------------------------------------- */

static uint64_t u64(uint64_t address)
{
	return vmop_guest_space_u64(&guest->kernel->space, address);
}

static uint32_t u32(uint64_t address)
{
	return vmop_guest_space_u32(&guest->kernel->space, address);
}

static bool faults(void)
{
	return vmop_guest_space_take_fault(&guest->kernel->space);
}

/* Let reads that no call of libguest does see the guest as it is now. */
static void see_anew(void)
{
	guest->budget = (struct vmop_guest_budget){UINT64_MAX, UINT64_MAX};
	vmop_guest_memory_forget(guest->memory);
	vmop_guest_space_forget(&guest->kernel->space);
	faults();
}

static bool is_arm64(void)
{
	return guest->kernel->space.paging.arch == VMOP_PAGING_ARM64;
}

static uint64_t page_of(uint64_t gpa)
{
	return numbers.vmemmap + (gpa >> numbers.page_shift) * numbers.page_bytes;
}

static uint64_t head_of(uint64_t page)
{
	uint64_t word = u64(page + numbers.page_compound_head);
	if (!(word & 1))
		return page;
	return numbers.page_compound_is_mask ? page & word : word - 1;
}

/* --- numbers ------------------------------------------------------------------------------- */

static void check_known(void)
{
	const uint32_t offsets[] = {
		numbers.page_compound_head, numbers.page_mapping, numbers.page_index,
		numbers.mapping_host,	    numbers.inode_number, numbers.inode_superblock,
		numbers.inode_generation,   numbers.task_pid,	  numbers.task_tgid,
		numbers.task_group_leader,  numbers.task_comm,	  numbers.task_start_time,
		numbers.task_stack,
	};
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		if (offsets[i] == VMOP_GUEST_NO_OFFSET)
			DIFFERS("offset %zu is not known", i);
	if (!numbers.kernel_page_table_gpa || !numbers.direct_map || !numbers.direct_map_bytes ||
	    !numbers.vmemmap || !numbers.per_cpu_offsets || !numbers.current_in_per_cpu ||
	    !numbers.n_cpus || !numbers.page_bytes)
		DIFFERS("an address or a size is not known");
	printf("numbers: direct map %" PRIx64 " of %" PRIx64 "+%" PRIx64 ", vmemmap %" PRIx64
	       ", pages of %u, stacks of %u with %u below their end%s\n",
	       numbers.direct_map, numbers.direct_map_gpa, numbers.direct_map_bytes,
	       numbers.vmemmap, 1u << numbers.page_shift, numbers.stack_bytes,
	       numbers.entry_regs_end, numbers.page_compound_is_mask ? ", masks in pages" : "");
}

/* The page table must map all addresses of the direct map at the same distance. */
static void check_direct_map(void)
{
	uint64_t gpa, mapped = 0, step = 1u << 18;
	see_anew();
	for (uint64_t at = 0; at < numbers.direct_map_bytes; at += step) {
		if (!vmop_guest_space_translate(&guest->kernel->space, numbers.direct_map + at,
						&gpa, NULL))
			continue;
		mapped++;
		if (gpa != numbers.direct_map_gpa + at)
			DIFFERS("direct map: %" PRIx64 " is at gpa %" PRIx64,
				numbers.direct_map + at, gpa);
	}
	uint64_t ram = vmop_guest_ram_bytes(guest);
	if (mapped * step < ram / 10 * 9)
		DIFFERS("direct map: only %" PRIu64 " of %" PRIu64 " MiB are mapped",
			mapped * step >> 20, ram >> 20);
	char banner[64], there[64];
	uint64_t text = vmop_guest_kernel_symbol(guest->kernel, "linux_banner");
	vmop_guest_space_read(&guest->kernel->space, text, banner, sizeof(banner));
	vmop_guest_space_read(&guest->kernel->space,
			      numbers.direct_map + guest->kernel->banner_gpa -
				      numbers.direct_map_gpa,
			      there, sizeof(there));
	if (faults() || memcmp(banner, there, sizeof(banner)) != 0)
		DIFFERS("direct map: the kernel's banner is not there");
	printf("direct map: %" PRIu64 " of %" PRIu64 " MiB mapped as calculated\n",
	       mapped * step >> 20, ram >> 20);
}

/*
 * The tail pages of a folio lie behind its head, which is none, and all have the same head. Most
 * are the kernel's own memory.
 */
static void check_folios(void)
{
	uint64_t head = 0, tails = 0, step = UINT64_C(1) << numbers.page_shift;
	see_anew();
	for (uint64_t at = 0; at < numbers.direct_map_bytes; at += step) {
		uint64_t page = page_of(numbers.direct_map_gpa + at), its_head = head_of(page);
		if (faults() || its_head == page) {
			head = page;
			continue;
		}
		tails++;
		if (its_head != head)
			DIFFERS("struct page %" PRIx64 ": head %" PRIx64 ", not %" PRIx64, page,
				its_head, head);
	}
	if (!tails)
		DIFFERS("no page belongs to a folio");
	printf("folios: %" PRIu64 " tail pages\n", tails);
}

static void check_current(void)
{
	struct vmop_guest_current current[64];
	size_t count;
	struct vmop_error *err = vmop_guest_current_tasks(guest, current, 64, &count);
	if (err)
		die(err);
	see_anew();
	for (size_t i = 0; i < count; i++) {
		uint64_t base = u64(numbers.per_cpu_offsets + 8 * (uint64_t)current[i].vcpu);
		uint64_t task = u64(base + numbers.current_in_per_cpu);
		if (faults() || task != current[i].task ||
		    u32(task + numbers.task_pid) != current[i].tid ||
		    u32(task + numbers.task_tgid) != current[i].pid)
			DIFFERS("vCPU %u: task %" PRIx64 ", not %" PRIx64, current[i].vcpu, task,
				current[i].task);
		uint64_t irq_stack = is_arm64() ? 0 : u64(base + numbers.irq_stack_in_per_cpu);
		uint64_t end = (irq_stack + 8) & ~(uint64_t)(PAGE - 1);
		if (!is_arm64() && (!end || irq_stack > end || (u64(end - PAGE), faults())))
			DIFFERS("vCPU %u: no stack for interrupts ends at %" PRIx64,
				current[i].vcpu, irq_stack);
	}
	if (count != numbers.n_cpus)
		DIFFERS("%zu of %u vCPUs have a task", count, numbers.n_cpus);
	printf("current tasks: %zu\n", count);
}

/* Return whether the registers at the end of a waiting task's stack are those of user code. */
static bool has_user_regs(const struct vmop_guest_process *process)
{
	/* The part of arm64's struct that is struct user_pt_regs. */
	uint64_t bytes =
		is_arm64() ? 272 : (uint32_t)guest->layout.value[VMOP_LAYOUT_PT_REGS_BYTES];
	uint64_t regs = u64(process->task + numbers.task_stack) + numbers.stack_bytes -
			numbers.entry_regs_end - bytes;
	/* arch/x86/include/asm/ptrace.h: ip, cs; arch/arm64/include/asm/ptrace.h: pc, pstate */
	uint64_t pc = u64(regs + (is_arm64() ? 256 : 128));
	uint64_t mode = u64(regs + (is_arm64() ? 264 : 136));
	return vmop_guest_process_vma(process, pc) &&
	       (mode & (is_arm64() ? 15 : 3)) == (is_arm64() ? 0 : 3);
}

static void check_tasks(void)
{
	size_t users = 0, running = 0;
	see_anew();
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		uint64_t leader = u64(process->task + numbers.task_group_leader);
		char comm[16];
		vmop_guest_space_read(&guest->kernel->space, leader + numbers.task_comm, comm, 16);
		if (faults() || leader != process->task || strcmp(comm, process->comm) != 0 ||
		    u64(leader + numbers.task_start_time) != process->start_time_ns)
			DIFFERS("process %u (%s): its numbers differ", process->pid, process->comm);
		bool runs = vmop_guest_space_u8(
			&guest->kernel->space,
			process->task + (uint32_t)guest->layout.value[VMOP_LAYOUT_TASK_ON_CPU]);
		running += runs && process->pgd_gpa;
		if (!process->pgd_gpa || runs)
			continue;
		users++;
		if (!has_user_regs(process) || faults())
			DIFFERS("process %u (%s): no user registers at its stack's end",
				process->pid, process->comm);
	}
	printf("tasks: %zu processes wait with user registers, %zu run\n", users, running);
}

/* --- files --------------------------------------------------------------------------------- */

struct counts {
	size_t pages, huge, inodes, mappings, without, renamed;
	struct cost find, find_again, by_path, read;
};

static bool same_build_id(const struct vmop_guest_vma *vma,
			  const struct vmop_guest_inode_file *file)
{
	return vma->build_id_len_bytes == file->build_id_len_bytes &&
	       memcmp(vma->build_id, file->build_id, file->build_id_len_bytes) == 0;
}

/*
 * A file that was mapped under another name (of an overlay, of a mount that shows it in a second
 * place) must be found under the name that it has.
 */
static bool is_renamed(const struct vmop_guest_vma *vma, const struct vmop_guest_inode_file *file)
{
	struct vmop_guest_inode_file there;
	char path[256];
	if (strcmp(vma->path, file->path) == 0)
		return false;
	snprintf(path, sizeof(path), "%s", file->path);
	struct vmop_error *err = vmop_guest_find_path(guest, path, &there);
	printf("  %s is also %s\n", vma->path, path);
	if (err || there.mapping != file->mapping)
		DIFFERS("%s is no name of %s", path, vma->path);
	vmop_error_destroy(err);
	return true;
}

static void check_file(const struct vmop_guest_vma *vma, const struct vmop_guest_inode_file *file)
{
	uint64_t size = 0;
	if (!same_build_id(vma, file))
		DIFFERS("%s: the build-id differs", vma->path);
	struct vmop_error *err = vmop_guest_file_size(guest, vma->file, &size);
	if (err || size != file->size_bytes)
		DIFFERS("%s: %" PRIu64 " bytes, not %" PRIu64, vma->path, file->size_bytes, size);
	vmop_error_destroy(err);
}

/* The pages read by the handle of an inode's file are those of the mapping's. */
static void check_content(const struct vmop_guest_vma *vma, uint64_t mapping, struct cost *cost)
{
	static char one[MAX_READ], two[MAX_READ];
	size_t got_one = 0, got_two = 0;
	struct vmop_error *err =
		vmop_guest_read_file(guest, vma->file, 0, one, sizeof(one), &got_one);
	if (err)
		die(err);
	err = vmop_guest_read_mapping(guest, mapping, 0, two, sizeof(two), &got_two);
	add_cost(cost);
	if (err || got_one != got_two || memcmp(one, two, sizeof(one)) != 0)
		DIFFERS("%s: its pages differ", vma->path);
	vmop_error_destroy(err);
}

/* A file that has lost an attribute of its identity is no longer found. */
static void check_refusals(const struct vmop_guest_inode *inode)
{
	struct vmop_guest_inode changed[3] = {*inode, *inode, *inode};
	struct vmop_guest_inode_file file;
	changed[0].generation++;
	changed[1].number++;
	changed[2].superblock += 8;
	for (size_t i = 0; i < 3; i++) {
		struct vmop_error *err = vmop_guest_find_inode(guest, &changed[i], &file);
		if (!err)
			DIFFERS("%s is found with a wrong identity", file.path);
		vmop_error_destroy(err);
	}
}

static void check_path(const struct vmop_guest_vma *vma, uint64_t mapping, struct cost *cost)
{
	struct vmop_guest_inode_file file;
	struct vmop_error *err = vmop_guest_find_path(guest, vma->path, &file);
	add_cost(cost);
	if (err)
		DIFFERS("%s is not found by its path: %s", vma->path, err->message);
	else if (file.mapping != mapping || file.is_deleted)
		DIFFERS("%s: its path leads to another file", vma->path);
	vmop_error_destroy(err);
}

static void check_inode(const struct vmop_guest_vma *vma, const struct vmop_guest_inode *inode,
			bool is_boxed, struct counts *counts)
{
	struct vmop_guest_inode_file file;
	struct vmop_error *err = vmop_guest_find_inode(guest, inode, &file);
	add_cost(&counts->find);
	counts->inodes++;
	if (err) {
		DIFFERS("%s: %s", vma->path, err->message);
		vmop_error_destroy(err);
		return;
	}
	bool is_elf = file.is_elf, is_deleted = file.is_deleted;
	check_file(vma, &file);
	struct vmop_guest_inode_file copy = file;
	bool renamed = is_renamed(vma, &copy);
	counts->renamed += renamed;
	err = vmop_guest_find_inode(guest, &(struct vmop_guest_inode){.mapping = inode->mapping},
				    &file);
	add_cost(&counts->find_again);
	if (err || file.mapping != inode->mapping ||
	    (!renamed && strcmp(file.path, vma->path) != 0))
		DIFFERS("%s is not found by its pages", vma->path);
	vmop_error_destroy(err);
	if (!is_elf || (is_deleted && !strstr(vma->path, " (deleted)")))
		DIFFERS("%s: %s, %s", vma->path, is_elf ? "ELF" : "not ELF",
			is_deleted ? "deleted" : "not deleted");
	check_refusals(inode);
	check_content(vma, inode->mapping, &counts->read);
	if (!is_deleted && !renamed && !is_boxed)
		check_path(vma, inode->mapping, &counts->by_path);
}

/*
 * Take an address of a mapping for a sample's. Return false when its page is not in memory. Sets
 * *ret to the identity of its file.
 */
static bool sample(struct vmop_guest_space *user, const struct vmop_guest_vma *vma,
		   uint64_t address, struct vmop_guest_inode *ret, struct counts *counts)
{
	uint64_t gpa;
	if (!vmop_guest_space_translate(user, address, &gpa, NULL))
		return false;
	uint64_t page = page_of(gpa), head = head_of(page);
	uint64_t mapping = u64(head + numbers.page_mapping);
	uint64_t index = u64(head + numbers.page_index) + (page - head) / numbers.page_bytes;
	counts->pages++;
	counts->huge += head != page;
	if (faults() || mapping & 3) {
		if (vma->file)
			counts->without++; /* written to, as by a dynamic linker */
		return false;
	}
	uint64_t offset = vma->file_offset_bytes + (address - vma->start);
	if (index != offset >> numbers.page_shift)
		DIFFERS("%s: index %" PRIx64 " at offset %" PRIx64, vma->path, index, offset);
	*ret = (struct vmop_guest_inode){.mapping = mapping};
	ret->inode = u64(mapping + numbers.mapping_host);
	ret->superblock = u64(ret->inode + numbers.inode_superblock);
	ret->number = u64(ret->inode + numbers.inode_number);
	ret->generation = u32(ret->inode + numbers.inode_generation);
	return !faults();
}

static uint64_t mount_namespace(uint64_t task)
{
	const int32_t *at = guest->layout.value;
	uint64_t spaces = u64(task + (uint32_t)at[VMOP_LAYOUT_TASK_NAMESPACES]);
	return u64(spaces + (uint32_t)at[VMOP_LAYOUT_NAMESPACES_MOUNT]);
}

/* Return whether a process has mounts of its own, as in a container. */
static bool is_boxed(const struct vmop_guest_process *process)
{
	const struct vmop_guest_process *first = vmop_guest_snapshot_by_pid(snapshot, 1);
	return first && mount_namespace(process->task) != mount_namespace(first->task);
}

static void check_mapping(const struct vmop_guest_process *process,
			  const struct vmop_guest_vma *vma, struct counts *counts)
{
	struct vmop_guest_space user;
	struct vmop_guest_inode inode, first = {0};
	see_anew();
	vmop_guest_space_init(&user, guest->memory, &guest->budget,
			      vmop_paging_of_user(&guest->kernel->space.paging, process->pgd_gpa));
	for (uint64_t at = vma->start; at < vma->end; at += UINT64_C(1) << numbers.page_shift) {
		if (!sample(&user, vma, at, &inode, counts))
			continue;
		if (first.inode && memcmp(&first, &inode, sizeof(inode)) != 0)
			DIFFERS("%s: its pages have two inodes", vma->path);
		first = inode;
	}
	counts->mappings++;
	if (first.inode)
		check_inode(vma, &first, is_boxed(process), counts);
}

static void check_files(void)
{
	struct counts counts = {0};
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		for (uint32_t j = 0; j < process->vma_count; j++)
			if (process->vmas[j].file)
				check_mapping(process, &process->vmas[j], &counts);
	}
	printf("files: %zu inodes of %zu mappings, %zu under another name, %zu pages, %zu of them "
	       "in huge ones, %zu written to\n",
	       counts.inodes, counts.mappings, counts.renamed, counts.pages, counts.huge,
	       counts.without);
	if (!counts.inodes)
		DIFFERS("no mapping has a page in memory");
	print_cost("find_inode", &counts.find);
	print_cost("find_inode by mapping", &counts.find_again);
	print_cost("find_path", &counts.by_path);
	print_cost("read_mapping of 64 KiB", &counts.read);
}

/* --- one process --------------------------------------------------------------------------- */

static bool same_mappings(const struct vmop_guest_process *one,
			  const struct vmop_guest_process *two)
{
	if (one->vma_count != two->vma_count || one->pgd_gpa != two->pgd_gpa ||
	    one->ppid != two->ppid || one->ns_pid != two->ns_pid ||
	    strcmp(one->comm, two->comm) != 0 || strcmp(one->cgroup, two->cgroup) != 0)
		return false;
	for (uint32_t i = 0; i < one->vma_count; i++) {
		const struct vmop_guest_vma *a = &one->vmas[i], *b = &two->vmas[i];
		if (a->start != b->start || a->end != b->end || a->file != b->file ||
		    a->file_offset_bytes != b->file_offset_bytes ||
		    a->build_id_len_bytes != b->build_id_len_bytes ||
		    memcmp(a->build_id, b->build_id, sizeof(a->build_id)) != 0 ||
		    strcmp(a->path, b->path) != 0)
			return false;
	}
	return true;
}

static void check_processes(void)
{
	struct cost cost = {0};
	struct vmop_guest_snapshot *one;
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		struct vmop_error *err = vmop_guest_snapshot_process(
			guest, process->task, process->pid, process->start_time_ns, &one);
		add_cost(&cost);
		if (err) {
			DIFFERS("process %u: %s", process->pid, err->message);
			vmop_error_destroy(err);
			continue;
		}
		if (vmop_guest_snapshot_count(one) != 1 ||
		    !same_mappings(vmop_guest_snapshot_get(one, 0), process))
			DIFFERS("process %u (%s) differs", process->pid, process->comm);
		vmop_guest_snapshot_free(one);
		err = vmop_guest_snapshot_process(guest, process->task, process->pid,
						  process->start_time_ns + 1, &one);
		if (!err)
			DIFFERS("process %u is found with a wrong start time", process->pid);
		vmop_error_destroy(err);
	}
	print_cost("snapshot_process", &cost);
}

static void read_all(void)
{
	struct vmop_error *err = vmop_guest_sample_numbers(guest, &numbers);
	if (err)
		die(err);
	printf("%s: sample_numbers in %.1f us\n", vmop_guest_kernel_info(guest)->release,
	       (double)vmop_guest_last_cost(guest).cpu_ns / 1e3);
	struct vmop_guest_numbers early = numbers;
	vmop_guest_drop_symbols(guest);
	err = vmop_guest_sample_numbers(guest, &numbers);
	if (err)
		die(err);
	if (memcmp(&early, &numbers, sizeof(numbers)) != 0)
		DIFFERS("the numbers are others without the table of symbols");
	err = vmop_guest_snapshot_processes(guest, 0, &snapshot);
	if (err)
		die(err);
}

int main(int argc, char **argv)
{
	char path[1024];
	int option, pid = 0;
	while ((option = getopt(argc, argv, "p:")) != -1) {
		if (option != 'p')
			return 2;
		pid = atoi(optarg);
	}
	if (optind + 1 != argc)
		return 2;
	snprintf(path, sizeof(path), "%s/ram", argv[optind]);
	struct vmop_error *err = pid ? vmop_guest_open_pid(pid, NULL, &guest)
				     : vmop_guest_open_file(path, NULL, &guest);
	if (!err)
		err = vmop_guest_find_kernel(guest);
	if (err)
		die(err);
	read_all();
	check_known();
	check_direct_map();
	if (!pid) {
		check_folios();
		check_current();
		check_tasks();
	}
	check_files();
	check_processes();
	vmop_guest_snapshot_free(snapshot);
	vmop_guest_close(guest);
	printf(differences ? "%d differences\n" : "all equal\n", differences);
	return differences ? 1 : 0;
}
