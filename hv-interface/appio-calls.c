// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/appio-calls.h"

#include <string.h>

/* clang-format off */
static const struct vmop_appio_call calls[] = {
	/*				 			 x86-64 i386 arm64  arm */
	{"read",	      VMOP_APPIO_READ,    VMOP_APPIO_SIZE,	 {  0,   3,  63,   3}},
	{"write",	      VMOP_APPIO_WRITE,   VMOP_APPIO_SIZE,	 {  1,   4,  64,   4}},
	{"pread64",	      VMOP_APPIO_READ,    VMOP_APPIO_SIZE,	 { 17, 180,  67, 180}},
	{"pwrite64",	      VMOP_APPIO_WRITE,   VMOP_APPIO_SIZE,	 { 18, 181,  68, 181}},
	{"readv",	      VMOP_APPIO_READ,    VMOP_APPIO_VECTOR,	 { 19, 145,  65, 145}},
	{"writev",	      VMOP_APPIO_WRITE,   VMOP_APPIO_VECTOR,	 { 20, 146,  66, 146}},
	{"preadv",	      VMOP_APPIO_READ,    VMOP_APPIO_VECTOR,	 {295, 333,  69, 361}},
	{"pwritev",	      VMOP_APPIO_WRITE,   VMOP_APPIO_VECTOR,	 {296, 334,  70, 362}},
	{"preadv2",	      VMOP_APPIO_READ,    VMOP_APPIO_VECTOR,	 {327, 378, 286, 392}},
	{"pwritev2",	      VMOP_APPIO_WRITE,   VMOP_APPIO_VECTOR,	 {328, 379, 287, 393}},
	{"recv",	      VMOP_APPIO_READ,    VMOP_APPIO_SIZE,	 { -1,  -1,  -1, 291}},
	{"send",	      VMOP_APPIO_WRITE,   VMOP_APPIO_SIZE,	 { -1,  -1,  -1, 289}},
	{"recvfrom",	      VMOP_APPIO_READ,    VMOP_APPIO_SIZE,	 { 45, 371, 207, 292}},
	{"sendto",	      VMOP_APPIO_WRITE,   VMOP_APPIO_SIZE,	 { 44, 369, 206, 290}},
	{"recvmsg",	      VMOP_APPIO_READ,    VMOP_APPIO_MESSAGE,	 { 47, 372, 212, 297}},
	{"sendmsg",	      VMOP_APPIO_WRITE,   VMOP_APPIO_MESSAGE,	 { 46, 370, 211, 296}},
	{"recvmmsg",	      VMOP_APPIO_READ,    VMOP_APPIO_MESSAGES, {299, 337, 243, 365}},
	{"recvmmsg_time64",   VMOP_APPIO_READ,    VMOP_APPIO_MESSAGES, { -1, 417,  -1, 417}},
	{"sendmmsg",	      VMOP_APPIO_WRITE,   VMOP_APPIO_MESSAGES, {307, 345, 269, 374}},
	{"sendfile",	      VMOP_APPIO_COPY,    VMOP_APPIO_SENDFILE, { 40, 187,  71, 187}},
	{"sendfile64",	      VMOP_APPIO_COPY,    VMOP_APPIO_SENDFILE, { -1, 239,  -1, 239}},
	{"splice",	      VMOP_APPIO_COPY,    VMOP_APPIO_SPLICE,	 {275, 313,  76, 340}},
	{"copy_file_range",   VMOP_APPIO_COPY,    VMOP_APPIO_SPLICE,	 {326, 377, 285, 391}},
	{"tee",		      VMOP_APPIO_COPY,    VMOP_APPIO_TEE,	 {276, 315,  77, 342}},
	{"vmsplice",	      VMOP_APPIO_PIPE,    VMOP_APPIO_VECTOR,	 {278, 316,  75, 343}},
	{"lseek",	      VMOP_APPIO_SEEK,    VMOP_APPIO_NO_SIZE,	 {  8,  19,  62,  19}},
	{"_llseek",	      VMOP_APPIO_SEEK,    VMOP_APPIO_NO_SIZE,	 { -1, 140,  -1, 140}},
	{"select",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 { 23,  82,  -1,  -1}},
	{"_newselect",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 { -1, 142,  -1, 142}},
	{"pselect6",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 {270, 308,  72, 335}},
	{"pselect6_time64",   VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 { -1, 413,  -1, 413}},
	{"poll",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 {  7, 168,  -1, 168}},
	{"ppoll",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 {271, 309,  73, 336}},
	{"ppoll_time64",      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 { -1, 414,  -1, 414}},
	{"epoll_wait",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 {232, 256,  -1, 252}},
	{"epoll_pwait",	      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 {281, 319,  22, 346}},
	{"epoll_pwait2",      VMOP_APPIO_SELECT,  VMOP_APPIO_NO_SIZE,	 {441, 441, 441, 441}},
	{"open",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {  2,   5,  -1,   5}},
	{"openat",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {257, 295,  56, 322}},
	{"openat2",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {437, 437, 437, 437}},
	{"creat",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 85,   8,  -1,   8}},
	{"socket",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 41, 359, 198, 281}},
	{"socketpair",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 53, 360, 199, 288}},
	{"accept",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 43,  -1, 202, 285}},
	{"accept4",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {288, 364, 242, 366}},
	{"pipe",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 22,  42,  -1,  42}},
	{"pipe2",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {293, 331,  59, 359}},
	{"dup",		      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 32,  41,  23,  41}},
	{"dup2",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 { 33,  63,  -1,  63}},
	{"dup3",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {292, 330,  24, 358}},
	{"eventfd2",	      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {290, 328,  19, 356}},
	{"epoll_create1",     VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {291, 329,  20, 357}},
	{"memfd_create",      VMOP_APPIO_OPEN,    VMOP_APPIO_NO_SIZE,	 {319, 356, 279, 385}},
	{"close",	      VMOP_APPIO_CLOSE,   VMOP_APPIO_NO_SIZE,	 {  3,   6,  57,   6}},
	{"close_range",	      VMOP_APPIO_CLOSE,   VMOP_APPIO_NO_SIZE,	 {436, 436, 436, 436}},
	{"io_uring_enter",    VMOP_APPIO_URING,   VMOP_APPIO_NO_SIZE,	 {426, 426, 426, 426}},
	{"restart_syscall",   VMOP_APPIO_RESTART, VMOP_APPIO_NO_SIZE,	 {219,   0, 128,   0}},
	{"socketcall",	      VMOP_APPIO_SOCKETS, VMOP_APPIO_NO_SIZE,	 { -1, 102,  -1,  -1}},
	{"io_uring",	      VMOP_APPIO_COMPLETE, VMOP_APPIO_NO_SIZE, { -1,  -1,  -1,  -1}},
};
/* clang-format on */

#define N_CALLS (sizeof(calls) / sizeof(*calls))
_Static_assert(N_CALLS < VMOP_APPIO_MAX_CALLS, "ids have bounds");

const struct vmop_appio_call *vmop_appio_call(unsigned id)
{
	return id >= 1 && id <= N_CALLS ? &calls[id - 1] : NULL;
}

unsigned vmop_appio_call_id(const char *name)
{
	for (unsigned i = 0; i < N_CALLS; i++) {
		if (strcmp(calls[i].name, name) == 0)
			return i + 1;
	}
	return 0;
}

void vmop_appio_calls_of_abi(enum vmop_appio_abi abi, uint8_t ret[VMOP_APPIO_MAX_NUMBERS])
{
	memset(ret, 0, VMOP_APPIO_MAX_NUMBERS);
	for (unsigned i = 0; i < N_CALLS; i++) {
		int number = calls[i].numbers[abi];
		if (number >= 0 && number < VMOP_APPIO_MAX_NUMBERS)
			ret[number] = (uint8_t)(i + 1);
	}
}

void vmop_appio_socketcalls(uint8_t ret[VMOP_APPIO_MAX_SOCKETCALLS])
{
	static const char *const names[VMOP_APPIO_MAX_SOCKETCALLS] = {
		[1] = "socket",	   [5] = "accept",   [8] = "socketpair", [9] = "sendto",
		[10] = "recvfrom", [11] = "sendto",  [12] = "recvfrom",	 [16] = "sendmsg",
		[17] = "recvmsg",  [18] = "accept4", [19] = "recvmmsg",	 [20] = "sendmmsg",
	};
	for (unsigned i = 0; i < VMOP_APPIO_MAX_SOCKETCALLS; i++)
		ret[i] = names[i] ? (uint8_t)vmop_appio_call_id(names[i]) : 0;
}
