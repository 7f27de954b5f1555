/* Slots on real processes when memory runs out: whatever a shim says, or its record, is told in the end, and once. */
#include "conductor/test-shim-slots.h"

static void lives_and_ends(struct rig *rig)
{
	rig_expect(rig, REC_SLOT_RUNNING, 7);
	rig_touch(rig, "go");
	assert_int_equal(rig_expect(rig, REC_SLOT_ENDED, 7).code, 6);
}

static void its_shim_dies(struct rig *rig)
{
	struct rec_slot_event event = rig_next(rig);
	if (event.kind == REC_SLOT_RUNNING)
		event = rig_next(rig);
	assert_string_equal(rec_slot_event_text(event.kind), "LOST");
}

/* Every single allocation between the start and the last word fails once, in a run of its own. */
static void check_told_without_memory(const char *script, void (*until)(struct rig *rig))
{
	for (uint64_t fail_at = 1;; fail_at++) {
		struct rec_failing_allocator memory;
		struct rig rig;
		rec_failing_allocator_init(&memory, 0, 0);
		rig_new(&rig, script, 1);
		rec_shim_slots_close(rig.slots);
		rig.allocator = &memory.allocator;
		rig_open(&rig, "batch-1", 1);
		rig_start(&rig, 0, 7);
		memory.fail_at = memory.calls + fail_at;
		until(&rig);
		bool all_met = memory.calls < memory.fail_at;
		rig_end(&rig);
		assert_int_equal(memory.live, 0);
		if (all_met)
			return;
	}
}

static void test_memory_runs_out__no_event_of_an_attempt_is_lost(void **state)
{
	(void)state;
	check_told_without_memory(WAIT_FOR("go") "exit 6", lives_and_ends);
}

static void test_memory_runs_out__a_killed_shim_is_told_all_the_same(void **state)
{
	(void)state;
	skip_under_valgrind();
	check_told_without_memory("kill -KILL $PPID; exec sleep 3600", its_shim_dies);
}

static void test_memory_runs_out__a_claim_recalled_before_its_start_is_told_void(void **state)
{
	(void)state;
	struct rec_failing_allocator memory;
	struct rig rig;
	rec_failing_allocator_init(&memory, 0, 0);
	rig_new(&rig, "true", 1);
	rec_shim_slots_close(rig.slots);
	rig.allocator = &memory.allocator;
	rig_open(&rig, "batch-1", 1);
	rig_prepare(&rig, 0, 8);
	memory.fail_at = memory.calls + 1;
	rig.table.ops->recall(rig.table.self, 0, 8);
	rig_expect(&rig, REC_SLOT_VOID, 8);
	rig_end(&rig);
	assert_int_equal(memory.live, 0);
}

static void test_memory_runs_out__an_adopted_attempt_is_told(void **state)
{
	(void)state;
	skip_under_valgrind();
	for (uint64_t fail_at = 1;; fail_at++) {
		struct rec_failing_allocator memory;
		struct rig rig;
		rec_failing_allocator_init(&memory, 0, 0);
		rig_new(&rig, WAIT_FOR("go") "exit 6", 1);
		rig.allocator = NULL;
		conductor_crash(&rig, CRASH_RUNNING);
		rec_shim_slots_close(rig.slots);
		rig.allocator = &memory.allocator;
		rig_open(&rig, "batch-2", 1);
		struct recorded found = rig_records(&rig);
		assert_int_equal(found.count, 1);
		memory.fail_at = memory.calls + fail_at;
		int r = rig.table.ops->adopt(rig.table.self, found.first.slot, 7, NULL);
		if (r) /* as the next recovery does */
			r = rig.table.ops->adopt(rig.table.self, found.first.slot, 7, NULL);
		assert_int_equal(r, 0);
		lives_and_ends(&rig);
		bool all_met = memory.calls < memory.fail_at;
		rig_end(&rig);
		assert_int_equal(memory.live, 0);
		if (all_met)
			return;
	}
}

int main(int count, char **arguments)
{
	if (count < 2)
		return 2;
	shim_path = arguments[1];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_runs_out__no_event_of_an_attempt_is_lost),
		cmocka_unit_test(test_memory_runs_out__a_killed_shim_is_told_all_the_same),
		cmocka_unit_test(test_memory_runs_out__a_claim_recalled_before_its_start_is_told_void),
		cmocka_unit_test(test_memory_runs_out__an_adopted_attempt_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
