// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that the tests of libsym read and never run. It has functions of each kind of symbol,
 * and is built with -O0 to keep all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names that C++ and Rust compilers would give them. The file needs neither compiler. */
int cxx_push_back(int x) __asm__("_ZNSt6vectorIiSaIiEE9push_backERKi");
int rust_legacy(int x) __asm__("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE");
int rust_v0(int x) __asm__("_RNvCs1234_7mycrate3foo");

int cxx_push_back(int x)
{
	return x + 1;
}

int rust_legacy(int x)
{
	return x + 2;
}

int rust_v0(int x)
{
	return x + 3;
}

/* Not in .dynsym, so only mini debug info has it. */
__attribute__((noinline)) static int target_local(int x)
{
	return x * 3;
}

int target_global(int x)
{
	return target_local(x) + 7;
}

/* Also in .dynsym (see tests/libsym.mk). */
int target_exported(int x)
{
	return x + 70;
}

int target_alias(int x) __attribute__((alias("target_global")));
int target_weak_alias(int x) __attribute__((weak, alias("target_global")));
int __target_alias(int x) __attribute__((alias("target_global")));

__attribute__((weak)) int target_weak(int x)
{
	return x - 1;
}

static int target_implementation(int x)
{
	return x ^ 1;
}

static int (*target_resolve(void))(int x)
{
	return target_implementation;
}

int target_ifunc(int x) __attribute__((ifunc("target_resolve")));

/* Assembly: a function without type and size, one with an inner label, and a mapping symbol. */
__asm__(".text\n"
	".globl target_asm\n"
	"target_asm:\n"
	"	nop\n nop\n nop\n nop\n"
	".globl target_sized\n"
	".type target_sized, %function\n"
	"target_sized:\n"
	"	nop\n nop\n nop\n nop\n"
	"target_label:\n"
	"	nop\n nop\n nop\n nop\n"
	".size target_sized, . - target_sized\n"
	"$x.1:\n"
	"	nop\n nop\n nop\n nop\n");

int target_data[16] = {1, 2, 3};

int main(int argc, char **argv)
{
	int x = cxx_push_back(argc) + rust_legacy(argc) + rust_v0(argc) + target_global(argc) +
		target_weak(argc) + target_ifunc(argc) + target_data[argc & 15];
	puts(argv[0]);
	x += atoi(argv[0]);
	return x + (int)strlen(argv[0]);
}
