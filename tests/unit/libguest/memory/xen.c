// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Xen domain, read from dom0. Fakes replace Xen's libraries, because unit tests run without Xen
 * (tests/rigs/xen-run has a real one). The domain is the synthetic guest: as HVM at its own
 * addresses, or as PV. As PV its frames are scattered over the machine, and its page tables have 4
 * KiB pages and hold machine addresses.
 */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define __XEN_TOOLS__ 1 /* NOLINT: required by xen/domctl.h */
#include <xen/xen.h>
/* domctl.h needs the definitions of xen.h. */
#include <xen/domctl.h>
#include <xencall.h>
#include <xenforeignmemory.h>

#include "libguest/guest.h"
#include "libguest/memory/xen.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

#define PAGE UINT64_C(4096)
#define RAM_FRAMES (SYNTHETIC_RAM_BYTES / PAGE)
#define ENTRY_FRAME UINT64_C(0x000ffffffffff000)
#define PRESENT UINT64_C(1)
#define LARGE UINT64_C(0x80)
#define FIRST_FRAME UINT64_C(0x40000) /* the PV domain's first frame in the machine */
#define FIRST_TABLE UINT64_C(0x50000)
#define MAX_TABLES 64u
#define DOMID 7u

static struct synthetic made;

/* The machine as the fake Xen shows it. */
static struct {
	bool is_pv, is_dying, has_privilege;
	uint32_t version;
	uint64_t cr3;
	uint8_t tables[MAX_TABLES][4096];
	unsigned int n_tables;
	unsigned int maps, mapped_pages, refused_versions;
} machine;

/* --- page tables of a PV domain ---------------------------------------------------------- */

/* An odd factor maps each frame to a different one. */
static uint64_t machine_frame(uint64_t frame)
{
	return FIRST_FRAME + (frame * 2741 & (RAM_FRAMES - 1));
}

static uint8_t *frame_bytes(uint64_t frame)
{
	if (!machine.is_pv)
		return frame < RAM_FRAMES ? made.ram + frame * PAGE : NULL;
	if (frame - FIRST_TABLE < machine.n_tables)
		return machine.tables[frame - FIRST_TABLE];
	for (uint64_t own = 0; own < RAM_FRAMES; own++)
		if (machine_frame(own) == frame)
			return made.ram + own * PAGE;
	return NULL;
}

static uint64_t get(const uint8_t *table, unsigned int index)
{
	uint64_t entry;
	memcpy(&entry, table + 8 * index, 8);
	return entry;
}

static void set(uint8_t *table, unsigned int index, uint64_t entry)
{
	memcpy(table + 8 * index, &entry, 8);
}

static uint64_t new_table(void)
{
	assert_true(machine.n_tables < MAX_TABLES);
	memset(machine.tables[machine.n_tables], 0, PAGE);
	return FIRST_TABLE + machine.n_tables++;
}

/* Translate an entry of a table at a level (1: of pages). A large page becomes a table of pages. */
static uint64_t convert(uint64_t entry, unsigned int level)
{
	uint64_t frame = (entry & ENTRY_FRAME) / PAGE;
	if (!(entry & PRESENT))
		return 0;
	if (level == 1)
		return frame < RAM_FRAMES ? machine_frame(frame) * PAGE | PRESENT : 0;
	uint64_t table = new_table();
	uint8_t *to = machine.tables[table - FIRST_TABLE];
	uint64_t step = UINT64_C(1) << (9 * (level - 2));
	for (unsigned int i = 0; i < 512; i++) {
		uint64_t below = entry & LARGE ? ((frame + i * step) * PAGE) | PRESENT |
							 (level > 2 ? LARGE : 0)
					       : get(made.ram + frame * PAGE, i);
		bool is_ram = !(entry & LARGE) || frame + i * step < RAM_FRAMES;
		set(to, i, is_ram ? convert(below, level - 1) : 0);
	}
	return table * PAGE | PRESENT;
}

static void make_pv(void)
{
	uint8_t *root = made.ram + made.root_gpa;
	for (unsigned int i = 0; i < 512; i++)
		set(root, i, convert(get(root, i), 4));
	machine.is_pv = true;
	machine.cr3 = machine_frame(made.root_gpa / PAGE) * PAGE;
}

/* --- Xen's libraries ------------------------------------------------------------------------ */

static int some_handle;

xenforeignmemory_handle *xenforeignmemory_open(struct xentoollog_logger *logger, unsigned int flags)
{
	(void)flags;
	assert_non_null(logger);
	return (xenforeignmemory_handle *)&some_handle;
}

int xenforeignmemory_close(xenforeignmemory_handle *handle)
{
	assert_ptr_equal(handle, &some_handle);
	assert_int_equal(machine.mapped_pages, 0);
	return 0;
}

int xenforeignmemory_restrict(xenforeignmemory_handle *handle, domid_t domid)
{
	assert_ptr_equal(handle, &some_handle);
	assert_int_equal(domid, DOMID);
	return 0;
}

/* An access to an absent page ends the test. */
void *xenforeignmemory_map(xenforeignmemory_handle *handle, uint32_t domid, int protection,
			   size_t pages, const xen_pfn_t *frames, int *errors)
{
	assert_ptr_equal(handle, &some_handle);
	assert_int_equal(domid, DOMID);
	assert_int_equal(protection, PROT_READ);
	uint8_t *base = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(base != MAP_FAILED);
	for (size_t i = 0; i < pages; i++) {
		const uint8_t *from = frame_bytes(frames[i]);
		errors[i] = from ? 0 : EINVAL;
		if (from)
			memcpy(base + i * PAGE, from, PAGE);
		assert_int_equal(mprotect(base + i * PAGE, PAGE, from ? PROT_READ : PROT_NONE), 0);
	}
	machine.maps++;
	machine.mapped_pages += pages;
	return base;
}

int xenforeignmemory_unmap(xenforeignmemory_handle *handle, void *base, size_t pages)
{
	assert_ptr_equal(handle, &some_handle);
	machine.mapped_pages -= pages;
	return munmap(base, pages * PAGE);
}

xencall_handle *xencall_open(struct xentoollog_logger *logger, unsigned int flags)
{
	(void)logger, (void)flags;
	errno = ENOENT;
	return machine.has_privilege ? (xencall_handle *)&some_handle : NULL;
}

int xencall_close(xencall_handle *call)
{
	assert_ptr_equal(call, &some_handle);
	return 0;
}

void *xencall_alloc_buffer_pages(xencall_handle *call, size_t pages)
{
	assert_ptr_equal(call, &some_handle);
	return calloc(pages, PAGE);
}

void xencall_free_buffer_pages(xencall_handle *call, void *buffer, size_t pages)
{
	(void)call, (void)pages;
	free(buffer);
}

static void get_info(struct xen_domctl_getdomaininfo *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->domain = DOMID;
	ret->flags = (machine.is_pv ? 0 : XEN_DOMINF_hvm_guest) |
		     (machine.is_dying ? XEN_DOMINF_dying : 0);
	ret->tot_pages = RAM_FRAMES;
	ret->max_vcpu_id = 1;
}

static int domctl(struct xen_domctl *request)
{
	errno = EACCES;
	if (request->interface_version != machine.version) {
		machine.refused_versions++;
		return -1;
	}
	errno = ESRCH;
	if (request->domain != DOMID)
		return -1;
	if (request->cmd == XEN_DOMCTL_getdomaininfo) {
		get_info(&request->u.getdomaininfo);
		return 0;
	}
	assert_int_equal(request->cmd, XEN_DOMCTL_getvcpucontext);
	vcpu_guest_context_t *context = request->u.vcpucontext.ctxt.p;
	/* Only the second vCPU is online. */
	context->flags = request->u.vcpucontext.vcpu == 1 ? VGCF_online : 0;
	context->ctrlreg[3] = machine.cr3;
	return 0;
}

int xencall1(xencall_handle *call, unsigned int op, uint64_t argument)
{
	assert_ptr_equal(call, &some_handle);
	assert_int_equal(op, __HYPERVISOR_domctl);
	return domctl((struct xen_domctl *)(uintptr_t)argument);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void begin(void)
{
	memset(&machine, 0, sizeof(machine));
	machine.version = XEN_DOMCTL_INTERFACE_VERSION;
	machine.has_privilege = true;
	/* Only the registers lead to the kernel. */
	synthetic_make(&made, &(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
							  .no_trampoline = true,
							  .no_vmcoreinfo = true});
	machine.cr3 = made.root_gpa;
}

static struct vmop_guest *open_guest(void)
{
	struct vmop_guest *guest;
	struct vmop_error *err = vmop_guest_open_xen(DOMID, NULL, &guest);
	if (err)
		fail_msg("%s", err->message);
	return guest;
}

static void expect(struct vmop_error *err, enum vmop_error_code code, const char *part)
{
	assert_non_null(err);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, part))
		fail_msg("no \"%s\" in \"%s\"", part, err->message);
	vmop_error_destroy(err);
}

/* Read the kernel, processes and the content of a file, all starting from the registers. */
static void check_guest(void)
{
	struct vmop_guest *guest = open_guest();
	struct vmop_error *err = vmop_guest_find_kernel(guest);
	if (err)
		fail_msg("%s", err->message);
	const struct vmop_guest_kernel_info *info = vmop_guest_kernel_info(guest);
	assert_string_equal(info->release, "6.99.0-test");
	assert_string_equal(info->search_method, "registers");
	assert_int_equal(info->text_start, SYNTHETIC_TEXT);
	assert_int_equal(vmop_guest_ram_bytes(guest), SYNTHETIC_RAM_BYTES);
	struct vmop_guest_symbol symbol;
	assert_true(vmop_guest_symbol_at(guest, SYNTHETIC_TEXT + 16 * 43, &symbol));
	assert_string_equal(symbol.name, "filler_42");
	struct vmop_guest_snapshot *snapshot;
	assert_null(vmop_guest_snapshot_processes(guest, 0, &snapshot));
	assert_int_equal(vmop_guest_snapshot_count(snapshot), SYNTHETIC_PROCESSES);
	assert_int_equal(vmop_guest_snapshot_torn(snapshot), 0);
	vmop_guest_snapshot_free(snapshot);
	uint8_t content[8192];
	size_t got;
	assert_null(vmop_guest_read_file(guest, made.file, 0, content, sizeof(content), &got));
	assert_int_equal(got, sizeof(content));
	assert_memory_equal(content, made.ram + 0xc00000, sizeof(content));
	vmop_guest_close(guest);
	synthetic_free(&made);
}

static void hvm(void **state)
{
	(void)state;
	begin();
	check_guest();
}

/* Under KPTI CR3 of user space points to the page after the kernel's table. */
static void hvm_in_user_space(void **state)
{
	(void)state;
	begin();
	if (!(made.root_gpa & PAGE))
		machine.cr3 = made.root_gpa | PAGE;
	check_guest();
}

static void pv(void **state)
{
	(void)state;
	begin();
	make_pv();
	check_guest();
	/*
	 * The image of 6 MiB has 1536 scattered frames: they are gathered, not mapped one by one.
	 */
	assert_true(machine.maps < 400);
}

static void versions(void **state)
{
	(void)state;
	begin();
	machine.version = 0x18;
	check_guest();
	assert_true(machine.refused_versions > 0);
	begin();
	machine.version = 0x1000;
	struct vmop_guest *guest;
	expect(vmop_guest_open_xen(DOMID, NULL, &guest), VMOP_ERROR_CANT, "domctl");
	synthetic_free(&made);
}

static void who_is_not_there(void **state)
{
	(void)state;
	struct vmop_guest *guest;
	begin();
	expect(vmop_guest_open_xen(DOMID + 1, NULL, &guest), VMOP_ERROR_NOT_FOUND,
	       "no Xen domain 8");
	machine.is_dying = true;
	expect(vmop_guest_open_xen(DOMID, NULL, &guest), VMOP_ERROR_NOT_FOUND, "no Xen domain 7");
	machine.has_privilege = false;
	expect(vmop_guest_open_xen(DOMID, NULL, &guest), VMOP_ERROR_OS, "/dev/xen/privcmd");
	synthetic_free(&made);
}

static void no_linux(void **state)
{
	(void)state;
	begin();
	machine.cr3 = 0x3000; /* a page of zeros */
	struct vmop_guest *guest = open_guest();
	expect(vmop_guest_find_kernel(guest), VMOP_ERROR_NOT_FOUND, "no Linux kernel");
	vmop_guest_close(guest);
	synthetic_free(&made);
}

static void frames_that_are_not_there(void **state)
{
	(void)state;
	uint8_t bytes[2 * 4096];
	struct vmop_guest_xen *xen;
	begin();
	assert_null(vmop_guest_xen_open(DOMID, &xen));
	assert_true(vmop_guest_xen_read(xen, 0x400000, bytes, sizeof(bytes)));
	assert_memory_equal(bytes, made.ram + 0x400000, sizeof(bytes));
	/* across the end of its memory, within a window and across windows; beyond all memory */
	assert_false(vmop_guest_xen_read(xen, SYNTHETIC_RAM_BYTES - 4096, bytes, sizeof(bytes)));
	assert_false(vmop_guest_xen_read(xen, UINT64_C(1) << 40, bytes, 1));
	assert_false(vmop_guest_xen_read(xen, UINT64_MAX - 1, bytes, 8));
	const uint64_t addresses[] = {UINT64_MAX, 0x400000};
	vmop_guest_xen_gather(xen, addresses, 2, bytes);
	assert_int_equal(bytes[0], 0);
	assert_memory_equal(bytes + 4096, made.ram + 0x400000, 4096);
	vmop_guest_xen_close(xen);
	synthetic_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hvm),
		cmocka_unit_test(hvm_in_user_space),
		cmocka_unit_test(pv),
		cmocka_unit_test(versions),
		cmocka_unit_test(who_is_not_there),
		cmocka_unit_test(no_linux),
		cmocka_unit_test(frames_that_are_not_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
