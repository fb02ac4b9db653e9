#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate --assembly of code that runs in a guest, and of the host's kernel: no file is there when
# the report is made, the session has the bytes. They are compared with the file that ran.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
export TZ=UTC LC_ALL=C
name=code-$$ worker=$build/tests/fixtures/guest-worker

annotate() {
	"$build/vmopannotate" --session-dir="$sessions" --assembly "$@"
}

# instructions CSV: print "ADDRESS MNEMONIC" of its instructions.
instructions() {
	python3 - "$1" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if row["instruction"]:
        print(row["address"].removeprefix("0x"), row["instruction"].split()[0].rstrip("lq"))
END
}

# in_file FUNCTION: print the same of the ELF file, whose code begins at offset 0x1000.
in_file() {
	objdump -d --no-show-raw-insn "$worker" | awk -v function_name="<$1>:" '
		$2 == function_name { is_in = 1; next }
		/^$/ { is_in = 0 }
		is_in {
			sub(/^ *40/, "")
			sub(/:/, " ")
			mnemonic = $2
			sub(/[lq]$/, "", mnemonic)
			if (mnemonic !~ /^(nop|data16|xchg|cs)/) # padding behind the function
				print $1, mnemonic
		}'
}

begin_guest "$name" --linux "$worker" --generated

# record OPTION...: sample the guest until each of its functions has samples.
record() {
	rm -rf "$sessions"
	expect 0 "" control --start --event=cpu-clock:999Hz --session-dir="$sessions" --passive-domains="$name" "$@"
	until control --dump >/dev/null 2>&1 &&
		annotate --format=csv "domain:$name" -i minor 2>/dev/null | awk 'END { exit NR < 3 }' &&
		annotate --format=csv "domain:$name" 'image:*anon*' 2>/dev/null | awk 'END { exit NR < 3 }' &&
		[ "$("$build/vmopreport" --session-dir="$sessions" --format=csv --by=domain "domain:$name" 2>/dev/null |
			awk -F, 'END { print $1 + 0 }')" -ge 500 ]; do
		sleep 0.2
	done
	sleep 1.5 # code is stored with the interval after that of its samples
	control --stop >/dev/null
}

record --code=on
if ! annotate "domain:$name" >"$work/out" 2>&1; then
	grep -q 'built without capstone' "$work/out" || fail "$(cat "$work/out")"
	skip "built without capstone"
fi
for function in major minor; do
	annotate -t 0 -i "$function" --format=csv "domain:$name" >"$work/csv" 2>/dev/null
	instructions "$work/csv" >"$work/got"
	in_file "$function" >"$work/wanted"
	is "instructions of $function in the file" "$(wc -l <"$work/wanted")" -ge 4
	cmp "$work/got" "$work/wanted" || fail "$function differs from the file: $(cat "$work/got")"
done
stored='the code as it was in memory'
expect 0 "  $stored, stored with the samples" annotate -i major "domain:$name"
# The generated code has no file.
annotate --format=csv "domain:$name" 'image:*anon*' >"$work/csv" 2>/dev/null
is "generated instructions" "$(instructions "$work/csv" | awk '$1 ~ /0007$|0009$/ { printf "%s ", $2 }')" = "jne jmp "

# The file with that build-id is compared: the very file, and one with another byte.
mkdir "$work/same" "$work/other"
cp "$worker" "$work/same/worker"
expect 0 "  $stored, the same as in the file" annotate --image-path="$work/same" -i major "domain:$name"
cp "$worker" "$work/other/worker"
printf '\220\220' | dd of="$work/other/worker" bs=1 seek=$((0x1005)) conv=notrunc 2>/dev/null # nop nop, for decl
expect 0 "  $stored, which differs from the file's" annotate --image-path="$work/other" -i major "domain:$name"
expect 0 "decl %ecx" annotate --image-path="$work/other" -i major "domain:$name"
"$build/tests/integration/session-facts" "$sessions/current.vmop" >/dev/null || fail "the session is damaged"

# Without contexts, code is read in its process.
record --code=on --guest-context=off
expect 0 "  $stored, the same as in the file" annotate --image-path="$work/same" -i major "domain:$name"

record --code=off
expect 0 "no code: " annotate -i major "domain:$name"
kill $guest

# The host's kernel: a program that is in it most of the time.
rm -rf "$sessions"
control --run --event=cpu-clock:999Hz --session-dir="$sessions" --passive-domains=none --code=on -- \
	dd if=/dev/zero of=/dev/null bs=1M count=30000 >"$work/out" 2>&1 || fail "$(cat "$work/out")"
if grep -qi "can't be read\|hides" "$work/out" || ! grep -q ' T _text$' /proc/kallsyms ||
	[ "$(sed -n 's/ T _text$//p' /proc/kallsyms)" = 0000000000000000 ]; then
	echo "not tested: the kernel's code"
	finish
fi
annotate 'image:*kernel*' task:dd >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -qF "$stored" "$work/out" || fail "no code of the kernel: $(head -40 "$work/out")"
# The hottest instruction was sampled, and its bytes are known.
grep -q '^>.*[0-9a-f]  [a-z]' "$work/out" || fail "no hot instruction of the kernel: $(head -40 "$work/out")"
finish
