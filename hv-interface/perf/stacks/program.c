// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/program.h"

#include <stdlib.h>
#include <string.h>

/* Set *ret to a copy of reason, in place of an earlier one. */
static struct vmop_error *set_reason(char **ret, const char *reason)
{
	char *copy = strdup(reason);
	if (!copy)
		return &vmop_error_no_memory;
	free(*ret);
	*ret = copy;
	return NULL;
}

static void unload_if_unused(struct vmop_perf_program *program)
{
	if (program->unwinds || program->captures_guests)
		return;
	vmop_bpf_program_destroy(program->bpf);
	program->bpf = NULL;
}

struct vmop_error *vmop_perf_program_load(struct vmop_perf_program *program, bool unwinds,
					  bool captures_guests)
{
	struct vmop_bpf_request request = {.wants_unwinding = unwinds,
					   .wants_guests = captures_guests};
	if (!unwinds && !captures_guests)
		return NULL;
	struct vmop_error *err = vmop_bpf_program_load(&request, &program->bpf);
	program->unwinds = program->bpf && unwinds && !request.no_unwinding;
	program->captures_guests = program->bpf && captures_guests && !request.no_guests;
	if (!err && request.no_unwinding)
		err = set_reason(&program->no_unwinding, request.no_unwinding->message);
	if (!err && request.no_guests)
		err = set_reason(&program->no_guests, request.no_guests->message);
	vmop_error_destroy(request.no_unwinding);
	vmop_error_destroy(request.no_guests);
	return err;
}

void vmop_perf_program_deinit(struct vmop_perf_program *program)
{
	vmop_bpf_program_destroy(program->bpf);
	free(program->no_unwinding);
	free(program->no_guests);
	*program = (struct vmop_perf_program){0};
}

struct vmop_error *vmop_perf_program_leave_unwinding(struct vmop_perf_program *program,
						     const char *reason)
{
	program->unwinds = false;
	unload_if_unused(program);
	return set_reason(&program->no_unwinding, reason);
}

struct vmop_error *vmop_perf_program_leave_guests(struct vmop_perf_program *program,
						  const char *reason)
{
	program->captures_guests = false;
	unload_if_unused(program);
	return set_reason(&program->no_guests, reason);
}
