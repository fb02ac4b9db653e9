// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/waits/exit-reason.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "vmop/waits.h"

struct reason {
	uint32_t number;
	const char *name;
};

/* AMD64 Architecture Programmer's Manual, volume 2, appendix C: codes of #VMEXIT. */
static const struct reason svm[] = {
	{0x60, "interrupt"},
	{0x61, "nmi"},
	{0x62, "smi"},
	{0x63, "init"},
	{0x64, "vintr"},
	{0x65, "cr0 selective write"},
	{0x66, "idtr read"},
	{0x67, "gdtr read"},
	{0x68, "ldtr read"},
	{0x69, "tr read"},
	{0x6a, "idtr write"},
	{0x6b, "gdtr write"},
	{0x6c, "ldtr write"},
	{0x6d, "tr write"},
	{0x6e, "rdtsc"},
	{0x6f, "rdpmc"},
	{0x70, "pushf"},
	{0x71, "popf"},
	{0x72, "cpuid"},
	{0x73, "rsm"},
	{0x74, "iret"},
	{0x75, "swint"},
	{0x76, "invd"},
	{0x77, "pause"},
	{0x78, "hlt"},
	{0x79, "invlpg"},
	{0x7a, "invlpga"},
	{0x7b, "io"},
	{0x7c, "msr"},
	{0x7d, "task switch"},
	{0x7e, "ferr freeze"},
	{0x7f, "shutdown"},
	{0x80, "vmrun"},
	{0x81, "hypercall"},
	{0x82, "vmload"},
	{0x83, "vmsave"},
	{0x84, "stgi"},
	{0x85, "clgi"},
	{0x86, "skinit"},
	{0x87, "rdtscp"},
	{0x88, "icebp"},
	{0x89, "wbinvd"},
	{0x8a, "monitor"},
	{0x8b, "mwait"},
	{0x8c, "mwait conditional"},
	{0x8d, "xsetbv"},
	{0x8e, "rdpru"},
	{0x8f, "efer write after"},
	{0xa2, "invpcid"},
	{0x400, "npf"},
	{0x401, "avic incomplete ipi"},
	{0x402, "avic no accel"},
	{0x403, "vmgexit"},
};

/* Intel SDM, volume 3, appendix C: basic exit reasons. */
static const struct reason vmx[] = {
	{0, "exception or nmi"},
	{1, "interrupt"},
	{2, "triple fault"},
	{3, "init"},
	{4, "sipi"},
	{7, "interrupt window"},
	{8, "nmi window"},
	{9, "task switch"},
	{10, "cpuid"},
	{12, "hlt"},
	{13, "invd"},
	{14, "invlpg"},
	{15, "rdpmc"},
	{16, "rdtsc"},
	{18, "hypercall"},
	{19, "vmclear"},
	{20, "vmlaunch"},
	{21, "vmptrld"},
	{22, "vmptrst"},
	{23, "vmread"},
	{24, "vmresume"},
	{25, "vmwrite"},
	{26, "vmoff"},
	{27, "vmon"},
	{28, "cr access"},
	{29, "dr access"},
	{30, "io"},
	{31, "msr read"},
	{32, "msr write"},
	{33, "invalid state"},
	{34, "msr load fail"},
	{36, "mwait"},
	{37, "monitor trap"},
	{39, "monitor"},
	{40, "pause"},
	{41, "machine check"},
	{43, "tpr below"},
	{44, "apic access"},
	{45, "virtualized eoi"},
	{46, "gdtr idtr"},
	{47, "ldtr tr"},
	{48, "ept violation"},
	{49, "ept misconfig"},
	{50, "invept"},
	{51, "rdtscp"},
	{52, "preemption timer"},
	{53, "invvpid"},
	{54, "wbinvd"},
	{55, "xsetbv"},
	{56, "apic write"},
	{57, "rdrand"},
	{58, "invpcid"},
	{59, "vmfunc"},
	{60, "encls"},
	{61, "rdseed"},
	{62, "pml full"},
	{63, "xsaves"},
	{64, "xrstors"},
	{67, "umwait"},
	{68, "tpause"},
	{74, "bus lock"},
	{75, "notify"},
	{77, "tdcall"},
};

/* Arm ARM, ESR_ELx.EC: of a trap. */
static const struct reason classes[] = {
	{0x00, "unknown"},
	{0x01, "wfx"},
	{0x03, "cp15 32"},
	{0x04, "cp15 64"},
	{0x05, "cp14 mr"},
	{0x06, "cp14 ls"},
	{0x07, "fp or simd"},
	{0x08, "cp10 id"},
	{0x09, "pac"},
	{0x0c, "cp14 64"},
	{0x0e, "illegal state"},
	{0x11, "svc 32"},
	{0x12, "hvc 32"},
	{0x13, "smc 32"},
	{0x15, "svc"},
	{0x16, "hvc"},
	{0x17, "smc"},
	{0x18, "sysreg"},
	{0x19, "sve"},
	{0x1a, "eret"},
	{0x1c, "fpac"},
	{0x20, "instruction abort"},
	{0x21, "instruction abort el2"},
	{0x22, "pc alignment"},
	{0x24, "data abort"},
	{0x25, "data abort el2"},
	{0x26, "sp alignment"},
	{0x2f, "serror"},
	{0x30, "breakpoint"},
	{0x32, "single step"},
	{0x34, "watchpoint"},
	{0x38, "bkpt 32"},
	{0x3c, "brk"},
};

/* KVM's codes of a return from a guest: arch/arm64/include/asm/kvm_asm.h. */
static const struct reason returns[] = {
	{0, "interrupt"}, {1, "serror"}, {2, "trap"}, {3, "illegal"}, {0x7f, "hypervisor gone"}};
#define ARM64_TRAP 2

#define FIND(table, number) find(table, sizeof(table) / sizeof(*(table)), number)

static const char *find(const struct reason *reasons, size_t n, uint32_t number)
{
	for (size_t i = 0; i < n; i++)
		if (reasons[i].number == number)
			return reasons[i].name;
	return NULL;
}

/* Write the name of a processor exception or an access to a register, which SVM numbers in rows. */
static bool name_of_row(uint32_t number, char ret[VMOP_EXIT_REASON_BYTES])
{
	static const struct {
		uint32_t first, end;
		const char *format;
	} rows[] = {{0x00, 0x10, "cr%u read"},	  {0x10, 0x20, "cr%u write"},
		    {0x20, 0x30, "dr%u read"},	  {0x30, 0x40, "dr%u write"},
		    {0x40, 0x60, "exception %u"}, {0x90, 0xa0, "cr%u write after"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (number < rows[i].first || number >= rows[i].end)
			continue;
		snprintf(ret, VMOP_EXIT_REASON_BYTES, rows[i].format, number - rows[i].first);
		return true;
	}
	return false;
}

void vmop_exit_reason_name(uint64_t cause, char ret[VMOP_EXIT_REASON_BYTES])
{
	uint32_t number = (uint32_t)cause;
	const char *name = NULL;
	switch (cause >> 32) {
	case VMOP_EXIT_SVM:
		if (name_of_row(number, ret))
			return;
		name = FIND(svm, number);
		break;
	case VMOP_EXIT_VMX:
		name = FIND(vmx, number & 0xffff); /* the upper bits are flags */
		break;
	case VMOP_EXIT_ARM64:
		name = number >> 8 == ARM64_TRAP ? FIND(classes, number & 0xff)
						 : FIND(returns, number >> 8);
		break;
	default:
		break;
	}
	if (name)
		snprintf(ret, VMOP_EXIT_REASON_BYTES, "%s", name);
	else
		snprintf(ret, VMOP_EXIT_REASON_BYTES, "reason %#" PRIx32, number);
}
