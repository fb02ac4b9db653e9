/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guests' known load: 75 % of the time in ..._major, 25 % in ..._minor. */
#ifndef RIGS_GUEST_WORK_H
#define RIGS_GUEST_WORK_H

void static_major(unsigned long n);
void static_minor(unsigned long n);
void library_major(unsigned long n);
void library_minor(unsigned long n);

#endif
