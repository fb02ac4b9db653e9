# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Functions for a scenario's .check, which runs in the directory of the scenario's results. Every
# assertion prints a line with the expected and the actual value. All assertions run; then the exit
# status reports whether one failed.
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

# between NAME VALUE LOW HIGH: compare numbers; the bounds are inclusive.
between() {
	local bad=1
	awk -v v="$2" -v l="$3" -v h="$4" 'BEGIN {
		exit !(v ~ /^-?[0-9]+([.][0-9]+)?(e[-+][0-9]+)?$/ && v + 0 >= l && v + 0 <= h) }' && bad=0
	verdict $bad "$1: ${2:-nothing} (wanted $3 to $4)"
}

# same NAME VALUE WANTED
same() {
	local bad=1
	[ "$2" != "$3" ] || bad=0
	verdict $bad "$1: $2 (wanted $3)"
}

# matches NAME FILE PATTERN: check that a line of FILE matches the extended pattern.
matches() {
	local bad=0
	grep -qE -- "$3" "$2" 2>/dev/null || bad=1
	verdict $bad "$1: $2 $([ $bad = 0 ] && echo has || echo lacks) /$3/"
	[ $bad = 0 ] || head -n 5 "$2" 2>/dev/null || true
}

# matches_row NAME FILE REGEX: the same of rows that --status breaks at column 80: each is joined again.
matches_row() {
	local bad=0
	sed ':more; N; $!b more; s/\n \{10,\}/ /g' "$2" 2>/dev/null | grep -qE -- "$3" || bad=1
	verdict $bad "$1: $2 $([ $bad = 0 ] && echo has || echo lacks) /$3/ in a row"
	[ $bad = 0 ] || head -n 5 "$2" 2>/dev/null || true
}

# ran STEP [STATUS]: check the exit status of the scenario's step.
ran() {
	same "exit status of $1" "$(cat "$1.status" 2>/dev/null)" "${2:-0}"
	[ "$(cat "$1.status" 2>/dev/null)" = "${2:-0}" ] || head -n 5 "$1.err" || true
}

# csv FILE COLUMN...: print these columns, separated by tabs, one line per row. A missing column is
# empty.
csv() {
	local file=$1
	shift
	awk -v wanted="$*" '
		# Split an RFC 4180 line without line ends inside fields into field[1..n].
		function split_csv(line,    n, i, c, quoted) {
			n = 1; quoted = 0; delete field
			for (i = 1; i <= length(line); i++) {
				c = substr(line, i, 1)
				if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") { field[n] = field[n] c; i++ }
				else if (c == "\"") quoted = !quoted
				else if (c == "," && !quoted) n++
				else field[n] = field[n] c
			}
			return n
		}
		NR == 1 { n = split_csv($0); for (i = 1; i <= n; i++) at[field[i]] = i; w = split(wanted, want, " "); next }
		{ split_csv($0); for (i = 1; i <= w; i++) printf "%s%s", (want[i] in at) ? field[at[want[i]]] : "", i < w ? "\t" : "\n" }
	' "$file"
}

# samples_of FILE DOMAIN [MODE [SYMBOL-PATTERN [IMAGE-PATTERN]]]: print the sum of the samples
# column. MODE "." is any; patterns are extended and unanchored.
samples_of() {
	csv "$1" domain mode symbol image samples | awk -F'\t' -v d="$2" -v m="${3:-.}" -v s="${4:-.*}" -v i="${5:-.*}" '
		$1 == d && (m == "." || $2 == m) && $3 ~ s && $4 ~ i { n += $5 } END { print n + 0 }'
}

# percent PART WHOLE: print it with one decimal.
percent() {
	awk -v p="$1" -v w="$2" 'BEGIN { if (w > 0) printf "%.1f", 100 * p / w; else print "nothing" }'
}

# binomial LOW|HIGH SHARE COUNT: print an end of the 99 % interval of a percentage, normal
# approximation.
binomial() {
	awk -v which="$1" -v p="$2" -v n="$3" 'BEGIN {
		d = n > 0 ? 2.576 * sqrt(p * (100 - p) / n) : 100
		printf "%.2f", which == "LOW" ? p - d : p + d }'
}

check_end() {
	printf '%s assertions, %s failed\n' "$check_made" "$check_failed"
	[ "$check_made" -gt 0 ] && [ "$check_failed" = 0 ]
}
