#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The nightly recipe, by itself and under Debian's cron: cron -f with a crontab of its own, in
# namespaces of its own, and a sendmail(8) that keeps what it gets.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

command -v flock >/dev/null || skip "no flock"
mkdir -p "$sessions" "$work/bin"
ln -s "$build/vmopreport" "$build/vmopcontrol" "$work/bin"
# The installed script has the installed programs in its PATH.
sed "s|^PATH=.*|PATH=$work/bin:\$PATH|" "$build/contrib/cron/vmop-nightly" >"$work/bin/vmop-nightly"
chmod +x "$work/bin/vmop-nightly"
nightly() {
	env VMOP_NIGHTLY_DIR="$sessions" sh "$work/bin/vmop-nightly" "$@"
}
# day N OPTION...: make the session of the fixture's day N, 2023-11-14 + N.
day() {
	n=$1
	shift
	"$build/tests/fixtures/make-session" --seconds=120 --rate=200 --seed="$n" \
		--start=$((n * 86400)) "$@" "$sessions/day$n.vmop" >/dev/null
}

# ---- by itself ------------------------------------------------------------------------------

day 1
expect 0 "" nightly 2023-11-15
is "the first night is silent" "$(wc -c <"$work/out")" -eq 0
for n in 2 3 4; do
	day $n
done
expect 0 "" nightly 2023-11-18
is "a night like the others is silent" "$(wc -c <"$work/out")" -eq 0
day 5 --load=busy
expect 4 "2023-11-19 against the 7 days before it:" nightly 2023-11-19
expect 4 "changed: symbol:" nightly 2023-11-19
is "one page" "$(wc -l <"$work/out")" -le 60
expect 4 "session day5 of fixture" nightly 2023-11-19
expect 0 "" env VMOP_NIGHTLY_CHANGED=100pp VMOP_NIGHTLY_LOST='lost > 99%' VMOP_NIGHTLY_DIR="$sessions" \
	sh "$work/bin/vmop-nightly" 2023-11-19
expect 4 "lost > 0" env VMOP_NIGHTLY_CHANGED=100pp VMOP_NIGHTLY_LOST='lost > 0' \
	VMOP_NIGHTLY_DIR="$sessions" sh "$work/bin/vmop-nightly" 2023-11-19
refuse 1 "no samples of the session match" nightly 2023-11-20
refuse 2 "usage: vmop-nightly" nightly --help
refuse 2 "no date" nightly 2023-13-01
refuse 2 "--fail-if-changed=2: accepted" env VMOP_NIGHTLY_CHANGED=2 VMOP_NIGHTLY_DIR="$sessions" \
	sh "$work/bin/vmop-nightly" 2023-11-19
expect 3 "" env VMOP_NIGHTLY_DIR="$work/none" sh "$work/bin/vmop-nightly" 2023-11-19
flock "$sessions" true # free again
expect 0 "" flock "$sessions" env VMOP_NIGHTLY_DIR="$sessions" sh "$work/bin/vmop-nightly" 2023-11-19
is "while another one runs it is silent" "$(wc -c <"$work/out")" -eq 0

# ---- by systemd: the page is mailed, too ------------------------------------------------------

mkdir -p "$work/mailbin"
cat >"$work/mailbin/sendmail" <<SENDMAIL
#!/bin/sh
echo "\$*" >"$work/mailed" && cat >>"$work/mailed" && exit \${VMOP_TEST_SENDMAIL:-0}
SENDMAIL
chmod +x "$work/mailbin/sendmail"
with_mail() {
	JOURNAL_STREAM=1:1 PATH=$work/mailbin:$PATH VMOP_NIGHTLY_MAILTO=someone nightly "$@"
}
expect 0 "" with_mail 2023-11-18
is "the output of a quiet night" "$(wc -c <"$work/out")" -eq 0
is "mails of a quiet night" "$(find "$work/mailed" 2>/dev/null | wc -l)" -eq 0
expect 4 "changed: symbol:" with_mail 2023-11-19
cp "$work/out" "$work/page"
expect 0 "-oi -t" cat "$work/mailed"
expect 0 "To: someone" cat "$work/mailed"
expect 0 "Subject: vmop: something moved on" cat "$work/mailed"
is "priorities for the journal in the mail" "$(grep -c '<[0-9]>' "$work/mailed")" -eq 0
is "that the mail is the page" "$(sed '1,/^$/d' "$work/mailed" | cmp - "$work/page" && echo yes)" = yes
expect 1 "no samples of the session match" with_mail 2023-11-20
expect 0 "Subject: vmop: the comparison of 2023-11-20 failed on" cat "$work/mailed"
VMOP_TEST_SENDMAIL=1
export VMOP_TEST_SENDMAIL
expect 3 "not mailed to someone: sendmail failed" with_mail 2023-11-19
expect 0 "" with_mail 2023-11-18
unset VMOP_TEST_SENDMAIL

# ---- under cron -------------------------------------------------------------------------------

cron=$(command -v cron || true)
[ -x "${cron:-/nonexistent}" ] || skip "no cron"
[ "$(id -u)" -eq 0 ] || skip "not root"
unshare -m -p -f true 2>/dev/null || skip "no namespaces"

mkdir -p "$work/cron.d" "$work/spool/crontabs" "$work/sbin" "$work/run" "$work/mail"
cp "$cron" "$work/sbin/cron"
# Keeps a mail once it is whole.
cat >"$work/sbin/sendmail" <<SENDMAIL
#!/bin/sh
part=\$(mktemp "$work/mail/part.XXXXXX") && cat >"\$part" && mv "\$part" "$work/mail/mail.\${part##*.}"
SENDMAIL
chmod +x "$work/sbin/sendmail"
# marked MARK COMMAND...: a crontab's command that notes its status in a file.
marked() {
	mark=$1
	shift
	printf '* * * * *\troot\t%s; echo $? >%s\n' "$*" "$work/$mark"
}
{
	echo "SHELL=/bin/sh"
	echo "PATH=$work/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	echo "MAILTO=someone"
	echo "TZ=UTC"
	echo "VMOP_NIGHTLY_DIR=$sessions"
	echo "XDG_CACHE_HOME=$XDG_CACHE_HOME"
	marked quiet vmop-nightly 2023-11-18
	# Both want the lock: wait for the other one rather than be silent.
	marked moved "until [ -s $work/quiet ]; do sleep 0.1; done; vmop-nightly 2023-11-19"
	marked overlap "mkdir -p $work/other && flock $work/other env VMOP_NIGHTLY_DIR=$work/other vmop-nightly 2023-11-19"
} >"$work/cron.d/vmop"
chmod 644 "$work/cron.d/vmop"
: >"$work/crontab"
cat >"$work/run-cron" <<CRON
set -e
mount --make-rprivate /
mount --bind $work/cron.d /etc/cron.d
mount --bind $work/crontab /etc/crontab
mount --bind $work/spool /var/spool/cron
mount --bind $work/sbin /usr/sbin
mount -t tmpfs none /run
mount -t proc proc /proc
exec cron -f
CRON
# /var/run may be a folder of its own: cron's pid file must not meet that of another cron.
[ -L /var/run ] || sed -i 's|^exec|mount -t tmpfs none /var/run\n&|' "$work/run-cron"
PATH=$work/sbin:$PATH unshare -m -p -f --kill-child sh "$work/run-cron" >"$work/cron.log" 2>&1 &
cron_pid=$!
# unshare ignores SIGTERM; cron dies with it.
stop_cron() {
	status=$?
	kill -9 "$cron_pid" 2>/dev/null || true
	(exit $status)
	clean_up
}
trap stop_cron EXIT
# The test's time limit ends an endless wait: cron starts jobs each minute.
while [ ! -s "$work/quiet" ] || [ ! -s "$work/moved" ] || [ ! -s "$work/overlap" ]; do
	kill -0 $cron_pid 2>/dev/null || {
		cat "$work/cron.log"
		fail "cron ended"
		exit 1
	}
	sleep 0.2
done
mails() {
	find "$work/mail" -name 'mail.*'
}
while [ -z "$(mails)" ]; do
	sleep 0.2
done
kill -9 $cron_pid
wait $cron_pid 2>/dev/null || true
is "the status of a quiet night" "$(cat "$work/quiet")" -eq 0
is "the status of a night on which something moved" "$(cat "$work/moved")" -eq 4
is "the status beside another one" "$(cat "$work/overlap")" -eq 0
is "mails" "$(mails | wc -l)" -eq "$(mails | xargs grep -l '2023-11-19 against' | wc -l)"
mail=$(mails | head -n 1)
expect 0 "To: someone" cat "$mail"
expect 0 "changed: symbol:" cat "$mail"
exit $failed
