#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The agent for guests: the static vmopd in a tree without any library, and as a user who has only the
# capabilities of vmop-guest.service.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
[ -z "$sanitized" ] || skip "sanitizers need shared libraries"
make -s -C "$build" daemon/static/vmopd >"$work/make.log" 2>&1 ||
	skip "the static vmopd can't be linked: $(tail -n 1 "$work/make.log")"
static=$build/daemon/static/vmopd unit=$build/contrib/guest/vmop-guest.service
is "shared libraries that it names" "$(readelf -d "$static" | grep -c NEEDED)" -eq 0

# ---- nothing else is there
root=$work/root
mkdir -p "$root/proc" "$root/sys" "$root/run" "$root/var/lib" "$root/etc" "$root/tmp"
cp "$static" "$root/vmopd"

# in_root COMMAND...: run the command in that tree.
# shellcheck disable=SC2016 # the inner shell expands
in_root() {
	unshare -m sh -ec 'mount -t proc proc "$0/proc"; mount -t sysfs sys "$0/sys"
		exec env -u VMOP_RUNDIR -u VMOP_CONFIG chroot "$0" "$@"' "$root" "$@"
}

expect 0 "vmopd (vmop)" in_root /vmopd --version
expect 0 "cpu-clock" in_root /vmopd --list-events
# known_session COMMAND...: begin a session that samples a load, by a vmopd that ends by itself.
known_session() {
	timeout 60 sha256sum /dev/zero &
	load=$!
	expect 0 "sampling" "$@"
	kill $load
	wait $load 2>/dev/null || true
}
known_session in_root /vmopd --foreground --start --duration=3s --session-dir=/var/lib/vmop
expect 0 "sha256sum" "$build/vmopreport" --by=task session:"$root/var/lib/vmop/current.vmop"
expect 0 "[kernel]" "$build/vmopreport" -l session:"$root/var/lib/vmop/current.vmop"
# Groups are those of its /etc/group.
printf 'root:x:0:\nreaders:x:77:\n' >"$root/etc/group"
echo "status-group = readers" >"$root/etc/vmop.conf"
expect 0 "the set-up is good" in_root /vmopd --check-setup --config=/etc/vmop.conf
echo "status-group = writers" >"$root/etc/vmop.conf"
refuse 2 "there is no group 'writers'" in_root /vmopd --check-setup --config=/etc/vmop.conf
rm "$root/etc/group"
refuse 2 "there is no group 'writers'" in_root /vmopd --check-setup --config=/etc/vmop.conf

# ---- a user without root
command -v setpriv >/dev/null || skip "setpriv is not installed (Debian: util-linux)"
capabilities=$(sed -n 's/^AmbientCapabilities=//p' "$unit" | tr '[:upper:]' '[:lower:]')
is "the bound of the capabilities" "$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr '[:upper:]' '[:lower:]')" = "$capabilities"
# as_agent CAPABILITY... -- COMMAND...: run a command with these only.
as_agent() {
	list=-all
	while [ "$1" != -- ]; do
		list=$list,+${1#cap_}
		shift
	done
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps="$list" --ambient-caps="$list" \
		--bounding-set="$list" "$@"
}
mkdir "$work/user" "$work/user/run"
chown 65534:65534 "$work/user" "$work/user/run"
export VMOP_RUNDIR="$work/user/run"
# Root's program and the kernel's functions are in its session.
# shellcheck disable=SC2086 # lists of words
known_session as_agent $capabilities -- "$static" --foreground --start --duration=4s --session-dir="$work/user/sessions"
is "the session's owner" "$(stat -c %u "$work/user/sessions/current.vmop")" -eq 65534
expect 0 "sha256sum" "$build/vmopreport" --by=task session:"$work/user/sessions/current.vmop"
expect 0 "$(uname -r)" "$build/vmopreport" session:"$work/user/sessions/current.vmop"
"$build/vmopreport" --by=task,mode,image,symbol --format=csv session:"$work/user/sessions/current.vmop" >"$work/csv"
is "kernel functions with their names" "$(grep -c '\[kernel\],[a-z_]' "$work/csv")" -ge 5
# The image of root's program was read: it has a build-id.
is "the build-id of a file that root runs" \
	"$(sqlite3 "$work/user/sessions/current.vmop" "SELECT count(*) FROM image WHERE name LIKE '%/sha256sum' AND build_id IS NOT NULL")" -ge 1

# While it runs it has no CAP_SYS_ADMIN, unless the kernel wants it for perf.
expect_without_admin() {
	# shellcheck disable=SC2086
	as_agent $capabilities -- "$static" --foreground --start --session-dir="$work/user/sessions" >"$work/agent.log" 2>&1 &
	agent=$!
	until grep -q sampling "$work/agent.log" || ! kill -0 $agent 2>/dev/null; do sleep 0.1; done
	effective=$(sed -n 's/^CapEff:\t//p' "/proc/$(daemon_pid)/status")
	kill "$(daemon_pid)"
	wait $agent || fail "the daemon of the user: $(cat "$work/agent.log")"
	# CAP_SYS_ADMIN is number 21, CAP_PERFMON number 38, CAP_NET_BIND_SERVICE number 10.
	is "CAP_SYS_ADMIN" $((0x$effective >> 21 & 1)) -eq 0
	is "CAP_PERFMON" $((0x$effective >> 38 & 1)) -eq 1
	is "CAP_NET_BIND_SERVICE" $((0x$effective >> 10 & 1)) -eq 1
	is "all others that could be had" $((0x$effective & ~0x14400084404)) -eq 0
}
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	expect_without_admin
fi
# Without perf's capability it can't.
expect 3 "perf" as_agent cap_dac_read_search cap_sys_ptrace -- "$static" --foreground --start --duration=1s \
	--session-dir="$work/user/other"
finish
