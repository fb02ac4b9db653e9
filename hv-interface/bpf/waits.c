// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/waits.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hv-interface/bpf/message.h"
#include "hv-interface/bpf/waits-object.h"
#include "hv-interface/bpf/waits-open.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/log.h"

/* The request with which a VMM runs a vCPU: KVM_RUN in linux/kvm.h. */
#define KVM_RUN_REQUEST 0xae80

/* Behind the reason why the kernel refuses the program. */
#define HINT "; --verbose twice logs the reason"

static const char *const attached[] = {"vmop_switch", "vmop_wakeup", "vmop_migrate"};

/* ---- what this kernel has ----------------------------------------------------------------- */

static struct vmop_error *find_kernel(struct vmop_waits_settings *settings)
{
	struct btf *types;
	struct vmop_error *err = vmop_bpf_read_types(&types);
	if (err)
		return err;
	unsigned n = vmop_bpf_n_parameters(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	bool has_notifiers = btf__find_by_name_kind(types, "preempt_notifier", BTF_KIND_STRUCT) > 0;
	btf__free(types);
	settings->has_state_argument = n >= 5;
	if (n < 4)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this kernel has no tracepoint sched_switch");
	if (!has_notifiers)
		return vmop_error_new(VMOP_ERROR_CANT, "this kernel has no KVM");
	return NULL;
}

/* Find "NAME;" and "offset:N;" in a line of a tracepoint's format. 0: there is no such field. */
static uint32_t field_at(const char *format, const char *name)
{
	char wanted[48];
	snprintf(wanted, sizeof(wanted), " %s;", name);
	const char *at = strstr(format, wanted);
	at = at ? strstr(at, "offset:") : NULL;
	return at ? (uint32_t)strtoul(at + strlen("offset:"), NULL, 10) : 0;
}

/* Find the fields of kvm_exit. Sets waits->no_exits if there are none. */
static void find_exits(struct vmop_waits *waits)
{
	static const char *const paths[] = {"/sys/kernel/tracing/events/kvm/kvm_exit/format",
					    "/sys/kernel/debug/tracing/events/kvm/kvm_exit/format"};
	struct vmop_waits_settings *settings = &waits->settings;
	_cleanup_free_ char *format = NULL;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && !format; i++)
		vmop_error_destroy(vmop_io_read_file(paths[i], 16384, &format, NULL));
	if (!format) {
		waits->no_exits = "the tracepoint kvm:kvm_exit can't be read (tracefs must be "
				  "mounted, and KVM loaded)";
		return;
	}
	settings->class_at = field_at(format, "esr_ec");
	settings->reason_at = field_at(format, settings->class_at ? "ret" : "exit_reason");
	settings->address_at = field_at(format, settings->class_at ? "vcpu_pc" : "guest_rip");
	waits->machine = settings->class_at			      ? VMOP_EXIT_ARM64
			 : access("/sys/module/kvm_intel", F_OK) == 0 ? VMOP_EXIT_VMX
								      : VMOP_EXIT_SVM;
	if (!settings->reason_at || !settings->address_at)
		waits->no_exits = "the tracepoint kvm:kvm_exit has no reason or no address";
}

/* ---- loading ------------------------------------------------------------------------------ */

static struct vmop_error *load(struct vmop_waits *waits)
{
	struct vmop_bpf_loaded *loaded = &waits->loaded;
	const struct vmop_bpf_source source = {
		.name = "vmop_waits",
		.begin = vmop_waits_object,
		.end = vmop_waits_object_end,
		.section = VMOP_WAITS_SETTINGS_SECTION,
		.settings = &waits->settings,
		.settings_bytes = sizeof(waits->settings),
	};
	int status = vmop_bpf_loaded_open(loaded, &source);
	if (status < 0)
		return vmop_bpf_refused(-status, HINT);
	waits->n_cpus = vmop_bpf_n_cpus();
	bpf_map__set_max_entries(bpf_object__find_map_by_name(loaded->object, "cpus"),
				 waits->n_cpus);
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_exit"), !waits->no_exits);
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_entry"), !waits->no_exits);
	status = bpf_object__load(loaded->object);
	if (status < 0)
		return vmop_bpf_refused(-status, HINT);
	for (size_t i = 0; i < VMOP_WAITS_N_MAPS; i++) {
		static const char *const names[VMOP_WAITS_N_MAPS] = {
			"slots",  "victims", "cpus",	  "guests", "pairs",
			"places", "exits",   "addresses", "hints",  "hinted"};
		waits->maps[i] = vmop_bpf_loaded_map_fd(loaded, names[i]);
	}
	waits->words_fd = vmop_bpf_loaded_map_fd(loaded, ".data");
	waits->n_words = 1; /* as in the program */
	waits->settle_fd = bpf_program__fd(vmop_bpf_loaded_program(loaded, "vmop_settle"));
	waits->prime_fd = bpf_program__fd(vmop_bpf_loaded_program(loaded, "vmop_prime"));
	return NULL;
}

static struct vmop_error *start(struct vmop_waits *waits)
{
	for (size_t i = 0; i < sizeof(attached) / sizeof(*attached); i++) {
		int status = vmop_bpf_loaded_attach(&waits->loaded, attached[i]);
		if (status < 0)
			return vmop_bpf_refused(-status, HINT);
	}
	if (!waits->no_exits && (vmop_bpf_loaded_attach(&waits->loaded, "vmop_exit") < 0 ||
				 vmop_bpf_loaded_attach(&waits->loaded, "vmop_entry") < 0))
		waits->no_exits = "the tracepoints kvm:kvm_exit and kvm:kvm_entry can't be used";
	vmop_bpf_run_on_cpus(waits->prime_fd, waits->n_cpus); /* notes what each CPU runs */
	return NULL;
}

struct vmop_error *vmop_waits_create(struct vmop_waits **ret)
{
	struct vmop_waits *waits = calloc(1, sizeof(*waits));
	*ret = NULL;
	if (!waits)
		return &vmop_error_no_memory;
	libbpf_set_print(vmop_bpf_log_message);
	struct vmop_error *err = vmop_bpf_check_permission(HINT);
	if (!err)
		err = find_kernel(&waits->settings);
	if (!err) {
		find_exits(waits);
		err = load(waits);
	}
	if (!err)
		err = vmop_waits_sums_init(&waits->sums);
	if (!err)
		err = start(waits);
	if (err) {
		vmop_waits_destroy(waits);
		return err;
	}
	*ret = waits;
	return NULL;
}

void vmop_waits_destroy(struct vmop_waits *waits)
{
	if (!waits)
		return;
	vmop_bpf_loaded_close(&waits->loaded);
	vmop_waits_sums_deinit(&waits->sums);
	free(waits);
}

const char *vmop_waits_no_exits(const struct vmop_waits *waits)
{
	return waits->no_exits;
}

enum vmop_exit_machine vmop_waits_machine(const struct vmop_waits *waits)
{
	return waits->machine;
}

/* ---- guests and threads --------------------------------------------------------------------- */

/* Return the slot of a watched thread with these low bits of its id, or 0 if no thread has them. */
static uint32_t slot_with(const struct vmop_waits *waits, uint32_t place)
{
	for (uint32_t i = 1; i < VMOP_WAITS_MAX_VICTIMS; i++) {
		const struct vmop_waits_slot *at = &waits->sums.slots[i];
		if (at->tid && !at->is_leaving && at->tid % VMOP_WAITS_N_HINTS == place)
			return i;
	}
	return 0;
}

/* Store whether there is a hint at a place. */
static void set_hinted(const struct vmop_waits *waits, uint32_t place, bool is_hinted)
{
	uint32_t word = place / 64;
	uint64_t bits = 0, bit = UINT64_C(1) << place % 64;
	int fd = waits->maps[VMOP_WAITS_HINTED];
	bpf_map_lookup_elem(fd, &word, &bits);
	bits = is_hinted ? bits | bit : bits & ~bit;
	bpf_map_update_elem(fd, &word, &bits, BPF_ANY);
}

/* Store the hint for an id. That a guest's process had it stays, and costs a look-up. */
static void set_hint(const struct vmop_waits *waits, uint32_t id, bool is_guest)
{
	uint32_t place = id % VMOP_WAITS_N_HINTS, hint = 0;
	int fd = waits->maps[VMOP_WAITS_HINTS];
	bpf_map_lookup_elem(fd, &place, &hint);
	hint &= VMOP_WAITS_HINT_GUEST;
	hint |= slot_with(waits, place) | (is_guest ? VMOP_WAITS_HINT_GUEST : 0);
	bpf_map_update_elem(fd, &place, &hint, BPF_ANY);
	set_hinted(waits, place, hint);
}

bool vmop_waits_put_guest(struct vmop_waits *waits, uint32_t pid, uint32_t guest)
{
	set_hint(waits, pid, true);
	return bpf_map_update_elem(waits->maps[VMOP_WAITS_GUESTS], &pid, &guest, BPF_ANY) == 0;
}

void vmop_waits_remove_guest(struct vmop_waits *waits, uint32_t pid)
{
	bpf_map_delete_elem(waits->maps[VMOP_WAITS_GUESTS], &pid);
}

/* Return whether a thread that sleeps does so while it runs a vCPU. */
static bool sleeps_in_kvm(uint32_t tid)
{
	char path[48];
	_cleanup_free_ char *text = NULL;
	long number = -1;
	unsigned long fd, request = 0;
	snprintf(path, sizeof(path), "/proc/%u/syscall", tid);
	struct vmop_error *err = vmop_io_read_file(path, 256, &text, NULL);
	bool is_known = !err && sscanf(text, "%ld %lx %lx", &number, &fd, &request) == 3;
	vmop_error_destroy(err);
	return is_known && number == SYS_ioctl && request == KVM_RUN_REQUEST;
}

/* Find a thread's state and CPU, as far as /proc has them. False: there is no such thread. */
static bool look(uint32_t tid, struct vmop_waits_victim *victim)
{
	char path[48], state;
	_cleanup_free_ char *text = NULL;
	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	struct vmop_error *err = vmop_io_read_file(path, 2048, &text, NULL);
	const char *at = err ? NULL : strrchr(text, ')');
	vmop_error_destroy(err);
	if (!at || sscanf(at, ") %c", &state) != 1)
		return false;
	victim->state = state == 'D'	     ? VMOP_WAIT_BLOCKED
			: state != 'S'	     ? VMOP_WAIT_UNKNOWN
			: sleeps_in_kvm(tid) ? VMOP_WAIT_HALTED
					     : VMOP_WAIT_VMM;
	/* The processor is field 39; the state, behind the name, is field 3. */
	for (int field = 3; field < 39 && at; field++)
		at = strchr(at + (field == 3 ? 2 : 1), ' ');
	victim->cpu = at ? (uint32_t)strtoul(at, NULL, 10) : 0;
	return true;
}

static struct vmop_waits_slot *find_slot(struct vmop_waits *waits, uint32_t tid, uint32_t *ret)
{
	for (uint32_t i = 0; i < VMOP_WAITS_MAX_VICTIMS; i++) {
		if (waits->sums.slots[i].tid == tid && !waits->sums.slots[i].is_leaving) {
			*ret = i;
			return &waits->sums.slots[i];
		}
	}
	return NULL;
}

/* Make the program look at so many words of its masks. */
static void use_words(struct vmop_waits *waits, uint32_t n)
{
	const uint32_t zero = 0;
	if (n <= waits->n_words)
		return;
	waits->n_words = n;
	bpf_map_update_elem(waits->words_fd, &zero, &n, BPF_ANY);
}

bool vmop_waits_watch(struct vmop_waits *waits, uint32_t tid, uint32_t guest, uint32_t vcpu)
{
	uint32_t at;
	struct vmop_waits_victim victim = {.tid = tid, .guest = guest};
	struct vmop_waits_slot *slot = find_slot(waits, tid, &at);
	if (slot) {
		slot->vcpu = vcpu; /* its number may have been a guess */
		slot->is_renewed = true;
		return true;
	}
	slot = find_slot(waits, 0, &at);
	if (!slot || !look(tid, &victim)) {
		waits->n_refused += !slot;
		return slot != NULL;
	}
	use_words(waits, at / 64 + 1);
	*slot = (struct vmop_waits_slot){
		.tid = tid, .guest = guest, .vcpu = vcpu, .is_renewed = true};
	victim.since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (bpf_map_update_elem(waits->maps[VMOP_WAITS_VICTIMS], &at, &victim, BPF_ANY) ||
	    bpf_map_update_elem(waits->maps[VMOP_WAITS_SLOTS], &tid, &at, BPF_ANY)) {
		*slot = (struct vmop_waits_slot){0};
		waits->n_refused++;
		return false;
	}
	set_hint(waits, tid, false);
	waits->n_watched++;
	vmop_waits_settle(waits); /* decides what a thread does that is ready to run */
	return true;
}

void vmop_waits_retain(struct vmop_waits *waits)
{
	for (uint32_t i = 1; i < VMOP_WAITS_MAX_VICTIMS; i++) {
		struct vmop_waits_slot *slot = &waits->sums.slots[i];
		if (slot->tid && !slot->is_leaving && !slot->is_renewed) {
			bpf_map_delete_elem(waits->maps[VMOP_WAITS_SLOTS], &slot->tid);
			slot->is_leaving = true;
			set_hint(waits, slot->tid, false);
			waits->n_watched--;
		}
		slot->is_renewed = false;
	}
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void add_cpu(const struct vmop_waits_cpu *cpu, struct vmop_waits_facts *ret,
		    uint64_t measured[VMOP_WAITS_N_PROGRAMS], uint64_t ns[VMOP_WAITS_N_PROGRAMS])
{
	ret->n_switches += cpu->n_switches;
	ret->n_wakeups += cpu->n_wakeups;
	ret->n_exits += cpu->n_exits;
	for (size_t i = 0; i < VMOP_WAITS_N_PROGRAMS; i++) {
		measured[i] += cpu->measured[i];
		ns[i] += cpu->measured_ns[i];
	}
}

void vmop_waits_facts(const struct vmop_waits *waits, struct vmop_waits_facts *ret)
{
	uint64_t measured[VMOP_WAITS_N_PROGRAMS] = {0}, ns[VMOP_WAITS_N_PROGRAMS] = {0};
	double mean_ns[VMOP_WAITS_N_PROGRAMS] = {0};
	*ret = (struct vmop_waits_facts){.n_watched = waits->n_watched,
					 .n_refused = waits->n_refused};
	for (uint32_t i = 0; i < waits->n_cpus; i++) {
		struct vmop_waits_cpu cpu;
		if (bpf_map_lookup_elem(waits->maps[VMOP_WAITS_CPUS], &i, &cpu) == 0)
			add_cpu(&cpu, ret, measured, ns);
	}
	for (size_t i = 0; i < VMOP_WAITS_N_PROGRAMS; i++)
		mean_ns[i] = measured[i] ? (double)ns[i] / (double)measured[i] : 0;
	ret->switch_ns = mean_ns[VMOP_WAITS_SWITCH];
	ret->wakeup_ns = mean_ns[VMOP_WAITS_WAKEUP];
	ret->exit_ns = mean_ns[VMOP_WAITS_EXIT] + mean_ns[VMOP_WAITS_ENTRY];
	ret->cost_ns = (uint64_t)((double)ret->n_switches * ret->switch_ns +
				  (double)ret->n_wakeups * ret->wakeup_ns +
				  (double)ret->n_exits * ret->exit_ns);
}
