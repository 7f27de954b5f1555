/* observe.c - one constant table of what each change means for each stored status, and around it the question whether
 * there is a change at all: is the observation sound, is it newer, does it differ.
 */
#include "core/observe.h"

#include "base/text.h"
#include "base/timestamp.h"

/* ---- The table ---- */

enum change { COMPLETED, NOT_PLANNED, MERGED, CLOSED_UNMERGED, REOPENED, REOPENED_AFTER_US, CHANGE_COUNT };
enum effect {
	SILENT, /* nothing, and nothing to tell */
	NOTICE, /* nothing but to tell of it */
	WRITE,  /* the status is written, unless it is so already */
};

struct cell {
	uint8_t effect, status; /* the observed one */
};

/* clang-format off: one cell, one line */
static const struct cell table[CHANGE_COUNT][REC_STATUS_COUNT] = {
	[COMPLETED][REC_BACKLOG] = {WRITE, REC_DONE},
	[COMPLETED][REC_READY] = {WRITE, REC_DONE},
	[COMPLETED][REC_IN_PROGRESS] = {WRITE, REC_DONE},
	[COMPLETED][REC_BLOCKED] = {WRITE, REC_DONE},
	[COMPLETED][REC_FAILED] = {WRITE, REC_DONE},
	[COMPLETED][REC_DONE] = {WRITE, REC_DONE},
	[COMPLETED][REC_MERGED] = {SILENT, REC_STATUS_ABSENT},

	[NOT_PLANNED][REC_BACKLOG] = {WRITE, REC_BACKLOG},
	[NOT_PLANNED][REC_READY] = {WRITE, REC_BACKLOG},
	[NOT_PLANNED][REC_IN_PROGRESS] = {WRITE, REC_BACKLOG},
	[NOT_PLANNED][REC_BLOCKED] = {WRITE, REC_BACKLOG},
	[NOT_PLANNED][REC_FAILED] = {NOTICE, REC_BACKLOG},
	[NOT_PLANNED][REC_DONE] = {NOTICE, REC_BACKLOG},
	[NOT_PLANNED][REC_MERGED] = {NOTICE, REC_BACKLOG},

	[MERGED][REC_BACKLOG] = {WRITE, REC_DONE},
	[MERGED][REC_READY] = {WRITE, REC_DONE},
	[MERGED][REC_IN_PROGRESS] = {WRITE, REC_DONE},
	[MERGED][REC_BLOCKED] = {WRITE, REC_DONE},
	[MERGED][REC_FAILED] = {WRITE, REC_DONE},
	[MERGED][REC_DONE] = {WRITE, REC_MERGED},
	[MERGED][REC_MERGED] = {WRITE, REC_MERGED},

	[CLOSED_UNMERGED][REC_BACKLOG] = {NOTICE, REC_FAILED},
	[CLOSED_UNMERGED][REC_READY] = {NOTICE, REC_FAILED},
	[CLOSED_UNMERGED][REC_IN_PROGRESS] = {WRITE, REC_FAILED},
	[CLOSED_UNMERGED][REC_BLOCKED] = {NOTICE, REC_FAILED},
	[CLOSED_UNMERGED][REC_FAILED] = {NOTICE, REC_FAILED},
	[CLOSED_UNMERGED][REC_DONE] = {NOTICE, REC_FAILED},
	[CLOSED_UNMERGED][REC_MERGED] = {NOTICE, REC_FAILED},

	[REOPENED][REC_BACKLOG] = {NOTICE, REC_READY},
	[REOPENED][REC_READY] = {SILENT, REC_STATUS_ABSENT},
	[REOPENED][REC_IN_PROGRESS] = {SILENT, REC_STATUS_ABSENT},
	[REOPENED][REC_BLOCKED] = {SILENT, REC_STATUS_ABSENT},
	[REOPENED][REC_FAILED] = {NOTICE, REC_READY},
	[REOPENED][REC_DONE] = {NOTICE, REC_READY},
	[REOPENED][REC_MERGED] = {NOTICE, REC_READY},

	/* this tracker had made the task DONE, and nobody has touched it since */
	[REOPENED_AFTER_US][REC_BACKLOG] = {NOTICE, REC_READY},
	[REOPENED_AFTER_US][REC_READY] = {SILENT, REC_STATUS_ABSENT},
	[REOPENED_AFTER_US][REC_IN_PROGRESS] = {SILENT, REC_STATUS_ABSENT},
	[REOPENED_AFTER_US][REC_BLOCKED] = {SILENT, REC_STATUS_ABSENT},
	[REOPENED_AFTER_US][REC_FAILED] = {NOTICE, REC_READY},
	[REOPENED_AFTER_US][REC_DONE] = {WRITE, REC_READY},
	[REOPENED_AFTER_US][REC_MERGED] = {NOTICE, REC_READY},
};
/* clang-format on */

/* ---- Is it sound? ---- */

#define WORD_BYTES_MAX 256 /* of a reason, a time */

static bool is_text(struct rec_slice text, size_t bytes_max)
{
	return !text.data || (text.length <= bytes_max && rec_utf8_error_offset(text) == text.length &&
			      (text.length == 0 || !memchr(text.data, '\0', text.length)));
}

static bool is_address(struct rec_slice url)
{
	if (!url.data)
		return true;
	for (size_t i = 0; i < url.length; i++)
		if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
			return false;
	return url.length > 0 && is_text(url, REC_LINK_URL_BYTES_MAX);
}

const char *rec_observation_problem(const struct rec_observation *observation)
{
	int64_t us;
	const struct rec_observation *o = observation;
	if ((unsigned)o->state > REC_OBSERVED_UNCHANGED || (unsigned)o->kind > REC_LINK_PULL_REQUEST)
		return "the tracker told a state that is not known";
	if (o->time.data && rec_timestamp_parse(o->time, &us))
		return "the tracker told a time that is none";
	if (!is_text(o->time, WORD_BYTES_MAX) || !is_text(o->reason, WORD_BYTES_MAX))
		return "the tracker told a reason that is too long, or not UTF-8";
	if (!is_text(o->validator, REC_VALIDATOR_BYTES_MAX))
		return "the tracker told a validator that is too long, or not UTF-8";
	if (!is_address(o->moved_to))
		return "the tracker told a new place that is no address";
	if (o->has_comments && o->comments < 0)
		return "the tracker told a number of comments below zero";
	return NULL;
}

/* ---- What does it say? ---- */

/* A closed issue without a reason counts as completed. */
static struct rec_slice reason_of(struct rec_slice reason)
{
	return reason.length ? reason : rec_slice_of("completed");
}

static enum rec_link_kind kind_of(const struct rec_link *link, const struct rec_observation *o)
{
	if (o->state == REC_OBSERVED_MERGED)
		return REC_LINK_PULL_REQUEST;
	if (o->kind != REC_LINK_KIND_UNKNOWN)
		return o->kind;
	if (link->kind != REC_LINK_KIND_UNKNOWN)
		return link->kind;
	return rec_link_kind_of_url(link->url) == REC_LINK_PULL_REQUEST ? REC_LINK_PULL_REQUEST : REC_LINK_ISSUE;
}

static bool state_differs(const struct rec_link *link, const struct rec_observation *o)
{
	if (link->state != o->state)
		return true;
	return o->state == REC_OBSERVED_CLOSED && kind_of(link, o) == REC_LINK_ISSUE &&
	       !rec_slice_equal(reason_of(link->reason), reason_of(o->reason));
}

static bool comments_differ(const struct rec_link *link, const struct rec_observation *o)
{
	return o->has_comments && !(link->has_comments && link->comments == o->comments);
}

enum age { OLDER, TIE, NEWER };

/* The first observation is newer than nothing. One without a time, where there was one before, cannot be told from a
 * late one. */
static enum age age_of(const struct rec_link *link, const struct rec_observation *o)
{
	int64_t known = 0, now = 0;
	if (link->state == REC_OBSERVED_UNKNOWN || !link->time.data || rec_timestamp_parse(link->time, &known))
		return NEWER;
	if (!o->time.data)
		return o->state == REC_OBSERVED_GONE ? NEWER : TIE;
	(void)rec_timestamp_parse(o->time, &now); /* its soundness was asked before */
	return now < known ? OLDER : now == known ? TIE : NEWER;
}

/* ---- What follows? ---- */

static void reason_set(struct rec_observed_outcome *out, enum rec_reason reason)
{
	out->verdict.reason = (uint8_t)reason;
}

/* NONE with discrepancy, told once. */
static void notice(struct rec_observed_outcome *out, enum rec_reason reason)
{
	reason_set(out, reason);
	out->verdict.discrepancy = 1;
	out->tell = true;
}

static void change_apply(struct rec_observed_outcome *out, enum change change, enum rec_reason reason)
{
	enum rec_status stored = (enum rec_status)out->verdict.stored;
	struct cell cell = table[change][stored];
	reason_set(out, reason);
	out->verdict.external = cell.status;
	if (cell.effect == NOTICE)
		notice(out, reason);
	if (cell.effect != WRITE)
		return;
	struct rec_verdict decided = rec_decide_task((enum rec_status)cell.status, stored);
	out->verdict.action = decided.action;
	out->verdict.discrepancy = decided.discrepancy;
	if (cell.status == stored)
		return;
	out->write = (enum rec_status)cell.status;
	out->tell = true;
	out->made_done = cell.status == REC_DONE;
}

static void closed_apply(struct rec_observed_outcome *out, enum rec_link_kind kind, struct rec_slice reason)
{
	if (kind == REC_LINK_PULL_REQUEST)
		change_apply(out, CLOSED_UNMERGED, REC_REASON_PULL_REQUEST_CLOSED);
	else if (rec_slice_equal(reason, rec_slice_of("completed")))
		change_apply(out, COMPLETED, REC_REASON_ISSUE_COMPLETED);
	else if (rec_slice_equal(reason, rec_slice_of("not_planned")) ||
		 rec_slice_equal(reason, rec_slice_of("duplicate")))
		change_apply(out, NOT_PLANNED, REC_REASON_ISSUE_NOT_PLANNED);
	else
		notice(out, REC_REASON_ISSUE_CLOSED_OTHERWISE);
}

static void open_apply(const struct rec_observe_input *in, struct rec_observed_outcome *out, enum rec_link_kind kind)
{
	const struct rec_link *link = in->link;
	const struct rec_observation *o = in->observation;
	if (link->state == REC_OBSERVED_CLOSED || link->state == REC_OBSERVED_MERGED) {
		change_apply(out, in->made_done ? REOPENED_AFTER_US : REOPENED,
			     kind == REC_LINK_PULL_REQUEST ? REC_REASON_PULL_REQUEST_REOPENED
							   : REC_REASON_ISSUE_REOPENED);
		out->link.made_done_at = (struct rec_slice){NULL, 0};
	} else if (link->has_comments && o->has_comments && o->comments > link->comments) {
		reason_set(out, REC_REASON_NEW_COMMENTS);
		out->tell = true;
	}
}

/* ---- What is remembered? ---- */

static bool same_text(struct rec_slice a, struct rec_slice b)
{
	return a.data && b.data ? rec_slice_equal(a, b) : a.data == b.data;
}

static void validator_keep(struct rec_link *link, const struct rec_observation *o)
{
	if (o->validator.data)
		link->validator = o->validator;
}

static void observation_keep(struct rec_link *link, const struct rec_observation *o, enum rec_link_kind kind)
{
	link->state = o->state;
	link->kind = kind;
	link->reason = o->state == REC_OBSERVED_CLOSED ? o->reason : (struct rec_slice){NULL, 0};
	link->gone = false;
	if (o->time.data)
		link->time = o->time;
	if (o->has_comments) {
		link->has_comments = true;
		link->comments = o->comments;
	}
	if (o->moved_to.data && !rec_slice_equal(o->moved_to, link->url))
		link->moved_to = o->moved_to;
	validator_keep(link, o);
}

static bool link_differs(const struct rec_link *a, const struct rec_link *b)
{
	return a->state != b->state || a->kind != b->kind || a->gone != b->gone || a->has_comments != b->has_comments ||
	       a->comments != b->comments || !same_text(a->reason, b->reason) || !same_text(a->time, b->time) ||
	       !same_text(a->moved_to, b->moved_to) || !same_text(a->validator, b->validator) ||
	       !same_text(a->made_done_at, b->made_done_at);
}

/* ---- All of it ---- */

/* The observation is newer, or read again: whatever differs is a change. */
static void observation_take(const struct rec_observe_input *in, struct rec_observed_outcome *out)
{
	const struct rec_observation *o = in->observation;
	enum rec_link_kind kind = kind_of(in->link, o);
	if (o->state == REC_OBSERVED_GONE) {
		if (!in->link->gone)
			notice(out, REC_REASON_LINK_GONE);
		else
			reason_set(out, REC_REASON_LINK_GONE);
		out->link.gone = true;
		return;
	}
	observation_keep(&out->link, o, kind);
	if (o->state == REC_OBSERVED_OPEN)
		open_apply(in, out, kind);
	else if (!state_differs(in->link, o))
		return;
	else if (o->state == REC_OBSERVED_MERGED)
		change_apply(out, MERGED, REC_REASON_PULL_REQUEST_MERGED);
	else
		closed_apply(out, kind, reason_of(o->reason));
}

static void observation_judge(const struct rec_observe_input *in, struct rec_observed_outcome *out)
{
	const struct rec_link *link = in->link;
	const struct rec_observation *o = in->observation;
	if (o->state == REC_OBSERVED_UNKNOWN || rec_observation_problem(o) ||
	    (o->state == REC_OBSERVED_UNCHANGED && link->state == REC_OBSERVED_UNKNOWN)) {
		reason_set(out, REC_REASON_TRACKER_UNKNOWN);
		return;
	}
	if (o->state == REC_OBSERVED_UNCHANGED) {
		validator_keep(&out->link, o);
		return;
	}
	enum age age = age_of(link, o);
	bool differs = state_differs(link, o) || comments_differ(link, o);
	if (age == OLDER)
		reason_set(out, REC_REASON_OBSERVATION_OLDER);
	else if (age == TIE && differs && !in->again) {
		reason_set(out, REC_REASON_OBSERVATION_TIE);
		out->read_again = true;
	} else
		observation_take(in, out);
}

void rec_observe(const struct rec_observe_input *input, struct rec_observed_outcome *ret_outcome)
{
	const struct rec_observe_input *in = input;
	struct rec_observed_outcome *out = ret_outcome;
	*out = (struct rec_observed_outcome){
		.verdict = {.stored = (uint8_t)in->stored,
			    .external = REC_STATUS_ABSENT,
			    .action = REC_NONE,
			    .reason = REC_REASON_NOTHING_NEW,
			    .source = REC_SOURCE_TRACKER},
		.write = REC_STATUS_ABSENT,
		.link = *in->link,
	};
	if (in->stored == REC_STATUS_ABSENT) {
		reason_set(out, REC_REASON_NOT_FOUND);
		return;
	}
	if ((unsigned)in->stored >= REC_STATUS_COUNT) {
		out->verdict.stored = REC_STATUS_UNRECOGNISED;
		reason_set(out, REC_REASON_UNRECOGNISED_STATUS);
		out->verdict.discrepancy = 1;
		/* what changed is still to be acted on when the row is mended, so it must not be called unchanged */
		out->link.validator = (struct rec_slice){NULL, 0};
		out->remember = in->link->validator.data != NULL;
		return;
	}
	observation_judge(in, out);
	if (in->again) /* the second reading may have been the late one: the next question is for all of it */
		out->link.validator = (struct rec_slice){NULL, 0};
	out->remember = link_differs(in->link, &out->link) || out->made_done;
}
