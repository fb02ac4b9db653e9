// SPDX-License-Identifier: GPL-2.0-or-later
/* Split an argument of vmopcompare into the specs of a side. */
#ifndef VMOP_OPREPORT_COMPARE_SIDE_WORDS_H
#define VMOP_OPREPORT_COMPARE_SIDE_WORDS_H

#include "libutil/error.h"
#include "opreport/query/spec.h"

/*
 * Append the words of text, which blanks separate; "\ " is a blank within a word.  With
 * first_is_session, a first word without a tag ("before", "./before.vmop") is a session.
 */
struct vmop_error *vmop_side_words_split(const char *text, bool first_is_session,
					 struct vmop_words *ret);

#endif
