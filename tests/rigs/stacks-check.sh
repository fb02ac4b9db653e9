# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Functions for the checks of the scenarios with l1/stacks.sh: the reports' stacks compared with the programs'
# known call paths (guest/paths.c), and the share of stacks that are complete.

# matching FILE COMM PATTERN: print the samples of the folded stacks of a program that match.
matching() {
	awk -v comm="${2:0:15}" -v pattern="$3" '{
		n = $NF; sub(/ [0-9]+$/, ""); split($0, part, ";")
		if (part[2] == comm && $0 ~ pattern) sum += n
	} END { print sum + 0 }' "$1"
}

# leads GUEST COMM LEAF PATTERN LOW: check that at least LOW percent of the samples whose stack matches
# LEAF have a stack that matches PATTERN, too.
leads() {
	local total got
	total=$(matching "$1.folded.out" "$2" "$3")
	got=$(matching "$1.folded.out" "$2" "$4")
	between "$1 $2: samples in $3" "$total" 30 1000000
	between "$1 $2: of them with the stack $4, percent" "$(percent "$got" "$total")" "$5" 100
	[ "$got" = "$total" ] || awk -v comm="${2:0:15}" -v leaf="$3" -v pattern="$4" '{
		line = $0; sub(/ [0-9]+$/, ""); split($0, part, ";")
		if (part[2] == comm && $0 ~ leaf && $0 !~ pattern) print $NF, "    " line }' "$1.folded.out" |
		sort -k1 -rn | head -n 2 | cut -c1-400
}

# calls PATH...: print a pattern for these guest functions, each called by the one before it.
calls() {
	local name
	for name; do
		printf ';%s_\\[g\\]' "$name"
	done
}

# complete GUEST MODE COMMS PERCENT: check the share of complete stacks of samples in the mode. In the
# kernel a stack that reaches user code is complete, and one of the next task: in __switch_to its user code is
# left out, because the current task is another. With these programs it is 0.3 to 1.5 % of the kernel's samples.
# So is one of arm64's entry, which has not stored the user's address yet: the host can't read it with VHE. With
# KPTI a part of the entry runs at an address of its own (the trampoline), which no symbol has.
complete() {
	local total whole entering
	read -r total whole entering < <(awk -F'\t' -v mode="$2" -v comms="$3" -v guest="$1" '
		$5 == guest && $7 == mode && $3 ~ comms {
			n += $1
			user = mode == "kernel" && $4 ~ /;[^;]*[^]](;|$)/
			next_task = mode == "kernel" && $4 ~ /^7;.*;(__switch_to(_asm)?|cpu_switch_to)_\[k\](;|$)/
			entry = mode == "kernel" && $4 ~ /^7;(vectors|el0t_64_(sync|irq)|ret_to_user|\[guest [^;]* unknown kernel text\][+]0xffff?f[bf][^;]*)_\[k\]$/
			if ($4 ~ /^1;/ || user || next_task || entry) whole += $1
			if (entry) entering += $1
		}
		END { print n + 0, whole + 0, entering + 0 }' "$1.stacks")
	between "$1: samples in $2 mode" "$total" 300 10000000
	between "$1: of them with a complete $2 stack, percent" "$(awk -v a="$whole" -v b="$total" \
		'BEGIN { printf "%.2f", b ? 100 * a / b : 0 }')" "$4" 100
	[ "$2" = user ] || between "$1: of them in the code of an entry, without its caller, percent" \
		"$(percent "$entering" "$total")" 0 12
	awk -F'\t' -v mode="$2" -v comms="$3" -v guest="$1" '
		$5 == guest && $7 == mode && $3 ~ comms {
			end = $4; sub(/;.*/, "", end); n[end] += $1 }
		END { for (end in n) print "    end", end ":", n[end] }' "$1.stacks"
}

# check_user_stacks GUEST KIND...: check the paths in user code of the programs whose names begin with a
# kind: "" (dynamic), "static-".
check_user_stacks() {
	local guest=$1 leaf tail leaves before mode major=0 minor=0 one other
	shift
	for leaf in major minor; do
		tail=$(calls middle calls_$leaf leaf_$leaf)
		leaves="$tail\$"
		for before; do
			leads "$guest" "${before}calls" "$(calls leaf_$leaf)\$" "$(calls main)($(calls run))?$(calls outer)$leaves" 97
			leads "$guest" "${before}recursion" "$(calls leaf_$leaf)\$" \
				"$(calls main)($(calls run))?$(calls recurse recurse recurse recurse recurse recurse recurse recurse)$leaves" 97
			leads "$guest" "${before}signals" "$(calls leaf_$leaf)\$" \
				"$(calls main)($(calls run))?$(calls wait_for_signal);[^;]*_\[g\]$(calls handler)$leaves" 97
			leads "$guest" "${before}thread" "$(calls leaf_$leaf)\$" "$(calls thread_main)$leaves" 97
		done
		leads "$guest" library "$(calls leaf_$leaf)\$" "$(calls main)($(calls run))?$(calls paths_call_back called_back)$leaves" 97
	done
	for mode in library $(modes_of "calls recursion signals thread" "$@"); do
		one=$(matching "$guest.folded.out" "$mode" "$(calls calls_major leaf_major)\$")
		other=$(matching "$guest.folded.out" "$mode" "$(calls calls_minor leaf_minor)\$")
		between "$guest $mode: share of calls_major's leaf, percent" "$(percent "$one" $((one + other)))" 60 90
		major=$((major + one)) minor=$((minor + other))
	done
	between "$guest: share of calls_major's leaves, percent" "$(percent $major $((major + minor)))" \
		"$(binomial LOW 75 $((major + minor)))" "$(binomial HIGH 75 $((major + minor)))"
}

# check_kernel_stacks GUEST ENTRY SYSCALL FAULT KIND...: check the paths from the kernel's entry to the
# program's function and its callers. ENTRY, SYSCALL and FAULT are patterns: the function at the kernel's
# entry, those of a system call from there on, and those of a page fault.
check_kernel_stacks() {
	local guest=$1 entry=$2 syscall=$3 fault=$4 before
	shift 4
	for before; do
		leads "$guest" "${before}zero" "$entry;.*vfs_read" "$(calls main).*$(calls kernel_outer read_zero);[^;]*$entry;.*vfs_read" 97
		leads "$guest" "${before}pipe" "$entry;.*(pipe_write|pipe_read)_" \
			"$(calls main).*$(calls kernel_outer);(write_pipe_\[g\];[^;]*$entry;.*;(anon_)?pipe_write|read_pipe_\[g\];[^;]*$entry;.*;(anon_)?pipe_read)_" 97
		leads "$guest" "${before}getpid" "$syscall" "$(calls main).*$(calls kernel_outer get_pid);[^;]*$syscall" 97
		leads "$guest" "${before}faults" "$fault" "$(calls main).*$(calls kernel_outer touch_pages)$fault" 97
	done
}

# modes_of NAMES KIND...: print each of the names after each kind.
modes_of() {
	local before name
	for before in "${@:2}"; do
		for name in $1; do
			echo "$before$name"
		done
	done
}

# check_stacks GUEST MACHINE KIND...: check everything of a guest: its steps, the share of complete stacks,
# the paths, the host's work on top of the guest's stacks, and each report.
check_stacks() {
	local guest=$1 machine=$2 step mode got entry
	shift 2
	for step in start status shutdown folded billed callgraph callers callees children flamegraph pprof; do
		ran "$guest.$step"
	done
	same "$guest: programs that ended" "$(grep -ao '^RIG ENDED.*' "$guest.console")" ''
	"$VMOP_BUILDDIR/tests/integration/session-stacks" "--guests=$(cat "$guest.from")" "$guest.vmop" >"$guest.stacks"
	verdict $? "$guest: the session file is whole"
	complete "$guest" kernel '.' 99.7
	complete "$guest" user "^($(for mode in library $(modes_of "calls recursion signals thread zero pipe getpid faults" "$@"); do
		printf '%s|' "${mode:0:15}"
	done)-)\$" 97
	check_user_stacks "$guest" "$@"
	case $machine in
	x86)
		entry=';entry_SYSCALL_64[^;]*_\[g\]'
		check_kernel_stacks "$guest" "$entry" "$entry;do_syscall_64" ';asm_exc_page_fault_\[g\]' "$@"
		;;
	arm64)
		entry=';el0t_64_sync_\[g\]'
		check_kernel_stacks "$guest" "$entry" "$entry;.*;el0_svc_" "$entry;.*;(el0_da|do_mem_abort)_" "$@"
		;;
	esac
	# An arm64 guest hardly leaves its vCPU with these programs, and none may be among a few samples.
	got=$(awk '/main_\[g\];.*_\[[kh]\] [0-9]*$/ { n += $NF } END { print n + 0 }' "$guest.billed.out")
	[ "$machine" = arm64 ] || between "$guest: the host's work on top of a guest's stack, samples" "$got" 100 10000000
	matches "$guest: callgraph has a known caller" "$guest.callgraph.out" 'calls_major'
	matches "$guest: tree of callers" "$guest.callers.out" 'calls_major'
	matches "$guest: tree of callees" "$guest.callees.out" 'calls_major'
	matches "$guest: total of a caller" "$guest.children.out" 'middle'
	matches "$guest: flame graph" "$guest.flamegraph.out" 'calls_major'
	verdict "$([ -s "$guest.pprof" ]; echo $?)" "$guest: a pprof file"
}

make -s -C "$VMOP_BUILDDIR" tests/integration/session-stacks || exit
