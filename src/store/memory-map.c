/* memory-map.c - an array of branches, each with a leaf: a sorted array of up to 256 cells. Branches and cells hold the
 * first eight bytes of their key as a number, so that most comparisons touch neither node nor key. (A skip
 * list was three times slower at a million keys: most of its forty comparisons missed the cache.)
 *
 * A node carries two row pointers. A put changes the working one only and links the node into the list of dirty
 * ones; commit copies working over committed, rollback the other way, and a node left without any row is
 * taken out. */
#include "store/memory-map.h"

#include <endian.h>

#define LEAF_CELLS 256u

struct rec_memory_node {
	struct rec_memory_row *rows[2]; /* by enum rec_memory_view */
	struct rec_memory_node *dirty_next;
	uint32_t key_length;
	bool dirty;
	char key[];
};

struct cell {
	uint64_t prefix;
	struct rec_memory_node *node;
};

struct leaf {
	size_t count;
	struct cell cells[LEAF_CELLS];
};

struct rec_memory_branch {
	uint64_t prefix; /* of the leaf's first cell */
	struct leaf *leaf;
};

/* ---- Rows ---- */

void *rec_memory_row_new(const struct rec_allocator *a, size_t size)
{
	struct rec_memory_row *row = rec_alloc(a, size);
	if (row)
		row->references = 1;
	return row;
}

void *rec_memory_row_share(void *row)
{
	if (row)
		((struct rec_memory_row *)row)->references++;
	return row;
}

void rec_memory_row_drop(const struct rec_allocator *a, void *row)
{
	if (row && --((struct rec_memory_row *)row)->references == 0)
		rec_free(a, row);
}

/* ---- Nodes ---- */

static struct rec_memory_node *node_new(const struct rec_allocator *a, struct rec_slice key)
{
	struct rec_memory_node *node = rec_zalloc(a, 1, sizeof *node + key.length);
	if (!node)
		return NULL;
	if (key.length)
		memcpy(node->key, key.data, key.length);
	node->key_length = (uint32_t)key.length;
	return node;
}

static void node_free(const struct rec_allocator *a, struct rec_memory_node *node)
{
	rec_memory_row_drop(a, node->rows[REC_MEMORY_COMMITTED]);
	rec_memory_row_drop(a, node->rows[REC_MEMORY_WORKING]);
	rec_free(a, node);
}

static struct rec_slice node_key(const struct rec_memory_node *node)
{
	return (struct rec_slice){node->key, node->key_length};
}

/* The first eight bytes as a number that orders as they do; a short key is filled up with NULs. */
static uint64_t key_prefix(struct rec_slice key)
{
	uint64_t prefix = 0;
	memcpy(&prefix, key.length ? key.data : "", key.length < sizeof prefix ? key.length : sizeof prefix);
	return be64toh(prefix);
}

/* ---- Places ---- */

/* A key that is looked for. */
struct wanted {
	struct rec_slice key;
	uint64_t prefix;
};

static struct wanted wanted_of(struct rec_slice key)
{
	return (struct wanted){key, key_prefix(key)};
}

static bool cell_before(const struct cell *cell, const struct wanted *wanted)
{
	if (cell->prefix != wanted->prefix)
		return cell->prefix < wanted->prefix;
	return rec_slice_compare(node_key(cell->node), wanted->key) < 0;
}

/* A cell. branch_count, or the leaf's count, stand for "behind the last". */
struct place {
	size_t branch, position;
};

static bool branch_before(const struct rec_memory_branch *branch, const struct wanted *wanted)
{
	if (branch->prefix != wanted->prefix)
		return branch->prefix < wanted->prefix;
	return cell_before(branch->leaf->cells, wanted);
}

/* The last branch that begins before the key, or the first. */
static size_t branch_seek(const struct rec_memory_map *m, const struct wanted *wanted)
{
	size_t low = 0, high = m->branch_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (branch_before(&m->branches[middle], wanted))
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

/* Where the first key >= wanted is, or would be put. */
static struct place seek(const struct rec_memory_map *m, const struct wanted *wanted)
{
	struct place place = {0, 0};
	if (m->branch_count == 0)
		return place;
	const struct leaf *last = m->branches[m->branch_count - 1].leaf;
	if (cell_before(&last->cells[last->count - 1], wanted)) /* keys tend to come in their order */
		return (struct place){m->branch_count - 1, last->count};
	place.branch = branch_seek(m, wanted);
	const struct leaf *leaf = m->branches[place.branch].leaf;
	size_t high = leaf->count;
	while (place.position < high) {
		size_t middle = place.position + (high - place.position) / 2;
		if (cell_before(&leaf->cells[middle], wanted))
			place.position = middle + 1;
		else
			high = middle;
	}
	return place;
}

/* The same place; behind the last cell of a leaf is the beginning of the next. */
static struct place place_settle(const struct rec_memory_map *m, struct place place)
{
	if (place.branch < m->branch_count && place.position == m->branches[place.branch].leaf->count)
		return (struct place){place.branch + 1, 0};
	return place;
}

static struct rec_memory_node *node_at(const struct rec_memory_map *m, struct place place)
{
	place = place_settle(m, place);
	return place.branch < m->branch_count ? m->branches[place.branch].leaf->cells[place.position].node : NULL;
}

static struct rec_memory_node *find(const struct rec_memory_map *m, struct rec_slice key)
{
	const struct wanted wanted = wanted_of(key);
	struct rec_memory_node *node = node_at(m, seek(m, &wanted));
	return node && rec_slice_equal(node_key(node), key) ? node : NULL;
}

/* ---- Leaves ---- */

/* Puts a branch with an empty leaf in place `at`. */
static int branch_insert(struct rec_memory_map *m, size_t at)
{
	if (rec_grow(m->allocator, (void **)&m->branches, &m->branch_capacity, m->branch_count + 1,
		     sizeof *m->branches) < 0)
		return REC_E_NOMEM;
	struct leaf *leaf = rec_alloc(m->allocator, sizeof *leaf);
	if (!leaf)
		return REC_E_NOMEM;
	leaf->count = 0;
	memmove(m->branches + at + 1, m->branches + at, (m->branch_count - at) * sizeof *m->branches);
	m->branches[at] = (struct rec_memory_branch){.leaf = leaf};
	m->branch_count++;
	return 0;
}

static void branch_remove(struct rec_memory_map *m, size_t at)
{
	rec_free(m->allocator, m->branches[at].leaf);
	m->branch_count--;
	memmove(m->branches + at, m->branches + at + 1, (m->branch_count - at) * sizeof *m->branches);
}

static void cell_insert(struct rec_memory_branch *branch, size_t position, struct cell cell)
{
	struct leaf *leaf = branch->leaf;
	memmove(leaf->cells + position + 1, leaf->cells + position, (leaf->count - position) * sizeof cell);
	leaf->cells[position] = cell;
	leaf->count++;
	branch->prefix = leaf->cells[0].prefix;
}

static void cell_remove(struct rec_memory_branch *branch, size_t position)
{
	struct leaf *leaf = branch->leaf;
	leaf->count--;
	memmove(leaf->cells + position, leaf->cells + position + 1, (leaf->count - position) * sizeof *leaf->cells);
	branch->prefix = leaf->count ? leaf->cells[0].prefix : 0;
}

/* Moves all but the first `kept` cells into the empty leaf of the next branch. */
static void leaf_split(struct rec_memory_branch *branch, size_t kept)
{
	struct leaf *full = branch[0].leaf, *fresh = branch[1].leaf;
	fresh->count = full->count - kept;
	memcpy(fresh->cells, full->cells + kept, fresh->count * sizeof *fresh->cells);
	full->count = kept;
	branch[1].prefix = fresh->count ? fresh->cells[0].prefix : 0;
}

/* Makes room at a place. Keys that come in order fill their leaves: a new last one gets a leaf of its own. */
static int leaf_room(struct rec_memory_map *m, struct place *place)
{
	if (m->branch_count == 0)
		return branch_insert(m, 0);
	if (m->branches[place->branch].leaf->count < LEAF_CELLS)
		return 0;
	if (branch_insert(m, place->branch + 1) < 0)
		return REC_E_NOMEM;
	bool last = place->branch + 2 == m->branch_count && place->position == LEAF_CELLS;
	size_t kept = last ? LEAF_CELLS : LEAF_CELLS / 2;
	leaf_split(&m->branches[place->branch], kept);
	if (place->position > kept || last)
		*place = (struct place){place->branch + 1, place->position - kept};
	return 0;
}

/* ---- The map ---- */

void rec_memory_map_init(struct rec_memory_map *m, const struct rec_allocator *a)
{
	*m = (struct rec_memory_map){.allocator = a};
}

void rec_memory_map_release(struct rec_memory_map *m)
{
	for (size_t i = 0; i < m->branch_count; i++) {
		struct leaf *leaf = m->branches[i].leaf;
		for (size_t k = 0; k < leaf->count; k++)
			node_free(m->allocator, leaf->cells[k].node);
		rec_free(m->allocator, leaf);
	}
	rec_free(m->allocator, m->branches);
	rec_memory_map_init(m, m->allocator);
}

void *rec_memory_map_get(const struct rec_memory_map *m, enum rec_memory_view view, struct rec_slice key)
{
	struct rec_memory_node *node = find(m, key);
	return node ? node->rows[view] : NULL;
}

static struct rec_memory_node *insert(struct rec_memory_map *m, struct rec_slice key)
{
	const struct wanted wanted = wanted_of(key);
	struct place place = seek(m, &wanted);
	struct rec_memory_node *node = node_at(m, place);
	if (node && rec_slice_equal(node_key(node), key))
		return node;
	node = node_new(m->allocator, key);
	if (!node || leaf_room(m, &place) < 0)
		return rec_free(m->allocator, node);
	cell_insert(&m->branches[place.branch], place.position, (struct cell){wanted.prefix, node});
	return node;
}

static void unlink_node(struct rec_memory_map *m, struct rec_memory_node *node)
{
	const struct wanted wanted = wanted_of(node_key(node));
	struct place place = place_settle(m, seek(m, &wanted));
	cell_remove(&m->branches[place.branch], place.position);
	if (m->branches[place.branch].leaf->count == 0)
		branch_remove(m, place.branch);
	node_free(m->allocator, node);
}

int rec_memory_map_put(struct rec_memory_map *m, struct rec_slice key, void *row)
{
	struct rec_memory_node *node = row ? insert(m, key) : find(m, key);
	if (!node) {
		rec_memory_row_drop(m->allocator, row);
		return row ? REC_E_NOMEM : 0;
	}
	rec_memory_row_drop(m->allocator, node->rows[REC_MEMORY_WORKING]);
	node->rows[REC_MEMORY_WORKING] = row;
	if (!node->dirty) {
		node->dirty = true;
		node->dirty_next = NULL;
		if (m->dirty)
			m->dirty_last->dirty_next = node;
		else
			m->dirty = node;
		m->dirty_last = node;
	}
	return 0;
}

int rec_memory_map_dirty(const struct rec_memory_map *m, rec_memory_dirty_fn *fn, void *context)
{
	int r = 0;
	for (struct rec_memory_node *node = m->dirty; r >= 0 && node; node = node->dirty_next)
		r = fn(context, node_key(node), node->rows[REC_MEMORY_COMMITTED], node->rows[REC_MEMORY_WORKING]);
	return r;
}

/* Makes both versions of every dirty node agree with the one to keep. */
static void settle(struct rec_memory_map *m, enum rec_memory_view keep)
{
	while (m->dirty) {
		struct rec_memory_node *node = m->dirty;
		m->dirty = node->dirty_next;
		node->dirty = false;
		rec_memory_row_drop(m->allocator, node->rows[!keep]);
		node->rows[!keep] = rec_memory_row_share(node->rows[keep]);
		if (!node->rows[keep])
			unlink_node(m, node);
	}
}

void rec_memory_map_commit(struct rec_memory_map *m)
{
	settle(m, REC_MEMORY_WORKING);
}

void rec_memory_map_rollback(struct rec_memory_map *m)
{
	settle(m, REC_MEMORY_COMMITTED);
}

/* ---- Cursors ---- */

void rec_memory_cursor_init(struct rec_memory_cursor *c, const struct rec_memory_map *m, enum rec_memory_view view,
			    struct rec_slice from)
{
	const struct wanted wanted = wanted_of(from);
	struct place place = seek(m, &wanted);
	*c = (struct rec_memory_cursor){m, view, place.branch, place.position};
}

void *rec_memory_cursor_next(struct rec_memory_cursor *c, struct rec_slice *ret_key)
{
	for (; c->branch < c->map->branch_count; c->branch++, c->position = 0) {
		const struct leaf *leaf = c->map->branches[c->branch].leaf;
		while (c->position < leaf->count) {
			const struct rec_memory_node *node = leaf->cells[c->position++].node;
			if (node->rows[c->view]) {
				if (ret_key)
					*ret_key = node_key(node);
				return node->rows[c->view];
			}
		}
	}
	return NULL;
}
