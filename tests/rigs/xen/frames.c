// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with frame pointers and known callers: main > frames_outer > frames_middle >
 * frames_major (75 % of the time) and frames_minor. Build it without optimisation and static.
 */
#define OWN __attribute__((noinline, noclone))

static volatile unsigned long work;

OWN static void frames_major(void)
{
	for (unsigned i = 0; i < 300000; i++)
		work += i;
}

OWN static void frames_minor(void)
{
	for (unsigned i = 0; i < 100000; i++)
		work += i;
}

OWN static void frames_middle(void)
{
	frames_major();
	frames_minor();
	work++;
}

OWN static void frames_outer(void)
{
	for (;;)
		frames_middle();
}

int main(void)
{
	frames_outer();
	return 0;
}
