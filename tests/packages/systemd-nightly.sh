# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by systemd.sh: the nightly comparison by vmop-nightly.timer. A container has the machine's clock, which
# must not be set: a drop-in lets the timer elapse every few seconds instead. The days that are compared are made.
# shellcheck disable=SC2154 # of lib.sh and check

# day N OPTION...: make the session of N days ago. The fixture's time begins on 2023-11-14.
day() {
	local n=$1 name begin
	shift
	name=$(date -d "$n days ago" +%F)
	begin=$((($(date -d "$name" +%s) - $(date -d 2023-11-14 +%s)) / 86400 * 86400))
	rm -f "$root/var/lib/vmop/$name.vmop"
	"$build/tests/fixtures/make-session" --seconds=120 --rate=200 --seed="$n" --start="$begin" "$@" \
		"$root/var/lib/vmop/$name.vmop" >/dev/null
}

is_inactive() {
	inside systemctl show -p ActiveState --value vmop-nightly.service | grep -qxE 'inactive|failed'
}

# runs: print how often the service has been started.
runs() {
	inside journalctl -q -o cat -u vmop-nightly.service | grep -c '^Starting ' || true
}
has_run_again() {
	[ "$(runs)" -gt "$1" ]
}

# run_timer: start the timer, wait until it has started the service, and stop it; the service runs to its end.
run_timer() {
	local n
	n=$(runs)
	expect 0 - inside systemctl start vmop-nightly.timer
	within 30 has_run_again "$n" || fail "the timer does not start the service"
	expect 0 - inside systemctl stop vmop-nightly.timer
	within 200 is_inactive || fail "the service does not end"
}
mails() {
	find "$root/mail" -name 'mail.*' | wc -l
}

check_nightly() {
	step "the timer"
	inside systemd-analyze calendar --iterations=1 "$(inside systemctl cat vmop-nightly.timer | sed -n 's/^OnCalendar=//p')" |
		grep -E 'Normalized|Next'
	for n in 4 3 2 1; do
		day $n
	done
	mkdir "$root/mail"
	cat >"$root/usr/sbin/sendmail" <<-'END'
		#!/bin/sh
		part=$(mktemp /mail/part.XXXXXX) && cat >"$part" && mv "$part" "/mail/mail.${part##*.}"
	END
	chmod 755 "$root/usr/sbin/sendmail"
	drop_in vmop-nightly.timer often <<-END
		[Timer]
		OnCalendar=
		OnCalendar=*-*-* *:*:0/3
		AccuracySec=100ms
	END
	expect 0 "" inside systemctl enable vmop-nightly.timer
	run_timer
	expect 0 "success" inside systemctl show -p Result --value vmop-nightly.service
	is "mails of quiet nights" "$(mails)" -eq 0
	expect 0 - inside journalctl -q -o cat -t vmop-nightly

	step "a night on which something moved"
	day 1 --load=busy
	run_timer
	is "mails" "$(mails)" -ge 1
	expect 0 "To: root" sh -c "cat $root/mail/mail.*"
	expect 0 "Subject: vmop: something moved on" sh -c "cat $root/mail/mail.*"
	expect 0 "changed: symbol:" sh -c "cat $root/mail/mail.*"
	expect 0 "changed: symbol:" inside journalctl -q -o cat -u vmop-nightly.service
	expect 0 "4" inside systemctl show -p ExecMainStatus --value vmop-nightly.service
	expect 3 "inactive" inside systemctl is-active vmop-nightly.service
	is "the cache" "$(find "$root/var/cache/vmop" | wc -l)" -ge 1

	step "two at once, and a night that fails"
	rm -f "$root"/mail/*
	expect 0 "" inside systemctl reset-failed
	expect 0 - inside flock /var/lib/vmop systemctl start vmop-nightly.service
	is "mails of one that another excludes" "$(mails)" -eq 0
	drop_in vmop-nightly.service wrong <<-END
		[Service]
		Environment=VMOP_NIGHTLY_CHANGED=much
	END
	expect 1 "" inside systemctl start vmop-nightly.service
	expect 0 "2" inside systemctl show -p ExecMainStatus --value vmop-nightly.service
	expect 0 "failed on" sh -c "cat $root/mail/mail.*"
	rm -r "$root/etc/systemd/system/vmop-nightly.service.d" "$root/mail"
	inside systemctl daemon-reload
	inside systemctl -q disable vmop-nightly.timer
}
