/* memory-rows.c - rows and copies. A record is copied by a table of where its texts are, so that a new column
 * is one line here and cannot be forgotten in one of several copies. Every copied text gets a NUL behind it. */
#include "store/memory.h"

struct layout {
	const size_t *texts; /* offsets of struct rec_slice */
	size_t count;
};

#define LAYOUT(name, type, ...)                                                                                        \
	static const size_t name##_texts[] = {__VA_ARGS__};                                                            \
	static const struct layout name##_layout = {name##_texts, sizeof name##_texts / sizeof *name##_texts}
#define TASK(field) offsetof(struct rec_task, field)
#define BLOCKER(field) offsetof(struct rec_blocker, field)
#define EVENT(field) offsetof(struct rec_event, field)
#define CLAIM(field) offsetof(struct rec_claim, field)
#define BATCH(field) offsetof(struct rec_batch, field)
#define BATCH_TASK(field) offsetof(struct rec_batch_task, field)
#define LINK(field) offsetof(struct rec_link, field)
#define CURSOR(field) offsetof(struct rec_memory_kept, field)

LAYOUT(task, struct rec_task, TASK(id), TASK(title), TASK(description), TASK(status_text), TASK(depends_on_raw),
       TASK(parent_id), TASK(external_url), TASK(created_at), TASK(updated_at), TASK(prd_id), TASK(uncertainty_level),
       TASK(hierarchical_id), TASK(lineage), TASK(requirement_ids));
LAYOUT(blocker, struct rec_blocker, BLOCKER(id), BLOCKER(task_id), BLOCKER(question), BLOCKER(answer),
       BLOCKER(status_text), BLOCKER(created_at), BLOCKER(answered_at), BLOCKER(created_by));
LAYOUT(event, struct rec_event, EVENT(time), EVENT(event), EVENT(batch_id), EVENT(task_id), EVENT(action),
       EVENT(reason), EVENT(source), EVENT(current_status), EVENT(external_status), EVENT(believed), EVENT(observation),
       EVENT(detail));
LAYOUT(claim, struct rec_claim, CLAIM(task_id), CLAIM(batch_id), CLAIM(owner), CLAIM(claimed_at));
LAYOUT(batch, struct rec_batch, BATCH(batch_id), BATCH(owner), BATCH(options), BATCH(started_at), BATCH(ended_at));
LAYOUT(batch_task, struct rec_batch_task, BATCH_TASK(task_id), BATCH_TASK(phase), BATCH_TASK(reason));
LAYOUT(link, struct rec_link, LINK(task_id), LINK(url), LINK(reason), LINK(time), LINK(moved_to), LINK(validator),
       LINK(observed_at), LINK(made_done_at));
LAYOUT(cursor, struct rec_memory_kept, CURSOR(key), CURSOR(value));

static size_t slices_bytes(const struct rec_slice *slices, size_t count)
{
	size_t bytes = count * sizeof *slices;
	for (size_t i = 0; i < count; i++)
		bytes += slices[i].length + 1;
	return bytes;
}

static size_t texts_bytes(const struct layout *layout, const void *record)
{
	size_t bytes = 0;
	for (size_t i = 0; i < layout->count; i++) {
		const struct rec_slice *text = (const void *)((const char *)record + layout->texts[i]);
		bytes += text->data ? text->length + 1 : 0;
	}
	return bytes;
}

/* Moves one text's bytes to *at. */
static void text_move(struct rec_slice *text, char **at)
{
	if (text->length)
		memcpy(*at, text->data, text->length);
	(*at)[text->length] = '\0';
	text->data = *at;
	*at += text->length + 1;
}

static void texts_move(const struct layout *layout, void *record, char **at)
{
	for (size_t i = 0; i < layout->count; i++) {
		struct rec_slice *text = (void *)((char *)record + layout->texts[i]);
		if (text->data)
			text_move(text, at);
	}
}

/* Copies slices to *at (aligned for them) and their bytes to *text_at. */
static const struct rec_slice *slices_move(const struct rec_slice *slices, size_t count, char **at, char **text_at)
{
	struct rec_slice *copies = (void *)*at;
	for (size_t i = 0; i < count; i++) {
		copies[i] = slices[i];
		text_move(&copies[i], text_at);
	}
	*at += count * sizeof *slices;
	return copies;
}

/* ---- Tasks ---- */

static size_t task_bytes(const struct rec_task *task)
{
	return slices_bytes(task->depends_on, task->depends_on_count) + texts_bytes(&task_layout, task);
}

static void task_place(struct rec_task *out, const struct rec_task *task, char *at)
{
	char *text_at = at + task->depends_on_count * sizeof(struct rec_slice);
	*out = *task;
	out->depends_on = slices_move(task->depends_on, task->depends_on_count, &at, &text_at);
	texts_move(&task_layout, out, &text_at);
}

struct rec_memory_task *rec_memory_task_new(const struct rec_allocator *a, const struct rec_task *task)
{
	struct rec_task plain = *task;
	if (task->status != REC_STATUS_UNRECOGNISED)
		plain.status_text = rec_slice_of(rec_status_text(task->status));
	plain.blockers = NULL;
	plain.blocker_count = 0;
	plain.attempt = 0;
	plain.claimed = false;
	struct rec_memory_task *row = rec_memory_row_new(a, sizeof *row + task_bytes(&plain));
	if (row)
		task_place(&row->task, &plain, (char *)(row + 1));
	return row;
}

int rec_memory_task_copy(struct rec_arena *arena, const struct rec_task *task, struct rec_task *out)
{
	char *memory = rec_arena_alloc(arena, task_bytes(task));
	if (!memory)
		return REC_E_NOMEM;
	task_place(out, task, memory);
	return 0;
}

/* ---- Records without lists ---- */

static void record_place(const struct layout *layout, void *out, const void *record, size_t size, char *at)
{
	memcpy(out, record, size);
	texts_move(layout, out, &at);
}

struct rec_memory_blocker *rec_memory_blocker_new(const struct rec_allocator *a, const struct rec_blocker *blocker)
{
	struct rec_blocker plain = *blocker;
	if (blocker->status != REC_BLOCKER_UNRECOGNISED)
		plain.status_text = rec_slice_of(rec_blocker_status_text(blocker->status));
	struct rec_memory_blocker *row = rec_memory_row_new(a, sizeof *row + texts_bytes(&blocker_layout, &plain));
	if (row)
		record_place(&blocker_layout, &row->blocker, &plain, sizeof plain, (char *)(row + 1));
	return row;
}

int rec_memory_blocker_copy(struct rec_arena *arena, const struct rec_blocker *blocker, struct rec_blocker *out)
{
	char *memory = rec_arena_alloc(arena, texts_bytes(&blocker_layout, blocker));
	if (!memory)
		return REC_E_NOMEM;
	record_place(&blocker_layout, out, blocker, sizeof *blocker, memory);
	return 0;
}

struct rec_memory_event *rec_memory_event_new(const struct rec_allocator *a, const struct rec_event *event)
{
	struct rec_memory_event *row = rec_memory_row_new(a, sizeof *row + texts_bytes(&event_layout, event));
	if (row)
		record_place(&event_layout, &row->event, event, sizeof *event, (char *)(row + 1));
	return row;
}

struct rec_memory_claim *rec_memory_claim_new(const struct rec_allocator *a, const struct rec_claim *claim)
{
	struct rec_memory_claim *row = rec_memory_row_new(a, sizeof *row + texts_bytes(&claim_layout, claim));
	if (row)
		record_place(&claim_layout, &row->claim, claim, sizeof *claim, (char *)(row + 1));
	return row;
}

struct rec_memory_batch *rec_memory_batch_new(const struct rec_allocator *a, const struct rec_batch *batch)
{
	struct rec_memory_batch *row = rec_memory_row_new(a, sizeof *row + texts_bytes(&batch_layout, batch));
	if (row)
		record_place(&batch_layout, &row->batch, batch, sizeof *batch, (char *)(row + 1));
	return row;
}

int rec_memory_batch_copy(struct rec_arena *arena, const struct rec_batch *batch, struct rec_batch *out)
{
	char *memory = rec_arena_alloc(arena, texts_bytes(&batch_layout, batch));
	if (!memory)
		return REC_E_NOMEM;
	record_place(&batch_layout, out, batch, sizeof *batch, memory);
	return 0;
}

struct rec_memory_batch_task *rec_memory_batch_task_new(const struct rec_allocator *a,
							const struct rec_batch_task *task)
{
	struct rec_memory_batch_task *row = rec_memory_row_new(a, sizeof *row + texts_bytes(&batch_task_layout, task));
	if (row)
		record_place(&batch_task_layout, &row->task, task, sizeof *task, (char *)(row + 1));
	return row;
}

struct rec_memory_link *rec_memory_link_new(const struct rec_allocator *a, const struct rec_link *link)
{
	struct rec_memory_link *row = rec_memory_row_new(a, sizeof *row + texts_bytes(&link_layout, link));
	if (row)
		record_place(&link_layout, &row->link, link, sizeof *link, (char *)(row + 1));
	return row;
}

struct rec_memory_tracker_cursor *rec_memory_tracker_cursor_new(const struct rec_allocator *a,
								const struct rec_memory_kept *cursor)
{
	struct rec_memory_tracker_cursor *row =
		rec_memory_row_new(a, sizeof *row + texts_bytes(&cursor_layout, cursor));
	if (row)
		record_place(&cursor_layout, &row->cursor, cursor, sizeof *cursor, (char *)(row + 1));
	return row;
}

/* ---- Small rows ---- */

struct rec_memory_id *rec_memory_id_new(const struct rec_allocator *a, struct rec_slice id)
{
	struct rec_memory_id *row = rec_memory_row_new(a, sizeof *row + id.length + 1);
	if (!row)
		return NULL;
	char *at = (char *)(row + 1);
	row->id = id;
	text_move(&row->id, &at);
	return row;
}

struct rec_memory_change *rec_memory_change_new(const struct rec_allocator *a, struct rec_slice id, int64_t time_us)
{
	struct rec_memory_change *row = rec_memory_row_new(a, sizeof *row + id.length + 1);
	if (!row)
		return NULL;
	char *at = (char *)(row + 1);
	row->time_us = time_us;
	row->id = id;
	text_move(&row->id, &at);
	return row;
}

struct rec_memory_attempt *rec_memory_attempt_new(const struct rec_allocator *a, struct rec_slice task_id,
						  uint32_t number, int64_t ended_us)
{
	struct rec_memory_attempt *row = rec_memory_row_new(a, sizeof *row + task_id.length + 1);
	if (!row)
		return NULL;
	char *at = (char *)(row + 1);
	row->number = number;
	row->ended_us = ended_us;
	row->task_id = task_id;
	text_move(&row->task_id, &at);
	return row;
}

struct rec_memory_history *rec_memory_history_new(const struct rec_allocator *a, const struct rec_memory_history *of)
{
	size_t bytes = slices_bytes(of->released, of->released_count) + slices_bytes(of->before, of->before_count);
	struct rec_memory_history *row = rec_memory_row_new(a, sizeof *row + bytes);
	if (!row)
		return NULL;
	char *at = (char *)(row + 1);
	char *text_at = at + (of->released_count + of->before_count) * sizeof(struct rec_slice);
	struct rec_memory_row head = row->row;
	*row = *of;
	row->row = head;
	row->released = slices_move(of->released, of->released_count, &at, &text_at);
	row->before = slices_move(of->before, of->before_count, &at, &text_at);
	return row;
}

/* ---- Keys ---- */

struct rec_slice rec_memory_key_seq(struct rec_memory_key *key, int64_t seq)
{
	for (unsigned i = 0; i < 8; i++)
		key->bytes[i] = (char)((uint64_t)seq >> (56 - 8 * i));
	key->length = 8;
	return (struct rec_slice){key->bytes, key->length};
}

static bool key_add(struct rec_memory_key *key, struct rec_slice part)
{
	if (!part.data)
		return true;
	if (part.length >= REC_MEMORY_JOINED_MAX - key->length)
		return false;
	memcpy(key->bytes + key->length, part.data, part.length);
	key->bytes[key->length + part.length] = '\0';
	key->length += part.length + 1;
	return true;
}

struct rec_slice rec_memory_key_join(struct rec_memory_key *key, struct rec_slice a, struct rec_slice b,
				     struct rec_slice c)
{
	key->length = 0;
	if (!key_add(key, a) || !key_add(key, b) || !key_add(key, c))
		return (struct rec_slice){NULL, 0};
	return (struct rec_slice){key->bytes, key->length};
}

bool rec_memory_key_under(struct rec_slice key, struct rec_slice prefix)
{
	return key.length >= prefix.length && (prefix.length == 0 || memcmp(key.data, prefix.data, prefix.length) == 0);
}
