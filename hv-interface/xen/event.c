// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hv-interface/perf/pfm.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

enum {
	/* Below it a host can get stuck in interrupts; OProfile's lower bound for cycles. */
	SMALLEST_PERIOD = 6000,
	DEFAULT_HZ = 1000,
	/* The counters accept 31 bits (Intel SDM, IA32_PMCx writes). */
	LARGEST_PERIOD = INT32_MAX,
};

/*
 * The code of unhalted cycles by the prefix of Xen's name for the model
 * (xen/arch/x86/oprofile/nmi_int.c). The first match counts.
 */
static const struct {
	const char *cpu_type;
	uint32_t code;
} cycles[] = {
	{"i386/ppro", 0x79},	  {"i386/pii", 0x79},	 {"i386/piii", 0x79},
	{"i386/p6_mobile", 0x79}, {"i386/athlon", 0x76}, {"i386/hammer", 0x76},
	{"x86-64/", 0x76},	  {"i386/p4", 0},	 {"i386/", 0x3c},
};

static uint32_t cycles_code(const char *cpu_type)
{
	for (size_t i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++)
		if (!strncmp(cpu_type, cycles[i].cpu_type, strlen(cycles[i].cpu_type)))
			return cycles[i].code;
	return 0;
}

static bool is_cycles(const char *name)
{
	return !strcmp(name, "default") || !strcasecmp(name, "cycles") ||
	       !strcasecmp(name, "cpu-cycles") || !strcasecmp(name, "CPU_CLK_UNHALTED");
}

/* Parse "rNNN": the event in bits 0-7 and, on AMD, 32-35; the unit mask in bits 8-15. */
static bool parse_raw(const char *name, uint64_t *ret)
{
	char *end;
	if (name[0] != 'r' || !name[1] || strspn(name + 1, "0123456789abcdefABCDEF") > 16)
		return false;
	*ret = strtoull(name + 1, &end, 16);
	return *end == '\0';
}

static struct vmop_error *find_code(const char *name, const char *unit_mask,
				    const struct vmop_xen_machine *machine,
				    struct vmop_xen_event *event)
{
	uint64_t select = 0;
	uint32_t code = cycles_code(machine->cpu_type);
	if (code == 0)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "counters of Xen's CPU model '%s' are not supported",
				      machine->cpu_type);
	if (is_cycles(name) && !unit_mask) {
		event->code = code;
		return NULL;
	}
	if (!parse_raw(name, &select)) {
		struct vmop_error *err = vmop_pfm_encode_raw(name, unit_mask, &select);
		if (err && err->code == VMOP_ERROR_NOT_FOUND) {
			vmop_error_destroy(err);
			err = vmop_error_new(VMOP_ERROR_USAGE,
					     "Xen's CPU model '%s' has no event '%s'; vmopcontrol "
					     "--list-events shows those there are",
					     machine->cpu_type, name);
		}
		if (err)
			return err;
	}
	event->code = (uint32_t)((select & 0xff) | (select >> 32 & 0xf) << 8);
	event->unit_mask = select >> 8 & 0xff;
	return NULL;
}

/* Return the clock of the first processor in Hz; 0: not known. */
static uint64_t clock_hz(const char *root)
{
	char path[256];
	_cleanup_free_ char *text = NULL;
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root ? root : "");
	struct vmop_error *err = vmop_io_read_file(path, 16 << 20, &text, NULL);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	const char *at = strstr(text, "cpu MHz");
	at = at ? strchr(at, ':') : NULL;
	double mhz = at ? strtod(at + 1, NULL) : 0;
	return mhz > 0 && mhz < 1e6 ? (uint64_t)(mhz * 1e6) : 0;
}

/*
 * Convert a frequency into a period. Xen counts events, not time, so only cycles can have a
 * frequency: their number in a second is known.
 */
static struct vmop_error *by_frequency(const struct vmop_event_request *request, bool counts_cycles,
				       const char *root, struct vmop_xen_choice *choice)
{
	uint64_t hz = request && request->frequency_hz ? request->frequency_hz : DEFAULT_HZ;
	uint64_t cpu_hz = counts_cycles ? clock_hz(root) : 0;
	if (cpu_hz == 0)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': Xen takes a sample every COUNT events; give a "
				      "count: --event=%s:100000",
				      choice->name, choice->name);
	choice->event.period_events = cpu_hz / hz;
	if (choice->event.period_events < SMALLEST_PERIOD)
		choice->event.period_events = SMALLEST_PERIOD;
	if (asprintf(&choice->note,
		     "Xen samples by counts: every %" PRIu64 " cycles, %" PRIu64
		     " a second on a busy CPU of %" PRIu64 " MHz",
		     choice->event.period_events, cpu_hz / choice->event.period_events,
		     cpu_hz / 1000000) < 0) {
		choice->note = NULL;
		return &vmop_error_no_memory;
	}
	return NULL;
}

static struct vmop_error *find_period(const struct vmop_event_request *request, bool counts_cycles,
				      const char *root, struct vmop_xen_choice *choice)
{
	uint64_t period = request ? request->period_events : 0;
	if (period == 0)
		return by_frequency(request, counts_cycles, root, choice);
	if (period < SMALLEST_PERIOD || period > LARGEST_PERIOD)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': a sample every %" PRIu64
				      " events is not between %d and %d",
				      choice->name, period, SMALLEST_PERIOD, LARGEST_PERIOD);
	choice->event.period_events = period;
	return NULL;
}

/*
 * Set the modes in which the counter counts. The processor separates ring 0 from the others, and a
 * PV guest's kernel runs in ring 3 (in Xen for x86-64). So for kernels both count, and the drain
 * drops unwanted samples.
 */
static void choose_modes(const struct vmop_event_request *request, struct vmop_xen_choice *choice)
{
	choice->kernel = !request || request->kernel;
	choice->user = !request || request->user;
	choice->host = !request || request->host;
	choice->guest = !request || request->guest;
	choice->event.xen = choice->event.kernel = choice->kernel;
	choice->event.user = choice->kernel || choice->user;
}

struct vmop_error *vmop_xen_choose(const struct vmop_event_request *request,
				   const struct vmop_xen_machine *machine, const char *root,
				   struct vmop_xen_choice *ret)
{
	const char *name = request ? request->name : "default";
	bool counts_cycles = is_cycles(name);
	*ret = (struct vmop_xen_choice){.name = strdup(counts_cycles ? "cycles" : name)};
	if (!ret->name)
		return &vmop_error_no_memory;
	choose_modes(request, ret);
	struct vmop_error *err =
		find_code(name, request ? request->unit_mask : NULL, machine, &ret->event);
	if (!err && request && request->precise)
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "event '%s': Xen has no precise sampling (:p)", name);
	if (!err)
		err = find_period(request, counts_cycles, root, ret);
	if (err)
		vmop_xen_choice_deinit(ret);
	return err;
}

struct vmop_error *vmop_xen_take_over(const struct vmop_event_request *request,
				      struct vmop_xen_choice *ret)
{
	*ret = (struct vmop_xen_choice){.host = true, .guest = true};
	if (!request || !request->period_events)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"an active domain samples dom0's events and needs their COUNT");
	ret->kernel = request->kernel;
	ret->user = request->user;
	ret->event.period_events = request->period_events;
	ret->name = strdup(request->name);
	return ret->name ? NULL : &vmop_error_no_memory;
}

void vmop_xen_choice_deinit(struct vmop_xen_choice *choice)
{
	free(choice->name);
	free(choice->note);
	*choice = (struct vmop_xen_choice){0};
}

struct list {
	vmop_event_list_fn each;
	void *arg;
};

static void list_pfm(void *arg, const struct vmop_pfm_entry *pfm)
{
	const struct list *list = arg;
	const struct vmop_event_entry entry = {
		.group = VMOP_EVENTS_XEN,
		.name = pfm->event,
		.unit_mask = pfm->unit_mask,
		.unit_mask_code = pfm->code,
		.description = pfm->description,
		.unit = "events",
		.lowest_count = SMALLEST_PERIOD,
		.is_available = true,
	};
	if (pfm->is_core)
		list->each(list->arg, &entry);
}

void vmop_xen_event_list(vmop_event_list_fn each, void *arg)
{
	struct list list = {each, arg};
	const struct vmop_event_entry entry = {
		.group = VMOP_EVENTS_XEN,
		.name = "cycles",
		.description = "cycles in which the CPU did not halt, on every model",
		.unit = "events",
		.lowest_count = SMALLEST_PERIOD,
		.is_available = true,
	};
	each(arg, &entry);
	vmop_pfm_list(list_pfm, &list);
}
