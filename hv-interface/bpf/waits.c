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

#include "hv-interface/bpf/waits-object.h"
#include "hv-interface/bpf/waits-open.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/log.h"

/* The request with which a VMM runs a vCPU: KVM_RUN in linux/kvm.h. */
#define KVM_RUN_REQUEST 0xae80

static const char *const attached[] = {"vmop_switch", "vmop_wakeup", "vmop_migrate"};

/* ---- what this kernel has ----------------------------------------------------------------- */

/* Return the number of arguments of a tracepoint, or 0 without one. */
static unsigned n_arguments(const struct btf *btf, const char *tracepoint)
{
	char name[64];
	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	/* The first parameter is not an argument. */
	return type && btf_is_func_proto(type) && btf_vlen(type) ? btf_vlen(type) - 1u : 0;
}

static struct vmop_error *find_kernel(struct vmop_waits_settings *settings)
{
	struct btf *btf = btf__load_vmlinux_btf();
	if (!btf)
		return vmop_error_new(VMOP_ERROR_CANT, "this kernel has no type information "
						       "(/sys/kernel/btf/vmlinux)");
	unsigned n = n_arguments(btf, "sched_switch");
	bool has_notifiers = btf__find_by_name_kind(btf, "preempt_notifier", BTF_KIND_STRUCT) > 0;
	btf__free(btf);
	settings->has_state_argument = n >= 4;
	if (n < 3)
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

static int log_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	(void)level;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	vmop_log(VMOP_LOG_DEBUG, "BPF: %s", text);
	free(text);
	return 0;
}

static struct bpf_program *find_program(const struct vmop_waits *waits, const char *name)
{
	return bpf_object__find_program_by_name(waits->object, name);
}

static struct vmop_error *not_permitted(int os_errno)
{
	if (os_errno == EPERM || os_errno == EACCES)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "bpf() is not permitted (%s): it needs CAP_BPF and "
				      "CAP_PERFMON, and no seccomp filter against it",
				      strerror(os_errno));
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"the kernel refuses the program (%s; --verbose twice logs the reason)",
		strerror(os_errno));
}

static struct vmop_error *check_permission(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vmop_probe", 4, 4, 1, NULL);
	if (fd < 0)
		return not_permitted(errno);
	close(fd);
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_loop, NULL) == 0)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this kernel has no bpf_loop (Linux 5.17 or later)");
	return NULL;
}

static struct vmop_error *load(struct vmop_waits *waits)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "vmop_waits");
	waits->object = bpf_object__open_mem(
		vmop_waits_object, (size_t)(vmop_waits_object_end - vmop_waits_object), &opts);
	if (!waits->object)
		return not_permitted(errno);
	struct bpf_map *settings =
		bpf_object__find_map_by_name(waits->object, VMOP_WAITS_SETTINGS_SECTION);
	int n_cpus = libbpf_num_possible_cpus();
	waits->n_cpus = n_cpus > 0 ? (uint32_t)n_cpus : 1;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(waits->object, "cpus"),
				 waits->n_cpus);
	if (!settings ||
	    bpf_map__set_initial_value(settings, &waits->settings, sizeof(waits->settings)) != 0)
		return not_permitted(EINVAL);
	bpf_program__set_autoload(find_program(waits, "vmop_exit"), !waits->no_exits);
	bpf_program__set_autoload(find_program(waits, "vmop_entry"), !waits->no_exits);
	int status = bpf_object__load(waits->object);
	if (status < 0)
		return not_permitted(-status);
	for (size_t i = 0; i < VMOP_WAITS_N_MAPS; i++) {
		static const char *const names[VMOP_WAITS_N_MAPS] = {
			"slots", "victims", "cpus",	 "guests",
			"pairs", "exits",   "addresses", "hints"};
		waits->maps[i] = bpf_object__find_map_fd_by_name(waits->object, names[i]);
	}
	waits->words_fd = bpf_object__find_map_fd_by_name(waits->object, ".data");
	waits->n_words = 1; /* as in the program */
	waits->settle_fd = bpf_program__fd(find_program(waits, "vmop_settle"));
	waits->prime_fd = bpf_program__fd(find_program(waits, "vmop_prime"));
	return NULL;
}

static int attach(struct vmop_waits *waits, const char *name)
{
	struct bpf_link *link = bpf_program__attach(find_program(waits, name));
	if (!link)
		return -errno;
	waits->links[waits->n_links++] = link;
	return 0;
}

/* Note what each CPU runs. One that is offline has nothing to run. */
static void prime(const struct vmop_waits *waits)
{
	for (uint32_t cpu = 0; cpu < waits->n_cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);
		bpf_prog_test_run_opts(waits->prime_fd, &opts);
	}
}

static struct vmop_error *start(struct vmop_waits *waits)
{
	for (size_t i = 0; i < sizeof(attached) / sizeof(*attached); i++) {
		int status = attach(waits, attached[i]);
		if (status < 0)
			return not_permitted(-status);
	}
	if (!waits->no_exits && (attach(waits, "vmop_exit") < 0 || attach(waits, "vmop_entry") < 0))
		waits->no_exits = "the tracepoints kvm:kvm_exit and kvm:kvm_entry can't be used";
	prime(waits);
	return NULL;
}

struct vmop_error *vmop_waits_create(struct vmop_waits **ret)
{
	struct vmop_waits *waits = calloc(1, sizeof(*waits));
	*ret = NULL;
	if (!waits)
		return &vmop_error_no_memory;
	libbpf_set_print(log_message);
	struct vmop_error *err = check_permission();
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
	while (waits->n_links)
		bpf_link__destroy(waits->links[--waits->n_links]);
	vmop_waits_sums_deinit(&waits->sums);
	bpf_object__close(waits->object);
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

/* Store the hint for an id. That a guest's process had it stays, and costs a look-up. */
static void set_hint(const struct vmop_waits *waits, uint32_t id, bool is_guest)
{
	uint32_t place = id % VMOP_WAITS_N_HINTS, hint = 0;
	int fd = waits->maps[VMOP_WAITS_HINTS];
	bpf_map_lookup_elem(fd, &place, &hint);
	hint &= VMOP_WAITS_HINT_GUEST;
	hint |= slot_with(waits, place) | (is_guest ? VMOP_WAITS_HINT_GUEST : 0);
	bpf_map_update_elem(fd, &place, &hint, BPF_ANY);
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
