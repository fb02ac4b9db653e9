// SPDX-License-Identifier: GPL-2.0-or-later
/* In place of net.c, in a build without libmnl. */
#include "libvmop/stat/net/net.h"

struct vmop_error *vmop_net_run(const struct vmop_stat_settings *settings,
				struct vmop_stat_writer *writer, int *ret_status)
{
	(void)settings, (void)writer, (void)ret_status;
	return vmop_error_new(VMOP_ERROR_CANT, "this vmopstat was built without libmnl, which "
					       "--net needs");
}
