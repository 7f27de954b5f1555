/* sqlite-sort.c - a list of ids in bytewise order, to be merged with an index of SQLite or searched.
 *
 * A hash of a million ids misses the cache three times for each id; sorted, the list is walked beside the index
 * and costs a fraction of that, and it serves the scans in no particular order as well, by binary search. Each
 * entry carries the 8 bytes that follow the common front of all ids ("task-"), which decide nearly every
 * comparison without a look at the text.
 *
 * The sort is radix, in place, by one byte after the other of that key (eight levels, kept in an array); few entries
 * are inserted, and those with equal keys are told apart by their texts.
 */
#include <endian.h>
#include <stdlib.h>

#include "store/sqlite.h"

#define FEW 64
typedef struct rec_sqlite_sorted_id entry;

/* ---- Keys ---- */

static uint64_t key_of(struct rec_slice id, size_t front)
{
	uint64_t key = 0;
	size_t rest = id.length - front;
	if (rest >= sizeof key)
		memcpy(&key, id.data + front, sizeof key);
	else if (rest > 0)
		memcpy(&key, id.data + front, rest);
	return be64toh(key);
}

static size_t common_length(struct rec_slice a, struct rec_slice b)
{
	size_t i = 0, shorter = a.length < b.length ? a.length : b.length;
	while (i < shorter && a.data[i] == b.data[i])
		i++;
	return i;
}

static struct rec_slice common_front(const struct rec_slice *ids, size_t count)
{
	struct rec_slice front = count ? ids[0] : (struct rec_slice){0};
	for (size_t i = 1; i < count && front.length; i++)
		front.length = common_length(front, ids[i]);
	return front;
}

static int compare(const struct rec_slice *ids, const entry *a, const entry *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	int order = rec_slice_compare(ids[a->index], ids[b->index]);
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* ---- Sorting ---- */

static void insert_few(const struct rec_slice *ids, entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		entry moving = entries[i];
		size_t j = i;
		for (; j > 0 && compare(ids, &entries[j - 1], &moving) > 0; j--)
			entries[j] = entries[j - 1];
		entries[j] = moving;
	}
}

static int compare_for_qsort(const void *a, const void *b, void *ids)
{
	return compare(ids, a, b);
}

/* One byte of the key: the entries between two ends have the same. */
struct level {
	entry *entries;
	uint32_t ends[256];
	unsigned next; /* the bucket to be sorted next */
};

/* Puts every entry into the bucket of its byte. */
static void scatter(struct level *level, entry *entries, size_t count, unsigned shift)
{
	uint32_t counts[256] = {0}, next[256], at = 0;
	for (size_t i = 0; i < count; i++)
		counts[entries[i].key >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++) {
		next[b] = at;
		level->ends[b] = at += counts[b];
	}
	for (unsigned b = 0; b < 256; b++)
		while (next[b] < level->ends[b]) {
			entry moving = entries[next[b]];
			unsigned to = moving.key >> shift & 255;
			if (to == b) {
				next[b]++;
				continue;
			}
			entries[next[b]] = entries[next[to]];
			entries[next[to]++] = moving;
		}
	level->entries = entries;
	level->next = 0;
}

/* Bucket by bucket, each one byte of the key deeper, down to few entries or the end of the key. */
static void sort_by_bytes(const struct rec_slice *ids, entry *entries, size_t count)
{
	enum { BYTES = sizeof(uint64_t) };
	struct level levels[BYTES];
	int depth = 0;
	scatter(&levels[0], entries, count, (BYTES - 1) * 8);
	while (depth >= 0) {
		struct level *level = &levels[depth];
		if (level->next == 256) {
			depth--;
			continue;
		}
		uint32_t begin = level->next ? level->ends[level->next - 1] : 0;
		uint32_t length = level->ends[level->next++] - begin;
		if (length <= FEW) {
			insert_few(ids, level->entries + begin, length);
		} else if (depth == BYTES - 1) {
			qsort_r(level->entries + begin, length, sizeof *entries, compare_for_qsort,
				(void *)(uintptr_t)ids);
		} else {
			depth++;
			scatter(&levels[depth], level->entries + begin, length, (unsigned)(BYTES - 1 - depth) * 8);
		}
	}
}

int rec_sqlite_sort(struct rec_sqlite_sorted *sorted, const struct rec_allocator *a, const struct rec_slice *ids,
		    size_t count, struct rec_error *error)
{
	*sorted = (struct rec_sqlite_sorted){.allocator = a, .count = count, .ids = ids};
	sorted->entries = rec_realloc_array(a, NULL, count, sizeof *sorted->entries);
	if (!sorted->entries)
		return rec_fail_nomem(error);
	sorted->common = common_front(ids, count);
	bool in_order = true;
	for (size_t i = 0; i < count; i++) {
		sorted->entries[i] = (entry){key_of(ids[i], sorted->common.length), (uint32_t)i};
		in_order = in_order && (i == 0 || compare(ids, &sorted->entries[i - 1], &sorted->entries[i]) < 0);
	}
	if (!in_order)
		sort_by_bytes(ids, sorted->entries, count);
	return 0;
}

void rec_sqlite_sorted_release(struct rec_sqlite_sorted *sorted)
{
	rec_free(sorted->allocator, sorted->entries);
	sorted->entries = NULL;
	sorted->count = 0;
}

/* ---- Searching ---- */

static bool smaller(const struct rec_sqlite_sorted *sorted, size_t at, uint64_t key, struct rec_slice id)
{
	const entry *e = &sorted->entries[at];
	if (e->key != key)
		return e->key < key;
	return rec_slice_compare(sorted->ids[e->index], id) < 0;
}

static size_t search(const struct rec_sqlite_sorted *sorted, size_t low, size_t high, uint64_t key, struct rec_slice id)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (smaller(sorted, middle, key, id))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All entries begin with `common`: an id that does not stands before or behind all of them. */
static bool outside(const struct rec_sqlite_sorted *sorted, struct rec_slice id, size_t *ret_position)
{
	size_t front = sorted->common.length;
	if (id.length >= front && (front == 0 || memcmp(id.data, sorted->common.data, front) == 0))
		return false;
	*ret_position = rec_slice_compare(id, sorted->common) < 0 ? 0 : sorted->count;
	return true;
}

/* Forward from `low`, whose predecessor is smaller: ever longer steps, then by halves. */
static size_t gallop(const struct rec_sqlite_sorted *sorted, size_t low, uint64_t key, struct rec_slice id)
{
	size_t high = low, step = 1;
	for (; high < sorted->count && smaller(sorted, high, key, id); high += step, step *= 2)
		low = high + 1;
	return search(sorted, low, high < sorted->count ? high : sorted->count, key, id);
}

size_t rec_sqlite_sorted_seek(struct rec_sqlite_sorted *sorted, struct rec_slice id, bool *ret_equal)
{
	size_t position, near = sorted->near;
	*ret_equal = false;
	if (outside(sorted, id, &position))
		return position;
	uint64_t key = key_of(id, sorted->common.length);
	bool forward = near < sorted->count && smaller(sorted, near, key, id);
	/* In a merge the next one is nearly always it. */
	near += forward;
	if (forward && near < sorted->count && sorted->entries[near].key == key &&
	    rec_slice_equal(sorted->ids[sorted->entries[near].index], id)) {
		*ret_equal = true;
		return sorted->near = near;
	}
	if (forward)
		position = gallop(sorted, near, key, id);
	else if (near > 0 && smaller(sorted, near - 1, key, id))
		position = near; /* between the last one found and its neighbour: not in the list */
	else
		position = search(sorted, 0, near, key, id);
	sorted->near = position;
	/* In sorted order the texts lie anywhere; in a sweep those that are compared next are known by now. (A function
	 * that did nothing but this would be taken for one without effect, and left out.) */
	if (position + 2 * REC_SQLITE_AHEAD < sorted->count) {
		__builtin_prefetch(&sorted->ids[sorted->entries[position + 2 * REC_SQLITE_AHEAD].index]);
		__builtin_prefetch(sorted->ids[sorted->entries[position + REC_SQLITE_AHEAD].index].data);
	}
	*ret_equal = position < sorted->count && rec_slice_equal(sorted->ids[sorted->entries[position].index], id);
	return position;
}
