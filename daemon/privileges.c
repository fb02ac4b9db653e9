// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/privileges.h"

#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "hv-interface/perf/permission.h"

#ifdef HAVE_CAPNG
#include <cap-ng.h>
#endif
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

#ifdef HAVE_CAPNG
static const int kept_capabilities[] = {
	CAP_PERFMON, /* perf_event_open, again for each CPU that comes online */
#if defined(CAP_BPF) && defined(HAVE_BPF) /* Linux 5.8 */
	/*
	 * Maps and a program that unwinds user stacks and reads what guests run, while and whenever
	 * a session has them.
	 */
	CAP_BPF,
#endif
	CAP_SYSLOG,		/* addresses in /proc/kallsyms */
	CAP_IPC_LOCK,		/* ring buffers beyond perf_event_mlock_kb */
	CAP_SYS_PTRACE,		/* maps, memory and root directories of other processes */
	CAP_NET_BIND_SERVICE,	/* the vsock ports of active guests and their host */
	CAP_DAC_READ_SEARCH,	/* ELF files wherever they lie */
#ifdef CAP_CHECKPOINT_RESTORE	/* Linux 5.9 */
	CAP_CHECKPOINT_RESTORE, /* /proc/PID/map_files: files that were deleted or moved */
#endif
};

/* Remove CAP_SYS_ADMIN from the effective capabilities, or add it. */
static bool set_admin(capng_act_t action)
{
	return capng_update(action, CAPNG_EFFECTIVE, CAP_SYS_ADMIN) == 0 &&
	       capng_apply(CAPNG_SELECT_CAPS) == 0;
}

/*
 * Whether perf requires CAP_SYS_ADMIN. It does before Linux 5.8, without CAP_PERFMON, and with the
 * perf_event_paranoid levels 3 and 4 that only kernels of Debian and Ubuntu have.
 */
static bool needs_admin(bool has_perfmon)
{
	if (!capng_have_capability(CAPNG_PERMITTED, CAP_SYS_ADMIN))
		return false;
	if (!has_perfmon)
		return true;
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN) || !vmop_perf_is_permitted() ||
	    !set_admin(CAPNG_DROP))
		return false;
	bool is_permitted = vmop_perf_is_permitted();
	return set_admin(CAPNG_ADD) && !is_permitted;
}

static struct vmop_error *drop_capabilities(void)
{
	bool kept[sizeof(kept_capabilities) / sizeof(kept_capabilities[0])];
	if (capng_get_caps_process() < 0)
		return vmop_error_new(VMOP_ERROR_OS, "own capabilities can't be read");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		kept[i] = capng_have_capability(CAPNG_PERMITTED, (unsigned)kept_capabilities[i]);
	bool keeps_admin = needs_admin(kept[0]);
	bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);

	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (kept[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
				     (unsigned)kept_capabilities[i]);
	if (keeps_admin)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_ADMIN);
	if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
		return vmop_error_new(VMOP_ERROR_OS, "capabilities can't be dropped");
	return NULL;
}
#endif

#ifdef HAVE_SECCOMP
static const int denied_calls[] = {
	SCMP_SYS(execve),	 SCMP_SYS(execveat),	    SCMP_SYS(process_vm_writev),
	SCMP_SYS(init_module),	 SCMP_SYS(finit_module),    SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),	 SCMP_SYS(kexec_file_load), SCMP_SYS(mount),
	SCMP_SYS(umount2),	 SCMP_SYS(pivot_root),	    SCMP_SYS(chroot),
	SCMP_SYS(open_tree),	 SCMP_SYS(move_mount),	    SCMP_SYS(fsopen),
	SCMP_SYS(reboot),	 SCMP_SYS(swapon),	    SCMP_SYS(swapoff),
	SCMP_SYS(sethostname),	 SCMP_SYS(setdomainname),   SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime),   SCMP_SYS(adjtimex),
	SCMP_SYS(acct),		 SCMP_SYS(quotactl),	    SCMP_SYS(add_key),
	SCMP_SYS(request_key),	 SCMP_SYS(keyctl),	    SCMP_SYS(userfaultfd),
	SCMP_SYS(unshare),	 SCMP_SYS(setns),	    SCMP_SYS(iopl),
	SCMP_SYS(ioperm),	 SCMP_SYS(mknod),	    SCMP_SYS(mknodat),
#ifndef __SANITIZE_ADDRESS__ /* the leak check at exit needs ptrace */
	SCMP_SYS(ptrace),
#endif
};

static struct vmop_error *filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return &vmop_error_no_memory;
	int status = 0;
	/* A negative number is a call that this machine does not have. */
	for (size_t i = 0; i < sizeof(denied_calls) / sizeof(denied_calls[0]) && !status; i++)
		if (denied_calls[i] >= 0)
			status =
				seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), denied_calls[i], 0);
	if (!status)
		status = seccomp_load(filter);
	seccomp_release(filter);
	return status ? vmop_error_os(-status, "seccomp") : NULL;
}
#endif

struct vmop_error *vmop_privileges_drop(void)
{
	struct vmop_error *err = NULL;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return vmop_error_os(errno, "no_new_privs");
#ifdef HAVE_CAPNG
	err = drop_capabilities();
#endif
#ifdef HAVE_SECCOMP
	if (!err)
		err = filter_calls();
#endif
	return err;
}
