// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The colours and patterns of charts.
 *
 * The fills of two series differ in their pattern, or else in lightness and, for readers with any
 * kind of colour blindness, in colour; so they stay apart in a grey print, too.  The colours are
 * those of Okabe and Ito ("Color Universal Design", 2008).
 */
#ifndef VMOP_OPREPORT_CHARTS_PALETTE_H
#define VMOP_OPREPORT_CHARTS_PALETTE_H

#include <stddef.h>

struct vmop_color {
	double red, green, blue; /* sRGB, 0 to 1 */
};

enum vmop_pattern {
	VMOP_PATTERN_SOLID,
	VMOP_PATTERN_SLASH,
	VMOP_PATTERN_DOTS,
	VMOP_PATTERN_BACKSLASH,
	VMOP_PATTERN_HORIZONTAL,
	VMOP_PATTERN_CROSS,
	VMOP_PATTERN_VERTICAL,
	VMOP_PATTERN_GRID,
	VMOP_PATTERN_RINGS, /* only of the rest */
	VMOP_N_PATTERNS,
};

struct vmop_fill {
	struct vmop_color color;
	enum vmop_pattern pattern;
};

/* The number of fills that stay apart. */
#define VMOP_PALETTE_FILLS 22

extern const struct vmop_color vmop_color_text, vmop_color_faint, vmop_color_line, vmop_color_page;

/* Return the fill of series i, in [0, VMOP_PALETTE_FILLS). */
struct vmop_fill vmop_palette_fill(size_t i);

/* Return the fill of what sums the rest. */
struct vmop_fill vmop_palette_rest(void);

/* The number of steps in the ramp of heat maps. */
#define VMOP_RAMP_STEPS 32

/* Return the colour of a step in [0, VMOP_RAMP_STEPS): lightness falls evenly from step to step. */
struct vmop_color vmop_palette_ramp(size_t step);

/* Return the lightness L* of a colour, 0 to 100 (CIE 1976). */
double vmop_color_lightness(struct vmop_color color);

#endif
