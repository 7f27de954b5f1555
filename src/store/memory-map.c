/* memory-map.c - a skip list whose nodes carry two row pointers. A put changes the working pointer only and
 * links the node into the list of dirty ones; commit copies working over committed, rollback the other way,
 * and a node left without any row is unlinked. The heights come from a generator of the map's own, so that
 * the same operations always build the same list. */
#include "store/memory-map.h"

#define HEIGHT_MAX 20 /* one in four goes a level up: enough for 4^20 keys */

struct rec_memory_node {
	struct rec_memory_row *rows[2]; /* by enum rec_memory_view */
	struct rec_memory_node *dirty_next;
	const char *key;
	uint32_t key_length;
	uint8_t height;
	bool dirty;
	struct rec_memory_node *next[]; /* [height], then the key's bytes */
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

static struct rec_memory_node *node_new(const struct rec_allocator *a, struct rec_slice key, unsigned height)
{
	size_t links = height * sizeof(struct rec_memory_node *);
	struct rec_memory_node *node = rec_zalloc(a, 1, sizeof *node + links + key.length);
	if (!node)
		return NULL;
	char *bytes = (char *)node->next + links;
	if (key.length)
		memcpy(bytes, key.data, key.length);
	node->key = bytes;
	node->key_length = (uint32_t)key.length;
	node->height = (uint8_t)height;
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

static unsigned random_height(struct rec_memory_map *m)
{
	unsigned height = 1;
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	for (uint64_t bits = m->random; height < HEIGHT_MAX && (bits & 3) == 0; bits >>= 2)
		height++;
	return height;
}

/* ---- The map ---- */

void rec_memory_map_init(struct rec_memory_map *m, const struct rec_allocator *a)
{
	*m = (struct rec_memory_map){.allocator = a, .random = UINT64_C(0x9e3779b97f4a7c15)};
}

void rec_memory_map_release(struct rec_memory_map *m)
{
	for (struct rec_memory_node *node = m->head, *next; node; node = next) {
		next = node->next[0];
		node_free(m->allocator, node);
	}
	m->head = m->dirty = NULL;
}

/* The first node with a key >= key, and (if asked) the node before it on every level. */
static struct rec_memory_node *seek(const struct rec_memory_map *m, struct rec_slice key,
				    struct rec_memory_node *before[HEIGHT_MAX])
{
	struct rec_memory_node *node = m->head;
	if (!node)
		return NULL;
	for (unsigned level = HEIGHT_MAX; level-- > 0;) {
		while (node->next[level] && rec_slice_compare(node_key(node->next[level]), key) < 0)
			node = node->next[level];
		if (before)
			before[level] = node;
	}
	return node->next[0];
}

static struct rec_memory_node *find(const struct rec_memory_map *m, struct rec_slice key,
				    struct rec_memory_node *before[HEIGHT_MAX])
{
	struct rec_memory_node *node = seek(m, key, before);
	return node && rec_slice_equal(node_key(node), key) ? node : NULL;
}

void *rec_memory_map_get(const struct rec_memory_map *m, enum rec_memory_view view, struct rec_slice key)
{
	struct rec_memory_node *node = find(m, key, NULL);
	return node ? node->rows[view] : NULL;
}

static struct rec_memory_node *insert(struct rec_memory_map *m, struct rec_slice key)
{
	struct rec_memory_node *before[HEIGHT_MAX];
	if (!m->head)
		m->head = node_new(m->allocator, (struct rec_slice){0}, HEIGHT_MAX);
	if (!m->head)
		return NULL;
	struct rec_memory_node *node = find(m, key, before);
	if (node)
		return node;
	node = node_new(m->allocator, key, random_height(m));
	for (unsigned level = 0; node && level < node->height; level++) {
		node->next[level] = before[level]->next[level];
		before[level]->next[level] = node;
	}
	return node;
}

static void unlink_node(struct rec_memory_map *m, struct rec_memory_node *node)
{
	struct rec_memory_node *before[HEIGHT_MAX];
	find(m, node_key(node), before);
	for (unsigned level = 0; level < node->height; level++)
		before[level]->next[level] = node->next[level];
	node_free(m->allocator, node);
}

int rec_memory_map_put(struct rec_memory_map *m, struct rec_slice key, void *row)
{
	struct rec_memory_node *node = row ? insert(m, key) : find(m, key, NULL);
	if (!node) {
		rec_memory_row_drop(m->allocator, row);
		return row ? REC_E_NOMEM : 0;
	}
	rec_memory_row_drop(m->allocator, node->rows[REC_MEMORY_WORKING]);
	node->rows[REC_MEMORY_WORKING] = row;
	if (!node->dirty) {
		node->dirty = true;
		node->dirty_next = m->dirty;
		m->dirty = node;
	}
	return 0;
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
	*c = (struct rec_memory_cursor){seek(m, from, NULL), view};
}

void *rec_memory_cursor_next(struct rec_memory_cursor *c, struct rec_slice *ret_key)
{
	while (c->next) {
		const struct rec_memory_node *node = c->next;
		c->next = node->next[0];
		if (node->rows[c->view]) {
			if (ret_key)
				*ret_key = node_key(node);
			return node->rows[c->view];
		}
	}
	return NULL;
}
