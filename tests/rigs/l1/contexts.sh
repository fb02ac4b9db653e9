# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# A function for the scenarios that compare guests' samples with the records of their programs: programs
# of 40 and 5 ms, static and dynamic, from the initramfs and (with the rig's disk) from ext4, generated
# code, removed files, containers, C++ and Rust. $event is the sampling event.
guest_number=0 event=cpu-clock:1000Hz disk_words=''
[ ! -e /rig/disk.img ] || disk_words='disk=/rig/disk.img rig.disk=1'

# profile NAME OPTION... -- [WORD]...: start a guest that runs the programs, and profile it from the
# time when its kernel is known until its programs have written their records.
profile() {
	guest=$1 options=''
	shift
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	guest_number=$((guest_number + 1))
	# shellcheck disable=SC2086 # a list
	start_guest "$guest" "00000000-2222-3333-4444-00000000000$guest_number" boot=vmlinuz $disk_words rig.mode=brief "$@"
	wait_guest "$guest" READY
	# An emulated CPU is some twenty times slower than a real one, so reading memory may use more.
	# shellcheck disable=SC2086 # a list
	run "$guest.start" vmopcontrol --start "--event=$event" --guest-cpu=100% "--passive-domains=$guest" \
		"--session-dir=/tmp/$guest" $options
	wait_known "$guest"
	# The interval in which the kernel became known ends here.
	run "$guest.dump" vmopcontrol --dump
	echo $(($(date +%s) + 1)) >"/results/$guest.from"
	wait_guest "$guest" DONE 900
	run "$guest.status" vmopcontrol --status
	run "$guest.shutdown" vmopcontrol --shutdown
	guest_record "$guest"
	kill_guest "$guest"
	from=time:@$(cat "/results/$guest.from")..
	run "$guest.rows" vmopreport "--session-dir=/tmp/$guest" --by=domain,certainty,mode,task,image,symbol --top=0 \
		--format=csv "domain:$guest" "$from"
	run "$guest.shares" vmopreport "--session-dir=/tmp/$guest" --by=domain,certainty "domain:$guest" "$from"
	run "$guest.table" vmopreport "--session-dir=/tmp/$guest" --by=image,symbol --top=60 "domain:$guest" "$from"
	run "$guest.boxes" vmopreport "--session-dir=/tmp/$guest" --by=domain,cgroup,task -m tgid --format=csv "domain:$guest" "$from"
	cp "/tmp/$guest/current.vmop" "/results/$guest.vmop"
}
