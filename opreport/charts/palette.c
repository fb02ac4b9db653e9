// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/palette.h"

#include <math.h>

#define RGB(red, green, blue)                                                                      \
	{                                                                                          \
		red / 255., green / 255., blue / 255.                                              \
	}

const struct vmop_color vmop_color_text = RGB(20, 20, 20), vmop_color_faint = RGB(90, 90, 90),
			vmop_color_line = RGB(205, 205, 205), vmop_color_page = RGB(255, 255, 255);

enum color_name { BLUE, ORANGE, DARK, YELLOW, GREEN, SKY, VERMILLION, PURPLE };

static const struct vmop_color colors[] = {
	[BLUE] = RGB(0, 114, 178),	[ORANGE] = RGB(230, 159, 0),   [DARK] = RGB(40, 40, 40),
	[YELLOW] = RGB(240, 228, 66),	[GREEN] = RGB(0, 158, 115),    [SKY] = RGB(86, 180, 233),
	[VERMILLION] = RGB(213, 94, 0), [PURPLE] = RGB(204, 121, 167),
};

/* Found by search: two colours of one pattern are at least 12 of L* apart. */
static const struct {
	enum color_name color;
	enum vmop_pattern pattern;
} fills[VMOP_PALETTE_FILLS] = {
	{BLUE, VMOP_PATTERN_SOLID},	  {ORANGE, VMOP_PATTERN_SOLID},
	{DARK, VMOP_PATTERN_SOLID},	  {YELLOW, VMOP_PATTERN_SOLID},
	{GREEN, VMOP_PATTERN_SLASH},	  {SKY, VMOP_PATTERN_SLASH},
	{VERMILLION, VMOP_PATTERN_DOTS},  {PURPLE, VMOP_PATTERN_BACKSLASH},
	{BLUE, VMOP_PATTERN_BACKSLASH},	  {ORANGE, VMOP_PATTERN_DOTS},
	{DARK, VMOP_PATTERN_SLASH},	  {YELLOW, VMOP_PATTERN_SLASH},
	{GREEN, VMOP_PATTERN_HORIZONTAL}, {SKY, VMOP_PATTERN_HORIZONTAL},
	{VERMILLION, VMOP_PATTERN_CROSS}, {PURPLE, VMOP_PATTERN_VERTICAL},
	{BLUE, VMOP_PATTERN_VERTICAL},	  {ORANGE, VMOP_PATTERN_CROSS},
	{DARK, VMOP_PATTERN_DOTS},	  {YELLOW, VMOP_PATTERN_DOTS},
	{GREEN, VMOP_PATTERN_GRID},	  {SKY, VMOP_PATTERN_GRID},
};

struct vmop_fill vmop_palette_fill(size_t i)
{
	return (struct vmop_fill){colors[fills[i].color], fills[i].pattern};
}

struct vmop_fill vmop_palette_rest(void)
{
	return (struct vmop_fill){RGB(200, 200, 200), VMOP_PATTERN_RINGS};
}

/*
 * Points of the ramp from light to dark: the order of matplotlib's viridis, reversed, so that the
 * most is the darkest on a white page.
 */
static const struct vmop_color ramp[] = {
	RGB(253, 231, 37), RGB(160, 218, 57), RGB(74, 193, 109), RGB(31, 161, 135),
	RGB(39, 127, 142), RGB(54, 92, 141),  RGB(70, 50, 126),	 RGB(68, 1, 84),
};

static double mix(double from, double to, double share)
{
	return from + (to - from) * share;
}

struct vmop_color vmop_palette_ramp(size_t step)
{
	size_t n = sizeof(ramp) / sizeof(*ramp);
	double at = (double)step / (VMOP_RAMP_STEPS - 1) * (double)(n - 1);
	size_t below = (size_t)at < n - 1 ? (size_t)at : n - 2;
	double share = at - (double)below;
	const struct vmop_color *from = &ramp[below], *to = &ramp[below + 1];
	return (struct vmop_color){mix(from->red, to->red, share),
				   mix(from->green, to->green, share),
				   mix(from->blue, to->blue, share)};
}

/* Return a channel of sRGB as a share of light (IEC 61966-2-1). */
static double light_of(double channel)
{
	return channel <= 0.04045 ? channel / 12.92 : pow((channel + 0.055) / 1.055, 2.4);
}

double vmop_color_lightness(struct vmop_color color)
{
	double light = 0.2126729 * light_of(color.red) + 0.7151522 * light_of(color.green) +
		       0.0721750 * light_of(color.blue);
	return light > 0.008856 ? 116 * cbrt(light) - 16 : 903.3 * light;
}
