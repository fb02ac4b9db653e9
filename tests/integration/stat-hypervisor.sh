#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --hypervisor on this machine, whatever it is: beside the kernel's own files.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
stat=$build/vmopstat
# fact EXPRESSION: evaluate it with d, the description.
fact() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[2]))
print(eval("(" + sys.argv[1] + ")"))' "$1" "$work/json"
}
"$stat" --hypervisor --json >"$work/json" || fail "exit $? of --hypervisor --json"
"$stat" --hypervisor -o "$work/table" || fail "exit $? of --hypervisor"
is "groups" "$(fact '{"hypervisor", "cpus", "clock", "steal", "pmu"} <= set(d)')" = True
is "CPUs" "$(fact 'd["cpus"]["number"]')" -eq "$(nproc --all)"
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
is "clock" "$(fact 'd["clock"]["source"]')" = "$(cat $clock)"
if grep -q '^flags.* hypervisor' /proc/cpuinfo; then
	is "a guest" "$(fact 'd["hypervisor"]["name"] != "none" and len(d["hypervisor"]["evidence"]) > 0')" = True
elif [ "$(uname -m)" = x86_64 ] && [ ! -e /sys/hypervisor/type ]; then
	is "no guest" "$(fact 'd["hypervisor"]["name"]')" = none
fi
is "every event counts, or has a reason" "$(fact 'len(d["pmu"]["does not count"] if "does not count" in d["pmu"] else []) +
	(len(d["pmu"]["counts"]) if type(d["pmu"]["counts"]) is list else 0)')" -eq 10
is "what has no value has a reason" "$(fact 'all(f["reason"] for g in d.values() for f in g.values() if type(f) is dict)')" = True
is "lines of the table" "$(grep -cE '^(hypervisor|cpus|clock|steal|pmu)$' "$work/table")" -eq 5
# The faults of VMware's counters end nothing, and are not left to others.
if [ "$(uname -m)" = x86_64 ]; then
	is "VMware's counters, or the reason" "$(fact '"counters" in d["vmware"] or type(d["vmware"]["real-time"]) is int or
		d["vmware"]["real-time"]["reason"] is not None')" = True
fi

# Times: steal, beside the kernel's own sum, and the command's exit status.
status=0
"$stat" --hypervisor --json -I 200 -o "$work/times" -- sh -c 'sleep 1; exit 5' 2>"$work/err" || status=$?
if [ -s "$work/times" ]; then
	is "the command's exit status" $status -eq 5
	is "rows of steal" "$(grep -c '"event":"cpu[0-9]*/steal"' "$work/times")" -ge "$(nproc)"
	stolen() {
		awk '$1 == "cpu" { print $9 }' /proc/stat
	}
	before=$(stolen)
	"$stat" --hypervisor --json -o "$work/times" -- sh -c 'sleep 1'
	after=$(stolen)
	# A CPU's own time and the sum are both cut to a tick, of 10 ms.
	most=$((10 * (after - before + $(nproc) + 1)))
	is "ms stolen, of at most $most" "$(python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(round(sum(r["counter-value"] or 0 for r in rows if r["event"].endswith("/steal"))))' "$work/times")" -le $most
else
	is "exit status without times" $status -eq 3
	is "the reason" "$(grep -c 'the hypervisor reports no times' "$work/err")" -eq 1
fi
for wrong in '--net' '--net --hypervisor -a' '--net -p 1 true' '--hypervisor -e cycles' '--hypervisor -r 3 true' '--hypervisor -x,'; do
	status=0
	# shellcheck disable=SC2086 # words
	"$stat" $wrong >"$work/out" 2>"$work/err" || status=$?
	is "exit status of vmopstat $wrong" $status -eq 2
	is "lines of its message: $(cat "$work/err")" "$(wc -l <"$work/err")" -eq 1
done
finish
