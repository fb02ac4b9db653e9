# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2154 # what l1/lib.sh sets
# A function for the scenarios that compare the call stacks of guests' samples with known call paths:
# programs without frame pointers, static (only on the rig's disk) and dynamic, in user code and in the
# kernel. $least is the number of samples that are waited for: each of the paths needs some dozens.
guest_number=0 least=12000 disk_words=''
[ ! -e /rig/disk.img ] || disk_words='disk=/rig/disk.img rig.disk=1'

# stacks_of NAME [WORD]...: start a guest with the programs, and profile it.
stacks_of() {
	guest=$1
	shift
	guest_number=$((guest_number + 1))
	# shellcheck disable=SC2086 # a list
	start_guest "$guest" "00000000-2222-3333-4444-00000000000$guest_number" boot=vmlinuz $disk_words rig.mode=paths "$@"
	wait_guest "$guest" READY
	# An emulated CPU is some twenty times slower than a real one, so reading memory may use more. At 1000 Hz
	# a very busy machine lost 30 to 80 % of the samples, which have up to 20 KiB.
	run "$guest.start" vmopcontrol --start --event=cpu-clock:400Hz --callgraph --guest-cpu=100% "--passive-domains=$guest" \
		"--session-dir=/tmp/$guest"
	wait_known "$guest"
	# The tables of the programs are built from their first samples on.
	wait_samples "$guest" 2000 120
	sleep 10
	date +%s >"/results/$guest.from"
	wait_samples "$guest" "$least" 400
	run "$guest.status" vmopcontrol --status
	run "$guest.shutdown" vmopcontrol --shutdown
	kill_guest "$guest"
	report folded --format=folded "domain:$guest"
	report billed --format=folded --accounting=domain --by=domain "domain:$guest"
	report callgraph --callgraph --top=60 "domain:$guest"
	report callers --tree=callers --by=task --merge=tgid "domain:$guest"
	report callees --tree=callees "domain:$guest"
	report children --children --by=symbol --top=60 --format=csv "domain:$guest"
	report flamegraph --format=flamegraph --accounting=domain --by=domain "domain:$guest"
	report pprof --format=pprof --accounting=domain "--output-file=/results/$guest.pprof" "domain:$guest"
	cp "/tmp/$guest/current.vmop" "/results/$guest.vmop"
}

report() {
	step=$1
	shift
	run "$guest.$step" vmopreport "--session-dir=/tmp/$guest" "time:@$(cat "/results/$guest.from").." "$@"
}
