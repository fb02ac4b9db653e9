#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a real KVM guest runs at its samples, --guest-context: nearly each sample has a context,
# --status counts them, and a session file has the fact. Where BPF or the guests are left out, the
# start line and --status give the reason.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf

# context NAME: print a number or word of "guest_context" in --status.
context() {
	control --status --json | taken "$1"
}
taken() {
	sed -n '/^  "guest_context": {/,/^  }/s/^ *"'"$1"'": "\{0,1\}\([^",]*\).*/\1/p'
}

# begin TEXT OPTIONS...: start a session, and check the start line.
begin() {
	text=$1
	shift
	rm -rf "$sessions"
	refuse 0 "$text" control --start --event=cpu-clock:999Hz --session-dir="$sessions" "$@"
}

begin_guest web --vcpus 2

begin "guest contexts " --guest-context
if [ "$(context on)" != true ]; then
	expect 0 "not captured, because" control --status
	why=$(context note)
	control --shutdown >/dev/null
	[ "$failed" -eq 0 ] || finish
	skip "$why"
fi
sleep 3
expect 0 "contexts    captured (" control --status
# Print --status on one line.
# shellcheck disable=SC2317 # called by expect
status_words() {
	control --status | tr -s '\n ' ' '
}
expect 0 " samples of guests (" status_words
expect 0 "with a known kernel" status_words
# This guest has no kernel.
expect 0 "% the guest's kernel is not known" status_words
columns=$(control --status | sed -n '/^contexts/,/^samples/p' |
	awk '{ if (length > n) n = length } END { print n }')
is "columns of the rows" "$columns" -le 80
control --status --json >"$work/status"
samples=$(taken samples <"$work/status") contexts=$(taken contexts <"$work/status")
cost_ns=$(taken cost_ns <"$work/status")
echo "$contexts contexts of $samples samples of guests, $((cost_ns / (samples + 1))) ns each"
is "samples of guests" "$samples" -ge 100
is "per mille of them with a context" $((contexts * 1000 / samples)) -ge 990
is "CPU time of the program, in ns" "$cost_ns" -gt 0
is "contexts without a known kernel" "$(context unknown_kernel)" -ge 100
is "malformed records" "$(member malformed)" -eq 0
is "records lost" "$(member lost)" -eq 0
control --stop >/dev/null
expect 0 '"guest_context": "captured (' "$build/vmopreport" --session-dir="$sessions" --format=json
expect 0 "web" "$build/vmopreport" --session-dir="$sessions"

# The default: with passive guests.
begin "guest contexts captured" --guest-context=auto
is "the default" "$(context on)" = true
control --stop >/dev/null
begin "sampling" --passive-domains=none
is "without passive guests" "$(context on)" = ""
control --stop >/dev/null
begin "sampling" --passive-domains=all --guest-context=off
is "switched off" "$(context on)" = ""
control --stop >/dev/null
refuse 2 "guest-cpu is 0" control --start --guest-context=on --guest-cpu=0
refuse 2 "on, off, auto" control --start --guest-context=perhaps

# An event that samples no guests.
rm -rf "$sessions"
refuse 0 "guest contexts not captured, because no event samples guests" control --start \
	--event=cpu-clock:999Hz:0:1:1:1:0 --guest-context=on --guest-cpu=1 --session-dir="$sessions"
expect 0 "contexts    not captured, because no event samples guests" control --status
control --shutdown >/dev/null

# Without the right to use bpf().
if setpriv --bounding-set=-bpf,-sys_admin true 2>"$work/err"; then
	rm -rf "$sessions"
	refuse 0 "guest contexts not captured, because bpf() is not permitted" \
		setpriv --bounding-set=-bpf,-sys_admin \
		"$build/vmopcontrol" --start --event=cpu-clock:999Hz --session-dir="$sessions"
	expect 0 "contexts    not captured, because bpf() is not permitted" control --status
	is "without BPF" "$(context on)" = false
	timeout 1 sh -c 'while :; do :; done' || :
	control --stop >/dev/null
	expect 0 '"guest_context": "not captured, because bpf() is not permitted' \
		"$build/vmopreport" --session-dir="$sessions" --format=json
	expect 0 "tasks of web are not exact: bpf() is not permitted" \
		"$build/vmopreport" --session-dir="$sessions"
	control --shutdown >/dev/null
else
	echo "not tested: $(cat "$work/err")"
fi
kill $guest
finish
