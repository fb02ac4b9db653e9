// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's records, made by hand in the layout of linux/perf_event.h, and their decoded form;
 * also cut and malformed ones.
 */
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/perf/event.h"
#include "hv-interface/perf/record.h"

static const uint64_t ids[] = {1001, 1002};
static const uint8_t all_wanted[] = {0xf, 0xf};
static const struct vmop_perf_decoder one = {
	.ids = ids, .wanted = all_wanted, .n_events = 1, .cpu = 6};
static const struct vmop_perf_decoder two = {
	.has_identifier = true, .ids = ids, .wanted = all_wanted, .n_events = 2, .cpu = 6};

/* The record under construction. */
static union {
	struct perf_event_header header;
	uint8_t bytes[65536];
	uint64_t align;
} made;

static void begin(uint32_t type, uint16_t misc)
{
	memset(made.bytes, 0xee, sizeof(made.bytes));
	made.header = (struct perf_event_header){type, misc, sizeof(made.header)};
}

static void add(const void *data, size_t n)
{
	memcpy(made.bytes + made.header.size, data, n);
	made.header.size += (uint16_t)n;
}

static void add_u64(uint64_t value)
{
	add(&value, sizeof(value));
}

static void add_u32(uint32_t a, uint32_t b)
{
	add(&a, sizeof(a));
	add(&b, sizeof(b));
}

static void add_text(const char *text)
{
	char padded[64] = {0};
	strcpy(padded, text);
	add(padded, (strlen(text) + 8) & ~(size_t)7);
}

enum { TIME = 777 };

static void end(const struct vmop_perf_decoder *decoder)
{
	add_u32(91, 92);
	add_u64(TIME);
	add_u32(6, 0);
	if (decoder->has_identifier)
		add_u64(1002);
}

/* Decode a record of samples without stacks. */
static enum vmop_perf_decoded decode_any(const struct vmop_perf_decoder *decoder,
					 const struct perf_event_header *header,
					 struct vmop_record *ret)
{
	return vmop_perf_record_decode(decoder, header, ret, NULL);
}

static struct vmop_record decode(const struct vmop_perf_decoder *decoder)
{
	struct vmop_record record;
	memset(&record, 0xdd, sizeof(record));
	assert_int_equal(decode_any(decoder, &made.header, &record), VMOP_PERF_DECODED);
	assert_true(record.time_ns == TIME);
	return record;
}

/*
 * Copy the record into a block of exactly its size, so that reading past its end is detected. Every
 * shorter one must be malformed.
 */
static void all_shorter_ones_are_malformed(const struct vmop_perf_decoder *decoder)
{
	uint16_t whole = made.header.size;
	for (uint16_t size = sizeof(made.header); size < whole; size += 8) {
		struct perf_event_header *copy = aligned_alloc(8, size);
		memcpy(copy, made.bytes, size);
		copy->size = size;
		struct vmop_record record;
		assert_int_equal(decode_any(decoder, copy, &record), VMOP_PERF_MALFORMED);
		free(copy);
	}
}

static void make_sample(const struct vmop_perf_decoder *decoder, uint16_t misc, uint64_t id,
			uint64_t ip)
{
	begin(PERF_RECORD_SAMPLE, misc);
	if (decoder->has_identifier)
		add_u64(id);
	add_u64(ip);
	add_u32(11, 12);
	add_u64(TIME);
	add_u32(6, 0);
	add_u64(1000003);
}

/*
 * Decode an arm64 sample that perf reports as a guest's, with the registers of the interrupted
 * code.
 */
static struct vmop_sample with_regs(struct vmop_perf_decoder *decoder, uint8_t wanted, uint64_t lr,
				    uint64_t pc)
{
	decoder->wanted = &wanted;
	make_sample(decoder, PERF_RECORD_MISC_GUEST_USER, 0, 0x401000);
	add_u64(2); /* PERF_SAMPLE_REGS_ABI_64 */
	add_u64(lr);
	add_u64(pc);
	struct vmop_sample sample = decode(decoder).sample;
	all_shorter_ones_are_malformed(decoder);
	decoder->wanted = all_wanted;
	return sample;
}

static void assert_hosts(struct vmop_sample sample, uint64_t ip)
{
	assert_int_equal(sample.flags, VMOP_SAMPLE_KERNEL);
	assert_true(sample.ip == ip);
}

static void assert_guests(struct vmop_sample sample)
{
	assert_int_equal(sample.flags,
			 VMOP_SAMPLE_GUEST | VMOP_SAMPLE_USER | VMOP_SAMPLE_MODE_KNOWN);
	assert_true(sample.ip == 0x401000);
}

static void guests_that_are_hosts(void **state)
{
	(void)state;
	const uint64_t run = 0xffff800008001000, other = 0xffff800008002000,
		       unmask = 0xffff800008000800;
	const uint8_t host_only = VMOP_PERF_ALL_CLASSES | VMOP_PERF_HOST_ONLY;
	const uint8_t guest_only = VMOP_PERF_ALL_CLASSES | VMOP_PERF_GUEST_ONLY;
	struct vmop_perf_decoder decoder = one;
	decoder.guest_exit = (struct vmop_perf_guest_exit){
		.is_here = true,
		.has_regs = true,
		.start = run,
		.len_bytes = 0x800,
		.unmask_start = unmask,
		.unmask_len_bytes = 0x20,
	};
	assert_guests(with_regs(&decoder, 0xf, other, run));
	assert_guests(with_regs(&decoder, 0xf, other, run + 0x7fc));
	assert_guests(with_regs(&decoder, 0xf, run + 4, unmask + 4));
	assert_hosts(with_regs(&decoder, 0xf, other, unmask + 4), unmask + 4);
	assert_hosts(with_regs(&decoder, 0xf, run + 4, unmask + 0x20), unmask + 0x20);
	assert_hosts(with_regs(&decoder, 0xf, run + 4, other), other);
	assert_hosts(with_regs(&decoder, 0xf, other, run + 0x800), run + 0x800);
	assert_hosts(with_regs(&decoder, 0xf, other, run - 4), run - 4);
	assert_hosts(with_regs(&decoder, host_only, other, run), run);
	assert_guests(with_regs(&decoder, guest_only, other, other));
	decoder.guest_exit.len_bytes = 0; /* not known: perf is trusted */
	assert_guests(with_regs(&decoder, 0xf, other, other));
	assert_hosts(with_regs(&decoder, host_only, other, other), other);
	make_sample(&decoder, PERF_RECORD_MISC_GUEST_KERNEL, 0, other);
	add_u64(0); /* PERF_SAMPLE_REGS_ABI_NONE */
	assert_int_equal(decode(&decoder).sample.flags,
			 VMOP_SAMPLE_GUEST | VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_MODE_KNOWN);
	decoder.wanted = &host_only; /* the host's, at an unknown address */
	assert_int_equal(decode(&decoder).sample.flags, VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_NO_IP);
	decoder.wanted = all_wanted;
	make_sample(&decoder, PERF_RECORD_MISC_USER, 0, 0x401000);
	add_u64(2);
	add_u64(other);
	add_u64(0x401000);
	assert_int_equal(decode(&decoder).sample.flags, VMOP_SAMPLE_USER);
}

/* Decode a sample in Xen's dom0 with perf's view of it and its registers; ip 0: no registers. */
static struct vmop_sample in_dom0(struct vmop_perf_decoder *decoder, uint8_t wanted, uint16_t misc,
				  uint64_t reported_ip, uint64_t ip, uint64_t cs)
{
	decoder->wanted = &wanted;
	make_sample(decoder, misc, 0, reported_ip);
	add_u64(ip ? 2 : 0); /* PERF_SAMPLE_REGS_ABI_64, _NONE */
	if (ip) {
		add_u64(ip);
		add_u64(cs);
	}
	struct vmop_sample sample = decode(decoder).sample;
	all_shorter_ones_are_malformed(decoder);
	decoder->wanted = all_wanted;
	return sample;
}

static void assert_sample(struct vmop_sample sample, unsigned flags, uint64_t ip, uint32_t pid,
			  uint32_t domain)
{
	assert_int_equal(sample.flags, flags);
	assert_true(sample.ip == ip);
	assert_true(sample.pid == pid && sample.source_domain == domain);
}

/* The clock samples only dom0, whatever the PMU's last sample was. */
static void a_clock_in_dom0(void **state)
{
	(void)state;
	const uint64_t kernel = 0xffffffff81a442b0, user = 0x401000;
	const uint16_t guest = PERF_RECORD_MISC_GUEST_KERNEL;
	struct vmop_perf_decoder decoder = one;
	decoder.dom0 = (struct vmop_perf_dom0){.view = VMOP_REACH_UNDIVIDED, .has_regs = true};
	assert_sample(in_dom0(&decoder, 0xf, guest, 0, user, 0x33), VMOP_SAMPLE_USER, user, 11, 0);
	assert_sample(in_dom0(&decoder, 0xf, guest, 0xffff82d040201000, kernel, 0x10),
		      VMOP_SAMPLE_KERNEL, kernel, 11, 0);
	assert_sample(in_dom0(&decoder, 0xf, PERF_RECORD_MISC_USER, user, user, 0x33),
		      VMOP_SAMPLE_USER, user, 11, 0);
	assert_sample(in_dom0(&decoder, 0xf, guest, 0, 0, 0),
		      VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_NO_IP, 0, 11, 0);
	/* The corrected owner decides whether a sample is wanted. */
	static const uint8_t no_user = 1 << VMOP_PERF_CLASS(0, 1) | 1 << VMOP_PERF_CLASS(1, 1);
	struct vmop_record record;
	make_sample(&decoder, guest, 0, 0);
	add_u64(2);
	add_u64(user);
	add_u64(0x33);
	decoder.wanted = &no_user;
	assert_int_equal(decode_any(&decoder, &made.header, &record), VMOP_PERF_NOT_WANTED);
	decoder.wanted = all_wanted;
	/* Without registers a guest's address is not trusted. */
	decoder.dom0.has_regs = false;
	make_sample(&decoder, guest, 0, kernel);
	assert_sample(decode(&decoder).sample, VMOP_SAMPLE_KERNEL | VMOP_SAMPLE_NO_IP, 0, 11, 0);
	make_sample(&decoder, PERF_RECORD_MISC_KERNEL, 0, kernel);
	assert_sample(decode(&decoder).sample, VMOP_SAMPLE_KERNEL, kernel, 11, 0);
}

static void a_pmu_in_dom0(void **state)
{
	(void)state;
	const uint64_t xen = 0xffff82d040201000, kernel = 0xffffffff81000000;
	const uint8_t pmu = VMOP_PERF_ALL_CLASSES | VMOP_PERF_BY_PMU;
	const uint32_t none = UINT32_MAX, unknown = VMOP_SOURCE_DOMAIN_UNKNOWN;
	struct vmop_perf_decoder decoder = one;
	decoder.dom0 = (struct vmop_perf_dom0){.view = VMOP_REACH_UNDIVIDED, .has_regs = true};
	/* A sample in Xen, whatever mode the interrupted vCPU was in. */
	assert_sample(in_dom0(&decoder, pmu, PERF_RECORD_MISC_USER, xen, xen, 3),
		      VMOP_SAMPLE_HYPERVISOR, xen, none, unknown);
	assert_sample(in_dom0(&decoder, pmu, PERF_RECORD_MISC_GUEST_USER, 0x401000, 0x401000, 3),
		      VMOP_SAMPLE_GUEST | VMOP_SAMPLE_USER | VMOP_SAMPLE_MODE_KNOWN, 0x401000, none,
		      unknown);
	assert_sample(in_dom0(&decoder, pmu, PERF_RECORD_MISC_KERNEL, kernel, kernel, 0),
		      VMOP_SAMPLE_KERNEL, kernel, 11, 0);
	decoder.dom0.view = VMOP_REACH_OWN_AND_HYPERVISOR;
	assert_sample(in_dom0(&decoder, pmu, PERF_RECORD_MISC_KERNEL, xen, xen, 0),
		      VMOP_SAMPLE_HYPERVISOR, xen, none, 0);
	/* Xen's PMU does not exclude guests. */
	static const uint8_t host_only =
		VMOP_PERF_ALL_CLASSES | VMOP_PERF_BY_PMU | VMOP_PERF_HOST_ONLY;
	struct vmop_record record;
	make_sample(&decoder, PERF_RECORD_MISC_GUEST_USER, 0, 0x401000);
	add_u64(0);
	decoder.wanted = &host_only;
	assert_int_equal(decode_any(&decoder, &made.header, &record), VMOP_PERF_NOT_WANTED);
}

static void put_file(const char *folder, const char *path, const char *text)
{
	char command[400];
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s%s)\" && echo %s >%s%s", folder,
		 path, text, folder, path);
	assert_int_equal(system(command), 0);
}

static void perf_in_dom0(void **state)
{
	(void)state;
	char folder[] = "/tmp/vmop-dom0-XXXXXX", command[64];
	static const struct {
		const char *mode;
		enum vmop_source_reach view;
	} table[] = {
		{"off", VMOP_REACH_OWN},
		{"self", VMOP_REACH_OWN},
		{"hv", VMOP_REACH_OWN_AND_HYPERVISOR},
		{"all", VMOP_REACH_UNDIVIDED},
		{"something", VMOP_REACH_OWN},
	};
	struct vmop_perf_dom0 dom0;
	assert_non_null(mkdtemp(folder));
	vmop_perf_dom0_init(folder, &dom0);
	assert_int_equal(dom0.view, VMOP_REACH_ALL);
	assert_null(vmop_perf_dom0_transport(dom0.view));
	put_file(folder, "/proc/xen/capabilities", "\"\"");
	vmop_perf_dom0_init(folder, &dom0);
	assert_int_equal(dom0.view, VMOP_REACH_ALL); /* a domU */
	assert_false(dom0.has_regs);
	put_file(folder, "/proc/xen/capabilities", "control_d");
	vmop_perf_dom0_init(folder, &dom0); /* a kernel without the folder */
	assert_int_equal(dom0.view, VMOP_REACH_OWN);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		put_file(folder, "/sys/hypervisor/pmu/pmu_mode", table[i].mode);
		vmop_perf_dom0_init(folder, &dom0);
		assert_int_equal(dom0.view, table[i].view);
		assert_non_null(vmop_perf_dom0_transport(dom0.view));
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

/* Two counters an event: the counter identifies the sample's owner, whatever perf reports. */
static void split_events(void **state)
{
	(void)state;
	static const uint64_t guest_ids[] = {2001, 0};
	static const uint8_t wanted[] = {VMOP_PERF_ALL_CLASSES, VMOP_PERF_ALL_CLASSES};
	const uint64_t run = 0xffff800008001000;
	struct vmop_perf_decoder split = two;
	split.guest_ids = guest_ids;
	split.wanted = wanted;
	split.guest_exit = (struct vmop_perf_guest_exit){
		.is_here = true, .has_regs = true, .start = run, .len_bytes = 0x800};
	static const struct {
		uint64_t id, pc;
		uint16_t event;
		bool is_guests;
	} table[] = {
		{2001, 0xffff800008001010, 0, true},
		/* impossible: this counter counts only in guests */
		{2001, 0xffff800009000000, 0, true},
		{1001, 0xffff800008001010, 0, false}, /* an overflow with interrupts masked */
		{1001, 0xffff800009000000, 0, false},
		{1002, 0xffff800008001010, 1, true}, /* not split: the best guess */
		{1002, 0xffff800009000000, 1, false},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		make_sample(&split, PERF_RECORD_MISC_GUEST_USER, table[i].id, 0x401000);
		add_u64(2);
		add_u64(run - 8);
		add_u64(table[i].pc);
		struct vmop_sample sample = decode(&split).sample;
		assert_int_equal(sample.event, table[i].event);
		if (table[i].is_guests)
			assert_guests(sample);
		else
			assert_hosts(sample, table[i].pc);
	}
	begin(PERF_RECORD_THROTTLE, 0);
	add_u64(TIME);
	add_u64(2001);
	add_u64(2001);
	end(&split);
	assert_int_equal(decode(&split).throttle.event, 0);
}

/*
 * arm64: EL1 code in the lower half of the addresses (a 32-bit guest's kernel, UEFI, a kernel
 * before it turns its page tables on), and EL0 code in the upper half (no system does that, but the
 * guest's PSTATE would decide). On x86 the address decides.
 */
static void modes_of_guests(void **state)
{
	(void)state;
	static const struct {
		uint16_t misc;
		uint64_t ip;
		uint16_t arm64_flags;
		bool is_kernel_arm64, is_kernel_x86;
	} table[] = {
		{PERF_RECORD_MISC_GUEST_KERNEL, 0xffff800008000000, VMOP_SAMPLE_KERNEL, true, true},
		{PERF_RECORD_MISC_GUEST_KERNEL, 0xc0008000, VMOP_SAMPLE_KERNEL, true, false},
		{PERF_RECORD_MISC_GUEST_KERNEL, 0x40080000, VMOP_SAMPLE_KERNEL, true, false},
		{PERF_RECORD_MISC_GUEST_USER, 0x10400, VMOP_SAMPLE_USER, false, false},
		{PERF_RECORD_MISC_GUEST_USER, 0xaaaac0de0000, VMOP_SAMPLE_USER, false, false},
		{PERF_RECORD_MISC_GUEST_USER, 0xffff800008000000, VMOP_SAMPLE_USER, false, true},
	};
	static const uint8_t kernel_only[] = {1 << VMOP_PERF_CLASS(1, 1)};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_perf_decoder decoder = one;
		struct vmop_record record;
		decoder.guest_exit.is_here = true;
		make_sample(&decoder, table[i].misc, 0, table[i].ip);
		assert_int_equal(decode(&decoder).sample.flags,
				 VMOP_SAMPLE_GUEST | VMOP_SAMPLE_MODE_KNOWN | table[i].arm64_flags);
		decoder.wanted = kernel_only;
		assert_int_equal(decode_any(&decoder, &made.header, &record),
				 table[i].is_kernel_arm64 ? VMOP_PERF_DECODED
							  : VMOP_PERF_NOT_WANTED);
		decoder.guest_exit.is_here = false;
		assert_int_equal(decode_any(&decoder, &made.header, &record),
				 table[i].is_kernel_x86 ? VMOP_PERF_DECODED : VMOP_PERF_NOT_WANTED);
	}
}

static void find_in(const char *text, int code, uint64_t start, uint64_t len_bytes)
{
	char path[] = "/tmp/vmop-kallsyms-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	struct vmop_perf_guest_exit found = {0};
	struct vmop_error *err = vmop_perf_guest_exit_find(path, &found);
	unlink(path);
	assert_int_equal(err ? err->code : 0, code);
	vmop_error_destroy(err);
	assert_true(found.start == start && found.len_bytes == len_bytes);
	bool has_unmask = strstr(text, "irq_enable") != NULL;
	assert_true(found.unmask_start == (has_unmask ? 0xffff800008000800 : 0));
	assert_true(found.unmask_len_bytes == (has_unmask ? 0x20 : 0));
}

static void guest_exit_function(void **state)
{
	(void)state;
	find_in("ffff800008003000 t last\nffff800008001000 T kvm_arch_vcpu_ioctl_run\n"
		"ffff800008000800 t arch_local_irq_enable\nffff800008000820 t f\n"
		"ffff800008009000 t arch_local_irq_enable\n"
		"ffff800008001800 t next\tmodule\nffff800008000000 T before\n",
		0, 0xffff800008001000, 0x800);
	find_in("ffff800008001000 T kvm_arch_vcpu_ioctl_run\n", 0, 0xffff800008001000, 65536);
	find_in("0 T kvm_arch_vcpu_ioctl_run\n0 T next\n", VMOP_ERROR_NOT_FOUND, 0, 0);
	find_in("ffff800008001000 T kvm_arch_vcpu_ioctl_runs\nnonsense\n\n", VMOP_ERROR_NOT_FOUND,
		0, 0);
}

static void samples(void **state)
{
	(void)state;
	make_sample(&one, PERF_RECORD_MISC_USER, 0, 0x401000);
	struct vmop_record record = decode(&one);
	assert_int_equal(record.type, VMOP_RECORD_SAMPLE);
	assert_true(record.sample.ip == 0x401000);
	assert_true(record.sample.weight_events == 1000003);
	assert_int_equal(record.sample.pid, 11);
	assert_int_equal(record.sample.tid, 12);
	assert_int_equal(record.sample.cpu, 6);
	assert_int_equal(record.sample.event, 0);
	assert_int_equal(record.sample.flags, VMOP_SAMPLE_USER);
	assert_int_equal(record.sample.source_domain, 0);
	all_shorter_ones_are_malformed(&one);
	make_sample(&two, PERF_RECORD_MISC_KERNEL, 1002, UINT64_MAX);
	record = decode(&two);
	assert_int_equal(record.sample.event, 1);
	assert_true(record.sample.ip == UINT64_MAX);
	all_shorter_ones_are_malformed(&two);
	make_sample(&two, PERF_RECORD_MISC_KERNEL, 5, 1); /* an id of no event */
	assert_int_equal(decode(&two).sample.event, 0);
}

/* An event that the kernel counts, with a period: its samples are shorter by the period. */
static void samples_of_a_fixed_weight(void **state)
{
	(void)state;
	static const uint64_t weights[] = {0, 10};
	struct vmop_perf_decoder mixed = two;
	mixed.fixed_weights = weights;
	make_sample(&mixed, PERF_RECORD_MISC_USER, 1002, 0x401000);
	made.header.size -= 8;
	struct vmop_record record = decode(&mixed);
	assert_int_equal(record.sample.event, 1);
	assert_true(record.sample.weight_events == 10);
	all_shorter_ones_are_malformed(&mixed);
	make_sample(&mixed, PERF_RECORD_MISC_USER, 1001, 0x401000);
	assert_true(decode(&mixed).sample.weight_events == 1000003);
	all_shorter_ones_are_malformed(&mixed);
}

static void modes(void **state)
{
	(void)state;
	static const struct {
		uint16_t misc;
		uint64_t ip;
		uint16_t flags;
	} table[] = {
		{PERF_RECORD_MISC_CPUMODE_UNKNOWN, 1, 0},
		{PERF_RECORD_MISC_KERNEL, 1, VMOP_SAMPLE_KERNEL},
		{PERF_RECORD_MISC_USER, 1, VMOP_SAMPLE_USER},
		{PERF_RECORD_MISC_HYPERVISOR, 1, VMOP_SAMPLE_HYPERVISOR},
		{PERF_RECORD_MISC_GUEST_KERNEL, 1, VMOP_SAMPLE_GUEST | VMOP_SAMPLE_KERNEL},
		{PERF_RECORD_MISC_GUEST_USER, 1, VMOP_SAMPLE_GUEST | VMOP_SAMPLE_USER},
		{PERF_RECORD_MISC_GUEST_USER, 0,
		 VMOP_SAMPLE_GUEST | VMOP_SAMPLE_USER | VMOP_SAMPLE_NO_IP},
		{PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, 1,
		 VMOP_SAMPLE_USER | VMOP_SAMPLE_EXACT_IP},
		{6, 1, 0},
		{7, 1, 0},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		make_sample(&one, table[i].misc, 0, table[i].ip);
		assert_int_equal(decode(&one).sample.flags, table[i].flags);
	}
}

/* VMOP_PERF_CLASS's four bits. */
static void modes_not_wanted_are_left_out(void **state)
{
	(void)state;
	enum { HOST_USER = 1, HOST_KERNEL = 2, GUEST_USER = 4, GUEST_KERNEL = 8 };
	static const struct {
		uint16_t misc;
		uint64_t ip;
		uint8_t class;
	} table[] = {
		{PERF_RECORD_MISC_USER, 1, HOST_USER},
		{PERF_RECORD_MISC_KERNEL, 1, HOST_KERNEL},
		{PERF_RECORD_MISC_HYPERVISOR, 1, HOST_KERNEL},
		{PERF_RECORD_MISC_GUEST_USER, 1, GUEST_USER},
		{PERF_RECORD_MISC_GUEST_KERNEL, UINT64_C(1) << 63, GUEST_KERNEL},
		/* perf's mode of a guest's sample is not reliable */
		{PERF_RECORD_MISC_GUEST_USER, UINT64_C(1) << 63, GUEST_KERNEL},
		{PERF_RECORD_MISC_GUEST_KERNEL, 1, GUEST_USER},
	};
	for (uint8_t wanted = 0; wanted <= 0xf; wanted++) {
		struct vmop_perf_decoder decoder = one;
		decoder.wanted = &wanted;
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
			struct vmop_record record;
			make_sample(&decoder, table[i].misc, 0, table[i].ip);
			assert_int_equal(decode_any(&decoder, &made.header, &record),
					 wanted & table[i].class ? VMOP_PERF_DECODED
								 : VMOP_PERF_NOT_WANTED);
		}
	}
}

static void mappings(void **state)
{
	(void)state;
	begin(PERF_RECORD_MMAP, 0);
	add_u32(1, 2);
	add_u64(0x1000);
	add_u64(0x2000);
	add_u64(0x3000);
	add_text("/lib/a.so");
	end(&one);
	struct vmop_record record = decode(&one);
	assert_int_equal(record.type, VMOP_RECORD_MMAP);
	assert_int_equal(record.mmap.pid, 1);
	assert_int_equal(record.mmap.tid, 2);
	assert_int_equal(record.mmap.start, 0x1000);
	assert_int_equal(record.mmap.len_bytes, 0x2000);
	assert_int_equal(record.mmap.file_offset_bytes, 0x3000);
	assert_int_equal(record.mmap.inode, 0);
	assert_string_equal(record.mmap.path, "/lib/a.so");
	made.header.misc = PERF_RECORD_MISC_MMAP_DATA;
	assert_int_equal(decode_any(&one, &made.header, &record), VMOP_PERF_NOT_WANTED);
}

static void make_mmap2(uint16_t misc)
{
	begin(PERF_RECORD_MMAP2, misc);
	add_u32(1, 2);
	add_u64(0x1000);
	add_u64(0x2000);
	add_u64(0x3000);
	add_u32(8, 9);
	add_u64(12345);
	add_u64(1);
	add_u32(5, 2);
	add_text("/usr/bin/x");
	end(&two);
}

/*
 * The flag of a build-id belongs to another event, which requested it. This record has an inode
 * nevertheless.
 */
static void mappings_have_an_inode(void **state)
{
	(void)state;
	static const uint16_t marks[] = {0, 1 << 14 /* PERF_RECORD_MISC_MMAP_BUILD_ID */};
	for (size_t i = 0; i < 2; i++) {
		make_mmap2(marks[i]);
		struct vmop_record record = decode(&two);
		assert_int_equal(record.type, VMOP_RECORD_MMAP);
		assert_int_equal(record.mmap.dev_major, 8);
		assert_int_equal(record.mmap.dev_minor, 9);
		assert_int_equal(record.mmap.inode, 12345);
		assert_int_equal(record.mmap.build_id_len_bytes, 0);
		assert_string_equal(record.mmap.path, "/usr/bin/x");
	}
}

static void texts_must_end(void **state)
{
	(void)state;
	struct vmop_record record;
	begin(PERF_RECORD_COMM, 0);
	add_u32(1, 2);
	add("nonulnonul......", 16);
	end(&one);
	assert_int_equal(decode_any(&one, &made.header, &record), VMOP_PERF_MALFORMED);
	begin(PERF_RECORD_KSYMBOL, 0);
	add_u64(1);
	add_u64(1);
	add("nonulnon", 8);
	end(&one);
	assert_int_equal(decode_any(&one, &made.header, &record), VMOP_PERF_MALFORMED);
	begin(PERF_RECORD_MMAP2, 0);
	for (int i = 0; i < 8; i++)
		add_u64(0x4141414141414141);
	add("nonulnon", 8);
	end(&one);
	assert_int_equal(decode_any(&one, &made.header, &record), VMOP_PERF_MALFORMED);
}

static void names_and_tasks(void **state)
{
	(void)state;
	begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	add_u32(1, 2);
	add_text("true");
	end(&one);
	struct vmop_record record = decode(&one);
	assert_int_equal(record.type, VMOP_RECORD_COMM);
	assert_int_equal(record.comm.pid, 1);
	assert_int_equal(record.comm.tid, 2);
	assert_int_equal(record.comm.is_exec, 1);
	assert_string_equal(record.comm.comm, "true");
	made.header.misc = 0;
	assert_int_equal(decode(&one).comm.is_exec, 0);
	static const uint32_t types[] = {PERF_RECORD_FORK, PERF_RECORD_EXIT};
	for (int i = 0; i < 2; i++) {
		begin(types[i], 0);
		add_u32(1, 2); /* pid, ppid */
		add_u32(3, 4); /* tid, ptid */
		add_u64(5);
		end(&two);
		record = decode(&two);
		assert_int_equal(record.type, i ? VMOP_RECORD_EXIT : VMOP_RECORD_FORK);
		assert_int_equal(record.task.pid, 1);
		assert_int_equal(record.task.parent_pid, 2);
		assert_int_equal(record.task.tid, 3);
		assert_int_equal(record.task.parent_tid, 4);
		all_shorter_ones_are_malformed(&two);
	}
}

/* The task is that of the trailer, and not the one in the body. */
static void switches_of_tasks(void **state)
{
	const struct vmop_perf_decoder *const decoders[] = {&one, &two};
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(PERF_RECORD_SWITCH_CPU_WIDE, i ? PERF_RECORD_MISC_SWITCH_OUT : 0);
		add_u32(7, 8);
		end(decoders[i]);
		const struct vmop_record record = decode(decoders[i]);
		assert_int_equal(record.type, VMOP_RECORD_SWITCH);
		assert_int_equal(record.time_ns, TIME);
		assert_int_equal(record.task_switch.cpu, decoders[i]->cpu);
		assert_int_equal(record.task_switch.pid, 91);
		assert_int_equal(record.task_switch.tid, 92);
		assert_int_equal(record.task_switch.is_out, i);
		all_shorter_ones_are_malformed(decoders[i]);
	}
}

static void kernel_symbols(void **state)
{
	(void)state;
	begin(PERF_RECORD_KSYMBOL, 0);
	add_u64(0xffffffffc0000000);
	const uint32_t len = 64;
	const uint16_t type = PERF_RECORD_KSYMBOL_TYPE_BPF, flags = 1;
	add(&len, 4);
	add(&type, 2);
	add(&flags, 2);
	add_text("bpf_prog_1");
	end(&one);
	struct vmop_record record = decode(&one);
	assert_int_equal(record.type, VMOP_RECORD_KSYMBOL);
	assert_true(record.ksymbol.start == 0xffffffffc0000000);
	assert_int_equal(record.ksymbol.len_bytes, 64);
	assert_int_equal(record.ksymbol.is_bpf, 1);
	assert_int_equal(record.ksymbol.is_unregistered, 1);
	assert_string_equal(record.ksymbol.name, "bpf_prog_1");
}

static void losses_and_throttles_are_counted(void **state)
{
	(void)state;
	begin(PERF_RECORD_LOST, 0);
	add_u64(1002);
	add_u64(55);
	end(&two);
	struct vmop_record record = decode(&two);
	assert_int_equal(record.type, VMOP_RECORD_LOST);
	assert_int_equal(record.lost.lost_records, 55);
	assert_int_equal(record.lost.event, 1);
	assert_int_equal(record.lost.cpu, 6);
	all_shorter_ones_are_malformed(&two);
	begin(PERF_RECORD_LOST_SAMPLES, 0);
	add_u64(66);
	end(&two);
	assert_int_equal(decode(&two).lost.lost_records, 66);
	static const uint32_t types[] = {PERF_RECORD_UNTHROTTLE, PERF_RECORD_THROTTLE};
	for (int i = 0; i < 2; i++) {
		begin(types[i], 0);
		add_u64(1);
		add_u64(1002);
		add_u64(3);
		end(&two);
		record = decode(&two);
		assert_int_equal(record.type, VMOP_RECORD_THROTTLE);
		assert_int_equal(record.throttle.is_throttled, i);
		assert_int_equal(record.throttle.event, 1);
		assert_int_equal(record.throttle.cpu, 6);
		all_shorter_ones_are_malformed(&two);
	}
}

static void unknown_records_are_reported(void **state)
{
	(void)state;
	static const uint32_t types[] = {0, PERF_RECORD_SWITCH, 99, UINT32_MAX};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		begin(types[i], 0xffff);
		end(&one);
		struct vmop_record record = decode(&one);
		assert_int_equal(record.type, VMOP_RECORD_UNHANDLED);
		assert_int_equal(record.unhandled_type, types[i]);
		all_shorter_ones_are_malformed(&one);
	}
}

/* ---- samples with stacks ----------------------------------------------------------------- */

static const struct vmop_stack_capture *stack_of(const struct vmop_perf_decoder *decoder,
						 struct vmop_record *ret)
{
	static struct vmop_perf_capture capture;
	assert_int_equal(vmop_perf_record_decode(decoder, &made.header, ret, &capture),
			 VMOP_PERF_DECODED);
	return capture.is_here ? &capture.stack : NULL;
}

/* Append a callchain of one kernel frame. */
static void add_chain(void)
{
	add_u64(2);
	add_u64((uint64_t)PERF_CONTEXT_KERNEL);
	add_u64(0xffffffff81000010);
}

static void only_the_hosts_samples_have_a_stack(void **state)
{
	(void)state;
	static const struct {
		uint16_t misc;
		bool has_stack;
	} table[] = {
		{PERF_RECORD_MISC_KERNEL, true},	{PERF_RECORD_MISC_USER, true},
		{PERF_RECORD_MISC_GUEST_KERNEL, false}, {PERF_RECORD_MISC_GUEST_USER, false},
		{PERF_RECORD_MISC_HYPERVISOR, false},
	};
	struct vmop_perf_decoder decoder = two;
	struct vmop_record record;
	decoder.stack_sample_type = PERF_SAMPLE_CALLCHAIN;
	decoder.max_frames = 127;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		make_sample(&decoder, table[i].misc, 1002, 0xffffffff81000010);
		add_chain();
		const struct vmop_stack_capture *stack = stack_of(&decoder, &record);
		assert_int_equal(stack != NULL, table[i].has_stack);
		assert_int_equal(record.sample.event, 1);
		if (stack)
			assert_int_equal(stack->n_kernel_frames, 1);
	}
	make_sample(&decoder, PERF_RECORD_MISC_KERNEL, 1002, 0xffffffff81000010);
	struct vmop_perf_capture capture;
	assert_int_equal(vmop_perf_record_decode(&decoder, &made.header, &record, &capture),
			 VMOP_PERF_MALFORMED);
	begin(PERF_RECORD_EXIT, 0);
	add_u32(1, 2);
	add_u32(3, 4);
	add_u64(TIME);
	end(&decoder);
	assert_null(stack_of(&decoder, &record));
}

/* Guests' halves of split events, and events that only guests are wanted of, carry no stack. */
static void events_of_guests_carry_no_stack(void **state)
{
	(void)state;
	static const uint64_t guest_ids[] = {2001, 0};
	static const uint8_t wanted[] = {0xf | VMOP_PERF_BY_PMU, 0xc};
	struct vmop_perf_decoder decoder = two;
	struct vmop_record record;
	decoder.stack_sample_type = PERF_SAMPLE_CALLCHAIN;
	decoder.max_frames = 127;
	decoder.guest_ids = guest_ids;
	decoder.wanted = wanted;
	make_sample(&decoder, PERF_RECORD_MISC_GUEST_USER, 2001, 0x401000);
	assert_null(stack_of(&decoder, &record));
	make_sample(&decoder, PERF_RECORD_MISC_GUEST_USER, 1002, 0x401000);
	assert_null(stack_of(&decoder, &record));
	make_sample(&decoder, PERF_RECORD_MISC_USER, 1001, 0x401000);
	add_chain();
	assert_non_null(stack_of(&decoder, &record));
}

/* The registers of the interrupted code come after the stack, wherever that ends. */
static void registers_after_a_stack(void **state)
{
	(void)state;
	struct vmop_perf_decoder decoder = one;
	struct vmop_record record;
	decoder.stack_sample_type = PERF_SAMPLE_CALLCHAIN;
	decoder.max_frames = 127;
	decoder.dom0 = (struct vmop_perf_dom0){.view = VMOP_REACH_OWN, .has_regs = true};
	make_sample(&decoder, PERF_RECORD_MISC_KERNEL, 0, 0xffffffff81000010);
	add_chain();
	add_u64(2); /* PERF_SAMPLE_REGS_ABI_64 */
	add_u64(0x401000);
	add_u64(0x33);
	assert_non_null(stack_of(&decoder, &record));
	assert_int_equal(record.sample.flags, VMOP_SAMPLE_USER);
	assert_true(record.sample.ip == 0x401000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guests_that_are_hosts),
		cmocka_unit_test(guest_exit_function),
		cmocka_unit_test(a_clock_in_dom0),
		cmocka_unit_test(a_pmu_in_dom0),
		cmocka_unit_test(perf_in_dom0),
		cmocka_unit_test(split_events),
		cmocka_unit_test(modes_of_guests),
		cmocka_unit_test(samples),
		cmocka_unit_test(samples_of_a_fixed_weight),
		cmocka_unit_test(modes),
		cmocka_unit_test(modes_not_wanted_are_left_out),
		cmocka_unit_test(mappings),
		cmocka_unit_test(mappings_have_an_inode),
		cmocka_unit_test(texts_must_end),
		cmocka_unit_test(names_and_tasks),
		cmocka_unit_test(kernel_symbols),
		cmocka_unit_test(switches_of_tasks),
		cmocka_unit_test(losses_and_throttles_are_counted),
		cmocka_unit_test(unknown_records_are_reported),
		cmocka_unit_test(only_the_hosts_samples_have_a_stack),
		cmocka_unit_test(events_of_guests_carry_no_stack),
		cmocka_unit_test(registers_after_a_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
