# SPDX-License-Identifier: GPL-2.0-or-later
# Attacks by an unprivileged user on programs that root runs, each in directories of its own.
hostile_tests = \
	tests/hostile/control-clients.sh \
	tests/hostile/file-hang.sh \
	tests/hostile/file-image.sh \
	tests/hostile/file-jitdump.sh \
	tests/hostile/file-perf-map.sh \
	tests/hostile/session-journal.sh \
	tests/hostile/session-kinds.sh \
	tests/hostile/session-locks.sh \
	tests/hostile/session-mode.sh
TESTS += $(hostile_tests)
EXTRA_DIST += $(hostile_tests) tests/hostile/common.sh tests/hostile/hang-common.sh
check_PROGRAMS += tests/hostile/control-attack tests/hostile/hang-fs tests/hostile/hold-locks
