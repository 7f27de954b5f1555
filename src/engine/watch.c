/* watch.c - one round is: which tasks, one snapshot of them, their verdicts, (apply,) tell what is new. A look at
 * what the feed or a belief has queued and a full look differ only in which tasks. A task leaves the queue when its
 * result is told, and a full look stays due until it is finished: whatever fails, the next look goes on from there.
 */
#include "engine/watch.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/apply.h"
#include "engine/watch-table.h"

struct rec_watch {
	struct rec_store *store;
	const struct rec_allocator *allocator;
	enum rec_check_kind kind;
	bool named, only_believed, apply;
	int64_t rescan_interval_us, scanned_us;
	struct rec_slice batch_id;
	char *batch_id_memory;
	uint64_t raw_seed;
	bool full_due;
	struct rec_cursor cursor;
	struct rec_watch_table table;
};

/* ---- Making ---- */

static int names_add(struct rec_watch *w, const struct rec_slice *ids, size_t count, struct rec_error *error)
{
	for (size_t i = 0; ids && i < count; i++) {
		uint32_t slot;
		int r = rec_watch_table_add(&w->table, ids[i], &slot, error);
		if (r)
			return r;
		w->table.items[slot].flags |= REC_WATCHED_NAMED;
	}
	return 0;
}

static int batch_id_copy(struct rec_watch *w, struct rec_slice batch_id, struct rec_error *error)
{
	if (!batch_id.data)
		return 0;
	w->batch_id_memory = rec_strndup(w->allocator, batch_id.data, batch_id.length);
	w->batch_id = (struct rec_slice){w->batch_id_memory, batch_id.length};
	return w->batch_id_memory ? 0 : rec_fail_nomem(error);
}

int rec_watch_new(struct rec_store *s, const struct rec_watch_options *options, struct rec_watch **ret_watch,
		  struct rec_error *error)
{
	const struct rec_allocator *a = rec_store_allocator(s);
	struct rec_watch *w = rec_zalloc(a, 1, sizeof *w);
	if (!w)
		return rec_fail_nomem(error);
	*w = (struct rec_watch){
		.store = s,
		.allocator = a,
		.kind = options->kind,
		.named = options->ids != NULL,
		.only_believed = options->only_believed,
		.apply = options->apply,
		.rescan_interval_us =
			options->rescan_interval_us ? options->rescan_interval_us : REC_WATCH_RESCAN_DEFAULT_US,
		.raw_seed = rec_random_u64(),
		.full_due = true,
	};
	rec_watch_table_init(&w->table, a, rec_random_u64());
	int r = batch_id_copy(w, options->batch_id, error);
	if (r == 0 && options->ids)
		r = names_add(w, options->ids, options->id_count, error);
	if (r) {
		rec_watch_free(w);
		return r;
	}
	*ret_watch = w;
	return 0;
}

struct rec_watch *rec_watch_free(struct rec_watch *w)
{
	if (!w)
		return NULL;
	rec_watch_table_release(&w->table);
	rec_free(w->allocator, w->batch_id_memory);
	return rec_free(w->allocator, w);
}

/* ---- Which tasks ---- */

int rec_watch_believe(struct rec_watch *w, struct rec_slice id, enum rec_status status, struct rec_error *error)
{
	char shown[128];
	const char *problem = rec_id_problem(id);
	if (problem)
		return rec_fail(error, REC_E_INVALID, "task id \"%s\": it %s", rec_text_shown(shown, sizeof shown, id),
				problem);
	if ((unsigned)status > REC_STATUS_ABSENT)
		return rec_fail(error, REC_E_INVALID, "task \"%s\": %d is no status that a batch can believe",
				rec_text_shown(shown, sizeof shown, id), (int)status);
	uint32_t slot = rec_watch_table_find(&w->table, id);
	if (slot == REC_IDMAP_NONE) {
		if (w->named || status == REC_STATUS_ABSENT)
			return 0;
		int r = rec_watch_table_add(&w->table, id, &slot, error);
		if (r)
			return r;
	}
	if (w->table.items[slot].believed != status) {
		w->table.items[slot].believed = (uint8_t)status;
		rec_watch_table_queue(&w->table, slot);
	}
	return 0;
}

static bool watches_all(const struct rec_watch *w)
{
	return !w->named && !w->only_believed;
}

struct feed {
	struct rec_watch *watch;
	struct rec_error *error;
};

/* The feed says that this task may have changed. */
static int changed_queue(void *context, struct rec_slice id)
{
	const struct feed *feed = context;
	struct rec_watch *w = feed->watch;
	uint32_t slot = rec_watch_table_find(&w->table, id);
	if (slot == REC_IDMAP_NONE) {
		if (!watches_all(w))
			return 0;
		int r = rec_watch_table_add(&w->table, id, &slot, feed->error);
		if (r)
			return r;
	}
	rec_watch_table_queue(&w->table, slot);
	return 0;
}

static int feed_read(struct rec_watch *w, struct rec_error *error)
{
	struct feed feed = {w, error};
	int r = rec_store_changes(w->store, &w->cursor, changed_queue, &feed, error);
	if (r == REC_RESCAN) {
		w->full_due = true;
		return 0;
	}
	return r;
}

/* ---- A round ---- */

struct round {
	struct rec_results results;
	struct rec_slice *ids; /* of the snapshot; NULL: every task */
	uint32_t *slots;       /* [results.snapshot.count] */
	bool *applied;         /* the same; NULL without apply */
	rec_watch_fn *fn;
	void *context;
	uint64_t told;
};

static void round_close(const struct rec_watch *w, struct round *round)
{
	rec_results_release(&round->results);
	rec_free(w->allocator, round->ids);
	rec_free(w->allocator, round->slots);
	rec_free(w->allocator, round->applied);
}

static int round_reserve(const struct rec_watch *w, struct round *round, size_t count, struct rec_error *error)
{
	round->ids = rec_zalloc(w->allocator, count, sizeof *round->ids);
	round->slots = rec_zalloc(w->allocator, count, sizeof *round->slots);
	return round->ids && round->slots ? 0 : rec_fail_nomem(error);
}

/* The round is about what is queued. Nothing leaves the queue yet. */
static int round_of_queue(const struct rec_watch *w, struct round *round, size_t *ret_count, struct rec_error *error)
{
	size_t count = 0;
	int r = round_reserve(w, round, w->table.queued, error);
	if (r)
		return r;
	for (uint32_t slot = w->table.queue_first; count < w->table.queued; slot = w->table.items[slot].next) {
		round->ids[count] = w->table.ids[slot];
		round->slots[count++] = slot;
	}
	*ret_count = count;
	return 0;
}

/* The round is about every task that is named or believed. */
static int round_of_table(const struct rec_watch *w, struct round *round, size_t *ret_count, struct rec_error *error)
{
	size_t count = 0;
	int r = round_reserve(w, round, w->table.slots, error);
	if (r)
		return r;
	for (uint32_t slot = 0; slot < w->table.slots; slot++) {
		if (!(w->table.items[slot].flags & REC_WATCHED_USED))
			continue;
		round->ids[count] = w->table.ids[slot];
		round->slots[count++] = slot;
	}
	*ret_count = count;
	return 0;
}

static int round_snapshot(const struct rec_watch *w, struct round *round, size_t count, struct rec_error *error)
{
	unsigned fields = w->kind == REC_CHECK_TASKS ? 0 : REC_SNAPSHOT_BLOCKERS;
	struct rec_results results = {0};
	int r = rec_store_snapshot(w->store, round->ids, count, fields, &results.snapshot, error);
	if (r)
		return r;
	round->results = results;
	size_t n = results.snapshot.count;
	round->results.verdicts = rec_zalloc(results.snapshot.allocator, n, sizeof *results.verdicts);
	round->results.believed = rec_alloc(results.snapshot.allocator, n);
	if (w->apply)
		round->applied = rec_zalloc(w->allocator, n, sizeof *round->applied);
	if (!round->results.verdicts || !round->results.believed || (w->apply && !round->applied))
		return rec_fail_nomem(error);
	return 0;
}

/* Gives every task of a snapshot of all its slot. */
static int round_enter(struct rec_watch *w, struct round *round, struct rec_error *error)
{
	const struct rec_snapshot *snapshot = &round->results.snapshot;
	round->slots = rec_zalloc(w->allocator, snapshot->count, sizeof *round->slots);
	if (!round->slots)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < snapshot->count; i++) {
		int r = rec_watch_table_add(&w->table, snapshot->ids[i], &round->slots[i], error);
		if (r)
			return r;
		w->table.items[round->slots[i]].flags |= REC_WATCHED_SEEN;
	}
	return 0;
}

static struct rec_verdict decide(const struct rec_watch *w, const struct rec_fact *fact, enum rec_status believed)
{
	return w->apply ? rec_apply_fact(w->kind, fact, believed) : rec_check_fact(w->kind, fact, believed);
}

static int round_decide(const struct rec_watch *w, struct round *round, struct rec_error *error)
{
	struct rec_results *results = &round->results;
	for (size_t i = 0; i < results->snapshot.count; i++) {
		results->believed[i] = w->table.items[round->slots[i]].believed;
		results->verdicts[i] = decide(w, &results->snapshot.facts[i], (enum rec_status)results->believed[i]);
	}
	if (!w->apply)
		return 0;
	return rec_apply_results(w->store, w->kind, w->batch_id, results, round->applied, error);
}

/* ---- Telling ---- */

static bool is_news(const struct rec_watched *item, struct rec_verdict verdict, uint32_t raw_hash)
{
	if (item->flags & REC_WATCHED_KNOWN)
		return !rec_verdict_equal(item->verdict, verdict) || item->raw_hash != raw_hash;
	return verdict.action != REC_NONE || verdict.discrepancy;
}

/* Neither in the store nor believed (or nothing but what is believed is watched): no longer our business. */
static bool is_gone(const struct rec_watch *w, const struct rec_watched *item)
{
	return !(item->flags & REC_WATCHED_NAMED) && item->believed == REC_STATUS_ABSENT &&
	       (w->only_believed || item->verdict.stored == REC_STATUS_ABSENT);
}

static int task_tell(struct rec_watch *w, struct round *round, uint32_t slot, struct rec_verdict verdict,
		     struct rec_slice raw, int applied)
{
	struct rec_watched *item = &w->table.items[slot];
	uint32_t raw_hash = raw.data ? (uint32_t)rec_hash(raw, w->raw_seed) : 0;
	bool news = is_news(item, verdict, raw_hash);
	item->verdict = verdict;
	item->raw_hash = raw_hash;
	item->flags |= REC_WATCHED_KNOWN;
	int r = 0;
	if (news) {
		struct rec_result_view view;
		rec_verdict_view(verdict, w->table.ids[slot], raw, &view);
		round->told++;
		r = round->fn(round->context, &view, applied);
	}
	if (is_gone(w, item))
		rec_watch_table_drop(&w->table, slot);
	return r;
}

static int round_tell(struct rec_watch *w, struct round *round, bool from_queue)
{
	const struct rec_results *results = &round->results;
	for (size_t i = 0; i < results->snapshot.count; i++) {
		struct rec_slice raw = {NULL, 0};
		if (results->verdicts[i].stored == REC_STATUS_UNRECOGNISED)
			raw = rec_snapshot_raw(&results->snapshot, i);
		if (from_queue)
			(void)rec_watch_table_unqueue(&w->table);
		int r = task_tell(w, round, round->slots[i], results->verdicts[i], raw,
				  round->applied ? round->applied[i] : -1);
		if (r)
			return r;
	}
	return 0;
}

/* After a snapshot of every task: what we know and it does not hold is missing in the store. */
static int missing_tell(struct rec_watch *w, struct round *round)
{
	const struct rec_fact missing = {.status = REC_STATUS_ABSENT};
	for (uint32_t slot = 0; slot < w->table.slots; slot++) {
		const struct rec_watched *item = &w->table.items[slot];
		if (!(item->flags & REC_WATCHED_USED) || item->flags & REC_WATCHED_SEEN)
			continue;
		struct rec_verdict verdict = decide(w, &missing, (enum rec_status)item->believed);
		int r = task_tell(w, round, slot, verdict, (struct rec_slice){NULL, 0}, w->apply ? 0 : -1);
		if (r)
			return r;
	}
	return 0;
}

/* ---- Looks ---- */

static int look_at_queue(struct rec_watch *w, struct round *round, struct rec_error *error)
{
	size_t count;
	int r = round_of_queue(w, round, &count, error);
	if (r == 0)
		r = round_snapshot(w, round, count, error);
	if (r == 0)
		r = round_decide(w, round, error);
	return r ? r : round_tell(w, round, true);
}

/* Everything is looked at, so nothing needs to wait. */
static void queue_empty(struct rec_watch *w)
{
	while (w->table.queued)
		(void)rec_watch_table_unqueue(&w->table);
	for (size_t slot = 0; slot < w->table.slots; slot++)
		w->table.items[slot].flags &= (uint8_t)~REC_WATCHED_SEEN;
}

static int look_at_all(struct rec_watch *w, struct round *round, struct rec_error *error)
{
	size_t count = 0;
	queue_empty(w);
	int r = watches_all(w) ? 0 : round_of_table(w, round, &count, error);
	if (r == 0)
		r = round_snapshot(w, round, count, error);
	if (r == 0 && watches_all(w))
		r = round_enter(w, round, error);
	if (r == 0)
		r = round_decide(w, round, error);
	if (r == 0)
		r = round_tell(w, round, false);
	if (r == 0 && watches_all(w))
		r = missing_tell(w, round);
	return r;
}

int rec_watch_look(struct rec_watch *w, int64_t now_us, rec_watch_fn *fn, void *context, uint64_t *ret_told,
		   struct rec_error *error)
{
	struct round round = {.fn = fn, .context = context};
	int r = feed_read(w, error);
	if (r)
		return r;
	if (rec_watch_rescan_wait_us(w, now_us) == 0) {
		r = look_at_all(w, &round, error);
		if (r == 0) {
			w->full_due = false;
			w->scanned_us = now_us;
		}
	} else if (w->table.queued) {
		r = look_at_queue(w, &round, error);
	}
	round_close(w, &round);
	if (r == 0 && ret_told)
		*ret_told = round.told;
	return r;
}

int64_t rec_watch_rescan_wait_us(const struct rec_watch *w, int64_t now_us)
{
	int64_t waited = now_us - w->scanned_us;
	return w->full_due || waited >= w->rescan_interval_us ? 0 : w->rescan_interval_us - waited;
}
