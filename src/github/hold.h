/* hold.h - what is not to be asked again at once: links that GitHub refused lately, and anything at all during a pause.
 * The only thing that this program keeps in memory between two requests; losing it costs one request a link. */
#ifndef REC_GITHUB_HOLD_H
#define REC_GITHUB_HOLD_H

#include "base/memory.h"
#include "base/slice.h"

#define GH_HOLDS_MAX 4096 /* more are not held */

/* Until when nothing is asked (our clock). strikes: how often in a row a limit did not tell for how long. share: what
 * is left of the budget is left to people; else GitHub asked for it. */
struct gh_pause {
	int64_t until_s;
	unsigned strikes;
	bool share;
};

struct gh_holds {
	const struct rec_allocator *allocator;
	struct gh_hold {
		uint64_t url; /* its hash */
		int64_t until_s;
	} * items;
	size_t count, capacity;
	uint64_t seed;
	size_t turn;           /* as the cursor, which is not kept if a pass ended with a problem; 0: as that says */
	struct gh_pause pause; /* other processes heed what the answer says */
};
void gh_holds_init(struct gh_holds *h, const struct rec_allocator *a, uint64_t seed);
void gh_holds_release(struct gh_holds *h);
/* By our clock; forgets what is over. 0 or REC_E_NOMEM. */
int gh_holds_put(struct gh_holds *h, struct rec_slice url, int64_t now_s, int64_t until_s);
bool gh_holds_has(const struct gh_holds *h, struct rec_slice url, int64_t now_s);

#endif
