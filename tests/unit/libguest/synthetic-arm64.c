// SPDX-License-Identifier: GPL-2.0-or-later
/* The parts of the synthetic guest that only an arm64 kernel has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/libguest/synthetic.h"

#define PER_CPU_DELTA 0x2000u
#define UTS_FIELD 65

static void set(struct synthetic *guest, uint64_t address, enum vmop_layout_field field,
		uint64_t value)
{
	synthetic_put_u64(guest, synthetic_member(guest, address, field), value);
}

/* --- lists, which synthetic.c links in one direction ----------------------------------------- */

static void close_list(struct synthetic *guest, uint64_t head)
{
	for (uint64_t node = head;;) {
		uint64_t next = synthetic_get_u64(guest, node);
		synthetic_put_u64(guest, next + 8, node);
		if (next == head)
			return;
		node = next;
	}
}

/* --- functions that refer to variables ------------------------------------------------------- */

static uint32_t adrp(unsigned int reg, uint64_t target, uint64_t pc)
{
	uint64_t pages = (target >> 12) - (pc >> 12);
	return (uint32_t)(0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | reg);
}

static uint32_t add(unsigned int to, unsigned int from, uint64_t target)
{
	return (uint32_t)(0x91000000 | (target & 0xfff) << 10 | from << 5 | to);
}

/* ldr Xto, [Xfrom, #target's last twelve bits] */
static uint32_t ldr(unsigned int to, unsigned int from, uint64_t target)
{
	return (uint32_t)(0xf9400000 | (target & 0xfff) / 8 << 10 | from << 5 | to);
}

static void put_code(struct synthetic *guest, uint64_t function, const uint32_t *code, size_t count)
{
	for (size_t i = 0; i < count; i++)
		synthetic_put_u32(guest, function + 4 * i, code[i]);
}

/*
 * Make a function that takes the addresses of one or two variables, and one that loads from the
 * first.
 */
static void make_function(struct synthetic *guest, const char *name, uint64_t first,
			  uint64_t second, bool loads)
{
	uint64_t pc = synthetic_place(guest, name, 'T', 32, 32);
	const uint32_t code[] = {
		0xd503233f, /* paciasp */
		adrp(1, first, pc + 4),
		loads ? ldr(0, 1, first) : add(1, 1, first),
		adrp(2, second, pc + 12),
		add(3, 2, second),
		0xf8607860, /* ldr x0, [x3, x0, lsl #3] */
		0xd65f03c0, /* ret */
	};
	put_code(guest, pc, code, sizeof(code) / sizeof(code[0]));
}

static void make_functions(struct synthetic *guest, uint64_t memblock)
{
	uint64_t elsewhere = guest->jiffies;
	make_function(guest, "find_module_all", elsewhere, guest->modules_head, false);
	make_function(guest, "bpf_get_kallsym", guest->bpf_head, elsewhere, false);
	make_function(guest, "memblock_start_of_DRAM", memblock + 40, elsewhere, true);
	make_function(guest, "idle_task", guest->run_queue - PER_CPU_DELTA, guest->per_cpu_offsets,
		      false);
	make_function(guest, "last_function", elsewhere, elsewhere, false);
}

/* --- variables ----------------------------------------------------------------------------------
 */

static uint64_t make_memblock(struct synthetic *guest)
{
	uint64_t memblock = synthetic_place(guest, "memblock", 'D', 96, 16);
	uint64_t regions = synthetic_place(guest, NULL, 0, 48, 16);
	synthetic_put_u64(guest, memblock + 16, 1); /* memory.cnt, max, total_size, regions */
	synthetic_put_u64(guest, memblock + 24, 128);
	synthetic_put_u64(guest, memblock + 32, SYNTHETIC_RAM_BYTES);
	synthetic_put_u64(guest, memblock + 40, regions);
	synthetic_put_u64(guest, regions, guest->ram_start);
	synthetic_put_u64(guest, regions + 8, SYNTHETIC_RAM_BYTES);
	return memblock;
}

static void make_uts(struct synthetic *guest)
{
	guest->init_uts_ns = synthetic_place(guest, "init_uts_ns", 'D', 512, 64);
	char *uts = (char *)synthetic_at(guest, guest->init_uts_ns);
	strcpy(uts, "Linux");
	strcpy(uts + UTS_FIELD, "node");
	strcpy(uts + 2 * UTS_FIELD, "6.99.0-test");
	strcpy(uts + 3 * UTS_FIELD, "#1");
	strcpy(uts + 4 * UTS_FIELD, "aarch64");
}

static void make_run_queue(struct synthetic *guest, bool text_only)
{
	guest->run_queue = synthetic_place(guest, NULL, 0, 2048, 2048);
	set(guest, guest->run_queue, VMOP_LAYOUT_RQ_IDLE, guest->init_task);
	set(guest, guest->run_queue, VMOP_LAYOUT_RQ_CURR, guest->task[2]);
	set(guest, guest->run_queue, VMOP_LAYOUT_RQ_CLOCK, 1000);
	if (text_only)
		synthetic_put_u64(guest, guest->per_cpu_offsets, PER_CPU_DELTA);
}

static void make_vmcoreinfo(struct synthetic *guest, uint64_t root, uint64_t voffset)
{
	sprintf((char *)guest->ram + SYNTHETIC_VMCOREINFO_GPA + 24,
		"OSRELEASE=6.99.0-test\nPAGESIZE=4096\nSYMBOL(init_uts_ns)=%llx\n"
		"OFFSET(uts_namespace.name)=0\nSYMBOL(swapper_pg_dir)=%llx\nSYMBOL(_stext)=%llx\n"
		"SIZE(page)=%d\nNUMBER(VA_BITS)=48\nNUMBER(VMEMMAP_START)=0x%llx\n"
		"NUMBER(kimage_voffset)=0x%llx\nNUMBER(PHYS_OFFSET)=0x%llx\n"
		"NUMBER(TCR_EL1_T1SZ)=0x10\nKERNELOFFSET=19000000\n",
		(unsigned long long)guest->init_uts_ns, (unsigned long long)root,
		(unsigned long long)SYNTHETIC_TEXT, guest->layout.value[VMOP_LAYOUT_PAGE_SIZE],
		(unsigned long long)SYNTHETIC_VMEMMAP, (unsigned long long)voffset,
		(unsigned long long)guest->ram_start);
}

void synthetic_make_arm64(struct synthetic *guest, const struct synthetic_options *options,
			  uint64_t root)
{
	uint64_t voffset = SYNTHETIC_TEXT - SYNTHETIC_TEXT_GPA - guest->ram_start;
	synthetic_put_u64(guest, synthetic_place(guest, "kimage_voffset", 'D', 8, 8), voffset);
	synthetic_put_u64(guest, synthetic_place(guest, "memstart_addr", 'D', 8, 8),
			  guest->ram_start);
	make_uts(guest);
	uint64_t memblock = make_memblock(guest);
	make_run_queue(guest, options->text_only);
	set(guest, guest->module, VMOP_LAYOUT_MODULE_SELF, guest->module);
	close_list(guest, guest->modules_head);
	close_list(guest, guest->bpf_head);
	close_list(guest, synthetic_member(guest, guest->init_task, VMOP_LAYOUT_TASK_TASKS));
	make_functions(guest, memblock);
	if (!options->no_vmcoreinfo)
		make_vmcoreinfo(guest, root, voffset);
}
