// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Meter readings: counters that others keep (drivers, hypervisors), read at one time, and their
 * growth from one reading to the next. The objects that they belong to come and go, take the names
 * of others, and are reset. A growth that is not known has a reason in place of a number.
 *
 * A reading is made by vmop_readings_begin, vmop_readings_add for each counter, and
 * vmop_readings_end; two of them are compared by vmop_readings_rows.
 */
#ifndef VMOP_LIBVMOP_STAT_READINGS_H
#define VMOP_LIBVMOP_STAT_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libvmop/stat/output.h"

enum vmop_reading_kind {
	VMOP_READING_COUNT, /* the ratio is its rate */
	VMOP_READING_NS,    /* a time: the ratio is its share of the time that passed */
};

enum vmop_reading_flags {
	VMOP_READING_QUIET = 1 << 0, /* no row while it does not grow */
	VMOP_READING_ALONE = 1 << 1, /* its reset means nothing for the object's other counters */
};

struct vmop_reading {
	/* The same object has the same identity, whatever its name. */
	uint64_t identity;
	const char *object;  /* such as "eth0" */
	const char *counter; /* such as "rx-bytes" */
	const char *guest;   /* NULL: it belongs to no guest */
	enum vmop_reading_kind kind;
	unsigned flags; /* enum vmop_reading_flags */
	uint64_t value;
	/*
	 * The value at which the counter stays once it is reached; 0: it does not stop. At this
	 * value, its growth is not known.
	 */
	uint64_t stops_at;
	unsigned renewed_ms; /* how often the driver renews it; 0: at each reading */
	const char *reason;  /* NULL, or why there is no value */
};

struct vmop_readings {
	struct vmop_reading *items; /* after vmop_readings_end by identity and counter */
	size_t n, capacity;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* Forget the last reading, and begin one. */
void vmop_readings_begin(struct vmop_readings *readings);
/* Add a counter. The strings are copied. */
struct vmop_error *vmop_readings_add(struct vmop_readings *readings,
				     const struct vmop_reading *reading);
/* Complete the reading: make it comparable. */
void vmop_readings_end(struct vmop_readings *readings);
void vmop_readings_deinit(struct vmop_readings *readings);

/*
 * Note in each item of first, which has no reason yet, why its growth will not be known: between
 * last and now it was reset, or its object was gone. For readings between the two whose difference
 * is wanted.
 */
struct vmop_error *vmop_readings_mark(struct vmop_readings *first, const struct vmop_readings *last,
				      const struct vmop_readings *now);

struct vmop_readings_row {
	char name[192]; /* OBJECT/COUNTER */
	char reason[256];
	struct vmop_stat_row row; /* its strings are those above, and the readings' */
	uint64_t identity;	  /* of its object */
	const char *object;	  /* likewise */
	bool is_silent;		  /* no counter of its object grew, and none has a reason */
};

/*
 * Compute the growth of every counter from before to now, as rows for vmop_stat_write_row. The
 * rows of an object follow one another. The caller frees *ret; its strings last as long as both
 * readings.
 */
struct vmop_error *vmop_readings_rows(const struct vmop_readings *before,
				      const struct vmop_readings *now,
				      struct vmop_readings_row **ret, size_t *ret_n);

#endif
