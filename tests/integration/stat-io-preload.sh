#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopstat --io by a preloaded library: exact for what it sees, and the reason for the rest.
# shellcheck source=tests/integration/stat-io-common.sh
. "$(dirname "$0")/stat-io-common.sh"

base_of preload
exact preload libc
is "the way" "$(json 'facts["way"]' "$work/counted")" = preload
is "what the library does not see" "$(json '"does not see" in facts["no-faults"]' "$work/counted")" = True
is "threads" "$(json 'facts["threads"]' "$work/counted")" -eq 1
exact preload,time libc
is "time of reads" "$(json 'value("io-read-time") > 0' "$work/counted")" = True
# A child, and a program that it executes.
"$stat" --io=preload --json -o "$work/out" sh -c "dd if=/dev/zero of=/dev/null bs=777 count=100 status=none; :"
is "bytes of a child" "$(json 'value("io-write-bytes")' "$work/out")" -eq 77700
# Programs that it does not see: no number, but the reason.
if printf 'int main(void) { return 0; }' | "${VMOP_CC##* }" -static -o "$work/static" -x c - 2>/dev/null; then
	"$stat" --io=preload --json -o "$work/out" "$work/static"
	is "no counts of a static program" "$(json 'value("io-read-calls") is None and "static" in facts["no-counts"]' "$work/out")" = True
	"$stat" --io=preload --json -o "$work/out" sh -c "'$work/static'; :"
	is "a static child is named" "$(json 'facts["programs-unseen"]' "$work/out")" -eq 1
fi
# Its environment is the command's own.
# shellcheck disable=SC2016 # for the shell that it is given to
is "LD_PRELOAD of before stays" "$(LD_PRELOAD='' "$stat" --io=preload -o "$work/out" sh -c 'echo ${LD_PRELOAD##*/}')" = vmop-appio.so
# A program that spoils the shared memory, or would make it smaller, harms the counts only.
cat >"$work/spoil.py" <<'END'
import mmap, os
fd = os.open(os.environ["VMOP_APPIO"], os.O_RDWR)
try:
    os.ftruncate(fd, 0)
    print("truncated")
except OSError:
    print("refused")
memory = mmap.mmap(fd, 0)
memory[8:] = bytes([255]) * (len(memory) - 8)
END
is "a smaller shared memory" "$("$stat" --io=preload --json -o "$work/out" python3 "$work/spoil.py")" = refused
is "a report of spoilt counts" "$(json 'facts["way"]' "$work/out")" = preload
"$stat" --io=preload -o "$work/out" python3 "$work/spoil.py" >/dev/null || fail "exit $? with spoilt counts"

for wrong in '--io -a' '--io=times true' '--io=preload -p 1'; do
	status=0
	# shellcheck disable=SC2086 # words
	"$stat" $wrong >"$work/out" 2>"$work/err" || status=$?
	is "exit status of vmopstat $wrong" $status -ge 2
	is "lines of its message: $(cat "$work/err")" "$(wc -l <"$work/err")" -eq 1
done

# A user without rights: the library, and the reason why it is not BPF.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 777 "$work/nobody"
	cp "$build/vmopstat" "$work/vmopstat"
	cp "$VMOP_APPIO_DIR/vmop-appio.so" "$work/"
	nobody() {
		VMOP_APPIO_DIR=$work setpriv --reuid=65534 --regid=65534 --clear-groups "$work/vmopstat" "$@"
	}
	if [ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled)" != 0 ] && nobody -o "$work/nobody/out" true 2>/dev/null; then
		nobody --io --json -o "$work/nobody/out" dd if=/dev/zero of=/dev/null bs=123 count=100 status=none
		is "bytes counted by nobody" "$(json 'value("io-write-bytes")' "$work/nobody/out")" -eq 12300
		is "the reason against BPF" "$(json 'facts["way"] == "preload" and "CAP_BPF" in facts["not-bpf"]' "$work/nobody/out")" = True
		status=0
		nobody --io -p $$ 2>"$work/err" || status=$?
		is "exit status of nobody's --io -p: $(cat "$work/err")" $status -eq 3
		# A program with other rights does not load the library.
		cp "$known" "$work/suid"
		chmod 4755 "$work/suid"
		nobody --io --json -o "$work/nobody/out" "$work/suid" "$work/nobody/known" file
		is "no counts of a set-user-ID program" "$(json 'value("io-read-calls") is None and "set-user-ID" in facts["no-counts"]' "$work/nobody/out")" = True
		nobody --io --json -o "$work/nobody/out" sh -c "'$work/suid' '$work/nobody/known' file; :"
		is "a set-user-ID child is named" "$(json 'facts["programs-unseen"]' "$work/nobody/out")" -eq 1
	fi
fi
finish
