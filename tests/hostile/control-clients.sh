#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Hostile clients of the control socket. By default they cannot connect. If a group may read the
# status, no attack of its members disturbs sampling, root's requests or the daemon's end.
. "$(dirname "$0")/common.sh"
need_perf
attack=$build/tests/hostile/control-attack
as_evil test -x "$attack" || skip "user $evil_uid can't run $attack"
attackers=
# AddressSanitizer keeps up to 256 MiB of freed memory.
most_mib=200
[ -z "$sanitized" ] || most_mib=500
# begin HOW PATH: start the attack in the background and wait until it runs.
begin() {
	: >"$work/attack"
	# shellcheck disable=SC2086 # words
	$as_evil timeout 60 "$attack" "$1" "$2" >"$work/attack" 2>&1 &
	attackers="$attackers $!"
	last=$!
	until [ -s "$work/attack" ]; do
		kill -0 $last 2>/dev/null || break
		sleep 0.05
	done
}
end_attacks() {
	for pid in $attackers; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	attackers=
}
trap 'end_attacks; clean_up' EXIT

# -- only root can connect
expect 0 "" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"
is "the socket's mode" "$(stat -c %a "$VMOP_RUNDIR/vmopd.sock")" = 600
expect 1 "" as_evil timeout 5 "$attack" hold "$VMOP_RUNDIR/vmopd.sock"
refuse 3 "uid $evil_uid may not control vmopd" as_evil "$build/vmopcontrol" --stop

# -- the attacker cannot lock the pid file either, which would keep vmopd from starting after a kill
expect 1 "" as_evil timeout 5 "$attack" lock "$VMOP_RUNDIR/vmopd.pid"
begin lock "$VMOP_RUNDIR/vmopd.pid"
pid=$(daemon_pid)
kill -9 "$pid"
wait_gone "$pid"
sleep 0.2
expect 0 "sampling" bounded "$build/vmopcontrol" --start
end_attacks
expect 0 "" control --shutdown

# -- a group may read the status
group=$(getent group $evil_uid | cut -d: -f1)
if [ -n "$group" ]; then
	echo "status-group = $group" >>"$VMOP_CONFIG"
	for how in hold flood endless ask deaf deep; do
		expect 0 "sampling" bounded "$build/vmopcontrol" --start
		begin $how "$VMOP_RUNDIR/vmopd.sock"
		is "the attack by '$how'" "$(cat "$work/attack" | cut -d: -f1)" = "at work"
		before=$(member samples)
		expect 0 "sampling" bounded "$build/vmopcontrol" --status
		until [ "$(member samples)" -gt $((before + 100)) ]; do sleep 0.1; done
		is "records lost" "$(member lost)" -eq 0
		is "the daemon's memory, in MiB" "$(awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$(daemon_pid)/status")" -lt "$most_mib"
		# All those connections still exist.
		expect 0 "the session is in" bounded "$build/vmopcontrol" --shutdown
		is "the daemon after it" "$(daemon_pid)" = ""
		end_attacks
	done
else
	echo "not tested: a status-group, for there is none of id $evil_uid"
fi

# -- run directories that the attacker can change are refused in one line, and stay empty
evil=$work/evil
mkdir -m 755 "$evil" "$evil/below" && chown $evil_uid "$evil"
mkdir -m 1777 "$work/sticky"
as_evil mkdir "$work/sticky/his"
as_evil ln -s "$work" "$work/sticky/link"
mkdir -m 777 "$work/open"
while read -r dir said; do
	for option in --start --start-daemon --shutdown --status; do
		# A missing directory contains no daemon: not running.
		[ -e "$dir" ] || [ "${option#--start}" != "$option" ] || continue
		VMOP_RUNDIR=$dir refuse 3 "$said" bounded "$build/vmopcontrol" $option
	done
	VMOP_RUNDIR=$dir refuse 3 "$said" bounded "$build/vmopd" --foreground
done <<END
$evil another user (uid $evil_uid)
$evil/run another user (uid $evil_uid)
$evil/below another user (uid $evil_uid)
$work/sticky/his another user (uid $evil_uid)
$work/sticky/link another user (uid $evil_uid)
$work/sticky other users may write
$work/open other users may write
$work/open/run other users may write
END
is "what was put there" "$(find "$evil" "$work/sticky" "$work/open" -type f -o -type s)" = ""
# Files of another user in root's directory.
mkdir -m 755 "$work/mixed"
for file in vmopd.pid vmopd.sock vmopd.log; do
	: >"$work/mixed/$file"
	chown $evil_uid "$work/mixed/$file"
	VMOP_RUNDIR=$work/mixed refuse 3 "$work/mixed/$file: a file of uid $evil_uid: remove it" \
		bounded "$build/vmopcontrol" --start-daemon
	rm "$work/mixed"/*
done
finish
