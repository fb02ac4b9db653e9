# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Functions for the check of an arm64 scenario, in addition to check-lib.sh; sessions are those of
# session.sh.

# sessions_ran SESSION...: check every step of them.
sessions_ran() {
	local session step
	for session; do
		for step in start work dump status stop; do
			ran "$session.$step"
		done
		ran "$session"
	done
}

# counted SESSION WHAT: print the value of the program's own counter.
counted() {
	sed -n "s/^$2 //p" "$1.work.out"
}

# column FILE COLUMN MODE [SYMBOL-PATTERN [IMAGE-PATTERN]]: print its sum over all domains.
column() {
	csv "$1" mode symbol image "$2" | awk -F'\t' -v m="$3" -v s="${4:-.*}" -v i="${5:-.*}" '
		(m == "." || $1 == m) && $2 ~ s && $3 ~ i { n += $4 } END { print n + 0 }'
}

# expected SESSION COLUMN WHAT PERIOD: compare with the count divided by the period, within 1 % or 2
# samples.
expected() {
	local want margin
	want=$(awk -v n="$(counted "$1" "$3")" -v p="$4" 'BEGIN { printf "%.1f", n / p }')
	margin=$(awk -v w="$want" 'BEGIN { print (w > 200 ? w / 100 : 2) }')
	between "$1: $2 in burn, $want expected" "$(column "$1.out" "$2" user '.*' '/burn$')" \
		"$(awk -v w="$want" -v m="$margin" 'BEGIN { print w - m }')" \
		"$(awk -v w="$want" -v m="$margin" 'BEGIN { print w + m }')"
}

# delivered SESSION: check that each of the PMU's interrupts gave a sample, whatever the emulator
# did with the counters. Some samples are from just before and after the time in which interrupts
# were counted.
delivered() {
	local raised samples
	raised=$(cat "$1.interrupts")
	samples=$(sed -n 's/^  "samples": \([0-9]*\),/\1/p' "$1.status.out")
	between "$1: samples, with $raised interrupts" "$samples" "$((raised - raised / 200))" $((raised + raised / 10 + 500))
	same "$1: lost" "$(sed -n 's/^  "lost": \([0-9]*\),/\1/p' "$1.status.out")" 0
}

# split SESSION COLUMN: check for 75/25, within the 99 % interval of that number of samples.
split() {
	local major minor
	major=$(column "$1.out" "$2" user '^static_major$')
	minor=$(column "$1.out" "$2" user '^static_minor$')
	between "$1: share of static_major, $2" "$(percent "$major" $((major + minor)))" \
		"$(binomial LOW 75 $((major + minor)))" "$(binomial HIGH 75 $((major + minor)))"
}

# in_guest SESSION [COLUMN]: print the samples in guests.
in_guest() {
	column "$1.out" "${2:-samples}" . '.*' '^.guest '
}

# guest_split SESSION: check the split of kvm-burn's guest: EL1 in the upper half of the addresses,
# EL0 in the lower.
guest_split() {
	local kernel user
	kernel=$(column "$1.out" samples kernel '.*' '^.guest .* kernel.$')
	user=$(column "$1.out" samples user '.*' '^.guest .* user.$')
	between "$1: samples in the guest" $((kernel + user)) 400 600
	between "$1: the guest's kernel, percent" "$(percent "$kernel" $((kernel + user)))" 72 78
}

# same_as SESSION TRUTH SAMPLES TRUE-SAMPLES [HIGH]: compare within 3 %, or up to HIGH percent.
same_as() {
	between "$1: samples, percent of those in $2 ($3 of $4)" "$(percent "$3" "$4")" 97 "${5:-103}"
}

# worlds: check the sessions of worlds.sh. A counter for each world must count as much as an event
# of one world (perf/guest-split.h). By Linux's attribution only, "exits" would have some 200 % of
# the guest's samples, by the interrupted registers some 135 %.
worlds() {
	local session
	sessions_ran guest guestonly hostonly exits exitsguest exitshost
	for session in guestonly exitsguest; do
		guest_split $session
		same "$session: samples of the host" "$(samples_of $session.out host)" 0
	done
	for session in hostonly exitshost; do
		same "$session: samples in a guest" "$(in_guest $session)" 0
	done
	same_as guest guestonly "$(in_guest guest)" "$(in_guest guestonly)"
	same_as exits exitsguest "$(in_guest exits)" "$(in_guest exitsguest)"
	# Taking the guest's samples is work of the host.
	same_as exits exitshost "$(samples_of exits.out host)" "$(samples_of exitshost.out host)" 106
	between "exits: the hypervisor's samples" "$(column exits.out samples hypervisor)" 300 100000
	for session in exits exitshost; do
		between "$session: samples of the host in KVM's functions" \
			"$(column $session.out samples . 'kvm|vcpu|vgic|fpsimd')" 100 100000
	done
	same "exits: notes on the switch" "$(grep -c 'switches to a guest' exits.table.out)" 0
}

# unit_tests_passed LEAST: check that all tests passed or skipped with a reason, and that at least
# LEAST passed.
unit_tests_passed() {
	local test passed=0 skipped=0
	while read -r test; do
		case $(cat "$test.status") in
		0) passed=$((passed + 1)) ;;
		77)
			skipped=$((skipped + 1))
			printf '  %-6s %s: %s\n' skip "$test" "$(cat "$test.out" "$test.err" | tail -n 1)"
			;;
		*)
			verdict 1 "$test: exit status $(cat "$test.status")"
			cat "$test.out" "$test.err" | grep -E 'error|FAILED|ERROR|Sanitizer' | head -n 8
			;;
		esac
	done <unit-tests
	between "unit tests passed ($skipped skipped)" "$passed" "$1" 1000
}

# check_arm64 GUEST...: check the guests of scenarios with l1/contexts.sh, which have no disk.
check_arm64() {
	local guest
	for guest; do
		check_guest "$guest" vdso
		matches "$guest: the program reads it" "$guest.status.out" '^contexts .*arm64'
		between "$guest: user samples that are exact and have a file, percent" \
			"$(percent "$(count "$guest" exact_user)" "$(count "$guest" user_with_file)")" 99.5 100
		between "$guest: samples that are exact, percent" \
			"$(percent "$(count "$guest" exact)" "$(count "$guest" all)")" 99 100
	done
}
