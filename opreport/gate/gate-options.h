// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of a gate: --fail-if, --fail-if-changed BASELINE, and --quiet. */
#ifndef VMOP_OPREPORT_GATE_OPTIONS_H
#define VMOP_OPREPORT_GATE_OPTIONS_H

#include <argp.h>

#include "opreport/gate/bound.h"
#include "opreport/gate/change.h"

#define VMOP_GATE_BOUNDS_MAX 256

/* A zeroed one has no gates. */
struct vmop_gate_options {
	struct vmop_bound *bounds; /* n */
	size_t n_bounds, capacity;
	bool has_change;
	struct vmop_change_bound change;
	bool normalised;      /* a baseline with another period is accepted */
	const char *baseline; /* the argument behind --fail-if-changed; not owned */
	bool quiet;
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/* A child parser; its input is a struct vmop_gate_options. */
extern const struct argp vmop_gate_argp;

/* Parse "Npp", "N%" or both, and "normalised", joined by commas. */
struct vmop_error *vmop_gate_change_parse(const char *text, struct vmop_gate_options *ret);
void vmop_gate_options_deinit(struct vmop_gate_options *options);

/* Return whether there is a gate. */
static inline bool vmop_gate_is_wanted(const struct vmop_gate_options *options)
{
	return options->n_bounds || options->has_change;
}

#endif
