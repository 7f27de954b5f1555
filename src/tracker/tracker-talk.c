/* tracker-talk.c - the conversation with one helper.
 *
 *     NONE --start--> HELLO --"protocol":1--> READY <--> FETCH, CLOSE
 *
 * At any time: a line that is none of the protocol, more than a helper may say, its exit, or the deadline while it owes
 * an answer. Then it is ended, its health notes why, and what was asked is answered with "unknown". An exit while it
 * owes nothing is no fault: it is started again when it is needed. One answer at a time: while one waits to be taken,
 * nothing is read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/timestamp.h"
#include "tracker/secrets.h"
#include "tracker/tracker-private.h"

#define STRAYS_MAX 100u              /* lines that answer nothing */
#define EXIT_WAIT_US INT64_C(200000) /* an output that ended: how it exits is worth waiting for */
#define PROBLEM_BYTES 512
#define TEXT_BYTES_MAX 8192u /* of what a helper says to people: far more than is shown, so that no secret is cut */

static const char no_answer[] = "the tracker did not answer about it";

static bool is_owing(const struct tracker *tr)
{
	return tr->talk == TALK_HELLO || tr->talk == TALK_FETCH || tr->talk == TALK_CLOSE;
}

/* It goes into the store, where everybody reads it: without secrets, whoever's words it is. */
static void fail(struct tracker *tr, int64_t now_us, int64_t retry_after_ms, struct rec_slice problem)
{
	struct rec_secrets secrets;
	struct rec_buffer shown;
	rec_secrets_init(&secrets, environ);
	rec_buffer_init(&shown, tr->helper.allocator, TEXT_BYTES_MAX);
	problem.length = problem.length < TEXT_BYTES_MAX ? problem.length : TEXT_BYTES_MAX;
	if (rec_secrets_hide(&secrets, &shown, problem) == 0)
		problem = rec_buffer_slice(&shown);
	else
		problem = rec_slice_of("out of memory for what it said");
	rec_tracker_health_failed(&tr->health, now_us, retry_after_ms, problem);
	rec_buffer_release(&shown);
	tr->pass.sound = false;
}

/* It did what no helper may do. */
static void end_helper(struct tracker *tr, int64_t now_us, const char *problem)
{
	rec_helper_kill(&tr->helper);
	tr->talk = TALK_NONE;
	fail(tr, now_us, 0, rec_slice_of(problem));
}

/* ---- Answers ------------------------------------------------------------------------------------ */

static void answer_begin(struct tracker *tr, enum rec_tracker_answer_kind kind, bool reached)
{
	tr->answering = true;
	tr->answer.kind = kind;
	tr->answer.reached = reached;
}

static void answer_pass(struct tracker *tr, bool reached, size_t upto)
{
	struct pass *pass = &tr->pass;
	answer_begin(tr, REC_TRACKER_OBSERVED, reached);
	tr->answer.observations = pass->observations + pass->answered;
	tr->answer.count = upto - pass->answered;
	tr->answer.last = upto == pass->count;
	pass->answered = pass->asked = upto;
	if (!tr->answer.last)
		return;
	pass->on = false;
	if (pass->sound) {
		tr->answer.cursors = pass->kept;
		tr->answer.cursor_count = pass->kept_count;
	}
}

static void unknown_fill(struct pass *pass, size_t from, size_t upto, struct rec_slice problem)
{
	for (size_t i = from; i < upto; i++)
		pass->observations[i] = (struct rec_observation){.url = pass->links[i].url, .problem = problem};
}

static void answer_close(const struct rec_trackers *t, struct tracker *tr, bool closed, struct rec_slice problem)
{
	answer_begin(tr, REC_TRACKER_CLOSED, closed || tr->health.state != REC_TRACKER_DOWN);
	tr->answer.url = tr->closes[0].url;
	tr->answer.marker = tr->closes[0].marker;
	tr->answer.closed = closed;
	tr->answer.problem = problem;
	rec_tracker_close_pop(t, tr);
}

/* It may not be asked now: what is wanted of it is answered with that. */
static void give_up(const struct rec_trackers *t, struct tracker *tr)
{
	const char *why = tr->health.problem[0] ? tr->health.problem : "the tracker asked to be left alone for a while";
	if (tr->pass.on) {
		tr->pass.sound = false;
		unknown_fill(&tr->pass, tr->pass.answered, tr->pass.count, rec_slice_of(why));
		answer_pass(tr, false, tr->pass.count);
	} else {
		answer_close(t, tr, false, rec_slice_of(why));
	}
}

/* ---- What came back ----------------------------------------------------------------------------- */

/* Two answers about one link that differ are none. */
static bool contradicts(const struct rec_observation *a, const struct rec_observation *b)
{
	return a->state != b->state || !rec_slice_equal(a->time, b->time);
}

static void observation_take(struct pass *pass, const struct rec_observation *told)
{
	struct rec_protocol_link wanted = {.url = told->url};
	const struct rec_protocol_link *link = bsearch(&wanted, pass->links + pass->answered,
						       pass->asked - pass->answered, sizeof *link, rec_tracker_by_url);
	if (!link)
		return; /* never asked */
	struct rec_observation *known = &pass->observations[link - pass->links];
	struct rec_slice problem = {0};
	if (known->problem.data != no_answer && contradicts(known, told))
		problem = rec_slice_of("the tracker told two different things about it");
	else if (told->state == REC_OBSERVED_UNCHANGED && !link->validator.data)
		problem = rec_slice_of("the tracker said unchanged of what it had never told");
	*known = *told;
	if (problem.data) {
		*known = (struct rec_observation){.problem = problem};
		pass->sound = false;
	}
	known->url = link->url; /* the copy that lives as long as the pass */
}

/* The first value of a key stands: it was taken before anything later was asked. */
static int cursors_keep(struct tracker *tr, const struct rec_allocator *a)
{
	struct pass *pass = &tr->pass;
	void *kept = pass->kept;
	int r = rec_grow(a, &kept, &pass->kept_capacity, pass->kept_count + tr->parsed.cursor_count,
			 sizeof *pass->kept);
	pass->kept = kept;
	size_t before = pass->kept_count;
	for (size_t i = 0; i < tr->parsed.cursor_count && r == 0; i++) {
		struct rec_tracker_cursor cursor = tr->parsed.cursors[i];
		size_t at = 0;
		while (at < before && !rec_slice_equal(pass->kept[at].key, cursor.key))
			at++;
		if (at < before)
			continue;
		const char *key = rec_arena_strndup(&pass->texts, cursor.key.data, cursor.key.length);
		const char *value = cursor.value.data
					    ? rec_arena_strndup(&pass->texts, cursor.value.data, cursor.value.length)
					    : NULL;
		if (!key || (cursor.value.data && !value))
			return REC_E_NOMEM;
		pass->kept[pass->kept_count++] =
			(struct rec_tracker_cursor){{key, cursor.key.length}, {value, cursor.value.length}};
	}
	return r;
}

static void budget_take(struct tracker *tr)
{
	const struct rec_protocol_budget *budget = &tr->parsed.budget;
	struct rec_tracker_health *h = &tr->health;
	if (!tr->parsed.has_budget || !budget->limit.given || !budget->remaining.given)
		return;
	h->has_budget = true;
	h->budget_limit = budget->limit.value;
	h->budget_remaining = budget->remaining.value;
	if (!budget->reset.data || rec_timestamp_parse(budget->reset, &h->budget_reset_us) != 0)
		h->budget_reset_us = 0;
}

static int hello_take(struct tracker *tr, int64_t now_us)
{
	const struct rec_protocol_answer *told = &tr->parsed;
	if (told->problem.data) {
		rec_helper_kill(&tr->helper);
		tr->talk = TALK_NONE;
		fail(tr, now_us, told->retry_after_ms.value, told->problem);
	} else if (!told->protocol.given || told->protocol.value != REC_TRACKER_PROTOCOL) {
		end_helper(tr, now_us, "the helper does not speak protocol 1");
	} else {
		rec_text_shown(tr->health.helper, sizeof tr->health.helper, told->helper);
		tr->health.can_close = told->can_close.value != 0;
		tr->talk = TALK_READY;
	}
	return 0;
}

static int fetch_take(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	struct pass *pass = &tr->pass;
	const struct rec_protocol_answer *told = &tr->parsed;
	if (!told->has_observations && !told->problem.data) {
		end_helper(tr, now_us, "the helper answered without observations");
		return 0;
	}
	int r = told->problem.data ? 0 : cursors_keep(tr, t->allocator);
	if (r != 0)
		return r;
	unknown_fill(pass, pass->answered, pass->asked, rec_slice_of(no_answer));
	for (size_t i = 0; i < told->observation_count; i++)
		observation_take(pass, &told->observations[i]);
	pass->sound = pass->sound && !told->unsound;
	for (size_t i = pass->answered; i < pass->asked && told->problem.data; i++)
		if (pass->observations[i].problem.data == no_answer)
			pass->observations[i].problem = told->problem;
	budget_take(tr);
	if (told->problem.data)
		fail(tr, now_us, told->retry_after_ms.value, told->problem);
	else
		rec_tracker_health_answered(&tr->health, now_us, told->retry_after_ms.value);
	tr->talk = TALK_READY;
	tr->served = true;
	answer_pass(tr, !told->problem.data, pass->asked);
	return 0;
}

static int close_take(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	const struct rec_protocol_answer *told = &tr->parsed;
	bool closed = told->closed.value != 0;
	tr->talk = TALK_READY;
	tr->served = true;
	/* one item that cannot be closed says nothing about the others */
	if (!closed && told->retry_after_ms.given)
		rec_tracker_health_answered(&tr->health, now_us, told->retry_after_ms.value);
	struct rec_slice problem = told->problem.data ? told->problem : rec_slice_of("the tracker did not close it");
	if (closed)
		problem = (struct rec_slice){0};
	answer_close(t, tr, closed, problem);
	return 0;
}

/* ---- Secrets ------------------------------------------------------------------------------------ */

/* What is said to people, without secrets. */
static int text_hide(struct tracker *tr, const struct rec_secrets *secrets, struct rec_slice *text)
{
	struct rec_buffer shown;
	char *copy = NULL;
	text->length = text->length < TEXT_BYTES_MAX ? text->length : TEXT_BYTES_MAX;
	if (!rec_secrets_in(secrets, *text))
		return 0;
	rec_buffer_init(&shown, tr->helper.allocator, TEXT_BYTES_MAX);
	if (rec_secrets_hide(secrets, &shown, *text) == 0)
		copy = rec_arena_strndup(&tr->answer_texts, shown.data, shown.length);
	*text = (struct rec_slice){copy, shown.length};
	rec_buffer_release(&shown);
	return copy ? 0 : REC_E_NOMEM;
}

static bool is_known_reason(struct rec_slice reason)
{
	static const char *const known[] = {"completed", "not_planned", "duplicate", "reopened"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (rec_slice_equal(reason, rec_slice_of(known[i])))
			return true;
	return false;
}

/* What is kept in the store cannot be changed: an observation with a secret in it is none. */
static int observation_hide(struct tracker *tr, const struct rec_secrets *secrets, struct rec_observation *o)
{
	bool secret = rec_secrets_in(secrets, o->moved_to) || rec_secrets_in(secrets, o->validator) ||
		      (!is_known_reason(o->reason) && rec_secrets_in(secrets, o->reason));
	if (!secret)
		return text_hide(tr, secrets, &o->problem);
	*o = (struct rec_observation){.url = o->url, .problem = rec_slice_of("the tracker told a secret of ours")};
	tr->parsed.unsound = true;
	return 0;
}

/* Of all that a line holds. A cursor with a secret in it is not kept, which only costs requests. */
static int answer_hide(struct tracker *tr)
{
	struct rec_protocol_answer *told = &tr->parsed;
	struct rec_secrets secrets;
	size_t kept = 0;
	rec_secrets_init(&secrets, environ);
	int r = text_hide(tr, &secrets, &told->problem);
	r = r ? r : text_hide(tr, &secrets, &told->helper);
	for (size_t i = 0; i < told->observation_count && r == 0; i++)
		r = observation_hide(tr, &secrets, &told->observations[i]);
	for (size_t i = 0; i < told->cursor_count; i++)
		if (!rec_secrets_in(&secrets, told->cursors[i].key) &&
		    !rec_secrets_in(&secrets, told->cursors[i].value))
			told->cursors[kept++] = told->cursors[i];
	told->cursor_count = kept;
	return r;
}

/* 0: taken, or set aside; REC_E_NOMEM: the line is to be taken again. */
static int line_take(const struct rec_trackers *t, struct tracker *tr, struct rec_slice line, int64_t now_us)
{
	struct rec_error error;
	char problem[PROBLEM_BYTES];
	rec_arena_release(&tr->answer_texts);
	rec_protocol_answer_release(&tr->parsed, t->allocator);
	int r = rec_protocol_parse(line, &tr->answer_texts, &tr->parsed, &error);
	if (r == REC_E_NOMEM || (r == 0 && answer_hide(tr) != 0))
		return REC_E_NOMEM;
	if (r != 0) {
		snprintf(problem, sizeof problem, "the helper's answer cannot be read: %.400s", error.message);
		end_helper(tr, now_us, problem);
		return 0;
	}
	if (!is_owing(tr) || !tr->parsed.id.given || tr->parsed.id.value != tr->request_id) {
		if (++tr->strays > STRAYS_MAX)
			end_helper(tr, now_us, "the helper answers what it was not asked");
		return 0;
	}
	return tr->talk == TALK_HELLO   ? hello_take(tr, now_us)
	       : tr->talk == TALK_FETCH ? fetch_take(t, tr, now_us)
					: close_take(t, tr, now_us);
}

/* ---- Asking ------------------------------------------------------------------------------------- */

static void asked(struct tracker *tr, enum talk talk, int64_t now_us)
{
	tr->talk = talk;
	tr->strays = 0;
	tr->hung_up = false;
	tr->deadline_us = now_us + tr->timeout_us;
	tr->health.requests++;
	rec_helper_say(&tr->helper);
}

/* A request that could not be written whole is not said at all. */
static int unsaid(struct tracker *tr, int r)
{
	rec_buffer_clear(&tr->helper.to_say);
	return r;
}

static int fetch_ask(struct tracker *tr, int64_t now_us)
{
	struct pass *pass = &tr->pass;
	size_t written = 0;
	struct rec_protocol_fetch fetch = {
		.id = ++tr->request_id,
		.links = pass->links + pass->answered,
		.count = pass->count - pass->answered,
		.cursors = pass->cursors,
		.cursor_count = pass->cursor_count,
		.budget_share = tr->budget_share,
		.deadline_ms = tr->timeout_us / 10 * 9 / 1000,
	};
	int r = rec_protocol_write_fetch(&tr->helper.to_say, &fetch, &written);
	if (r != 0)
		return unsaid(tr, r);
	pass->asked = pass->answered + written;
	asked(tr, TALK_FETCH, now_us);
	return 0;
}

static int close_ask(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	const struct close_request *c = &tr->closes[0];
	if (!tr->health.can_close) {
		answer_close(t, tr, false, rec_slice_of("the tracker's helper cannot close anything"));
		return 0;
	}
	int r = rec_protocol_write_close(&tr->helper.to_say, ++tr->request_id, c->url, c->comment, c->marker);
	if (r != 0)
		return unsaid(tr, r);
	asked(tr, TALK_CLOSE, now_us);
	return 0;
}

static int start(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	struct rec_error error;
	int r = rec_helper_start(&tr->helper, t->leash_path, tr->command, &error);
	if (r == REC_E_NOMEM)
		return r;
	if (r != 0) {
		fail(tr, now_us, 0, rec_slice_of(error.message));
		return 0;
	}
	tr->request_id = 1;
	tr->served = false;
	r = rec_protocol_write_hello(&tr->helper.to_say, tr->request_id, rec_slice_of(tr->name));
	if (r != 0) {
		rec_helper_kill(&tr->helper);
		return r;
	}
	asked(tr, TALK_HELLO, now_us);
	return 0;
}

/* Says the next thing that is wanted, if it may be said now. */
static int go_on(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	if (!tracker_is_wanted(tr) || is_owing(tr) || tr->answering)
		return 0;
	if (!rec_tracker_health_may_ask(&tr->health, now_us)) {
		give_up(t, tr);
		return 0;
	}
	if (tr->talk == TALK_NONE)
		return rec_helper_reap(&tr->helper) ? start(t, tr, now_us) : 0;
	return tr->pass.on ? fetch_ask(tr, now_us) : close_ask(t, tr, now_us);
}

/* ---- What went wrong ---------------------------------------------------------------------------- */

static void end_look(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	struct rec_buffer text;
	bool ended = rec_helper_output_ended(&tr->helper), gone = tr->helper.exited && tr->helper.drained;
	if (!ended && !gone)
		return;
	if (!is_owing(tr) || tr->served) {
		rec_helper_kill(&tr->helper);
		tr->talk = TALK_NONE;
		tr->pass.asked = tr->pass.answered;
	} else if (tr->helper.exited) {
		rec_buffer_init(&text, t->allocator, PROBLEM_BYTES);
		rec_helper_end_text(&tr->helper, &text);
		end_helper(tr, now_us, text.length ? text.data : "the helper ended");
		rec_buffer_release(&text);
	} else if (tr->deadline_us > now_us + EXIT_WAIT_US && !tr->hung_up) {
		tr->deadline_us = now_us + EXIT_WAIT_US;
		tr->hung_up = true;
	}
}

static void deadline_look(struct tracker *tr, int64_t now_us)
{
	char problem[80];
	if (!is_owing(tr) || now_us < tr->deadline_us)
		return;
	if (rec_helper_output_ended(&tr->helper)) {
		end_helper(tr, now_us, "the helper closed its output");
		return;
	}
	snprintf(problem, sizeof problem, "the helper did not answer within %" PRId64 " ms", tr->timeout_us / 1000);
	end_helper(tr, now_us, problem);
}

static int hear(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	struct rec_slice line;
	int r = rec_helper_work(&tr->helper);
	while (r == 0 && !tr->answering && tr->talk != TALK_NONE && (r = rec_helper_line(&tr->helper, &line)) == 0) {
		r = line_take(t, tr, line, now_us);
		if (r == 0 && tr->talk != TALK_NONE)
			rec_helper_line_done(&tr->helper, line);
	}
	bool flood = r == REC_E_LIMIT || (r >= 0 && tr->helper.heard_bytes > REC_HELPER_FLOOD_BYTES);
	if (flood && tr->talk != TALK_NONE)
		end_helper(tr, now_us, "the helper said more than it may (a line is at most 4 MiB)");
	return r == REC_E_NOMEM ? r : 0;
}

int rec_tracker_talk(const struct rec_trackers *t, struct tracker *tr, int64_t now_us)
{
	int r = 0;
	if (tr->answering)
		return 0;
	if (tr->talk == TALK_NONE)
		rec_helper_reap(&tr->helper);
	else
		r = hear(t, tr, now_us);
	if (r == 0 && tr->talk != TALK_NONE && !tr->answering)
		end_look(t, tr, now_us);
	if (r == 0 && tr->talk != TALK_NONE && !tr->answering)
		deadline_look(tr, now_us);
	return r == 0 ? go_on(t, tr, now_us) : r;
}

int64_t rec_tracker_talk_due_us(const struct tracker *tr)
{
	if (tr->answering)
		return 0;
	if (is_owing(tr))
		return tr->deadline_us;
	if (!tracker_is_wanted(tr))
		return INT64_MAX;
	return tr->talk == TALK_NONE && tr->helper.pid ? INT64_MAX : 0; /* its exit wakes us */
}
