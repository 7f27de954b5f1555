/* idmap.c - linear probing over cells of eight bytes that hold 32 bits of the hash beside the index, so that
 * an id's own memory is touched only when those agree. A cell's home is its hash bits scaled to the capacity
 * (a multiplication, not a mask): any capacity will do, and growing keeps the cells' order, so that the old
 * cells stream into the new ones front to back.
 *
 * The hash multiplies 64 x 64 bits and folds the product. Both factors of every product depend on the seed:
 * with a known constant on one side, ids could be made whose product is always 0. */
#include "base/idmap.h"

#include "base/utf8.h"

#define CELLS_FIRST 16u
#define FIND_GROUP 32u
#define CELLS_LARGEST (UINT64_C(1) << 32)

/* Odd numbers with about as many ones as zeros: the first digits of pi. */
#define KEY_0 UINT64_C(0x243f6a8885a308d3)
#define KEY_1 UINT64_C(0x13198a2e03707345)
#define KEY_2 UINT64_C(0xa4093822299f31d1)

static inline uint64_t multiply_fold(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__) && !defined(REC_PORTABLE)
	__extension__ typedef unsigned __int128 product_type;
	product_type product = (product_type)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	uint64_t a_high = a >> 32, a_low = (uint32_t)a, b_high = b >> 32, b_low = (uint32_t)b;
	uint64_t low = a_low * b_low, middle_a = a_high * b_low, middle_b = a_low * b_high;
	uint64_t middle = (low >> 32) + (uint32_t)middle_a + (uint32_t)middle_b;
	uint64_t high = a_high * b_high + (middle_a >> 32) + (middle_b >> 32) + (middle >> 32);
	return (middle << 32 | (uint32_t)low) ^ high;
#endif
}

static inline uint64_t load_u32(const char *bytes)
{
	uint32_t word;
	memcpy(&word, bytes, sizeof word);
	return word;
}

/* The last 1 to 16 bytes as two words; their order is unambiguous because the length is mixed in as well. */
static inline void load_tail(const char *p, size_t length, uint64_t *a, uint64_t *b)
{
	if (length >= 8) {
		*a = rec_load_u64(p);
		*b = rec_load_u64(p + length - 8);
	} else if (length >= 4) {
		*a = load_u32(p);
		*b = load_u32(p + length - 4);
	} else {
		*a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[length / 2] << 8 |
		     (unsigned char)p[length - 1];
		*b = 0;
	}
}

uint64_t rec_hash(struct rec_slice bytes, uint64_t seed)
{
	uint64_t key = seed ^ KEY_0, hash = (seed << 32 | seed >> 32) ^ KEY_1;
	const char *p = bytes.data;
	size_t left = bytes.length;
	for (; left > 16; p += 16, left -= 16)
		hash = multiply_fold(rec_load_u64(p) ^ key, rec_load_u64(p + 8) ^ hash);
	uint64_t a = 0, b = 0;
	if (left)
		load_tail(p, left, &a, &b);
	hash = multiply_fold(a ^ key, b ^ hash);
	return multiply_fold(hash ^ KEY_2, key ^ (bytes.length * KEY_1));
}

/* ---- Cells ---- */

static inline uint64_t cell_hash(uint64_t cell)
{
	return cell >> 32;
}

static inline uint32_t cell_index(uint64_t cell)
{
	return (uint32_t)cell - 1;
}

static inline size_t cell_home(const struct rec_idmap *m, uint64_t hash)
{
	return (size_t)(hash * m->capacity >> 32);
}

static inline size_t cell_next(const struct rec_idmap *m, size_t at)
{
	return at + 1 == m->capacity ? 0 : at + 1;
}

void rec_idmap_init(struct rec_idmap *m, const struct rec_allocator *a, uint64_t seed)
{
	*m = (struct rec_idmap){.allocator = a, .seed = seed};
}

void rec_idmap_release(struct rec_idmap *m)
{
	rec_free(m->allocator, m->cells);
	rec_idmap_init(m, m->allocator, m->seed);
}

static void cell_place(struct rec_idmap *m, uint64_t cell)
{
	size_t at = cell_home(m, cell_hash(cell));
	while (m->cells[at])
		at = cell_next(m, at);
	m->cells[at] = cell;
}

static int idmap_resize(struct rec_idmap *m, uint64_t capacity)
{
	if (capacity > CELLS_LARGEST || capacity > SIZE_MAX / sizeof *m->cells)
		return REC_E_LIMIT;
	uint64_t *cells = rec_zalloc(m->allocator, (size_t)capacity, sizeof *cells);
	if (!cells)
		return REC_E_NOMEM;
	uint64_t *old = m->cells;
	size_t old_capacity = m->capacity;
	m->cells = cells;
	m->capacity = (size_t)capacity;
	for (size_t i = 0; i < old_capacity; i++)
		if (old[i])
			cell_place(m, old[i]);
	rec_free(m->allocator, old);
	return 0;
}

/* At most three cells in four are taken. */
static inline bool has_room(const struct rec_idmap *m, uint64_t count)
{
	return count <= (uint64_t)m->capacity / 4 * 3;
}

int rec_idmap_reserve(struct rec_idmap *m, size_t count)
{
	if (has_room(m, count))
		return 0;
	if (count > CELLS_LARGEST / 4 * 3)
		return REC_E_LIMIT;
	uint64_t capacity = ((uint64_t)count + 2) / 3 * 4;
	return idmap_resize(m, capacity < CELLS_FIRST ? CELLS_FIRST : capacity);
}

static int idmap_grow(struct rec_idmap *m)
{
	uint64_t doubled = m->capacity ? (uint64_t)m->capacity * 2 : CELLS_FIRST;
	return idmap_resize(m, doubled < CELLS_LARGEST || m->capacity == CELLS_LARGEST ? doubled : CELLS_LARGEST);
}

/* The cell that holds `id`, or the empty one where it belongs. The map has cells. */
static inline size_t cell_find(const struct rec_idmap *m, const struct rec_slice *ids, struct rec_slice id,
			       uint64_t hash)
{
	size_t at = cell_home(m, hash);
	for (uint64_t cell; (cell = m->cells[at]) != 0; at = cell_next(m, at))
		if (cell_hash(cell) == hash && rec_slice_equal(ids[cell_index(cell)], id))
			break;
	return at;
}

/* The first cell with this hash, almost always the right one; 0: none. */
static inline uint64_t cell_likely(const struct rec_idmap *m, uint64_t hash)
{
	size_t at = cell_home(m, hash);
	while (m->cells[at] && cell_hash(m->cells[at]) != hash)
		at = cell_next(m, at);
	return m->cells[at];
}

static inline uint64_t hash_bits(const struct rec_idmap *m, struct rec_slice id)
{
	return rec_hash(id, m->seed) >> 32;
}

uint32_t rec_idmap_find(const struct rec_idmap *m, const struct rec_slice *ids, struct rec_slice id)
{
	if (m->count == 0)
		return REC_IDMAP_NONE;
	uint64_t cell = m->cells[cell_find(m, ids, id, hash_bits(m, id))];
	return cell ? cell_index(cell) : REC_IDMAP_NONE;
}

/* Up to FIND_GROUP lookups side by side: each pass asks for the memory that the next one needs. */
static void find_group(const struct rec_idmap *m, const struct rec_slice *ids, const struct rec_slice *queries,
		       size_t count, uint32_t *out)
{
	uint64_t hashes[FIND_GROUP], cell;
	for (size_t i = 0; i < count; i++) {
		hashes[i] = hash_bits(m, queries[i]);
		__builtin_prefetch(&m->cells[cell_home(m, hashes[i])]);
	}
	for (size_t i = 0; i < count; i++)
		if ((cell = cell_likely(m, hashes[i])) != 0)
			__builtin_prefetch(&ids[cell_index(cell)]);
	for (size_t i = 0; i < count; i++)
		if ((cell = cell_likely(m, hashes[i])) != 0)
			__builtin_prefetch(ids[cell_index(cell)].data);
	for (size_t i = 0; i < count; i++) {
		cell = m->cells[cell_find(m, ids, queries[i], hashes[i])];
		out[i] = cell ? cell_index(cell) : REC_IDMAP_NONE;
	}
}

void rec_idmap_find_many(const struct rec_idmap *m, const struct rec_slice *ids, const struct rec_slice *queries,
			 size_t count, uint32_t *out)
{
	for (size_t i = 0; i < count && m->count == 0; i++)
		out[i] = REC_IDMAP_NONE;
	for (size_t i = 0; i < count && m->count; i += FIND_GROUP) {
		size_t left = count - i;
		find_group(m, ids, queries + i, left < FIND_GROUP ? left : FIND_GROUP, out + i);
	}
}

int rec_idmap_add(struct rec_idmap *m, const struct rec_slice *ids, uint32_t index, uint32_t *ret_first)
{
	if (!has_room(m, (uint64_t)m->count + 1)) {
		int r = idmap_grow(m);
		if (r)
			return r;
	}
	uint64_t hash = hash_bits(m, ids[index]);
	size_t at = cell_find(m, ids, ids[index], hash);
	if (m->cells[at]) {
		*ret_first = cell_index(m->cells[at]);
		return REC_EXISTS;
	}
	m->cells[at] = hash << 32 | ((uint64_t)index + 1);
	m->count++;
	return 0;
}

/* How far a cell lies behind its home. */
static inline size_t cell_distance(const struct rec_idmap *m, size_t at)
{
	size_t home = cell_home(m, cell_hash(m->cells[at]));
	return at >= home ? at - home : at + m->capacity - home;
}

bool rec_idmap_remove(struct rec_idmap *m, const struct rec_slice *ids, struct rec_slice id)
{
	if (m->count == 0)
		return false;
	size_t gap = cell_find(m, ids, id, hash_bits(m, id));
	if (!m->cells[gap])
		return false;
	/* Whatever follows without a break and would not come before its home moves into the gap. */
	size_t steps = 1;
	for (size_t at = cell_next(m, gap); m->cells[at]; at = cell_next(m, at), steps++)
		if (cell_distance(m, at) >= steps) {
			m->cells[gap] = m->cells[at];
			gap = at;
			steps = 0;
		}
	m->cells[gap] = 0;
	m->count--;
	return true;
}
