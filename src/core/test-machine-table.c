/* test-machine-table.c - every cell of the table: what phase follows, what is to be done, or that it cannot be.
 *
 * For each phase a task is brought there in the plainest way; then one thing happens, and phase and effects are
 * compared with the expectation below. A cell without an expectation must be refused and change nothing. */
#include "core/test-machine.h"

static const char *const expected[REC_PHASE_COUNT][REC_HAPPENING_COUNT] = {
	/* waits for a dependency that is not met */
	[REC_PHASE_WAITING] =
		{
			[REC_ON_NONE] = "waiting",
			[REC_ON_SKIP] = "finished skip",
			[REC_ON_KILL] = "held hold",
			[REC_ON_REQUEUE] = "held requeue",
			[REC_ON_REQUEUED] = "waiting look",
			[REC_ON_REQUEUE_LOST] = "waiting look",
			[REC_ON_ADOPTED] = "claiming look",
			[REC_ON_FORCED] = "waiting",
			[REC_ON_JOINED] = "waiting",
			[REC_ON_MET] = "queued",
			[REC_ON_UNMET] = "waiting",
			[REC_ON_LINKED] = "waiting look",
			[REC_ON_STUCK] = "held hold",
			[REC_ON_DUE] = "waiting",
		},
	[REC_PHASE_QUEUED] =
		{
			[REC_ON_NONE] = "queued",
			[REC_ON_SKIP] = "finished skip",
			[REC_ON_KILL] = "held hold",
			[REC_ON_REQUEUE] = "held requeue",
			[REC_ON_REQUEUED] = "queued look",
			[REC_ON_REQUEUE_LOST] = "queued look",
			[REC_ON_ADOPTED] = "claiming look",
			[REC_ON_FORCED] = "queued",
			[REC_ON_JOINED] = "queued",
			[REC_ON_UNMET] = "waiting",
			[REC_ON_LINKED] = "queued look",
			[REC_ON_TURN] = "claiming claim",
		},
	/* its claim committed, its child was not seen */
	[REC_PHASE_CLAIMING] =
		{
			[REC_ON_NONE] = "claiming",
			[REC_ON_SKIP] = "stopping recall",
			[REC_ON_KILL] = "stopping recall",
			[REC_ON_REQUEUE] = "claiming",
			[REC_ON_CLAIMED] = NULL,
			[REC_ON_CLAIM_LOST] = NULL,
			[REC_ON_CLAIM_FAILED] = NULL,
			[REC_ON_RELEASED] = "claiming look",
			[REC_ON_GONE] = "claiming look",
			[REC_ON_REQUEUED] = "claiming look",
			[REC_ON_REQUEUE_LOST] = "claiming look",
			[REC_ON_STARTED] = "running",
			[REC_ON_ENDED] = "stopping finish",
			[REC_ON_VOID] = "claiming release",
			[REC_ON_LOST] = "stopping finish",
			[REC_ON_ALIVE] = "claiming",
			[REC_ON_FORCED] = "stopping stop",
			[REC_ON_JOINED] = "claiming",
			[REC_ON_MET] = "claiming",
			[REC_ON_UNMET] = "claiming",
			[REC_ON_LINKED] = "claiming",
			[REC_ON_RECALL_DUE] = "claiming recall",
		},
	[REC_PHASE_RUNNING] =
		{
			[REC_ON_NONE] = "running",
			[REC_ON_SKIP] = "stopping",
			[REC_ON_KILL] = "stopping",
			[REC_ON_REQUEUE] = "running",
			[REC_ON_REQUEUED] = "running look",
			[REC_ON_REQUEUE_LOST] = "running look",
			[REC_ON_STARTED] = "running",
			[REC_ON_ENDED] = "stopping finish",
			[REC_ON_VOID] = "stopping release",
			[REC_ON_LOST] = "stopping finish",
			[REC_ON_ALIVE] = "running",
			[REC_ON_FORCED] = "stopping stop",
			[REC_ON_JOINED] = "running",
			[REC_ON_MET] = "running",
			[REC_ON_UNMET] = "running",
			[REC_ON_LINKED] = "running",
			[REC_ON_TIMED_OUT] = "stopping stop",
			[REC_ON_LIFE_DUE] = "running life",
			/* about another attempt: dropped, looked at again */
			[REC_ON_RECORDED] = "running look",
			[REC_ON_RELEASED] = "running look",
			[REC_ON_GONE] = "running look",
		},
	/* settles, since its task was completed outside */
	[REC_PHASE_STOPPING] =
		{
			[REC_ON_NONE] = "running",
			[REC_ON_SKIP] = "stopping",
			[REC_ON_KILL] = "stopping",
			[REC_ON_REQUEUE] = "stopping",
			[REC_ON_RECORDED] = "stopping look",
			[REC_ON_RELEASED] = "stopping look",
			[REC_ON_GONE] = "stopping look",
			[REC_ON_REQUEUED] = "stopping look",
			[REC_ON_REQUEUE_LOST] = "stopping look",
			[REC_ON_STARTED] = "stopping",
			[REC_ON_ENDED] = "stopping finish",
			[REC_ON_VOID] = "stopping release",
			[REC_ON_LOST] = "stopping finish",
			[REC_ON_ALIVE] = "stopping",
			[REC_ON_FORCED] = "stopping stop",
			[REC_ON_JOINED] = "stopping",
			[REC_ON_MET] = "stopping",
			[REC_ON_UNMET] = "stopping",
			[REC_ON_LINKED] = "stopping",
			[REC_ON_SETTLED] = "stopping stop",
			[REC_ON_GRACE_OVER] = "stopping stop",
		},
	/* BLOCKED */
	[REC_PHASE_HELD] =
		{
			[REC_ON_NONE] = "queued record",
			[REC_ON_SKIP] = "finished skip",
			[REC_ON_KILL] = "held",
			[REC_ON_REQUEUE] = "held requeue",
			[REC_ON_REQUEUED] = "waiting look",
			[REC_ON_REQUEUE_LOST] = "held look",
			[REC_ON_ADOPTED] = "claiming look",
			[REC_ON_FORCED] = "held",
			[REC_ON_JOINED] = "held",
			[REC_ON_MET] = "held",
			[REC_ON_UNMET] = "held",
			[REC_ON_LINKED] = "held look",
		},
	/* DONE by its own attempt */
	[REC_PHASE_FINISHED] =
		{
			[REC_ON_NONE] = "finished",
			[REC_ON_SKIP] = "finished",
			[REC_ON_KILL] = "finished",
			[REC_ON_REQUEUE] = "queued requeue",
			[REC_ON_REQUEUED] = "finished look",
			[REC_ON_REQUEUE_LOST] = "finished look",
			[REC_ON_ADOPTED] = "claiming look",
			[REC_ON_FORCED] = "finished",
			[REC_ON_JOINED] = "finished",
			[REC_ON_MET] = "finished",
			[REC_ON_UNMET] = "finished",
			[REC_ON_LINKED] = "finished",
		},
};

/* ---- Bringing a task into a phase ---- */

static uint32_t bring(struct bench *b, enum rec_phase phase)
{
	struct rec_machine_options options = bench_options();
	bench_open(b, &options, 2);
	uint32_t task = bench_add(b, "T"), other;
	struct rec_machine_task watched = {.id = rec_slice_of("other")};
	assert_int_equal(rec_machine_add(b->m, &watched, &other), 0);
	if (phase == REC_PHASE_WAITING)
		assert_int_equal(rec_machine_depends(b->m, task, &other, 1, false), 0);
	bench_link(b);
	bench_status(b, task, phase == REC_PHASE_HELD ? REC_BLOCKED : REC_READY);
	if (phase == REC_PHASE_CLAIMING) {
		bench_commit_claims(b);
	} else if (phase == REC_PHASE_RUNNING || phase == REC_PHASE_STOPPING || phase == REC_PHASE_FINISHED) {
		bench_run(b, task);
		if (phase == REC_PHASE_STOPPING)
			bench_status(b, task, REC_DONE);
	}
	if (phase == REC_PHASE_FINISHED) {
		bench_exit(b, task, 0);
		bench_plan(b);
		bench_recorded(b, task, REC_DONE);
	}
	if (phase != REC_PHASE_QUEUED &&
	    phase != REC_PHASE_WAITING) /* else it would get its turn, or be held as stuck */
		bench_plan(b);
	assert_int_equal(rec_machine_phase(b->m, task), phase);
	return task;
}

/* ---- One thing happens ---- */

static struct rec_seen seen_for(enum rec_happening kind, enum rec_phase phase)
{
	struct rec_seen seen = seen_as(REC_READY);
	bool own = phase == REC_PHASE_CLAIMING || phase == REC_PHASE_RUNNING || phase == REC_PHASE_STOPPING;
	seen.claimed = own;
	if (kind == REC_ON_SKIP)
		seen.status = REC_DONE;
	else if (kind == REC_ON_KILL)
		seen.status = REC_BLOCKED;
	else if (kind == REC_ON_REQUEUE && phase != REC_PHASE_FINISHED)
		seen.status = REC_BLOCKED;
	else if (kind == REC_ON_NONE && own)
		seen.status = REC_IN_PROGRESS;
	if (seen.status == REC_BLOCKED) {
		seen.blockers_total = 1;
		seen.blockers_open = kind == REC_ON_KILL;
		seen.blockers_new = kind == REC_ON_REQUEUE;
	}
	return seen;
}

static struct rec_machine_event event_for(const struct bench *b, enum rec_happening kind, uint32_t task)
{
	enum rec_phase phase = rec_machine_phase(b->m, task);
	struct rec_machine_event e = {
		.kind = kind,
		.task = task,
		.attempt = rec_machine_attempt(b->m, task),
		.commits = rec_machine_commits(b->m, task),
		.claim_id = rec_machine_claim(b->m, task),
		.status = REC_DONE,
		.verdict = {.action = (uint8_t)(kind <= REC_ON_REQUEUE ? kind : 0)},
	};
	if (kind <= REC_ON_REQUEUE)
		e.seen = seen_for(kind, phase);
	if (kind == REC_ON_ADOPTED)
		e.claim_id = 77;
	if (kind == REC_ON_CLAIMED || kind == REC_ON_ADOPTED)
		e.attempt++;
	return e;
}

static const char *effects_text(const struct rec_machine *m, enum rec_phase phase, char out[128])
{
	size_t used = (size_t)snprintf(out, 128, "%s", rec_phase_text(phase));
	for (unsigned kind = 0; kind < REC_EFFECT_COUNT; kind++)
		for (size_t i = 0; i < m->current.buckets[kind].count; i++)
			used += (size_t)snprintf(out + used, 128 - used, " %s",
						 rec_effect_text((enum rec_effect_kind)kind));
	return out;
}

static bool told_by_the_driver(enum rec_happening kind)
{
	return kind < REC_ON_FORCED;
}

/* Without an attempt, what is said about one is about another: dropped before the table. */
static bool is_dropped(enum rec_phase phase, enum rec_happening kind)
{
	bool live = phase == REC_PHASE_CLAIMING || phase == REC_PHASE_RUNNING || phase == REC_PHASE_STOPPING;
	bool attempt = kind == REC_ON_RECORDED || kind == REC_ON_RELEASED || kind == REC_ON_GONE ||
		       (kind >= REC_ON_STARTED && kind <= REC_ON_ALIVE);
	return attempt && (!live || (phase == REC_PHASE_CLAIMING && kind == REC_ON_RECORDED));
}

static void cell_check(enum rec_phase phase, enum rec_happening kind)
{
	struct bench b;
	char text[128], dropped[128];
	uint32_t task = bring(&b, phase);
	struct rec_machine_event e = event_for(&b, kind, task);
	if (kind == REC_ON_TURN)
		assert_int_equal(rec_machine_attempt_reserve(b.m), 0);
	const char *want = expected[phase][kind];
	if (is_dropped(phase, kind)) {
		snprintf(dropped, sizeof dropped, "%s look", rec_phase_text(phase));
		want = dropped;
	}
	int r = told_by_the_driver(kind) ? rec_machine_handle(b.m, b.now, &e) : rec_machine_dispatch(b.m, b.now, &e);
	effects_text(b.m, rec_machine_phase(b.m, task), text);
	if (r != (want ? 0 : REC_E_BUG) || strcmp(text, want ? want : rec_phase_text(phase)) != 0)
		fail_msg("%s, then %s: result %d, \"%s\", expected \"%s\"", rec_phase_text(phase),
			 rec_happening_text(kind), r, text, want ? want : "refused");
	rec_machine_free(b.m); /* without an audit: what only happens inside was made up */
}

static void test_table__every_cell(void **state)
{
	(void)state;
	for (unsigned phase = 0; phase < REC_PHASE_COUNT; phase++)
		for (unsigned kind = 0; kind < REC_HAPPENING_COUNT; kind++)
			cell_check((enum rec_phase)phase, (enum rec_happening)kind);
}

/* ---- A claim that is planned, but has no result yet ---- */

static const char *const expected_planned[REC_HAPPENING_COUNT] = {
	[REC_ON_NONE] = "claiming",       [REC_ON_SKIP] = "claiming",          [REC_ON_KILL] = "claiming",
	[REC_ON_REQUEUE] = "claiming",    [REC_ON_CLAIMED] = "claiming start", [REC_ON_CLAIM_LOST] = "waiting look",
	[REC_ON_CLAIM_FAILED] = "queued", [REC_ON_FORCED] = "claiming",        [REC_ON_RECALL_DUE] = "claiming",
};

static void test_table__a_planned_claim_waits_for_its_result(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < REC_HAPPENING_COUNT; kind++) {
		if (!expected_planned[kind])
			continue;
		struct bench b;
		char text[128];
		uint32_t task = bring(&b, REC_PHASE_QUEUED);
		bench_plan(&b);
		struct rec_machine_event e = event_for(&b, (enum rec_happening)kind, task);
		e.claim_id = 5;
		int r = told_by_the_driver(e.kind) ? rec_machine_handle(b.m, b.now, &e)
						   : rec_machine_dispatch(b.m, b.now, &e);
		assert_int_equal(r, 0);
		assert_string_equal(effects_text(b.m, rec_machine_phase(b.m, task), text), expected_planned[kind]);
		bench_close(&b);
	}
}

/* ---- An end that is not recorded yet ---- */

static const char *const expected_ended[REC_HAPPENING_COUNT] = {
	[REC_ON_NONE] = "stopping",      [REC_ON_SKIP] = "stopping",         [REC_ON_KILL] = "stopping",
	[REC_ON_REQUEUE] = "stopping",   [REC_ON_RECORDED] = "finished",     [REC_ON_RELEASED] = "stopping look",
	[REC_ON_GONE] = "waiting look",  [REC_ON_STARTED] = "stopping look", [REC_ON_ENDED] = "stopping look",
	[REC_ON_VOID] = "stopping look", [REC_ON_LOST] = "stopping look",    [REC_ON_ALIVE] = "stopping look",
	[REC_ON_FORCED] = "stopping",
};

static void test_table__an_end_is_final_and_counts_once(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < REC_HAPPENING_COUNT; kind++) {
		if (!expected_ended[kind])
			continue;
		struct bench b;
		char text[128];
		uint32_t task = bring(&b, REC_PHASE_RUNNING);
		bench_exit(&b, task, 0);
		bench_plan(&b);
		struct rec_machine_event e = event_for(&b, (enum rec_happening)kind, task);
		int r = told_by_the_driver(e.kind) ? rec_machine_handle(b.m, b.now, &e)
						   : rec_machine_dispatch(b.m, b.now, &e);
		assert_int_equal(r, 0);
		assert_string_equal(effects_text(b.m, rec_machine_phase(b.m, task), text), expected_ended[kind]);
		bench_close(&b);
	}
}

/* ---- A claim that was never started and is not given back yet ---- */

static void test_table__a_void_claim_is_given_back_once(void **state)
{
	(void)state;
	static const enum rec_happening late[] = {REC_ON_VOID, REC_ON_STARTED, REC_ON_ENDED, REC_ON_LOST,
						  REC_ON_RECORDED};
	for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
		struct bench b;
		char text[128];
		uint32_t task = bring(&b, REC_PHASE_CLAIMING);
		bench_say(&b, task, REC_ON_VOID);
		bench_plan(&b);
		bench_say(&b, task, late[i]);
		assert_string_equal(effects_text(b.m, rec_machine_phase(b.m, task), text), "claiming look");
		bench_plan(&b);
		bench_say(&b, task, REC_ON_RELEASED);
		assert_phase(&b, task, WAITING);
		assert_int_equal(rec_machine_claim(b.m, task), 0);
		bench_close(&b);
	}
}

static void test_table__events_that_only_happen_inside_are_refused_from_outside(void **state)
{
	(void)state;
	struct bench b;
	uint32_t task = bring(&b, REC_PHASE_QUEUED);
	for (unsigned kind = REC_ON_FORCED; kind < REC_HAPPENING_COUNT; kind++)
		assert_int_equal(
			bench_tell(&b, (struct rec_machine_event){.kind = (enum rec_happening)kind, .task = task}),
			REC_E_BUG);
	assert_int_equal(bench_tell(&b, (struct rec_machine_event){.kind = REC_ON_NONE, .task = 9}), REC_E_BUG);
	bench_close(&b);
}

static void test_names__every_one_has_a_text_and_the_rest_has_none(void **state)
{
	(void)state;
	assert_string_equal(rec_phase_text(REC_PHASE_STOPPING), "stopping");
	assert_string_equal(rec_happening_text(REC_ON_GRACE_OVER), "the time to heed SIGTERM is over");
	assert_string_equal(rec_hold_text(REC_HOLD_RING), "in a ring of dependencies");
	assert_string_equal(rec_why_text(REC_WHY_LOST), "process lost");
	assert_string_equal(rec_effect_text(REC_EFFECT_CLAIM), "claim");
	assert_string_equal(rec_phase_text(REC_PHASE_COUNT), "?");
	assert_string_equal(rec_happening_text(REC_HAPPENING_COUNT), "?");
	assert_string_equal(rec_hold_text(REC_HOLD_COUNT), "?");
	assert_string_equal(rec_why_text(REC_WHY_COUNT), "?");
	assert_string_equal(rec_effect_text(REC_EFFECT_COUNT), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table__every_cell),
		cmocka_unit_test(test_table__a_planned_claim_waits_for_its_result),
		cmocka_unit_test(test_table__an_end_is_final_and_counts_once),
		cmocka_unit_test(test_table__a_void_claim_is_given_back_once),
		cmocka_unit_test(test_table__events_that_only_happen_inside_are_refused_from_outside),
		cmocka_unit_test(test_names__every_one_has_a_text_and_the_rest_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
