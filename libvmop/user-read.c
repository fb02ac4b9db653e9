// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/user-read.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "libvmop/vmop.h"

/* The faulting address is compared with the first two, and replaced by the third. */
extern const char vmop_user_read_begin[] __attribute__((visibility("hidden")));
extern const char vmop_user_read_end[] __attribute__((visibility("hidden")));
extern const char vmop_user_read_refused[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define REFUSAL SIGSEGV /* a general protection fault */
__asm__(".pushsection .text\n"
	".globl vmop_user_read\n"
	".hidden vmop_user_read, vmop_user_read_begin, vmop_user_read_end, vmop_user_read_refused\n"
	".globl vmop_user_read_begin, vmop_user_read_end, vmop_user_read_refused\n"
	".type vmop_user_read, @function\n"
	"vmop_user_read:\n"
	"	.cfi_startproc\n"
	"	leal -1(%rdi), %ecx\n"
	"vmop_user_read_begin:\n"
	"	rdpmc\n"
	"vmop_user_read_end:\n"
	"	shlq $32, %rdx\n"
	"	orq %rdx, %rax\n"
	"	movl $1, %edx\n"
	"	ret\n"
	"vmop_user_read_refused:\n"
	"	xorl %eax, %eax\n"
	"	xorl %edx, %edx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vmop_user_read, . - vmop_user_read\n"
	".popsection\n");

static uintptr_t interrupted_at(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static void continue_at(ucontext_t *context, uintptr_t address)
{
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)address;
}
#elif defined(__aarch64__)
#define REFUSAL SIGILL
#define READ_EVENT(n) "	mrs x8, pmevcntr" #n "_el0\n	ret\n"
#define READ_FIVE(a, b, c, d, e)                                                                   \
	READ_EVENT(a) READ_EVENT(b) READ_EVENT(c) READ_EVENT(d) READ_EVENT(e)
/*
 * perf's index is in w9. It is not 0 and stays there, which marks the value as read. Index 32
 * counts cycles and is the first in the table. Two instructions for each: the table is computed.
 */
__asm__(".pushsection .text\n"
	".globl vmop_user_read_code\n"
	".hidden vmop_user_read_code, vmop_user_read_begin, vmop_user_read_end, "
	"vmop_user_read_refused\n"
	".globl vmop_user_read_begin, vmop_user_read_end, vmop_user_read_refused\n"
	".type vmop_user_read_code, %function\n"
	"vmop_user_read_code:\n"
	"	.cfi_startproc\n"
	"	and w8, w9, #31\n"
	"	adr x16, vmop_user_read_begin\n"
	"	add x16, x16, x8, lsl #3\n"
	"	br x16\n"
	"	.balign 8\n"
	"vmop_user_read_begin:\n"
	"	mrs x8, pmccntr_el0\n"
	"	ret\n" READ_FIVE(0, 1, 2, 3, 4) READ_FIVE(5, 6, 7, 8, 9) READ_FIVE(10, 11, 12, 13,
										   14)
		READ_FIVE(15, 16, 17, 18, 19) READ_FIVE(20, 21, 22, 23, 24) READ_FIVE(25, 26, 27,
										      28, 29)
			READ_EVENT(30) "vmop_user_read_end:\n"
				       "vmop_user_read_refused:\n"
				       "	mov x8, #0\n"
				       "	mov w9, #0\n"
				       "	ret\n"
				       "	.cfi_endproc\n"
				       ".size vmop_user_read_code, . - vmop_user_read_code\n"
				       ".popsection\n");

static uintptr_t interrupted_at(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.pc;
}

static void continue_at(ucontext_t *context, uintptr_t address)
{
	context->uc_mcontext.pc = address;
}
#else
#error "libvmop is for x86-64 and arm64"
#endif

int vmop_handle_fault(int signo, void *info, void *context)
{
	uintptr_t pc = interrupted_at(context);
	(void)info;
	if (signo != REFUSAL || pc < (uintptr_t)vmop_user_read_begin ||
	    pc >= (uintptr_t)vmop_user_read_end)
		return 0;
	continue_at(context, (uintptr_t)vmop_user_read_refused);
	return 1;
}

static struct sigaction before;

/* Do what would have been done without this library. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(signo, info, context);
		return;
	}
	if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(signo);
		return;
	}
	if (before.sa_handler == SIG_IGN && info->si_code <= 0) /* sent by a process */
		return;
	/* The instruction faults again on return; a sent signal is sent again. */
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigaction(signo, &standard, NULL);
	if (info->si_code <= 0)
		raise(signo);
}

static void on_refusal(int signo, siginfo_t *info, void *context)
{
	if (!vmop_handle_fault(signo, info, context))
		pass_on(signo, info, context);
}

static void install(void)
{
	struct sigaction ours = {.sa_sigaction = on_refusal,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	sigaction(REFUSAL, NULL, &before);
	/* Whatever the old handler may rely on stays: a signal that it lets through, its stack. */
	ours.sa_mask = before.sa_mask;
	ours.sa_flags |= before.sa_flags & SA_NODEFER;
	sigaction(REFUSAL, &ours, NULL);
}

void vmop_user_read_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
}
