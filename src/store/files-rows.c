/* files-rows.c - what stands in the log of each table: a record that knows its own key, how it is made of a row, and
 * how a row is made of it. */
#include "store/files.h"

#define NONE ((struct rec_slice){NULL, 0})
#define OF(type, field) offsetof(struct type, field)
#define COUNT(array) (sizeof(array) / sizeof *(array))

struct history_record {
	struct rec_slice task_id;
	struct rec_memory_history history;
};
struct attempt_record {
	struct rec_slice task_id;
	uint32_t number;
	int64_t ended_us;
};
struct change_record {
	struct rec_slice id;
	int64_t seq, time_us;
};
struct batch_task_record {
	struct rec_slice batch_id;
	struct rec_batch_task task;
};
struct cursor_record {
	struct rec_slice tracker, key, value;
};
union record {
	struct rec_link link;
	struct cursor_record cursor;
	struct history_record history;
	struct attempt_record attempt;
	struct change_record change;
	struct rec_claim claim;
	struct rec_batch batch;
	struct batch_task_record batch_task;
};

static const struct rec_files_field history_fields[] = {
	{"task_id", REC_FILES_TEXT, OF(history_record, task_id), 0},
	{"attempt", REC_FILES_UINT32, OF(history_record, history.attempt), 0},
	{"claimed", REC_FILES_BOOL, OF(history_record, history.claimed), 0},
	{"released", REC_FILES_TEXTS, OF(history_record, history.released), OF(history_record, history.released_count)},
	{"before", REC_FILES_TEXTS, OF(history_record, history.before), OF(history_record, history.before_count)},
};
static const struct rec_files_field attempt_fields[] = {
	{"task_id", REC_FILES_TEXT, OF(attempt_record, task_id), 0},
	{"number", REC_FILES_UINT32, OF(attempt_record, number), 0},
	{"ended_us", REC_FILES_INT64, OF(attempt_record, ended_us), 0},
};
static const struct rec_files_field change_fields[] = {
	{"seq", REC_FILES_INT64, OF(change_record, seq), 0},
	{"id", REC_FILES_TEXT, OF(change_record, id), 0},
	{"time_us", REC_FILES_INT64, OF(change_record, time_us), 0},
};
static const struct rec_files_field claim_fields[] = {
	{"claim_id", REC_FILES_INT64, OF(rec_claim, claim_id), 0},
	{"task_id", REC_FILES_TEXT, OF(rec_claim, task_id), 0},
	{"batch_id", REC_FILES_TEXT, OF(rec_claim, batch_id), 0},
	{"owner", REC_FILES_TEXT, OF(rec_claim, owner), 0},
	{"attempt", REC_FILES_UINT32, OF(rec_claim, attempt), 0},
	{"claimed_at", REC_FILES_TEXT, OF(rec_claim, claimed_at), 0},
	{"child_owns_run", REC_FILES_BOOL, OF(rec_claim, child_owns_run), 0},
};
static const struct rec_files_field batch_fields[] = {
	{"batch_id", REC_FILES_TEXT, OF(rec_batch, batch_id), 0},
	{"owner", REC_FILES_TEXT, OF(rec_batch, owner), 0},
	{"status", REC_FILES_ENUM, OF(rec_batch, status), 0},
	{"stop", REC_FILES_ENUM, OF(rec_batch, stop), 0},
	{"options", REC_FILES_TEXT, OF(rec_batch, options), 0},
	{"started_at", REC_FILES_TEXT, OF(rec_batch, started_at), 0},
	{"ended_at", REC_FILES_TEXT, OF(rec_batch, ended_at), 0},
	{"skipped", REC_FILES_INT64, OF(rec_batch, skipped), 0},
	{"killed", REC_FILES_INT64, OF(rec_batch, killed), 0},
	{"requeued", REC_FILES_INT64, OF(rec_batch, requeued), 0},
	{"errors", REC_FILES_INT64, OF(rec_batch, errors), 0},
};
static const struct rec_files_field batch_task_fields[] = {
	{"batch_id", REC_FILES_TEXT, OF(batch_task_record, batch_id), 0},
	{"task_id", REC_FILES_TEXT, OF(batch_task_record, task.task_id), 0},
	{"position", REC_FILES_INT64, OF(batch_task_record, task.position), 0},
	{"phase", REC_FILES_TEXT, OF(batch_task_record, task.phase), 0},
	{"believed", REC_FILES_ENUM, OF(batch_task_record, task.believed), 0},
	{"reason", REC_FILES_TEXT, OF(batch_task_record, task.reason), 0},
	{"own", REC_FILES_BOOL, OF(batch_task_record, task.own), 0},
	{"attempt", REC_FILES_INT64, OF(batch_task_record, task.attempt), 0},
	{"failures", REC_FILES_INT64, OF(batch_task_record, task.failures), 0},
	{"again", REC_FILES_INT64, OF(batch_task_record, task.again), 0},
	{"lost", REC_FILES_INT64, OF(batch_task_record, task.lost), 0},
	{"not_before_us", REC_FILES_INT64, OF(batch_task_record, task.not_before_us), 0},
};

static const struct rec_files_field link_fields[] = {
	{"task_id", REC_FILES_TEXT, OF(rec_link, task_id), 0},
	{"url", REC_FILES_TEXT, OF(rec_link, url), 0},
	{"implicit", REC_FILES_BOOL, OF(rec_link, implicit), 0},
	{"state", REC_FILES_ENUM, OF(rec_link, state), 0},
	{"kind", REC_FILES_ENUM, OF(rec_link, kind), 0},
	{"reason", REC_FILES_TEXT, OF(rec_link, reason), 0},
	{"time", REC_FILES_TEXT, OF(rec_link, time), 0},
	{"comments", REC_FILES_MAYBE, OF(rec_link, comments), OF(rec_link, has_comments)},
	{"moved_to", REC_FILES_TEXT, OF(rec_link, moved_to), 0},
	{"validator", REC_FILES_TEXT, OF(rec_link, validator), 0},
	{"observed_at", REC_FILES_TEXT, OF(rec_link, observed_at), 0},
	{"gone", REC_FILES_BOOL, OF(rec_link, gone), 0},
	{"made_done_at", REC_FILES_TEXT, OF(rec_link, made_done_at), 0},
};
static const struct rec_files_field cursor_fields[] = {
	{"tracker", REC_FILES_TEXT, OF(cursor_record, tracker), 0},
	{"key", REC_FILES_TEXT, OF(cursor_record, key), 0},
	{"value", REC_FILES_TEXT, OF(cursor_record, value), 0},
};

/* ---- Rows to records ---- */

/* The part of a joined key up to its NUL. */
static struct rec_slice key_part(struct rec_slice key)
{
	const char *end = memchr(key.data, '\0', key.length);
	return (struct rec_slice){key.data, end ? (size_t)(end - key.data) : key.length};
}

static int64_t key_number(struct rec_slice key)
{
	uint64_t number = 0;
	for (size_t i = 0; i < key.length; i++)
		number = number << 8 | (unsigned char)key.data[i];
	return (int64_t)number;
}

static void history_of(struct rec_slice key, const void *row, union record *out)
{
	out->history = (struct history_record){key, *(const struct rec_memory_history *)row};
}

static void attempt_of(struct rec_slice key, const void *row, union record *out)
{
	const struct rec_memory_attempt *attempt = row;
	(void)key;
	out->attempt = (struct attempt_record){attempt->task_id, attempt->number, attempt->ended_us};
}

static void change_of(struct rec_slice key, const void *row, union record *out)
{
	const struct rec_memory_change *change = row;
	out->change = (struct change_record){change->id, key_number(key), change->time_us};
}

static void claim_of(struct rec_slice key, const void *row, union record *out)
{
	(void)key;
	out->claim = ((const struct rec_memory_claim *)row)->claim;
}

static void batch_of(struct rec_slice key, const void *row, union record *out)
{
	(void)key;
	out->batch = ((const struct rec_memory_batch *)row)->batch;
}

static void batch_task_of(struct rec_slice key, const void *row, union record *out)
{
	out->batch_task = (struct batch_task_record){key_part(key), ((const struct rec_memory_batch_task *)row)->task};
}

static void link_of(struct rec_slice key, const void *row, union record *out)
{
	(void)key;
	out->link = ((const struct rec_memory_link *)row)->link;
}

static void cursor_of(struct rec_slice key, const void *row, union record *out)
{
	const struct rec_memory_tracker_cursor *cursor = row;
	out->cursor = (struct cursor_record){key_part(key), cursor->cursor.key, cursor->cursor.value};
}

/* ---- Records to keys and rows ---- */

static struct rec_slice history_key(const union record *of, struct rec_memory_key *key)
{
	(void)key;
	return of->history.task_id;
}

static struct rec_slice attempt_key(const union record *of, struct rec_memory_key *key)
{
	struct rec_memory_key number;
	struct rec_slice at = rec_memory_key_join(key, of->attempt.task_id, NONE, NONE);
	struct rec_slice tail = rec_memory_key_seq(&number, of->attempt.number);
	if (!at.data)
		return at;
	memcpy(key->bytes + at.length, tail.data, tail.length);
	at.length += tail.length;
	return at;
}

static struct rec_slice change_key(const union record *of, struct rec_memory_key *key)
{
	return rec_memory_key_seq(key, of->change.seq);
}

static struct rec_slice claim_key(const union record *of, struct rec_memory_key *key)
{
	return rec_memory_key_seq(key, of->claim.claim_id);
}

static struct rec_slice batch_key(const union record *of, struct rec_memory_key *key)
{
	(void)key;
	return of->batch.batch_id;
}

static struct rec_slice batch_task_key(const union record *of, struct rec_memory_key *key)
{
	return rec_memory_key_join(key, of->batch_task.batch_id, of->batch_task.task.task_id, NONE);
}

static struct rec_slice link_key(const union record *of, struct rec_memory_key *key)
{
	return rec_memory_key_join(key, of->link.task_id, of->link.url, NONE);
}

static struct rec_slice cursor_key(const union record *of, struct rec_memory_key *key)
{
	return rec_memory_key_join(key, of->cursor.tracker, of->cursor.key, NONE);
}

static void *link_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_link_new(a, &of->link);
}

static void *cursor_row(const struct rec_allocator *a, const union record *of)
{
	const struct rec_memory_kept cursor = {of->cursor.key, of->cursor.value};
	return rec_memory_tracker_cursor_new(a, &cursor);
}

static void *history_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_history_new(a, &of->history.history);
}

static void *attempt_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_attempt_new(a, of->attempt.task_id, of->attempt.number, of->attempt.ended_us);
}

static void *change_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_change_new(a, of->change.id, of->change.time_us);
}

static void *claim_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_claim_new(a, &of->claim);
}

static void *batch_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_batch_new(a, &of->batch);
}

static void *batch_task_row(const struct rec_allocator *a, const union record *of)
{
	return rec_memory_batch_task_new(a, &of->batch_task.task);
}

/* ---- The tables ---- */

struct table {
	struct rec_files_record type;
	void (*of)(struct rec_slice key, const void *row, union record *out);
	struct rec_slice (*key)(const union record *of, struct rec_memory_key *key);
	void *(*row)(const struct rec_allocator *a, const union record *of);
};

#define TABLE(name)                                                                                                    \
	{                                                                                                              \
		{name##_fields, COUNT(name##_fields)}, name##_of, name##_key, name##_row                               \
	}
static const struct table tables[REC_MEMORY_TABLE_COUNT] = {
	[REC_MEMORY_HISTORIES] = TABLE(history), [REC_MEMORY_ATTEMPTS] = TABLE(attempt),
	[REC_MEMORY_CHANGES] = TABLE(change),    [REC_MEMORY_CLAIMS] = TABLE(claim),
	[REC_MEMORY_BATCHES] = TABLE(batch),     [REC_MEMORY_BATCH_TASKS] = TABLE(batch_task),
	[REC_MEMORY_LINKS] = TABLE(link),        [REC_MEMORY_CURSORS] = TABLE(cursor),
};

const struct rec_files_table rec_files_tables[] = {
	{"history", REC_MEMORY_HISTORIES}, {"attempt", REC_MEMORY_ATTEMPTS}, {"change", REC_MEMORY_CHANGES},
	{"claim", REC_MEMORY_CLAIMS},      {"batch", REC_MEMORY_BATCHES},    {"batch_task", REC_MEMORY_BATCH_TASKS},
	{"link", REC_MEMORY_LINKS},        {"tracker", REC_MEMORY_CURSORS},
};
const size_t rec_files_table_count = COUNT(rec_files_tables);

int rec_files_row_write(struct rec_buffer *out, const struct rec_files_table *table, struct rec_slice key,
			const void *row, bool remove)
{
	const struct table *t = &tables[table->table];
	union record record;
	t->of(key, row, &record);
	rec_buffer_add_text(out, remove ? "-" : "+");
	return rec_files_record_line(out, table->name, &t->type, &record);
}

/* ---- Changes as they are written ---- */

static bool word_take(struct rec_slice *json, const char *word)
{
	size_t length = strlen(word);
	if (json->length < length || memcmp(json->data, word, length) != 0)
		return false;
	*json = (struct rec_slice){json->data + length, json->length - length};
	return true;
}

/* One that is more than 0 and is no question of overflow. */
static bool number_take(struct rec_slice *json, int64_t *ret)
{
	size_t length = 0;
	for (*ret = 0; length < json->length && json->data[length] >= '0' && json->data[length] <= '9'; length++) {
		if (length == 18 || (length == 0 && json->data[0] == '0'))
			return false;
		*ret = *ret * 10 + (json->data[length] - '0');
	}
	*json = (struct rec_slice){json->data + length, json->length - length};
	return length > 0;
}

static bool plain_take(struct rec_slice *json, struct rec_slice *ret)
{
	size_t length = 0;
	while (length < json->length && json->data[length] >= ' ' && json->data[length] <= '~' &&
	       json->data[length] != '"' && json->data[length] != '\\')
		length++;
	*ret = (struct rec_slice){json->data, length};
	*json = (struct rec_slice){json->data + length, json->length - length};
	return length > 0;
}

/* Most of a log are changes, and these read themselves; false: it stands there in another way, and is to be read like
 * any other row. */
static bool change_read(struct rec_slice json, struct change_record *out)
{
	return word_take(&json, "{\"seq\":") && number_take(&json, &out->seq) && word_take(&json, ",\"id\":\"") &&
	       plain_take(&json, &out->id) && word_take(&json, "\",\"time_us\":") &&
	       number_take(&json, &out->time_us) && word_take(&json, "}") && json.length == 0;
}

int rec_files_row_take(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice json, bool remove,
		       struct rec_arena *arena, struct rec_error *error)
{
	const struct table *t = &tables[table];
	struct rec_memory_key key;
	union record record;
	int r = 0;
	if (table != REC_MEMORY_CHANGES || !change_read(json, &record.change)) {
		memset(&record, 0, sizeof record);
		r = rec_files_record_read(json, &t->type, arena, &record, error);
	}
	struct rec_slice at = r == 0 ? t->key(&record, &key) : NONE;
	if (r == 0 && !at.data)
		r = rec_fail(error, REC_E_INVALID, "a row has no key, or one that is too long");
	if (r == 0 && table == REC_MEMORY_CHANGES) {
		m->data->counters[REC_MEMORY_WORKING].change_count -= rec_memory_get(m, table, at) != NULL;
		m->data->counters[REC_MEMORY_WORKING].change_count += !remove;
	}
	if (r == 0 && remove)
		rec_memory_erase(m, table, at);
	else if (r == 0)
		r = rec_memory_put(m, table, at, t->row(m->data->allocator, &record), error);
	rec_arena_clear(arena);
	return r;
}
