// SPDX-License-Identifier: GPL-2.0-or-later
/* The compiled BPF program, an ELF file in this program's memory. */
#ifndef VMOP_HV_INTERFACE_BPF_OBJECT_H
#define VMOP_HV_INTERFACE_BPF_OBJECT_H

/* The file is [vmop_bpf_object, vmop_bpf_object_end). */
extern const char vmop_bpf_object[], vmop_bpf_object_end[];

#endif
