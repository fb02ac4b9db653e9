# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += libstack/table.h libstack/unwind.h
