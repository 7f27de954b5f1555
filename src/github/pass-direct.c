/* pass-direct.c - links that are read themselves: in batches by GraphQL, or one by one. */
#include "github/pass-private.h"

#include <inttypes.h>

/* ---- Which way ---- */

void pass_direct_decide(struct gh_pass *pass)
{
	size_t listed = 0, single = 0;
	for (size_t i = 0; i < pass->good_count; i++) {
		const struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need == NEED_DIRECT)
			*(pass->repos[link->repo].listing ? &listed : &single) += 1;
	}
	for (size_t i = 0; i < pass->good_count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need != NEED_DIRECT)
			continue;
		bool batch = pass->repos[link->repo].listing ? listed > 1 : single > GH_SINGLES_MAX;
		link->need = batch && pass->graphql ? NEED_BATCH : NEED_ITEM;
	}
}

/* ---- Batches ---- */

bool pass_batch_next(struct gh_pass *pass)
{
	struct gh_batch_asked asked[GH_ITEMS_MAX];
	size_t repository = 0, last = SIZE_MAX;
	pass->batch_count = 0;
	for (size_t i = 0; i < pass->good_count && pass->batch_count < GH_ITEMS_MAX; i++) {
		const struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need != NEED_BATCH)
			continue;
		if (last != SIZE_MAX && link->repo != last)
			repository++;
		last = link->repo;
		asked[pass->batch_count] =
			(struct gh_batch_asked){link->at.owner, link->at.repo, link->at.number, repository};
		pass->batch[pass->batch_count] = i;
		pass->batch_repos[pass->batch_count++] = repository;
	}
	if (pass->batch_count == 0)
		return false;
	rec_buffer_clear(&pass->body);
	if (gh_batch_write(&pass->body, asked, pass->batch_count) < 0)
		pass->failed = REC_E_NOMEM;
	pass->ask =
		(struct gh_ask){.verb = GH_POST, .url = pass->place->graphql, .body = rec_buffer_slice(&pass->body)};
	pass->what = WHAT_BATCH;
	return true;
}

/* A batch did not tell: the link is read singly if not too many are already; else it must wait for the next pass, which
 * begins with it. */
static void fall_back(struct gh_pass *pass, size_t at, struct rec_slice problem)
{
	struct pass_link *link = &pass->links[pass->order[at]];
	if (pass->fallback_left > 0) {
		link->need = NEED_ITEM;
	} else {
		pass_settle_unknown(link, problem);
		return;
	}
	if (--pass->fallback_left == 0)
		pass->turn_next = at + 1;
}

/* No batches in this pass. */
static void batches_off(struct gh_pass *pass, struct rec_slice problem)
{
	pass->graphql = false;
	for (size_t i = 0; i < pass->good_count; i++) {
		size_t at = (pass->turn + i) % pass->good_count;
		if (pass->links[pass->order[at]].need == NEED_BATCH)
			fall_back(pass, at, problem);
	}
}

static void batch_apply(struct gh_pass *pass, size_t at, enum gh_answered answered, const struct gh_item *item)
{
	struct pass_link *link = &pass->links[pass->order[at]];
	struct pass_repo *repo = &pass->repos[link->repo];
	switch (answered) {
	case GH_ANSWERED_ITEM:
		repo->sight = SIGHT_VISIBLE;
		pass_settle(pass, link, item, (struct rec_slice){0}, true, true);
		break;
	case GH_ANSWERED_NO_REPO:
		repo->sight = SIGHT_HIDDEN;
		repo->hidden = rec_slice_of("the repository is not visible with this token");
		pass_settle_unknown(link, repo->hidden);
		break;
	case GH_ANSWERED_NO_ACCESS:
		pass_settle_refused(pass, link, rec_slice_of("GitHub refuses access to it with this token"));
		break;
	case GH_ANSWERED_NO_ITEM:
		repo->sight = SIGHT_VISIBLE;
		link->need = NEED_ITEM;
		break;
	default:
		fall_back(pass, at, rec_slice_of("GitHub did not say anything about it"));
		break;
	}
}

void pass_batch_answer(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message)
{
	struct gh_batch_answer *a = &pass->batch_answer;
	int result = r->status == 200 ? gh_batch_read(rec_buffer_slice(&r->body), &pass->arena, pass->batch_repos,
						      pass->batch_count, a)
				      : REC_E_INVALID;
	pass->asked = false;
	if (result == REC_E_NOMEM) {
		pass->failed = result;
		return;
	}
	if (result == 0 && a->limited) {
		int64_t wait_s =
			gh_budget_wait_s(&r->budget, pass->date_us == INT64_MIN ? pass->now_us : pass->date_us);
		pass_stop(pass, rec_slice_of("GitHub's limit for GraphQL is reached"), wait_s);
		return;
	}
	if (result < 0 || !a->data) {
		if (result == 0 && a->message.length)
			message = a->message;
		batches_off(pass, pass_checked(pass, gh_answer_problem(r, message, &pass->arena)));
		return;
	}
	for (size_t i = 0; i < pass->batch_count; i++)
		batch_apply(pass, pass->batch[i], a->answered[i], &a->items[i]);
}

/* ---- Single reads ---- */

static void item_ask(struct gh_pass *pass, const struct pass_link *link, const char *folder)
{
	pass->ask =
		(struct gh_ask){.verb = GH_GET,
				.url = pass_checked(pass, gh_url_text(&pass->arena, "%s/repos/%.*s/%.*s/%s/%" PRId64,
								      pass->place->api.data, (int)link->at.owner.length,
								      link->at.owner.data, (int)link->at.repo.length,
								      link->at.repo.data, folder, link->at.number))};
}

static void single_ask(struct gh_pass *pass, size_t index)
{
	const struct pass_link *link = &pass->links[index];
	pass->subject = index;
	if (link->need == NEED_ITEM) {
		pass->what = WHAT_ITEM;
		item_ask(pass, link, "issues");
		if (link->known && !link->unconditional)
			pass->ask.if_none_match = link->mark.etag;
	} else if (link->need == NEED_PULL) {
		pass->what = WHAT_PULL;
		item_ask(pass, link, "pulls");
	} else {
		pass->what = WHAT_PROBE;
		pass->ask = (struct gh_ask){
			.verb = GH_GET,
			.url = pass_checked(pass, gh_url_text(&pass->arena, "%s/repos/%.*s/%.*s", pass->place->api.data,
							      (int)link->at.owner.length, link->at.owner.data,
							      (int)link->at.repo.length, link->at.repo.data))};
	}
}

/* The round begins where the last pass had to stop, so that with too many links for one pass each gets its turn. */
bool pass_single_next(struct gh_pass *pass)
{
	size_t count = pass->good_count;
	for (; pass->at < count; pass->at++) {
		size_t index = pass->order[(pass->turn + pass->at) % count];
		if (pass->links[index].need == NEED_NOTHING)
			continue;
		single_ask(pass, index);
		return true;
	}
	return false;
}

bool pass_message_is_setting(struct rec_slice message)
{
	static const char *const words[] = {"disabled", "version", "API", "no longer"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (message.length && memmem(message.data, message.length, words[i], strlen(words[i])))
			return true;
	return message.length == 0;
}

static void missing(struct gh_pass *pass, struct pass_link *link, struct rec_slice message, const struct gh_response *r)
{
	struct pass_repo *repo = &pass->repos[link->repo];
	if (pass->ask.hops > 0)
		pass_settle_unknown(link, pass_checked(pass, gh_text(&pass->arena,
								     "it moved to where this token cannot see it (%d)",
								     r->status)));
	else if (repo->sight == SIGHT_VISIBLE)
		pass_settle_gone(link, pass_checked(pass, gh_answer_problem(r, message, &pass->arena)));
	else if (repo->sight == SIGHT_HIDDEN)
		pass_settle_unknown(link, repo->hidden);
	else
		link->need = NEED_PROBE;
}

static void item_not_modified(struct gh_pass *pass, struct pass_link *link)
{
	if (pass->ask.if_none_match.length) {
		pass->repos[link->repo].sight = SIGHT_VISIBLE;
		pass_settle_unmodified(pass, link);
	} else if (!link->unconditional) {
		link->unconditional =
			true; /* what it would not be different from is not known here: read it once more */
	} else {
		pass_settle_unknown(link, rec_slice_of("GitHub answered 304 to a request without a condition"));
	}
}

/* 200 with an item, by /issues/N. */
static void item_take(struct gh_pass *pass, struct pass_link *link, const struct gh_response *r)
{
	struct gh_item item;
	int result = gh_item_read(rec_buffer_slice(&r->body), &pass->arena, &item);
	if (result == REC_E_NOMEM) {
		pass->failed = result;
		return;
	}
	if (result == 0 && pass->ask.hops == 0 && item.number != link->at.number)
		result = REC_E_INVALID;
	if (result < 0) {
		pass_settle_unknown(link,
				    pass_checked(pass, gh_answer_problem(r, (struct rec_slice){0}, &pass->arena)));
		return;
	}
	if (pass->ask.hops == 0)
		pass->repos[link->repo].sight = SIGHT_VISIBLE;
	pass_settle(pass, link, &item, pass_keep(pass, r->etag), true, !pass->ask.temporary);
}

static void item_answer(struct gh_pass *pass, struct pass_link *link, const struct gh_response *r,
			struct rec_slice message)
{
	struct rec_slice problem;
	if (r->status == 200) {
		item_take(pass, link, r);
		return;
	}
	if (r->status == 304) {
		item_not_modified(pass, link);
		return;
	}
	if (r->status == 404) {
		missing(pass, link, message, r);
		return;
	}
	problem = pass_checked(pass, gh_answer_problem(r, message, &pass->arena));
	if (r->status == 410 && !pass_message_is_setting(message))
		pass_settle_gone(link, problem);
	else if (r->status == 410 && link->at.pull)
		link->need = NEED_PULL;
	else
		pass_settle_by_status(pass, link, r->status, problem);
}

/* /pulls/N says whether it was merged; what /issues/N said, if anything, stands for the rest. */
static void pull_answer(struct gh_pass *pass, struct pass_link *link, const struct gh_response *r,
			struct rec_slice message)
{
	struct gh_item item = {0}, whole = link->item;
	int result = r->status == 200 ? gh_item_read(rec_buffer_slice(&r->body), &pass->arena, &item) : REC_E_INVALID;
	if (result == REC_E_NOMEM) {
		pass->failed = result;
		return;
	}
	bool closed = whole.number || item.state == GH_STATE_CLOSED;
	if (result == 0 && (item.number == 0 || (closed && item.merged == GH_MERGED_UNKNOWN)))
		result = REC_E_INVALID;
	if (result < 0) {
		pass_settle_unknown(link, pass_checked(pass, gh_answer_problem(r, message, &pass->arena)));
		return;
	}
	item.pull = true;
	if (whole.number) {
		whole.merged = item.merged;
		whole.pull = true;
		pass_settle(pass, link, &whole, link->etag, true, true);
	} else {
		item.comments = -1; /* here they count less than in /issues/N */
		pass_settle(pass, link, &item, (struct rec_slice){0}, true, !pass->ask.temporary);
	}
}

static void probe_answer(struct gh_pass *pass, struct pass_repo *repo, const struct gh_response *r,
			 struct rec_slice message)
{
	bool without_issues = false;
	int result = r->status == 200 ? gh_repository_read(rec_buffer_slice(&r->body), &pass->arena, &without_issues)
				      : REC_E_INVALID;
	if (result == REC_E_NOMEM)
		pass->failed = result;
	repo->sight = result == 0 && !without_issues ? SIGHT_VISIBLE : SIGHT_HIDDEN;
	if (without_issues)
		repo->hidden = rec_slice_of("the repository has its issues switched off");
	else if (r->status == 404)
		repo->hidden = rec_slice_of("the repository is not visible with this token");
	else if (result < 0)
		repo->hidden = pass_checked(pass, gh_answer_problem(r, message, &pass->arena));
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need != NEED_PROBE)
			continue;
		if (repo->sight == SIGHT_VISIBLE)
			pass_settle_gone(link, rec_slice_of("GitHub answered 404, and the repository is visible"));
		else
			pass_settle_unknown(link, repo->hidden);
	}
}

void pass_single_answer(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message)
{
	struct pass_link *link = &pass->links[pass->subject];
	pass->asked = false;
	if (pass->what == WHAT_ITEM)
		item_answer(pass, link, r, message);
	else if (pass->what == WHAT_PULL)
		pull_answer(pass, link, r, message);
	else
		probe_answer(pass, &pass->repos[link->repo], r, message);
}

void pass_redirect_refused(struct gh_pass *pass, const char *problem)
{
	struct rec_slice text = rec_slice_of(problem);
	pass->asked = false;
	switch (pass->what) {
	case WHAT_LISTING:
	case WHAT_CONFIRM:
		pass_repo_unknown(pass, &pass->repos[pass->subject], text, false);
		pass->at++;
		break;
	case WHAT_BATCH:
		batches_off(pass, text);
		break;
	case WHAT_PROBE:
		pass_repo_unknown(pass, &pass->repos[pass->links[pass->subject].repo], text, false);
		break;
	default:
		pass_settle_unknown(&pass->links[pass->subject], text);
		break;
	}
}
