// SPDX-License-Identifier: GPL-2.0-or-later
/* The compiled BPF program of run times, an ELF file in this program's memory. */
#ifndef VMOP_HV_INTERFACE_BPF_RUN_TIME_OBJECT_H
#define VMOP_HV_INTERFACE_BPF_RUN_TIME_OBJECT_H

/* The file is [vmop_run_time_object, vmop_run_time_object_end). */
extern const char vmop_run_time_object[], vmop_run_time_object_end[];

#endif
