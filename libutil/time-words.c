// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/time-words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/clock.h"
#include "libutil/local-time.h"
#include "libutil/parse.h"

#define MINUTE_NS (60 * VMOP_NS_PER_S)

/* Parse exactly n digits.  Returns the text behind them, or NULL. */
static const char *take_digits(const char *text, int n, int *ret)
{
	*ret = 0;
	for (int i = 0; i < n; i++, text++) {
		if (!isdigit((unsigned char)*text))
			return NULL;
		*ret = *ret * 10 + (*text - '0');
	}
	return text;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " ");
}

/* ---- times of day ---------------------------------------------------------------- */

/* Parse the digits behind a point, in ns.  Further digits are dropped. */
static const char *take_fraction(const char *text, uint64_t *ret_ns)
{
	uint64_t digit_ns = VMOP_NS_PER_S / 10;
	if (!isdigit((unsigned char)*text))
		return NULL;
	for (*ret_ns = 0; isdigit((unsigned char)*text); text++, digit_ns /= 10)
		*ret_ns += (uint64_t)(*text - '0') * digit_ns;
	return text;
}

bool vmop_time_of_day_parse(const char *text, const char **ret_end, uint64_t *ret_ns,
			    uint64_t *ret_unit_ns)
{
	int hour, minute, second = 0;
	uint64_t fraction_ns = 0;
	const char *end = take_digits(
		text, isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[1]) ? 2 : 1,
		&hour);
	if (!end || *end != ':' || !(end = take_digits(end + 1, 2, &minute)))
		return false;
	*ret_unit_ns = MINUTE_NS;
	if (*end == ':') {
		*ret_unit_ns = VMOP_NS_PER_S;
		if (!(end = take_digits(end + 1, 2, &second)))
			return false;
		if (end[0] == '.' && end[1] != '.') {
			*ret_unit_ns = 1;
			if (!(end = take_fraction(end + 1, &fraction_ns)))
				return false;
		}
	}
	if (hour > 24 || minute > 59 || second > 60 ||
	    (hour == 24 && (minute || second || fraction_ns)))
		return false;
	*ret_ns = (uint64_t)((hour * 60 + minute) * 60 + second) * VMOP_NS_PER_S + fraction_ns;
	*ret_end = end;
	return true;
}

/* ---- days ------------------------------------------------------------------------ */

/* A day, and perhaps a time of it, before they are read as CLOCK_REALTIME. */
struct civil {
	struct tm tm; /* year, month, day */
	bool has_offset;
	int offset_s;
	uint64_t of_day_ns, unit_ns; /* unit 0: the whole day */
};

/* Parse an offset at the end of the text: Z, +HH, +HHMM, +HH:MM. */
static bool parse_offset(const char *text, struct civil *ret)
{
	int hours, minutes = 0;
	ret->has_offset = true;
	if (*text == 'Z' || *text == 'z')
		return !text[1];
	const char *end = take_digits(text + 1, 2, &hours);
	if (end && *end)
		end = take_digits(end + (*end == ':'), 2, &minutes);
	if (!end || *end || hours > 23 || minutes > 59)
		return false;
	ret->offset_s = (hours * 60 + minutes) * 60 * (*text == '-' ? -1 : 1);
	return true;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + (month == 2 && is_leap);
}

static const char *take_date(const char *text, struct tm *ret)
{
	int year, month, day;
	if (!(text = take_digits(text, 4, &year)) || *text++ != '-' ||
	    !(text = take_digits(text, 2, &month)) || *text++ != '-' ||
	    !(text = take_digits(text, 2, &day)))
		return NULL;
	if (month < 1 || month > 12 || day < 1 || day > days_in(year, month))
		return NULL;
	*ret = (struct tm){.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
	return text;
}

/* Return the text behind a word that begins it, whatever its case, or NULL. */
static const char *take_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	if (strncasecmp(text, word, len) != 0)
		return NULL;
	const char *end = text + len;
	bool is_time = (*end == 'T' || *end == 't') && isdigit((unsigned char)end[1]);
	return !isalpha((unsigned char)*end) || is_time ? end : NULL;
}

/* Take a weekday, and set *ret to 0 (Sunday) to 6. */
static const char *take_weekday(const char *text, int *ret)
{
	static const char *const names[] = {"sunday",	"monday", "tuesday", "wednesday",
					    "thursday", "friday", "saturday"};
	for (*ret = 0; *ret < 7; ++*ret) {
		const char *name = names[*ret];
		const char abbreviation[] = {name[0], name[1], name[2], '\0'};
		const char *end = take_word(text, name);
		if (end || (end = take_word(text, abbreviation)))
			return end;
	}
	return NULL;
}

/* Take the words of a day near now, whose date is *ret. */
static const char *take_near_day(const char *text, struct tm *ret)
{
	const char *end = take_word(text, "last");
	bool is_before = end;
	int weekday, back = 0;
	if ((end = take_weekday(is_before ? skip_blanks(end) : text, &weekday))) {
		back = (ret->tm_wday - weekday + 7) % 7;
		back += is_before && !back ? 7 : 0;
	} else if ((end = take_word(text, "yesterday"))) {
		back = 1;
	} else {
		end = take_word(text, "today");
	}
	*ret = (struct tm){
		.tm_year = ret->tm_year, .tm_mon = ret->tm_mon, .tm_mday = ret->tm_mday - back};
	return end;
}

static bool parse_civil(const char *text, uint64_t now_ns, struct civil *ret)
{
	time_t now_s = (time_t)(now_ns / VMOP_NS_PER_S);
	*ret = (struct civil){0};
	const char *end = take_date(text, &ret->tm);
	bool is_date = end;
	if (!end && (!localtime_r(&now_s, &ret->tm) || !(end = take_near_day(text, &ret->tm))))
		return false;
	if (!*end)
		return true;
	const char *of_day = *end == 'T' || *end == 't' ? end + 1 : skip_blanks(end);
	if (of_day == end || !vmop_time_of_day_parse(of_day, &end, &ret->of_day_ns, &ret->unit_ns))
		return false;
	return !*end || (is_date && strchr("Zz+-", *end) && parse_offset(end, ret));
}

/* Read a civil time with the given fields beyond its date. */
static bool read_civil(const struct civil *civil, uint64_t of_day_ns, int days, uint64_t *ret_first,
		       uint64_t *ret_last)
{
	struct tm tm = civil->tm;
	tm.tm_mday += days;
	tm.tm_sec = (int)(of_day_ns / VMOP_NS_PER_S);
	if (civil->has_offset) {
		tm.tm_sec -= civil->offset_s;
		time_t seconds = timegm(&tm);
		if (seconds < 0 || seconds > VMOP_REAL_SECONDS_MAX)
			return false;
		*ret_first = *ret_last = (uint64_t)seconds * VMOP_NS_PER_S;
	} else if (!vmop_local_to_real(&tm, ret_first, ret_last)) {
		return false;
	}
	*ret_first += of_day_ns % VMOP_NS_PER_S;
	*ret_last += of_day_ns % VMOP_NS_PER_S;
	return true;
}

/* ---- all words --------------------------------------------------------------------- */

/* Parse "SECONDS[.FRACTION]", with at most nine digits after the point. */
static bool parse_seconds(const char *text, struct vmop_time_words *ret)
{
	char whole[24];
	size_t len = strcspn(text, ".");
	uint64_t seconds, fraction_ns = 0;
	snprintf(whole, sizeof(whole), "%.*s", (int)(len < 23 ? len : 23), text);
	if (!vmop_parse_u64(whole, 10, &seconds) || seconds >= (uint64_t)VMOP_REAL_SECONDS_MAX)
		return false;
	if (text[len]) {
		size_t digits = strspn(text + len + 1, "0123456789");
		if (!digits || digits > 9 || text[len + 1 + digits])
			return false;
		fraction_ns = strtoull(text + len + 1, NULL, 10);
		for (; digits < 9; digits++)
			fraction_ns *= 10;
	}
	ret->first_ns = ret->last_ns = seconds * VMOP_NS_PER_S + fraction_ns;
	ret->end_ns = ret->first_ns + VMOP_NS_PER_S;
	return true;
}

/* Parse "last DURATION". */
static bool parse_last(const char *text, uint64_t now_ns, struct vmop_time_words *ret)
{
	const char *end = take_word(text, "last");
	uint64_t span_ns;
	if (!end || !vmop_parse_duration_ns(skip_blanks(end), &span_ns) || span_ns >= now_ns)
		return false;
	ret->first_ns = ret->last_ns = now_ns - span_ns;
	ret->end_ns = now_ns;
	return true;
}

bool vmop_time_words_parse(const char *text, uint64_t now_ns, struct vmop_time_words *ret)
{
	struct civil civil;
	uint64_t unused_ns;
	if (*text == '@')
		return parse_seconds(text + 1, ret);
	if (!strcasecmp(text, "now")) {
		*ret = (struct vmop_time_words){now_ns, now_ns, now_ns};
		return true;
	}
	if (parse_last(text, now_ns, ret))
		return true;
	if (!parse_civil(text, now_ns, &civil) ||
	    !read_civil(&civil, civil.of_day_ns, 0, &ret->first_ns, &ret->last_ns))
		return false;
	ret->end_ns = ret->last_ns + civil.unit_ns;
	return civil.unit_ns || read_civil(&civil, 0, 1, &unused_ns, &ret->end_ns);
}
