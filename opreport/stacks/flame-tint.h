// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another meaning for the colours of a flame graph: its maker chooses each box's class, and adds a
 * line to its tooltip.
 */
#ifndef VMOP_OPREPORT_STACKS_FLAME_TINT_H
#define VMOP_OPREPORT_STACKS_FLAME_TINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The classes of flamegraph.css: more in four strengths, less in four, and no difference. */
struct vmop_flame_tint {
	const char *class; /* "m1" to "m4", "l1" to "l4", "z" */
	/* "+ ", "- " or "", before the name: colours of print and of some eyes look alike. */
	const char *sign;
};

/* An entry of the legend. */
struct vmop_flame_legend {
	const char *class, *meaning;
};

struct vmop_flame_tints {
	const char *title;			/* of the picture; raw bytes */
	const struct vmop_flame_legend *legend; /* the last one has no class */
	/* Return the tint of a node; *ret_line is a line of its tooltip without line breaks. */
	struct vmop_flame_tint (*of)(void *arg, uint32_t node, char *ret_line, size_t line_bytes);
	void *arg;
};

#endif
