// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/log.h"

int vmop_bpf_log_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	(void)level;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			vmop_log(VMOP_LOG_DEBUG, "BPF: %s", line);
	}
	free(text);
	return 0;
}
