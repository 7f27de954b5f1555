/* doctor-visit.h - what doctor.c has read and doctor-tell.c tells. */
#ifndef REC_ENGINE_DOCTOR_VISIT_H
#define REC_ENGINE_DOCTOR_VISIT_H

#include "base/idmap.h"
#include "core/graph.h"
#include "engine/doctor-words.h"

enum rec_node_flags {
	REC_NODE_PARENT = 1,   /* some task names it as its parent */
	REC_NODE_RUNNING = 2,  /* there is a RUNNING run of it */
	REC_NODE_BAD_FILE = 4, /* its file is no task: told as that */
};

/* A reference to an id that the snapshot does not have. */
struct rec_missing_reference {
	uint32_t task;
	bool parent;
	struct rec_slice id;
};
struct rec_bad_row {
	struct rec_slice task_id;
	const char *column, *problem, *shown;
};
struct rec_seen_claim {
	int64_t claim_id;
	struct rec_slice batch_id;
	bool stale, seen_again;
	int64_t lease_left_us;
};

struct rec_doctor {
	struct rec_store *store;
	const struct rec_allocator *allocator;
	struct rec_teller teller;
	struct rec_snapshot snapshot; /* every task; a node's number is its index */
	struct rec_idmap map;
	uint8_t *flags;
	struct rec_graph *dependencies, *parents;
	struct rec_arena arena;
	struct rec_missing_reference *missing;
	struct rec_bad_row *rows;
	struct rec_seen_claim *claims;
	struct rec_slice *claim_tasks; /* [claim_count] whose claim; a task has at most one */
	struct rec_idmap claim_map;
	uint32_t *idle; /* IN_PROGRESS with neither a claim nor a run */
	size_t missing_count, missing_capacity, row_count, row_capacity, claim_count, claim_capacity,
		claim_task_capacity, idle_count, idle_capacity;
	bool failed; /* a callback ran out of memory */
};

/* The number of a task; REC_IDMAP_NONE: the snapshot does not have it. */
uint32_t rec_doctor_node(const struct rec_doctor *d, struct rec_slice id);

/* Tells every finding. 0, what the teller's fn returned, or an error. */
int rec_doctor_tell(struct rec_doctor *d, struct rec_error *error);

#endif
