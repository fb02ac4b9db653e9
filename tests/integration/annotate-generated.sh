#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate --assembly of generated code: its bytes are in the session, after its process is gone.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
need_perf
jit=$build/tests/integration/jit
status=0
"$jit" 0 none >"$work/out" || status=$?
[ $status -ne 77 ] || skip "no code of this machine is known to the test"
export TZ=UTC LC_ALL=C

annotate() {
	"$build/vmopannotate" --session-dir="$sessions" "$@"
}

record() {
	control --run --event=cpu-clock:999Hz --session-dir="$sessions" "$@" -- "$jit" 4 map >"$work/out" 2>&1 ||
		fail "$(cat "$work/out")"
	rm -f "/tmp/perf-$(grep -xE '[0-9]+' "$work/out").map" # of the program's pid, which it prints
}

record --code=on
if ! annotate --assembly task:jit >"$work/out" 2>&1; then
	grep -q 'built without capstone' "$work/out" || fail "$(cat "$work/out")"
	skip "built without capstone"
fi
case $(uname -m) in
x86_64) wanted='movl %edi, %ecx;decl %ecx;jne;retq;' ;;
aarch64) wanted='subs w0, w0, #1;b.ne;ret;' ;;
esac
for function in jit_major jit_minor; do
	annotate --assembly -t 0 -i "$function*" --format=csv task:jit >"$work/csv" 2>/dev/null
	got=$(python3 - "$work/csv" <<'END'
import csv, re, sys
for row in csv.DictReader(open(sys.argv[1])):
    print(re.sub(r" (0x|#0x).*", "", row["instruction"]), end=";")
END
	)
	is "instructions of $function" "$got" = "$wanted"
done
annotate --assembly task:jit >"$work/out" 2>&1
grep -q '^>.*[0-9a-f]  ' "$work/out" || fail "no hot instruction: $(cat "$work/out")"
annotate task:jit >"$work/out" 2>&1
grep -q 'no source lines: generated code has no file' "$work/out" || fail "$(cat "$work/out")"
"$build/tests/integration/session-facts" "$sessions/current.vmop" >/dev/null || fail "the session is damaged"

# Functions that a jitdump placed: two at one address, each with its own bytes.
control --run --event=cpu-clock:999Hz --session-dir="$sessions" --code=on -- \
	"$build/tests/integration/jitdump" 4 "$work/jit-1.dump" now >"$work/out" 2>&1 || fail "$(cat "$work/out")"
rm "$work/jit-1.dump"
annotate --assembly -t 0 -i 'jit_first*' --format=csv task:jitdump >"$work/csv" 2>/dev/null
case $(uname -m) in
x86_64) wanted='pushq;movq;movl;decl;jne;popq;retq;' ;;
aarch64) wanted='stp;mov;subs;b.ne;ldp;ret;' ;;
esac
got=$(python3 - "$work/csv" <<'END'
import csv, sys
missing = total = 0
for row in csv.DictReader(open(sys.argv[1])):
    samples = int(row["samples"] or 0)
    total += samples
    if row["instruction"]:
        print(row["instruction"].split()[0], end=";")
    else: # a sample from before the dump was read can lack its code
        missing += samples
if missing * 10 > total:
    print("none", end=";")
END
)
is "instructions of a function in a jitdump" "$got" = "$wanted"

record --code=off
annotate --assembly task:jit >"$work/out" 2>&1
grep -q 'no code: it was not stored: vmopcontrol --code=on' "$work/out" || fail "--code=off: $(cat "$work/out")"
grep -q '(no code)' "$work/out" || fail "no addresses: $(cat "$work/out")"
refuse 2 "is not on, off, or a size between 64K and 1G" control --setup --code=1K
exit $failed
