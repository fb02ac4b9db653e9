// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/run-time-object.h"

/* The assembler reads the file that the build has made: VMOP_RUN_TIME_OBJECT. libelf needs
 * alignment.
 */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl vmop_run_time_object, vmop_run_time_object_end\n"
	".hidden vmop_run_time_object, vmop_run_time_object_end\n"
	"vmop_run_time_object:\n"
	".incbin \"" VMOP_RUN_TIME_OBJECT "\"\n"
	"vmop_run_time_object_end:\n"
	".byte 0\n"
	".popsection\n");
