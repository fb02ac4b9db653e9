# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += tests/soak/run tests/soak/order tests/soak/slope
if HAVE_CMOCKA
soak_power_cut = tests/unit/libdb/power-cut$(EXEEXT)
endif

# A long session under load, and a power cut at every write. Not part of any check.
.PHONY: soak
soak: all tests/bench/busy$(EXEEXT) tests/bench/cpu-time$(EXEEXT) tests/integration/fork-storm$(EXEEXT) $(soak_power_cut)
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/soak/run
	test -z '$(soak_power_cut)' || VMOP_POWER_CUTS=all $(abs_top_builddir)/$(soak_power_cut)
