// SPDX-License-Identifier: GPL-2.0-or-later
/* The forms in which mangled names are shown. */
#ifndef VMOP_LIBSYM_DEMANGLE_FORM_H
#define VMOP_LIBSYM_DEMANGLE_FORM_H

enum vmop_demangle {
	VMOP_DEMANGLE_NONE,
	VMOP_DEMANGLE_SMART, /* without parameters (default) */
	VMOP_DEMANGLE_FULL,
};

#endif
