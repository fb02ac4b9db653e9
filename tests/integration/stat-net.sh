#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --net with real interfaces in a network namespace of its own, and frames of known number and length.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
stat=$build/vmopstat
command -v ip >/dev/null || skip "no ip (Debian: iproute2)"
[ "$(id -u)" -eq 0 ] || skip "not root"
if [ -z "${VMOP_OWN_NAMESPACE-}" ]; then
	unshare -nm true 2>/dev/null || skip "no network namespaces here"
	rm -rf "$work"
	trap - EXIT
	export VMOP_OWN_NAMESPACE=1
	exec unshare -nm "$0"
fi
mount -t sysfs sysfs /sys # of this namespace
"$stat" --net -o "$work/try" true || skip "$("$stat" --net true 2>&1)"
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 2>/dev/null || :
send() {
	python3 "$src/tests/integration/net-traffic.py" send "$@"
}
traffic="python3 $src/tests/integration/net-traffic.py"
# json EXPRESSION [FILE]: evaluate it with rows; value(NAME): the sum of its values; reason(NAME): of its last row.
json() {
	python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[2])]
def of(name):
    return [r for r in rows if r["event"] == name]
def value(name):
    return sum(r["counter-value"] for r in of(name))
def reason(name):
    return [r["reason"] for r in of(name) if "reason" in r][-1]
print(eval("(" + sys.argv[1] + ")"))' "$1" "${2:-$work/out}"
}

ip link add v0 index 77 type veth peer name v1 || skip "no veth interfaces"
ip link set v0 up
ip link set v1 up
sleep 0.3 # until their queues are up

# Exact counts: 1000 frames of 1000 bytes one way, 300 of 60 the other way.
"$stat" --net --json -o "$work/out" -- sh -c "$traffic send v0 1000 1000; $traffic send v1 300 60"
is "bytes and frames that v0 sent" "$(json 'value("v0/tx-bytes"), value("v0/tx-packets")')" = "(1000000, 1000)"
is "received" "$(json 'value("v0/rx-bytes"), value("v0/rx-packets")')" = "(18000, 300)"
is "bytes and frames that v1 received" "$(json 'value("v1/rx-bytes"), value("v1/rx-packets")')" = "(1000000, 1000)"
is "errors" "$(json 'value("v0/rx-errors") + value("v0/tx-errors") + value("lo/rx-bytes")')" -eq 0
is "the rate" "$(json 'all(abs(r["metric-value"] - r["counter-value"] * 1e9 / r["event-runtime"]) < 1 for r in rows)')" = True
"$stat" --net -x, -o "$work/out" -- sh -c "$traffic send v0 10 100"
is "fields: $(grep '^1000,,v0/tx-bytes' "$work/out")" "$(grep -cE '^1000,,v0/tx-bytes,[0-9]+,100.00,[0-9.]+,/sec,$' "$work/out")" -eq 1
"$stat" --net -o "$work/out" -- sh -c "$traffic send v0 10 100"
is "the table's row" "$(grep -cE '^ +1000 +v0/tx-bytes +# +[0-9.]+ K?/sec$' "$work/out")" -eq 1

# Interfaces without traffic are hidden from people; programs get them, and who names them.
is "no row of lo, which is silent" "$(grep -c ' lo/' "$work/out")" -eq 0
is "hidden interfaces" "$(grep -cE '^ +1 interface without traffic: --net=all shows it$' "$work/out")" -eq 1
"$stat" --net=all -o "$work/out" -- true
is "--net=all" "$(grep -c ' lo/' "$work/out") $(grep -c 'without traffic' "$work/out")" = "8 0"
"$stat" --net='v[1-9],lo' -o "$work/out" -- sh -c "$traffic send v0 10 100"
is "named interfaces" "$(grep -c ' lo/' "$work/out") $(grep -c ' v0/' "$work/out") $(grep -cE '^ +1000 +v1/rx-bytes' "$work/out")" = "8 0 1"
"$stat" --net --json -o "$work/out" -- true
is "programs get all" "$(json 'len(of("lo/rx-bytes")), len(of("v0/rx-bytes"))')" = "(1, 1)"
"$stat" --net=nothing -o "$work/out" -- true 2>"$work/err"
is "a name without an interface" "$(grep -c 'no interface matches --net=nothing' "$work/err")" -eq 1
refuse 2 "takes all, or names" "$stat" --net= -- true

# Intervals add up; the exit status is the command's.
status=0
"$stat" --net --json -I 100 -o "$work/out" -- sh -c "for i in 1 2 3 4; do $traffic send v0 250 200; sleep 0.1; done; exit 4" || status=$?
is "exit status" $status -eq 4
is "frames of all intervals" "$(json 'value("v0/tx-packets"), value("v1/rx-bytes")')" = "(1000, 200000)"
is "intervals" "$(json 'len(of("v0/tx-packets"))')" -ge 4

# An interface with another name is still the same one.
"$stat" --net --json -o "$work/out" -- sh -c "$traffic send v0 10 100; ip link set v0 down; ip link set v0 name new; ip link set new up; sleep 0.3; $traffic send new 5 100"
is "frames of a renamed interface" "$(json 'value("new/tx-packets")')" -eq 15
is "and none of its old name" "$(json 'of("v0/tx-packets")')" = "[]"

# Another interface in its place, with its name, even with its index; its counters begin at 0.
again="ip link del new; ip link add new index 77 type veth peer name v1; ip link set v1 up; ip link set new up; sleep 1.5"
send new 100 100
"$stat" --net --json -o "$work/out" -- sh -c "$again; $traffic send new 10 100"
is "counters that went back" "$(json '"it was reset" in reason("new/tx-bytes") or "its counters were reset" in reason("new/tx-bytes")')" = True
"$stat" --net --json -o "$work/out" -- sh -c "$again; $traffic send new 5000 100; sleep 0.1"
is "also if they are higher again at the end: $(json 'reason("new/tx-bytes")')" \
	"$(json '"reset" in reason("new/tx-bytes") or "disappeared" in reason("new/tx-bytes")')" = True
"$stat" --net --json -o "$work/out" -- sh -c "ip link del new; ip link add other type veth peer name v1"
is "an interface that is gone" "$(json 'reason("new/rx-bytes")')" = "it disappeared"
is "one that came" "$(json 'reason("other/rx-bytes")')" = "it appeared meanwhile"

# Interfaces that come and go all the time: never a value that cannot be.
cat >"$work/storm" <<'END'
end=$(($(date +%s) + 3))
while [ "$(date +%s)" -lt $end ]; do
	ip link add s0 type veth peer name s1
	ip link set s0 up
	ip link set s1 up
	ip link add s2 type veth peer name s3
	ip link del s0
	ip link del s2
done
END
status=0
"$stat" --net --json -I 10 -o "$work/out" -- sh "$work/storm" 2>"$work/err" || status=$?
is "exit status in a storm of interfaces ($(cat "$work/err"))" $status -eq 0
is "values of it" "$(json 'all(r["counter-value"] is None or 0 <= r["counter-value"] < 1000000 for r in rows)')" = True
is "reasons" "$(json '{r["reason"] for r in rows if "reason" in r} >= {"it disappeared", "it appeared meanwhile"}')" = True

# A tap of a real VMM, which got its descriptor from another process.
[ -c /dev/net/tun ] || finish
[ -c /dev/kvm ] || finish
mkfifo "$work/fifo" "$work/replies"
with_tap() { # COMMAND...: run the rest with a VMM that has the tap vmtap, and let it start
	with_end tap vmtap "$@"
}
with_end() { # KIND END COMMAND...: the same with an end of that kind
	kind=$1 end=$2
	shift 2
	# shellcheck disable=SC2086 # words
	"$@" $traffic "$kind" "$end" "$work/fifo" "$work/replies" "$build/tests/fixtures/kvm-guest" --id tapped --seconds 60 >"$work/guest" &
	exec 8>"$work/fifo"
	exec 9<"$work/replies"
	tries=0
	until grep -q pid "$work/guest"; do
		[ $((tries += 1)) -lt 300 ] || break
		sleep 0.1
	done
}
end_tap() {
	exec 8>&-
	exec 9<&-
	wait
}
with_tap env
ip link set vmtap up
"$stat" --net --json -o "$work/out" -- sh -c 'echo 400 500 >&8; read -r _ <&9'
is "bytes and frames of a guest's tap" "$(json 'value("vmtap/rx-bytes"), value("vmtap/rx-packets")')" = "(200000, 400)"
is "its guest" "$(json '{r.get("guest") for r in rows if r["event"].startswith("vmtap/")}')" = "{'tapped'}"
is "no guest has others" "$(json '{r.get("guest") for r in rows if not r["event"].startswith("vmtap/")}')" = "{None}"
"$stat" --net=vmtap -o "$work/out" -- true
is "the guest in the table" "$(grep -c 'vmtap/rx-bytes .*\[guest tapped\]' "$work/out")" -eq 1
# From another namespace it cannot be seen, and must not be taken for one of the same name.
unshare -n sh -c "ip tuntap add vmtap mode tap; exec '$stat' --net --json -o '$work/out' -- true"
is "a tap of the same name here: guests" "$(json '{r.get("guest") for r in of("vmtap/rx-bytes")}')" = "{None}"
is "the other one: $(json 'reason("vmtap/traffic")')" "$(json '"another network namespace" in reason("vmtap/traffic") and of("vmtap/traffic")[0]["guest"]')" = tapped
end_tap
"$stat" --net --json -o "$work/out" -- true
is "after the VMM's end: rows" "$(json 'of("vmtap/rx-bytes")')" = "[]"

# A VMM of this namespace has got a tap of another one, as from a manager: its namespace decides, not the VMM's.
with_tap env TAP_OWN_NAMESPACE=1
ip tuntap add vmtap mode tap
"$stat" --net --json -o "$work/out" -- true
is "the interface here has no guest" "$(json '{r.get("guest") for r in of("vmtap/rx-bytes")}')" = "{None}"
is "the guest's tap is elsewhere" "$(json '"another network namespace" in reason("vmtap/traffic") and of("vmtap/traffic")[0]["guest"]')" = tapped
end_tap

# A macvtap, whose counters have the guest's direction: what it sent is what the guest sent.
ip link add low0 type veth peer name low1
ip link add link low0 name mac0 index 4242 type macvtap mode bridge || finish
for interface in low0 low1 mac0; do
	ip link set $interface up
done
sleep 0.3
device=$work/tap4242 # as its node in /dev, which namespaces share
mknod "$device" c "$(cut -d: -f1 /sys/class/macvtap/tap4242/dev)" "$(cut -d: -f2 /sys/class/macvtap/tap4242/dev)"
with_end macvtap "$device" env
"$stat" --net --json -o "$work/out" -- sh -c 'echo 300 500 >&8; read -r _ <&9'
is "bytes and frames that a guest sent by its macvtap" "$(json 'value("mac0/tx-bytes"), value("mac0/tx-packets")')" = "(150000, 300)"
is "its guest" "$(json '{r.get("guest") for r in rows if r["event"].startswith("mac0/")}')" = "{'tapped'}"
is "no guest has others" "$(json '{r.get("guest") for r in rows if not r["event"].startswith("mac0/")}')" = "{None}"
"$stat" --net --json -o "$work/out" -- sh -c "$traffic send low1 200 600 all"
is "bytes and frames that it received" "$(json 'value("mac0/rx-bytes"), value("mac0/rx-packets")')" = "(120000, 200)"
# An interface of the same index in another namespace is not this one.
unshare -nm sh -c "mount -t sysfs sysfs /sys
	ip link add low0 type veth peer name low1
	ip link add link low0 name mac0 index 4242 type macvtap
	exec '$stat' --net --json -o '$work/out' -- true"
is "a macvtap of the same index elsewhere: guests" "$(json '{r.get("guest") for r in of("mac0/rx-bytes")}')" = "{None}"
is "the other one: $(json 'reason("tap4242/traffic")')" "$(json '"another network namespace" in reason("tap4242/traffic") and of("tap4242/traffic")[0]["guest"]')" = tapped
end_tap
"$stat" --net --json -o "$work/out" -- true
is "after the VMM's end: the guest of the macvtap" "$(json '{r.get("guest") for r in of("mac0/rx-bytes")}')" = "{None}"
finish
