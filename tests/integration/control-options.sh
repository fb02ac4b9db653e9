#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The command lines of vmopcontrol and vmopd, and the set-up file, in all tests that need no
# samples.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
vmopd=$build/vmopd
mkdir "$sessions"
echo 0 T _text >"$work/System.map"

# -- contradictions
refuse 2 "nothing to do" control
refuse 2 "'word' is not an option" control word
refuse 2 "'word' is not an option" control --status word
expect 2 "bogus" control --bogus
refuse 2 "one action at a time" control --start --stop
refuse 2 "one action at a time" control -s -t
refuse 2 "--event goes with" control --dump --event=cpu-clock
refuse 2 "--session-dir goes with" control --stop --session-dir="$sessions"
refuse 2 "--duration goes with" control --stop --duration=1s
refuse 2 "--json goes with" control --stop --json
refuse 2 "--event goes with" control --list-events --event=cpu-clock
refuse 2 "--json goes with --list-events" "$vmopd" --json
refuse 2 "'soon' is not a time such as 10s" control --start --duration=soon
refuse 2 "'0' is not a time" control --start --duration=0
refuse 2 "--run needs a command" control --run
refuse 2 "session name 'a/b'" control --save=a/b
refuse 2 "session name 'current'" control --save=current
refuse 2 "none, lib, kernel, thread, cpu, all" control --setup --separate=threads
refuse 2 "has an empty element" control --setup --event=a,,b
refuse 2 "no event 'nonsense'" control --start --event=nonsense
refuse 2 "x:5y" control --setup --event=x:5y
refuse 2 "x:5y" control --start --event=x:5y
refuse 2 "$work/none: No such file" control --setup --vmlinux="$work/none"
refuse 2 "$work/none: No such file" control --setup --passive-domains=a --passive-images="$work/none"
refuse 2 "0 named passive domain(s)" control --setup --passive-images="$work/System.map"
refuse 2 "not a hexadecimal offset" control --setup --passive-domains=a \
	--passive-images="$work/System.map+0xzz"
refuse 2 "between 0 and 100%" control --setup --guest-cpu=101
refuse 2 "between 1 and 100Hz" control --setup --off-cpu=101
refuse 2 "neither 'off' nor a rate" control --setup --off-cpu=often
refuse 2 "D, S (asleep)" control --setup --off-cpu-states=D,Q
refuse 2 "off-cpu needs the memory of guests" control --setup --off-cpu --guest-cpu=0
refuse 2 "passive-domains is 'none'" control --setup --off-cpu --passive-domains=none
refuse 2 "off, kernel, fp, cfi, cfi:SIZE" control --setup --callgraph=dwarf
refuse 2 "8K, 16K, 32K or 64K" control --setup --callgraph=cfi:12K
refuse 2 "off, kernel, fp, cfi, cfi:SIZE" control --setup --callgraph=kernel:8K
refuse 2 "between 1 and 127" control --setup -c 128
refuse 2 "between 1 and 127" control --setup --callgraph-depth=0
refuse 2 "between 1 and 127" control --setup --callgraph-depth=many
refuse 2 "'cfi' is not an option" control --setup -c cfi
refuse 2 "on, off, auto" control --setup --guest-context=maybe
refuse 2 "guest, host" control --setup --active-samples=maybe
refuse 2 "between 1M and 4G" control --setup --fetch-size=1K
refuse 2 "not on or off" control --setup --waits=maybe
refuse 2 "--callgraph goes with" control --stop --callgraph
refuse 2 "'all' can't be combined with another name" control --setup --passive-domains=all,a
refuse 2 "active-domains: 'all' can't be combined with another name" control --setup --active-domains=all,a
refuse 2 "'a' can't be both active and passive" control --setup --active-domains=b,a \
	--passive-domains=a
refuse 2 "$work/none: No such file" control --setup --xen="$work/none"
refuse 2 "neither perf, xen nor replay" "$vmopd" --source=magic
[ -e /proc/xen/capabilities ] ||
	refuse 3 "not Xen's control domain" "$vmopd" --foreground --start --source=xen --session-dir="$sessions"
refuse 2 "needs --replay=FILE" "$vmopd" --source=replay
refuse 2 "--replay needs --source=replay" "$vmopd" --source=perf --replay=x
refuse 2 "no file $work/none" "$vmopd" --check-setup --config="$work/none"
refuse 2 "no file $work/none" control --start --config="$work/none"
refuse 2 "no file $work/none" control --list --config="$work/none"
refuse 2 "not a time" "$vmopd" --start --duration=never
refuse 2 "--duration goes with --start" "$vmopd" --duration=1s
is "the set-up file after nothing but errors" "$(find "$VMOP_CONFIG" 2>/dev/null)" = ""

# -- no daemon, no session
refuse 3 "vmopd is not running" control --stop
refuse 3 "vmopd is not running" control --dump
refuse 3 "vmopd is not running" control --status
refuse 3 "vmopd is not running" control --status --json
refuse 3 "vmopd is not running" control -h
refuse 3 "vmopd is not running" control --shutdown
refuse 1 "there is no current session" control --save=a --session-dir="$sessions"
refuse 1 "there is no current session" control --reset --session-dir="$sessions"
expect 0 "" control --deinit

# -- the set-up file
expect 0 "" control --setup --event=cpu-clock:100Hz -e cpu-clock:200Hz --separate=thread,cpu
cd "$work"
expect 0 "" control --setup --xen=System.map --active-domains=c
expect 0 "" control --session-dir=sessions --vmlinux=System.map # options without an action mean --setup
expect 0 "" control --setup --passive-domains=a,b --passive-images=,System.map+0x10
cd "$build"
cat >"$work/wanted" <<EOF
# vmop's set-up: see vmopcontrol(8)
event = cpu-clock:100Hz
event = cpu-clock:200Hz
separate = cpu,thread
session-dir = $sessions
vmlinux = $work/System.map
xen = $work/System.map
active-domains = c
passive-domains = a
passive-domains = b
passive-images = ,$work/System.map+0x10
EOF
sort "$work/wanted" >"$work/wanted.sorted"
sort "$VMOP_CONFIG" | sed 's/thread,cpu/cpu,thread/' >"$work/got.sorted"
echo "expect the set-up file:"
cat "$work/wanted"
cmp "$work/wanted.sorted" "$work/got.sorted" || {
	fail "it is:"
	cat "$VMOP_CONFIG"
}
expect 0 "flush-interval = 1s" control --setup
expect 0 "the set-up is good" "$vmopd" --check-setup
expect 0 "the set-up is good" "$vmopd" --check-setup --config="$VMOP_CONFIG" --session-dir=here
expect 0 "separate = none" control --setup --config="$work/other" --verbose -V -p none
is "the other file" "$(grep -c separate "$work/other")" -eq 1
# Call stacks: without a value, with one, and with opcontrol's depth, which may be a word of its own.
callgraph() {
	grep ^callgraph "$work/stacks" | tr '\n' ' '
}
expect 0 "callgraph = auto" control --setup --config="$work/stacks" --callgraph -V
expect 0 "callgraph = cfi:64K" control --setup --config="$work/stacks" --callgraph=cfi:64K -V
is "the depth is the default" "$(callgraph)" = "callgraph = cfi:64K "
for option in "-c 10" -c10 "--callgraph 10" --callgraph=10; do
	rm "$work/stacks"
	# shellcheck disable=SC2086 # one word or two
	expect 0 "" control --setup --config="$work/stacks" $option
	is "opcontrol's depth by $option" "$(callgraph)" = "callgraph = auto callgraph-depth = 10 "
done
expect 0 "" control --setup --config="$work/stacks" --callgraph=fp --callgraph-depth=127
is "frame pointers" "$(callgraph)" = "callgraph = fp "
expect 0 "" control --setup --config="$work/stacks" -c 0
is "no call stacks" "$(callgraph)" = ""
expect 0 "guest-context = on" control --setup --config="$work/stacks" --guest-context -V
expect 0 "guest-context = off" control --setup --config="$work/stacks" --guest-context=off -V
expect 0 "" control --setup --config="$work/stacks" --guest-context=auto
expect 0 "active-samples = host" control --setup --config="$work/stacks" --active-samples=host -V
expect 0 "" control --setup --config="$work/stacks" --active-samples=guest
is "lines of active-samples" "$(grep -c active-samples "$work/stacks")" -eq 0
expect 0 "fetch-size = off" control --setup --config="$work/stacks" --fetch-size=off -V
expect 0 "" control --setup --config="$work/stacks" --fetch-size=64M
is "lines of fetch-size" "$(grep -c fetch-size "$work/stacks")" -eq 0
expect 0 "waits = on" control --setup --config="$work/stacks" --waits -V
expect 0 "" control --setup --config="$work/stacks" --waits=off
is "lines of waits" "$(grep -c waits "$work/stacks")" -eq 0
is "lines of guest-context" "$(grep -c guest-context "$work/stacks")" -eq 0
# The file is read and never executed; errors name the line.
printf '# one\nevent = cpu-clock\nevnet = x\n' >"$work/bad"
refuse 2 "bad:3: unknown key 'evnet'" control --status --config="$work/bad"
refuse 2 "bad:3: unknown key 'evnet'" "$vmopd" --check-setup --config="$work/bad"
# shellcheck disable=SC2016 # meant as it is
printf 'session-dir = $(touch %s)\n' "$work/executed" >"$work/bad"
refuse 2 "absolute" control --setup --config="$work/bad"
is "what a set-up file executed" "$(find "$work/executed" 2>/dev/null)" = ""
printf 'status-group = no-such-group\n' >"$work/bad"
refuse 2 "no group 'no-such-group'" "$vmopd" --check-setup --config="$work/bad"
head -c 300000 /dev/zero >"$work/bad"
refuse 2 "$work/bad" control --status --config="$work/bad"
VMOP_CONFIG=$work/bad refuse 2 "$work/bad" control --status

# -- help, and the promises about options
for option in --help '-?' --usage --version; do
	expect 0 "vmopcontrol" control "$option"
done
for option in --help --usage --version; do
	expect 0 "vmopd" "$vmopd" $option
done
is "columns of --help" "$(control --help | awk '{ if (length > n) n = length } END { print n }')" -le 80
# Every option is in its manual page, and some test here uses it.
for program in vmopcontrol vmopd; do
	for option in $("$build/$program" --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
		word=${option#--}
		grep -q -- "\(-\|Fl \|Fl -\)$word" "$build/man/$program.8" ||
			fail "$option is not in $program(8)"
		grep -q -- "$option" "$src"/tests/integration/*.sh || fail "no test uses $option"
	done
done
finish
