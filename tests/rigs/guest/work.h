/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guests' known load: 75 % of the time in ..._major, 25 % in ..._minor. */
#ifndef RIGS_GUEST_WORK_H
#define RIGS_GUEST_WORK_H

#define WORK_PASTE(a, b) a##b
#define WORK_NAME(prefix, what) WORK_PASTE(prefix, what)

#ifdef WORK_PREFIX
/* The functions of this program, named by WORK_PREFIX. */
#define WORK(what) WORK_NAME(WORK_PREFIX, what)
void WORK(major)(unsigned long n);
void WORK(minor)(unsigned long n);
#endif

void static_major(unsigned long n);
void static_minor(unsigned long n);
void library_major(unsigned long n);
void library_minor(unsigned long n);

#endif
