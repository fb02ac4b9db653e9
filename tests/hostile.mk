# SPDX-License-Identifier: GPL-2.0-or-later
# Attacks of an unprivileged user on what root runs, in directories of their own.
hostile_tests = \
	tests/hostile/session-journal.sh \
	tests/hostile/session-kinds.sh \
	tests/hostile/session-mode.sh
TESTS += $(hostile_tests)
EXTRA_DIST += $(hostile_tests) tests/hostile/common.sh
