/* The doctor: each kind of finding, what is none, and what moves while the doctor looks. */
#include "engine/test-world.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/doctor.h"

#define FINDINGS_MAX 32

struct seen {
	char *kind, *task, *sentence, *command;
};
struct visit {
	struct rec_arena arena;
	struct seen findings[FINDINGS_MAX];
	size_t count;
	int stop_with;
};

static char *keep(struct visit *v, const char *text, size_t length)
{
	char *copy = rec_arena_strndup(&v->arena, text, length);
	assert_non_null(copy);
	return copy;
}

static int finding_keep(void *context, const struct rec_finding *f)
{
	struct visit *v = context;
	assert_true(v->count < FINDINGS_MAX);
	v->findings[v->count++] = (struct seen){
		.kind = keep(v, f->kind, strlen(f->kind)),
		.task = keep(v, f->task_id.data ? f->task_id.data : "-", f->task_id.data ? f->task_id.length : 1),
		.sentence = keep(v, f->sentence, strlen(f->sentence)),
		.command = keep(v, f->command, strlen(f->command)),
	};
	return v->stop_with;
}

static void visit_clear(struct visit *v)
{
	rec_arena_release(&v->arena);
	*v = (struct visit){.count = 0};
}

static int visit(struct world *w, struct visit *v)
{
	uint64_t count = 99;
	int stop_with = v->stop_with;
	visit_clear(v);
	v->stop_with = stop_with;
	int r = rec_doctor(w->store, finding_keep, v, &count, &w->error);
	assert_true(count == (r ? 99 : v->count));
	return r;
}

static void assert_finding(const struct visit *v, size_t i, const char *kind, const char *task, const char *sentence,
			   const char *command)
{
	assert_true(i < v->count);
	assert_string_equal(v->findings[i].kind, kind);
	assert_string_equal(v->findings[i].task, task);
	assert_string_equal(v->findings[i].sentence, sentence);
	assert_string_equal(v->findings[i].command, command);
}

/* As somebody else would leave it: no check of any kind but the store's own. */
static void given(struct world *w, const char *id, enum rec_status status, const char *parent, const char *first,
		  const char *second)
{
	struct rec_slice dependencies[] = {S(first), S(second)};
	struct rec_task task = {
		.id = S(id),
		.title = S("a task"),
		.status = status,
		.status_text = S(rec_status_text(status)),
		.is_leaf = true,
		.parent_id = S(parent),
		.depends_on = dependencies,
		.depends_on_count = (first != NULL) + (second != NULL),
	};
	ok(w, rec_store_create_as_given(w->outside, &task, &w->error));
}

static void test_doctor__a_sound_store_has_no_findings(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	assert_int_equal(visit(w, &v), 0);
	add(w, "ready", REC_READY);
	add(w, "backlog", REC_BACKLOG);
	add(w, "failed", REC_FAILED);
	add(w, "blocked", REC_BLOCKED);
	ask(w, "k", "blocked");
	add(w, "running", REC_READY);
	claim(w, "running");
	given(w, "behind", REC_READY, NULL, "ready", "blocked");
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 0);
	visit_clear(&v);
}

static void test_doctor__in_progress_with_neither_claim_nor_run(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "it's", REC_IN_PROGRESS);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 1);
	assert_finding(&v, 0, "in-progress-without-run", "it's",
		       "task \"it's\" is IN_PROGRESS, but neither a claim nor a running run stands behind it",
		       "reconciler task set 'it'\\''s' READY");
	visit_clear(&v);
}

static void test_doctor__blocked_without_blockers(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "-x", REC_BLOCKED);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 1);
	assert_finding(&v, 0, "blocked-without-blockers", "-x",
		       "task \"-x\" is BLOCKED, but has no blocker that could be resolved",
		       "reconciler task set -- -x READY");
	visit_clear(&v);
}

static void test_doctor__a_composite_follows_its_children_and_is_no_finding(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "blocked-parent", REC_BLOCKED);
	add_child(w, "child-1", REC_BLOCKED, "blocked-parent");
	ask(w, "k", "child-1");
	add(w, "busy-parent", REC_IN_PROGRESS);
	add_child(w, "child-2", REC_READY, "busy-parent");
	claim(w, "child-2");
	assert_int_equal(status_of(w, "busy-parent"), REC_IN_PROGRESS);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 0);
	visit_clear(&v);
}

static void test_doctor__missing_dependencies_and_parents(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "real", REC_READY);
	given(w, "a", REC_READY, NULL, "ghost", "real");
	given(w, "b", REC_READY, "nobody", "ghost", NULL);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 3);
	assert_finding(&v, 0, "missing-dependency", "a", "task \"a\" depends on \"ghost\", which does not exist",
		       "reconciler task edit --depends-on=real a");
	assert_finding(&v, 1, "missing-parent", "b", "task \"b\" has the parent \"nobody\", which does not exist",
		       "reconciler task edit --parent= b");
	assert_finding(&v, 2, "missing-dependency", "b", "task \"b\" depends on \"ghost\", which does not exist",
		       "reconciler task edit --depends-on= b");
	visit_clear(&v);
}

static void test_doctor__rings_are_named_once_with_their_members(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	given(w, "t1", REC_READY, NULL, "t2", "t5");
	given(w, "t2", REC_READY, NULL, "t3", NULL);
	given(w, "t3", REC_READY, NULL, "t1", NULL);
	given(w, "t4", REC_READY, NULL, "t1", NULL);
	given(w, "t5", REC_READY, NULL, NULL, NULL);
	given(w, "t6", REC_READY, NULL, "t6", NULL);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 2);
	assert_finding(&v, 0, "dependency-ring", "t1", "dependencies form a ring: \"t1\", \"t2\", \"t3\"",
		       "reconciler task edit --depends-on=t5 t1");
	assert_finding(&v, 1, "dependency-ring", "t6", "dependencies form a ring: \"t6\"",
		       "reconciler task edit --depends-on= t6");
	visit_clear(&v);
}

static void test_doctor__a_ring_is_mended_without_what_is_missing(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	given(w, "a", REC_READY, NULL, "b", "ghost");
	given(w, "b", REC_READY, NULL, "a", NULL);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 2);
	assert_finding(&v, 1, "dependency-ring", "a", "dependencies form a ring: \"a\", \"b\"",
		       "reconciler task edit --depends-on= a");
	visit_clear(&v);
}

static void test_doctor__a_large_ring_names_ten(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	char id[8], next[8];
	for (int i = 0; i < 25; i++) {
		snprintf(id, sizeof id, "t%02d", i);
		snprintf(next, sizeof next, "t%02d", (i + 1) % 25);
		given(w, id, REC_READY, NULL, next, NULL);
	}
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 1);
	assert_non_null(strstr(v.findings[0].sentence, "\"t08\", \"t09\" and 15 more"));
	visit_clear(&v);
}

static void test_doctor__a_ring_of_parents(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	given(w, "a", REC_READY, "b", NULL, NULL);
	given(w, "b", REC_READY, "a", NULL, NULL);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 1);
	assert_finding(&v, 0, "parent-ring", "a", "parents form a ring: \"a\", \"b\"",
		       "reconciler task edit --parent= a");
	visit_clear(&v);
}

/* ---- Foreign rows ---- */

/* Task number 0 has a status we do not know, and its title and an id are bad. */
static int foreign_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			    struct rec_snapshot *out, struct rec_error *error)
{
	int r = world_of(s)->real->snapshot(s, ids, count, fields, out, error);
	if (r || ids)
		return r;
	out->facts[0].status = REC_STATUS_UNRECOGNISED;
	rec_store_warn(s, out->ids[0], "status", "is unknown", S("SLEEPING"));
	rec_store_warn(s, out->ids[0], "title", "is NULL", (struct rec_slice){NULL, 0});
	rec_store_warn(s, out->ids[0], "depends_on", "is not a list of texts", S("7"));
	rec_store_warn(s, (struct rec_slice){NULL, 0}, "id", "is NULL", S("NULL"));
	return rec_snapshot_add_raw(out, 0, S("SLEEPING"), error);
}

static void warning_count(void *context, const struct rec_warning *warning)
{
	(void)warning;
	++*(unsigned *)context;
}

static void test_doctor__foreign_rows_and_the_listener_it_borrowed(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	unsigned warnings = 0;
	add(w, "a", REC_READY);
	w->ops.snapshot = foreign_snapshot;
	rec_store_on_warning(w->store, warning_count, &warnings);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(warnings, 0);
	assert_int_equal(v.count, 4);
	assert_finding(&v, 0, "bad-row", "a", "task \"a\": title is NULL", "reconciler task edit --title=TITLE a");
	assert_finding(&v, 1, "bad-row", "a", "task \"a\": depends_on is not a list of texts: 7",
		       "reconciler task edit --depends-on= a");
	assert_finding(
		&v, 2, "bad-row", "-", "a row: id is NULL: NULL",
		"sqlite3 memory: 'UPDATE tasks SET id = lower(hex(randomblob(16))) WHERE id IS NULL OR typeof(id) "
		"<> '\\''text'\\'''");
	assert_finding(&v, 3, "unrecognised-status", "a",
		       "task \"a\" has the status \"SLEEPING\", which is none of the seven",
		       "reconciler task set --force a BACKLOG");
	struct rec_snapshot snapshot;
	ok(w, rec_store_snapshot(w->store, NULL, 0, 0, &snapshot, &w->error));
	rec_snapshot_release(&snapshot);
	assert_int_equal(warnings, 4);
	visit_clear(&v);
}

static void task_file_name(const struct rec_store *s, struct rec_slice id, struct rec_buffer *out, bool *ret_edit)
{
	(void)s;
	rec_buffer_printf(out, "/a place/%.*s.json", (int)id.length, id.data);
	*ret_edit = id.length < 2;
}

static int file_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			 struct rec_snapshot *out, struct rec_error *error)
{
	int r = world_of(s)->real->snapshot(s, ids, count, fields, out, error);
	if (r || ids)
		return r;
	out->facts[0].status = REC_STATUS_UNRECOGNISED;
	rec_store_warn(s, out->ids[0], "file", "is not JSON", S("line 1"));
	rec_store_warn(s, out->ids[1], "title", "is NULL", (struct rec_slice){NULL, 0});
	rec_store_warn(s, out->ids[1], "created_at", "is not a time", S("5"));
	rec_store_warn(s, out->ids[2], "file", "is a directory", S("cc.json"));
	return rec_snapshot_add_raw(out, 0, S("(bad file) is not JSON"), error);
}

static void test_doctor__where_tasks_are_files_they_are_what_is_mended(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "a", REC_READY);
	add(w, "b", REC_READY);
	add(w, "cc", REC_READY);
	w->ops.snapshot = file_snapshot;
	w->ops.task_file = task_file_name;
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 4);
	assert_finding(&v, 0, "bad-row", "a", "task \"a\": file is not JSON: line 1",
		       "${EDITOR:-vi} '/a place/a.json'");
	assert_finding(&v, 1, "bad-row", "b", "task \"b\": title is NULL", "reconciler task edit --title=TITLE b");
	assert_finding(&v, 2, "bad-row", "b", "task \"b\": created_at is not a time: 5",
		       "${EDITOR:-vi} '/a place/b.json'");
	assert_finding(&v, 3, "bad-row", "cc", "task \"cc\": file is a directory: cc.json",
		       "mv '/a place/cc.json' '/a place/cc.json.bad'");
	visit_clear(&v);
}

static int problem_tell(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error)
{
	(void)s, (void)error;
	return fn(context, "missing-trigger", "the trigger rec_x is gone");
}

static void test_doctor__what_is_wrong_with_the_store_itself(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	w->ops.problems = problem_tell;
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 1);
	assert_finding(&v, 0, "missing-trigger", "-", "the trigger rec_x is gone", "reconciler init");
	visit_clear(&v);
}

/* ---- Claims ---- */

static void claim_for(struct world *w, const char *id, const char *batch)
{
	struct rec_claim row = {.task_id = S(id), .batch_id = S(batch), .owner = S("test")};
	add(w, id, REC_READY);
	ok(w, rec_store_claim(w->outside, &row, NULL, &w->error));
}

/* Gives the store in memory a directory, where conductors would hold their locks. */
static void directory_give(struct world *w, char directory[32])
{
	char path[64];
	snprintf(directory, 32, "/tmp/doctor-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/rec-run", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	w->store->info.directory = directory;
}

static void directory_drop(const char *directory)
{
	char path[64];
	snprintf(path, sizeof path, "%s/rec-run/batch-living.lock", directory);
	unlink(path);
	snprintf(path, sizeof path, "%s/rec-run", directory);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void test_doctor__a_link_to_what_is_gone_is_told(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	struct rec_link dead = {.task_id = S("a"), .url = S("https://github.com/o/r/issues/1"), .gone = true};
	struct rec_task task = {.id = S("-b"),
				.title = S("b"),
				.status = REC_READY,
				.is_leaf = true,
				.external_url = S("https://github.com/o/r/issues/2")};
	add(w, "a", REC_READY);
	ok(w, rec_store_create(w->outside, &task, &w->error));
	ok(w, rec_store_link_put(w->outside, S("a"), dead.url, &w->error));
	ok(w, visit(w, &v));
	assert_int_equal(v.count, 0);
	ok(w, rec_store_link_observed(w->outside, &dead, &w->error));
	dead.task_id = task.id;
	dead.url = task.external_url;
	ok(w, rec_store_link_observed(w->outside, &dead, &w->error));
	ok(w, visit(w, &v));
	assert_int_equal(v.count, 2);
	assert_finding(&v, 0, "dead-link", "-b",
		       "task \"-b\" is linked to \"https://github.com/o/r/issues/2\", which is gone at its tracker",
		       "reconciler task edit --issue '' -- -b");
	assert_finding(&v, 1, "dead-link", "a",
		       "task \"a\" is linked to \"https://github.com/o/r/issues/1\", which is gone at its tracker",
		       "reconciler unlink a");
	visit_clear(&v);
}

static void test_doctor__a_claim_whose_conductor_is_gone(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	char directory[32], path[64];
	int fd = -1;
	claim_for(w, "a", "living");
	claim_for(w, "b", "dead");
	claim_for(w, "c", "../dead");
	directory_give(w, directory);
	snprintf(path, sizeof path, "%s/rec-run/batch-living.lock", directory);
	assert_int_equal(rec_file_lock(path, &fd, &w->error), 0);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 2);
	assert_finding(&v, 0, "claim-without-process", "b",
		       "task \"b\" is claimed by batch \"dead\", whose conductor is gone", "reconciler resume dead");
	assert_finding(&v, 1, "claim-without-process", "c",
		       "task \"c\" is claimed by batch \"../dead\", whose conductor is gone",
		       "reconciler resume ../dead");
	close(fd);
	directory_drop(directory);
	visit_clear(&v);
}

static void test_doctor__in_memory_there_is_no_other_process(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	claim_for(w, "a", "dead");
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 0);
	visit_clear(&v);
}

/* ---- What moves meanwhile ---- */

static int64_t claim_ended_meanwhile;

/* The first listing of claims is followed by the end of the claim. */
static int claims_then_finish(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	struct world *w = world_of(s);
	int r = w->real->claims(s, fn, context, error);
	if (claim_ended_meanwhile)
		finish(w, claim_ended_meanwhile, REC_DONE);
	claim_ended_meanwhile = 0;
	return r;
}

static void test_doctor__a_claim_that_ends_meanwhile_is_no_finding(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	char directory[32];
	add(w, "a", REC_READY);
	claim_ended_meanwhile = claim(w, "a");
	w->ops.claims = claims_then_finish;
	directory_give(w, directory);
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 0);
	directory_drop(directory);
	visit_clear(&v);
}

/* After the snapshot the idle task ends and the missing one is made. */
static int list_then_move(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
			  struct rec_error *error)
{
	struct world *w = world_of(s);
	set(w, "idle", REC_DONE);
	given(w, "late", REC_READY, NULL, NULL, NULL);
	return w->real->list(s, options, fn, context, error);
}

static void test_doctor__what_heals_between_two_looks_is_no_finding(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "idle", REC_IN_PROGRESS);
	given(w, "a", REC_READY, NULL, "late", NULL);
	w->ops.list = list_then_move;
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 0);
	visit_clear(&v);
}

static int run_of_idle(struct rec_store *s, rec_id_fn *fn, void *context, struct rec_error *error)
{
	(void)s, (void)error;
	return fn(context, S("idle"));
}

static void test_doctor__a_running_run_stands_behind_its_task(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	add(w, "idle", REC_IN_PROGRESS);
	w->ops.running_runs = run_of_idle;
	assert_int_equal(visit(w, &v), 0);
	assert_int_equal(v.count, 0);
	visit_clear(&v);
}

/* ---- Results ---- */

static void test_doctor__a_callback_ends_the_visit(void **state)
{
	struct world *w = *state;
	struct visit v = {.stop_with = 42};
	add(w, "a", REC_BLOCKED);
	add(w, "b", REC_BLOCKED);
	assert_int_equal(visit(w, &v), 42);
	assert_int_equal(v.count, 1);
	assert_int_equal(rec_doctor(w->store, NULL, NULL, NULL, &w->error), 0);
	visit_clear(&v);
}

/* One of each, for the failures. */
static void everything_add(struct world *w)
{
	add(w, "idle", REC_IN_PROGRESS);
	add(w, "stuck", REC_BLOCKED);
	given(w, "a", REC_READY, "nobody", "ghost", "a");
	given(w, "b", REC_READY, "b2", "a", NULL);
	given(w, "b2", REC_READY, "b", "a", NULL);
	claim_for(w, "c", "dead");
	w->ops.snapshot = foreign_snapshot;
	w->ops.problems = problem_tell;
}

static void test_doctor__every_failed_allocation_is_a_clean_error(void **state)
{
	int r = REC_E_NOMEM;
	(void)state;
	for (uint64_t fail_at = 1; r; fail_at++) {
		struct world *w = world_new();
		struct visit v = {.count = 0};
		char directory[32];
		everything_add(w);
		directory_give(w, directory);
		w->memory.calls = 0;
		w->memory.fail_at = fail_at;
		r = visit(w, &v);
		assert_true(r == 0 || r == REC_E_NOMEM);
		if (r == 0)
			assert_int_equal(v.count, 12);
		directory_drop(directory);
		visit_clear(&v);
		world_free(w);
	}
}

static void test_doctor__a_read_that_fails_is_passed_on(void **state)
{
	struct world *w = *state;
	struct visit v = {.count = 0};
	w->snapshot_result = REC_E_IO;
	assert_int_equal(visit(w, &v), REC_E_IO);
	assert_string_equal(w->error.message, "snapshot fails on purpose");
	visit_clear(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_doctor__a_sound_store_has_no_findings),
		world_test(test_doctor__in_progress_with_neither_claim_nor_run),
		world_test(test_doctor__blocked_without_blockers),
		world_test(test_doctor__a_composite_follows_its_children_and_is_no_finding),
		world_test(test_doctor__missing_dependencies_and_parents),
		world_test(test_doctor__rings_are_named_once_with_their_members),
		world_test(test_doctor__a_ring_is_mended_without_what_is_missing),
		world_test(test_doctor__a_large_ring_names_ten),
		world_test(test_doctor__a_ring_of_parents),
		world_test(test_doctor__foreign_rows_and_the_listener_it_borrowed),
		world_test(test_doctor__where_tasks_are_files_they_are_what_is_mended),
		world_test(test_doctor__what_is_wrong_with_the_store_itself),
		world_test(test_doctor__a_claim_whose_conductor_is_gone),
		world_test(test_doctor__in_memory_there_is_no_other_process),
		world_test(test_doctor__a_claim_that_ends_meanwhile_is_no_finding),
		world_test(test_doctor__what_heals_between_two_looks_is_no_finding),
		world_test(test_doctor__a_running_run_stands_behind_its_task),
		world_test(test_doctor__a_callback_ends_the_visit),
		cmocka_unit_test(test_doctor__every_failed_allocation_is_a_clean_error),
		world_test(test_doctor__a_read_that_fails_is_passed_on),
		world_test(test_doctor__a_link_to_what_is_gone_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
