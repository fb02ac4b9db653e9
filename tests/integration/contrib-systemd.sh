#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Check the systemd unit with systemd's own parser.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed (Debian: systemd)"
unit=$work/vmopd.service
sed "s|^ExecStart=[^ ]*|ExecStart=$build/vmopd|" "$build/contrib/systemd/vmopd.service" >"$unit"
is "lines that name the program" "$(grep -c "^ExecStart=$build/vmopd" "$unit")" -eq 1
# systemd warns about unknown keys and invalid values and continues: expect no output.
expect 0 "" systemd-analyze verify --man=no "$unit"
is "complaints about it" "$(grep -c "vmopd" "$work/out")" -eq 0
# Check that the test can fail.
sed 's/^Type=notify/Type=notified\nNoSuchKey=1/' "$unit" >"$work/bad.service"
systemd-analyze verify --man=no "$work/bad.service" >"$work/out" 2>&1 || true
is "complaints about a bad one" "$(grep -c "bad.service:" "$work/out")" -ge 2
finish
