// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/waits-object.h"

/* The assembler reads the file that the build has made: VMOP_WAITS_OBJECT. libelf needs alignment.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl vmop_waits_object, vmop_waits_object_end\n"
	".hidden vmop_waits_object, vmop_waits_object_end\n"
	"vmop_waits_object:\n"
	".incbin \"" VMOP_WAITS_OBJECT "\"\n"
	"vmop_waits_object_end:\n"
	".byte 0\n"
	".popsection\n");
