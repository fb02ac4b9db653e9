// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/detect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/procfs.h"

#define GROUP "hypervisor"
#define CPUINFO_MAX_BYTES 16384 /* the first CPU's lines */
/* Hyper-V's leaf of privileges (TLFS 2.4.3): b, bit 0: the partition may create partitions. */
#define HYPERV_PRIVILEGES 3u
#define HYPERV_CREATE_PARTITIONS 1u

bool vmop_hv_line(const struct vmop_hv *hv, const char *path, char *ret, size_t size)
{
	/* A text of the device tree ends with a NUL. */
	if (vmop_procfs_read(hv->root, ret, size, "%s", path) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return *ret != '\0';
}

bool vmop_hv_cpuinfo_has(const struct vmop_hv *hv, const char *key, const char *word)
{
	static char text[CPUINFO_MAX_BYTES];
	if (vmop_procfs_read(hv->root, text, sizeof(text), "/proc/cpuinfo") <= 0)
		return false;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, ':'), *token;
		if (!value || strncmp(line, key, strlen(key)) != 0)
			continue;
		for (value++; (token = strsep(&value, " \t"));) {
			if (!strcmp(token, word))
				return true;
		}
		return false;
	}
	return false;
}

static bool exists(const struct vmop_hv *hv, const char *path)
{
	char full[512];
	return snprintf(full, sizeof(full), "%s%s", hv->root, path) < (int)sizeof(full) &&
	       access(full, F_OK) == 0;
}

/* Return the hypervisor that a text of the firmware names; VMOP_HV_NONE: none. */
static enum vmop_hv_kind kind_of_text(const char *text)
{
	static const struct {
		const char *text;
		enum vmop_hv_kind kind;
	} words[] = {
		{"linux,kvm", VMOP_HV_KVM},
		{"xen,xen", VMOP_HV_XEN},
		{"vmware", VMOP_HV_VMWARE},
		{"VMware", VMOP_HV_VMWARE},
		{"VMW", VMOP_HV_VMWARE},
		{"Xen", VMOP_HV_XEN},
		{"innotek GmbH", VMOP_HV_VIRTUALBOX},
		{"VirtualBox", VMOP_HV_VIRTUALBOX},
		{"Parallels", VMOP_HV_PARALLELS},
		{"BHYVE", VMOP_HV_BHYVE},
		{"KVM", VMOP_HV_KVM},
		{"Amazon EC2", VMOP_HV_KVM},
		{"Google Compute Engine", VMOP_HV_KVM},
		{"QEMU", VMOP_HV_OTHER}, /* KVM, or its emulator */
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strncmp(text, words[i].text, strlen(words[i].text)))
			return words[i].kind;
	}
	return VMOP_HV_NONE;
}

static const char *const dmi_files[] = {"sys_vendor", "product_name", "bios_vendor"};

/* A bare-metal instance has its cloud's vendor too: DMI counts only if nothing else is known. */
static enum vmop_hv_kind kind_of_dmi(const struct vmop_hv *hv)
{
	enum vmop_hv_kind kind = VMOP_HV_NONE;
	for (size_t i = 0; i < sizeof(dmi_files) / sizeof(dmi_files[0]); i++) {
		char path[64], text[128];
		snprintf(path, sizeof(path), "/sys/class/dmi/id/%s", dmi_files[i]);
		if (!vmop_hv_line(hv, path, text, sizeof(text)))
			continue;
		enum vmop_hv_kind found = kind_of_text(text);
		if (kind == VMOP_HV_NONE || (kind == VMOP_HV_OTHER && found != VMOP_HV_NONE))
			kind = found;
	}
	return kind;
}

static enum vmop_hv_kind kind_of_device_tree(const struct vmop_hv *hv)
{
	char text[128];
	if (vmop_hv_line(hv, "/proc/device-tree/hypervisor/compatible", text, sizeof(text))) {
		enum vmop_hv_kind kind = kind_of_text(text);
		return kind == VMOP_HV_NONE ? VMOP_HV_OTHER : kind;
	}
	bool is_virtual = vmop_hv_line(hv, "/proc/device-tree/compatible", text, sizeof(text)) &&
			  !strcmp(text, "linux,dummy-virt");
	return is_virtual ? VMOP_HV_OTHER : VMOP_HV_NONE;
}

static enum vmop_hv_role role_on_xen(const struct vmop_hv *hv)
{
	char text[128];
	bool is_control = vmop_hv_line(hv, "/proc/xen/capabilities", text, sizeof(text)) &&
			  strstr(text, "control_d");
	return is_control ? VMOP_HV_ROLE_DOM0 : VMOP_HV_ROLE_GUEST;
}

static bool is_root_partition(const struct vmop_hv *hv)
{
	const struct vmop_hv_block *block = vmop_hv_cpuid_block(&hv->cpuid, VMOP_HV_HYPERV);
	return block && block->last >= block->base + HYPERV_PRIVILEGES &&
	       hv->read_cpuid(block->base + HYPERV_PRIVILEGES, 0).b & HYPERV_CREATE_PARTITIONS;
}

void vmop_hv_detect(const char *root, vmop_cpuid_fn *read_cpuid, struct vmop_hv *ret)
{
	char text[64];
	*ret = (struct vmop_hv){.root = root, .read_cpuid = read_cpuid};
	vmop_hv_cpuid_read(read_cpuid, &ret->cpuid);
	if (vmop_hv_line(ret, "/sys/hypervisor/type", text, sizeof(text)) && !strcmp(text, "xen")) {
		ret->kind = VMOP_HV_XEN;
		ret->role = role_on_xen(ret);
		return;
	}
	ret->kind = vmop_hv_cpuid_kind(&ret->cpuid);
	if (ret->kind == VMOP_HV_NONE)
		ret->kind = kind_of_device_tree(ret);
	/* On x86 the CPU's answer decides: DMI does not count there. */
	if (ret->kind == VMOP_HV_NONE && !read_cpuid(0, 0).a)
		ret->kind = kind_of_dmi(ret);
	ret->role = ret->kind == VMOP_HV_NONE ? VMOP_HV_ROLE_HOST : VMOP_HV_ROLE_GUEST;
	if (ret->kind == VMOP_HV_HYPERV && is_root_partition(ret))
		ret->role = VMOP_HV_ROLE_ROOT;
}

static void describe_evidence(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	static const char *const device_tree[] = {"/proc/device-tree/hypervisor/compatible",
						  "/proc/device-tree/compatible"};
	char text[512], line[128];
	for (size_t i = 0; i < hv->cpuid.n; i++) {
		const struct vmop_hv_block *block = &hv->cpuid.blocks[i];
		snprintf(text, sizeof(text), "CPUID 0x%x to 0x%x: \"%s\"", block->base, block->last,
			 block->signature);
		vmop_hv_report_append(report, GROUP, "evidence", text);
	}
	if (hv->cpuid.is_guest && !hv->cpuid.n)
		vmop_hv_report_append(report, GROUP, "evidence",
				      "CPUID 1: a hypervisor, without a signature");
	if (vmop_hv_line(hv, "/sys/hypervisor/type", line, sizeof(line))) {
		snprintf(text, sizeof(text), "/sys/hypervisor/type: %s", line);
		vmop_hv_report_append(report, GROUP, "evidence", text);
	}
	for (size_t i = 0; i < sizeof(device_tree) / sizeof(device_tree[0]); i++) {
		if (!vmop_hv_line(hv, device_tree[i], line, sizeof(line)))
			continue;
		snprintf(text, sizeof(text), "%s: %s", device_tree[i], line);
		vmop_hv_report_append(report, GROUP, "evidence", text);
	}
	for (size_t i = 0; i < sizeof(dmi_files) / sizeof(dmi_files[0]); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/sys/class/dmi/id/%s", dmi_files[i]);
		if (!vmop_hv_line(hv, path, line, sizeof(line)))
			continue;
		snprintf(text, sizeof(text), "DMI %s: %s", dmi_files[i], line);
		vmop_hv_report_append(report, GROUP, "evidence", text);
	}
}

/* The device tree of QEMU's virtual machine has this node. */
static bool has_qemu_node(const struct vmop_hv *hv)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(hv->root, "/proc/device-tree");
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "fw-cfg@", 7))
			return true;
	}
	return false;
}

static void describe_xen(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	char major[16], minor[16], extra[64], text[64];
	if (vmop_hv_line(hv, "/sys/hypervisor/version/major", major, sizeof(major)) &&
	    vmop_hv_line(hv, "/sys/hypervisor/version/minor", minor, sizeof(minor))) {
		if (!vmop_hv_line(hv, "/sys/hypervisor/version/extra", extra, sizeof(extra)))
			*extra = '\0';
		vmop_hv_report_text(report, GROUP, "version", "%s.%s%s", major, minor, extra);
	}
	if (vmop_hv_line(hv, "/sys/hypervisor/guest_type", text, sizeof(text)))
		vmop_hv_report_text(report, GROUP, "guest type", "%s", text);
}

/* Report whether this machine runs guests itself, or could. */
static void describe_nesting(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	static const struct {
		const char *module, *text;
	} modules[] = {
		{"/sys/module/kvm_intel", "KVM with VMX"},
		{"/sys/module/kvm_amd", "KVM with SVM"},
		{"/sys/module/kvm_pvm", "KVM with PVM (no extension of the CPU)"},
	};
	bool has_device = exists(hv, "/dev/kvm");
	const char *extension = vmop_hv_cpuinfo_has(hv, "flags", "vmx")	  ? "vmx"
				: vmop_hv_cpuinfo_has(hv, "flags", "svm") ? "svm"
									  : NULL;
	if (extension)
		vmop_hv_report_append(report, GROUP, "runs guests by", extension);
	for (size_t i = 0; has_device && i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (exists(hv, modules[i].module))
			vmop_hv_report_append(report, GROUP, "runs guests by", modules[i].text);
	}
	vmop_hv_report_flag(report, GROUP, "has /dev/kvm", has_device);
	if (has_device && hv->role != VMOP_HV_ROLE_HOST)
		vmop_hv_report_text(report, GROUP, "nested",
				    "its guests run below this machine's own hypervisor");
	/* Xen shows PV domains the real CPU, also one that another hypervisor makes.
	 */
	enum vmop_hv_kind below = vmop_hv_cpuid_kind(&hv->cpuid);
	if (hv->kind == VMOP_HV_XEN && below != VMOP_HV_NONE && below != VMOP_HV_XEN)
		vmop_hv_report_text(report, GROUP, "nested", "Xen itself runs below %s",
				    vmop_hv_name(below));
}

void vmop_hv_describe(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	static const char *const roles[] = {
		[VMOP_HV_ROLE_HOST] = "host: no hypervisor is seen",
		[VMOP_HV_ROLE_GUEST] = "guest",
		[VMOP_HV_ROLE_DOM0] = "dom0, Xen's control domain",
		[VMOP_HV_ROLE_ROOT] = "Hyper-V's root partition",
	};
	bool is_qemu = hv->kind == VMOP_HV_OTHER && has_qemu_node(hv);
	vmop_hv_report_text(report, GROUP, "name", "%s",
			    is_qemu ? "QEMU's virtual machine: KVM or the emulator"
				    : vmop_hv_name(hv->kind));
	vmop_hv_report_text(report, GROUP, "this machine", "%s", roles[hv->role]);
	if (hv->kind == VMOP_HV_XEN)
		describe_xen(hv, report);
	if (hv->kind != VMOP_HV_HYPERV && vmop_hv_cpuid_block(&hv->cpuid, VMOP_HV_HYPERV))
		vmop_hv_report_flag(report, GROUP, "offers Hyper-V's interface", true);
	describe_evidence(hv, report);
	describe_nesting(hv, report);
}
