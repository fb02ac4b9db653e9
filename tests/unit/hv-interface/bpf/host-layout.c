// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where kernels keep what the program reads, from type information that the test writes as pahole
 * would: a kernel and KVM's modules, with and without what the program needs.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hv-interface/bpf/host-layout.h"

/* A struct and its members in their order, each of 8 bytes; "name:type" is a member of a struct. */
struct definition {
	const char *name, *members;
};

static const struct definition arm64_kvm[] = {
	{"preempt_notifier", "link pad ops"},
	{"kvm_protected_vm", "handle enabled"},
	{"kvm_arch", "pad mmu pkvm:kvm_protected_vm"},
	{"kvm_cpu_context", "regs:registers spsr sys_regs:registers running"},
	{"kvm_vcpu_arch", "ctxt:kvm_cpu_context sve hw_mmu hcr_el2"},
	{"kvm_vcpu", "kvm preempt_notifier:preempt_notifier cpu vcpu_id mode "
		     "arch:kvm_vcpu_arch vcpu_idx"},
	{"kvm", "pad mm memslots users_count arch:kvm_arch"},
	{"kvm_memslots", "generation gfn_tree node_idx"},
	{"kvm_memory_slot", "pad gfn_node base_gfn npages userspace_addr flags"},
	{NULL, NULL},
};

/* As Linux 6.1 has it: no guest is hidden from its host. */
static const struct definition earlier_arm64_kvm[] = {
	{"preempt_notifier", "link pad ops"},
	{"kvm_arch", "pad mmu"},
	{"kvm_cpu_context", "regs:registers spsr sys_regs:registers running"},
	{"kvm_vcpu_arch", "ctxt:kvm_cpu_context sve hw_mmu hcr_el2"},
	{"kvm_vcpu", "kvm preempt_notifier:preempt_notifier cpu vcpu_id mode "
		     "arch:kvm_vcpu_arch vcpu_idx"},
	{"kvm", "pad mm memslots users_count arch:kvm_arch"},
	{"kvm_memslots", "generation gfn_tree node_idx"},
	{"kvm_memory_slot", "pad gfn_node base_gfn npages userspace_addr flags"},
	{NULL, NULL},
};

static const struct definition vmlinux[] = {
	{"perf_event", "pad attr"},
	{"task_struct", "flags mm pad preempt_notifiers"},
	{NULL, NULL},
};

static const struct definition kvm[] = {
	{"preempt_notifier", "link pad ops"},
	{"kvm_vcpu_arch", "regs:registers regs_avail cr3 cr4 efer handling_intr_from_guest"},
	{"kvm_vcpu", "kvm preempt_notifier:preempt_notifier vcpu_id vcpu_idx arch:kvm_vcpu_arch"},
	{"kvm", "pad mm memslots users_count"},
	{"kvm_memslots", "generation gfn_tree node_idx"},
	{"kvm_memory_slot", "pad gfn_node base_gfn npages userspace_addr flags"},
	{NULL, NULL},
};

/* As Linux 7.1 has it. */
static const struct definition later_kvm[] = {
	{"preempt_notifier", "link pad ops"},
	{"kvm_vcpu_arch", "regs:registers rip regs_avail cr3 cr4 efer handling_intr_from_guest "
			  "guest_state_protected"},
	{"kvm_vcpu", "kvm preempt_notifier:preempt_notifier vcpu_id vcpu_idx arch:kvm_vcpu_arch"},
	{"kvm", "pad mm memslots users_count"},
	{"kvm_memslots", "generation gfn_tree node_idx"},
	{"kvm_memory_slot", "pad gfn_node base_gfn npages userspace_addr flags"},
	{NULL, NULL},
};

/* As Linux 5.15 has it. */
static const struct definition earlier_kvm[] = {
	{"preempt_notifier", "link pad ops"},
	{"kvm_vcpu_arch", "regs:registers regs_avail cr3 cr4 efer"},
	{"kvm_vcpu", "kvm preempt_notifier:preempt_notifier vcpu_id vcpu_idx arch:kvm_vcpu_arch"},
	{"kvm", "pad mm memslots users_count"},
	{"kvm_memslots", "generation used_slots memslots"},
	{"kvm_memory_slot", "pad base_gfn npages userspace_addr flags"},
	{NULL, NULL},
};

static const struct definition amd[] = {
	{"vmcb_seg", "selector base"},
	{"vmcb_save", "pad gs:vmcb_seg cpl cr3 kernel_gs_base"},
	{"vmcb_control", "pad nested_ctl"},
	{"vmcb", "control:vmcb_control save:vmcb_save"},
	{"vcpu_svm", "pad vmcb vmcb01 current_vmcb"},
	{NULL, NULL},
};

static const struct definition later_amd[] = {
	{"vmcb_seg", "selector base"},
	{"vmcb_save", "pad gs:vmcb_seg cpl cr3 kernel_gs_base"},
	{"vmcb_control", "pad misc_ctl"},
	{"vmcb", "control:vmcb_control save:vmcb_save"},
	{"vcpu_svm", "pad vmcb vmcb01 current_vmcb"},
	{NULL, NULL},
};

static const struct definition intel[] = {
	{"vcpu_vmx", "pad vmcs01 pad loaded_vmcs"},
	{NULL, NULL},
};

static const struct definition pvm[] = {
	{"vcpu_pvm", "pad pad cpl"},
	{NULL, NULL},
};

static char root[] = "/tmp/vmop-host-layout-XXXXXX";
static struct btf *base; /* of the modules */

static void write_file(const char *name, const void *bytes, size_t n)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static void forget(void)
{
	static const char *const names[] = {"sys/kernel/btf/vmlinux",
					    "sys/kernel/btf/kvm",
					    "sys/kernel/btf/kvm_amd",
					    "sys/kernel/btf/kvm_intel",
					    "proc/cpuinfo",
					    "proc/cmdline",
					    "dev/kvm"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[256];
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		unlink(path);
	}
	btf__free(base);
	base = NULL;
}

static int find_type(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	return id < 0 ? btf__find_by_name_kind(btf, "word", BTF_KIND_INT) : id;
}

static void add(struct btf *btf, const struct definition *definitions)
{
	for (; definitions->name; definitions++) {
		char members[256];
		uint32_t at = 0;
		assert_true(btf__add_struct(btf, definitions->name, 4096) > 0);
		int of = (int)btf__type_cnt(btf) - 1;
		snprintf(members, sizeof(members), "%s", definitions->members);
		for (char *name, *rest = members; (name = strsep(&rest, " "));) {
			char *type = strchr(name, ':');
			if (type)
				*type++ = '\0';
			int id = find_type(btf, type ? type : "");
			assert_int_equal(btf__add_field(btf, name, id, at * 8, 0), 0);
			at += type && strcmp(type, "registers") == 0 ? 16 * 8 : 8;
			if (type && strncmp(type, "vmcb_", 5) == 0)
				at += 64;
			if (type && strcmp(type, "preempt_notifier") == 0)
				at += 16;
		}
		assert_true(of > 0);
	}
}

static void add_registers(struct btf *btf, bool is_later)
{
	assert_true(btf__add_enum(btf, "kvm_reg", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "VCPU_REGS_RSP", 4), 0);
	assert_int_equal(btf__add_enum_value(btf, is_later ? "VCPU_REG_RIP" : "VCPU_REGS_RIP", 16),
			 0);
	assert_int_equal(btf__add_enum_value(btf, is_later ? "VCPU_REG_CR3" : "VCPU_EXREG_CR3", 19),
			 0);
}

static void add_system_registers(struct btf *btf)
{
	assert_true(btf__add_enum(btf, "vcpu_sysreg", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "TPIDR_EL1", 2), 0);
	assert_int_equal(btf__add_enum_value(btf, "SP_EL1", 5), 0);
}

static void save(const struct btf *btf, const char *name)
{
	uint32_t n;
	const void *bytes = btf__raw_data(btf, &n);
	assert_non_null(bytes);
	write_file(name, bytes, n);
}

/* Write the kernel, with up to two sets of definitions built in. */
static void write_kernel(const struct definition *built_in, const struct definition *more,
			 bool has_registers)
{
	base = btf__new_empty();
	assert_non_null(base);
	assert_true(btf__add_int(base, "word", 8, 0) > 0);
	add(base, vmlinux);
	if (built_in)
		add(base, built_in);
	if (more)
		add(base, more);
	if (has_registers)
		add_registers(base, built_in == later_kvm);
	save(base, "sys/kernel/btf/vmlinux");
}

static void write_module(const char *name, const struct definition *definitions)
{
	char path[64];
	struct btf *btf = btf__new_empty_split(base);
	assert_non_null(btf);
	add(btf, definitions);
	snprintf(path, sizeof(path), "sys/kernel/btf/%s", name);
	save(btf, path);
	btf__free(btf);
}

/* Write an arm64 kernel, which has KVM built in. */
static void write_arm64(const struct definition *definitions, bool has_registers)
{
	base = btf__new_empty();
	assert_non_null(base);
	assert_true(btf__add_int(base, "word", 8, 0) > 0);
	add(base, vmlinux);
	add(base, definitions);
	if (has_registers)
		add_system_registers(base);
	save(base, "sys/kernel/btf/vmlinux");
	write_file("dev/kvm", "", 0);
}

static void finds(uint32_t virtualisation, struct vmop_bpf_host_layout *ret)
{
	bool is_arm64 = virtualisation == VMOP_BPF_ARM64;
	struct vmop_error *err = vmop_host_layout_find_of(root, is_arm64, ret);
	if (err)
		print_error("%s\n", err->message);
	assert_null(err);
	assert_int_equal(ret->virtualisation, virtualisation);
	forget();
}

static void refuses_on(bool is_arm64, const char *reason)
{
	struct vmop_bpf_host_layout layout;
	struct vmop_error *err = vmop_host_layout_find_of(root, is_arm64, &layout);
	assert_non_null(err);
	if (!strstr(err->message, reason))
		print_error("%s\n", err->message);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, reason));
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
	forget();
}

static void refuses(const char *reason)
{
	refuses_on(false, reason);
}

static void modules_have_the_offsets(void **state)
{
	struct vmop_bpf_host_layout layout;
	(void)state;
	write_kernel(NULL, NULL, true);
	write_module("kvm", kvm);
	write_module("kvm_amd", amd);
	finds(VMOP_BPF_SVM, &layout);
	assert_int_equal(layout.task_preempt_notifiers, 24);
	assert_int_equal(layout.task_mm, 8);
	assert_int_equal(layout.vcpu_notifier, 8);
	assert_int_equal(layout.vcpu_id, 32);
	assert_int_equal(layout.vcpu_idx, 40);
	assert_int_equal(layout.vcpu_regs, 48);
	assert_int_equal(layout.vcpu_rip, 48 + 128); /* behind them */
	assert_int_equal(layout.vcpu_regs_avail, 48 + 128);
	assert_int_equal(layout.vcpu_is_protected, VMOP_BPF_NO_FIELD);
	assert_int_equal(layout.vmcb_features, 8);
	assert_int_equal(layout.vmcb_gs_base, 72 + 8 + 8);
	assert_int_equal(layout.vmcb_cpl, 72 + 80);
	assert_int_equal(layout.kvm_mm, 8);
	assert_int_equal(layout.slots_node_idx, 16);
	assert_int_equal(layout.slot_address, 32);
}

static void later_names_are_known(void **state)
{
	struct vmop_bpf_host_layout layout;
	(void)state;
	write_kernel(NULL, NULL, true);
	write_module("kvm", later_kvm);
	write_module("kvm_amd", later_amd);
	finds(VMOP_BPF_SVM, &layout);
	assert_int_equal(layout.vcpu_rip, 48 + 128);
	assert_int_equal(layout.vcpu_regs_avail, 48 + 136);
	assert_int_equal(layout.vcpu_is_protected, 48 + 176);
	assert_int_equal(layout.vmcb_features, 8);
}

static void vmx_has_bits_of_what_was_fetched(void **state)
{
	struct vmop_bpf_host_layout layout;
	(void)state;
	write_kernel(NULL, NULL, true);
	write_module("kvm", kvm);
	write_module("kvm_intel", intel);
	finds(VMOP_BPF_VMX, &layout);
	assert_int_equal(layout.avail_rsp, 4);
	assert_int_equal(layout.avail_rip, 16);
	assert_int_equal(layout.avail_cr3, 19);
	assert_int_equal(layout.vmx_vmcs01, 8);
	assert_int_equal(layout.vmx_loaded_vmcs, 24);
	write_kernel(NULL, NULL, false);
	write_module("kvm", kvm);
	write_module("kvm_intel", intel);
	refuses("enum kvm_reg");
}

static void what_is_built_in_is_chosen_by_the_cpu(void **state)
{
	struct vmop_bpf_host_layout layout;
	static const char has_svm[] = "processor: 0\nflags\t\t: fpu svme svm\n";
	static const char has_vmx[] = "processor: 0\nflags\t\t: vmx fpu\n";
	static const char has_neither[] = "processor: 0\nflags\t\t: fpu svme vmxx\n";
	(void)state;
	write_kernel(kvm, amd, true);
	write_file("proc/cpuinfo", has_svm, sizeof(has_svm) - 1);
	finds(VMOP_BPF_SVM, &layout);
	write_kernel(kvm, intel, true);
	write_file("proc/cpuinfo", has_vmx, sizeof(has_vmx) - 1);
	finds(VMOP_BPF_VMX, &layout);
	write_kernel(kvm, amd, true);
	write_file("proc/cpuinfo", has_neither, sizeof(has_neither) - 1);
	refuses("neither kvm_amd nor kvm_intel");
	write_kernel(kvm, pvm, true);
	write_file("proc/cpuinfo", has_neither, sizeof(has_neither) - 1);
	finds(VMOP_BPF_PVM, &layout);
	assert_int_equal(layout.pvm_cpl, 16);
}

static void what_is_missing_is_named(void **state)
{
	(void)state;
	refuses("no type information");
	write_kernel(NULL, NULL, true);
	refuses("KVM is not loaded");
	write_kernel(NULL, NULL, true);
	write_module("kvm", kvm);
	refuses("neither kvm_amd nor kvm_intel");
	write_kernel(NULL, NULL, true);
	write_module("kvm", earlier_kvm);
	write_module("kvm_amd", amd);
	refuses("kvm_memslots.node_idx (Linux 5.17 and later have it)");
	write_kernel(NULL, NULL, true);
	write_module("kvm", kvm);
	write_module("kvm_amd", intel);
	refuses("vcpu_svm.vmcb");
}

static void broken_files_are_refused(void **state)
{
	static const char nonsense[] = "\x9f\xeb\x01 this is no type information at all";
	(void)state;
	write_file("sys/kernel/btf/vmlinux", nonsense, sizeof(nonsense));
	refuses("no type information");
	write_kernel(NULL, NULL, true);
	write_file("sys/kernel/btf/kvm", nonsense, sizeof(nonsense));
	refuses("KVM is not loaded");
	write_file("sys/kernel/btf/vmlinux", "", 0);
	refuses("no type information");
}

static void arm64_has_the_offsets_of_saved_registers(void **state)
{
	struct vmop_bpf_host_layout layout;
	(void)state;
	write_arm64(arm64_kvm, true);
	finds(VMOP_BPF_ARM64, &layout);
	assert_int_equal(layout.task_flags, 0);
	assert_int_equal(layout.event_attr, 8);
	assert_int_equal(layout.vcpu_cpu, 32);
	assert_int_equal(layout.vcpu_id, 40);
	assert_int_equal(layout.vcpu_mode, 48);
	assert_int_equal(layout.vcpu_context_regs, 56);
	assert_int_equal(layout.vcpu_mmu, 56 + 16);
	assert_int_equal(layout.vcpu_hcr, 56 + 24);
	assert_int_equal(layout.vcpu_tpidr_el1, 56 + 136 + 2 * 8);
	assert_int_equal(layout.vcpu_sp_el1, 56 + 136 + 5 * 8);
	assert_int_equal(layout.kvm_mmu, 32 + 8);
	assert_int_equal(layout.kvm_is_protected, 32 + 16 + 8);
	write_arm64(earlier_arm64_kvm, true);
	finds(VMOP_BPF_ARM64, &layout);
	assert_int_equal(layout.kvm_is_protected, VMOP_BPF_NO_FIELD);
}

static void arm64_counters_are_nmis_by_parameter(void **state)
{
	static const struct {
		const char *cmdline;
		bool are_nmis;
	} cases[] = {
		{"quiet irqchip.gicv3_pseudo_nmi=1 panic=-1\n", true},
		{"irqchip.gicv3_pseudo_nmi=on\n", true},
		{"irqchip.gicv3_pseudo_nmi=0 quiet\n", false},
		{"irqchip.gicv3_pseudo_nmi=off\n", false},
		{"irqchip.gicv3_pseudo_nmi=1 irqchip.gicv3_pseudo_nmi=\n", false},
		{"quiet\n", false},
		{"", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_bpf_host_layout layout;
		write_arm64(arm64_kvm, true);
		write_file("proc/cmdline", cases[i].cmdline, strlen(cases[i].cmdline));
		finds(VMOP_BPF_ARM64, &layout);
		assert_int_equal(layout.counters_are_nmis, cases[i].are_nmis);
	}
}

static void what_is_missing_on_arm64_is_named(void **state)
{
	(void)state;
	refuses_on(true, "KVM is not loaded (/dev/kvm)");
	write_arm64(arm64_kvm, false);
	refuses_on(true, "enum vcpu_sysreg");
	write_arm64(kvm, true);
	refuses_on(true, "kvm_vcpu.cpu (Linux 5.17 and later have it)");
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_have_the_offsets),
		cmocka_unit_test(later_names_are_known),
		cmocka_unit_test(vmx_has_bits_of_what_was_fetched),
		cmocka_unit_test(what_is_built_in_is_chosen_by_the_cpu),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(broken_files_are_refused),
		cmocka_unit_test(arm64_has_the_offsets_of_saved_registers),
		cmocka_unit_test(arm64_counters_are_nmis_by_parameter),
		cmocka_unit_test(what_is_missing_on_arm64_is_named),
	};
	static const char *const folders[] = {
		"proc",		  "sys", "sys/kernel", "sys/kernel/btf", "sys/module",
		"sys/module/kvm", "dev"};
	enum { N_FOLDERS = sizeof(folders) / sizeof(*folders) };
	char path[256];
	libbpf_set_print(quiet);
	if (!mkdtemp(root))
		return 1;
	for (size_t i = 0; i < N_FOLDERS; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		mkdir(path, 0700);
	}
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = N_FOLDERS; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		rmdir(path);
	}
	rmdir(root);
	return status;
}
