// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/source.h"

struct vmop_error *vmop_source_open(const struct vmop_source_ops *ops,
				    const struct vmop_source_setup *setup, struct vmop_source **ret)
{
	return ops->open(setup, ret);
}

void vmop_source_close(struct vmop_source *source)
{
	if (source)
		source->ops->close(source);
}

struct vmop_error *vmop_source_start(struct vmop_source *source)
{
	return source->ops->start(source);
}

struct vmop_error *vmop_source_stop(struct vmop_source *source)
{
	return source->ops->stop(source);
}

struct vmop_error *vmop_source_drain(struct vmop_source *source, uint64_t up_to_ns,
				     const struct vmop_sink *sink, bool *ret_ended)
{
	bool ended = false;
	struct vmop_error *err = source->ops->drain(source, up_to_ns, sink, &ended);
	if (ret_ended)
		*ret_ended = ended;
	return err;
}

int vmop_source_poll_fd(const struct vmop_source *source)
{
	return source->ops->poll_fd(source);
}

struct vmop_error *vmop_source_check_cpus(struct vmop_source *source)
{
	return source->ops->check_cpus(source);
}

struct vmop_error *vmop_source_set_domains(struct vmop_source *source,
					   struct vmop_source_domain *domains, size_t n)
{
	return vmop_source_takes_domains(source) ? source->ops->set_domains(source, domains, n)
						 : NULL;
}

bool vmop_source_takes_domains(const struct vmop_source *source)
{
	return source->ops->set_domains && !source->is_commanded;
}

enum vmop_source_reach vmop_source_reach(const struct vmop_source *source)
{
	return source->reach;
}

struct vmop_error *vmop_source_pause(struct vmop_source *source)
{
	return source->is_commanded ? source->ops->pause(source) : NULL;
}

struct vmop_error *vmop_source_resume(struct vmop_source *source)
{
	return source->is_commanded ? source->ops->resume(source) : NULL;
}

bool vmop_source_has_rate(const struct vmop_source *source)
{
	return source->ops->set_rate != NULL;
}

struct vmop_error *vmop_source_set_rate(struct vmop_source *source, unsigned divisor,
					const char *const *notes)
{
	return source->ops->set_rate(source, divisor, notes);
}

uint64_t vmop_source_agent_session(const struct vmop_source *source, uint32_t domain)
{
	return source->ops->agent_session ? source->ops->agent_session(source, domain) : 0;
}

const char *vmop_source_transport(const struct vmop_source *source)
{
	return source->ops->transport ? source->ops->transport(source) : NULL;
}

const struct vmop_stack_options *vmop_source_stacks(const struct vmop_source *source,
						    const char **ret_note)
{
	static const struct vmop_stack_options none = {.mode = VMOP_STACKS_OFF};
	const char *note = NULL;
	const struct vmop_stack_options *stacks =
		source->ops->stacks ? source->ops->stacks(source, &note) : &none;
	if (ret_note)
		*ret_note = note;
	return stacks;
}

struct vmop_unwind_maps *vmop_source_unwind_maps(struct vmop_source *source)
{
	return source->ops->unwind_maps ? source->ops->unwind_maps(source) : NULL;
}

struct vmop_guest_maps *vmop_source_guest_maps(struct vmop_source *source, const char **ret_note)
{
	const char *note = "the source of samples can't";
	struct vmop_guest_maps *maps =
		source->ops->guest_maps ? source->ops->guest_maps(source, &note) : NULL;
	if (ret_note)
		*ret_note = maps ? NULL : note;
	return maps;
}

size_t vmop_source_n_events(const struct vmop_source *source)
{
	return source->ops->n_events(source);
}

const struct vmop_event_info *vmop_source_event(const struct vmop_source *source, size_t i)
{
	return source->ops->event(source, i);
}

void vmop_source_stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	source->ops->stats(source, ret);
}
