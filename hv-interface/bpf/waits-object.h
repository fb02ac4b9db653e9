// SPDX-License-Identifier: GPL-2.0-or-later
/* The compiled BPF program of waits, an ELF file in this program's memory. */
#ifndef VMOP_HV_INTERFACE_BPF_WAITS_OBJECT_H
#define VMOP_HV_INTERFACE_BPF_WAITS_OBJECT_H

/* The file is [vmop_waits_object, vmop_waits_object_end). */
extern const char vmop_waits_object[], vmop_waits_object_end[];

#endif
