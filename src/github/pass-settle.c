/* pass-settle.c - from what an answer said of an item to the observation of a link, and to the mark that will tell next
 * time whether anything is new. */
#include "github/pass-private.h"

#include "github/fold.h"

static int64_t seconds(int64_t us)
{
	return us == INT64_MIN || us < 0 ? 0 : us / 1000000;
}

static struct rec_slice mark_text(struct gh_pass *pass, const struct gh_mark *mark)
{
	struct rec_buffer b;
	rec_buffer_init(&b, pass->allocator, GH_MARK_BYTES_MAX);
	int r = gh_mark_write(&b, mark);
	struct rec_slice text = r == 0 ? pass_keep(pass, rec_buffer_slice(&b)) : (struct rec_slice){0};
	if (r == REC_E_NOMEM)
		pass->failed = r;
	rec_buffer_release(&b);
	return text;
}

static void settled(struct pass_link *link, enum gh_observed state)
{
	link->observation.state = state;
	link->need = NEED_NOTHING;
}

/* Where the item is now, if that is a place of its own. */
static void place_take(struct gh_pass *pass, struct pass_link *link, const struct gh_item *item, bool may_move)
{
	struct gh_link now;
	if (!item->page.length || gh_link_parse(item->page, pass->place, &now) != NULL)
		return;
	bool moved = now.number != link->at.number || !gh_equal_fold(now.owner, link->at.owner) ||
		     !gh_equal_fold(now.repo, link->at.repo);
	if (!moved)
		return;
	link->at = now;
	if (may_move)
		link->observation.moved_to = item->page;
}

static void observe(struct gh_pass *pass, struct pass_link *link, const struct gh_mark *mark, bool direct)
{
	struct gh_observation *o = &link->observation;
	bool listed = pass->repos[link->repo].listing;
	if (link->known && gh_mark_same(&link->mark, mark)) {
		settled(link, GH_UNCHANGED);
		if ((listed && direct) || !rec_slice_equal(link->mark.etag, mark->etag) || o->moved_to.length)
			o->validator = mark_text(pass, mark);
		return;
	}
	static const enum gh_observed states[] = {[GH_STATE_UNKNOWN] = GH_UNKNOWN,
						  [GH_STATE_OPEN] = GH_OPEN,
						  [GH_STATE_CLOSED] = GH_CLOSED,
						  [GH_STATE_MERGED] = GH_MERGED};
	settled(link, states[mark->state]);
	o->has_kind = true;
	o->pull = mark->pull;
	o->reason = mark->reason;
	o->time = mark->updated;
	o->comments = mark->comments;
	o->validator = mark_text(pass, mark);
}

void pass_settle(struct gh_pass *pass, struct pass_link *link, const struct gh_item *item, struct rec_slice etag,
		 bool direct, bool may_move)
{
	const char *problem = gh_item_problem(item);
	if (problem) {
		pass_settle_unknown(link, pass_checked(pass, gh_text(&pass->arena, "GitHub gave %s", problem)));
		return;
	}
	place_take(pass, link, item, may_move);
	bool closed = item->state == GH_STATE_CLOSED;
	if (item->pull && closed && item->merged == GH_MERGED_UNKNOWN) {
		link->item = *item;
		link->etag = etag;
		link->need = NEED_PULL;
		return;
	}
	struct gh_mark mark = {.state = item->state,
			       .pull = item->pull,
			       .comments = item->comments,
			       .updated = item->updated,
			       .etag = etag,
			       .verified_s = link->mark.verified_s};
	if (item->pull && closed && item->merged == GH_MERGED_YES)
		mark.state = GH_STATE_MERGED;
	if (!item->pull)
		mark.reason = item->reason;
	int64_t date_s = seconds(pass->date_us);
	mark.covered_s = date_s > GH_LAG_S ? date_s - GH_LAG_S : 0;
	if (direct)
		mark.verified_s = date_s;
	observe(pass, link, &mark, direct);
}

void pass_settle_unchanged(struct gh_pass *pass, struct pass_link *link)
{
	const struct pass_repo *repo = &pass->repos[link->repo];
	settled(link, GH_UNCHANGED);
	if (repo->has_next && link->mark.covered_s < repo->next.since_s) {
		struct gh_mark mark = link->mark;
		mark.covered_s = repo->next.since_s;
		link->observation.validator = mark_text(pass, &mark);
	}
}

void pass_settle_unmodified(struct gh_pass *pass, struct pass_link *link)
{
	int64_t date_s = seconds(pass->date_us);
	settled(link, GH_UNCHANGED);
	if (!pass->repos[link->repo].listing || date_s <= GH_LAG_S)
		return;
	struct gh_mark mark = link->mark;
	mark.verified_s = date_s;
	mark.covered_s = date_s - GH_LAG_S;
	link->observation.validator = mark_text(pass, &mark);
}

void pass_settle_unknown(struct pass_link *link, struct rec_slice problem)
{
	settled(link, GH_UNKNOWN);
	link->observation.problem = problem;
}

void pass_settle_refused(struct gh_pass *pass, struct pass_link *link, struct rec_slice problem)
{
	int64_t now_s = seconds(pass->now_us);
	pass_settle_unknown(link, problem);
	if (pass->holds && gh_holds_put(pass->holds, link->observation.url, now_s, now_s + GH_HOLD_S) < 0)
		pass->failed = REC_E_NOMEM;
}

void pass_settle_by_status(struct gh_pass *pass, struct pass_link *link, int status, struct rec_slice problem)
{
	if (status == 403 || status == 451)
		pass_settle_refused(pass, link, problem);
	else
		pass_settle_unknown(link, problem);
}

void pass_settle_gone(struct pass_link *link, struct rec_slice problem)
{
	pass_settle_unknown(link, problem);
	link->observation.state = GH_GONE;
}

void pass_repo_unknown(struct gh_pass *pass, struct pass_repo *repo, struct rec_slice problem, bool refused)
{
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need == NEED_NOTHING)
			continue;
		if (refused)
			pass_settle_refused(pass, link, problem);
		else
			pass_settle_unknown(link, problem);
	}
}
