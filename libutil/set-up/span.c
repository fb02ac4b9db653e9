// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/set-up/span.h"

#include <inttypes.h>
#include <stdio.h>

#include "libutil/clock.h"

void vmop_span_text(uint64_t ns, struct vmop_span_text *ret)
{
	uint64_t seconds = ns / VMOP_NS_PER_S;
	uint64_t divisor = ns % VMOP_NS_PER_S	  ? 0
			   : !seconds		  ? 1
			   : seconds % 86400 == 0 ? 86400
			   : seconds % 3600 == 0  ? 3600
			   : seconds % 60 == 0	  ? 60
						  : 1;
	const char *unit = divisor == 86400  ? "d"
			   : divisor == 3600 ? "h"
			   : divisor == 60   ? "m"
					     : "s";
	if (divisor)
		snprintf(ret->text, sizeof(ret->text), "%" PRIu64 "%s", seconds / divisor, unit);
	else
		snprintf(ret->text, sizeof(ret->text), "%" PRIu64 "ms", ns / VMOP_NS_PER_MS);
}
