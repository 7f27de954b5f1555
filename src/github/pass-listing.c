/* pass-listing.c - the listing of one repository since a moment, page by page as the Link header says.
 *
 * What is not in it counts as unchanged, so a listing must be whole before it says anything about what it does not
 * hold. While pages are read, an item of a page already read may move to the end or vanish; everything behind it moves
 * up by one, and one item crosses a page border unseen. So a listing of several pages is whole only if every page but
 * the last is unchanged after the last was read, which conditional requests tell for nothing. Whatever else is odd (a
 * page that comes again, fewer pages than said, no end, more items than fit) makes it incomplete: its links are read
 * themselves.
 *
 * The entity tag is that of one page. With more pages it would say nothing of the others, and with a full one a
 * further change would begin a second page and leave the first as it was: then there is no tag. */
#include "github/pass-private.h"

#include <inttypes.h>

#include "base/timestamp.h"

#define PER_PAGE 100

static struct pass_repo *repo_now(struct gh_pass *pass)
{
	return &pass->repos[pass->subject];
}

static size_t open_links(const struct gh_pass *pass, const struct pass_repo *repo)
{
	size_t count = 0;
	for (size_t i = repo->first; i < repo->first + repo->count; i++)
		count += pass->links[pass->order[i]].need == NEED_LISTING;
	return count;
}

/* ---- Asking ---- */

static void listing_ask(struct gh_pass *pass, const struct pass_repo *repo)
{
	char time[REC_TIMESTAMP_BYTES];
	struct rec_slice url;
	if (repo->cursor.since_s > 0) {
		rec_timestamp_format(repo->cursor.since_s * 1000000, time);
		url = gh_url_text(
			&pass->arena,
			"%s/repos/%.*s/%.*s/issues?state=all&sort=updated&direction=asc&since=%.19sZ&per_page=%d",
			pass->place->api.data, (int)repo->owner.length, repo->owner.data, (int)repo->repo.length,
			repo->repo.data, time, PER_PAGE);
	} else {
		url = gh_url_text(&pass->arena,
				  "%s/repos/%.*s/%.*s/issues?state=all&sort=updated&direction=asc&per_page=%d",
				  pass->place->api.data, (int)repo->owner.length, repo->owner.data,
				  (int)repo->repo.length, repo->repo.data, PER_PAGE);
	}
	pass->ask = (struct gh_ask){.verb = GH_GET, .url = pass_checked(pass, url)};
	pass->what = WHAT_LISTING;
	if (repo->cursor.links == repo->links)
		pass->ask.if_none_match = repo->cursor.etag;
}

bool pass_listing_next(struct gh_pass *pass)
{
	for (; pass->at < pass->repo_count; pass->at++) {
		struct pass_repo *repo = &pass->repos[pass->at];
		if (!repo->listing || open_links(pass, repo) == 0)
			continue;
		pass->subject = pass->at;
		pass->walk = (struct pass_walk){.last = -1, .newest_us = INT64_MIN};
		listing_ask(pass, repo);
		return true;
	}
	return false;
}

/* ---- Ends of a listing ---- */

static void repo_done(struct gh_pass *pass)
{
	pass->at++;
	pass->asked = false;
}

/* Nothing may be concluded from what is not there: the rest is read itself, and the cursor may start afresh. */
static void listing_incomplete(struct gh_pass *pass)
{
	struct pass_repo *repo = repo_now(pass);
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need == NEED_LISTING)
			link->need = NEED_DIRECT;
	}
	repo->jump = true;
	repo->has_next = false;
	repo_done(pass);
}

static void next_cursor(struct gh_pass *pass, struct pass_repo *repo, const struct gh_response *r)
{
	const struct pass_walk *walk = &pass->walk;
	struct gh_cursor next = {.since_s = repo->cursor.since_s, .links = repo->links};
	int64_t newest_s = walk->newest_us == INT64_MIN ? 0 : walk->newest_us / 1000000 - GH_LAG_S;
	if ((walk->pages > 1 || walk->items > GH_LISTING_ITEMS_HELD) && newest_s > next.since_s)
		next.since_s = newest_s;
	if (next.since_s == repo->cursor.since_s && walk->pages == 1 && walk->items < PER_PAGE)
		next.etag = pass_keep(pass, r->etag);
	repo->next = next;
	repo->has_next = !repo->has_cursor || next.since_s != repo->cursor.since_s ||
			 next.links != repo->cursor.links || !rec_slice_equal(next.etag, repo->cursor.etag);
}

/* Does the listing, which does not hold the link, tell that nothing changed? Not if the link was last read before the
 * listing begins, nor if it was last changed within it: then it should be there, and is gone or elsewhere. */
static bool covers(const struct pass_repo *repo, const struct pass_link *link, bool whole)
{
	int64_t updated_us;
	if (!link->known || link->mark.covered_s < repo->cursor.since_s)
		return false;
	if (!whole)
		return true;
	return rec_timestamp_parse(link->mark.updated, &updated_us) == 0 && updated_us / 1000000 < repo->cursor.since_s;
}

static bool verify_due(const struct gh_pass *pass, const struct pass_link *link)
{
	return pass->graphql && pass->date_us != INT64_MIN &&
	       pass->date_us / 1000000 - link->mark.verified_s >= GH_VERIFY_S;
}

/* whole: the listing was read now; else it is as it was (304) when these very links were asked about. */
static void listing_complete(struct gh_pass *pass, bool whole)
{
	struct pass_repo *repo = repo_now(pass);
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		bool again = link->need == NEED_NOTHING && link->observation.state == GH_UNCHANGED &&
			     !link->observation.validator.length;
		if (link->need == NEED_LISTING && (!covers(repo, link, whole) || verify_due(pass, link)))
			link->need = NEED_DIRECT;
		else if (link->need == NEED_LISTING || again)
			pass_settle_unchanged(pass, link);
	}
	repo_done(pass);
}

/* ---- Pages ---- */

/* Every item of the page that is asked about. false: an item that cannot be told from ours. */
static bool items_take(struct gh_pass *pass, struct pass_repo *repo)
{
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct gh_item *item = &pass->list.items[i];
		struct pass_link *link;
		size_t cursor = 0;
		if (item->number == 0 || !item->updated.length)
			return false;
		if (item->updated_us > pass->walk.newest_us)
			pass->walk.newest_us = item->updated_us;
		while ((link = pass_link_find(pass, repo, item->number, &cursor)) != NULL) {
			link->listed = true;
			pass_settle(pass, link, item, (struct rec_slice){0}, false, true);
		}
	}
	pass->walk.items += pass->list.count;
	return !pass->list.more;
}

/* Is the rest of the pages dearer than reading the links that are still open themselves? */
static bool rest_is_dear(const struct gh_pass *pass, const struct pass_repo *repo)
{
	size_t open = open_links(pass, repo);
	int64_t direct = (int64_t)(pass->graphql ? (open + GH_ITEMS_MAX - 1) / GH_ITEMS_MAX : open);
	int64_t read = (int64_t)pass->walk.pages, rest = pass->walk.last > read ? pass->walk.last - read : read;
	return rest > direct;
}

static bool page_known(const struct pass_walk *walk, struct rec_slice url)
{
	for (size_t i = 0; i < walk->pages; i++)
		if (rec_slice_equal(walk->urls[i], url))
			return true;
	return false;
}

/* The next page, if the Link header names a sound one; else the listing ends as incomplete. */
static void page_follow(struct gh_pass *pass, const struct gh_response *r, struct rec_slice next)
{
	struct pass_walk *walk = &pass->walk;
	struct rec_slice url, last = gh_link_header_find(r->link, "last");
	int64_t count = last.length ? gh_url_page(last) : -1;
	bool shrank = walk->last >= 0 && count >= 0 && count < walk->last;
	walk->last = count;
	int result = gh_place_resolve(pass->place, &pass->arena, pass->ask.url, next, &url);
	if (result == REC_E_NOMEM)
		pass->failed = result;
	if (result < 0 || page_known(walk, url) || walk->pages == GH_PAGES_MAX || shrank || pass->list.count == 0 ||
	    rest_is_dear(pass, repo_now(pass))) {
		listing_incomplete(pass);
		return;
	}
	pass->ask = (struct gh_ask){.verb = GH_GET, .url = url};
}

static void confirm_ask(struct gh_pass *pass)
{
	struct pass_walk *walk = &pass->walk;
	pass->what = WHAT_CONFIRM;
	pass->ask = (struct gh_ask){
		.verb = GH_GET, .url = walk->urls[walk->confirmed], .if_none_match = walk->etags[walk->confirmed]};
	if (!pass->ask.if_none_match.length)
		listing_incomplete(pass);
}

static void page_answer(struct gh_pass *pass, const struct gh_response *r)
{
	struct pass_repo *repo = repo_now(pass);
	struct pass_walk *walk = &pass->walk;
	walk->urls[walk->pages] = pass->ask.url;
	walk->etags[walk->pages] = pass_keep(pass, r->etag);
	walk->pages++;
	if (!items_take(pass, repo)) {
		listing_incomplete(pass);
		return;
	}
	struct rec_slice next = gh_link_header_find(r->link, "next");
	if (next.length) {
		page_follow(pass, r, next);
		return;
	}
	if (walk->last > (int64_t)walk->pages) {
		listing_incomplete(pass); /* there were more pages than that */
		return;
	}
	next_cursor(pass, repo, r);
	if (walk->pages > 1)
		confirm_ask(pass);
	else
		listing_complete(pass, true);
}

static void confirm_answer(struct gh_pass *pass, const struct gh_response *r)
{
	struct pass_walk *walk = &pass->walk;
	if (r->status != 304) {
		listing_incomplete(pass);
		return;
	}
	if (++walk->confirmed + 1 < walk->pages)
		confirm_ask(pass);
	else
		listing_complete(pass, true);
}

/* ---- Other answers ---- */

static void listing_refused(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message)
{
	struct pass_repo *repo = repo_now(pass);
	if (r->status == 410 && pass_message_is_setting(message)) {
		/* Pull requests are there all the same. */
		for (size_t i = repo->first; i < repo->first + repo->count; i++) {
			struct pass_link *link = &pass->links[pass->order[i]];
			if (link->need == NEED_LISTING && link->at.pull)
				link->need = NEED_PULL;
		}
	}
	struct rec_slice problem = pass_checked(pass, gh_answer_problem(r, message, &pass->arena));
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need == NEED_LISTING)
			pass_settle_by_status(pass, link, r->status, problem);
	}
	repo_done(pass);
}

void pass_listing_answer(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message)
{
	struct pass_repo *repo = repo_now(pass);
	if (pass->what == WHAT_CONFIRM) {
		confirm_answer(pass, r);
	} else if (pass->ask.hops > 0 || (r->status == 304 && !pass->ask.if_none_match.length)) {
		/* The repository has another name (each link is asked itself where it is now), or the answer makes no
		 * sense. */
		listing_incomplete(pass);
	} else if (r->status == 304) {
		repo->sight = SIGHT_VISIBLE;
		listing_complete(pass, false);
	} else if (r->status == 200) {
		int result = gh_item_list_read(rec_buffer_slice(&r->body), &pass->arena, &pass->list);
		if (result == REC_E_NOMEM)
			pass->failed = result;
		else if (result < 0)
			listing_refused(pass, r, message);
		else {
			repo->sight = SIGHT_VISIBLE;
			page_answer(pass, r);
		}
	} else {
		listing_refused(pass, r, message);
	}
}
