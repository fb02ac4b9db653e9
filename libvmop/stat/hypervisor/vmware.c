// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/vmware.h"

#include <setjmp.h>
#include <signal.h>

#define GROUP "vmware"
#define FIRST_COUNTER 0x10000u
#define IDENTITY (UINT64_C(2) << 32)
/* Linux, arch/x86/include/asm/vmware.h and kernel/cpu/vmware.c; open-vm-tools, backdoor_def.h. */
#define PORT 0x5658u
#define MAGIC 0x564d5868u
#define COMMAND_VERSION 10u
#define COMMAND_HZ 45u
#define COMMAND_VCPU 68u
#define VCPU_RESERVED (1u << 31)
#define LEAF_TIMING 0x10u /* of VMware's block: kHz of the TSC and of the bus */

static const char *const names[VMOP_HV_VMWARE_N] = {
	[VMOP_HV_VMWARE_HOST_TSC] = "host-tsc",
	[VMOP_HV_VMWARE_REAL_NS] = "real-time",
	[VMOP_HV_VMWARE_APPARENT_NS] = "apparent-time",
};

#ifdef __x86_64__

static sigjmp_buf fault;

static void handle_fault(int signo)
{
	siglongjmp(fault, signo);
}

static const int fault_signals[] = {SIGSEGV, SIGILL, SIGBUS};
#define N_FAULT_SIGNALS (sizeof(fault_signals) / sizeof(fault_signals[0]))

static void begin_faults(struct sigaction old[N_FAULT_SIGNALS])
{
	struct sigaction action = {.sa_handler = handle_fault};
	for (size_t i = 0; i < N_FAULT_SIGNALS; i++)
		sigaction(fault_signals[i], &action, &old[i]);
}

static void end_faults(const struct sigaction old[N_FAULT_SIGNALS])
{
	for (size_t i = 0; i < N_FAULT_SIGNALS; i++)
		sigaction(fault_signals[i], &old[i], NULL);
}

/* Read a counter. Return false if the instruction faults. Needs begin_faults. */
static bool read_counter(uint32_t index, uint64_t *ret)
{
	uint32_t low, high;
	if (sigsetjmp(fault, 1) != 0)
		return false;
	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	*ret = (uint64_t)high << 32 | low;
	return true;
}

/* Ask the hypervisor at VMware's port. Return false if the instruction faults. Needs begin_faults.
 */
static bool ask_port(uint32_t command, struct vmop_cpuid_words *ret)
{
	struct vmop_cpuid_words words = {MAGIC, UINT32_MAX, command, PORT};
	uint64_t si = 0, di = 0;
	if (sigsetjmp(fault, 1) != 0)
		return false;
	__asm__ volatile("inl %%dx, %%eax"
			 : "+a"(words.a), "+b"(words.b), "+c"(words.c), "+d"(words.d), "+S"(si),
			   "+D"(di)
			 :
			 : "memory");
	*ret = words;
	return true;
}

void vmop_hv_vmware_read(struct vmop_hv_vmware *ret)
{
	struct sigaction old[N_FAULT_SIGNALS];
	*ret = (struct vmop_hv_vmware){0};
	begin_faults(old);
	for (uint32_t i = 0; i < VMOP_HV_VMWARE_N; i++)
		ret->has[i] = read_counter(FIRST_COUNTER + i, &ret->values[i]);
	end_faults(old);
}

static void describe_port(struct vmop_hv_report *report)
{
	struct sigaction old[N_FAULT_SIGNALS];
	struct vmop_cpuid_words version, hz, vcpu;
	begin_faults(old);
	bool has_version = ask_port(COMMAND_VERSION, &version) && version.b == MAGIC;
	bool has_hz = has_version && ask_port(COMMAND_HZ, &hz) && hz.a != UINT32_MAX;
	bool has_vcpu = has_version && ask_port(COMMAND_VCPU, &vcpu);
	end_faults(old);
	if (!has_version) {
		vmop_hv_report_missing(report, GROUP, "port 0x5658", "it does not answer");
		return;
	}
	vmop_hv_report_text(report, GROUP, "port 0x5658", "version %u", version.a);
	if (has_hz) {
		vmop_hv_report_number(report, GROUP, "TSC Hz", (uint64_t)hz.b << 32 | hz.a);
		vmop_hv_report_number(report, GROUP, "bus Hz", hz.c);
	} else {
		vmop_hv_report_missing(report, GROUP, "TSC Hz", "the port does not report it");
	}
	if (has_vcpu && !(vcpu.a & VCPU_RESERVED))
		vmop_hv_report_text(report, GROUP, "vCPU information", "0x%x", vcpu.a);
	else
		vmop_hv_report_missing(report, GROUP, "vCPU information",
				       "the port does not report it");
}

#else

void vmop_hv_vmware_read(struct vmop_hv_vmware *ret)
{
	*ret = (struct vmop_hv_vmware){0};
}

static void describe_port(struct vmop_hv_report *report)
{
	(void)report;
}

#endif

bool vmop_hv_vmware_has_any(const struct vmop_hv_vmware *vmware)
{
	for (size_t i = 0; i < VMOP_HV_VMWARE_N; i++) {
		if (vmware->has[i])
			return true;
	}
	return false;
}

void vmop_hv_describe_vmware(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	struct vmop_hv_vmware now;
	const struct vmop_hv_block *block = vmop_hv_cpuid_block(&hv->cpuid, VMOP_HV_VMWARE);
	if (!hv->read_cpuid(0, 0).a)
		return; /* another architecture */
	vmop_hv_vmware_read(&now);
	if (!block && !vmop_hv_vmware_has_any(&now)) {
		vmop_hv_report_missing(report, GROUP, "counters",
				       "rdpmc 0x10000 faults: this is neither VMware, nor KVM with "
				       "enable_vmware_backdoor");
		return;
	}
	for (size_t i = 0; i < VMOP_HV_VMWARE_N; i++) {
		if (now.has[i])
			vmop_hv_report_number(report, GROUP, names[i], now.values[i]);
		else
			vmop_hv_report_missing(report, GROUP, names[i], "rdpmc 0x%zx faults",
					       FIRST_COUNTER + i);
	}
	if (block && block->last >= block->base + LEAF_TIMING) {
		struct vmop_cpuid_words timing = hv->read_cpuid(block->base + LEAF_TIMING, 0);
		vmop_hv_report_number(report, GROUP, "TSC kHz of CPUID", timing.a);
		vmop_hv_report_number(report, GROUP, "bus kHz of CPUID", timing.b);
	}
	describe_port(report);
}

struct vmop_error *vmop_hv_read_vmware(struct vmop_readings *readings)
{
	struct vmop_hv_vmware now;
	struct vmop_error *err = NULL;
	vmop_hv_vmware_read(&now);
	for (size_t i = 0; !err && i < VMOP_HV_VMWARE_N; i++) {
		const struct vmop_reading reading = {
			.identity = IDENTITY,
			.object = "vmware",
			.counter = names[i],
			.kind = i == VMOP_HV_VMWARE_HOST_TSC ? VMOP_READING_COUNT : VMOP_READING_NS,
			.flags = VMOP_READING_ALONE,
			.value = now.values[i],
		};
		if (now.has[i])
			err = vmop_readings_add(readings, &reading);
	}
	return err;
}
