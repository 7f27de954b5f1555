/* number.c - printf and strtod follow LC_NUMERIC, so both run under the C locale, which glibc and musl
 * keep as a constant: newlocale and uselocale then neither allocate nor touch other threads. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double parse_terminated(const char *text)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = uselocale(c);
	double value = strtod(text, NULL);
	uselocale(before);
	freelocale(c);
	return value;
}

static void format_shortest(double value, char out[32])
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = uselocale(c);
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(out, 32, "%.*g", digits, value);
		if (strtod(out, NULL) == value)
			break;
	}
	uselocale(before);
	freelocale(c);
}

int rec_number_write(struct rec_buffer *out, double value)
{
	char text[32];
	if (isnan(value))
		return rec_buffer_add_text(out, "null");
	if (isinf(value))
		return rec_buffer_add_text(out, value < 0 ? "-1e999" : "1e999");
	format_shortest(value, text);
	return rec_buffer_add_text(out, text);
}

int rec_number_parse(struct rec_slice number, double *ret_value)
{
	char text[128];
	if (number.length >= sizeof text)
		return REC_E_INVALID;
	memcpy(text, number.data, number.length);
	text[number.length] = '\0';
	double value = parse_terminated(text);
	if (!isfinite(value))
		return REC_E_INVALID;
	*ret_value = value;
	return 0;
}
