/* Paths below rec-run: what the shim writes is where the command looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conductor/run-files.h"

static void test_run_files__output_is_found_by_task_and_attempt(void **state)
{
	(void)state;
	struct rec_buffer path;
	rec_buffer_init(&path, NULL, 4096);
	assert_int_equal(rec_log_path(&path, "/w/rec-run", rec_slice_of("a/b"), 3), 0);
	assert_string_equal(path.data, "/w/rec-run/logs/a%2Fb/3.log");
	rec_buffer_clear(&path);
	assert_int_equal(rec_log_folder_path(&path, "/w/rec-run", rec_slice_of("..")), 0);
	assert_string_equal(path.data, "/w/rec-run/logs/%2E.");
	rec_buffer_release(&path);
}

static void test_run_files__a_heartbeat_is_beside_the_task_and_nowhere_else(void **state)
{
	(void)state;
	struct rec_buffer path;
	rec_buffer_init(&path, NULL, 4096);
	assert_int_equal(rec_heartbeat_path(&path, "/w/rec-run/slot-0001/task-0.json"), 0);
	assert_string_equal(path.data, "/w/rec-run/slot-0001/heartbeat");
	rec_buffer_clear(&path);
	assert_int_equal(rec_heartbeat_path(&path, "/w/rec-run/slot-0001/task-1.json"), 0);
	assert_int_equal(rec_heartbeat_path(&path, "/w/rec-run/slot-0001/task-2.json"), REC_E_INVALID);
	assert_int_equal(rec_heartbeat_path(&path, "/etc/passwd"), REC_E_INVALID);
	assert_int_equal(rec_heartbeat_path(&path, "task-0.json"), REC_E_INVALID);
	assert_int_equal(rec_heartbeat_path(&path, ""), REC_E_INVALID);
	rec_buffer_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_files__output_is_found_by_task_and_attempt),
		cmocka_unit_test(test_run_files__a_heartbeat_is_beside_the_task_and_nowhere_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
