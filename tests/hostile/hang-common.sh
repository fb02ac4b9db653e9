# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154 # variables for those who source it, and of integration/common.sh
# Sourced after integration/common.sh by the tests of a file system that never replies to the daemon.
limit=30 # seconds, for vmopcontrol
server=
mount_point=$work/hanging

end_server() {
	ended_with=$?
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	umount -l "$mount_point" 2>/dev/null || :
	server=
	return $ended_with
}
trap 'end_server; clean_up' EXIT

# mount_hanging PROGRAM: mount the file system at $mount_point. It has copies of the program under the
# names program-*, and its server is process $server. Fails with the reason in $work/server.
mount_hanging() {
	mkdir "$mount_point"
	"$build/tests/hostile/hang-fs" "$mount_point" "$1" >"$work/server" 2>&1 &
	server=$!
	until grep -q . "$work/server" || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
	grep -q mounted "$work/server"
}

# as_user COMMAND...: run it as an unprivileged user.
as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
