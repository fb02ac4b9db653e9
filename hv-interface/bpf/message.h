// SPDX-License-Identifier: GPL-2.0-or-later
/* libbpf's own messages in the log of the program. */
#ifndef VMOP_HV_INTERFACE_BPF_MESSAGE_H
#define VMOP_HV_INTERFACE_BPF_MESSAGE_H

#include <bpf/libbpf.h>
#include <stdarg.h>

/* Log a message, the verifier's log among them, line by line: a callback of libbpf_set_print(). */
int vmop_bpf_log_message(enum libbpf_print_level level, const char *format, va_list args);

#endif
