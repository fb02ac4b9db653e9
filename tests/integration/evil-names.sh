#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# No output of any program prints a name in a form that controls a terminal or forges a line.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
. "${VMOP_SRCDIR:-.}/tests/integration/evil-common.sh"
export TZ=UTC
mkdir -p "$sessions" "$work/bin"
"$evil" sessions "$sessions"

report() {
	plain "$build/vmopreport" --session-dir="$sessions" "$@"
}

echo "every report"
locales="C.UTF-8 C"
# Each of the thousand runs takes several times as long with sanitizers: one locale, the options of one format and
# every eighth name have to do there.
[ -z "$sanitized" ] || locales=""
for format in table csv json xml html perf-script speedscope firefox; do
	for options in "" -l -d --by=domain --by=image --by=task --by=cgroup --by=cpu --by=vcpu \
		--by=mode --by=certainty --by=session -V "-l -V -w -f -a -%" "--merge=all" \
		"--accounting=domain" "--ratio=none --sort=image" "-x" "--width=40 -l" "--width=1 -l" "-n" \
		"--by=symbol,task,cgroup" "-D full -l" "-p $sessions -l"; do
		[ -z "$sanitized" ] || [ $format = table ] || [ "${options:--l}" = -l ] || continue
		# shellcheck disable=SC2086 # options are words
		report --format=$format $options session:all
	done
	report --format=$format --list-sessions
	report --format=$format -o "$work/written" -l session:all
	"$evil" check <"$work/written" >"$work/why" || fail "-o: $(cat "$work/why")"
done

echo "the session that a guest handed back, beside its host's"
cp "$sessions/all.vmop" "$sessions/home.vmop"
cp "$sessions/all.vmop" "$sessions/home~web1.vmop"
for format in table csv json xml html perf-script speedscope firefox folded; do
	for options in -l "--by=domain,task" -V; do
		[ -z "$sanitized" ] || [ "$options" = -l ] || continue
		# shellcheck disable=SC2086 # options are words
		report --format=$format $options session:home
	done
done
rm "$sessions/home.vmop" "$sessions/home~web1.vmop"

locales=""
echo "every name as a word, a file's name and a session's"
step=1
[ -z "$sanitized" ] || step=8
for i in $(seq 0 $step "$last"); do
	name=$(nth "$i")
	for format in table csv json; do
		report --format=$format -l "session:$name"
	done
	for tag in session image domain task event cpu vcpu tgid tid certainty time nonsense; do
		report -l session:all "$tag:x$name"
	done
	for option in format by merge accounting threshold top sort ratio demangle width; do
		report session:all "--$option=$name"
	done
	report -o "$work/none/$name" session:all
	report -l session:all "--include-symbols=$name"
	report --session-dir="$work/$name"
	head -c 3000 "$sessions/all.vmop" >"$work/$name.vmop"
	report "session:$work/$name.vmop"
	plain "$build/libguest/vmop-guest-profile" "$work/$name" "$name"
	plain "$build/libguest/vmop-guest-profile" "$sessions/all.vmop" "$name"
	plain "$build/vmopd" --inspect-image="$work/$name.vmop"
	plain "$build/vmopd" --check-setup --config="$work/none$name"
	printf 'event = %s\n%s = 1\n[%s]\n' "$name" "$name" "$name" >"$work/conf$name"
	plain "$build/vmopd" --check-setup --config="$work/conf$name"
	plain "$build/vmopcontrol" --config="$work/conf$name" --status
	plain "$build/vmopcontrol" --inspect="$work/$name.vmop"
	plain "$build/vmopcontrol" --inspect="x$name"
	plain "$build/vmopcontrol" --save="$name"
	plain "$build/vmopcontrol" --setup --event="$name"
	plain "$build/vmopcontrol" --setup --session-dir="$work/$name"
	plain "$build/vmopcontrol" --setup --vmlinux="$work/$name"
	plain "$build/vmopcontrol" --setup --passive-images="$work/$name"
	plain "$build/vmopcontrol" --setup --duration="$name"
	plain "$build/vmopcontrol" "$name"
	for program in vmopreport vmopcontrol vmopd libguest/vmop-guest-profile; do
		plain "$build/$program" "--$name=$name"
		plain "$build/$program" "-$name"
	done
done

echo "the inside of a guest"
"$build/tests/fixtures/make-guest-image" "$work/ram" >"$work/truth" 2>/dev/null ||
	"$(dirname "$evil")/make-guest-image" "$work/ram" >"$work/truth"
LC_ALL=C sed -i "s/worker/$(printf '\033[J\t\233\377')/g; s/bcdefg/$(printf '\342\200\256\033[J')/g" "$work/ram"
plain "$build/vmopcontrol" --inspect="$work/ram"
plain "$build/vmopcontrol" --inspect="$work/ram" --verbose
plain "$build/vmopcontrol" --inspect="$work/ram" --json
plain "$build/vmopd" --inspect-image="$work/ram"
plain "$build/vmopcontrol" --list-events --verbose
plain "$build/vmopcontrol" --list-events --json
locales="C.UTF-8 C"
rm -f "$VMOP_CONFIG"

# A daemon that samples programs and guests with such names.
if [ "$(id -u)" -ne 0 ]; then
	echo "not root: without a daemon"
	finish
fi
need_perf
rm -rf "$work/live"
children=""
end_children() {
	for child in $children; do
		kill -9 "$child" 2>/dev/null || :
		wait "$child" 2>/dev/null || :
	done
	children=""
}
trap 'end_children; clean_up' EXIT
for i in $(seq 0 "$last"); do
	"$evil" spin "$work/bin" "$i" &
	children="$children $!"
done
has_kvm=false
for i in 0 1 5; do
	"$build/tests/fixtures/kvm-guest" --id "$(nth "$i")" --seconds 60 >"$work/guest$i" 2>&1 &
	children="$children $!"
done
sleep 1
! grep -q '^pid' "$work/guest0" || has_kvm=true
for i in 0 1 5; do
	name=$(nth "$i")
	plain "$build/vmopcontrol" --start --session-dir="$work/live" --event=cpu-clock:500Hz \
		--passive-domains="no$name"
done
expect 0 "sampling" "$build/vmopcontrol" --start --verbose --verbose --session-dir="$work/live" \
	--event=cpu-clock:500Hz --passive-domains=all
until [ "$(member samples)" -gt 2000 ]; do
	sleep 0.2
done
plain "$build/vmopcontrol" --status
plain "$build/vmopcontrol" --status --json
for i in $(seq 0 "$last"); do
	name=$(nth "$i")
	plain "$build/vmopcontrol" --inspect="$name"
	plain "$build/vmopcontrol" --inspect="$name" --json
	plain "$build/vmopcontrol" --inspect="no$name"
done
end_children
control --dump
plain "$build/vmopcontrol" --status
for i in $(seq 0 "$last"); do
	plain "$build/vmopcontrol" --save="$(nth "$i")"
done
plain "$build/vmopcontrol" --stop
for options in --by=task -l --by=domain --by=cgroup; do
	for session in $(cd "$work/live" && find . -name '*.vmop' -size +20k | head -n 20 | tr -c 'a-zA-Z0-9./\n' ?); do
		plain "$build/vmopreport" --session-dir="$work/live" $options "session:${session%.vmop}"
	done
	plain "$build/vmopreport" --session-dir="$work/live" $options
done
plain "$build/vmopreport" --session-dir="$work/live" --list-sessions
plain "$build/vmopcontrol" --shutdown
"$evil" check <"$VMOP_RUNDIR/vmopd.log" >"$work/why" ||
	fail "the log: $(cat "$work/why") $(cat -v "$VMOP_RUNDIR/vmopd.log")"
is "lines of the log that are no records" \
	"$(grep -acvE '^[0-9]{4}-[0-9-]+T[0-9:]+Z vmopd: ' "$VMOP_RUNDIR/vmopd.log")" -eq 0
$has_kvm || echo "no guests: $(cat "$work/guest0")"
echo "$runs runs"
finish
