// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/user-read.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "libvmop/vmop.h"

/* A place that reads a counter (user-read.h). The linker names the ends of the section. */
struct place {
	int32_t begin, end, refused;
};
extern const struct place __start_vmop_user_reads[] __attribute__((visibility("hidden")));
extern const struct place __stop_vmop_user_reads[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define REFUSAL SIGSEGV /* a general protection fault */
__asm__(".pushsection .text\n"
	".globl vmop_user_read\n"
	".hidden vmop_user_read\n"
	".type vmop_user_read, @function\n"
	"vmop_user_read:\n"
	"	.cfi_startproc\n"
	"	leal -1(%rdi), %ecx\n"
	"1:	rdpmc\n"
	"2:	shlq $32, %rdx\n"
	"	orq %rdx, %rax\n"
	"	movl $1, %edx\n"
	"	ret\n"
	"3:	xorl %eax, %eax\n"
	"	xorl %edx, %edx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size vmop_user_read, . - vmop_user_read\n"
	".popsection\n"
	".pushsection vmop_user_reads, \"a\"\n"
	"	.long 1b - ., 2b - ., 3b - .\n"
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

/* Return the address that is stored as its distance from `offset`. */
static uintptr_t address_of(const int32_t *offset)
{
	return (uintptr_t)offset + (uintptr_t)(intptr_t)*offset;
}

int vmop_handle_fault(int signo, void *info, void *context)
{
	uintptr_t pc = interrupted_at(context);
	(void)info;
	if (signo != REFUSAL)
		return 0;
	for (const struct place *at = __start_vmop_user_reads; at < __stop_vmop_user_reads; at++) {
		if (pc < address_of(&at->begin) || pc >= address_of(&at->end))
			continue;
		continue_at(context, address_of(&at->refused));
		return 1;
	}
	return 0;
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
