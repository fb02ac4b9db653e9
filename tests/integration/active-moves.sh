#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A guest of --active-domains migrates live to another QEMU, is saved to a file and restored: each time a domain ends, with
# the reason, and another life of the guest begins. QEMU and KVM are real; the guest has no system. The rig kvm:migration is
# the same with Linux and an agent in it.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"
[ "$(uname -m)" = x86_64 ] || skip "KVM of another machine"
uuid=11111111-2222-3333-4444-555555555501
vmms=
trap 'kill -9 $vmms 2>/dev/null || :; clean_up' EXIT

# begin_qemu LIFE OPTION...: start a QEMU of the guest, with commands by the pipe LIFE.in and their output in LIFE.
begin_qemu() {
	life=$1
	shift
	mkfifo "$work/$life.in" "$work/$life.out"
	qemu-system-x86_64 -accel kvm -cpu qemu64 -m 16 -machine pc -nodefaults -no-user-config -display none \
		-name "web-$$,debug-threads=on" -uuid $uuid \
		-chardev "pipe,id=monitor,path=$work/$life,logfile=$work/$life" -mon chardev=monitor,mode=readline "$@" \
		>"$work/$life.log" 2>&1 &
	vmm=$!
	vmms="$vmms $vmm"
}

# lives: print "running" or "ended" for each life of the guest, in their order.
lives() {
	control --status --json | python3 -c '
import json, sys
print(*("running" if domain["running"] else "ended" for domain in json.load(sys.stdin)["domains"] if domain["uuid"] == sys.argv[1]))' $uuid
}

# note N: print the note of life N, from 1 on.
note() {
	control --status --json | python3 -c '
import json, sys
print([domain["note"] for domain in json.load(sys.stdin)["domains"] if domain["uuid"] == sys.argv[1]][int(sys.argv[2]) - 1])' $uuid "$1"
}

# until_is WANTED COMMAND...: wait until it prints that, and fail after a minute.
until_is() {
	wanted=$1
	shift
	tries=0
	until [ "$("$@")" = "$wanted" ] || [ $tries -ge 600 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	is "$*" "$("$@")" = "$wanted"
}

# move LIFE URI: let all of its state go there, and end its QEMU.
move() {
	echo "migrate -d $2" >"$work/$1.in"
	tries=0
	until grep -aq 'Migration status: completed' "$work/$1" || [ $tries -ge 300 ]; do
		tries=$((tries + 1))
		echo "info migrate" >"$work/$1.in"
		sleep 0.2
	done
	grep -aq 'Migration status: completed' "$work/$1" || fail "the guest did not move: $(cat "$work/$1.log")"
	kill -9 "$3"
	wait "$3" 2>/dev/null || :
}

no_agent="no 'vmopd --active' has connected: sampled as a passive guest"
gone="its VMM has ended: the guest was shut down, killed, saved to a file or moved"

begin_qemu first
first=$vmm
sleep 2
kill -0 "$first" 2>/dev/null || skip "QEMU has no KVM here: $(cat "$work/first.log")"
expect 0 sampling control --start --session-dir="$sessions" --event=cpu-clock:1000Hz --active-domains="web-$$"
until_is running lives
until_is "$no_agent" note 1

# Live. Both run for a while.
begin_qemu second -incoming "unix:$work/moving"
second=$vmm
until_is "running running" lives
move first "unix:$work/moving" "$first"
until_is "ended running" lives
until_is "$gone" note 1
until_is "$no_agent" note 2
expect 0 "(life 1 of 2, ended)" control --status

# Into a file, and back.
move second "\"exec:cat >$work/saved\"" "$second"
until_is "ended ended" lives
until_is "$gone" note 2
begin_qemu third -incoming "exec:cat $work/saved"
until_is "ended ended running" lives
until_is "$no_agent" note 3
expect 0 "" control --shutdown
is "lives in the session" "$(sqlite3 "$sessions/current.vmop" "SELECT count(*) FROM domain WHERE uuid = '$uuid'")" -eq 3
finish
