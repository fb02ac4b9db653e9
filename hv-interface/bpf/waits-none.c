// SPDX-License-Identifier: GPL-2.0-or-later
/* The build without libbpf, or without a compiler of BPF programs: no waits. */
#include <stddef.h>

#include "hv-interface/bpf/waits.h"

struct vmop_error *vmop_waits_create(struct vmop_waits **ret)
{
	*ret = NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without BPF programs");
}

void vmop_waits_destroy(struct vmop_waits *waits)
{
	(void)waits;
}

const char *vmop_waits_no_exits(const struct vmop_waits *waits)
{
	(void)waits;
	return NULL;
}

bool vmop_waits_put_guest(struct vmop_waits *waits, uint32_t pid, uint32_t guest)
{
	(void)waits;
	(void)pid;
	(void)guest;
	return false;
}

void vmop_waits_remove_guest(struct vmop_waits *waits, uint32_t pid)
{
	(void)waits;
	(void)pid;
}

bool vmop_waits_watch(struct vmop_waits *waits, uint32_t tid, uint32_t guest, uint32_t vcpu)
{
	(void)waits;
	(void)tid;
	(void)guest;
	(void)vcpu;
	return false;
}

void vmop_waits_retain(struct vmop_waits *waits)
{
	(void)waits;
}

void vmop_waits_take(struct vmop_waits *waits, const struct vmop_waits_sink *sink)
{
	(void)waits;
	(void)sink;
}

void vmop_waits_facts(const struct vmop_waits *waits, struct vmop_waits_facts *ret)
{
	(void)waits;
	*ret = (struct vmop_waits_facts){0};
}

enum vmop_exit_machine vmop_waits_machine(const struct vmop_waits *waits)
{
	(void)waits;
	return VMOP_EXIT_SVM;
}
