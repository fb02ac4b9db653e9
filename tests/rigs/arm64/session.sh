# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# Functions for a scenario inside the arm64 machine, in addition to l1/lib.sh (busybox sh).

# interrupts: print the number of interrupts that the PMU has raised since boot.
interrupts() {
	awk '/arm-pmu/ { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' /proc/interrupts
}

# attempt NAME EVENTS COMMAND...: run one session around COMMAND. NAME.interrupts is the number of
# the PMU's interrupts in that time.
attempt() {
	name=$1 events=$2
	shift 2
	run "$name.start" vmopcontrol --start "--event=$events"
	begun=$(interrupts)
	run "$name.work" "$@"
	raised=$(($(interrupts) - begun))
	run "$name.dump" vmopcontrol --dump
	run "$name.status" vmopcontrol --status --json
	run "$name.stop" vmopcontrol --stop
	echo $raised >"$name.interrupts"
	samples=$(sed -n 's/^  "samples": \([0-9]*\),/\1/p' "$name.status.out")
	say "SESSION $name: $raised interrupts, $samples samples"
}

# session NAME EVENTS LEAST COMMAND...: record a session of at least LEAST samples, and its reports.
# QEMU 7.2 sometimes stops raising the PMU's interrupt during a session, with all counters on, and
# does not begin again: in 40 of 120 sessions beside other load. Each of the 40 had as many samples
# as interrupts. The session is then repeated, unless it has fewer samples than interrupts: that is
# a loss of vmop.
session() {
	name=$1 events=$2 least=$3 tries=0 raised=0 samples=0
	shift 3
	while [ $tries -lt 15 ] && [ "${samples:-0}" -lt "$least" ] &&
		[ "${samples:-0}" -ge $((raised - raised / 100)) ]; do
		tries=$((tries + 1))
		attempt "$name" "$events" "$@"
	done
	echo $tries >"$name.tries"
	run "$name" vmopreport --symbols --format=csv
	run "$name.table" vmopreport --symbols --top=12
}

# unit_tests [PATTERN]: run the matching tests, each as a step of its name; print the kernel's page
# size.
unit_tests() {
	awk '/^KernelPageSize:/ { print $2 * 1024; exit }' /proc/self/smaps >page_bytes
	for unit_test in $(grep -E "${1:-.}" /rig/unit-tests); do
		step=$(echo "${unit_test##*/tests/unit/}" | tr / -)
		RUN_LIMIT_S=600 run "$step" "$unit_test"
		echo "$step" >>unit-tests
	done
}
