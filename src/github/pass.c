/* pass.c - a pass begins with the links sorted by repository, goes through its phases (listings, batches, single reads)
 * and may be stopped at any point: by a limit, by the share of the budget that is left to people, by an outage, by the
 * deadline. What was not asked by then is unknown. */
#include "github/pass-private.h"

#include <stdlib.h>

#include "github/fold.h"

/* ---- Small things ---- */

struct rec_slice pass_checked(struct gh_pass *pass, struct rec_slice text)
{
	if (!text.length)
		pass->failed = REC_E_NOMEM;
	return text;
}

struct rec_slice pass_keep(struct gh_pass *pass, struct rec_slice text)
{
	if (!text.length)
		return (struct rec_slice){0};
	char *copy = rec_arena_strndup(&pass->arena, text.data, text.length);
	return pass_checked(pass, (struct rec_slice){copy, copy ? text.length : 0});
}

void pass_stop(struct gh_pass *pass, struct rec_slice problem, int64_t wait_s)
{
	pass->stopped = true;
	pass->reason = pass->stop_problem = problem;
	if (wait_s > pass->wait_s)
		pass->wait_s = wait_s;
}

/* Links that name nothing (number 0) come last. */
static int link_compare(const void *left, const void *right, void *context)
{
	const struct pass_link *links = context;
	const struct pass_link *a = &links[*(const size_t *)left], *b = &links[*(const size_t *)right];
	if (!a->at.number || !b->at.number)
		return (a->at.number == 0) - (b->at.number == 0);
	int order = gh_compare_fold(a->at.owner, b->at.owner);
	if (!order)
		order = gh_compare_fold(a->at.repo, b->at.repo);
	return order ? order : (a->at.number > b->at.number) - (a->at.number < b->at.number);
}

struct pass_link *pass_link_find(struct gh_pass *pass, const struct pass_repo *repo, int64_t number, size_t *cursor)
{
	if (*cursor == 0) {
		size_t low = repo->first, high = repo->first + repo->count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (pass->numbers[middle] < number)
				low = middle + 1;
			else
				high = middle;
		}
		*cursor = low + 1;
	} else {
		++*cursor;
	}
	size_t at = *cursor - 1;
	if (at >= repo->first + repo->count || pass->numbers[at] != number)
		return NULL;
	return &pass->links[pass->order[at]];
}

/* ---- Beginning ---- */

static struct rec_slice cursor_given(const struct gh_pass *pass, struct rec_slice key)
{
	for (size_t i = 0; i < pass->request->cursor_count; i++)
		if (rec_slice_equal(pass->request->cursors[i].key, key))
			return pass->request->cursors[i].value;
	return (struct rec_slice){0};
}

static void links_begin(struct gh_pass *pass)
{
	for (size_t i = 0; i < pass->link_count; i++) {
		struct pass_link *link = &pass->links[i];
		const struct gh_asked *asked = &pass->request->links[i];
		link->observation = (struct gh_observation){.url = asked->url, .comments = -1};
		link->mark.comments = -1;
		pass->order[i] = i;
		const char *problem = gh_link_parse(asked->url, pass->place, &link->at);
		if (problem) {
			link->at.number = 0;
			pass_settle_unknown(link, rec_slice_of(problem));
			continue;
		}
		pass->good_count++;
		if (asked->validator.length && gh_mark_read(asked->validator, &link->mark) == 0)
			link->known = link->mark.state != GH_STATE_UNKNOWN;
		link->need = NEED_DIRECT;
		if (pass->holds && gh_holds_has(pass->holds, asked->url, pass->now_us / 1000000))
			pass_settle_unknown(
				link,
				rec_slice_of("GitHub refused it lately; it is looked at again within ten minutes"));
	}
	qsort_r(pass->order, pass->link_count, sizeof *pass->order, link_compare, pass->links);
	for (size_t i = 0; i < pass->good_count; i++)
		pass->numbers[i] = pass->links[pass->order[i]].at.number;
}

/* The same for the same numbers in any order; FNV-1a of each, added. Never negative. */
static int64_t fingerprint(const struct gh_pass *pass, const struct pass_repo *repo)
{
	uint64_t sum = 0;
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		uint64_t hash = 0xcbf29ce484222325u, number = (uint64_t)pass->numbers[i];
		for (unsigned byte = 0; byte < 8; byte++)
			hash = (hash ^ (number >> (8 * byte) & 0xff)) * 0x100000001b3u;
		sum += hash;
	}
	return (int64_t)(sum >> 1);
}

static void repo_begin(struct gh_pass *pass, struct pass_repo *repo)
{
	char key[256] = "repo:";
	size_t length = 5;
	struct rec_slice names[] = {repo->owner, repo->repo};
	for (size_t n = 0; n < 2; n++) {
		for (size_t i = 0; i < names[n].length; i++)
			key[length++] = gh_lower(names[n].data[i]);
		if (n == 0)
			key[length++] = '/';
	}
	repo->key = pass_keep(pass, (struct rec_slice){key, length});
	repo->listing = repo->count >= GH_LISTING_LINKS_MIN;
	repo->links = fingerprint(pass, repo);
	struct rec_slice cursor = cursor_given(pass, repo->key);
	repo->has_cursor = cursor.length && gh_cursor_read(cursor, &repo->cursor) == 0;
	bool list = repo->listing && (repo->has_cursor || !pass->graphql);
	repo->jump = repo->listing && !list;
	for (size_t i = repo->first; list && i < repo->first + repo->count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		if (link->need == NEED_DIRECT)
			link->need = NEED_LISTING;
	}
}

static void repos_begin(struct gh_pass *pass)
{
	for (size_t i = 0; i < pass->good_count; i++) {
		struct pass_link *link = &pass->links[pass->order[i]];
		const struct pass_repo *last = &pass->repos[pass->repo_count ? pass->repo_count - 1 : 0];
		if (pass->repo_count == 0 || !gh_equal_fold(last->owner, link->at.owner) ||
		    !gh_equal_fold(last->repo, link->at.repo))
			pass->repos[pass->repo_count++] =
				(struct pass_repo){.owner = link->at.owner, .repo = link->at.repo, .first = i};
		pass->repos[pass->repo_count - 1].count++;
		link->repo = pass->repo_count - 1;
	}
	for (size_t i = 0; i < pass->repo_count; i++)
		repo_begin(pass, &pass->repos[i]);
}

static const char share_spent[] = "the rest of the token's budget is left to people";

static void pause_begin(struct gh_pass *pass)
{
	int64_t now_s = pass->now_us / 1000000;
	if (pass->holds)
		pass->pause = pass->holds->pause;
	if (pass->pause.until_s > now_s && pass->pause.until_s <= now_s + GH_WAIT_S_MAX)
		pass_stop(pass, rec_slice_of(pass->pause.share ? share_spent : "GitHub asked for a pause"),
			  pass->pause.until_s - now_s);
}

static void turn_begin(struct gh_pass *pass)
{
	if (gh_turn_read(cursor_given(pass, rec_slice_of(GH_TURN_KEY)), &pass->turn_given) < 0)
		pass->turn_given = 0;
	size_t turn = pass->holds && pass->holds->turn ? pass->holds->turn : pass->turn_given;
	pass->turn = pass->good_count ? turn % pass->good_count : 0;
}

static int pass_allocate(struct gh_pass *pass)
{
	size_t count = pass->link_count;
	pass->links = rec_zalloc(pass->allocator, count, sizeof *pass->links);
	pass->order = rec_zalloc(pass->allocator, count, sizeof *pass->order);
	pass->numbers = rec_zalloc(pass->allocator, count, sizeof *pass->numbers);
	pass->repos = rec_zalloc(pass->allocator, count, sizeof *pass->repos);
	pass->pairs = rec_zalloc(pass->allocator, count + 1, sizeof *pass->pairs);
	pass->observations = rec_zalloc(pass->allocator, count, sizeof *pass->observations);
	return pass->links && pass->order && pass->numbers && pass->repos && pass->pairs && pass->observations
		       ? 0
		       : REC_E_NOMEM;
}

int gh_pass_new(const struct rec_allocator *a, const struct gh_place *place, const struct gh_request *request,
		bool with_token, struct gh_holds *holds, int64_t now_us, struct gh_pass **ret_pass)
{
	struct gh_pass *pass = rec_zalloc(a, 1, sizeof *pass);
	if (!pass)
		return REC_E_NOMEM;
	pass->allocator = a;
	pass->place = place;
	pass->request = request;
	pass->graphql = with_token;
	pass->holds = holds;
	pass->now_us = now_us;
	pass->date_us = pass->begin_date_us = INT64_MIN;
	pass->budget = pass->graphql_budget = (struct gh_budget){-1, -1, -1};
	pass->fallback_left = GH_FALLBACK_MAX;
	pass->link_count = request->link_count;
	rec_arena_init(&pass->arena, a);
	rec_buffer_init(&pass->body, a, 1u << 20);
	if (pass_allocate(pass) < 0) {
		gh_pass_free(pass);
		return REC_E_NOMEM;
	}
	links_begin(pass);
	repos_begin(pass);
	turn_begin(pass);
	pause_begin(pass);
	if (pass->failed) {
		int failed = pass->failed;
		gh_pass_free(pass);
		return failed;
	}
	*ret_pass = pass;
	return 0;
}

struct gh_pass *gh_pass_free(struct gh_pass *pass)
{
	if (!pass)
		return NULL;
	rec_free(pass->allocator, pass->links);
	rec_free(pass->allocator, pass->order);
	rec_free(pass->allocator, pass->numbers);
	rec_free(pass->allocator, pass->repos);
	rec_free(pass->allocator, pass->pairs);
	rec_free(pass->allocator, pass->observations);
	rec_arena_release(&pass->arena);
	rec_buffer_release(&pass->body);
	return rec_free(pass->allocator, pass);
}

/* ---- Asking ---- */

/* Is only the people's part of the budget left? */
static bool budget_spent(const struct gh_pass *pass, const struct gh_budget *b)
{
	double share = pass->request->budget_share;
	return b->limit > 0 && b->remaining >= 0 && (double)b->remaining <= (double)b->limit * (1 - share);
}

static bool phase_next(struct gh_pass *pass)
{
	switch (pass->phase) {
	case PHASE_LISTINGS:
		return pass_listing_next(pass);
	case PHASE_DECIDE:
		pass_direct_decide(pass);
		return false;
	case PHASE_BATCHES:
		return pass->graphql && pass_batch_next(pass);
	case PHASE_SINGLES:
		return pass_single_next(pass);
	default:
		return false;
	}
}

/* A request is due: may it be sent? */
static bool may_ask(struct gh_pass *pass, int64_t elapsed_ms)
{
	const struct gh_budget *budget = pass->what == WHAT_BATCH ? &pass->graphql_budget : &pass->budget;
	if (elapsed_ms + GH_ASK_MS_MIN > pass->request->deadline_ms) {
		pass->stopped = true;
		return false;
	}
	if (budget_spent(pass, budget)) { /* pause_finish says how long */
		pass->stopped = true;
		pass->reason = rec_slice_of(share_spent);
		return false;
	}
	return true;
}

int gh_pass_next(struct gh_pass *pass, int64_t elapsed_ms, const struct gh_ask **ret_ask)
{
	while (!pass->failed && !pass->stopped && !pass->asked && pass->phase != PHASE_END) {
		if (phase_next(pass)) {
			pass->asked = true;
		} else {
			pass->phase++;
			pass->at = 0;
		}
	}
	if (pass->failed)
		return pass->failed;
	if (pass->stopped || pass->phase == PHASE_END || !may_ask(pass, elapsed_ms))
		return REC_END;
	pass->costs.requests++;
	*ret_ask = &pass->ask;
	return 0;
}

/* ---- Answers ---- */

static void clock_and_budget_take(struct gh_pass *pass, const struct gh_response *r)
{
	struct gh_budget *budget = r->graphql || pass->what == WHAT_BATCH ? &pass->graphql_budget : &pass->budget;
	if (r->date_us != INT64_MIN) {
		pass->date_us = r->date_us;
		if (pass->begin_date_us == INT64_MIN)
			pass->begin_date_us = r->date_us;
	}
	if (r->budget.remaining >= 0 && r->budget.limit >= 0) {
		if (budget->remaining > r->budget.remaining)
			pass->costs.points += (uint64_t)(budget->remaining - r->budget.remaining);
		else if (budget->remaining < 0 && r->status != 304)
			pass->costs.points++;
		*budget = r->budget;
	}
	if (r->status == 304)
		pass->costs.unchanged++;
}

/* A page for people where an answer should be. */
static bool is_page(const struct gh_response *r)
{
	const char *body = r->body.data;
	size_t i = 0;
	while (i < r->body.length && strchr(" \t\r\n", body[i]))
		i++;
	return r->status == 200 && i < r->body.length && body[i] == '<';
}

static void outage_count(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message)
{
	if (r->status != 0 && r->status < 500 && !is_page(r)) {
		pass->outages = 0;
		if (r->status < 400) {
			pass->answered = true;
			pass->stop_problem = (struct rec_slice){0};
		}
		return;
	}
	if (++pass->outages >= GH_OUTAGES_MAX)
		pass_stop(pass, pass_checked(pass, gh_answer_problem(r, message, &pass->arena)), 0);
	else if (!pass->answered)
		pass->stop_problem = pass_checked(pass, gh_answer_problem(r, message, &pass->arena));
}

static void dispatch(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message)
{
	switch (pass->what) {
	case WHAT_LISTING:
	case WHAT_CONFIRM:
		pass_listing_answer(pass, r, message);
		break;
	case WHAT_BATCH:
		pass_batch_answer(pass, r, message);
		break;
	default:
		pass_single_answer(pass, r, message);
		break;
	}
}

static void limited(struct gh_pass *pass, const struct gh_response *r, struct rec_slice message, int64_t wait_s)
{
	bool told = r->retry_after_s >= 0 || r->retry_at_us != INT64_MIN || r->budget.remaining == 0;
	if (!told && pass->pause.strikes < 64)
		pass->pause.strikes++;
	pass->limited = true;
	pass_stop(pass, pass_checked(pass, gh_answer_problem(r, message, &pass->arena)), wait_s);
}

int gh_pass_answer(struct gh_pass *pass, const struct gh_response *r, int64_t now_us)
{
	struct rec_slice message = {0};
	const char *problem = NULL;
	int64_t wait_s;
	pass->now_us = now_us;
	clock_and_budget_take(pass, r);
	if (r->failed ||
	    (r->status >= 400 && gh_message_read(rec_buffer_slice(&r->body), &pass->arena, &message) == REC_E_NOMEM))
		return pass->failed = REC_E_NOMEM;
	if (gh_response_limited(r, message, pass->pause.strikes, now_us, &wait_s)) {
		limited(pass, r, message, wait_s);
		return pass->failed;
	}
	if (r->status == 401) {
		pass_stop(pass, pass_checked(pass, gh_answer_problem(r, message, &pass->arena)), 0);
		return pass->failed;
	}
	int redirect = gh_ask_redirect(&pass->ask, r, &pass->arena, pass->place, &problem);
	if (redirect < 0) {
		pass->failed = redirect;
	} else if (redirect == GH_REDIRECT_REFUSED) {
		pass_redirect_refused(pass, problem);
	} else if (redirect == GH_REDIRECT_NONE) {
		outage_count(pass, r, message);
		dispatch(pass, r, message);
	}
	return pass->failed;
}

/* ---- The end ---- */

static void pair_add(struct gh_pass *pass, struct rec_slice key, struct rec_slice value)
{
	pass->pairs[pass->pair_count++] = (struct gh_pair){key, value};
}

/* Did the listing hold news that could not be told, because whether it was merged is not known? Then it must be read
 * again, though it be as it was. */
static bool untold(const struct gh_pass *pass, const struct pass_repo *repo)
{
	for (size_t i = repo->first; i < repo->first + repo->count; i++) {
		const struct pass_link *link = &pass->links[pass->order[i]];
		if (link->listed && link->observation.state == GH_UNKNOWN)
			return true;
	}
	return false;
}

static void cursors_finish(struct gh_pass *pass)
{
	for (size_t i = 0; i < pass->repo_count; i++) {
		struct pass_repo *repo = &pass->repos[i];
		struct rec_buffer b;
		if (!repo->has_next && repo->jump && repo->sight == SIGHT_VISIBLE &&
		    pass->begin_date_us > (int64_t)GH_LAG_S * 1000000) {
			repo->next = (struct gh_cursor){.since_s = pass->begin_date_us / 1000000 - GH_LAG_S,
							.links = repo->links};
			repo->has_next = true;
		}
		if (untold(pass, repo)) {
			repo->next = (struct gh_cursor){.since_s = repo->has_next ? repo->next.since_s
										  : repo->cursor.since_s,
							.links = repo->links};
			repo->has_next = true;
		}
		if (!repo->has_next)
			continue;
		rec_buffer_init(&b, pass->allocator, GH_MARK_BYTES_MAX);
		if (gh_cursor_write(&b, &repo->next) < 0)
			pass->failed = REC_E_NOMEM;
		else
			pair_add(pass, repo->key, pass_keep(pass, rec_buffer_slice(&b)));
		rec_buffer_release(&b);
	}
}

static void turn_finish(struct gh_pass *pass)
{
	struct rec_buffer b;
	if (pass->costs.requests == 0 || pass->good_count == 0)
		return;
	if (pass->stopped)
		pass->turn_next = pass->turn + (pass->phase == PHASE_SINGLES ? pass->at : 0);
	pass->turn_next %= pass->good_count;
	if (pass->holds)
		pass->holds->turn = pass->turn_next;
	if (pass->turn_next == pass->turn_given || pass->stop_problem.length)
		return;
	rec_buffer_init(&b, pass->allocator, GH_MARK_BYTES_MAX);
	if (pass->turn_next && gh_turn_write(&b, pass->turn_next) < 0)
		pass->failed = REC_E_NOMEM;
	else
		pair_add(pass, rec_slice_of(GH_TURN_KEY), pass_keep(pass, rec_buffer_slice(&b)));
	rec_buffer_release(&b);
}

/* What the next pass must know of limits. */
static void pause_finish(struct gh_pass *pass)
{
	const struct gh_budget *budgets[] = {&pass->budget, &pass->graphql_budget};
	for (size_t i = 0; i < 2; i++) {
		int64_t now_us = pass->date_us == INT64_MIN ? pass->now_us : pass->date_us;
		if (budget_spent(pass, budgets[i]) && gh_budget_wait_s(budgets[i], now_us) > pass->wait_s)
			pass->wait_s = gh_budget_wait_s(budgets[i], now_us);
	}
	if (!pass->holds)
		return;
	if (pass->wait_s > 0 && pass->costs.requests > 0)
		pass->holds->pause = (struct gh_pause){.until_s = pass->now_us / 1000000 + pass->wait_s,
						       .strikes = pass->limited ? pass->pause.strikes : 0,
						       .share = !pass->stop_problem.length};
	else if (pass->answered)
		pass->holds->pause = (struct gh_pause){0};
}

int gh_pass_finish(struct gh_pass *pass, struct gh_answer *ret_answer)
{
	struct rec_slice reason = pass->reason.length ? pass->reason
				  : pass->stop_problem.length
					  ? pass->stop_problem
					  : rec_slice_of("not asked in time; the next pass goes on");
	for (size_t i = 0; i < pass->link_count; i++) {
		if (pass->links[i].need != NEED_NOTHING)
			pass_settle_unknown(&pass->links[i], reason);
		pass->observations[i] = pass->links[i].observation;
	}
	pass->pair_count = 0;
	cursors_finish(pass);
	turn_finish(pass);
	pause_finish(pass);
	if (pass->failed)
		return pass->failed;
	*ret_answer = (struct gh_answer){.observations = pass->observations,
					 .observation_count = pass->link_count,
					 .cursors = pass->pairs,
					 .cursor_count = pass->pair_count,
					 .budget = pass->budget.limit >= 0 ? pass->budget : pass->graphql_budget,
					 .retry_after_ms = pass->wait_s * 1000,
					 .problem = pass->stop_problem};
	return 0;
}

struct gh_pass_costs gh_pass_costs(const struct gh_pass *pass)
{
	return pass->costs;
}
