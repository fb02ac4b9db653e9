#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sample this machine: the same shares as perf's, demangled names, live sessions, programs in other
# mount namespaces, generated code.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export LC_ALL=C
load=
# shellcheck disable=SC2154 # its own $?
trap 'status=$?; [ -z "$load" ] || kill "$load" 2>/dev/null || true; (exit "$status"); clean_up' EXIT
need_perf
split=$build/tests/fixtures/split

report() {
	"$build/vmopreport" --session-dir="$sessions" --format=csv "$@" 2>"$work/err"
}

# samples SYMBOL OPTION...: print the number of its samples.
samples() {
	symbol=$1
	shift
	report -l -i "$symbol" "$@" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "samples") at = i; next }
		{ n += $at } END { print n + 0 }'
}

# ---- shares, beside perf's of the same run ----------------------------------
# --buildid-mmap: where one event asks the kernel (6.18) for build-ids, the mapping records
# of all events are marked as having them, and perf 6.1 aborts on a file without.
in_perf() {
	perf record -q --buildid-mmap -e cpu-clock -c 1000000 -o "$work/perf.data" -- \
		"$split" 3000 >/dev/null 2>&1 || return 1
	perf script -i "$work/perf.data" -F ip,sym >"$work/perf.symbols" 2>/dev/null || return 1
	major=$(grep -c split_major "$work/perf.symbols" || true)
	minor=$(grep -c split_minor "$work/perf.symbols" || true)
}
# Check that they agree: within the 99 % interval of the difference of two shares (binomial, normal
# approximation).
agree() {
	awk -v a="$1" -v b="$2" -v c="$3" -v d="$4" 'BEGIN {
		if (c + d < 200) exit 2
		p = a / (a + b); q = c / (c + d); all = (a + c) / (a + b + c + d)
		bound = 2.576 * sqrt(all * (1 - all) * (1 / (a + b) + 1 / (c + d)))
		printf "perf %.2f %%, vmop %.2f %%, bound %.2f\n", 100 * p, 100 * q, 100 * bound
		exit (p - q > bound || q - p > bound) }'
}
control --start --session-dir="$sessions" >/dev/null 2>&1 || fail "cannot start"
agreed=
for try in 1 2; do # once in 10,000 runs both fail by chance
	major=0 minor=0
	if ! command -v perf >/dev/null || ! in_perf || [ $((major + minor)) -lt 200 ]; then
		echo "perf is not here or can't read what it wrote: its shares are not compared"
		"$split" 3000
		control --dump >/dev/null
		agreed=0
		break
	fi
	control --dump >/dev/null
	if agree "$major" "$minor" "$(samples split_major)" "$(samples split_minor)"; then
		agreed=$try
		break
	fi
	control --reset >/dev/null
done
test -n "$agreed" || fail "perf and vmop do not agree about split_major's share"
major=$(samples split_major) minor=$(samples split_minor)
is "split_major's share, percent" $((100 * major / (major + minor))) -ge 70
is "split_major's share, percent" $((100 * major / (major + minor))) -le 80
is "split's own tasks are all it ran in" "$(samples split_major task:split)" -eq "$major"

# ---- names -----------------------------------------------------------------
"$split" 1000 --names
control --dump >/dev/null
is "C++, as mangled" "$(samples _ZNK5Shape4areaEid -D none)" -gt 50
is "C++, without parameters" "$(samples Shape::area)" -gt 50
is "C++, in full" "$(samples 'Shape::area(int\, double) const' -D normal)" -gt 50
is "Rust, without its hash" "$(samples core::fmt::Write::write_fmt)" -gt 10

# ---- generated code --------------------------------------------------------
if "$split" 300 --anonymous; then
	control --dump >/dev/null
	report --details task:split >"$work/details" || fail "$(cat "$work/err")"
	anonymous=$(grep -c '(no symbols)' "$work/details" || true)
	is "addresses of generated code" "$anonymous" -ge 1
	grep -q 'generated code' "$work/err" || fail "not said why: $(cat "$work/err")"
fi

# ---- another mount namespace, and a session that is being recorded ----------
# The program lies where only its own namespace has it; it is asked about while it runs.
# In a session of its own: files of the same build-id are one image.
control --shutdown >/dev/null 2>&1
rm -rf "$sessions"
control --start --session-dir="$sessions" >/dev/null 2>&1 || fail "cannot start again"
mkdir "$work/inside"
if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's variables
	unshare -m sh -c 'mount -t tmpfs none "$1" && cp "$2" "$1/contained" && exec "$1/contained" 0' \
		sh "$work/inside" "$split" &
	load=$!
	found=0
	for _ in 1 2 3 4 5 6 7 8 9 10; do # until it has been sampled
		sleep 1
		control --dump >/dev/null
		found=$(samples split_major image:contained 2>/dev/null)
		[ "${found:-0}" -lt 100 ] || break
	done
	is "symbols of a program in another mount namespace" "${found:-0}" -ge 100
	before=$(samples split_major image:contained)
	sleep 1
	control --dump >/dev/null
	is "a live session grows" "$(samples split_major image:contained)" -gt "$before"
	"$build/vmopreport" --session-dir="$sessions" >"$work/out" 2>&1
	grep -q 'not ended: still recording' "$work/out" || fail "not said that it is recording"
	kill "$load"
	wait "$load" 2>/dev/null || true
	load=
fi

control --stop >/dev/null
"$build/vmopreport" --session-dir="$sessions" >"$work/out" 2>&1
! grep -q 'not ended' "$work/out" || fail "an ended session is said to be recording"
control --shutdown >/dev/null
finish
