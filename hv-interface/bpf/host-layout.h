// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the running kernel keeps what the BPF program reads of a KVM guest. The type information
 * (BTF) of the kernel and of KVM's modules has the offsets; every user may read it. The program is
 * not relocated by libbpf, because finding a module's types in the kernel needs CAP_SYS_ADMIN.
 */
#ifndef VMOP_HV_INTERFACE_BPF_HOST_LAYOUT_H
#define VMOP_HV_INTERFACE_BPF_HOST_LAYOUT_H

#include <stdbool.h>

#include "hv-interface/bpf/layout.h"
#include "libutil/error.h"

/*
 * Find the running kernel's layout, in /sys/kernel/btf. Takes some 20 ms. VMOP_ERROR_CANT: KVM is
 * not there, or has not what the program needs; the message completes "guest contexts: not
 * captured, because ...".
 */
struct vmop_error *vmop_host_layout_find(struct vmop_bpf_host_layout *ret);

/* Find the layout of a kernel of that machine in root/sys/kernel/btf, without its page_shift. */
struct vmop_error *vmop_host_layout_find_of(const char *root, bool is_arm64,
					    struct vmop_bpf_host_layout *ret);

/* Return the name of an enum vmop_bpf_virtualisation. */
const char *vmop_host_layout_name(uint32_t virtualisation);

#endif
