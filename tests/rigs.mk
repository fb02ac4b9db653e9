# SPDX-License-Identifier: GPL-2.0-or-later
# Rigs: real kernels under emulation (tests/rigs/README.md).
EXTRA_DIST += tests/rigs/README.md tests/rigs/lib.sh tests/rigs/fetch tests/rigs/extract-vmlinux \
	tests/rigs/build-guest tests/rigs/capture-guest tests/rigs/guest/init tests/rigs/guest/hot.c \
	tests/rigs/guest/work.c tests/rigs/guest/work.h
