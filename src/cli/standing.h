/* standing.h - a batch as its store has it: every task with its stored status and whether a dependency keeps it. */
#ifndef REC_CLI_STANDING_H
#define REC_CLI_STANDING_H

#include "base/idmap.h"
#include "cli/batches.h"

struct standing_task {
	struct rec_batch_task row; /* texts in the standing's arena */
	bool unmet;                /* waits for a dependency */
};

struct standing {
	struct rec_batch batch;
	struct rec_arena arena;
	struct standing_task *tasks; /* by position */
	struct rec_slice *ids;       /* the same order */
	size_t count, capacity, id_capacity;
	struct rec_snapshot snapshot; /* of ids */
	struct rec_idmap map;
	struct batch_counts counts;
	bool living;
	/* dependencies of waiting tasks, while it is filled */
	struct standing_edge {
		size_t task;
		struct rec_slice on;
	} * edges;
	size_t edge_count, edge_capacity;
};

/* Fills *standing for the batch; two snapshots and one list, O(tasks of the store). 0 or the exit status. Release
 * afterwards in every case. */
int standing_read(struct cli *cli, const struct rec_batch *batch, struct standing *standing);
void standing_release(struct standing *standing);

#endif
