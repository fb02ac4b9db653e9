#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Several sessions in one report: those of a host and of its guest, days of one host, many hosts.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

g1=11111111-0000-4000-8000-000000000001
mkdir -p "$sessions"
make_session() {
	name=$1
	shift
	"$build/tests/fixtures/make-session" "$@" "$sessions/$name.vmop" >/dev/null
}
make_session host --seconds=60
make_session g1 --seconds=30 --start=30 --hostname=g1.example --uuid=$g1 --rate=1000
make_session nextday --seconds=10 --start=86400 --seed=2
make_session beta --seconds=10 --hostname=beta

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

# samples DOMAIN ARGUMENT...: print the sum of its samples.
samples() {
	domain=$1
	shift
	report --by=domain --accounting=cpu --format=csv "$@" |
		awk -F, -v domain="$domain" '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["domain"] == domain { sum += $at["samples"] }
			END { print sum + 0 }'
}

# g1 has 220 of its host's 2000 samples a second during the half minute that its own session does
# not cover.
is "the host's view of a guest" "$(samples g1 session:host)" -eq 13200
is "a guest's own session instead" "$(samples g1 session:host,g1)" -eq $((6600 + 26670))
is "either way round" "$(samples g1 session:g1,host)" -eq $((6600 + 26670))
is "the host is what it was" "$(samples host session:host,g1)" -eq "$(samples host session:host)"
is "sessions given one by one" "$(samples g1 session:host session:g1)" -eq $((6600 + 26670))
is "the guest's guest" "$(samples n1 session:host,g1)" -eq 3300
is "a path among them" "$(samples host session:host,"$sessions/nextday.vmop")" -gt \
	"$(samples host session:host)"
is "two hosts" "$(samples beta session:host,beta)" -gt 17000
expect 0 "6600 samples of g1 in session host left out: another session has them" \
	report session:host,g1
expect 0 "session g1 of g1.example" report session:host,g1
expect 0 "2023-11-14 22:14:30 to 22:15:00 (30 s)" report session:host,g1
expect 0 '"left_out"' report session:host,g1 --format=json
is "a time in both" "$(samples g1 session:host,g1 time:+29s..+31s)" -eq $((220 + 889))
expect 0 "vmop_fixture_hot" report -l session:host,g1 domain:g1
is "rows by session" "$(report --by=session -n session:host,g1,beta | grep -c .)" -eq 4
is "days of one host are one row" "$(report --by=domain -n session:host,nextday | grep -c ' host$')" -eq 1
make_session noted --context-note='no BPF'
make_session noted-nextday --start=86400 --context-note='no BPF'
make_session noted-otherwise --start=172800 --context-note='no BTF'
is "a reason of two days is given once" \
	"$(report session:noted,noted-nextday | grep -c 'tasks of g1 are not exact: no BPF$')" -eq 1
is "another reason is given too" \
	"$(report session:noted,noted-otherwise | grep -c 'tasks of g1 are not exact: no B[PT]F$')" -eq 2

refuse 3 "no session 'nosuch' in $sessions" report session:host,nosuch
refuse 2 "'host' and '$sessions/host.vmop' are the same file" report \
	session:host,"$sessions/host.vmop"
refuse 2 "session: takes at most 256 sessions" report \
	"session:host$(printf ',x%s' $(seq 256))"
cp "$sessions/g1.vmop" "$sessions/bad.vmop"
printf '\377\377\377\377' | dd of="$sessions/bad.vmop" bs=1 seek=60 conv=notrunc status=none
refuse 3 "bad.vmop" report session:host,bad

exit $failed
