/* doctor-tell.c - each finding as a sentence and a command. A command that edits dependencies is made from the
 * task as it is now, so that it drops only what the finding is about. */
#include "engine/doctor-visit.h"

#define RING_MEMBERS_SHOWN 10

/* ---- Tasks and claims ---- */

static int tell_problem(void *context, const char *kind, const char *sentence)
{
	struct rec_doctor *d = context;
	rec_buffer_add_text(&d->teller.sentence, sentence);
	rec_buffer_add_text(&d->teller.command, "reconciler init");
	return rec_tell(&d->teller, kind, (struct rec_slice){0}, NULL);
}

static int tell_status(struct rec_doctor *d, uint32_t node, struct rec_error *error)
{
	struct rec_slice id = d->snapshot.ids[node];
	struct rec_buffer *sentence = &d->teller.sentence, *command = &d->teller.command;
	rec_buffer_add_text(sentence, "task ");
	rec_tell_id(sentence, id);
	rec_buffer_add_text(sentence, " has the status ");
	rec_tell_id(sentence, rec_snapshot_raw(&d->snapshot, node));
	rec_buffer_add_text(sentence, ", which is none of the seven");
	rec_buffer_add_text(command, "reconciler task set --force");
	rec_tell_target(command, id);
	rec_buffer_add_text(command, " BACKLOG");
	return rec_tell(&d->teller, "unrecognised-status", id, error);
}

/* A task that can be made READY, with the words between its id and the end of the sentence. */
static int tell_ready(struct rec_doctor *d, const char *kind, struct rec_slice id, const char *what,
		      struct rec_error *error)
{
	rec_buffer_add_text(&d->teller.sentence, "task ");
	rec_tell_id(&d->teller.sentence, id);
	rec_buffer_add_text(&d->teller.sentence, what);
	rec_buffer_add_text(&d->teller.command, "reconciler task set");
	rec_tell_target(&d->teller.command, id);
	rec_buffer_add_text(&d->teller.command, " READY");
	return rec_tell(&d->teller, kind, id, error);
}

static int tell_tasks(struct rec_doctor *d, struct rec_error *error)
{
	size_t idle = 0;
	int r = 0;
	for (uint32_t node = 0; r == 0 && node < d->snapshot.count; node++) {
		const struct rec_fact *fact = &d->snapshot.facts[node];
		struct rec_slice id = d->snapshot.ids[node];
		if (d->flags[node] & REC_NODE_BAD_FILE)
			continue;
		if (fact->status == REC_STATUS_UNRECOGNISED)
			r = tell_status(d, node, error);
		else if (fact->status == REC_BLOCKED && fact->blockers_total == 0 &&
			 !(d->flags[node] & REC_NODE_PARENT))
			r = tell_ready(d, "blocked-without-blockers", id,
				       " is BLOCKED, but has no blocker that could be "
				       "resolved",
				       error);
		else if (idle < d->idle_count && d->idle[idle] == node) {
			idle++;
			r = tell_ready(d, "in-progress-without-run", id,
				       " is IN_PROGRESS, but neither a claim nor a running run stands behind it",
				       error);
		}
	}
	return r;
}

static int tell_claims(struct rec_doctor *d, struct rec_error *error)
{
	struct rec_buffer *sentence = &d->teller.sentence, *command = &d->teller.command;
	int r = 0;
	for (size_t i = 0; r == 0 && i < d->claim_count; i++) {
		const struct rec_seen_claim *claim = &d->claims[i];
		if (!claim->stale || !claim->seen_again)
			continue;
		rec_buffer_add_text(sentence, "task ");
		rec_tell_id(sentence, d->claim_tasks[i]);
		rec_buffer_add_text(sentence, " is claimed by batch ");
		rec_tell_id(sentence, claim->batch_id);
		rec_buffer_add_text(sentence, ", whose conductor is gone");
		rec_buffer_add_text(command, "reconciler resume");
		rec_tell_target(command, claim->batch_id);
		r = rec_tell(&d->teller, "claim-without-process", d->claim_tasks[i], error);
	}
	return r;
}

/* Does the task still refer to the id? */
static bool refers_to(const struct rec_task *task, const struct rec_missing_reference *m)
{
	if (m->parent)
		return task->parent_id.data && rec_slice_equal(task->parent_id, m->id);
	for (size_t i = 0; i < task->depends_on_count; i++)
		if (rec_slice_equal(task->depends_on[i], m->id))
			return true;
	return false;
}

static bool keep_existing(void *context, struct rec_slice dependency)
{
	return rec_doctor_node(context, dependency) != REC_IDMAP_NONE;
}

static int tell_missing_of(struct rec_doctor *d, const struct rec_missing_reference *m, const struct rec_task *task,
			   struct rec_error *error)
{
	struct rec_buffer *sentence = &d->teller.sentence, *command = &d->teller.command;
	rec_buffer_add_text(sentence, "task ");
	rec_tell_id(sentence, task->id);
	rec_buffer_add_text(sentence, m->parent ? " has the parent " : " depends on ");
	rec_tell_id(sentence, m->id);
	rec_buffer_add_text(sentence, ", which does not exist");
	rec_buffer_add_text(command, "reconciler task edit");
	if (m->parent)
		rec_buffer_add_text(command, " --parent=");
	else
		rec_tell_dependencies(command, task, keep_existing, d);
	rec_tell_target(command, task->id);
	return rec_tell(&d->teller, m->parent ? "missing-parent" : "missing-dependency", task->id, error);
}

static int tell_missing(struct rec_doctor *d, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < d->missing_count; i++) {
		const struct rec_missing_reference *m = &d->missing[i];
		struct rec_arena arena;
		struct rec_task task;
		rec_arena_init(&arena, d->allocator);
		r = rec_store_get(d->store, d->snapshot.ids[m->task], &arena, &task, error);
		if (r == 0 && refers_to(&task, m))
			r = tell_missing_of(d, m, &task, error);
		else if (r == REC_NOT_FOUND)
			r = 0;
		rec_arena_release(&arena);
	}
	return r;
}

/* ---- Rings ---- */

struct ring {
	const struct rec_doctor *doctor;
	const uint32_t *members;
	uint32_t count;
};

/* Members are in ascending order. What is missing is dropped too, or the command would be refused. */
static bool keep_outside_ring(void *context, struct rec_slice dependency)
{
	const struct ring *ring = context;
	uint32_t node = rec_doctor_node(ring->doctor, dependency), low = 0, high = ring->count;
	if (node == REC_IDMAP_NONE)
		return false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (ring->members[middle] == node)
			return false;
		if (ring->members[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return true;
}

static void ring_sentence(struct rec_doctor *d, const struct ring *ring, bool parents)
{
	struct rec_buffer *sentence = &d->teller.sentence;
	rec_buffer_add_text(sentence, parents ? "parents form a ring: " : "dependencies form a ring: ");
	for (uint32_t i = 0; i < ring->count && i < RING_MEMBERS_SHOWN; i++) {
		if (i)
			rec_buffer_add_text(sentence, ", ");
		rec_tell_id(sentence, d->snapshot.ids[ring->members[i]]);
	}
	if (ring->count > RING_MEMBERS_SHOWN)
		rec_buffer_printf(sentence, " and %u more", ring->count - RING_MEMBERS_SHOWN);
}

static int tell_ring(struct rec_doctor *d, struct ring *ring, bool parents, struct rec_error *error)
{
	struct rec_slice id = d->snapshot.ids[ring->members[0]];
	struct rec_arena arena;
	struct rec_task task;
	rec_arena_init(&arena, d->allocator);
	int r = rec_store_get(d->store, id, &arena, &task, error);
	if (r == 0) {
		ring_sentence(d, ring, parents);
		rec_buffer_add_text(&d->teller.command, "reconciler task edit");
		if (parents)
			rec_buffer_add_text(&d->teller.command, " --parent=");
		else
			rec_tell_dependencies(&d->teller.command, &task, keep_outside_ring, ring);
		rec_tell_target(&d->teller.command, id);
		r = rec_tell(&d->teller, parents ? "parent-ring" : "dependency-ring", id, error);
	}
	rec_arena_release(&arena);
	return r == REC_NOT_FOUND ? 0 : r;
}

static int tell_rings(struct rec_doctor *d, const struct rec_graph *graph, bool parents, struct rec_error *error)
{
	int r = 0;
	for (uint32_t k = 0; r == 0 && k < rec_graph_ring_count(graph); k++) {
		struct ring ring = {.doctor = d};
		ring.members = rec_graph_ring(graph, k, &ring.count);
		r = tell_ring(d, &ring, parents, error);
	}
	return r;
}

/* ---- Bad rows ---- */

/* How a bad value is mended: by a command of ours where there is one that writes this column, else in the task's file,
 * or by SQL; SQL that ends with a blank wants the task's id. A row without a usable id is given one, so that the rest
 * is not lost. */
static const struct mend {
	const char *column, *edit, *sql;
} mends[] = {
	{"title", "--title=TITLE", NULL},
	{"description", "--description=", NULL},
	{"priority", "--priority=0", NULL},
	{"depends_on", "--depends-on=", NULL},
	{"parent_id", "--parent=", NULL},
	{"external_url", "--issue=", NULL},
	{"id", NULL, "UPDATE tasks SET id = lower(hex(randomblob(16))) WHERE id IS NULL OR typeof(id) <> 'text'"},
	{"created_at", NULL, "UPDATE tasks SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = "},
	{"updated_at", NULL, "UPDATE tasks SET updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = "},
	{"blocker id", NULL,
	 "UPDATE blockers SET id = lower(hex(randomblob(16))) WHERE id IS NULL OR typeof(id) <> 'text'"},
	{"blocker status", NULL,
	 "UPDATE blockers SET status = 'OPEN' WHERE status NOT IN ('OPEN', 'ANSWERED', 'RESOLVED') AND task_id = "},
};

static const struct mend *mend_of(const char *column)
{
	for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
		if (strcmp(column, mends[i].column) == 0)
			return &mends[i];
	return NULL;
}

static void sql_literal(struct rec_buffer *out, struct rec_slice text)
{
	rec_buffer_add_text(out, "'");
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\'')
			rec_buffer_add_text(out, "'");
		rec_buffer_add(out, text.data + i, 1);
	}
	rec_buffer_add_text(out, "'");
}

/* sqlite3 FILE 'SQL'; without SQL of ours the file alone, for somebody who knows what the value should be. */
static void sql_command(struct rec_doctor *d, const char *sql, struct rec_slice task_id)
{
	struct rec_buffer *command = &d->teller.command, statement;
	struct rec_store_info info;
	rec_store_info(d->store, &info);
	rec_buffer_add_text(command, "sqlite3 ");
	rec_tell_word(command, rec_slice_of(info.location));
	bool wants_id = sql && sql[strlen(sql) - 1] == ' ';
	if (!sql || (wants_id && !task_id.data))
		return;
	rec_buffer_init(&statement, d->allocator, 1u << 20);
	rec_buffer_add_text(&statement, sql);
	if (wants_id)
		sql_literal(&statement, task_id);
	rec_buffer_add_text(command, " ");
	rec_tell_word(command, rec_buffer_slice(&statement));
	if (statement.failed)
		command->failed = statement.failed;
	rec_buffer_release(&statement);
}

/* What is in a file is for a person to edit; what cannot stay where it is is put aside. false: tasks are no files here.
 */
static bool file_command(struct rec_doctor *d, struct rec_slice task_id)
{
	struct rec_buffer *command = &d->teller.command, path;
	bool edit;
	rec_buffer_init(&path, d->allocator, 1u << 16);
	bool is_file = rec_store_task_file(d->store, task_id, &path, &edit);
	if (is_file) {
		rec_buffer_add_text(command, edit ? "${EDITOR:-vi} " : "mv ");
		rec_tell_word(command, rec_buffer_slice(&path));
	}
	if (is_file && !edit) {
		rec_buffer_add_text(&path, ".bad");
		rec_buffer_add_text(command, " ");
		rec_tell_word(command, rec_buffer_slice(&path));
	}
	if (path.failed)
		command->failed = path.failed;
	rec_buffer_release(&path);
	return is_file;
}

static void row_command(struct rec_doctor *d, const struct rec_bad_row *row)
{
	const struct mend *mend = mend_of(row->column);
	bool named = row->task_id.data && row->task_id.length;
	if (mend && mend->edit && named) {
		rec_buffer_printf(&d->teller.command, "reconciler task edit %s", mend->edit);
		rec_tell_target(&d->teller.command, row->task_id);
	} else if (!file_command(d, row->task_id)) {
		sql_command(d, mend ? mend->sql : NULL, row->task_id);
	}
}

static void note_bad_file(struct rec_doctor *d, const struct rec_bad_row *row)
{
	uint32_t node = strcmp(row->column, "file") == 0 ? rec_doctor_node(d, row->task_id) : REC_IDMAP_NONE;
	if (node != REC_IDMAP_NONE)
		d->flags[node] |= REC_NODE_BAD_FILE;
}

static int tell_rows(struct rec_doctor *d, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < d->row_count; i++) {
		const struct rec_bad_row *row = &d->rows[i];
		struct rec_buffer *sentence = &d->teller.sentence;
		rec_buffer_add_text(sentence, row->task_id.data ? "task " : "a row");
		if (row->task_id.data)
			rec_tell_id(sentence, row->task_id);
		rec_buffer_printf(sentence, ": %s %s%s%s", row->column, row->problem, *row->shown ? ": " : "",
				  row->shown);
		row_command(d, row);
		note_bad_file(d, row);
		r = rec_tell(&d->teller, "bad-row", row->task_id, error);
	}
	return r;
}

/* ---- Links ---- */

static int tell_link(void *context, const struct rec_link *link)
{
	struct rec_doctor *d = context;
	struct rec_buffer *sentence = &d->teller.sentence, *command = &d->teller.command;
	if (!link->gone)
		return 0;
	rec_buffer_add_text(sentence, "task ");
	rec_tell_id(sentence, link->task_id);
	rec_buffer_add_text(sentence, " is linked to ");
	rec_tell_id(sentence, link->url);
	rec_buffer_add_text(sentence, ", which is gone at its tracker");
	rec_buffer_add_text(command, link->implicit ? "reconciler task edit --issue ''" : "reconciler unlink");
	rec_tell_target(command, link->task_id);
	return rec_tell(&d->teller, "dead-link", link->task_id, NULL);
}

/* ---- All of it ---- */

int rec_doctor_tell(struct rec_doctor *d, struct rec_error *error)
{
	int r = rec_store_problems(d->store, tell_problem, d, error);
	if (r == 0)
		r = tell_rows(d, error);
	if (r == 0)
		r = tell_tasks(d, error);
	if (r == 0)
		r = tell_claims(d, error);
	if (r == 0)
		r = tell_missing(d, error);
	if (r == 0)
		r = tell_rings(d, d->dependencies, false, error);
	if (r == 0)
		r = tell_rings(d, d->parents, true, error);
	if (r == 0)
		r = rec_store_links(d->store, (struct rec_slice){0}, tell_link, d, error);
	return r;
}
