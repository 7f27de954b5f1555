/* timestamp.c - the calendar is computed, not asked of libc: no time zone, no locale, any year. Days are counted
 * in eras of 400 years that begin on 1 March, so that the leap day is the last of its year. */
#include "base/timestamp.h"

#include "reconciler.h"

#define SECOND_US INT64_C(1000000)
#define DAY_US (INT64_C(86400) * SECOND_US)
#define YEAR_0000_US (INT64_C(-719528) * DAY_US)
#define YEAR_10000_US (INT64_C(2932897) * DAY_US)

static int64_t days_from_date(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400, year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void date_from_days(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097, day_of_era = days - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month_from_march = (5 * day_of_year + 2) / 153;
	*ret_day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
	*ret_month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
	*ret_year = (int)(year_of_era + era * 400 + (*ret_month <= 2));
}

static char *digits_put(char *to, int64_t value, int width)
{
	for (int i = width - 1; i >= 0; i--, value /= 10)
		to[i] = (char)('0' + value % 10);
	return to + width;
}

char *rec_timestamp_format(int64_t us, char out[REC_TIMESTAMP_BYTES])
{
	if (us < YEAR_0000_US)
		us = YEAR_0000_US;
	if (us >= YEAR_10000_US)
		us = YEAR_10000_US - 1;
	int64_t days = us / DAY_US - (us % DAY_US < 0), in_day = us - days * DAY_US, seconds = in_day / SECOND_US;
	int year, month, day;
	date_from_days(days, &year, &month, &day);
	char *to = digits_put(out, year, 4);
	*to++ = '-';
	to = digits_put(to, month, 2);
	*to++ = '-';
	to = digits_put(to, day, 2);
	*to++ = 'T';
	to = digits_put(to, seconds / 3600, 2);
	*to++ = ':';
	to = digits_put(to, seconds / 60 % 60, 2);
	*to++ = ':';
	to = digits_put(to, seconds % 60, 2);
	*to++ = '.';
	to = digits_put(to, in_day % SECOND_US, 6);
	memcpy(to, "+00:00", 7);
	return out;
}

/* ---- Reading: each take_ function moves *text forward, or returns false ---- */

static bool digit_at(struct rec_slice text)
{
	return text.length && text.data[0] >= '0' && text.data[0] <= '9';
}

static char take_any(struct rec_slice *text)
{
	char c = text->data[0];
	text->data++;
	text->length--;
	return c;
}

static bool take(struct rec_slice *text, const char *one_of)
{
	char c = text->length ? text->data[0] : '\0';
	while (*one_of && *one_of != c)
		one_of++;
	if (!*one_of)
		return false;
	take_any(text);
	return true;
}

/* Exactly `width` digits. */
static bool take_number(struct rec_slice *text, int width, int low, int high, int *ret_value)
{
	int value = 0;
	for (int i = 0; i < width; i++) {
		if (!digit_at(*text))
			return false;
		value = value * 10 + (take_any(text) - '0');
	}
	*ret_value = value;
	return value >= low && value <= high;
}

static int month_days(int year, int month)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + (month == 2 && leap);
}

static bool take_date(struct rec_slice *text, int64_t *ret_days)
{
	int year, month, day;
	if (!take_number(text, 4, 0, 9999, &year) || !take(text, "-") || !take_number(text, 2, 1, 12, &month) ||
	    !take(text, "-") || !take_number(text, 2, 1, month_days(year, month), &day))
		return false;
	*ret_days = days_from_date(year, month, day);
	return true;
}

static bool take_fraction(struct rec_slice *text, int *ret_us)
{
	*ret_us = 0;
	if (!take(text, "."))
		return true;
	if (!digit_at(*text))
		return false;
	for (int scale = 100000; digit_at(*text); scale /= 10)
		*ret_us += (take_any(text) - '0') * scale;
	return true;
}

static bool take_time(struct rec_slice *text, int64_t *ret_us)
{
	int hour, minute, second, fraction;
	if (!take_number(text, 2, 0, 23, &hour) || !take(text, ":") || !take_number(text, 2, 0, 59, &minute) ||
	    !take(text, ":") || !take_number(text, 2, 0, 60, &second) || !take_fraction(text, &fraction))
		return false;
	*ret_us = (hour * 3600 + minute * 60 + second) * SECOND_US + (second == 60 ? 0 : fraction);
	return true;
}

static bool take_zone(struct rec_slice *text, int64_t *ret_us)
{
	*ret_us = 0;
	if (text->length == 0 || take(text, "Zz"))
		return true;
	bool west = text->data[0] == '-';
	int hours, minutes;
	if (!take(text, "+-") || !take_number(text, 2, 0, 23, &hours))
		return false;
	(void)take(text, ":");
	if (!take_number(text, 2, 0, 59, &minutes))
		return false;
	int64_t us = (hours * 60 + minutes) * 60 * SECOND_US;
	*ret_us = west ? -us : us;
	return true;
}

int rec_timestamp_parse(struct rec_slice text, int64_t *ret_us)
{
	int64_t days, in_day, zone;
	if (!take_date(&text, &days) || !take(&text, "Tt ") || !take_time(&text, &in_day) || !take_zone(&text, &zone) ||
	    text.length)
		return REC_E_INVALID;
	*ret_us = days * DAY_US + in_day - zone;
	return 0;
}

/* ---- Durations and sizes ---- */

/* One or more digits. False: none; *ret_over: too many for 64 bits. */
static bool take_whole(struct rec_slice *text, uint64_t *ret_value, bool *ret_over)
{
	uint64_t value = 0;
	bool any = digit_at(*text), over = false;
	while (digit_at(*text)) {
		over |= __builtin_mul_overflow(value, 10, &value);
		over |= __builtin_add_overflow(value, (uint64_t)(take_any(text) - '0'), &value);
	}
	*ret_value = value;
	*ret_over = over;
	return any;
}

static int64_t duration_unit_us(struct rec_slice unit)
{
	static const struct {
		const char *name;
		int64_t us;
	} units[] = {{"", SECOND_US},         {"ms", 1000}, {"s", SECOND_US}, {"m", 60 * SECOND_US},
		     {"h", 3600 * SECOND_US}, {"d", DAY_US}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (rec_slice_equal(unit, rec_slice_of(units[i].name)))
			return units[i].us;
	return 0;
}

/* From the last digit to the first, so that cutting at each division cuts the whole exactly once. */
static uint64_t fraction_of(struct rec_slice digits, uint64_t unit)
{
	uint64_t value = 0;
	for (size_t i = digits.length; i-- > 0;)
		value = (value + (uint64_t)(digits.data[i] - '0') * unit) / 10;
	return value;
}

int rec_duration_parse(struct rec_slice text, int64_t *ret_us)
{
	uint64_t whole, us;
	bool over;
	if (!take_whole(&text, &whole, &over))
		return REC_E_INVALID;
	struct rec_slice fraction = {text.data, 0};
	if (take(&text, ".")) {
		fraction.data = text.data;
		while (digit_at(text))
			take_any(&text);
		fraction.length = (size_t)(text.data - fraction.data);
		if (fraction.length == 0)
			return REC_E_INVALID;
	}
	uint64_t unit = (uint64_t)duration_unit_us(text);
	if (!unit)
		return REC_E_INVALID;
	over |= __builtin_mul_overflow(whole, unit, &us);
	over |= __builtin_add_overflow(us, fraction_of(fraction, unit), &us);
	if (over || us > INT64_MAX / 1000)
		return REC_E_LIMIT;
	*ret_us = (int64_t)us;
	return 0;
}

int rec_size_parse(struct rec_slice text, uint64_t *ret_bytes)
{
	uint64_t bytes;
	bool over;
	if (!take_whole(&text, &bytes, &over) || text.length > 1)
		return REC_E_INVALID;
	if (text.length) {
		static const char units[] = "KMGTkmgt";
		const char *unit = memchr(units, text.data[0], sizeof units - 1);
		if (!unit)
			return REC_E_INVALID;
		over |= __builtin_mul_overflow(bytes, UINT64_C(1) << (unit - units) % 4 * 10 << 10, &bytes);
	}
	if (over)
		return REC_E_LIMIT;
	*ret_bytes = bytes;
	return 0;
}
