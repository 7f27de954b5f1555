/* selection.h - which tasks check, apply and watch look at, and what the batch believes about them. */
#ifndef REC_CLI_SELECTION_H
#define REC_CLI_SELECTION_H

#include "cli/cli.h"
#include "engine/check.h"

#define SELECTION_OPTIONS                                                                                              \
	{.name = "batch-state",                                                                                        \
	 .argument = "FILE",                                                                                           \
	 .help = "what the batch believes: {\"id\":\"STATUS\",...} or NDJSON; - reads standard input",                 \
	 .complete = COMPLETE_FILE},                                                                                   \
	{                                                                                                              \
		.name = "batch", .argument = "ID", .help = "the belief of a batch that this store remembers"           \
	}
#define SELECTION_WORDS(kinds, list)                                                                                   \
	{                                                                                                              \
		{.name = kinds, .choices = list, .optional = true},                                                    \
		{                                                                                                      \
			.name = "ID", .complete = COMPLETE_TASK, .optional = true, .repeated = true                    \
		}                                                                                                      \
	}
extern const char *const selection_kinds[]; /* tasks, blockers, trackers */

struct selection {
	enum rec_check_kind kind;
	bool trackers;         /* the kind is "trackers": kind says nothing */
	struct rec_slice *ids; /* NULL: none named */
	size_t id_count;
	const char *state_path, *batch; /* of the options; NULL: not given */
	struct rec_belief belief;
	bool believes; /* one of the two was given */
};
/* Reads words and options; no file yet. 0 or the exit status. Release afterwards in every case. */
int selection_init(struct selection *selection, struct cli *cli, const struct arguments *arguments);
void selection_release(struct selection *selection);
/* Fills the belief from the batch state file; before the store is opened. 0 or the exit status. */
int selection_read_state(struct selection *selection);
/* Fills the belief from the store's batch, if one was named. 0 or the exit status. */
int selection_read_batch(struct selection *selection, struct cli *cli);
/* Asks the trackers about what was selected; see sync_pass. The store is open, the state and the batch are read. */
int selection_sync(const struct selection *selection, struct cli *cli, bool apply, uint64_t *ret_calls);
/* The belief for rec_check: NULL if none was given. */
const struct rec_belief *selection_belief(const struct selection *selection);

#endif
