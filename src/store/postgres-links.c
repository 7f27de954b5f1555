/* postgres-links.c - links to trackers, what is known of them, and what the trackers' helpers want to keep. A row of
 * reconciler.links is an explicit link, or what was observed of an external_url; the second kind counts only while
 * it is the task's external_url. */
#include "store/postgres.h"

/* In the order of LINK_COLUMNS. */
enum { TASK, URL, IMPLICIT, STATE, KIND, REASON, TIME, COMMENTS, MOVED_TO, VALIDATOR, OBSERVED_AT, GONE, MADE_DONE_AT };

/* ---- Writing ---- */

int rec_postgres_links_ready(struct rec_store *store, struct rec_error *error)
{
	(void)store, (void)error; /* as old as the schema itself */
	return 0;
}

int rec_postgres_link_put(struct rec_store *store, struct rec_slice task_id, struct rec_slice url,
			  struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	int rows = 0;
	rec_postgres_put_text(&a, task_id);
	rec_postgres_put_text(&a, url);
	int r = rec_postgres_effect(rec_postgres_of(store), REC_POSTGRES_LINK_PUT, &a, &rows, error);
	return r == 0 && rows == 0 ? REC_EXISTS : r;
}

int rec_postgres_link_remove(struct rec_store *store, struct rec_slice task_id, struct rec_slice url,
			     struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	int rows = 0;
	rec_postgres_put_text(&a, task_id);
	rec_postgres_put_text(&a, url);
	int r = rec_postgres_effect(rec_postgres_of(store), REC_POSTGRES_LINK_REMOVE, &a, &rows, error);
	return r == 0 && rows == 0 ? REC_NOT_FOUND : r;
}

int rec_postgres_link_observed(struct rec_store *store, const struct rec_link *link, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	int rows = 0;
	rec_postgres_put_text(&a, link->task_id);
	rec_postgres_put_text(&a, link->url);
	rec_postgres_put_word(&a, rec_observed_text(link->state));
	rec_postgres_put_word(&a, rec_link_kind_text(link->kind));
	rec_postgres_put_text(&a, link->reason);
	rec_postgres_put_text(&a, link->time);
	rec_postgres_put_optional(&a, link->has_comments, link->comments);
	rec_postgres_put_text(&a, link->moved_to);
	rec_postgres_put_text(&a, link->validator);
	rec_postgres_put_text(&a, link->observed_at);
	rec_postgres_put_bool(&a, link->gone);
	rec_postgres_put_text(&a, link->made_done_at);
	int r = rec_postgres_effect(rec_postgres_of(store), REC_POSTGRES_LINK_OBSERVED, &a, &rows, error);
	return r == 0 && rows == 0 ? REC_NOT_FOUND : r;
}

int rec_postgres_tracker_cursor_put(struct rec_store *store, struct rec_slice tracker, struct rec_slice key,
				    struct rec_slice value, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0}, none = {0};
	rec_postgres_put_text(&a, tracker);
	rec_postgres_put_text(&a, key);
	if (value.data)
		rec_postgres_put_text(&a, value);
	int r = rec_cursor_is_ours(tracker) ? 0 : rec_postgres_later(s, REC_POSTGRES_LINK_PRUNE, &none, error);
	return r ? r
		 : rec_postgres_later(s, value.data ? REC_POSTGRES_CURSOR_PUT : REC_POSTGRES_CURSOR_FORGET, &a, error);
}

/* ---- Reading ---- */

struct link_listing {
	struct rec_slice task_id;
	rec_link_fn *fn;
	void *context;
	bool told;
};

static int link_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)error;
	struct link_listing *l = context;
#define TEXT(column) rec_postgres_text(s, row, index, column)
	int state = rec_observed_parse(TEXT(STATE)), kind = rec_link_kind_parse(TEXT(KIND));
	const struct rec_link link = {
		.task_id = TEXT(TASK),
		.url = TEXT(URL),
		.implicit = rec_postgres_bool(s, row, index, IMPLICIT),
		.state = state < 0 || state > REC_OBSERVED_MERGED ? REC_OBSERVED_UNKNOWN : (enum rec_observed)state,
		.kind = kind < 0 ? REC_LINK_KIND_UNKNOWN : (enum rec_link_kind)kind,
		.reason = TEXT(REASON),
		.time = TEXT(TIME),
		.has_comments = !rec_postgres_null(s, row, index, COMMENTS),
		.comments = rec_postgres_number(s, row, index, COMMENTS),
		.moved_to = TEXT(MOVED_TO),
		.validator = TEXT(VALIDATOR),
		.observed_at = TEXT(OBSERVED_AT),
		.gone = rec_postgres_bool(s, row, index, GONE),
		.made_done_at = TEXT(MADE_DONE_AT),
	};
#undef TEXT
	l->told = true;
	return l->fn(l->context, &link);
}

static int links_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct link_listing *l = context;
	struct rec_postgres_arguments a = {0};
	rec_postgres_put_text(&a, l->task_id);
	return rec_postgres_stream(s, REC_POSTGRES_LINK_LIST, &a, link_row, l, error);
}

int rec_postgres_links(struct rec_store *store, struct rec_slice task_id, rec_link_fn *fn, void *context,
		       struct rec_error *error)
{
	struct link_listing l = {task_id, fn, context, false};
	return rec_postgres_read(rec_postgres_of(store), links_body, &l, &l.told, error);
}

struct cursor_listing {
	struct rec_slice tracker;
	rec_tracker_cursor_fn *fn;
	void *context;
	bool told;
};

static int cursor_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)error;
	struct cursor_listing *l = context;
	l->told = true;
	return l->fn(l->context, rec_postgres_text(s, row, index, 0), rec_postgres_text(s, row, index, 1));
}

static int cursors_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct cursor_listing *l = context;
	struct rec_postgres_arguments a = {0};
	rec_postgres_put_text(&a, l->tracker);
	return rec_postgres_stream(s, REC_POSTGRES_CURSOR_LIST, &a, cursor_row, l, error);
}

int rec_postgres_tracker_cursors(struct rec_store *store, struct rec_slice tracker, rec_tracker_cursor_fn *fn,
				 void *context, struct rec_error *error)
{
	struct cursor_listing l = {tracker, fn, context, false};
	return rec_postgres_read(rec_postgres_of(store), cursors_body, &l, &l.told, error);
}
