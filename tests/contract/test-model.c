/* test-model.c - random sequences of operations on the backend under test and on the oracle in lockstep. Each
 * operation is drawn once and done on both; everything it tells (results, outputs, reads) is written down and must be
 * the same, and after each group so must be a full dump. Two handles on each side take turns and get in each other's
 * way. The change feed must have told of every task that looks different. The seed decides everything and is printed;
 * REC_TEST_SEED=N runs that one alone. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define GROUPS 150
#define OPERATIONS_MAX 12
#define DRAWS 12
#define CLAIMS_REMEMBERED 64

/* ---- Randomness ---- */

struct random {
	uint64_t state;
};

static uint64_t draw(struct random *r)
{
	uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* ---- The two sides ---- */

struct side {
	const char *name;
	struct rec_store *handles[2];
	struct rec_cursor cursor;
	struct rec_buffer log; /* what the last operation told */
	struct rec_buffer dump;
	char told[4096]; /* ids of the feed since the last look, each within blanks */
};

struct world {
	struct contract *c;
	struct random random;
	struct side sides[2]; /* the backend under test, the oracle */
	int64_t claims[CLAIMS_REMEMBERED];
	size_t claim_count;
};

/* One operation's parameters: the same numbers for both sides. */
struct operation {
	unsigned handle;
	uint64_t n[DRAWS];
	int64_t claim_id; /* one that was given at some time, or nonsense */
	int64_t wall_us;
};

/* ---- Names ---- */

static const char *const task_ids[] = {"a", "b", "c", "d", "e", "f", "g", "h", "A/b", "\xc3\xa4", "x'y", "%", ""};
#define TASK_IDS (sizeof task_ids / sizeof *task_ids)

/* Rarely the impossible one. */
static struct rec_slice task_id(uint64_t n)
{
	return n % 97 == 0 ? S("") : S(task_ids[n % (TASK_IDS - 1)]);
}

static const char *const blocker_ids[] = {"k1", "k2", "k3", "k4", "k5", "k'6", "k/7", "k8"};
static struct rec_slice blocker_id(uint64_t n)
{
	return S(blocker_ids[n % (sizeof blocker_ids / sizeof *blocker_ids)]);
}

static const char *const texts[] = {"",           "one", "two words", "quote ' and \"", "\xe4\xbb\xbb\xe5\x8a\xa1",
				    "line\nbreak"};
static struct rec_slice text(uint64_t n)
{
	return S(texts[n % (sizeof texts / sizeof *texts)]);
}

static struct rec_slice maybe_text(uint64_t n)
{
	return n % 3 ? text(n / 3) : NO_TEXT;
}

static enum rec_status status(uint64_t n)
{
	return n % 10 < REC_STATUS_COUNT ? (enum rec_status)(n % 10) : REC_READY;
}

/* ---- Operations: do it on one side and write down what it told ---- */

static void note(struct side *side, const char *what, int r)
{
	rec_buffer_printf(&side->log, "%s: %d\n", what, r);
}

struct operation_task {
	struct rec_task task;
	struct rec_slice depends_on[3];
	struct rec_blocker blockers[2];
};

static void task_draw(const struct operation *o, struct operation_task *t)
{
	const uint64_t *n = o->n;
	static const char *const levels[] = {"low", "medium", "high"};
	static const char *const urls[] = {"u1", "u2", "u3"};
	t->task = (struct rec_task){
		.id = task_id(n[0]),
		.title = text(n[1]),
		.description = maybe_text(n[2]),
		.status = status(n[3]),
		.priority = (int64_t)(n[4] % 7) - 3,
		.depends_on = t->depends_on,
		.depends_on_count = n[5] % 4,
		.parent_id = n[6] % 2 ? task_id(n[6] / 2 + 1) : NO_TEXT,
		.external_url = n[7] % 4 ? NO_TEXT : S(urls[n[7] / 4 % 3]),
		.is_leaf = n[8] % 8 != 0,
		.blockers = t->blockers,
		.blocker_count = n[9] % 5 < 3 ? 0 : n[9] % 5 - 2,
		.lineage = maybe_text(n[10]),
		.uncertainty_level = n[11] % 2 ? S(levels[n[11] / 2 % 3]) : NO_TEXT,
		.has_estimated_hours = n[10] % 2,
		.estimated_hours = n[10] % 2 ? (double)(n[10] % 100) / 8 : 0,
		.has_complexity_score = n[11] % 3 == 0,
		.complexity_score = n[11] % 3 == 0 ? (int64_t)(n[11] % 5) + 1 : 0,
	};
	for (size_t i = 0; i < 3; i++)
		t->depends_on[i] = S(task_ids[n[5] / (i + 4) % (TASK_IDS - 1)]);
	for (size_t i = 0; i < 2; i++)
		t->blockers[i] = (struct rec_blocker){.id = blocker_id(n[9] / 5 + i), .question = text(n[2] + i)};
}

static void do_create(struct side *side, const struct operation *o)
{
	struct operation_task t;
	struct rec_store *s = side->handles[o->handle];
	task_draw(o, &t);
	if (o->n[8] % 5 == 1)
		note(side, "create as given", rec_store_create_as_given(s, &t.task, NULL));
	else
		note(side, "create", rec_store_create(s, &t.task, NULL));
}

static void do_edit(struct side *side, const struct operation *o)
{
	struct operation_task t;
	task_draw(o, &t);
	note(side, "edit", rec_store_edit(side->handles[o->handle], &t.task, (unsigned)(o->n[8] % 64), NULL));
}

static void do_delete(struct side *side, const struct operation *o)
{
	note(side, "delete", rec_store_delete(side->handles[o->handle], task_id(o->n[0]), NULL));
}

static void do_mark(struct side *side, const struct operation *o)
{
	note(side, "mark", rec_store_mark_composite(side->handles[o->handle], task_id(o->n[0]), NULL));
}

static void rolled_up(void *context, const struct rec_rollup_change *change)
{
	struct side *side = context;
	rec_buffer_printf(&side->log, "roll-up %.*s %d %d\n", (int)change->id.length, change->id.data, change->from,
			  change->to);
}

static void do_status(struct side *side, const struct operation *o)
{
	struct rec_store *s = side->handles[o->handle];
	enum rec_status now = REC_STATUS_ABSENT, from = status(o->n[1]);
	int r = rec_store_set_status(s, task_id(o->n[0]), from, status(o->n[2]), &now, rolled_up, side, NULL);
	if (r == REC_CONFLICT && o->n[3] % 4) /* mostly try again with what it is */
		r = rec_store_set_status(s, task_id(o->n[0]), now, status(o->n[2]), &now, rolled_up, side, NULL);
	note(side, "set status", r);
	note(side, "  now", (int)now);
}

static void do_blocker_create(struct side *side, const struct operation *o)
{
	struct rec_blocker blocker = {
		.id = blocker_id(o->n[0]),
		.task_id = task_id(o->n[1]),
		.question = text(o->n[2]),
		.answer = maybe_text(o->n[3]),
		.status = (enum rec_blocker_status)(o->n[4] % 4 ? 0 : o->n[4] / 4 % 3),
	};
	note(side, "create blocker", rec_store_blocker_create(side->handles[o->handle], &blocker, NULL));
}

static void do_blocker_answer(struct side *side, const struct operation *o)
{
	note(side, "answer",
	     rec_store_blocker_answer(side->handles[o->handle], blocker_id(o->n[0]), text(o->n[1]), NULL));
}

static void do_blocker_resolve(struct side *side, const struct operation *o)
{
	note(side, "resolve", rec_store_blocker_resolve(side->handles[o->handle], blocker_id(o->n[0]), NULL));
}

static void do_event(struct side *side, const struct operation *o)
{
	struct rec_event event = {
		.event = text(o->n[0]),
		.task_id = maybe_text(o->n[1]),
		.reason = maybe_text(o->n[2]),
		.detail = maybe_text(o->n[3]),
		.has_attempt = o->n[4] % 2,
		.attempt = o->n[4] % 2 ? (int64_t)o->n[4] : 0,
	};
	note(side, "event", rec_store_event_add(side->handles[o->handle], &event, NULL));
}

static void do_claim(struct side *side, const struct operation *o)
{
	enum rec_status now = REC_STATUS_ABSENT;
	struct rec_claim claim = {.task_id = task_id(o->n[0]),
				  .owner = text(o->n[1]),
				  .batch_id = o->n[2] % 2 ? S("batch") : NO_TEXT,
				  .child_owns_run = o->n[3] % 4 == 0};
	struct rec_store *s = side->handles[o->handle];
	int r = rec_store_claim(s, &claim, &now, NULL);
	if (r == REC_CONFLICT && o->n[4] % 2) { /* somebody sets it READY, perhaps under a living claim */
		note(side, "  ready",
		     rec_store_set_status(s, claim.task_id, now, REC_READY, NULL, rolled_up, side, NULL));
		r = rec_store_claim(s, &claim, &now, NULL);
	}
	note(side, "claim", r);
	rec_buffer_printf(&side->log, "  id %lld attempt %u now %d\n", (long long)claim.claim_id, claim.attempt, now);
}

static void do_claim_many(struct side *side, const struct operation *o)
{
	struct rec_slice ids[5] = {0};
	struct rec_claimed claimed[5] = {0};
	size_t count = o->n[0] % 6;
	const struct rec_claim like = {.owner = text(o->n[1]), .child_owns_run = o->n[3] % 4 == 0};
	for (size_t i = 0; i < count; i++)
		ids[i] = task_id(o->n[i + 2]);
	note(side, "claim many", rec_store_claim_many(side->handles[o->handle], &like, ids, count, claimed, NULL));
	for (size_t i = 0; i < count; i++)
		rec_buffer_printf(&side->log, "  %d id %lld attempt %u\n", claimed[i].result,
				  (long long)claimed[i].claim_id, claimed[i].attempt);
}

static void do_finish(struct side *side, const struct operation *o)
{
	enum rec_status after = REC_STATUS_ABSENT;
	struct rec_finish finish = {.claim_id = o->claim_id,
				    .to = o->n[0] % 8 ? status(o->n[0]) : REC_STATUS_ABSENT,
				    .outcome = text(o->n[1]),
				    .has_exit_code = o->n[2] % 2};
	note(side, "finish", rec_store_finish(side->handles[o->handle], &finish, &after, NULL));
	note(side, "  after", (int)after);
}

static void do_release(struct side *side, const struct operation *o)
{
	note(side, "release", rec_store_release(side->handles[o->handle], o->claim_id, NULL));
}

static void do_gc(struct side *side, const struct operation *o)
{
	struct rec_gc gc = {.older_than_us = o->wall_us - (int64_t)(o->n[0] % 20000000), .dry_run = o->n[1] % 2};
	int r = rec_store_gc(side->handles[o->handle], &gc, NULL);
	note(side, "gc", r);
	if (r == 0)
		rec_buffer_printf(&side->log, "  events %llu attempts %llu\n", (unsigned long long)gc.events,
				  (unsigned long long)gc.attempts);
}

static int list_note(void *context, const struct rec_task *task)
{
	struct side *side = context;
	rec_buffer_printf(&side->log, "  %.*s %d %zu\n", (int)task->id.length, task->id.data, task->status,
			  task->blocker_count);
	return 0;
}

static void do_list(struct side *side, const struct operation *o)
{
	const struct rec_list_options options = {
		.status_mask = o->n[0] % 2 ? 0 : (unsigned)(o->n[1] % 128),
		.after = o->n[2] % 2 ? NO_TEXT : task_id(o->n[2]),
		.limit = o->n[3] % 4,
		.blockers = o->n[4] % 2,
		.brief = o->n[5] % 2,
	};
	note(side, "list", rec_store_list(side->handles[o->handle], &options, list_note, side, NULL));
}

static void do_snapshot(struct side *side, const struct operation *o)
{
	struct rec_slice ids[DRAWS];
	struct rec_snapshot s;
	for (size_t i = 0; i < DRAWS; i++)
		ids[i] = task_id(o->n[i]);
	int r = rec_store_snapshot(side->handles[o->handle], ids, o->n[0] % DRAWS, REC_SNAPSHOT_BLOCKERS, &s, NULL);
	note(side, "snapshot", r);
	for (size_t i = 0; r == 0 && i < s.count; i++)
		rec_buffer_printf(&side->log, "  %u %u %u %u\n", s.facts[i].status, s.facts[i].blockers_total,
				  s.facts[i].blockers_open, s.facts[i].blockers_new);
	if (r == 0)
		rec_snapshot_release(&s);
}

static void do_find(struct side *side, const struct operation *o)
{
	struct rec_arena arena;
	struct rec_slice ids[5];
	size_t count = 0;
	rec_arena_init(&arena, NULL);
	note(side, "find",
	     o->n[0] % 2 ? rec_store_find_prefix(side->handles[o->handle], text(o->n[1]), &arena, ids, o->n[2] % 6,
						 &count, NULL)
			 : rec_store_find_blocker_prefix(side->handles[o->handle], S("k"), &arena, ids, o->n[2] % 6,
							 &count, NULL));
	for (size_t i = 0; i < count; i++)
		rec_buffer_printf(&side->log, "  %.*s\n", (int)ids[i].length, ids[i].data);
	rec_arena_release(&arena);
}

static void do_begin(struct side *side, const struct operation *o)
{
	note(side, "begin", rec_store_begin(side->handles[o->handle], NULL));
}

static void do_commit(struct side *side, const struct operation *o)
{
	note(side, "commit", rec_store_commit(side->handles[o->handle], NULL));
}

static void do_rollback(struct side *side, const struct operation *o)
{
	rec_store_rollback(side->handles[o->handle]);
}

typedef void operation_fn(struct side *side, const struct operation *o);

/* Weights by repetition. */
static operation_fn *const operations[] = {
	do_create, do_create,         do_create,         do_create,          do_edit,   do_edit,     do_delete,
	do_mark,   do_status,         do_status,         do_status,          do_status, do_status,   do_blocker_create,
	do_event,  do_blocker_create, do_blocker_answer, do_blocker_answer,  do_claim,  do_claim,    do_claim_many,
	do_finish, do_finish,         do_release,        do_blocker_resolve, do_list,   do_snapshot, do_find,
	do_gc,
};
#define OPERATIONS (sizeof operations / sizeof *operations)

/* ---- Lockstep ---- */

static void claim_remember(struct world *w, const struct side *side)
{
	const char *at = strstr(side->log.data ? side->log.data : "", "  id ");
	long long id = at ? strtoll(at + 5, NULL, 10) : 0;
	if (id > 0)
		w->claims[w->claim_count++ % CLAIMS_REMEMBERED] = id;
}

static void both_do(struct world *w, operation_fn *operation, unsigned handle)
{
	struct operation o = {.handle = handle, .wall_us = w->c->clock.now_wall_us};
	for (size_t i = 0; i < DRAWS; i++)
		o.n[i] = draw(&w->random) >> 8;
	size_t known = w->claim_count < CLAIMS_REMEMBERED ? w->claim_count : CLAIMS_REMEMBERED;
	o.claim_id =
		known ? w->claims[(w->claim_count - 1 - draw(&w->random) % (known < 4 ? known : 4)) % CLAIMS_REMEMBERED]
		      : 1;
	for (size_t i = 0; i < 2; i++) {
		rec_buffer_clear(&w->sides[i].log);
		operation(&w->sides[i], &o);
	}
	assert_same_dump(&w->sides[1].log, &w->sides[0].log);
	claim_remember(w, &w->sides[1]);
}

/* ---- What the feed must have told ---- */

static int feed_note(void *context, struct rec_slice id)
{
	struct side *side = context;
	size_t used = strlen(side->told);
	char word[300];
	snprintf(word, sizeof word, " %.*s ", (int)id.length, id.data);
	if (!strstr(side->told, word) && used + strlen(word) < sizeof side->told)
		memcpy(side->told + used, word, strlen(word) + 1);
	return 0;
}

/* What the feed must tell of, of one task: not texts, times or claims. */
static struct rec_slice facts_of(const struct rec_buffer *dump, const char *id)
{
	char start[300];
	snprintf(start, sizeof start, "\nfact id=%s status=", id);
	const char *at = dump->data ? strstr(dump->data, start) : NULL;
	const char *end = at ? strstr(at, " new=") : NULL;
	return (struct rec_slice){at, at ? (size_t)(end - at) : 0};
}

static bool facts_differ(const struct rec_buffer *before, const struct rec_buffer *after, const char *id)
{
	return !rec_slice_equal(facts_of(before, id), facts_of(after, id));
}

static void feed_compare(struct world *w, struct side *side, const struct rec_buffer *before)
{
	side->told[0] = '\0';
	int r = rec_store_changes(side->handles[0], &side->cursor, feed_note, side, &w->c->error);
	if (r == REC_RESCAN)
		return;
	assert_int_equal(r, 0);
	for (size_t i = 0; i + 1 < TASK_IDS; i++) {
		char word[300];
		snprintf(word, sizeof word, " %s ", task_ids[i]);
		if (!strstr(side->told, word) && facts_differ(before, &side->dump, task_ids[i]))
			fail_msg("%s: the feed did not tell of %s", side->name, task_ids[i]);
	}
}

static void both_compare(struct world *w)
{
	unsigned handle = draw(&w->random) % 2;
	for (size_t i = 0; i < 2; i++) {
		struct rec_buffer before = w->sides[i].dump;
		contract_dump(w->sides[i].handles[handle], &w->sides[i].dump);
		feed_compare(w, &w->sides[i], &before);
		rec_buffer_release(&before);
	}
	assert_same_dump(&w->sides[1].dump, &w->sides[0].dump);
}

/* ---- One run ---- */

static void group_run(struct world *w)
{
	unsigned handle = draw(&w->random) % 2;
	size_t count = 1 + draw(&w->random) % OPERATIONS_MAX;
	bool grouped = draw(&w->random) % 2;
	if (grouped)
		both_do(w, do_begin, handle);
	for (size_t i = 0; i < count; i++) {
		/* Now and then the other handle tries something in between. */
		unsigned who = draw(&w->random) % 8 ? handle : !handle;
		rec_clock_manual_advance(&w->c->clock, (int64_t)(draw(&w->random) % 3000000));
		both_do(w, operations[draw(&w->random) % OPERATIONS], who);
	}
	if (grouped)
		both_do(w, draw(&w->random) % 4 ? do_commit : do_rollback, handle);
	both_compare(w);
}

static void side_init(struct side *side, const char *name, struct rec_store *first, struct rec_store *second)
{
	*side = (struct side){.name = name, .handles = {first, second}};
	rec_buffer_init(&side->log, NULL, SIZE_MAX / 2);
	contract_dump(first, &side->dump);
	contract_catch_up(first, &side->cursor);
}

static void run(struct contract *c, uint64_t seed)
{
	struct world w = {.c = c, .random = {seed}};
	struct rec_store *oracle = contract_memory_store(c), *second = NULL;
	print_message("seed %llu\n", (unsigned long long)seed);
	side_init(&w.sides[0], contract_backend.name, c->store, contract_open(c, REC_STORE_WRITE));
	expect(c, 0, rec_store_memory_share(oracle, &c->options, &second, &c->error));
	c->others[c->other_count++] = second;
	side_init(&w.sides[1], "the oracle", oracle, second);
	for (int i = 0; i < GROUPS; i++)
		group_run(&w);
	for (size_t i = 0; i < 2; i++) {
		rec_buffer_release(&w.sides[i].log);
		rec_buffer_release(&w.sides[i].dump);
	}
}

#define SEEDED(number)                                                                                                 \
	static void test_model__agrees_with_the_oracle_on_seed_##number(void **state)                                  \
	{                                                                                                              \
		if (getenv("REC_TEST_SEED"))                                                                           \
			skip();                                                                                        \
		run(*state, number);                                                                                   \
	}
SEEDED(1)
SEEDED(2)
SEEDED(3)
SEEDED(4)
SEEDED(5)
SEEDED(6)

static void test_model__agrees_with_the_oracle_on_a_fresh_seed(void **state)
{
	const char *seed = getenv("REC_TEST_SEED");
	run(*state, seed ? strtoull(seed, NULL, 10) : rec_random_u64());
}

static const struct CMUnitTest tests[] = {
	contract_test(test_model__agrees_with_the_oracle_on_seed_1),
	contract_test(test_model__agrees_with_the_oracle_on_seed_2),
	contract_test(test_model__agrees_with_the_oracle_on_seed_3),
	contract_test(test_model__agrees_with_the_oracle_on_seed_4),
	contract_test(test_model__agrees_with_the_oracle_on_seed_5),
	contract_test(test_model__agrees_with_the_oracle_on_seed_6),
	contract_test(test_model__agrees_with_the_oracle_on_a_fresh_seed),
};
contract_run(model, tests)
