// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tables of --status and --inspect share: members of a reply, and text
 * that is safe for a terminal.
 */
#ifndef VMOP_OPCONTROL_SHOW_H
#define VMOP_OPCONTROL_SHOW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_LABEL_WIDTH 12

/* A member; 0 or NULL where it is absent or of another type. */
uint64_t control_number(const json_t *object, const char *name);
double control_real(const json_t *object, const char *name);
const char *control_text(const json_t *object, const char *name);

/* At most len bytes, with control characters replaced; NULL prints nothing. */
void control_put_clean(const char *raw, size_t len);

/* A label and a value, broken at blanks so that it keeps to its column. */
void control_put_row(const char *label, const char *value);

#endif
