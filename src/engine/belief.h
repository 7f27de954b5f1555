/* belief.h - what the running batch holds in memory: an ordered list of ids with a status each, and the
 * parser of batch state files. */
#ifndef REC_ENGINE_BELIEF_H
#define REC_ENGINE_BELIEF_H

#include "base/error.h"
#include "base/idmap.h"
#include "base/json.h"
#include "core/status.h"

/* Ids in the order in which they first appeared. statuses[i] is the belief about ids[i]. */
struct rec_belief {
	const struct rec_allocator *allocator;
	struct rec_arena arena;
	struct rec_slice *ids;
	uint8_t *statuses; /* enum rec_status; ABSENT: forgotten */
	size_t count, capacity;
	struct rec_idmap map;
};
void rec_belief_init(struct rec_belief *b, const struct rec_allocator *a, uint64_t hash_seed);
void rec_belief_release(struct rec_belief *b);
/* Adds or changes; *ret_index (may be NULL). 0, REC_E_NOMEM, REC_E_INVALID (id), REC_E_LIMIT. */
int rec_belief_set(struct rec_belief *b, struct rec_slice id, enum rec_status status, uint32_t *ret_index,
		   struct rec_error *error);
/* The belief about id, ABSENT if nothing is held. */
enum rec_status rec_belief_of(const struct rec_belief *b, struct rec_slice id);

/* Sans-IO parser of a batch state: feed it bytes, finish it. Either a JSON object {"id":"STATUS",...} or NDJSON
 * {"task_id":"...","status":"..."}: told apart by the first object (an object whose keys are exactly task_id and
 * status, both texts, in either order, of which task_id... see belief.c). Duplicate id, unknown status, wrong type,
 * empty input, broken JSON: REC_E_INVALID naming line and column; the belief is then unusable. Streams: memory grows
 * with the ids only. */
struct rec_belief_parser {
	struct rec_json_reader reader;
	struct rec_belief *belief;
	uint8_t state, shape;
	bool live;             /* live updates (watch): repeated ids are changes, status null forgets */
	struct rec_buffer key; /* the id that waits for its status */
	uint64_t documents;
	int pending_status;
	void (*on_update)(void *context, uint32_t index); /* live only: told after each update; may be NULL */
	void *context;
};
void rec_belief_parser_init(struct rec_belief_parser *p, struct rec_belief *belief, bool live);
void rec_belief_parser_release(struct rec_belief_parser *p);
/* Consumes all of `bytes`. */
int rec_belief_parser_feed(struct rec_belief_parser *p, struct rec_slice bytes, struct rec_error *error);
int rec_belief_parser_finish(struct rec_belief_parser *p, struct rec_error *error);

#endif
