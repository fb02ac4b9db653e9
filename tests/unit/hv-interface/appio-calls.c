// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers of system calls, against libseccomp's tables and the C library's. */
#include "config.h"

#include "hv-interface/appio-calls.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

static void numbers_are_those_of_libseccomp(void **state)
{
	(void)state;
#ifdef HAVE_SECCOMP
	static const uint32_t arches[VMOP_APPIO_N_ABIS] = {
		[VMOP_APPIO_X86_64] = SCMP_ARCH_X86_64,
		[VMOP_APPIO_I386] = SCMP_ARCH_X86,
		[VMOP_APPIO_ARM64] = SCMP_ARCH_AARCH64,
		[VMOP_APPIO_ARM] = SCMP_ARCH_ARM,
	};
	const struct vmop_appio_call *call;
	for (unsigned id = 1; (call = vmop_appio_call(id)); id++) {
		for (unsigned abi = 0; abi < VMOP_APPIO_N_ABIS; abi++) {
			if (call->class == VMOP_APPIO_COMPLETE)
				continue;
			int number = seccomp_syscall_resolve_name_arch(arches[abi], call->name);
			/*
			 * Negative ones are libseccomp's own, for calls that the ABI lacks; and for
			 * i386's calls of sockets, which it takes for those of socketcall(2).
			 */
			if (number < 0)
				number = abi == VMOP_APPIO_I386 && number <= -101 && number >= -120
						 ? call->numbers[abi]
						 : -1;
			if (number != call->numbers[abi])
				fail_msg("%s, ABI %u: %d, not %d", call->name, abi,
					 call->numbers[abi], number);
		}
	}
#else
	skip();
#endif
}

static void numbers_are_those_of_this_machine(void **state)
{
	(void)state;
	uint8_t ids[VMOP_APPIO_MAX_NUMBERS];
#if defined(__aarch64__)
	vmop_appio_calls_of_abi(VMOP_APPIO_ARM64, ids);
#elif defined(__x86_64__)
	vmop_appio_calls_of_abi(VMOP_APPIO_X86_64, ids);
#else
	skip();
#endif
	assert_string_equal(vmop_appio_call(ids[SYS_read])->name, "read");
	assert_string_equal(vmop_appio_call(ids[SYS_copy_file_range])->name, "copy_file_range");
	assert_string_equal(vmop_appio_call(ids[SYS_openat])->name, "openat");
	assert_int_equal(ids[SYS_getpid], 0);
}

static void no_number_has_two_calls(void **state)
{
	(void)state;
	for (unsigned abi = 0; abi < VMOP_APPIO_N_ABIS; abi++) {
		const struct vmop_appio_call *call;
		uint8_t ids[VMOP_APPIO_MAX_NUMBERS];
		vmop_appio_calls_of_abi(abi, ids);
		for (unsigned id = 1; (call = vmop_appio_call(id)); id++) {
			assert_in_range(call->numbers[abi] + 1, 0, VMOP_APPIO_MAX_NUMBERS);
			if (call->numbers[abi] >= 0)
				assert_int_equal(ids[call->numbers[abi]], id);
		}
	}
}

static void names_lead_to_ids_and_back(void **state)
{
	(void)state;
	assert_null(vmop_appio_call(0));
	assert_null(vmop_appio_call(VMOP_APPIO_MAX_CALLS));
	assert_int_equal(vmop_appio_call_id("no such call"), 0);
	assert_string_equal(vmop_appio_call(vmop_appio_call_id("splice"))->name, "splice");
	uint8_t sockets[VMOP_APPIO_MAX_SOCKETCALLS];
	vmop_appio_socketcalls(sockets);
	/* linux/net.h: SYS_RECVMSG is 17, SYS_BIND 2. */
	assert_string_equal(vmop_appio_call(sockets[17])->name, "recvmsg");
	assert_int_equal(sockets[2], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_libseccomp),
		cmocka_unit_test(numbers_are_those_of_this_machine),
		cmocka_unit_test(no_number_has_two_calls),
		cmocka_unit_test(names_lead_to_ids_and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
