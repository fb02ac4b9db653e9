// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/host-layout.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* The kernel's types; those of modules include the kernel's. NULL: the module is not loaded. */
struct types {
	struct btf *vmlinux, *kvm, *kvm_amd, *kvm_intel;
};

/* A member that the program reads: its place in the layout, and where the kernel has it. */
struct field {
	size_t at;
	const char *type, *path; /* members of members are separated by dots */
	const char *other_path;	 /* in other kernels; NULL: none */
	bool is_optional;
};

#define FIELD(name, type, path)                                                                    \
	{                                                                                          \
		offsetof(struct vmop_bpf_host_layout, name), type, path, NULL, false               \
	}
#define RENAMED(name, type, path, other_path)                                                      \
	{                                                                                          \
		offsetof(struct vmop_bpf_host_layout, name), type, path, other_path, false         \
	}
#define OPTIONAL(name, type, path, other_path)                                                     \
	{                                                                                          \
		offsetof(struct vmop_bpf_host_layout, name), type, path, other_path, true          \
	}

static const struct field common_fields[] = {
	FIELD(task_preempt_notifiers, "task_struct", "preempt_notifiers"),
	FIELD(task_mm, "task_struct", "mm"),
	FIELD(vcpu_notifier, "kvm_vcpu", "preempt_notifier.link"),
	FIELD(vcpu_kvm, "kvm_vcpu", "kvm"),
	FIELD(vcpu_id, "kvm_vcpu", "vcpu_id"),
	FIELD(vcpu_idx, "kvm_vcpu", "vcpu_idx"),
	FIELD(kvm_mm, "kvm", "mm"),
	FIELD(kvm_users_count, "kvm", "users_count"),
	FIELD(kvm_memslots, "kvm", "memslots"),
	FIELD(slots_generation, "kvm_memslots", "generation"),
	FIELD(slots_node_idx, "kvm_memslots", "node_idx"),
	FIELD(slots_tree, "kvm_memslots", "gfn_tree"),
	FIELD(slot_node, "kvm_memory_slot", "gfn_node"),
	FIELD(slot_base_gfn, "kvm_memory_slot", "base_gfn"),
	FIELD(slot_npages, "kvm_memory_slot", "npages"),
	FIELD(slot_address, "kvm_memory_slot", "userspace_addr"),
	FIELD(slot_flags, "kvm_memory_slot", "flags"),
};

static const struct field x86_fields[] = {
	FIELD(vcpu_regs, "kvm_vcpu", "arch.regs"),
	OPTIONAL(vcpu_rip, "kvm_vcpu", "arch.rip", NULL),
	FIELD(vcpu_regs_avail, "kvm_vcpu", "arch.regs_avail"),
	FIELD(vcpu_cr3, "kvm_vcpu", "arch.cr3"),
	FIELD(vcpu_cr4, "kvm_vcpu", "arch.cr4"),
	FIELD(vcpu_efer, "kvm_vcpu", "arch.efer"),
	FIELD(vcpu_handling_intr, "kvm_vcpu", "arch.handling_intr_from_guest"),
	OPTIONAL(vcpu_is_protected, "kvm_vcpu", "arch.guest_state_protected", NULL),
};

static const struct field svm_fields[] = {
	FIELD(svm_vmcb, "vcpu_svm", "vmcb"),
	FIELD(svm_current_vmcb, "vcpu_svm", "current_vmcb"),
	FIELD(svm_vmcb01, "vcpu_svm", "vmcb01"),
	RENAMED(vmcb_features, "vmcb", "control.nested_ctl", "control.misc_ctl"),
	FIELD(vmcb_cpl, "vmcb", "save.cpl"),
	FIELD(vmcb_cr3, "vmcb", "save.cr3"),
	FIELD(vmcb_gs_base, "vmcb", "save.gs.base"),
	FIELD(vmcb_kernel_gs_base, "vmcb", "save.kernel_gs_base"),
};

static const struct field vmx_fields[] = {
	FIELD(vmx_loaded_vmcs, "vcpu_vmx", "loaded_vmcs"),
	FIELD(vmx_vmcs01, "vcpu_vmx", "vmcs01"),
};

static const struct field pvm_fields[] = {FIELD(pvm_cpl, "vcpu_pvm", "cpl")};

/* The fields vcpu_sp_el1 and vcpu_tpidr_el1 are the array's here, and then of one register. */
static const struct field arm64_fields[] = {
	FIELD(task_flags, "task_struct", "flags"),
	FIELD(event_attr, "perf_event", "attr"),
	FIELD(vcpu_cpu, "kvm_vcpu", "cpu"),
	FIELD(vcpu_mode, "kvm_vcpu", "mode"),
	FIELD(vcpu_context_regs, "kvm_vcpu", "arch.ctxt.regs"),
	FIELD(vcpu_hcr, "kvm_vcpu", "arch.hcr_el2"),
	FIELD(vcpu_mmu, "kvm_vcpu", "arch.hw_mmu"),
	FIELD(kvm_mmu, "kvm", "arch.mmu"),
	FIELD(vcpu_sp_el1, "kvm_vcpu", "arch.ctxt.sys_regs"),
	FIELD(vcpu_tpidr_el1, "kvm_vcpu", "arch.ctxt.sys_regs"),
	OPTIONAL(kvm_is_protected, "kvm", "arch.pkvm.enabled", "arch.pkvm.is_protected"),
};

static struct btf *parse(const char *root, const char *name, struct btf *base)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/%s", root, name);
	if (access(path, R_OK) < 0)
		return NULL;
	return base ? btf__parse_split(path, base) : btf__parse_raw(path);
}

static void types_deinit(struct types *types)
{
	btf__free(types->kvm_intel);
	btf__free(types->kvm_amd);
	btf__free(types->kvm);
	btf__free(types->vmlinux);
}

static void types_init(struct types *types, const char *root)
{
	*types = (struct types){.vmlinux = parse(root, "vmlinux", NULL)};
	if (!types->vmlinux)
		return;
	types->kvm = parse(root, "kvm", types->vmlinux);
	types->kvm_amd = parse(root, "kvm_amd", types->vmlinux);
	types->kvm_intel = parse(root, "kvm_intel", types->vmlinux);
}

/* Find a member in a struct, in its nameless members too. Return its type, or -1. */
static int find_member(const struct btf *btf, uint32_t type, const char *name, size_t len,
		       uint32_t *bits)
{
	const struct btf_type *of = btf__type_by_id(btf, type);
	while (of && (btf_is_mod(of) || btf_is_typedef(of)))
		of = btf__type_by_id(btf, of->type);
	for (uint16_t i = 0; of && btf_is_composite(of) && i < btf_vlen(of); i++) {
		const struct btf_member *member = &btf_members(of)[i];
		const char *its_name = btf__name_by_offset(btf, member->name_off);
		uint32_t at = *bits + btf_member_bit_offset(of, i);
		if (its_name && strlen(its_name) == len && strncmp(its_name, name, len) == 0) {
			*bits = at;
			return (int)member->type;
		}
		int found =
			its_name && *its_name ? -1 : find_member(btf, member->type, name, len, &at);
		if (found >= 0) {
			*bits = at;
			return found;
		}
	}
	return -1;
}

/* Return the offset of a member in bytes, or VMOP_BPF_NO_FIELD. */
static uint32_t find_path(const struct btf *btf, const char *type, const char *path)
{
	uint32_t bits = 0;
	int at = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : -1;
	while (at >= 0 && path) {
		size_t len = strcspn(path, ".");
		at = find_member(btf, (uint32_t)at, path, len, &bits);
		path = path[len] ? path + len + 1 : NULL;
	}
	return at < 0 ? VMOP_BPF_NO_FIELD : bits / 8;
}

static struct vmop_error *find_fields(const struct btf *btf, const struct field *fields, size_t n,
				      struct vmop_bpf_host_layout *ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct field *field = &fields[i];
		uint32_t offset = find_path(btf, field->type, field->path);
		if (offset == VMOP_BPF_NO_FIELD && field->other_path)
			offset = find_path(btf, field->type, field->other_path);
		if (offset == VMOP_BPF_NO_FIELD && !field->is_optional)
			return vmop_error_new(
				VMOP_ERROR_CANT,
				"this kernel has no %s.%s (Linux 5.17 and later have it)",
				field->type, field->path);
		memcpy((uint8_t *)ret + field->at, &offset, sizeof(offset));
	}
	return NULL;
}

/* Set *ret to the value of an enumerator by one of two names. False: the kernel has neither. */
static bool find_enumerator(const struct btf *btf, const char *name, const char *other_name,
			    uint32_t *ret)
{
	uint32_t n = btf__type_cnt(btf);
	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		for (uint16_t i = 0; btf_is_enum(type) && i < btf_vlen(type); i++) {
			const struct btf_enum *value = &btf_enum(type)[i];
			const char *its_name = btf__name_by_offset(btf, value->name_off);
			if (its_name &&
			    (strcmp(its_name, name) == 0 || strcmp(its_name, other_name) == 0)) {
				*ret = (uint32_t)value->val;
				return true;
			}
		}
	}
	return false;
}

static struct vmop_error *find_vmx(const struct btf *btf, struct vmop_bpf_host_layout *ret)
{
	struct vmop_error *err = find_fields(btf, vmx_fields, N_OF(vmx_fields), ret);
	if (err)
		return err;
	if (!find_enumerator(btf, "VCPU_REGS_RSP", "VCPU_REG_RSP", &ret->avail_rsp) ||
	    !find_enumerator(btf, "VCPU_REGS_RIP", "VCPU_REG_RIP", &ret->avail_rip) ||
	    !find_enumerator(btf, "VCPU_EXREG_CR3", "VCPU_REG_CR3", &ret->avail_cr3))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this kernel does not name the bits of registers that VMX "
				      "has fetched (enum kvm_reg)");
	return NULL;
}

static bool has_struct(const struct btf *btf, const char *name)
{
	return btf && btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) >= 0;
}

/* Return whether the first CPU has a feature by its name in /proc/cpuinfo. */
static bool has_cpu_flag(const char *root, const char *name)
{
	char path[512], *line = NULL;
	size_t capacity = 0;
	bool has_it = false;
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	FILE *file = fopen(path, "re");
	while (file && !has_it && getline(&line, &capacity, file) > 0) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		for (char *word, *rest = line; !has_it && (word = strsep(&rest, " \n"));)
			has_it = strcmp(word, name) == 0;
		break;
	}
	free(line);
	if (file)
		fclose(file);
	return has_it;
}

/*
 * Choose the virtualisation. A module is loaded only where it works. What is built into the kernel
 * may be there for any CPU.
 */
static uint32_t choose(const struct types *types, const char *root, const struct btf **ret)
{
	*ret = types->vmlinux;
	if (types->kvm_amd) {
		*ret = types->kvm_amd;
		return VMOP_BPF_SVM;
	}
	if (types->kvm_intel) {
		*ret = types->kvm_intel;
		return VMOP_BPF_VMX;
	}
	if (has_struct(types->vmlinux, "vcpu_svm") && has_cpu_flag(root, "svm"))
		return VMOP_BPF_SVM;
	if (has_struct(types->vmlinux, "vcpu_vmx") && has_cpu_flag(root, "vmx"))
		return VMOP_BPF_VMX;
	return has_struct(types->vmlinux, "vcpu_pvm") ? VMOP_BPF_PVM : VMOP_BPF_NO_KVM;
}

static struct vmop_error *find_machine(const struct types *types, const char *root,
				       struct vmop_bpf_host_layout *ret)
{
	const struct btf *btf;
	ret->virtualisation = choose(types, root, &btf);
	switch (ret->virtualisation) {
	case VMOP_BPF_SVM:
		return find_fields(btf, svm_fields, N_OF(svm_fields), ret);
	case VMOP_BPF_VMX:
		return find_vmx(btf, ret);
	case VMOP_BPF_PVM:
		return find_fields(btf, pvm_fields, N_OF(pvm_fields), ret);
	default:
		return vmop_error_new(VMOP_ERROR_CANT, "neither kvm_amd nor kvm_intel is loaded");
	}
}

/*
 * Return whether the host's counters interrupt code that masks interrupts. The kernel does so by
 * priorities of the interrupt controller, if this parameter is set (drivers/irqchip/irq-gic-v3.c).
 */
static bool has_counter_nmis(const char *root)
{
	static const char name[] = "irqchip.gicv3_pseudo_nmi=";
	const size_t len = sizeof(name) - 1;
	char path[512], *line = NULL;
	size_t capacity = 0;
	bool has_it = false;
	snprintf(path, sizeof(path), "%s/proc/cmdline", root);
	FILE *file = fopen(path, "re");
	if (file && getline(&line, &capacity, file) > 0)
		for (char *word, *rest = line; (word = strsep(&rest, " \n"));)
			if (strncmp(word, name, len) == 0) /* kstrtobool() */
				has_it = (word[len] && strchr("1yYtT", word[len])) ||
					 strcasecmp(word + len, "on") == 0;
	free(line);
	if (file)
		fclose(file);
	return has_it;
}

static struct vmop_error *find_arm64(const struct btf *btf, const char *root,
				     struct vmop_bpf_host_layout *ret)
{
	uint32_t sp_el1, tpidr_el1;
	struct vmop_error *err = find_fields(btf, arm64_fields, N_OF(arm64_fields), ret);
	if (err)
		return err;
	if (!find_enumerator(btf, "SP_EL1", "SP_EL1", &sp_el1) ||
	    !find_enumerator(btf, "TPIDR_EL1", "TPIDR_EL1", &tpidr_el1))
		return vmop_error_new(VMOP_ERROR_CANT, "this kernel does not name the registers "
						       "that KVM saves (enum vcpu_sysreg)");
	ret->virtualisation = VMOP_BPF_ARM64;
	ret->vcpu_sp_el1 += sp_el1 * 8;
	ret->vcpu_tpidr_el1 += tpidr_el1 * 8;
	ret->counters_are_nmis = has_counter_nmis(root);
	return NULL;
}

static struct vmop_error *find_x86(const struct types *types, const char *root,
				   const struct btf *btf, struct vmop_bpf_host_layout *ret)
{
	struct vmop_error *err = find_fields(btf, x86_fields, N_OF(x86_fields), ret);
	if (!err)
		err = find_machine(types, root, ret);
	/* Before Linux 7.1 the instruction pointer follows the 16 general registers. */
	if (!err && ret->vcpu_rip == VMOP_BPF_NO_FIELD)
		ret->vcpu_rip = ret->vcpu_regs + 16 * 8;
	return err;
}

static struct vmop_error *find(const struct types *types, const char *root, bool is_arm64,
			       struct vmop_bpf_host_layout *ret)
{
	const struct btf *btf = types->kvm ? types->kvm : types->vmlinux;
	if (!btf)
		return vmop_error_new(VMOP_ERROR_CANT, "this kernel has no type information "
						       "(/sys/kernel/btf/vmlinux)");
	if (!has_struct(btf, "kvm_vcpu"))
		return vmop_error_new(VMOP_ERROR_CANT, "KVM is not loaded (/sys/kernel/btf/kvm)");
	struct vmop_error *err = find_fields(btf, common_fields, N_OF(common_fields), ret);
	if (!err)
		err = is_arm64 ? find_arm64(btf, root, ret) : find_x86(types, root, btf, ret);
	return err;
}

struct vmop_error *vmop_host_layout_find_of(const char *root, bool is_arm64,
					    struct vmop_bpf_host_layout *ret)
{
	/* Without a look at the types, which takes some 20 ms. arm64 has KVM built in. */
	const char *sign = is_arm64 ? "/dev/kvm" : "/sys/module/kvm";
	char path[512];
	struct types types;
	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), "%s%s", root, sign);
	if (access(path, F_OK) < 0)
		return vmop_error_new(VMOP_ERROR_CANT, "KVM is not loaded (%s)", sign);
	types_init(&types, root);
	struct vmop_error *err = find(&types, root, is_arm64, ret);
	types_deinit(&types);
	return err;
}

struct vmop_error *vmop_host_layout_find(struct vmop_bpf_host_layout *ret)
{
#if defined(__aarch64__)
	struct vmop_error *err = vmop_host_layout_find_of("", true, ret);
#elif defined(__x86_64__)
	struct vmop_error *err = vmop_host_layout_find_of("", false, ret);
#else
	struct vmop_error *err = vmop_error_new(
		VMOP_ERROR_CANT, "the program can't read guests on this kind of machine");
#endif
	for (long bytes = sysconf(_SC_PAGESIZE); bytes > 1; bytes /= 2)
		ret->page_shift++;
	return err;
}

const char *vmop_host_layout_name(uint32_t virtualisation)
{
	static const char *const names[] = {
		[VMOP_BPF_NO_KVM] = "none", [VMOP_BPF_SVM] = "SVM",	[VMOP_BPF_VMX] = "VMX",
		[VMOP_BPF_PVM] = "PVM",	    [VMOP_BPF_ARM64] = "arm64",
	};
	return virtualisation < N_OF(names) ? names[virtualisation] : "none";
}
