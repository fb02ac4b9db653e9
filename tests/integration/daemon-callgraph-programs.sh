#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole call stacks of programs of many kinds: C++ with exceptions, Go, static and stripped ones,
# threads as gdb shows them, programs in other mount namespaces, short-lived processes.
# shellcheck source=tests/integration/stacks-common.sh
. "$(dirname "$0")/stacks-common.sh"

# ---- C++: exceptions through several frames ----
if ${CXX:-c++} -O2 -fno-optimize-sibling-calls -o "$work/throws" "$src/tests/fixtures/throws.cc" \
	2>"$work/err"; then
	sample "$work/throws"
	# The compiler puts the parts of a function that handle exceptions into NAME.cold.
	cold='(\\.cold)?'
	all throws in_destructor "^1;_start;.*;main;catcher;outer;middle$cold;clean_up;in_destructor\$"
	all throws in_handler "^1;_start;.*;main;catcher$cold;in_handler\$"
	all throws after_handler '^1;_start;.*;main;catcher;after_handler$'
	thrown=$(count throws ";throw_often;outer;middle;thrower$cold;")
	whole=$(count throws "^1;_start;.*;main;throw_often;outer;middle;thrower$cold;")
	echo "throws: $whole of $thrown samples below a throw are whole"
	is "samples while an exception is thrown" "$thrown" -ge 20
	is "of them whole, percent" $((whole * 100 / (thrown + 1))) -ge 90
	percent "complete" throws '^1;' -ge 98
else
	echo "not tested: no C++ compiler: $(head -1 "$work/err")"
fi

# ---- Go ----
cat >"$work/hello.go" <<'END'
package main

import "time"

var sink uint

//go:noinline
func inner(until time.Time) {
	for time.Now().Before(until) {
		for i := uint(0); i < 1000000; i++ {
			sink += i
		}
	}
}

//go:noinline
func outer(until time.Time, done chan bool) {
	inner(until)
	done <- true
}

func main() {
	done := make(chan bool)
	go outer(time.Now().Add(time.Second/2), done)
	<-done
}
END
if (cd "$work" && HOME=$work GO111MODULE=off go build -o gospin hello.go) 2>"$work/err"; then
	sample "$work/gospin"
	all gospin main.inner ';main.outer;main.inner$'
	percent "complete" gospin '^1;' -ge 90
else
	echo "not tested: no Go: $(head -1 "$work/err")"
fi

# ---- static and stripped programs ----
strip -o "$work/bare" "$hard"
strip -o "$work/bare-static" "$known_static"
sample "$work/bare" spin 300
percent "complete" bare '^1;' -ge 90
sample "$work/bare-static" recursion
percent "complete, with all frames of the recursion" bare-static "^1;$(repeated 15 '.*bare-static\\+')" -ge 90

# ---- threads, compared with the stacks that gdb prints ----
# own_frames: keep the functions of the fixture in stacks, outermost first, of standard input.
own_frames() {
	sed -n 's/.*;\(\(thread_[ad]\|threads\);\(path_[abcd];\)*leaf\).*/\1/p' | sort -u
}
if command -v gdb >/dev/null; then
	"$hard" threads 4000 &
	threads=$!
	control --start --callgraph --event=cpu-clock:999Hz --session-dir="$work/gdb" >/dev/null
	sleep 1
	# Outermost first, a line for each thread. gdb stops the threads only while it reads.
	gdb -p $threads -batch -ex 'thread apply all bt' </dev/null 2>/dev/null |
		awk '/^Thread/ { if (line) print line; line = "" }
		/^#/ { name = $0; sub(/^#[0-9]+ +(0x[0-9a-f]+ in )?/, "", name); sub(/ .*/, "", name)
			line = ";" name line }
		END { print line }' | own_frames >"$work/by-gdb"
	control --shutdown >/dev/null
	wait $threads || fail "the threads ended with $?"
	"$build/tests/integration/session-stacks" "$work/gdb/current.vmop" |
		awk -F '\t' '$3 == "hard-stacks" && $4 ~ /^1;.*;leaf$/ { print $4 }' | own_frames >"$work/by-vmop"
	is "threads in gdb" "$(wc -l <"$work/by-gdb")" -eq 3
	diff "$work/by-gdb" "$work/by-vmop" || fail "gdb's stacks (<) and vmop's (>)"
else
	echo "not tested: no gdb"
fi

# ---- another mount namespace, in which the program is on a file system that the daemon can't see ----
mkdir "$work/hidden"
# shellcheck disable=SC2016 # for the inner shell
sample unshare -m sh -ec 'mount -t tmpfs none "$1"; cp "$2" "$1/inside"; exec "$1/inside" spin 300' \
	- "$work/hidden" "$hard"
[ ! -e "$work/hidden/inside" ] || fail "the program is not hidden"
percent "whole" inside "^1;[^;]*inside\\+.*$(repeated 5 ';[^;]*inside\\+[^;]*')" -ge 85

# ---- short-lived processes ----
sample "$hard" fork 300
leaf=$(count hard-stacks ';leaf$')
whole=$(count hard-stacks '^1;_start;.*;main;fork_many;path_a;path_b;path_c;leaf$')
is "of those in the computation, whole, percent" $((whole * 100 / (leaf + 1))) -ge 98
finish
