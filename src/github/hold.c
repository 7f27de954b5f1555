/* hold.c - a short list of hashes, searched from end to end. A moment too far ahead is a clock that was set back. */
#include "github/hold.h"

#include "base/idmap.h"
#include "github/pass.h"

void gh_holds_init(struct gh_holds *h, const struct rec_allocator *a, uint64_t seed)
{
	*h = (struct gh_holds){.allocator = a, .seed = seed};
}

void gh_holds_release(struct gh_holds *h)
{
	h->items = rec_free(h->allocator, h->items);
	h->count = h->capacity = 0;
}

static bool stands(const struct gh_hold *hold, int64_t now_s)
{
	return hold->until_s > now_s && hold->until_s <= now_s + GH_HOLD_S;
}

int gh_holds_put(struct gh_holds *h, struct rec_slice url, int64_t now_s, int64_t until_s)
{
	void *items = h->items;
	size_t kept = 0;
	for (size_t i = 0; i < h->count; i++)
		if (stands(&h->items[i], now_s))
			h->items[kept++] = h->items[i];
	h->count = kept;
	if (h->count >= GH_HOLDS_MAX)
		return 0;
	int r = rec_grow(h->allocator, &items, &h->capacity, h->count + 1, sizeof *h->items);
	if (r < 0)
		return r;
	h->items = items;
	h->items[h->count++] = (struct gh_hold){rec_hash(url, h->seed), until_s};
	return 0;
}

bool gh_holds_has(const struct gh_holds *h, struct rec_slice url, int64_t now_s)
{
	uint64_t hash = h->count ? rec_hash(url, h->seed) : 0;
	for (size_t i = 0; i < h->count; i++)
		if (h->items[i].url == hash && stands(&h->items[i], now_s))
			return true;
	return false;
}
