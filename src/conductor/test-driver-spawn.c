/* A command that cannot be executed: its own fault, or that of a machine which has nothing left just now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "conductor/test-driver-support.h"

static enum rec_status status_after(int spawn_errno)
{
	struct rec_snapshot now;
	struct rec_slice id = rec_slice_of("a");
	story_begin();
	driver_begin();
	w.event = (struct rec_slot_event){
		.kind = REC_SLOT_ENDED, .claim_id = w.started_claim, .not_executed = true, .code = spawn_errno};
	step_synced();
	assert_int_equal(rec_store_snapshot(w.store, &id, 1, 0, &now, NULL), 0);
	enum rec_status status = (enum rec_status)now.facts[0].status;
	rec_snapshot_release(&now);
	story_end();
	return status;
}

static void test_spawn__that_fails_for_want_of_processes_memory_or_descriptors_is_tried_again_later(void **state)
{
	(void)state;
	/* the next attempt */
	assert_int_equal(status_after(EAGAIN), REC_IN_PROGRESS);
	assert_int_equal(status_after(ENOMEM), REC_IN_PROGRESS);
	assert_int_equal(status_after(EMFILE), REC_IN_PROGRESS);
	assert_int_equal(status_after(ENFILE), REC_IN_PROGRESS);
}

static void test_spawn__that_fails_by_the_command_itself_fails_the_task(void **state)
{
	(void)state;
	assert_int_equal(status_after(ENOENT), REC_FAILED);
	assert_int_equal(status_after(EACCES), REC_FAILED);
	assert_int_equal(status_after(E2BIG), REC_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_spawn__that_fails_for_want_of_processes_memory_or_descriptors_is_tried_again_later),
		cmocka_unit_test(test_spawn__that_fails_by_the_command_itself_fails_the_task),
	};
	return cmocka_run_group_tests_name("conductor/driver-spawn", tests, NULL, NULL);
}
