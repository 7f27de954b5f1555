/* test-sqlite-snapshot.c - the ways to take a snapshot, each compared with one plain query per id: whatever shape
 * the tables have and whatever stands in them. */
#include "store/test-sqlite.h"

#include <malloc.h>

#define EVERY (REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY)

/* ---- Shapes of the tables ---- */

static const struct shape {
	const char *name, *sql;
	bool init; /* a store of ours is made of it */
} shapes[] = {
	{"codeframe's", NULL, true},
	{"ids that are no key",
	 "CREATE TABLE tasks(id, status, priority, is_leaf); CREATE TABLE blockers(id, task_id, status)", false},
	{"no index on the status",
	 "CREATE TABLE tasks(id TEXT PRIMARY KEY, status, priority, is_leaf); CREATE TABLE blockers(id TEXT PRIMARY "
	 "KEY, "
	 "task_id TEXT, status)",
	 false},
	{"no rowid",
	 "CREATE TABLE tasks(id TEXT PRIMARY KEY, status, priority, is_leaf) WITHOUT ROWID; CREATE TABLE blockers(id "
	 "TEXT "
	 "PRIMARY KEY, task_id TEXT, status) WITHOUT ROWID",
	 false},
	{"a column called rowid",
	 "CREATE TABLE tasks(rowid TEXT DEFAULT 'x', id TEXT PRIMARY KEY, status, priority, is_leaf); CREATE TABLE "
	 "blockers(id TEXT PRIMARY KEY, task_id TEXT, status); CREATE INDEX s ON tasks(status)",
	 false},
	{"an index on the blockers' task",
	 "CREATE TABLE tasks(id TEXT PRIMARY KEY, status, priority, is_leaf); CREATE TABLE blockers(id TEXT PRIMARY "
	 "KEY, "
	 "task_id TEXT, status); CREATE INDEX s ON tasks(status); CREATE INDEX t ON blockers(task_id)",
	 false},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

/* ---- A world ---- */

static uint64_t seed = 1;

static unsigned draw(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static const char *const fronts[] = {"t", "00000000-0000-4000-8000-", "\xc3\xa4", "A b/"};
static const char *const statuses[] = {"'BACKLOG'",
				       "'READY'",
				       "'IN_PROGRESS'",
				       "'BLOCKED'",
				       "'BLOCKED'",
				       "'FAILED'",
				       "'DONE'",
				       "'MERGED'",
				       "'ready'",
				       "''",
				       "5",
				       "x'0a'",
				       "'A STATUS THAT IS LONGER THAN ANY OF OURS'",
				       "NULL" /* last: codeframe's schema refuses it */};
enum { STATUSES = sizeof statuses / sizeof *statuses };
static const char *const odd_ids[] = {
	"NULL", "x'6162'", "''", "'a'||char(10)", "'nul'||char(0)||'x'", "hex(zeroblob(200))"};

static void insert_rows(sqlite3 *db, unsigned count, bool sparse, bool own)
{
	foreign_run(db, "BEGIN");
	for (unsigned i = 0; i < count; i++) {
		char id[64];
		snprintf(id, sizeof id, "'%s%u'", fronts[draw(4)], i * 7919 % 100003);
		char *sql = sqlite3_mprintf("INSERT INTO tasks(id,status,priority,is_leaf%s) VALUES(%s,%s,%u,%u%s)",
					    own ? ",workspace_id,title,created_at,updated_at" : "", id,
					    statuses[draw(draw(20) ? 8
							  : own    ? STATUSES - 1
								   : STATUSES)],
					    draw(9), draw(2), own ? ",(SELECT id FROM workspace),'t','',''" : "");
		foreign_run(db, sql);
		sqlite3_free(sql);
		for (unsigned b = draw(4) ? 0 : draw(4); b > 0; b--) {
			static const char *const kinds[] = {"'OPEN'", "'ANSWERED'", "'RESOLVED'", "'open'", "NULL"};
			sql = sqlite3_mprintf("INSERT INTO blockers(id,task_id,status%s) VALUES('k%u-%u',%s,%s%s)",
					      own ? ",workspace_id,question,created_at" : "", i, b, id,
					      kinds[draw(own ? 3 : 5)],
					      own ? ",(SELECT id FROM workspace),'?',''" : "");
			foreign_run(db, sql);
			sqlite3_free(sql);
		}
	}
	if (sparse)
		foreign_run(db, "UPDATE tasks SET rowid=rowid*1000003-77777777777");
	foreign_run(db, "COMMIT");
}

/* What no id of a task looks like stands there as well. */
static void insert_odd_rows(sqlite3 *db, bool own)
{
	for (size_t i = 0; i < sizeof odd_ids / sizeof *odd_ids; i++) {
		char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO tasks(id,status%s) VALUES(%s,'READY'%s)",
					    own ? ",workspace_id,title,created_at,updated_at" : "", odd_ids[i],
					    own ? ",(SELECT id FROM workspace),'t','',''" : "");
		sqlite3_exec(db, sql, NULL, NULL, NULL); /* a key may refuse NULL */
		sqlite3_free(sql);
	}
}

static void make_world(struct fixture *f, const struct shape *shape, unsigned count, bool sparse)
{
	fixture_close(f);
	unlink(f->path);
	if (shape->init) {
		fixture_open(f, REC_STORE_INIT);
		fixture_close(f);
	} else {
		foreign_do(f->path, shape->sql);
	}
	sqlite3 *db = foreign_open(f->path);
	foreign_run(db, "PRAGMA synchronous=OFF; PRAGMA ignore_check_constraints=ON");
	insert_rows(db, count, sparse, shape->init);
	insert_odd_rows(db, shape->init);
	if (strcmp(shape->name, "ids that are no key") == 0)
		foreign_run(db, "INSERT INTO tasks(id,status) VALUES(7,'READY')"); /* elsewhere it becomes a text */
	sqlite3_close(db);
	set_age_ms(f->path, 1000);
	fixture_open(f, REC_STORE_READ);
}

/* ---- The plain way ---- */

struct plain {
	sqlite3 *db;
	sqlite3_stmt *task, *blockers;
};

static void plain_open(struct plain *p, const char *path)
{
	p->db = foreign_open(path);
	foreign_run(p->db,
		    "CREATE TEMP TABLE t AS SELECT id,status,priority,is_leaf FROM tasks; CREATE INDEX temp.i ON "
		    "t(id); CREATE TEMP TABLE b AS SELECT task_id,status FROM blockers; CREATE INDEX temp.j ON "
		    "b(task_id)");
	assert_int_equal(sqlite3_prepare_v2(p->db, "SELECT status,typeof(status),priority,is_leaf FROM t WHERE id=?1",
					    -1, &p->task, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(p->db,
					    "SELECT count(*),coalesce(sum(status IS NULL OR status NOT IN "
					    "('ANSWERED','RESOLVED')),0) FROM b WHERE task_id=?1",
					    -1, &p->blockers, NULL),
			 SQLITE_OK);
}

static void plain_close(struct plain *p)
{
	sqlite3_finalize(p->task);
	sqlite3_finalize(p->blockers);
	sqlite3_close(p->db);
}

static void assert_fact(struct plain *p, const struct rec_snapshot *s, size_t i, unsigned fields)
{
	const struct rec_fact *fact = &s->facts[i];
	struct rec_slice id = s->ids[i];
	sqlite3_reset(p->task);
	sqlite3_bind_text(p->task, 1, id.data, (int)id.length, SQLITE_STATIC);
	if (sqlite3_step(p->task) != SQLITE_ROW) {
		assert_int_equal(fact->status, REC_STATUS_ABSENT);
		return;
	}
	const char *text = (const char *)sqlite3_column_text(p->task, 0);
	bool is_text = strcmp((const char *)sqlite3_column_text(p->task, 1), "text") == 0;
	assert_int_equal(fact->status, is_text ? rec_status_parse(S(text)) : REC_STATUS_UNRECOGNISED);
	struct rec_slice raw = rec_snapshot_raw(s, i);
	assert_int_equal(raw.data != NULL, fact->status == REC_STATUS_UNRECOGNISED);
	if (raw.data && is_text)
		assert_true(rec_slice_equal(raw, S(text)));
	if (raw.data && !text)
		assert_true(rec_slice_equal(raw, S("NULL")));
	if (fields & REC_SNAPSHOT_PRIORITY) {
		assert_int_equal(fact->priority, sqlite3_column_int(p->task, 2));
		assert_int_equal(fact->is_leaf,
				 sqlite3_column_type(p->task, 3) == SQLITE_NULL || sqlite3_column_int(p->task, 3) != 0);
	}
	sqlite3_reset(p->blockers);
	sqlite3_bind_text(p->blockers, 1, id.data, (int)id.length, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(p->blockers), SQLITE_ROW);
	bool counted =
		fields & REC_SNAPSHOT_ALL_BLOCKERS || (fields & REC_SNAPSHOT_BLOCKERS && fact->status == REC_BLOCKED);
	assert_int_equal(fact->blockers_total, counted ? sqlite3_column_int(p->blockers, 0) : 0);
	assert_int_equal(fact->blockers_open, counted ? sqlite3_column_int(p->blockers, 1) : 0);
	assert_int_equal(fact->blockers_new, fact->blockers_total - fact->blockers_open);
}

/* ---- Comparing ---- */

static void check_all(struct fixture *f, struct plain *p, unsigned fields, size_t count)
{
	struct rec_snapshot s;
	must(f, rec_store_snapshot(f->store, NULL, 0, fields, &s, &f->error));
	if (s.count != count)
		fail_msg("%zu of %zu, the first is '%.*s'", s.count, count, (int)s.ids[0].length, s.ids[0].data);
	for (size_t i = 0; i < s.count; i++) {
		assert_fact(p, &s, i, fields);
		assert_int_not_equal(s.facts[i].status, REC_STATUS_ABSENT);
		assert_true(i == 0 || rec_slice_compare(s.ids[i - 1], s.ids[i]) < 0);
	}
	rec_snapshot_release(&s);
}

/* Ids of the store in any order, some twice, some that are not there or cannot be. */
static void check_list(struct fixture *f, struct plain *p, unsigned fields, size_t count)
{
	static const struct rec_slice impossible[] = {{"", 0}, {"a\n", 2}, {"nul\0x", 5}, {NULL, 0}};
	struct rec_snapshot all, s;
	must(f, rec_store_snapshot(f->store, NULL, 0, 0, &all, &f->error));
	struct rec_slice *list = rec_zalloc(NULL, count, sizeof *list);
	for (size_t i = 0; i < count; i++)
		list[i] = draw(20) == 0   ? S("not there")
			  : draw(30) == 0 ? impossible[draw(4)]
			  : all.count     ? all.ids[draw((unsigned)all.count)]
					  : S("nobody");
	must(f, rec_store_snapshot(f->store, list, count, fields, &s, &f->error));
	assert_int_equal(s.count, count);
	for (size_t i = 0; i < count; i++)
		if (!list[i].data || list[i].length == 0 || memchr(list[i].data, '\n', list[i].length) ||
		    memchr(list[i].data, '\0', list[i].length))
			assert_int_equal(s.facts[i].status, REC_STATUS_ABSENT);
		else
			assert_fact(p, &s, i, fields);
	rec_snapshot_release(&s);
	rec_snapshot_release(&all);
	rec_free(NULL, list);
}

static void test_snapshot__every_way_agrees_with_one_plain_query_per_id(void **state)
{
	struct fixture *f = *state;
	static const unsigned counts[] = {0, 1, 300, 4000};
	static const unsigned fields[] = {0, REC_SNAPSHOT_BLOCKERS, REC_SNAPSHOT_ALL_BLOCKERS, EVERY};
	for (size_t shape = 0; shape < SHAPES; shape++)
		for (size_t n = 0; n < 4; n++)
			for (int sparse = 0; sparse < 2; sparse++) {
				struct plain p;
				if (sparse && (strstr(shapes[shape].name, "rowid") || counts[n] < 300))
					continue;
				make_world(f, &shapes[shape], counts[n], sparse);
				plain_open(&p, f->path);
				for (size_t i = 0; i < 4; i++) {
					check_all(f, &p, fields[i], counts[n]);
					check_list(f, &p, fields[i], 5);
					check_list(f, &p, fields[i], 100);
					check_list(f, &p, fields[i], 9000);
				}
				plain_close(&p);
			}
}

/* ---- What the last claim had recorded ---- */

static uint32_t new_blockers(struct fixture *f, const char *id, size_t padding)
{
	struct rec_snapshot s;
	struct rec_slice *list = rec_zalloc(NULL, padding + 1, sizeof *list);
	for (size_t i = 0; i <= padding; i++)
		list[i] = S(id); /* a long list is swept */
	must(f, rec_store_snapshot(f->store, list, padding + 1, REC_SNAPSHOT_BLOCKERS, &s, &f->error));
	uint32_t new = s.facts[padding].blockers_new;
	assert_int_equal(s.facts[0].blockers_new, new);
	rec_snapshot_release(&s);
	rec_free(NULL, list);
	return new;
}

static void assert_new(struct fixture *f, unsigned new)
{
	assert_int_equal(new_blockers(f, "t", 0), new);
	assert_int_equal(new_blockers(f, "t", 20000), new);
}

static void ask_and_answer(struct fixture *f, const char *id)
{
	struct rec_blocker blocker = {.id = S(id), .task_id = S("t"), .question = S("?")};
	must(f, rec_store_blocker_create(f->store, &blocker, &f->error));
	must(f, rec_store_blocker_answer(f->store, S(id), S("!"), &f->error));
}

static void set_status(struct fixture *f, enum rec_status from, enum rec_status to)
{
	must(f, rec_store_set_status(f->store, S("t"), from, to, NULL, NULL, NULL, &f->error));
}

static void test_snapshot__what_the_last_claim_recorded_is_not_new(void **state)
{
	struct fixture *f = *state;
	struct rec_claim claim = {.task_id = S("t")};
	fixture_open(f, REC_STORE_INIT);
	for (int i = 0; i < 30; i++) { /* so that looking one up pays */
		char id[16];
		snprintf(id, sizeof id, "other%d", i);
		add_task(f, id, REC_BLOCKED);
		struct rec_blocker blocker = {.id = S(id), .task_id = S(id), .question = S("?")};
		must(f, rec_store_blocker_create(f->store, &blocker, &f->error));
	}
	add_task(f, "t", REC_BLOCKED);
	ask_and_answer(f, "k1");
	assert_new(f, 1);
	set_status(f, REC_BLOCKED, REC_READY);
	must(f, rec_store_claim(f->store, &claim, NULL, &f->error));
	struct rec_finish finish = {.claim_id = claim.claim_id, .to = REC_BLOCKED, .outcome = S("blocked")};
	must(f, rec_store_finish(f->store, &finish, NULL, &f->error));
	assert_new(f, 0);
	ask_and_answer(f, "k2");
	assert_new(f, 1);
	set_status(f, REC_BLOCKED, REC_READY);
	must(f, rec_store_claim(f->store, &claim, NULL, &f->error));
	must(f, rec_store_release(f->store, claim.claim_id, &f->error));
	set_status(f, REC_READY, REC_BLOCKED);
	assert_new(f, 1); /* a claim that never started has recorded nothing */
	foreign_do(f->path, "UPDATE blockers SET status='OPEN' WHERE id='k1'");
	assert_new(f, 1);
	set_status(f, REC_BLOCKED, REC_READY);
	must(f, rec_store_claim(f->store, &claim, NULL, &f->error)); /* records only k2 */
	set_status(f, REC_IN_PROGRESS, REC_BLOCKED);
	assert_new(f, 0);
	must(f, rec_store_blocker_answer(f->store, S("k1"), S("!"), &f->error));
	assert_new(f, 1); /* what the claim before the last had recorded does not count */
	foreign_do(f->path, "UPDATE blockers SET task_id='other0' WHERE id='k1'");
	assert_new(f, 0);
}

/* ---- What it costs ---- */

static int statements;

static int count_statement(unsigned type, void *context, void *statement, void *text)
{
	(void)type, (void)context, (void)statement;
	statements += strncmp(text, "--", 2) != 0;
	return 0;
}

static int statements_for(struct fixture *f, const struct rec_slice *list, size_t count)
{
	struct rec_snapshot s;
	statements = 0;
	must(f, rec_store_snapshot(f->store, list, count, EVERY, &s, &f->error));
	rec_snapshot_release(&s);
	return statements;
}

static void test_snapshot__the_number_of_statements_does_not_depend_on_the_number_of_ids(void **state)
{
	struct fixture *f = *state;
	struct rec_snapshot all;
	make_world(f, &shapes[0], 4000, false);
	must(f, rec_store_snapshot(f->store, NULL, 0, 0, &all, &f->error));
	sqlite3_trace_v2(sqlite_of(f)->db, SQLITE_TRACE_STMT, count_statement, NULL);
	assert_int_equal(statements_for(f, all.ids, 20), statements_for(f, all.ids, 200));    /* looked up */
	assert_int_equal(statements_for(f, all.ids, 1000), statements_for(f, all.ids, 4000)); /* swept */
	assert_true(statements_for(f, all.ids, 4000) < 20);
	rec_snapshot_release(&all);
}

struct measured {
	struct rec_allocator allocator;
	size_t now, peak;
};

static void *measured_reallocate(void *context, void *memory, size_t size)
{
	struct measured *m = context;
	size_t before = memory ? malloc_usable_size(memory) : 0;
	void *moved = realloc(memory, size);
	if (moved)
		m->now += malloc_usable_size(moved) - before;
	m->peak = m->now > m->peak ? m->now : m->peak;
	return moved;
}

static void *measured_allocate(void *context, size_t size)
{
	return measured_reallocate(context, NULL, size);
}

static void measured_release(void *context, void *memory)
{
	struct measured *m = context;
	m->now -= memory ? malloc_usable_size(memory) : 0;
	free(memory);
}

static void test_snapshot__takes_at_most_48_bytes_an_id_and_keeps_28(void **state)
{
	struct fixture *f = *state;
	enum { COUNT = 100000 };
	struct measured m = {.allocator = {measured_allocate, measured_reallocate, measured_release, &m}};
	struct rec_snapshot all, s;
	make_world(f, &shapes[0], 20000, false);
	must(f, rec_store_snapshot(f->store, NULL, 0, 0, &all, &f->error));
	struct rec_slice *list = rec_zalloc(NULL, COUNT, sizeof *list);
	for (size_t i = 0; i < COUNT; i++)
		list[i] = all.ids[i * 7919 % all.count];
	struct rec_store *store;
	struct rec_store_options options = {.allocator = &m.allocator};
	must(f, rec_store_sqlite_open(f->path, &options, &store, &f->error));
	for (unsigned fields = 0; fields <= EVERY; fields += REC_SNAPSHOT_BLOCKERS) {
		size_t before = m.peak = m.now;
		must(f, rec_store_snapshot(store, list, COUNT, fields, &s, &f->error));
		assert_true(m.peak - before <= 48 * COUNT);
		assert_true(m.now - before <= 28 * COUNT);
		rec_snapshot_release(&s);
	}
	rec_store_close(store);
	rec_free(NULL, list);
	rec_snapshot_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sqlite_test(test_snapshot__every_way_agrees_with_one_plain_query_per_id),
		sqlite_test(test_snapshot__what_the_last_claim_recorded_is_not_new),
		sqlite_test(test_snapshot__the_number_of_statements_does_not_depend_on_the_number_of_ids),
		sqlite_test(test_snapshot__takes_at_most_48_bytes_an_id_and_keeps_28),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
