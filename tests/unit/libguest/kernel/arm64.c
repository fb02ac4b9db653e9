// SPDX-License-Identifier: GPL-2.0-or-later
/* A synthetic arm64 guest: the start of its RAM, its kernel, and the facts found in it. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/arm64-code.h"
#include "libguest/kernel/arm64.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "tests/unit/libguest/opened.h"

static void expect_not_found(const char *text)
{
	struct vmop_error *err = vmop_guest_find_kernel(guest);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	assert_non_null(strstr(err->message, text));
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
}

/* --- the kernel --------------------------------------------------------------------- */

static bool see(const struct vmop_guest_symbol *symbol, void *arg)
{
	size_t *seen = arg;
	if (symbol->module)
		return true;
	const struct synthetic_symbol *truth = &made.symbols[(*seen)++];
	assert_string_equal(symbol->name, truth->name);
	assert_int_equal(symbol->address, truth->address);
	return true;
}

static void check_kernel(const char *search_method)
{
	const struct vmop_guest_kernel_info *info = vmop_guest_kernel_info(guest);
	size_t seen = 0;
	assert_string_equal(info->search_method, search_method);
	assert_string_equal(info->architecture, "arm64");
	assert_string_equal(info->release, "6.99.0-test");
	assert_string_equal(info->offsets_source, "BTF");
	assert_int_equal(info->text_start, SYNTHETIC_TEXT);
	assert_int_equal(info->text_gpa, made.ram_start + SYNTHETIC_TEXT_GPA);
	assert_int_equal(info->root_gpa, made.ram_start + made.root_gpa);
	assert_int_equal(info->page_bytes, 4096);
	assert_int_equal(info->va_bits, 48);
	assert_int_equal(info->levels, 4);
	assert_int_equal(info->cpus, 1);
	assert_false(info->has_kpti);
	assert_int_equal(vmop_guest_ram_bytes(guest), SYNTHETIC_RAM_BYTES);
	assert_null(vmop_guest_each_symbol(guest, see, &seen));
	assert_int_equal(seen, made.symbol_count);
}

/* Check all facts except symbols: modules, processes, files, current tasks. */
static void check_inside(void)
{
	struct vmop_guest_snapshot *snapshot;
	struct vmop_guest_current current;
	uint8_t content[8192];
	size_t count, got;
	assert_int_equal(vmop_guest_module_count(guest), 2);
	assert_string_equal(vmop_guest_module_get(guest, 0)->name, "testmod");
	assert_string_equal(vmop_guest_module_get(guest, 1)->name, "bpf_prog_0011_x");
	assert_null(vmop_guest_snapshot_processes(guest, 0, &snapshot));
	assert_int_equal(vmop_guest_snapshot_count(snapshot), SYNTHETIC_PROCESSES);
	assert_int_equal(vmop_guest_snapshot_torn(snapshot), 0);
	const struct vmop_guest_process *worker = vmop_guest_snapshot_by_pid(snapshot, 2);
	assert_string_equal(worker->comm, "worker");
	assert_int_equal(worker->pgd_gpa, made.ram_start + SYNTHETIC_USER_PGD_GPA);
	/* TTBR0_EL1 has the ASID above the address of the table and CnP below it */
	assert_ptr_equal(
		vmop_guest_snapshot_by_cr3(snapshot, worker->pgd_gpa | UINT64_C(0x1234) << 48 | 1),
		worker);
	assert_null(vmop_guest_snapshot_by_cr3(snapshot, worker->pgd_gpa + 4096));
	assert_int_equal(worker->vma_count, 2);
	assert_string_equal(worker->vmas[0].path, "/bin/worker");
	assert_int_equal(worker->vmas[0].build_id_len_bytes, 20);
	assert_int_equal(worker->vmas[0].build_id[0], 0xab);
	assert_null(vmop_guest_read_file(guest, worker->vmas[0].file, 0, content, sizeof(content),
					 &got));
	assert_int_equal(got, sizeof(content));
	assert_int_equal(content[4096], 0x77);
	vmop_guest_snapshot_free(snapshot);
	assert_null(vmop_guest_current_tasks(guest, &current, 1, &count));
	assert_int_equal(count, 1);
	assert_int_equal(current.pid, 2);
	assert_true(vmop_guest_kernel_memblock_fits(guest->kernel));
}

static const enum synthetic_kallsyms forms[] = {SYNTHETIC_BEFORE_RELATIVE, SYNTHETIC_ALL_RELATIVE,
						SYNTHETIC_PLACE_RELATIVE};

static void by_vmcoreinfo(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		open_found(&(struct synthetic_options){.arm64 = true, .kallsyms = forms[i]});
		check_kernel("vmcoreinfo");
		assert_int_equal(vmop_guest_kernel_info(guest)->kaslr_offset, 0x19000000);
		check_inside();
		vmop_guest_drop_symbols(guest);
		check_inside();
		close_guest();
	}
}

static void by_symbols_that_name_variables(void **state)
{
	(void)state;
	struct synthetic_options options = {.arm64 = true, .no_vmcoreinfo = true};
	for (size_t i = 0; i < 2; i++) {
		options.kallsyms = forms[i];
		open_found(&options);
		check_kernel("kallsyms");
		assert_int_equal(vmop_guest_kernel_info(guest)->kaslr_offset, 0); /* unknown */
		close_guest();
	}
	/* distances do not suffice to locate the kernel */
	options.kallsyms = SYNTHETIC_PLACE_RELATIVE;
	open_with(&options);
	expect_not_found("no Linux kernel that vmop supports");
	close_guest();
}

static void variables_without_names(void **state)
{
	(void)state;
	struct synthetic_options options = {.arm64 = true, .text_only = true};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		options.kallsyms = forms[i];
		open_found(&options);
		uint64_t address;
		assert_false(vmop_guest_symbol_address(guest, "init_task", &address));
		check_kernel("vmcoreinfo");
		check_inside();
		/* the clock of the run queue shows that it runs */
		assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_UNCERTAIN);
		uint64_t clock = synthetic_member(&made, made.run_queue, VMOP_LAYOUT_RQ_CLOCK);
		synthetic_put_u64(&made, clock, 2000);
		assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_CURRENT);
		synthetic_put_u64(&made, clock, 1500);
		assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_GONE);
		close_guest();
	}
	options.no_vmcoreinfo = true;
	open_with(&options);
	expect_not_found("no Linux kernel that vmop supports");
	close_guest();
}

/* Objects with invalid content stay unknown; symbols are still reported. */
static void variables_that_are_not_so(void **state)
{
	(void)state;
	struct synthetic_options options = {
		.arm64 = true, .text_only = true, .kallsyms = SYNTHETIC_ALL_RELATIVE};
	open_with(&options);
	synthetic_put_u64(&made, synthetic_member(&made, made.module, VMOP_LAYOUT_MODULE_SELF), 0);
	synthetic_put_u64(&made, synthetic_member(&made, made.run_queue, VMOP_LAYOUT_RQ_IDLE), 0);
	assert_null(vmop_guest_find_kernel(guest));
	check_kernel("vmcoreinfo");
	assert_int_equal(vmop_guest_module_count(guest), 1); /* the BPF program */
	struct vmop_guest_current current;
	size_t count;
	struct vmop_error *err = vmop_guest_current_tasks(guest, &current, 1, &count);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
	assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_UNCERTAIN);
	close_guest();
}

static void wherever_ram_begins(void **state)
{
	(void)state;
	static const uint64_t starts[] = {UINT64_C(1) << 30, UINT64_C(2) << 30, UINT64_C(1) << 40,
					  UINT64_C(0x140000000)};
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct synthetic_options options = {.arm64 = true,
						    .kallsyms = SYNTHETIC_ALL_RELATIVE,
						    .ram_start = starts[i],
						    .no_vmcoreinfo = i % 2};
		open_found(&options);
		check_kernel(i % 2 ? "kallsyms" : "vmcoreinfo");
		if (i % 2 == 0)
			check_inside();
		close_guest();
	}
}

static void memory_is_placed(void **state)
{
	static uint8_t ram[65536];
	struct vmop_guest_memory *memory;
	uint8_t byte;
	(void)state;
	ram[0x1234] = 0x5a;
	assert_null(vmop_guest_memory_open_buffer(ram, sizeof(ram), &memory));
	assert_true(vmop_guest_memory_place(memory, 0x1000, 0x40001000));
	assert_true(vmop_guest_memory_read(memory, 0x40001234, &byte, 1));
	assert_int_equal(byte, 0x5a);
	assert_false(vmop_guest_memory_read(memory, 0x1234, &byte, 1));
	size_t placements = vmop_guest_memory_placements(memory);
	assert_true(vmop_guest_memory_place(memory, 0x2000, 0x40002000)); /* the same placement */
	assert_int_equal(vmop_guest_memory_placements(memory), placements);
	assert_false(vmop_guest_memory_place(memory, 0x2000, 0x40002001)); /* inside a page */
	assert_false(vmop_guest_memory_place(memory, 0x2000, 0x1000));	   /* below 0 */
	assert_false(vmop_guest_memory_place(memory, 0x1000, UINT64_C(0xfffffffffffff000)));
	assert_false(vmop_guest_memory_place(memory, sizeof(ram), 0x40000000)); /* not RAM */
	for (uint64_t i = 0; i < 40; i++) { /* more than the table holds */
		assert_true(vmop_guest_memory_place(memory, 0, i << 30));
		assert_int_equal(vmop_guest_memory_to_gpa(memory, 0x1234), (i << 30) + 0x1234);
	}
	vmop_guest_memory_close(memory);
}

static void big_endian_is_said(void **state)
{
	(void)state;
	open_with(&(struct synthetic_options){
		.arm64 = true, .text_only = true, .kallsyms = SYNTHETIC_ALL_RELATIVE});
	/* the table of 16-bit numbers, found by its first two */
	uint8_t *at = NULL;
	for (uint8_t *page = made.ram; page < made.ram + SYNTHETIC_RAM_BYTES - 512 && !at;
	     page += 8)
		if (page[0] == 0 && page[1] == 0 && page[2] == 3 && page[3] == 0 && page[4] == 11)
			at = page;
	assert_non_null(at);
	for (int i = 0; i < 256; i++) {
		uint8_t low = at[2 * i];
		at[2 * i] = at[2 * i + 1];
		at[2 * i + 1] = low;
	}
	expect_not_found("big-endian");
	close_guest();
}

/* --- VMCOREINFO with false content --------------------------------------------------------- */

static void lies_in_vmcoreinfo(void **state)
{
	static const char *const keys[] = {"NUMBER(VA_BITS)=",
					   "PAGESIZE=",
					   "NUMBER(TCR_EL1_T1SZ)=0x",
					   "NUMBER(kimage_voffset)=0x",
					   "SYMBOL(swapper_pg_dir)=",
					   "SYMBOL(_stext)=",
					   "SYMBOL(init_uts_ns)=",
					   "NUMBER(PHYS_OFFSET)=0x",
					   "SIZE(page)=",
					   "NUMBER(VMEMMAP_START)=0x"};
	(void)state;
	srandom(7);
	for (int round = 0; round < 40; round++) {
		open_with(&(struct synthetic_options){
			.arm64 = true, .text_only = round % 2, .kallsyms = SYNTHETIC_ALL_RELATIVE});
		char *text = (char *)made.ram + SYNTHETIC_VMCOREINFO_GPA + 24;
		const char *key = keys[(size_t)round % (sizeof(keys) / sizeof(keys[0]))];
		char *digit = strstr(text, key) + strlen(key);
		do
			*digit = "0123456789"[random() % 10];
		while (*++digit != '\n' && random() % 4);
		struct vmop_error *err = vmop_guest_find_kernel(guest);
		if (!err) {
			struct vmop_guest_snapshot *snapshot = NULL;
			err = vmop_guest_snapshot_processes(guest, 0, &snapshot);
			vmop_guest_snapshot_free(snapshot);
		}
		vmop_error_destroy(err);
		close_guest();
	}
}

static void what_arm64_tells(void **state)
{
	static const char text[] =
		"OSRELEASE=6.1.0-56-cloud-arm64\nPAGESIZE=65536\n"
		"SYMBOL(init_uts_ns)=ffffcb93763c0840\nOFFSET(uts_namespace.name)=4\n"
		"SYMBOL(swapper_pg_dir)=ffffcb9375d8f000\nSYMBOL(_stext)=ffffcb9374a10000\n"
		"SIZE(page)=64\nNUMBER(VA_BITS)=52\nNUMBER(VMEMMAP_START)=0xfffffc0000000000\n"
		"NUMBER(kimage_voffset)=0xffffcb9334800000\nNUMBER(PHYS_OFFSET)="
		"0xfff1000040000000\n"
		"NUMBER(TCR_EL1_T1SZ)=0x10\nKERNELOFFSET=4b936ca00000\n";
	struct vmop_vmcoreinfo info;
	(void)state;
	assert_true(vmop_vmcoreinfo_parse(text, sizeof(text), &info));
	assert_true(info.is_arm64);
	assert_int_equal(info.page_bytes, 65536);
	assert_int_equal(info.init_uts_ns, UINT64_C(0xffffcb93763c0840));
	assert_int_equal(info.uts_name, 4);
	assert_int_equal(info.stext, UINT64_C(0xffffcb9374a10000));
	assert_int_equal(info.va_bits, 52);
	assert_int_equal(info.t1sz, 16);
	assert_int_equal(info.kimage_voffset, UINT64_C(0xffffcb9334800000));
	assert_int_equal(info.phys_offset, UINT64_C(0xfff1000040000000));
	assert_int_equal(info.vmemmap_start, UINT64_C(0xfffffc0000000000));
	assert_int_equal(info.page_struct_bytes, 64);
	assert_true(vmop_vmcoreinfo_parse("OSRELEASE=6\nSYMBOL(swapper_pg_dir)=1\n", 41, &info));
	assert_false(info.is_arm64);
}

/* --- code ---------------------------------------------------------------------------------- */

/* idle_task of Debian's 6.1 arm64, as objdump shows it, followed by invented instructions. */
static void references_in_code(void **state)
{
	static const uint32_t code[] = {
		0xd503245f, /* bti c */
		0xb0000aa1, /* adrp x1, 0x155000 */
		0xf00008c2, /* adrp x2, 0x11b000 */
		0x91098021, /* add x1, x1, #0x260 */
		0x91370042, /* add x2, x2, #0xdc0 */
		0xf8605841, /* ldr x1, [x2, w0, uxtw #3] */
		0xf0ffffe3, /* adrp x3, -4 pages + 3: below */
		0xf9403464, /* ldr x4, [x3, #104] */
		0x94000010, /* bl: x1 and x3 become unknown */
		0x91000c25, /* add x5, x1, #3 */
		0xf9000464, /* str x4, [x3, #8] */
		0x10000206, /* adr x6, . + 64 */
		0x91400cc7, /* add x7, x6, #3, lsl #12 */
		0xf8430ce8, /* ldr x8, [x7, #48]!, as in 5.10's find_module_all */
		0xf85f04e8, /* ldr x8, [x7], #-16 */
		0xf94000e8, /* ldr x8, [x7] */
	};
	const uint64_t pc = UINT64_C(0xffff800008000000);
	uint64_t found[16];
	(void)state;
	size_t count =
		vmop_arm64_code_references((const uint8_t *)code, sizeof(code), pc, found, 16);
	assert_int_equal(count, 7);
	assert_int_equal(found[0], pc + 0x155000 + 0x260);
	assert_int_equal(found[1], pc + 0x11b000 + 0xdc0);
	assert_int_equal(found[2], pc - 0x1000 + 104);
	assert_int_equal(found[3], pc + 11 * 4 + 64);
	assert_int_equal(found[4], pc + 11 * 4 + 64 + 0x3000);
	assert_int_equal(found[5], found[4] + 48);
	assert_int_equal(found[6], found[4] + 32);
	assert_int_equal(
		vmop_arm64_code_references((const uint8_t *)code, sizeof(code), pc, found, 1), 1);
	assert_int_equal(vmop_arm64_code_references((const uint8_t *)code, 3, pc, found, 16), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_vmcoreinfo),
		cmocka_unit_test(by_symbols_that_name_variables),
		cmocka_unit_test(variables_without_names),
		cmocka_unit_test(variables_that_are_not_so),
		cmocka_unit_test(wherever_ram_begins),
		cmocka_unit_test(memory_is_placed),
		cmocka_unit_test(big_endian_is_said),
		cmocka_unit_test(lies_in_vmcoreinfo),
		cmocka_unit_test(what_arm64_tells),
		cmocka_unit_test(references_in_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
