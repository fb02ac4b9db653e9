# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += tests/soak/run tests/soak/order tests/soak/slope

# A long session under load. Not part of any check.
.PHONY: soak
soak: all tests/bench/busy$(EXEEXT) tests/bench/cpu-time$(EXEEXT) tests/integration/fork-storm$(EXEEXT)
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/soak/run
