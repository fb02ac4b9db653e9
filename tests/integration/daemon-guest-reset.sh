#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A KVM guest with a Linux kernel that the daemon knows, over --reset and --save: the new session
# knows the guest from its first sample on. Each sample of its program is exact.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
name=reset-$$

# rows SESSION: print "SAMPLES CERTAINTY TASK IMAGE SYMBOL" of the guest's code, as one report has them.
rows() {
	"$build/vmopreport" --session-dir="$sessions" --accounting=cpu --by=domain,certainty,task,image,symbol \
		--format=csv "session:$1" "domain:$name" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print $at["samples"], $at["certainty"], $at["task"], $at["image"], $at["symbol"] }'
}

# samples PATTERN: print the number of samples in those rows of the input that match.
samples() {
	awk -v pattern="$1" '$0 ~ pattern { n += $1 } END { print n + 0 }'
}

# wait_samples NUMBER PATTERN: wait until the current session has so many. The test's time limit ends
# an endless wait.
wait_samples() {
	until control --dump >/dev/null 2>&1 && [ "$(rows current | samples "$2")" -ge "$1" ]; do
		sleep 0.2
	done
}

# all_exact SESSION: check that all samples are of the program in its file, for sure. The reading of the file's symbols
# has a budget, so a current session gets them some time after its first samples, and a saved one has them.
all_exact() {
	tries=0
	while rows "$1" >"$work/rows" && [ "$1" = current ] && grep -q '(no symbols)$' "$work/rows" && [ $tries -lt 100 ]; do
		tries=$((tries + 1))
		sleep 0.2
	done
	is "samples of $1" "$(samples . <"$work/rows")" -ge 100
	is "exact ones of the program among them" "$(samples ' exact worker /bin/worker (major|minor)$' <"$work/rows")" \
		-eq "$(samples . <"$work/rows")"
	[ "$failed" -eq 0 ] || cat "$work/rows"
}

# run OPTION...: sample the guest, and change sessions again and again.
run() {
	rm -rf "$sessions"
	expect 0 "guest contexts " control --start --event=cpu-clock:999Hz --session-dir="$sessions" \
		--passive-domains="$name" --guest-context "$@"
	if ! control --status --json | grep -A1 '"guest_context": {' | grep -q '"on": true'; then
		why=$(control --status | sed -n 's/^contexts *//p')
		control --shutdown >/dev/null
		skip "$why"
	fi
	wait_samples 1 ' exact worker ' # its kernel is known
	for _ in 1 2 3; do
		expect 0 "" control --reset
		wait_samples 300 .
		all_exact current
	done
	expect 0 "" control --save=saved
	wait_samples 100 .
	# At once again: this session is too short for the budget.
	expect 0 "" control --save=short
	all_exact short
	wait_samples 100 .
	all_exact saved
	all_exact current
	control --shutdown >/dev/null
}

begin_guest "$name" --linux "$build/tests/fixtures/guest-worker"
run
run --callgraph
kill $guest
finish
