#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The systemd unit, as systemd itself reads it.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed (Debian: systemd)"
unit=$work/vmopd.service
sed "s|^ExecStart=[^ ]*|ExecStart=$build/vmopd|" "$build/contrib/systemd/vmopd.service" >"$unit"
is "lines that name the program" "$(grep -c "^ExecStart=$build/vmopd" "$unit")" -eq 1
# It says of a line that it does not know, or can't make sense of, and goes on: silence is what is wanted.
expect 0 "" systemd-analyze verify --man=no "$unit"
is "complaints about it" "$(grep -c "vmopd" "$work/out")" -eq 0
# The test can fail.
sed 's/^Type=notify/Type=notified\nNoSuchKey=1/' "$unit" >"$work/bad.service"
systemd-analyze verify --man=no "$work/bad.service" >"$work/out" 2>&1 || true
is "complaints about a bad one" "$(grep -c "bad.service:" "$work/out")" -ge 2
finish
