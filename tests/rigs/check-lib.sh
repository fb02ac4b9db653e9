# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What a scenario's .check can call; it runs in the directory of the scenario's results. Every
# assertion prints a line with what was wanted and what was seen; all are made, then the exit
# status says whether one failed.
check_failed=0 check_made=0

# verdict TRUE? MESSAGE...
verdict() {
	local word=ok
	check_made=$((check_made + 1))
	if [ "$1" != 0 ]; then
		word=FAILED
		check_failed=$((check_failed + 1))
	fi
	shift
	printf '  %-6s %s\n' "$word" "$*"
}

# between NAME VALUE LOW HIGH: numbers, inclusive.
between() {
	local bad=1
	awk -v v="$2" -v l="$3" -v h="$4" 'BEGIN { exit !(v != "" && v + 0 >= l && v + 0 <= h) }' && bad=0
	verdict $bad "$1: ${2:-nothing} (wanted $3 to $4)"
}

# same NAME VALUE WANTED
same() {
	local bad=1
	[ "$2" != "$3" ] || bad=0
	verdict $bad "$1: $2 (wanted $3)"
}

# matches NAME FILE PATTERN: some line of FILE matches the extended pattern.
matches() {
	local bad=0
	grep -qE -- "$3" "$2" 2>/dev/null || bad=1
	verdict $bad "$1: $2 $([ $bad = 0 ] && echo has || echo lacks) /$3/"
	[ $bad = 0 ] || head -n 5 "$2" 2>/dev/null || true
}

# ran STEP [STATUS]: the scenario's step ended so.
ran() {
	same "exit status of $1" "$(cat "$1.status" 2>/dev/null)" "${2:-0}"
	[ "$(cat "$1.status" 2>/dev/null)" = "${2:-0}" ] || head -n 5 "$1.err" || true
}

# percent PART WHOLE: with one decimal.
percent() {
	awk -v p="$1" -v w="$2" 'BEGIN { if (w > 0) printf "%.1f", 100 * p / w; else print "nothing" }'
}

# binomial LOW|HIGH SHARE COUNT: an end of the 99 % interval of a percentage, normal approximation.
binomial() {
	awk -v which="$1" -v p="$2" -v n="$3" 'BEGIN {
		d = n > 0 ? 2.576 * sqrt(p * (100 - p) / n) : 100
		printf "%.2f", which == "LOW" ? p - d : p + d }'
}

check_end() {
	printf '%s assertions, %s failed\n' "$check_made" "$check_failed"
	[ "$check_made" -gt 0 ] && [ "$check_failed" = 0 ]
}
