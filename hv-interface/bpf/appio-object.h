// SPDX-License-Identifier: GPL-2.0-or-later
/* The compiled BPF program of application I/O, an ELF file in this program's memory. */
#ifndef VMOP_HV_INTERFACE_BPF_APPIO_OBJECT_H
#define VMOP_HV_INTERFACE_BPF_APPIO_OBJECT_H

/* The file is [vmop_appio_object, vmop_appio_object_end). */
extern const char vmop_appio_object[], vmop_appio_object_end[];

#endif
