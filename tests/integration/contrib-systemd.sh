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
for name in vmop-nightly.service vmop-nightly.timer; do
	from=$build
	[ -e "$from/contrib/systemd/$name" ] || from=$src
	sed 's|^ExecStart=.*|ExecStart=/bin/true|' "$from/contrib/systemd/$name" >"$work/$name"
	expect 0 "" systemd-analyze verify --man=no "$work/$name"
	is "complaints about it" "$(grep -c "$name" "$work/out")" -eq 0
done
# The unit of guests. The program of the tree is no static one, for which the unit is.
sed "s|^ExecStart=[^ ]*|ExecStart=$build/vmopd|" "$build/contrib/guest/vmop-guest.service" >"$work/vmop-guest.service"
is "lines that name the program" "$(grep -c "^ExecStart=$build/vmopd .*--active" "$work/vmop-guest.service")" -eq 1
expect 0 "" systemd-analyze verify --man=no "$work/vmop-guest.service"
is "complaints about it" "$(grep -c "vmop-guest" "$work/out")" -eq 0
# 10 is a service without any sandbox; vmopd.service, which is root's, has 7.
systemd-analyze security --offline=yes --no-pager "$work/vmop-guest.service" >"$work/security"
exposure=$(sed -n 's/.*Overall exposure level for .*: \([0-9]*\)\.[0-9]* .*/\1/p' "$work/security")
is "the exposure of the unit of guests" "${exposure:-unknown}" -le 4
expect 0 "*-*-* 00:02:00" systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' "$work/vmop-nightly.timer")"
# The snippets, applied below a directory.
if command -v systemd-sysusers >/dev/null && [ "$(id -u)" -eq 0 ]; then
	mkdir -p "$work/root/etc"
	expect 0 "" systemd-sysusers --root="$work/root" "$src/contrib/systemd/sysusers.d/vmop.conf"
	expect 0 "vmop:" cat "$work/root/etc/group"
	# Users and groups of the root are those of its files.
	getent passwd root >"$work/root/etc/passwd"
	getent group root >>"$work/root/etc/group"
	expect 0 "" systemd-tmpfiles --root="$work/root" --create "$build/contrib/systemd/tmpfiles.d/vmop.conf"
	expect 0 "" systemd-sysusers --root="$work/root" "$build/contrib/guest/vmop-guest.conf"
	expect 0 "vmop-guest:" cat "$work/root/etc/passwd"
	state=$(sed -n 's|^d \([^ ]*/lib/vmop\) .*|\1|p' "$build/contrib/systemd/tmpfiles.d/vmop.conf")
	is "the session directory" "$(stat -c '%u %g %a' "$work/root$state")" = \
		"0 $(sed -n 's/^vmop:[^:]*:\([0-9]*\):.*/\1/p' "$work/root/etc/group") 2755"
fi
# Check that the test can fail.
sed 's/^Type=notify/Type=notified\nNoSuchKey=1/' "$unit" >"$work/bad.service"
systemd-analyze verify --man=no "$work/bad.service" >"$work/out" 2>&1 || true
is "complaints about a bad one" "$(grep -c "bad.service:" "$work/out")" -ge 2
finish
