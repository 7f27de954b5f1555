/* belief.h - what the running batch holds in memory: an ordered list of ids with a status each, and the
 * parser of batch state files. */
#ifndef REC_ENGINE_BELIEF_H
#define REC_ENGINE_BELIEF_H

#include "base/error.h"
#include "base/idmap.h"
#include "base/json.h"
#include "core/status.h"

/* Ids in the order in which they first appeared; they never move in memory, the array of them does.
 * statuses[i] is the belief about ids[i]. About 80 bytes an id of 36 bytes. */
struct rec_belief {
	const struct rec_allocator *allocator;
	struct rec_arena arena;
	struct rec_slice *ids;
	uint8_t *statuses; /* enum rec_status; ABSENT: forgotten */
	size_t count, capacity;
	struct rec_idmap map;
};
/* hash_seed: rec_random_u64(), or anything fixed in a test. */
void rec_belief_init(struct rec_belief *b, const struct rec_allocator *a, uint64_t hash_seed);
void rec_belief_release(struct rec_belief *b);
/* Adds an id (copied), or tells where it is: 0, REC_EXISTS (nothing changed). *ret_index is set in both cases and
 * may be NULL. REC_E_NOMEM, REC_E_INVALID (not a task id; a status that is neither
 * one of the seven nor ABSENT), REC_E_LIMIT. Average O(length of the id). */
int rec_belief_add(struct rec_belief *b, struct rec_slice id, enum rec_status status, uint32_t *ret_index,
		   struct rec_error *error);
/* Adds or changes. Results as rec_belief_add, but never REC_EXISTS. */
int rec_belief_set(struct rec_belief *b, struct rec_slice id, enum rec_status status, uint32_t *ret_index,
		   struct rec_error *error);
/* The belief about id, ABSENT if nothing is held. */
enum rec_status rec_belief_of(const struct rec_belief *b, struct rec_slice id);

/* Sans-IO parser of a batch state: feed it bytes in pieces of any size, finish it. Two forms:
 *
 *     {"id":"STATUS", ...}                      one object, nothing after it
 *     {"task_id":"...","status":"..."} ...      NDJSON: one object after another, blank lines are fine
 *
 * An object is NDJSON if its first key is "task_id" (or "status", and then the next one is "task_id") and the
 * value of "task_id" is not itself the name of a status. So a batch with tasks called "task_id" and "status" can
 * be said ({"task_id":"READY","status":"DONE"} is the object form), and the one thing that cannot is a NDJSON
 * whose first task has the name of a status for its id; the object form can say it. In NDJSON both keys must be
 * there, in either order, and no other.
 *
 * Statuses are the seven, RUNNING and COMPLETED. Duplicate id, bad id, unknown status, wrong type, empty input,
 * broken JSON, content after the object form, one form after the other: REC_E_INVALID (or REC_E_LIMIT for a text
 * over 64 KiB) with a message that names line, column, byte and value. After an error only release; the belief
 * is unusable. Streams: memory grows with the ids only. */
struct rec_belief_parser {
	struct rec_json_reader reader;
	struct rec_belief *belief;
	bool live;              /* live updates (watch): NDJSON only, repeated ids are changes, status null forgets */
	uint8_t state, form;    /* belief-parser.c */
	uint8_t seen;           /* which keys this line had */
	uint8_t pending_status; /* the line's, until the line ends */
	uint32_t index;         /* the id that waits for its status */
	uint64_t documents;
	void (*on_update)(void *context, uint32_t index); /* live only: told after each update; may be NULL */
	void *context;
};
void rec_belief_parser_init(struct rec_belief_parser *p, struct rec_belief *belief, bool live);
void rec_belief_parser_release(struct rec_belief_parser *p);
/* Consumes all of `bytes`. A live update takes effect with the closing brace of its line. */
int rec_belief_parser_feed(struct rec_belief_parser *p, struct rec_slice bytes, struct rec_error *error);
/* No more input: what is incomplete or missing is an error. Live input may be empty. */
int rec_belief_parser_finish(struct rec_belief_parser *p, struct rec_error *error);

#endif
