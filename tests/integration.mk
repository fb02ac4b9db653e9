# SPDX-License-Identifier: GPL-2.0-or-later
# The programs as a user runs them, each test in run, session and set-up directories of its own.
integration_tests = \
	tests/integration/control-clock.sh \
	tests/integration/control-copies.sh \
	tests/integration/control-crowd.sh tests/integration/control-disk.sh tests/integration/control-memory.sh \
	tests/integration/control-faults.sh \
	tests/integration/control-fork-storm.sh \
	tests/integration/control-inspect.sh \
	tests/integration/control-callgraph.sh \
	tests/integration/control-options.sh \
	tests/integration/control-overhead.sh \
	tests/integration/control-races.sh \
	tests/integration/control-rotation.sh tests/integration/control-snapshot.sh \
	tests/integration/control-session.sh \
	tests/integration/control-retention.sh \
	tests/integration/control-storage.sh \
	tests/integration/control-events.sh \
	tests/integration/contrib-cron.sh \
	tests/integration/contrib-packages.sh \
	tests/integration/contrib-shell.sh \
	tests/integration/contrib-systemd.sh \
	tests/integration/daemon-callgraph.sh \
	tests/integration/daemon-callgraph-bpf.sh \
	tests/integration/daemon-callgraph-files.sh \
	tests/integration/daemon-callgraph-hard.sh \
	tests/integration/daemon-callgraph-programs.sh \
	tests/integration/daemon-guest-context.sh tests/integration/daemon-waits.sh tests/integration/daemon-guest-reset.sh \
	tests/integration/daemon-jitdump.sh \
	tests/integration/active-static.sh tests/integration/active-moves.sh \
	tests/integration/daemon-quiet.sh \
	tests/integration/daemon-perf-map.sh \
	tests/integration/daemon-replay.sh \
	tests/integration/daemon-replay-stacks.sh \
	tests/integration/daemon-storm.sh \
	tests/integration/evil-names.sh \
	tests/integration/evil-names-readers.sh \
	tests/integration/install-paths.sh \
	tests/integration/kernel-module.sh
TESTS += $(integration_tests)
EXTRA_DIST += tests/integration/set-clock.c
EXTRA_DIST += $(integration_tests) tests/integration/common.sh \
	tests/integration/evil-common.sh tests/integration/stacks-common.sh tests/fixtures/throws.cc

check_PROGRAMS += tests/integration/crowd tests/integration/fork-storm tests/integration/jit tests/integration/jitdump tests/integration/session-facts tests/integration/session-stacks
check_PROGRAMS += tests/fixtures/evil-names tests/fixtures/hard-stacks tests/fixtures/changing-code
tests_fixtures_changing_code_CFLAGS = $(known_paths_cflags)
tests_fixtures_changing_code_LDFLAGS = -no-install
tests_fixtures_changing_code_LDADD = -ldl
tests_fixtures_hard_stacks_CFLAGS = $(known_paths_cflags)
tests_fixtures_hard_stacks_LDFLAGS = -no-install
tests_fixtures_hard_stacks_LDADD = -lpthread
tests_fixtures_evil_names_LDADD = libdb/libdb.la libutil/libutil.la
tests_integration_session_facts_LDADD = libdb/libdb.la libutil/libutil.la
tests_integration_session_stacks_LDADD = libdb/libdb.la libsym/libsymtab.la libutil/libutil.la

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/daemon/control
TESTS += tests/unit/daemon/control
endif
tests_unit_daemon_control_SOURCES = tests/unit/daemon/control.c daemon/control.c daemon/control.h
tests_unit_daemon_control_CPPFLAGS = $(TEST_CPPFLAGS) $(TEST_CMOCKA) $(JANSSON_CFLAGS) \
	$(SYSTEMD_CFLAGS) -DVMOP_CONTROL_CLIENT_TIMEOUT_S=3
tests_unit_daemon_control_LDADD = libutil/libutil.la $(JANSSON_LIBS) $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
if HAVE_CMOCKA
if HAVE_CAPNG
check_PROGRAMS += tests/unit/daemon/privileges
TESTS += tests/unit/daemon/privileges
endif
endif
tests_unit_daemon_privileges_SOURCES = tests/unit/daemon/privileges.c daemon/privileges.c daemon/privileges.h
tests_unit_daemon_privileges_CPPFLAGS = $(TEST_CPPFLAGS) $(TEST_CMOCKA) $(CAPNG_CFLAGS) $(SECCOMP_CFLAGS)
tests_unit_daemon_privileges_LDADD = libutil/libutil.la $(CAPNG_LIBS) $(SECCOMP_LIBS) $(CMOCKA_LIBS)

# It makes 10,000 processes, which disturb others, and counts the machine's guests. It begins after all others.
# A variable, because automake would take a target by its name for one that replaces its own.
last_test = tests/integration/control-crowd.sh.log
$(last_test): $(filter-out $(last_test),$(TEST_LOGS))
