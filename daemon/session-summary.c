// SPDX-License-Identifier: GPL-2.0-or-later
/* Describes a session in one line for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/session.h"
#include "libutil/cleanup.h"
#include "libutil/plural.h"
#include "libutil/stack-end.h"

/*
 * Count the running guests. Set *ret_unsampled to the number of Xen domains that cannot be sampled.
 * The placeholder domain is not counted.
 */
static unsigned count_guests(struct vmop_session *session, unsigned *ret_unsampled)
{
	struct vmop_domain_stats domain;
	unsigned n = 0;
	*ret_unsampled = 0;
	for (size_t i = 0; vmop_session_domain(session, i, &domain); i++) {
		if (vmop_domain_id_is_host(domain.id) || domain.kind == VMOP_DOMAIN_HYPERVISOR ||
		    !domain.is_running)
			continue;
		if (domain.kind != VMOP_DOMAIN_UNSAMPLED)
			n++;
		else
			*ret_unsampled += domain.xen_domid >= 0;
	}
	return n;
}

/* Print the rate of an event, for a clock in Hz. */
static void put_rate(FILE *out, const struct vmop_event_info *event)
{
	if (event->frequency_hz)
		fprintf(out, "at %" PRIu64 " Hz", event->frequency_hz);
	else if (!strcmp(event->unit, "ns") && event->period_events)
		fprintf(out, "at %.4g Hz", 1e9 / (double)event->period_events);
	else
		fprintf(out, "every %" PRIu64 " %s", event->period_events, event->unit);
}

static void put_stacks(FILE *out, const struct vmop_stack_options *stacks, const char *note)
{
	switch (stacks->mode) {
	case VMOP_STACKS_OFF:
		fputs("none", out);
		break;
	case VMOP_STACKS_KERNEL:
		fputs("of the kernel", out);
		break;
	case VMOP_STACKS_FP:
		fputs("by frame pointers", out);
		break;
	case VMOP_STACKS_DEFER:
		fputs("by the kernel at the return to user mode", out);
		break;
	case VMOP_STACKS_HANDED:
		fputs("as the host of this guest unwinds them", out);
		break;
	case VMOP_STACKS_BPF:
		fprintf(out, "by BPF, else by CFI with %" PRIu32 " KiB of the user stack",
			(stacks->user_stack_bytes + 1023) >> 10);
		break;
	default:
		fprintf(out, "by CFI, %" PRIu32 " KiB of each user stack",
			(stacks->user_stack_bytes + 1023) >> 10);
		break;
	}
	if (stacks->mode != VMOP_STACKS_OFF && stacks->max_frames < VMOP_STACK_FRAMES_MAX)
		fprintf(out, ", at most %" PRIu32 " frames", stacks->max_frames);
	if (note)
		fprintf(out, " (%s)", note);
}

char *vmop_session_stacks_text(const struct vmop_session *session)
{
	char *text = NULL;
	size_t len;
	const char *note;
	const struct vmop_stack_options *stacks = vmop_session_stacks(session, &note);
	if (stacks->mode == VMOP_STACKS_OFF && !note)
		return NULL;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	put_stacks(out, stacks, note);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *vmop_session_guest_context_text(const struct vmop_session *session)
{
	char *text;
	int len;
	struct vmop_session_context context;
	vmop_session_guest_context(session, &context);
	if (!context.is_on && !context.note)
		return NULL;
	if (context.is_on)
		len = asprintf(&text, "captured (%s)", context.facts.virtualisation);
	else
		len = asprintf(&text, "not captured, because %s", context.note);
	return len < 0 ? NULL : text;
}

char *vmop_session_stacks_count_text(struct vmop_session *session)
{
	char *text = NULL;
	size_t len;
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	const struct vmop_stacks_facts *facts = &status.profiler_stats.stacks;
	FILE *out = facts->n_stacks ? open_memstream(&text, &len) : NULL;
	if (!out)
		return NULL;
	fprintf(out, "%" PRIu64 " call stacks: ", facts->n_stacks);
	vmop_stack_ends_print(out, facts->n_by_end, 0);
	fprintf(out, "; %" PRIu32 " unwind tables of %.1f MiB", facts->tables.n_ready,
		(double)facts->tables.bytes / (1 << 20));
	if (facts->maps.max_tables)
		fprintf(out,
			"; %" PRIu64 " user stacks unwound in the kernel, %" PRIu64
			" copied; %" PRIu32 " tables of %.1f MiB in the kernel",
			facts->n_by_kernel, facts->n_copied, facts->maps.n_tables,
			(double)facts->maps.table_bytes / (1 << 20));
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Print the number of CPUs, the events' notes and the number of guests. */
static void put_where(FILE *out, struct vmop_session *session)
{
	const struct vmop_event_info *event;
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	uint32_t cpus = status.source_stats.cpus_online;
	unsigned unsampled, guests = count_guests(session, &unsampled);
	if (cpus)
		fprintf(out, " on %" PRIu32 " CPU%s", cpus, vmop_plural(cpus));
	for (size_t i = 0; (event = vmop_session_event(session, i)); i++)
		if (event->note)
			fprintf(out, " (%s)", event->note);
	if (guests || !unsampled)
		fprintf(out, ", %u guest%s", guests, vmop_plural(guests));
	if (unsampled)
		fprintf(out, ", %u guest%s not sampled", unsampled, vmop_plural(unsampled));
}

/* Print whether contexts of guests are captured, if there are guests or the user asked for it. */
static void put_context(FILE *out, struct vmop_session *session)
{
	unsigned unsampled;
	struct vmop_session_context context;
	_cleanup_free_ char *text = vmop_session_guest_context_text(session);
	vmop_session_guest_context(session, &context);
	if (text && (context.is_required || count_guests(session, &unsampled)))
		fprintf(out, ", guest contexts %s", text);
}

char *vmop_session_summary(struct vmop_session *session)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	const struct vmop_event_info *event;
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	fputs(status.is_recorded ? "replaying " : "sampling ", out);
	for (size_t i = 0; (event = vmop_session_event(session, i)); i++) {
		fprintf(out, "%s%s ", i ? ", " : "", event->name);
		put_rate(out, event);
	}
	if (!status.is_recorded)
		put_where(out, session);
	_cleanup_free_ char *stacks = vmop_session_stacks_text(session);
	if (stacks)
		fprintf(out, ", call stacks %s", stacks);
	put_context(out, session);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
