/* pass-private.h - what the files of a pass share. pass.c: begin, next, end. pass-listing.c: listings of repositories.
 * pass-direct.c: batches and single reads. pass-settle.c: from an answer to an observation. */
#ifndef REC_GITHUB_PASS_PRIVATE_H
#define REC_GITHUB_PASS_PRIVATE_H

#include "github/batch.h"
#include "github/mark.h"
#include "github/pass.h"

/* What must still be asked for a link. */
enum pass_need {
	NEED_NOTHING, /* its observation stands */
	NEED_LISTING, /* the listing of its repository will tell */
	NEED_DIRECT,  /* to be read itself; whether in a batch or singly is decided when all listings are done */
	NEED_BATCH,
	NEED_ITEM,  /* GET /issues/N */
	NEED_PULL,  /* GET /pulls/N: was it merged? */
	NEED_PROBE, /* 404: is the repository visible? */
};

struct pass_link {
	struct gh_observation observation;
	struct gh_link at; /* moves on when the item moved */
	struct gh_mark mark;
	bool known;         /* the mark says what was seen last */
	bool listed;        /* the listing holds it */
	bool unconditional; /* a 304 that was not asked for: once more without a condition */
	size_t repo;
	enum pass_need need;
	struct gh_item item;   /* NEED_PULL: what /issues/N said */
	struct rec_slice etag; /* that came with it */
};

enum pass_sight { SIGHT_UNKNOWN, SIGHT_VISIBLE, SIGHT_HIDDEN };

struct pass_repo {
	struct rec_slice owner, repo, key; /* key: of its cursor */
	size_t first, count;               /* its links, in order[] */
	int64_t links;                     /* a fingerprint of their numbers */
	bool listing, has_cursor;
	bool jump; /* all its links are read themselves in this pass, so the cursor may be set to its beginning */
	struct gh_cursor cursor, next; /* as given; as it shall be */
	bool has_next;
	enum pass_sight sight;
	struct rec_slice hidden; /* why it is hidden */
};

enum pass_what { WHAT_LISTING, WHAT_CONFIRM, WHAT_BATCH, WHAT_ITEM, WHAT_PULL, WHAT_PROBE };

/* The listing that is being read. */
struct pass_walk {
	struct rec_slice urls[GH_PAGES_MAX], etags[GH_PAGES_MAX];
	size_t pages, confirmed, items; /* items: on all pages */
	int64_t last, newest_us;        /* number of the last page as told; the newest change seen */
};

enum pass_phase { PHASE_LISTINGS, PHASE_DECIDE, PHASE_BATCHES, PHASE_SINGLES, PHASE_END };

struct gh_pass {
	const struct rec_allocator *allocator;
	const struct gh_place *place;
	const struct gh_request *request;
	struct gh_holds *holds;
	struct rec_arena arena;
	int failed; /* sticky: REC_E_NOMEM */

	struct pass_link *links;
	int64_t *numbers; /* of the links in order[], as asked; pass_link_find searches them */
	size_t *order;    /* links by repository and number; those that name nothing come last */
	size_t link_count, good_count;
	struct pass_repo *repos;
	size_t repo_count;

	enum pass_phase phase;
	size_t at;              /* within the phase */
	size_t turn, turn_next; /* in order[]: where single reads begin, in this pass and in the next */
	size_t turn_given;      /* by the cursor */
	struct gh_ask ask;
	bool asked; /* an answer to it is outstanding */
	enum pass_what what;
	size_t subject; /* of the ask: a link or a repository */
	struct pass_walk walk;
	struct gh_item_list list;
	size_t batch[GH_ITEMS_MAX], /* in order[] */ batch_repos[GH_ITEMS_MAX], batch_count;
	struct gh_batch_answer batch_answer;
	struct rec_buffer body;

	bool graphql; /* can be used */
	size_t fallback_left, outages;
	bool answered;         /* at least once, and well */
	int64_t now_us;        /* our clock */
	int64_t date_us;       /* the server's, of the latest answer; INT64_MIN: not told */
	int64_t begin_date_us; /* of the first answer */
	struct gh_budget budget, graphql_budget;

	bool stopped, limited;
	struct rec_slice
		reason; /* why it stopped, for what was not asked; empty: the deadline, which is nobody's fault */
	struct rec_slice stop_problem; /* of the whole tracker; empty: none */
	int64_t wait_s;
	struct gh_pause pause;
	struct gh_pass_costs costs;

	struct gh_pair *pairs;
	size_t pair_count;
	struct gh_observation *observations;
};

/* ---- pass.c ---- */

/* Ends the asking: the whole tracker has this problem. */
void pass_stop(struct gh_pass *pass, struct rec_slice problem, int64_t wait_s);
/* A copy in the pass's arena, NUL-terminated. */
struct rec_slice pass_keep(struct gh_pass *pass, struct rec_slice text);
/* Marks the pass as failed if the text is empty though something was wanted. Returns it. */
struct rec_slice pass_checked(struct gh_pass *pass, struct rec_slice text);
/* The link with that number in a repository, from *cursor on (0 at first); NULL: no more. */
struct pass_link *pass_link_find(struct gh_pass *pass, const struct pass_repo *repo, int64_t number, size_t *cursor);

/* ---- pass-settle.c ---- */

/* The item stands for the link: its observation, or NEED_PULL if the item leaves open whether it was merged. direct: it
 * was read itself. may_move: where it is now may be remembered. */
void pass_settle(struct gh_pass *pass, struct pass_link *link, const struct gh_item *item, struct rec_slice etag,
		 bool direct, bool may_move);
/* Nothing new, as a listing tells: it is covered up to the repository's next cursor. */
void pass_settle_unchanged(struct gh_pass *pass, struct pass_link *link);
/* Nothing new, as a 304 to the link itself tells. */
void pass_settle_unmodified(struct gh_pass *pass, struct pass_link *link);
void pass_settle_unknown(struct pass_link *link, struct rec_slice problem);
void pass_settle_refused(struct gh_pass *pass, struct pass_link *link, struct rec_slice problem); /* and held */
/* Unknown by an answer of that status, which may be a refusal. */
void pass_settle_by_status(struct gh_pass *pass, struct pass_link *link, int status, struct rec_slice problem);
void pass_settle_gone(struct pass_link *link, struct rec_slice problem);
/* Every link of the repository that still needs something. */
void pass_repo_unknown(struct gh_pass *pass, struct pass_repo *repo, struct rec_slice problem, bool refused);

/* ---- pass-listing.c, pass-direct.c: each asks, or takes the answer ---- */

bool pass_listing_next(struct gh_pass *pass); /* false: all are done */
void pass_listing_answer(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message);
void pass_direct_decide(struct gh_pass *pass);
bool pass_batch_next(struct gh_pass *pass);
void pass_batch_answer(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message);
bool pass_single_next(struct gh_pass *pass);
void pass_single_answer(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message);
/* A redirect that could not be followed. */
void pass_redirect_refused(struct gh_pass *pass, const char *problem);
/* The message of a 410 or 404 that is about a setting rather than about the item. */
bool pass_message_is_setting(struct rec_slice message);

#endif
