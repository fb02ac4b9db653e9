# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# Functions for a scenario inside the emulated KVM host (busybox sh). Its results are the files in
# /results, the directory in which it starts.

say() {
	echo "RIG $* up=$(cut -d' ' -f1 /proc/uptime)"
}

# fail REASON...: end the scenario.
fail() {
	say "FAILED $*"
	exit 1
}

load() {
	for m; do
		# Absent if the kernel has it built in.
		[ ! -e "/mod/$m.ko" ] || insmod "/mod/$m.ko" || say "FAILED insmod $m"
	done
}

# start_guest NAME UUID [WORD]...: start a guest; words of the form rig.X=Y and other kernel
# parameters go to its command line, except these:
#   kernel=VERSION  (default: the first one of the rig)   memory=MIB (256)   cpus=N (1)
#   boot=vmlinux|vmlinuz: PVH boot, no KASLR of the text, fast; or like a boot loader (vmlinux);
#     arm64 has only vmlinuz
#   ram=file|anonymous: in /dev/shm, shared; or QEMU's own memory (file)
#   cpu=MODEL: with its properties (host)
#   disk=FILE: a second disk with this content, read only   reboots=1: a reboot does not end it
#   net=TAP: a network card, whose packets vhost moves to and from that tap; its modules are for the scenario to load:
#     tun vhost_iotlb vhost tap vhost_net here, failover net_failover virtio_net there
#   macvtap=NAME: the same by a macvtap that is there; macvlan macvtap too
#   shell=1: it runs the commands of on-guest.sh   cid=N: it has a virtio-vsock with that CID
#   serial=1: it has a port of virtio-serial with the name org.vmop.0
#   programs=1: it has the programs of the rig's guest_programs
#   monitor=1: QEMU takes commands (monitor)   as=NAME: its name for users (the first argument)
#   incoming=URI: it does not boot, but waits for the state of a guest that was started with the same words
start_guest() {
	name=$1 uuid=$2 words="" memory=256 cpus=1 boot=vmlinux ram=file disk='' reboots=0 shell=0 cid='' cpu=host net='' macvtap='' programs=0 serial=0 \
		monitor=0 as=$1 incoming=''
	# Not as a default of a local variable, which would not expand the list.
	for kernel in /guest/*; do
		kernel=${kernel#/guest/}
		break
	done
	shift 2
	for word; do
		case $word in
		kernel=* | memory=* | cpus=* | boot=* | ram=* | disk=* | reboots=* | shell=* | cid=* | cpu=* | net=* | macvtap=* | programs=* | serial=* | monitor=* | as=*) eval "$word" ;;
		incoming=*) incoming=${word#incoming=} ;; # can have spaces
		*) words="$words $word" ;;
		esac
	done
	dir=/tmp/guests/$name
	mkdir -p "$dir"
	: >"$dir/console"
	truncate -s 32M "$dir/truth.img"
	if [ "$(uname -m)" = aarch64 ]; then
		program=qemu-system-aarch64 machine=virt,gic-version=3 blk=virtio-blk-device vsock=vhost-vsock-device
		boot=vmlinuz console=ttyAMA0
		disks="disk truth" # the kernel finds the last one first
	else
		program=qemu-system-x86_64 machine=pc blk=virtio-blk-pci vsock=vhost-vsock-pci console=ttyS0
		disks="truth disk"
	fi
	if [ "$ram" = file ]; then
		set -- -object "memory-backend-file,id=ram,size=${memory}M,mem-path=/dev/shm/$name,share=on"
		machine=$machine,memory-backend=ram
	else
		set --
	fi
	set -- "$@" -drive "file=$dir/truth.img,format=raw,if=none,id=truth,cache=unsafe"
	[ -z "$disk" ] || set -- "$@" -drive "file=$disk,format=raw,if=none,id=disk,readonly=on"
	for drive in $disks; do
		[ "$drive$disk" = disk ] || set -- "$@" -device "$blk,drive=$drive"
	done
	[ -z "$cid" ] || set -- "$@" -device "$vsock,guest-cid=$cid"
	[ -z "$cid" ] || words="$words rig.vsock=1"
	[ "$serial" = 0 ] || set -- "$@" -device virtio-serial-pci \
		-chardev "socket,id=agent,path=$dir/org.vmop.0,server=on,wait=off" \
		-device virtserialport,chardev=agent,name=org.vmop.0
	[ "$serial" = 0 ] || words="$words rig.serial=1"
	# Without its boot program, which is not in L1.
	[ -z "$net" ] || set -- "$@" -netdev "tap,id=net,ifname=$net,script=no,downscript=no,vhost=on" \
		-device virtio-net-pci,netdev=net,romfile=
	if [ -n "$macvtap" ]; then
		exec 9<>"/dev/tap$(cat "/sys/class/net/$macvtap/ifindex")"
		set -- "$@" -netdev tap,id=net,fd=9,vhost=on \
			-device "virtio-net-pci,netdev=net,romfile=,mac=$(cat "/sys/class/net/$macvtap/address")"
	fi
	[ "$reboots" = 1 ] || set -- "$@" -no-reboot
	[ -z "$incoming" ] || set -- "$@" -incoming "$incoming"
	if [ "$monitor" = 1 ]; then
		mkfifo "$dir/monitor.in" "$dir/monitor.out"
		set -- "$@" -chardev "pipe,id=monitor,path=$dir/monitor,logfile=$dir/monitor" -mon chardev=monitor,mode=readline
	fi
	if [ "$shell" = 1 ]; then
		# Without a reader, the pipe takes the first 64 KiB, and the log is no longer.
		mkfifo "$dir/tty.in" "$dir/tty.out"
		set -- "$@" -chardev "pipe,id=console,path=$dir/tty,logfile=$dir/console" -serial chardev:console
		words="$words rig.shell=1"
	else
		set -- "$@" -serial "file:$dir/console"
	fi
	initramfs=/guest/$kernel/initramfs
	if [ "$programs" = 1 ]; then
		initramfs=$dir/initramfs
		cat "/guest/$kernel/initramfs" /rig/guest-programs.cpio >"$initramfs"
	fi
	"$program" -accel kvm -cpu "$cpu" -smp "$cpus" -m "$memory" -machine "$machine" "$@" \
		-nodefaults -no-user-config -display none \
		-kernel "/guest/$kernel/$boot" -initrd "$initramfs" \
		-append "console=$console quiet panic=-1 mitigations=off$words" \
		-name "$as,debug-threads=on" -uuid "$uuid" \
		-qmp "unix:$dir/qmp,server=on,wait=off" >"$dir/qemu.log" 2>&1 &
	echo $! >"$dir/pid"
	exec 9>&-
	say "START $name pid $!"
}

# monitor NAME COMMAND...: give QEMU a command. Its answer is appended to /tmp/guests/NAME/monitor.
monitor() {
	guest=$1
	shift
	echo "$*" >"/tmp/guests/$guest/monitor.in"
}

# wait_expecting NAME SOCKET [SECONDS]: wait until QEMU listens at the socket of its incoming=unix:SOCKET.
wait_expecting() {
	end_s=$(($(up_s) + ${3:-$boot_limit_s}))
	until [ -S "$2" ]; do
		if [ "$(up_s)" -ge $end_s ] || ! kill -0 "$(guest_pid "$1")" 2>/dev/null; then
			tail -n 20 "/tmp/guests/$1/qemu.log"
			fail_boot "guest $1 is not expected at $2"
		fi
		usleep 200000
	done
	say "EXPECTING $1"
}

# wait_moved NAME [SECONDS]: wait until all of its state is elsewhere, after the monitor's command "migrate -d".
wait_moved() {
	end_s=$(($(up_s) + ${2:-300}))
	until grep -q 'Migration status: completed' "/tmp/guests/$1/monitor"; do
		if [ "$(up_s)" -ge $end_s ] || grep -q 'Migration status: failed' "/tmp/guests/$1/monitor"; then
			grep -a 'Migration status' "/tmp/guests/$1/monitor" || true
			tail -n 5 /tmp/guests/*/qemu.log # the other side has the reason
			fail "guest $1 did not move"
		fi
		monitor "$1" info migrate
		sleep 2
	done
	say "MOVED $1"
}

# wait_running NAME [SECONDS]: wait until a guest that comes from elsewhere runs. Its console takes nothing before.
wait_running() {
	end_s=$(($(up_s) + ${2:-300}))
	until grep -q 'VM status: running' "/tmp/guests/$1/monitor"; do
		if [ "$(up_s)" -ge $end_s ]; then
			tail -n 5 /tmp/guests/*/qemu.log
			fail "guest $1 does not run"
		fi
		monitor "$1" info status
		sleep 2
	done
	say "RUNNING $1"
}

# start_spinner NAME: start a guest that only runs, without Linux (spin.S).
start_spinner() {
	dir=/tmp/guests/$1
	mkdir -p "$dir"
	: >"$dir/console"
	qemu-system-x86_64 -accel kvm -cpu host -m 16 -machine pc -nodefaults -no-user-config -display none \
		-kernel /rig/spin -name "$1,debug-threads=on" >"$dir/qemu.log" 2>&1 &
	echo $! >"$dir/pid"
	say "START $1 pid $!"
}

guest_pid() {
	cat "/tmp/guests/$1/pid"
}

# fail_boot REASON...: end the scenario because a guest did not come up; kvm-run may start again.
fail_boot() {
	say "FAILED $*"
	exit 75
}

# up_s: print whole seconds since the machine's start.
up_s() {
	cut -d. -f1 /proc/uptime
}

# show_guest NAME: print the end of its console, and whether its vCPU still exits, to explain a
# guest that hangs.
show_guest() {
	grep -m3 -i -E 'panic|oops|traps:|segfault' "/tmp/guests/$1/console" || true
	tail -n 5 "/tmp/guests/$1/console" "/tmp/guests/$1/qemu.log"
	for _ in 1 2; do
		grep -H . "/sys/kernel/debug/kvm/$(guest_pid "$1")-"*/exits || true
		sleep 1
	done
	grep -E '^(MemFree|MemAvailable|Shmem):' /proc/meminfo
}

# The seconds that a guest may take to boot. This machine reaches its userland, which sources this
# file, in 3 to 8 s on an idle processor and in 40 s on a very busy one, where a guest with two vCPUs
# needs more than 240 s.
boot_limit_s=$((240 + 10 * $(up_s)))

# wait_guest NAME PATTERN [SECONDS]: wait until its console has a line "RIG PATTERN...". Fails the
# scenario otherwise (READY: with fail_boot). The clock limits the wait: on a busy machine an
# iteration takes far longer than its sleep.
wait_guest() {
	end_s=$(($(up_s) + ${3:-$boot_limit_s}))
	while ! grep -q "^RIG $2" "/tmp/guests/$1/console"; do
		if [ "$(up_s)" -ge $end_s ] || ! kill -0 "$(guest_pid "$1")" 2>/dev/null; then
			show_guest "$1"
			[ "$2" != READY ] || fail_boot "guest $1 never said '$2'"
			fail "guest $1 never said '$2'"
		fi
		usleep 200000
	done
	say "GUEST $1: $2"
}

# kill_guest NAME: end it like a power cut.
kill_guest() {
	kill -9 "$(guest_pid "$1")"
	wait "$(guest_pid "$1")" 2>/dev/null || true
	rm -f "/dev/shm/$1"
	say "KILLED $1"
}

# pack_program NAME FILE: write a program and its libraries as a tar, which a guest unpacks from its second disk
# (disk=FILE, shell=1): tar -xf /dev/vdb -C /.
pack_program() {
	loader=$(echo /lib64/ld-linux-*.so.*)
	[ -e "$loader" ] || loader=$(echo /lib/ld-linux-*.so.*)
	program=$(command -v "$1")
	# shellcheck disable=SC2046 # a list of files
	tar -chf "$2" -C / "${program#/}" "${loader#/}" \
		$("$loader" --list "$program" | sed -nE 's@^.* => /([^ ]+) .*@\1@p')
}

# guest_truth NAME: unpack its output of rig.truth=1 to /results/NAME.truth/{proc,sys,module}.
guest_truth() {
	mkdir -p "/tmp/guests/$1/t"
	tar -xf "/tmp/guests/$1/truth.img" -C "/tmp/guests/$1/t"
	mv "/tmp/guests/$1/t/truth" "/results/$1.truth"
}

# guest_record NAME: store the records of its programs, of all its boots, as /results/NAME.record.
# After wait_guest NAME RECORDED.
guest_record() {
	dd if="/tmp/guests/$1/truth.img" bs=1M skip=16 2>/dev/null | tr -d '\0' >"/results/$1.record"
}

# wait_known NAME: wait until the daemon knows the guest's kernel. Stores a time soon after that in
# NAME.from, in seconds since 1970, for reports of the samples from then on.
wait_known() {
	end_s=$(($(up_s) + boot_limit_s))
	until vmopcontrol --status | sed -n "/^$1: /,/^[^ ]/p" | grep -q 'inside: kernel symbols and processes'; do
		[ "$(up_s)" -lt $end_s ] || fail "the kernel of guest $1 was never found"
		usleep 500000
	done
	echo $(($(date +%s) + 2)) >"/results/$1.from"
	say "KNOWN $1"
}

# wait_status TEXT SECONDS: wait until vmopd's status has that text; if it does not, show the log. The check tests the results.
wait_status() {
	end_s=$(($(up_s) + $2))
	until vmopcontrol --status --json | grep -q "$1" || [ "$(up_s)" -ge $end_s ]; do
		sleep 1
	done
	vmopcontrol --status --json | grep -q "$1" || tail -n 20 /run/vmop/vmopd.log
}

# samples_of NAME: print the number of samples that the daemon has of a guest's code.
samples_of() {
	vmopcontrol --status | awk -v name="$1" '$1 == name { n = $4 + $5 } END { print n + 0 }'
}

# wait_samples NAME COUNT SECONDS: wait until the daemon has so many more samples of the guest's code,
# or the time is over: the check fails if they are too few. On a busy machine, far fewer samples
# come in a second than the session's rate.
wait_samples() {
	end_s=$(($(up_s) + $3))
	wanted=$(($(samples_of "$1") + $2))
	while [ "$(samples_of "$1")" -lt $wanted ] && [ "$(up_s)" -lt $end_s ]; do
		sleep 4
	done
	say "SAMPLES $1 $(samples_of "$1")"
}

# run NAME COMMAND...: store its output and exit status in NAME.out, NAME.err and NAME.status. Never
# fails the scenario: the check tests the results.
run() {
	step=$1
	shift
	status=0
	timeout "${RUN_LIMIT_S:-60}" "$@" >"/results/$step.out" 2>"/results/$step.err" || status=$?
	echo "$status" >"/results/$step.status"
	say "RAN $step: $* -> $status"
}

# fetch_session GUEST FILE: copy the last session of a guest's agent by the guest's first disk, once it has no WAL. The
# guest has shell=1.
fetch_session() {
	file=/var/lib/vmop/current.vmop
	timeout 300 sh /rig/on-guest.sh "$1" "i=0; while [ -e $file-wal ] && [ \$i -lt 1200 ]; do i=\$((i + 1)); usleep 200000; done; dd if=$file of=/dev/vda bs=64k conv=notrunc,fsync; echo RIG BYTES \$(stat -c %s $file)"
	bytes=$(sed -n 's/^RIG BYTES \([0-9]*\).*/\1/p' "/tmp/guests/$1/console" | tail -n 1)
	head -c "$bytes" "/tmp/guests/$1/truth.img" >"$2"
}
