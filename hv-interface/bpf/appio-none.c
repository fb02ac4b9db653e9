// SPDX-License-Identifier: GPL-2.0-or-later
/* A vmop that was built without libbpf. */
#include "config.h"

#include "hv-interface/bpf/appio.h"

struct vmop_error *vmop_appio_create(bool has_times, struct vmop_appio **ret)
{
	(void)has_times;
	*ret = NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without BPF programs");
}

struct vmop_error *vmop_appio_adopt(struct vmop_appio *appio, pid_t pid, bool on_exec)
{
	(void)appio;
	(void)pid;
	(void)on_exec;
	return NULL;
}

void vmop_appio_destroy(struct vmop_appio *appio)
{
	(void)appio;
}

void vmop_appio_stop(struct vmop_appio *appio)
{
	(void)appio;
}

struct vmop_error *vmop_appio_read(struct vmop_appio *appio, const struct vmop_appio_sink *sink,
				   struct vmop_appio_facts *ret)
{
	(void)appio;
	(void)sink;
	*ret = (struct vmop_appio_facts){0};
	return NULL;
}
