// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/live-sets.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vmop_counters *first;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	for (struct vmop_counters *set = first; set; set = set->next) {
		for (size_t i = 0; i < set->events.n; i++)
			set->pages[i] = &vmop_no_page;
		set->owner = 0;
	}
	pthread_mutex_unlock(&lock);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void vmop_live_sets_add(struct vmop_counters *counters)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, follow_forks);
	pthread_mutex_lock(&lock);
	counters->next = first;
	if (first)
		first->previous = counters;
	first = counters;
	pthread_mutex_unlock(&lock);
}

void vmop_live_sets_remove(struct vmop_counters *counters)
{
	pthread_mutex_lock(&lock);
	if (counters->previous)
		counters->previous->next = counters->next;
	else if (first == counters)
		first = counters->next;
	if (counters->next)
		counters->next->previous = counters->previous;
	counters->next = counters->previous = NULL;
	pthread_mutex_unlock(&lock);
}
