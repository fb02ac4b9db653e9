#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes ./configure out of configure.ac.
set -eu
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --install --force --warnings=all,no-obsolete,no-portability
