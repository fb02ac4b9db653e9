// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/object.h"

/* The assembler reads the file that the build has made: VMOP_BPF_OBJECT. libelf needs alignment. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl vmop_bpf_object, vmop_bpf_object_end\n"
	".hidden vmop_bpf_object, vmop_bpf_object_end\n"
	"vmop_bpf_object:\n"
	".incbin \"" VMOP_BPF_OBJECT "\"\n"
	"vmop_bpf_object_end:\n"
	".byte 0\n"
	".popsection\n");
