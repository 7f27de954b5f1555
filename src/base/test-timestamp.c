/* Times against the C library's calendar; the forms people write; durations and sizes. */
#include "base/test-support.h"

#include <stdio.h>
#include <time.h>

#include "base/timestamp.h"
#include "reconciler.h"

#define DAY_US INT64_C(86400000000)

static const char *formatted(int64_t us)
{
	static char text[REC_TIMESTAMP_BYTES];
	return rec_timestamp_format(us, text);
}

static void test_timestamp_format__has_codeframes_form(void **state)
{
	(void)state;
	assert_string_equal(formatted(0), "1970-01-01T00:00:00.000000+00:00");
	assert_string_equal(formatted(INT64_C(1767225602000246)), "2026-01-01T00:00:02.000246+00:00");
	assert_string_equal(formatted(-1), "1969-12-31T23:59:59.999999+00:00");
	assert_string_equal(formatted(-DAY_US), "1969-12-31T00:00:00.000000+00:00");
}

static void test_timestamp_format__is_clamped_to_four_digit_years(void **state)
{
	(void)state;
	const int64_t first = INT64_C(-62167219200000000), end = INT64_C(253402300800000000);
	assert_string_equal(formatted(first), "0000-01-01T00:00:00.000000+00:00");
	assert_string_equal(formatted(first + 1), "0000-01-01T00:00:00.000001+00:00");
	assert_string_equal(formatted(first - 1), "0000-01-01T00:00:00.000000+00:00");
	assert_string_equal(formatted(end - 2), "9999-12-31T23:59:59.999998+00:00");
	assert_string_equal(formatted(end), "9999-12-31T23:59:59.999999+00:00");
	assert_string_equal(formatted(INT64_MIN), "0000-01-01T00:00:00.000000+00:00");
	assert_string_equal(formatted(INT64_MAX), "9999-12-31T23:59:59.999999+00:00");
}

/* The calendar repeats after 400 years; of the others every eleventh day. */
static void test_timestamp__agrees_with_the_c_library_over_ten_thousand_years(void **state)
{
	(void)state;
	const int64_t first = -719528, repeats = first + 146097, end = 2932897;
	for (int64_t day = first; day < end; day += day < repeats || day > end - 11 ? 1 : 11) {
		time_t seconds = day * 86400 + (day - first) % 86400;
		struct tm parts;
		char wanted[64], text[REC_TIMESTAMP_BYTES];
		gmtime_r(&seconds, &parts);
		int64_t us = (int64_t)seconds * 1000000, back;
		snprintf(wanted, sizeof wanted, "%04d-%02d-%02dT%02d:%02d:%02d.000000+00:00", parts.tm_year + 1900,
			 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
		if (strcmp(rec_timestamp_format(us, text), wanted) != 0)
			fail_msg("%s is not %s", text, wanted);
		if (rec_timestamp_parse(rec_slice_of(text), &back) || back != us)
			fail_msg("%s is not read back", text);
	}
}

static void test_timestamp_parse__reads_what_people_write(void **state)
{
	(void)state;
	static const struct {
		const char *text, *same;
	} cases[] = {
		{"2026-03-12T03:11:13Z", "2026-03-12T03:11:13.000000+00:00"},
		{"2026-03-12t03:11:13z", "2026-03-12T03:11:13.000000+00:00"},
		{"2026-03-12 03:11:13", "2026-03-12T03:11:13.000000+00:00"},
		{"2026-03-12T03:11:13.5", "2026-03-12T03:11:13.500000+00:00"},
		{"2026-03-12T03:11:13.1234567899999999999999Z", "2026-03-12T03:11:13.123456+00:00"},
		{"2026-03-12T03:11:13.000001-00:00", "2026-03-12T03:11:13.000001+00:00"},
		{"2026-03-12T03:11:13+05:30", "2026-03-11T21:41:13.000000+00:00"},
		{"2026-03-12T03:11:13-0530", "2026-03-12T08:41:13.000000+00:00"},
		{"2026-12-31T23:59:60Z", "2027-01-01T00:00:00.000000+00:00"},
		{"2026-12-31T23:59:60.9Z", "2027-01-01T00:00:00.000000+00:00"},
		{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000+00:00"},
		{"2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000+00:00"},
		{"0000-02-29T00:00:00Z", "0000-02-29T00:00:00.000000+00:00"},
		{"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t us;
		assert_int_equal(rec_timestamp_parse(rec_slice_of(cases[i].text), &us), 0);
		assert_string_equal(formatted(us), cases[i].same);
	}
}

static void test_timestamp_parse__refuses_what_does_not_exist(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"",
		"2026",
		"2026-03-12",
		"2026-03-12T",
		"2026-03-12T03:11",
		"2026-3-12T03:11:13Z",
		"26-03-12T03:11:13Z",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-01-32T00:00:00Z",
		"2026-04-31T00:00:00Z",
		"2023-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z",
		"2026-01-01T00:00:61Z",
		"2026-01-01T00:00:00.Z",
		"2026-01-01T00:00:00,5Z",
		"2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00+01:60",
		"2026-01-01T00:00:00+01",
		"2026-01-01T00:00:00+",
		"2026-01-01T00:00:00ZZ",
		"2026-01-01T00:00:00Z ",
		" 2026-01-01T00:00:00Z",
		"2026-01-01x00:00:00Z",
		"-026-01-01T00:00:00Z",
		"2026/01/01T00:00:00Z",
		"+2026-01-01T00:00:00Z",
		"20260101T000000Z",
		"1767225602",
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t us = 77;
		if (rec_timestamp_parse(rec_slice_of(cases[i]), &us) != REC_E_INVALID || us != 77)
			fail_msg("\"%s\" was accepted", cases[i]);
	}
	int64_t us = 77;
	assert_int_equal(rec_timestamp_parse(slice_of_array("2026-01-01T00:00:00\0"), &us), REC_E_INVALID);
	assert_int_equal(rec_timestamp_parse(slice_of_array("2026-01-01\0"
							    "00:00:00"),
					     &us),
			 REC_E_INVALID);
}

static void assert_duration(const char *text, int result, int64_t us)
{
	int64_t value = -77;
	assert_int_equal(rec_duration_parse(rec_slice_of(text), &value), result);
	assert_int_equal(value, result ? -77 : us);
}

static void test_duration_parse__units_and_decimals(void **state)
{
	(void)state;
	assert_duration("500ms", 0, 500000);
	assert_duration("30s", 0, 30000000);
	assert_duration("30", 0, 30000000);
	assert_duration("5m", 0, 300000000);
	assert_duration("2h", 0, INT64_C(7200000000));
	assert_duration("1d", 0, DAY_US);
	assert_duration("0", 0, 0);
	assert_duration("1.5s", 0, 1500000);
	assert_duration("0.25", 0, 250000);
	assert_duration("007.50m", 0, 450000000);
	assert_duration("0.0000019s", 0, 1);
	assert_duration("1.9999999999999999999999999999s", 0, 1999999);
	assert_duration("0.333333333333333333333333d", 0, INT64_C(28799999999));
}

static void test_duration_parse__refuses_what_is_none(void **state)
{
	(void)state;
	static const char *const cases[] = {"",   "-1s",  "+1s", "s",   "1.s", ".5s",  "1.5.5s", "1 s", " 1s", "1s ",
					    "1S", "1sec", "1w",  "1us", "1e3", "0x10", "1,5s",   "inf", "nan", "1ms2"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_duration(cases[i], REC_E_INVALID, 0);
	int64_t us;
	assert_int_equal(rec_duration_parse(slice_of_array("1s\0"), &us), REC_E_INVALID);
	assert_int_equal(rec_duration_parse((struct rec_slice){NULL, 0}, &us), REC_E_INVALID);
}

static void test_duration_parse__has_a_limit(void **state)
{
	(void)state;
	assert_duration("9223372036", 0, INT64_C(9223372036000000));
	assert_duration("9223372036.854775", 0, INT64_C(9223372036854775));
	assert_duration("9223372036.854776", REC_E_LIMIT, 0);
	assert_duration("9223372037", REC_E_LIMIT, 0);
	assert_duration("106751d", 0, 106751 * DAY_US);
	assert_duration("106752d", REC_E_LIMIT, 0);
	assert_duration("18446744073709551615d", REC_E_LIMIT, 0);
	assert_duration("18446744073709551616", REC_E_LIMIT, 0);
	assert_duration("99999999999999999999999999999999ms", REC_E_LIMIT, 0);
	assert_duration("99999999999999999999999999999999x", REC_E_INVALID, 0);
}

static void assert_size(const char *text, int result, uint64_t bytes)
{
	uint64_t value = 77;
	assert_int_equal(rec_size_parse(rec_slice_of(text), &value), result);
	assert_int_equal(value, result ? 77 : bytes);
}

static void test_size_parse__powers_of_1024(void **state)
{
	(void)state;
	assert_size("0", 0, 0);
	assert_size("1024", 0, 1024);
	assert_size("64K", 0, 65536);
	assert_size("64k", 0, 65536);
	assert_size("16M", 0, 16777216);
	assert_size("1G", 0, 1073741824);
	assert_size("2T", 0, UINT64_C(2) << 40);
	assert_size("18446744073709551615", 0, UINT64_MAX);
	assert_size("16777215T", 0, UINT64_C(16777215) << 40);
}

static void test_size_parse__refuses_and_limits(void **state)
{
	(void)state;
	static const char *const cases[] = {"", "K", "-1", "+1", "1.5M", "1KB", "1KiB", "1 K", "1P", "1x", "0x10"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_size(cases[i], REC_E_INVALID, 0);
	assert_size("18446744073709551616", REC_E_LIMIT, 0);
	assert_size("16777216T", REC_E_LIMIT, 0);
	uint64_t bytes;
	assert_int_equal(rec_size_parse(slice_of_array("1\0"), &bytes), REC_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timestamp_format__has_codeframes_form),
		cmocka_unit_test(test_timestamp_format__is_clamped_to_four_digit_years),
		cmocka_unit_test(test_timestamp__agrees_with_the_c_library_over_ten_thousand_years),
		cmocka_unit_test(test_timestamp_parse__reads_what_people_write),
		cmocka_unit_test(test_timestamp_parse__refuses_what_does_not_exist),
		cmocka_unit_test(test_duration_parse__units_and_decimals),
		cmocka_unit_test(test_duration_parse__refuses_what_is_none),
		cmocka_unit_test(test_duration_parse__has_a_limit),
		cmocka_unit_test(test_size_parse__powers_of_1024),
		cmocka_unit_test(test_size_parse__refuses_and_limits),
	};
	return cmocka_run_group_tests_name("base/timestamp", tests, NULL, NULL);
}
