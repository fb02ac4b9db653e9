# SPDX-License-Identifier: GPL-2.0-or-later
# Attacks by an unprivileged user on a daemon that runs as root.
hostile_tests = \
	tests/hostile/file-hang.sh \
	tests/hostile/file-image.sh \
	tests/hostile/file-perf-map.sh
TESTS += $(hostile_tests)
EXTRA_DIST += $(hostile_tests)
check_PROGRAMS += tests/hostile/hang-fs
