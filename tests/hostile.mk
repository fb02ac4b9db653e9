# SPDX-License-Identifier: GPL-2.0-or-later
# Attacks by an unprivileged user on a daemon that runs as root.
hostile_tests = \
	tests/hostile/control-clients.sh
TESTS += $(hostile_tests)
EXTRA_DIST += $(hostile_tests) tests/hostile/common.sh
check_PROGRAMS += tests/hostile/control-attack
