# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by check: the packages under a systemd that is pid 1 of a container. Service, upgrade, watchdog, journal,
# timer, removal.
# shellcheck disable=SC2154 # of lib.sh and check

# state: print a member of vmopd's status.
state() {
	inside vmopcontrol --status --json 2>/dev/null | sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p"
}
daemon_version() {
	inside vmopcontrol --status --json | sed -n 's/^    "version": "\(.*\)",*$/\1/p'
}
main_pid() {
	inside systemctl show -p MainPID --value vmopd.service
}
is_sampling() {
	[ "$(state state)" = sampling ]
}
has_new_pid() {
	[ "$(main_pid)" != "$1" ] && [ "$(main_pid)" != 0 ]
}
# schema FILE: print the version of a session file's schema (SQLite's user_version).
schema() {
	od -An -tu1 -j63 -N1 "$root/var/lib/vmop/$1" | tr -d ' '
}
# journal UNIT PRIORITY: print the unit's messages of that priority and above.
journal() {
	inside journalctl -q --no-pager -o cat -u "$1" -p "$2"
}
# record SECONDS: sample a known load for so long, and check that it is in the report of the current session.
record() {
	inside timeout "$1" sha256sum /dev/zero || true
	inside vmopcontrol --dump >/dev/null
	expect 0 "sha256sum" inside vmopreport --by=task
}

# shellcheck source=tests/packages/systemd-service.sh
. "$src/tests/packages/systemd-service.sh"
# shellcheck source=tests/packages/systemd-upgrade.sh
. "$src/tests/packages/systemd-upgrade.sh"
# shellcheck source=tests/packages/systemd-nightly.sh
. "$src/tests/packages/systemd-nightly.sh"

step "a tree of Debian $VMOP_DEBIAN_SUITE, with systemd"
base_tree "$root"
files >"$work/before"
put "$deb"
boot
inside systemctl --version | head -n 1
check_upgrade
check_service
check_hardening
check_memory_limit
check_nightly
check_removal
power_off
rm -rf --one-file-system "$root"
