# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# What a scenario can call inside the arm64 machine, beside l1/lib.sh (busybox sh).

# attempt NAME EVENTS COMMAND...: one session around COMMAND.
attempt() {
	name=$1 events=$2
	shift 2
	run "$name.start" vmopcontrol --start "--event=$events"
	run "$name.work" "$@"
	run "$name.dump" vmopcontrol --dump
	run "$name.status" vmopcontrol --status --json
	run "$name.stop" vmopcontrol --stop
	samples=$(sed -n 's/^  "samples": \([0-9]*\),/\1/p' "$name.status.out")
}

# session NAME EVENTS LEAST COMMAND...: a session of LEAST samples, and its reports. Now and then QEMU 7.2
# delivers no PMU interrupt for some time, all counters on: then the session is made again, up to four
# times. What a program of ours loses it loses every time.
session() {
	name=$1 events=$2 least=$3 tries=0 samples=0
	shift 3
	while [ $tries -lt 5 ] && [ "${samples:-0}" -lt "$least" ]; do
		tries=$((tries + 1))
		attempt "$name" "$events" "$@"
	done
	echo $tries >"$name.tries"
	run "$name" vmopreport --symbols --format=csv
	run "$name.table" vmopreport --symbols --top=12
}

# unit_tests [PATTERN]: those whose name matches it, each a step of its name; and the kernel's page size.
unit_tests() {
	awk '/^KernelPageSize:/ { print $2 * 1024; exit }' /proc/self/smaps >page_bytes
	for unit_test in $(grep -E "${1:-.}" /rig/unit-tests); do
		RUN_LIMIT_S=600 run "$(basename "$unit_test")" "$unit_test"
		basename "$unit_test" >>unit-tests
	done
}
