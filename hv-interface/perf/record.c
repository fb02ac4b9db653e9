// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/record.h"

#include <stddef.h>
#include <string.h>

#include "hv-interface/bpf/layout.h"
#include "hv-interface/perf/event.h"
#include "hv-interface/perf/stacks/deferred.h"
#include "hv-interface/perf/stacks/guest.h"
#include "hv-interface/perf/stacks/unwound.h"

/*
 * The layouts below are those of enum perf_event_type in linux/perf_event.h, without header and
 * sample_id.
 */
struct sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period; /* missing where the event's weight is fixed */
};

/* sample_id at the end of every other record. An identifier may follow. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct mmap {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char filename[];
};

struct mmap2 {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min; /* or a build-id, which vmop's events do not request */
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct comm {
	uint32_t pid, tid;
	char comm[];
};

struct task {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct throttle {
	uint64_t time, id, stream_id;
};

struct ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[];
};

_Static_assert(sizeof(struct sample) == 40 && sizeof(struct trailer) == 24, "perf's layout");
_Static_assert(offsetof(struct mmap, filename) == 32, "perf's layout");
_Static_assert(offsetof(struct mmap2, prot) == 56 && offsetof(struct mmap2, filename) == 64,
	       "perf's layout");
_Static_assert(offsetof(struct ksymbol, name) == 16, "perf's layout");

/*
 * Return the index of the event with that id, among all counters or those only for guests; 0 for an
 * unknown id.
 */
static uint16_t event_of(const struct vmop_perf_decoder *decoder, uint64_t id, bool *ret_is_guests)
{
	*ret_is_guests = false;
	for (size_t i = 0; i < decoder->n_events; i++) {
		if (decoder->ids[i] == id)
			return (uint16_t)i;
	}
	for (size_t i = 0; decoder->guest_ids && i < decoder->n_events; i++) {
		*ret_is_guests = decoder->guest_ids[i] == id;
		if (*ret_is_guests)
			return (uint16_t)i;
	}
	return 0;
}

/* Return vmop_perf_event_wanted_classes() of the event, or of one half of it. */
static uint8_t wanted_of(const struct vmop_perf_decoder *decoder, uint16_t event, bool is_guests)
{
	uint8_t wanted = decoder->wanted[event];
	if (!decoder->guest_ids || !decoder->guest_ids[event])
		return wanted;
	return wanted | (is_guests ? VMOP_PERF_GUEST_ONLY : VMOP_PERF_HOST_ONLY);
}

static uint16_t mode_flags(uint16_t misc, bool is_mode_known)
{
	static const uint16_t flags[PERF_RECORD_MISC_CPUMODE_MASK + 1] = {
		[PERF_RECORD_MISC_KERNEL] = VMOP_SAMPLE_KERNEL,
		[PERF_RECORD_MISC_USER] = VMOP_SAMPLE_USER,
		[PERF_RECORD_MISC_HYPERVISOR] = VMOP_SAMPLE_HYPERVISOR,
		[PERF_RECORD_MISC_GUEST_KERNEL] = VMOP_SAMPLE_GUEST | VMOP_SAMPLE_KERNEL,
		[PERF_RECORD_MISC_GUEST_USER] = VMOP_SAMPLE_GUEST | VMOP_SAMPLE_USER,
	};
	uint16_t exact = misc & PERF_RECORD_MISC_EXACT_IP ? VMOP_SAMPLE_EXACT_IP : 0;
	uint16_t mode = flags[misc & PERF_RECORD_MISC_CPUMODE_MASK];
	if (is_mode_known && mode & VMOP_SAMPLE_GUEST)
		mode |= VMOP_SAMPLE_MODE_KNOWN;
	return mode | exact;
}

/*
 * Return whether the filter keeps a sample. On x86-64 perf's mode of a guest's sample is wrong for
 * some samples before Linux 6.12, so the address decides: kernels live in the upper half.
 */
static bool is_wanted(uint8_t classes, uint16_t flags, uint64_t ip)
{
	bool is_guest = flags & VMOP_SAMPLE_GUEST;
	bool is_by_address = is_guest && !(flags & VMOP_SAMPLE_MODE_KNOWN);
	bool is_kernel = is_by_address ? ip >> 63 : !(flags & VMOP_SAMPLE_USER);
	return classes >> VMOP_PERF_CLASS(is_guest, is_kernel) & 1;
}

/* Return whether a sample that perf reports as a guest's is the host's: see perf/guest-exit.h. */
static bool is_hosts(const struct vmop_perf_guest_exit *exit, uint8_t wanted,
		     const struct vmop_perf_guest_exit_regs *regs)
{
	if (wanted & VMOP_PERF_GUEST_ONLY || !exit->is_here)
		return false;
	if (wanted & VMOP_PERF_HOST_ONLY)
		return true;
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	if (!exit->len_bytes || regs->pc - exit->start < exit->len_bytes)
		return false;
	bool is_unmasking = regs->pc - exit->unmask_start < exit->unmask_len_bytes;
	return !is_unmasking || regs->lr - exit->start >= exit->len_bytes;
}

/* The registers of a sample; the machine determines which. */
union sample_regs {
	uint64_t abi;
	struct vmop_perf_guest_exit_regs guest_exit;
	struct vmop_perf_dom0_regs dom0;
};

_Static_assert(sizeof(struct vmop_perf_dom0_regs) == sizeof(struct vmop_perf_guest_exit_regs),
	       "two registers");

/* Read the registers at offset at of the record. Return false if the record ends before. */
static bool read_regs(const struct perf_event_header *header, size_t at, union sample_regs *ret)
{
	size_t len_bytes = sizeof(ret->abi);
	if (header->size < at + len_bytes)
		return false;
	memcpy(ret, (const uint8_t *)header + at, len_bytes);
	if (ret->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	if (header->size < at + sizeof(*ret))
		return false;
	memcpy(ret, (const uint8_t *)header + at, sizeof(*ret));
	return true;
}

/*
 * Correct the sample's owner where perf is not reliable. Return false if no event wants the sample.
 */
static bool correct_sample(const struct vmop_perf_decoder *decoder, uint8_t wanted,
			   const union sample_regs *regs, struct vmop_sample *sample)
{
	bool is_by_pmu = wanted & VMOP_PERF_BY_PMU;
	if (sample->flags & VMOP_SAMPLE_GUEST &&
	    is_hosts(&decoder->guest_exit, wanted, &regs->guest_exit)) {
		sample->flags = VMOP_SAMPLE_KERNEL | (regs->abi ? 0 : VMOP_SAMPLE_NO_IP);
		sample->ip = regs->guest_exit.pc;
	}
	if (decoder->dom0.view != VMOP_REACH_ALL) {
		vmop_perf_dom0_correct(&decoder->dom0, is_by_pmu, &regs->dom0, sample);
		/* Xen's vPMU does not separate the host's samples from the guests'. */
		if (is_by_pmu &&
		    wanted & (sample->flags & VMOP_SAMPLE_GUEST ? VMOP_PERF_HOST_ONLY
								: VMOP_PERF_GUEST_ONLY))
			return false;
	}
	return (wanted & VMOP_PERF_ALL_CLASSES) == VMOP_PERF_ALL_CLASSES ||
	       is_wanted(wanted, sample->flags, sample->ip);
}

/*
 * Decode the stack after the fixed part of a sample, at_bytes after the record's start, if its
 * event has one. Return the offset of the end, or 0 if the record is malformed.
 */
static __attribute__((noinline)) size_t decode_stack(const struct vmop_perf_decoder *decoder,
						     uint8_t wanted,
						     const struct perf_event_header *header,
						     size_t at_bytes,
						     struct vmop_perf_capture *capture)
{
	capture->is_here = false;
	if (!vmop_perf_event_has_stacks(wanted))
		return at_bytes;
	return vmop_perf_capture_decode(decoder->stack_sample_type, decoder->max_frames, header,
					at_bytes, capture);
}

/* Mark a sample that is not the host's own. */
static void mark_foreign(const struct vmop_perf_decoder *decoder, struct vmop_sample *sample,
			 struct vmop_perf_capture *capture)
{
	/* A guest with encrypted registers (SEV-ES, TDX) has no address. */
	if (sample->flags & VMOP_SAMPLE_GUEST && sample->ip == 0)
		sample->flags |= VMOP_SAMPLE_NO_IP;
	/* The captured stack is that of the VMM's thread, or of a task that only runs now. */
	if (decoder->stack_sample_type || decoder->output_id)
		capture->is_here = false;
}

/* The parts of a sample, wherever in the record each was. */
struct parts {
	const struct sample *sample;
	uint16_t event;
	uint8_t wanted; /* vmop_perf_event_wanted_classes() of the event, or of one half of it */
	uint64_t weight_events;
	union sample_regs regs;
};

/* Make a record of the parts. flags: enum vmop_sample_flags, to be corrected. */
static inline enum vmop_perf_decoded assemble(const struct vmop_perf_decoder *decoder,
					      const struct parts *parts, uint16_t flags,
					      struct vmop_record *ret,
					      struct vmop_perf_capture *capture)
{
	const struct sample *sample = parts->sample;
	ret->type = VMOP_RECORD_SAMPLE;
	ret->time_ns = sample->time;
	ret->sample = (struct vmop_sample){
		.ip = sample->ip,
		.weight_events = parts->weight_events,
		.pid = sample->pid,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.event = parts->event,
		.flags = flags,
	};
	if (!correct_sample(decoder, parts->wanted, &parts->regs, &ret->sample))
		return VMOP_PERF_NOT_WANTED;
	if (ret->sample.flags & (VMOP_SAMPLE_GUEST | VMOP_SAMPLE_HYPERVISOR))
		mark_foreign(decoder, &ret->sample, capture);
	return VMOP_PERF_DECODED;
}

static bool has_regs(const struct vmop_perf_decoder *decoder)
{
	return decoder->guest_exit.has_regs || decoder->dom0.has_regs;
}

/* Return the flags of a sample by perf's own mode. */
static uint16_t perf_flags(const struct vmop_perf_decoder *decoder,
			   const struct perf_event_header *header)
{
	return mode_flags(header->misc, decoder->guest_exit.is_here);
}

/* Return the weight of an event's sample of that time; 0: the sample carries it. */
static uint64_t fixed_weight(const struct vmop_perf_decoder *decoder, uint16_t event,
			     uint64_t time_ns)
{
	uint64_t weight = decoder->fixed_weights ? decoder->fixed_weights[event] : 0;
	unsigned divisor =
		time_ns > decoder->lowered_ns ? decoder->divisor : decoder->divisor_before;
	return divisor > 1 ? weight * divisor : weight;
}

/* Set the event and weight of a sample in whose place the BPF program wrote its own. */
static void set_replaced(const struct vmop_perf_decoder *decoder, uint16_t event,
			 uint64_t period_events, struct parts *parts)
{
	uint64_t fixed = fixed_weight(decoder, event, parts->sample->time);
	parts->event = event;
	parts->weight_events = fixed ? fixed : period_events;
}

/* Decode the program's record of a host's sample, which has the user frames of its stack. */
static enum vmop_perf_decoded decode_unwound(const struct vmop_perf_decoder *decoder,
					     const struct perf_event_header *header,
					     size_t at_bytes, struct parts *parts,
					     struct vmop_record *ret,
					     struct vmop_perf_capture *capture)
{
	struct vmop_perf_unwound unwound;
	size_t at = vmop_perf_unwound_decode(header, at_bytes, decoder->n_events, &capture->stack,
					     &unwound);
	if (!at || (has_regs(decoder) && !read_regs(header, at, &parts->regs)))
		return VMOP_PERF_MALFORMED;
	set_replaced(decoder, unwound.event, unwound.period_events, parts);
	parts->wanted = wanted_of(decoder, unwound.event, false);
	return assemble(decoder, parts, perf_flags(decoder, header), ret, capture);
}

/* Make a record of the state in which a guest left a vCPU. */
static enum vmop_perf_decoded assemble_state(const struct vmop_perf_decoder *decoder,
					     const struct parts *parts, uint16_t flags,
					     struct vmop_record *ret)
{
	const struct sample *sample = parts->sample;
	uint8_t wanted = wanted_of(decoder, parts->event, false);
	/* The sample that follows has the same mode, and may not be wanted either. */
	if (!vmop_perf_event_has_stacks(wanted) || !is_wanted(wanted, flags, sample->ip))
		return VMOP_PERF_NOT_WANTED;
	ret->type = VMOP_RECORD_GUEST_STATE;
	ret->time_ns = sample->time;
	ret->guest_state = (struct vmop_guest_state_record){
		.cpu = sample->cpu, .pid = sample->pid, .tid = sample->tid};
	return VMOP_PERF_DECODED;
}

/* Decode the program's record of what a vCPU ran: in place of a sample, or in front of one. */
static enum vmop_perf_decoded decode_guest(const struct vmop_perf_decoder *decoder,
					   const struct perf_event_header *header, size_t at_bytes,
					   struct parts *parts, struct vmop_record *ret,
					   struct vmop_perf_capture *capture)
{
	struct vmop_perf_guest guest;
	size_t at = vmop_perf_guest_decode(header, at_bytes, decoder->n_events, &guest);
	if (!at || (has_regs(decoder) && !read_regs(header, at, &parts->regs)))
		return VMOP_PERF_MALFORMED;
	set_replaced(decoder, guest.event, guest.period_events, parts);
	enum vmop_perf_decoded decoded;
	uint16_t flags = perf_flags(decoder, header);
	capture->is_here = false;
	if (guest.is_state) {
		decoded = assemble_state(decoder, parts, flags, ret);
	} else {
		/* The vCPU's registers are exact, and of a split event its guests' half counted. */
		bool is_user = guest.context->parts & VMOP_GUEST_IS_USER;
		flags = VMOP_SAMPLE_GUEST | VMOP_SAMPLE_MODE_KNOWN |
			(is_user ? VMOP_SAMPLE_USER : VMOP_SAMPLE_KERNEL) |
			(flags & VMOP_SAMPLE_EXACT_IP);
		parts->wanted = wanted_of(decoder, guest.event, true);
		decoded = assemble(decoder, parts, flags, ret, capture);
		if (!(ret->sample.flags & VMOP_SAMPLE_GUEST))
			return decoded; /* the host's after all: perf/guest-exit.h */
	}
	capture->stack = (struct vmop_stack_capture){.guest = guest.context};
	capture->is_here = decoded == VMOP_PERF_DECODED;
	return decoded;
}

/* Decode a sample of the BPF output event, which stands for a sample of another event. */
static __attribute__((noinline)) enum vmop_perf_decoded
decode_output(const struct vmop_perf_decoder *decoder, const struct perf_event_header *header,
	      struct vmop_record *ret, struct vmop_perf_capture *capture)
{
	const size_t fixed_bytes = sizeof(*header) + sizeof(uint64_t);
	struct parts parts = {
		.sample = (const void *)((const uint8_t *)header + fixed_bytes),
	};
	size_t at = vmop_perf_capture_decode(decoder->output_sample_type, decoder->max_frames,
					     header, fixed_bytes + sizeof(struct sample), capture);
	if (!at)
		return VMOP_PERF_MALFORMED;
	switch (vmop_perf_guest_kind(header, at)) {
	case VMOP_BPF_HOST_STACK:
		return decode_unwound(decoder, header, at, &parts, ret, capture);
	case VMOP_BPF_GUEST:
	case VMOP_BPF_GUEST_STATE:
		return decode_guest(decoder, header, at, &parts, ret, capture);
	default:
		return VMOP_PERF_MALFORMED;
	}
}

static enum vmop_perf_decoded decode_sample(const struct vmop_perf_decoder *decoder,
					    const struct perf_event_header *header,
					    struct vmop_record *ret,
					    struct vmop_perf_capture *capture)
{
	const uint8_t *body = (const uint8_t *)(header + 1);
	size_t need = sizeof(*header) + offsetof(struct sample, period);
	bool is_guests = false;
	struct parts parts = {0};
	if (decoder->has_identifier) {
		need += sizeof(uint64_t);
		if (header->size < need)
			return VMOP_PERF_MALFORMED;
		uint64_t id = *(const uint64_t *)body;
		if (decoder->output_id) {
			if (id == decoder->output_id)
				return decode_output(decoder, header, ret, capture);
			capture->is_here = false;
		}
		parts.event = event_of(decoder, id, &is_guests);
		body += sizeof(uint64_t);
	}
	parts.sample = (const void *)body;
	if (header->size < need)
		return VMOP_PERF_MALFORMED;
	uint64_t weight_events = fixed_weight(decoder, parts.event, parts.sample->time);
	if (!weight_events)
		need += sizeof(uint64_t);
	if (header->size < need)
		return VMOP_PERF_MALFORMED;
	parts.weight_events = weight_events ? weight_events : parts.sample->period;
	parts.wanted = wanted_of(decoder, parts.event, is_guests);
	if (decoder->stack_sample_type) {
		need = decode_stack(decoder, parts.wanted, header, need, capture);
		if (!need)
			return VMOP_PERF_MALFORMED;
	}
	if (has_regs(decoder) && !read_regs(header, need, &parts.regs))
		return VMOP_PERF_MALFORMED;
	return assemble(decoder, &parts, perf_flags(decoder, header), ret, capture);
}

/* Return the text from offset, or NULL unless it ends before end_bytes. */
static const char *text_at(const uint8_t *body, size_t offset, size_t end_bytes)
{
	const char *text = (const char *)body + offset;
	if (offset >= end_bytes || !memchr(text, '\0', end_bytes - offset))
		return NULL;
	return text;
}

static bool decode_mmap(const uint8_t *body, size_t len_bytes, struct vmop_record *ret)
{
	const struct mmap *mmap = (const void *)body;
	const char *path = text_at(body, offsetof(struct mmap, filename), len_bytes);
	if (!path)
		return false;
	ret->type = VMOP_RECORD_MMAP;
	ret->mmap = (struct vmop_mmap_record){
		.start = mmap->addr,
		.len_bytes = mmap->len,
		.file_offset_bytes = mmap->pgoff,
		.pid = mmap->pid,
		.tid = mmap->tid,
		.path = path,
	};
	return true;
}

static bool decode_mmap2(const uint8_t *body, size_t len_bytes, struct vmop_record *ret)
{
	const struct mmap2 *mmap = (const void *)body;
	const char *path = text_at(body, offsetof(struct mmap2, filename), len_bytes);
	if (!path || !decode_mmap(body, len_bytes, ret))
		return false;
	ret->mmap.path = path;
	/* Valid even if PERF_RECORD_MISC_MMAP_BUILD_ID is set: see set_side_band in perf/cpu.c. */
	ret->mmap.dev_major = mmap->maj;
	ret->mmap.dev_minor = mmap->min;
	ret->mmap.inode = mmap->ino;
	return true;
}

static bool decode_comm(const uint8_t *body, size_t len_bytes, uint16_t misc,
			struct vmop_record *ret)
{
	const struct comm *comm = (const void *)body;
	const char *text = text_at(body, offsetof(struct comm, comm), len_bytes);
	if (!text)
		return false;
	ret->type = VMOP_RECORD_COMM;
	ret->comm = (struct vmop_comm_record){
		.pid = comm->pid,
		.tid = comm->tid,
		.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0,
		.comm = text,
	};
	return true;
}

static bool decode_task(const uint8_t *body, size_t len_bytes, enum vmop_record_type type,
			struct vmop_record *ret)
{
	const struct task *task = (const void *)body;
	if (len_bytes < sizeof(*task))
		return false;
	ret->type = type;
	ret->task = (struct vmop_task_record){
		.pid = task->pid,
		.tid = task->tid,
		.parent_pid = task->ppid,
		.parent_tid = task->ptid,
	};
	return true;
}

static bool decode_ksymbol(const uint8_t *body, size_t len_bytes, struct vmop_record *ret)
{
	const struct ksymbol *ksymbol = (const void *)body;
	const char *name = text_at(body, offsetof(struct ksymbol, name), len_bytes);
	if (!name)
		return false;
	ret->type = VMOP_RECORD_KSYMBOL;
	ret->ksymbol = (struct vmop_ksymbol_record){
		.start = ksymbol->addr,
		.len_bytes = ksymbol->len,
		.is_bpf = ksymbol->type == PERF_RECORD_KSYMBOL_TYPE_BPF,
		.is_unregistered = (ksymbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0,
		.name = name,
	};
	return true;
}

static bool decode_throttle(const struct vmop_perf_decoder *decoder, const uint8_t *body,
			    size_t len_bytes, bool is_throttled, struct vmop_record *ret)
{
	const struct throttle *throttle = (const void *)body;
	bool is_guests;
	if (len_bytes < sizeof(*throttle))
		return false;
	ret->type = VMOP_RECORD_THROTTLE;
	ret->throttle = (struct vmop_throttle_record){
		.cpu = decoder->cpu,
		.event = event_of(decoder, throttle->id, &is_guests),
		.is_throttled = is_throttled,
	};
	return true;
}

/*
 * Decode LOST and LOST_SAMPLES. LOST counts the records of all events that found no room in the
 * ring; its id is only that of the event which found room again.
 */
static bool decode_lost(const struct vmop_perf_decoder *decoder, const uint8_t *body,
			size_t len_bytes, bool has_id, struct vmop_record *ret)
{
	const uint64_t *words = (const void *)body;
	bool is_guests;
	if (len_bytes < (has_id ? 16 : 8))
		return false;
	ret->type = VMOP_RECORD_LOST;
	ret->lost = (struct vmop_lost_record){
		.cpu = decoder->cpu,
		.event = has_id ? event_of(decoder, words[0], &is_guests) : 0,
		.lost_records = words[has_id ? 1 : 0],
	};
	return true;
}

/*
 * Decode the switch of a task, which the trailer behind the body names. The body has the other
 * task, of which there is a record too.
 */
static bool decode_switch(const struct vmop_perf_decoder *decoder, const uint8_t *body,
			  size_t len_bytes, uint16_t misc, struct vmop_record *ret)
{
	const struct trailer *trailer = (const void *)(body + len_bytes);
	if (len_bytes < 2 * sizeof(uint32_t))
		return false;
	ret->type = VMOP_RECORD_SWITCH;
	/* A task that has ended leaves its CPU without a pid: -1. */
	ret->task_switch = (struct vmop_switch_record){
		.cpu = decoder->cpu,
		.pid = trailer->pid,
		.tid = trailer->tid,
		.is_out = misc & PERF_RECORD_MISC_SWITCH_OUT,
	};
	return true;
}

/* Decode everything but samples. len_bytes is the length of the body without its trailer. */
static bool decode_body(const struct vmop_perf_decoder *decoder,
			const struct perf_event_header *header, size_t len_bytes,
			struct vmop_record *ret, struct vmop_perf_capture *capture)
{
	const uint8_t *body = (const uint8_t *)(header + 1);
	switch (header->type) {
	case PERF_RECORD_MMAP:
		return decode_mmap(body, len_bytes, ret);
	case PERF_RECORD_MMAP2:
		return decode_mmap2(body, len_bytes, ret);
	case PERF_RECORD_COMM:
		return decode_comm(body, len_bytes, header->misc, ret);
	case PERF_RECORD_FORK:
		return decode_task(body, len_bytes, VMOP_RECORD_FORK, ret);
	case PERF_RECORD_EXIT:
		return decode_task(body, len_bytes, VMOP_RECORD_EXIT, ret);
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return decode_switch(decoder, body, len_bytes, header->misc, ret);
	case PERF_RECORD_KSYMBOL:
		return decode_ksymbol(body, len_bytes, ret);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return decode_throttle(decoder, body, len_bytes,
				       header->type == PERF_RECORD_THROTTLE, ret);
	case PERF_RECORD_LOST:
		return decode_lost(decoder, body, len_bytes, true, ret);
	case PERF_RECORD_LOST_SAMPLES:
		return decode_lost(decoder, body, len_bytes, false, ret);
	case VMOP_PERF_RECORD_CALLCHAIN_DEFERRED:
		/* Samples without stacks do not reset the capture. */
		return vmop_perf_deferred_decode(body, len_bytes, ret,
						 decoder->stack_sample_type ? capture : NULL);
	default:
		ret->type = VMOP_RECORD_UNHANDLED;
		ret->unhandled_type = header->type;
		return true;
	}
}

enum vmop_perf_decoded vmop_perf_record_decode(const struct vmop_perf_decoder *decoder,
					       const struct perf_event_header *header,
					       struct vmop_record *ret,
					       struct vmop_perf_capture *capture)
{
	if (header->type == PERF_RECORD_SAMPLE)
		return decode_sample(decoder, header, ret, capture);
	if (capture)
		capture->is_here = false;
	size_t trailer_bytes =
		sizeof(struct trailer) + (decoder->has_identifier ? sizeof(uint64_t) : 0);
	if (header->size < sizeof(*header) + trailer_bytes)
		return VMOP_PERF_MALFORMED;
	size_t len_bytes = header->size - sizeof(*header) - trailer_bytes;
	const struct trailer *trailer = (const void *)((const uint8_t *)(header + 1) + len_bytes);
	ret->time_ns = trailer->time;
	if (!decode_body(decoder, header, len_bytes, ret, capture))
		return VMOP_PERF_MALFORMED;
	bool is_data =
		ret->type == VMOP_RECORD_MMAP && (header->misc & PERF_RECORD_MISC_MMAP_DATA) != 0;
	return is_data ? VMOP_PERF_NOT_WANTED : VMOP_PERF_DECODED;
}
