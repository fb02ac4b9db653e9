// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words of the project as numbers: what a session file, the daemon and
 * the readers mean by domain, mode, bill and certainty.  The values are stored
 * in session files: append, never renumber.
 */
#ifndef VMOP_DOMAIN_H
#define VMOP_DOMAIN_H

enum vmop_domain_kind {
	VMOP_DOMAIN_HOST = 0,	    /* the machine itself, or Xen's dom0 */
	VMOP_DOMAIN_HYPERVISOR = 1, /* Xen; on KVM it is part of the host's kernel */
	VMOP_DOMAIN_PASSIVE = 2,    /* a guest that runs nothing of ours */
	VMOP_DOMAIN_ACTIVE = 3,	    /* a guest that runs a vmop agent */
	VMOP_DOMAIN_OPAQUE = 4,	    /* gives no instruction pointer (SEV-ES, TDX) */
	VMOP_DOMAIN_UNSELECTED = 5, /* a guest that the set-up leaves out */
	/* A guest of which no samples can be had, or none that are known to be its own. */
	VMOP_DOMAIN_UNSAMPLED = 6,
};

/*
 * The name of the one of that kind which has samples: those of all domains of that machine which
 * the source does not tell apart.
 */
#define VMOP_DOMAIN_SOME_NAME "[some domain]"

/* The host is always domain 0; guests are numbered from 1 within a session. */
#define VMOP_DOMAIN_ID_HOST 0

/* The processor mode that a sample was taken in. */
enum vmop_mode {
	VMOP_MODE_UNKNOWN = 0,
	VMOP_MODE_HYPERVISOR = 1, /* Xen, or the host's kernel on a vCPU thread (KVM at work) */
	VMOP_MODE_KERNEL = 2,
	VMOP_MODE_USER = 3,
};

/*
 * How sure the attribution of a sample is.  LIKELY and AMBIGUOUS are for guest
 * user samples, whose task perf does not tell.
 */
enum vmop_certainty {
	VMOP_CERTAIN_EXACT = 0,
	VMOP_CERTAIN_LIKELY = 1,    /* one candidate fits best */
	VMOP_CERTAIN_AMBIGUOUS = 2, /* several fit equally; the one named is one of them */
};
#define VMOP_N_CERTAINTIES 3

/*
 * Whose bill a sample is on, beside the domain whose code it is.  A guest has
 * four items: its own user and kernel code, the hypervisor's work for it, and
 * its VMM's (QEMU and its other threads, vhost workers).
 */
enum vmop_bill {
	VMOP_BILL_SELF = 0,	  /* the domain's own code */
	VMOP_BILL_HYPERVISOR = 1, /* host kernel on a vCPU thread of the billed guest */
	VMOP_BILL_VMM = 2,	  /* VMM user code, other VMM threads, vhost */
};

enum vmop_image_kind {
	VMOP_IMAGE_NONE = 0,	     /* no image: see its name, "[...]", for why */
	VMOP_IMAGE_FILE = 1,	     /* an ELF file mapped executable */
	VMOP_IMAGE_KERNEL = 2,	     /* offsets are from the kernel's _text */
	VMOP_IMAGE_MODULE = 3,	     /* offsets are from the module's core .text base */
	VMOP_IMAGE_BPF = 4,	     /* a BPF program; offsets from its start */
	VMOP_IMAGE_VDSO = 5,	     /* offsets are from the mapping's start */
	VMOP_IMAGE_ANON = 6,	     /* anonymous executable memory (JIT); offsets are addresses */
	VMOP_IMAGE_TRAMPOLINE = 7,   /* other generated kernel text (ftrace, kprobes) */
	VMOP_IMAGE_GUEST_KERNEL = 8, /* "[guest NAME kernel]"; offsets as for a kernel, or */
	VMOP_IMAGE_GUEST_USER = 9,   /* addresses where nothing is known of the guest */
	VMOP_IMAGE_HYPERVISOR = 10,  /* Xen's own text */
};

#endif
