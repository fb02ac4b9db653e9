// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/appio-object.h"

/* The assembler reads the file that the build has made: VMOP_APPIO_OBJECT. libelf needs alignment.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl vmop_appio_object, vmop_appio_object_end\n"
	".hidden vmop_appio_object, vmop_appio_object_end\n"
	"vmop_appio_object:\n"
	".incbin \"" VMOP_APPIO_OBJECT "\"\n"
	"vmop_appio_object_end:\n"
	".byte 0\n"
	".popsection\n");
