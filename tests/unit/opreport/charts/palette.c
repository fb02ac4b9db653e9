// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills stay apart for readers of any colour vision, and in grey. */
#include "opreport/charts/palette.h"

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

/* The least distances of two fills with one pattern: of lightness, and of colour (CIE 1976). */
#define MIN_LIGHTNESS 12.0
#define MIN_DISTANCE 15.0

#define N_VISIONS 4

/* No deficiency, then protanopia, deuteranopia, tritanopia (Machado et al. 2009, severity 1). */
static const double visions[N_VISIONS][3][3] = {
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	{{0.152286, 1.052583, -0.204868},
	 {0.114503, 0.786281, 0.099216},
	 {-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968},
	 {0.280085, 0.672501, 0.047413},
	 {-0.011820, 0.042940, 0.968881}},
	{{1.255528, -0.076749, -0.178779},
	 {-0.078411, 0.930809, 0.147602},
	 {0.004733, 0.691367, 0.303900}},
};

struct lab {
	double l, a, b;
};

static double light_of(double channel)
{
	return channel <= 0.04045 ? channel / 12.92 : pow((channel + 0.055) / 1.055, 2.4);
}

static double root(double t)
{
	return t > 0.008856 ? cbrt(t) : 7.787 * t + 16 / 116.;
}

/* Return the colour as seen with a vision. */
static struct lab see(struct vmop_color color, unsigned vision)
{
	const double light[3] = {light_of(color.red), light_of(color.green), light_of(color.blue)};
	double seen[3];
	for (unsigned i = 0; i < 3; i++) {
		seen[i] = 0;
		for (unsigned k = 0; k < 3; k++)
			seen[i] += visions[vision][i][k] * light[k];
		seen[i] = fmin(fmax(seen[i], 0), 1);
	}
	double x = (.4124564 * seen[0] + .3575761 * seen[1] + .1804375 * seen[2]) / .95047;
	double y = .2126729 * seen[0] + .7151522 * seen[1] + .0721750 * seen[2];
	double z = (.0193339 * seen[0] + .1191920 * seen[1] + .9503041 * seen[2]) / 1.08883;
	return (struct lab){116 * root(y) - 16, 500 * (root(x) - root(y)),
			    200 * (root(y) - root(z))};
}

static double distance(struct lab x, struct lab y)
{
	return sqrt(pow(x.l - y.l, 2) + pow(x.a - y.a, 2) + pow(x.b - y.b, 2));
}

static void fills_stay_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < VMOP_PALETTE_FILLS; i++) {
		for (size_t k = 0; k < i; k++) {
			struct vmop_fill x = vmop_palette_fill(i), y = vmop_palette_fill(k);
			if (x.pattern != y.pattern)
				continue;
			double grey =
				fabs(vmop_color_lightness(x.color) - vmop_color_lightness(y.color));
			if (grey < MIN_LIGHTNESS)
				fail_msg("fills %zu and %zu: %g of lightness apart", i, k, grey);
			for (unsigned v = 0; v < N_VISIONS; v++)
				assert_true(distance(see(x.color, v), see(y.color, v)) >=
					    MIN_DISTANCE);
		}
		assert_true(vmop_palette_fill(i).pattern != vmop_palette_rest().pattern);
	}
}

static void lightness_is_that_of_the_standard(void **state)
{
	(void)state;
	assert_true(fabs(vmop_color_lightness((struct vmop_color){1, 1, 1}) - 100) < 0.01);
	assert_true(fabs(vmop_color_lightness((struct vmop_color){0, 0, 0})) < 0.01);
	for (size_t i = 0; i < VMOP_PALETTE_FILLS; i++) {
		struct vmop_color color = vmop_palette_fill(i).color;
		assert_true(fabs(vmop_color_lightness(color) - see(color, 0).l) < 0.05);
	}
}

static void the_ramp_darkens_in_every_vision(void **state)
{
	(void)state;
	for (size_t step = 1; step < VMOP_RAMP_STEPS; step++) {
		for (unsigned v = 0; v < N_VISIONS; v++) {
			double before = see(vmop_palette_ramp(step - 1), v).l;
			double fall = before - see(vmop_palette_ramp(step), v).l;
			if (fall < 0.8)
				fail_msg("step %zu, vision %u: lightness falls by %g", step, v,
					 fall);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_stay_apart),
		cmocka_unit_test(lightness_is_that_of_the_standard),
		cmocka_unit_test(the_ramp_darkens_in_every_vision),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
