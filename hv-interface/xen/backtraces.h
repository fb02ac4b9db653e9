// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether Xen may be made to add backtraces to its samples (XENOPROF_set_backtrace), and of which
 * code they are true. Xen takes them in its NMI handler, by frame pointers
 * (xen/arch/x86/oprofile/backtrace.c of 4.16 and later):
 *
 * - Of a PV domain's code it copies the frames as any hypercall's argument; a fault ends the
 *   backtrace. The backtrace of kernel code never goes on in user code.
 * - Of an HVM or PVH domain's code, also dom0's, it does so as well, which takes the locks of that
 * domain's memory map. Another CPU that holds such a lock may wait for this one: the machine hangs.
 * So there are no backtraces while such a domain is sampled.
 * - Of its own code it reads the frames directly, if it is built with CONFIG_FRAME_POINTER, and
 *   checks them against the stack pointer only. At a system call the first instructions of Xen run
 *   on the caller's stack, with the caller's frame pointer: Xen then reads any page of the
 * caller's, and a page that is not mapped, or SMAP, ends in a panic. So there are no backtraces
 * from a Xen that is built so. Releases are built without, and have no callers of Xen's own code.
 * - Of code that keeps other values in the frame pointer's register the frames mean nothing. A
 *   kernel with ORC tables is such code. If the value is the address of a device's register that is
 *   mapped, Xen reads the device; only the user can decide about that (vmopd(8)).
 *
 * The depth is one number for all domains, and stays until XENOPROF_shutdown.
 */
#ifndef VMOP_HV_INTERFACE_XEN_BACKTRACES_H
#define VMOP_HV_INTERFACE_XEN_BACKTRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/source.h"
#include "hv-interface/xen/link.h"
#include "hv-interface/xen/lists.h"
#include "hv-interface/xen/transport.h"

struct vmop_xen_backtraces {
	struct vmop_stack_options stacks; /* mode OFF or FP */
	char *note;			  /* NULL: none */
	bool has_kernel_frames;		  /* this domain's kernel keeps frame pointers */
	bool is_unsafe;			  /* a domain on the lists forbids backtraces */
};

/*
 * Choose the stacks for a set-up. link answers questions in dom0; NULL: no backtraces there. An
 * active domain gets what dom0 takes. Free *ret with _deinit, which all zero needs not.
 */
struct vmop_error *vmop_xen_backtraces_choose(const struct vmop_source_setup *setup,
					      const struct vmop_xen_machine *machine,
					      bool has_tasks, struct vmop_xen_link *link,
					      struct vmop_xen_backtraces *ret);
void vmop_xen_backtraces_deinit(struct vmop_xen_backtraces *backtraces);

/*
 * Set is_unsafe: whether dom0 or a domain on the lists, as far as Xen has taken it, is HVM or PVH.
 * The first time it is, a warning is logged. Nothing happens without stacks, or in a domU.
 */
void vmop_xen_backtraces_check(struct vmop_xen_backtraces *backtraces, struct vmop_xen_link *link,
			       const struct vmop_xen_lists *lists);

/* Return the depth to set in Xen; 0: samples have no callers now. */
uint32_t vmop_xen_backtraces_depth(const struct vmop_xen_backtraces *backtraces);

/* Return the note of vmop_source_stacks, or NULL. */
const char *vmop_xen_backtraces_note(const struct vmop_xen_backtraces *backtraces);

/* Return NULL if this Xen takes backtraces safely, or the reason why not. */
const char *vmop_xen_backtraces_refusal(struct vmop_xen_link *link);

/*
 * Return whether a configuration of Xen's build, compressed by gzip, has the option ("CONFIG_X").
 * Set *ret_is_readable to false if it is no such text. The input is untrusted.
 */
bool vmop_xen_config_has(const void *gzip, size_t len_bytes, const char *option,
			 bool *ret_is_readable);

/*
 * Return whether the kernel of this domain may keep frame pointers: its symbols, in
 * root/proc/kallsyms, are readable and have no ORC tables.
 */
bool vmop_xen_kernel_has_frame_pointers(const char *root);

#endif
