// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terms of the glossary as numbers: domain, mode, bill, certainty and kind of image. The daemon
 * writes them to session files, and readers read them back. Values are stored in session files:
 * append new ones, never renumber.
 */
#ifndef VMOP_DOMAIN_H
#define VMOP_DOMAIN_H

enum vmop_domain_kind {
	VMOP_DOMAIN_HOST = 0,	    /* the machine itself, or Xen's dom0 */
	VMOP_DOMAIN_HYPERVISOR = 1, /* Xen; on KVM it is part of the host's kernel */
	VMOP_DOMAIN_PASSIVE = 2,    /* a guest that runs no vmop code */
	VMOP_DOMAIN_ACTIVE = 3,	    /* a guest that runs a vmop agent */
	VMOP_DOMAIN_OPAQUE = 4,	    /* exposes no instruction pointer (SEV-ES, TDX) */
	VMOP_DOMAIN_UNSELECTED = 5, /* a guest that the set-up leaves out */
	/* A guest without samples, or without samples that are certainly its own. */
	VMOP_DOMAIN_UNSAMPLED = 6,
};

/*
 * The name of the one UNSAMPLED domain that has samples: the samples of all domains of the machine
 * that the source cannot distinguish.
 */
#define VMOP_DOMAIN_SOME_NAME "[some domain]"

/* The processor mode that a sample was taken in. */
enum vmop_mode {
	VMOP_MODE_UNKNOWN = 0,
	VMOP_MODE_HYPERVISOR = 1, /* Xen, or the host's kernel on a vCPU thread (KVM at work) */
	VMOP_MODE_KERNEL = 2,
	VMOP_MODE_USER = 3,
};

/*
 * How sure the attribution of a sample is. LIKELY and AMBIGUOUS occur only for samples of guests,
 * because perf does not report their task, and not every host captures their context.
 */
enum vmop_certainty {
	VMOP_CERTAIN_EXACT = 0,
	VMOP_CERTAIN_LIKELY = 1,    /* one candidate fits best */
	VMOP_CERTAIN_AMBIGUOUS = 2, /* several fit equally; the named one is one of them */
};
#define VMOP_N_CERTAINTIES 3

/*
 * The bill of a sample, which supplements the domain of its code. A guest has four items: its own
 * user code, its own kernel code, the hypervisor's work for it, and its VMM's work (QEMU and its
 * other threads, vhost workers).
 */
enum vmop_bill {
	VMOP_BILL_SELF = 0,	  /* the domain's own code */
	VMOP_BILL_HYPERVISOR = 1, /* host kernel on a vCPU thread of the billed guest */
	VMOP_BILL_VMM = 2,	  /* VMM user code, other VMM threads, vhost */
};

enum vmop_image_kind {
	VMOP_IMAGE_NONE = 0,	     /* no image: its name, "[...]", states the reason */
	VMOP_IMAGE_FILE = 1,	     /* an ELF file mapped executable */
	VMOP_IMAGE_KERNEL = 2,	     /* offsets are from the kernel's _text */
	VMOP_IMAGE_MODULE = 3,	     /* offsets are from the module's core .text base */
	VMOP_IMAGE_BPF = 4,	     /* a BPF program; offsets from its start */
	VMOP_IMAGE_VDSO = 5,	     /* offsets are from the mapping's start */
	VMOP_IMAGE_ANON = 6,	     /* generated code; offsets are addresses or in a jitdump */
	VMOP_IMAGE_TRAMPOLINE = 7,   /* other generated kernel text (ftrace, kprobes) */
	VMOP_IMAGE_GUEST_KERNEL = 8, /* "[guest NAME kernel]"; offsets as for a kernel, or */
	VMOP_IMAGE_GUEST_USER = 9,   /* addresses when the guest is unknown */
	VMOP_IMAGE_HYPERVISOR = 10,  /* Xen's own text */
};

#endif
