/* decide.c - what is to be done, as one constant table and two small rules.
 *
 * The table is written cell by cell in the order of tests/data/decision-table.tsv, so that the two can be
 * read side by side. Every cell is named by its statuses: a cell that is missing or moved cannot hide.
 */
#include "core/decide.h"

enum { AGREES = 0, DIFFERS = 1 }; /* the discrepancy column */

struct cell {
	uint8_t action, discrepancy, reason;
};

/* clang-format off: one cell, one line */
static const struct cell table[REC_STATUS_COUNT][REC_STATUS_COUNT + 1] = {
	[REC_BACKLOG][REC_STATUS_ABSENT] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_BACKLOG][REC_BACKLOG] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_BACKLOG][REC_READY] = {REC_SKIP, DIFFERS, REC_REASON_WITHDRAWN},
	[REC_BACKLOG][REC_IN_PROGRESS] = {REC_KILL, DIFFERS, REC_REASON_WITHDRAWN},
	[REC_BACKLOG][REC_BLOCKED] = {REC_SKIP, DIFFERS, REC_REASON_WITHDRAWN},
	[REC_BACKLOG][REC_FAILED] = {REC_SKIP, DIFFERS, REC_REASON_WITHDRAWN},
	[REC_BACKLOG][REC_DONE] = {REC_NONE, DIFFERS, REC_REASON_NO_SAFE_ACTION},
	[REC_BACKLOG][REC_MERGED] = {REC_NONE, DIFFERS, REC_REASON_NO_SAFE_ACTION},

	[REC_READY][REC_STATUS_ABSENT] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_READY][REC_BACKLOG] = {REC_REQUEUE, DIFFERS, REC_REASON_PROMOTED},
	[REC_READY][REC_READY] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_READY][REC_IN_PROGRESS] = {REC_NONE, DIFFERS, REC_REASON_START_NOT_RECORDED},
	[REC_READY][REC_BLOCKED] = {REC_REQUEUE, DIFFERS, REC_REASON_BLOCKED_RELEASED},
	[REC_READY][REC_FAILED] = {REC_REQUEUE, DIFFERS, REC_REASON_FAILED_RESET},
	[REC_READY][REC_DONE] = {REC_REQUEUE, DIFFERS, REC_REASON_REOPENED},
	[REC_READY][REC_MERGED] = {REC_NONE, DIFFERS, REC_REASON_NO_SAFE_ACTION},

	[REC_IN_PROGRESS][REC_STATUS_ABSENT] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_IN_PROGRESS][REC_BACKLOG] = {REC_NONE, DIFFERS, REC_REASON_STARTED_ELSEWHERE},
	[REC_IN_PROGRESS][REC_READY] = {REC_NONE, DIFFERS, REC_REASON_STARTED_ELSEWHERE},
	[REC_IN_PROGRESS][REC_IN_PROGRESS] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_IN_PROGRESS][REC_BLOCKED] = {REC_KILL, DIFFERS, REC_REASON_BLOCKED_OUTSIDE},
	[REC_IN_PROGRESS][REC_FAILED] = {REC_SKIP, DIFFERS, REC_REASON_COMPLETED_OUTSIDE},
	[REC_IN_PROGRESS][REC_DONE] = {REC_SKIP, DIFFERS, REC_REASON_COMPLETED_OUTSIDE},
	[REC_IN_PROGRESS][REC_MERGED] = {REC_SKIP, DIFFERS, REC_REASON_COMPLETED_OUTSIDE},

	[REC_BLOCKED][REC_STATUS_ABSENT] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_BLOCKED][REC_BACKLOG] = {REC_KILL, DIFFERS, REC_REASON_BLOCKED_OUTSIDE},
	[REC_BLOCKED][REC_READY] = {REC_KILL, DIFFERS, REC_REASON_BLOCKED_OUTSIDE},
	[REC_BLOCKED][REC_IN_PROGRESS] = {REC_KILL, DIFFERS, REC_REASON_BLOCKED_OUTSIDE},
	[REC_BLOCKED][REC_BLOCKED] = {REC_NONE, AGREES, REC_REASON_NO_ACTION_REQUIRED},
	[REC_BLOCKED][REC_FAILED] = {REC_SKIP, DIFFERS, REC_REASON_COMPLETED_WHILE_BLOCKED},
	[REC_BLOCKED][REC_DONE] = {REC_SKIP, DIFFERS, REC_REASON_COMPLETED_WHILE_BLOCKED},
	[REC_BLOCKED][REC_MERGED] = {REC_SKIP, DIFFERS, REC_REASON_COMPLETED_WHILE_BLOCKED},

	[REC_FAILED][REC_STATUS_ABSENT] = {REC_SKIP, AGREES, REC_REASON_ALREADY_TERMINAL},
	[REC_FAILED][REC_BACKLOG] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_FAILED][REC_READY] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_FAILED][REC_IN_PROGRESS] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_FAILED][REC_BLOCKED] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_FAILED][REC_FAILED] = {REC_SKIP, AGREES, REC_REASON_ALREADY_TERMINAL},
	[REC_FAILED][REC_DONE] = {REC_SKIP, DIFFERS, REC_REASON_TERMINAL_CONFIRMED},
	[REC_FAILED][REC_MERGED] = {REC_SKIP, DIFFERS, REC_REASON_TERMINAL_CONFIRMED},

	[REC_DONE][REC_STATUS_ABSENT] = {REC_SKIP, AGREES, REC_REASON_ALREADY_TERMINAL},
	[REC_DONE][REC_BACKLOG] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_DONE][REC_READY] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_DONE][REC_IN_PROGRESS] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_DONE][REC_BLOCKED] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_DONE][REC_FAILED] = {REC_SKIP, DIFFERS, REC_REASON_TERMINAL_CONFIRMED},
	[REC_DONE][REC_DONE] = {REC_SKIP, AGREES, REC_REASON_ALREADY_TERMINAL},
	[REC_DONE][REC_MERGED] = {REC_SKIP, DIFFERS, REC_REASON_TERMINAL_CONFIRMED},

	[REC_MERGED][REC_STATUS_ABSENT] = {REC_SKIP, AGREES, REC_REASON_ALREADY_TERMINAL},
	[REC_MERGED][REC_BACKLOG] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_MERGED][REC_READY] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_MERGED][REC_IN_PROGRESS] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_MERGED][REC_BLOCKED] = {REC_SKIP, DIFFERS, REC_REASON_ALREADY_TERMINAL},
	[REC_MERGED][REC_FAILED] = {REC_SKIP, DIFFERS, REC_REASON_TERMINAL_CONFIRMED},
	[REC_MERGED][REC_DONE] = {REC_SKIP, DIFFERS, REC_REASON_TERMINAL_CONFIRMED},
	[REC_MERGED][REC_MERGED] = {REC_SKIP, AGREES, REC_REASON_ALREADY_TERMINAL},
};
/* clang-format on */

struct rec_verdict rec_decide_task(enum rec_status stored, enum rec_status believed)
{
	if ((unsigned)believed > REC_STATUS_ABSENT)
		believed = REC_STATUS_ABSENT;
	if (stored == REC_STATUS_ABSENT)
		return (struct rec_verdict){.stored = REC_STATUS_ABSENT,
					    .external = REC_STATUS_ABSENT,
					    .reason = REC_REASON_NOT_FOUND,
					    .source = REC_SOURCE_STORE};
	if ((unsigned)stored > REC_STATUS_ABSENT)
		return (struct rec_verdict){.stored = REC_STATUS_UNRECOGNISED,
					    .external = (uint8_t)believed,
					    .reason = REC_REASON_UNRECOGNISED_STATUS,
					    .source = REC_SOURCE_STORE,
					    .discrepancy = DIFFERS};
	const struct cell *cell = &table[stored][believed];
	return (struct rec_verdict){.stored = (uint8_t)stored,
				    .external = (uint8_t)believed,
				    .action = cell->action,
				    .reason = cell->reason,
				    .source = REC_SOURCE_STORE,
				    .discrepancy = cell->discrepancy};
}

static struct cell blockers_cell(enum rec_status stored, struct rec_blocker_counts blockers)
{
	if (stored == REC_STATUS_ABSENT)
		return (struct cell){REC_NONE, AGREES, REC_REASON_NOT_FOUND};
	if ((unsigned)stored > REC_STATUS_ABSENT)
		return (struct cell){REC_NONE, DIFFERS, REC_REASON_UNRECOGNISED_STATUS};
	if (stored != REC_BLOCKED)
		return (struct cell){REC_NONE, AGREES, REC_REASON_NOT_BLOCKED};
	if (blockers.open)
		return (struct cell){REC_NONE, AGREES, REC_REASON_BLOCKERS_OPEN};
	if (!blockers.total)
		return (struct cell){REC_NONE, DIFFERS, REC_REASON_NO_BLOCKERS};
	return (struct cell){REC_REQUEUE, DIFFERS, REC_REASON_BLOCKERS_RESOLVED};
}

struct rec_verdict rec_decide_blockers(enum rec_status stored, struct rec_blocker_counts blockers)
{
	struct cell cell = blockers_cell(stored, blockers);
	return (struct rec_verdict){
		.stored = (uint8_t)((unsigned)stored > REC_STATUS_ABSENT ? REC_STATUS_UNRECOGNISED : stored),
		.external = REC_STATUS_ABSENT,
		.action = cell.action,
		.reason = cell.reason,
		.source = REC_SOURCE_BLOCKERS,
		.discrepancy = cell.discrepancy};
}

/* "all blockers resolved" against the store's KILL, for a task that is neither running nor finished. */
static bool released(struct rec_verdict winner, struct rec_verdict loser, enum rec_status believed)
{
	return winner.reason == REC_REASON_BLOCKERS_RESOLVED && winner.source == REC_SOURCE_BLOCKERS &&
	       loser.source == REC_SOURCE_STORE && loser.action == REC_KILL && believed != REC_IN_PROGRESS &&
	       !rec_status_terminal(believed);
}

/* Smaller wins: action, then discrepancy, then source. */
static unsigned rank(struct rec_verdict v)
{
	static const uint8_t action_rank[REC_ACTION_COUNT] = {
		[REC_SKIP] = 0,
		[REC_KILL] = 1,
		[REC_REQUEUE] = 2,
		[REC_NONE] = 3,
	};
	return (unsigned)action_rank[v.action] << 8 | (v.discrepancy ? 0u : 1u) << 4 | v.source;
}

struct rec_verdict rec_merge(struct rec_verdict a, struct rec_verdict b, enum rec_status believed)
{
	if (released(a, b, believed))
		return a;
	if (released(b, a, believed))
		return b;
	return rank(b) < rank(a) ? b : a;
}

bool rec_verdict_calls(struct rec_verdict v)
{
	return v.action == REC_KILL || v.action == REC_REQUEUE || (v.action == REC_SKIP && v.discrepancy);
}

bool rec_verdict_equal(struct rec_verdict a, struct rec_verdict b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

struct rec_verdict rec_table_row(unsigned row, enum rec_status *ret_stored, enum rec_status *ret_believed)
{
	unsigned column = row % (REC_STATUS_COUNT + 1);
	*ret_stored = (enum rec_status)(row / (REC_STATUS_COUNT + 1) % REC_STATUS_COUNT);
	*ret_believed = column ? (enum rec_status)(column - 1) : REC_STATUS_ABSENT;
	return rec_decide_task(*ret_stored, *ret_believed);
}

/* ---- Names ---- */

static const char *const reasons[REC_REASON_COUNT] = {
#define REASON_TEXT(name, text) [REC_REASON_##name] = text,
	REC_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

const char *rec_reason_text(enum rec_reason reason)
{
	return (unsigned)reason < REC_REASON_COUNT ? reasons[reason] : "?";
}

enum rec_reason rec_reason_parse(struct rec_slice text)
{
	unsigned reason = 0;
	while (reason < REC_REASON_COUNT && !rec_slice_equal(text, rec_slice_of(reasons[reason])))
		reason++;
	return (enum rec_reason)reason;
}

static const char *const sources[] = {
	[REC_SOURCE_STORE] = "store",
	[REC_SOURCE_BLOCKERS] = "blockers",
	[REC_SOURCE_TRACKER] = "tracker",
};

const char *rec_source_text(enum rec_source source)
{
	return (unsigned)source < sizeof sources / sizeof *sources ? sources[source] : "?";
}

static const char *const actions[REC_ACTION_COUNT] = {
	[REC_NONE] = "NONE",
	[REC_SKIP] = "SKIP",
	[REC_KILL] = "KILL",
	[REC_REQUEUE] = "REQUEUE",
};

const char *rec_action_text(enum rec_action action)
{
	return (unsigned)action < REC_ACTION_COUNT ? actions[action] : "?";
}

const char *rec_action_event(enum rec_action action)
{
	static const char *const names[REC_ACTION_COUNT] = {
		[REC_NONE] = "RECONCILIATION_TASK_NOTICE",
		[REC_SKIP] = "RECONCILIATION_TASK_SKIPPED",
		[REC_KILL] = "RECONCILIATION_TASK_KILLED",
		[REC_REQUEUE] = "RECONCILIATION_TASK_REQUEUED",
	};
	return names[action];
}

int rec_action_parse(struct rec_slice text)
{
	for (int action = 0; action < REC_ACTION_COUNT; action++)
		if (rec_slice_equal(text, rec_slice_of(actions[action])))
			return action;
	return -1;
}
