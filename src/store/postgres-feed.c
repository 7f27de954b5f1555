/* postgres-feed.c - events, the change feed, being woken, and care.
 *
 * A look at the feed is one statement, O(1) if nothing is new. Rows of the feed are numbered under the writer's lock,
 * so none becomes visible behind a consumer's back.
 *
 * The wake-up descriptor is an epoll one around the connection's socket: it stays the same when the connection is
 * made anew, and a lost connection makes it readable too. A notification that comes behind the answer to a statement
 * is read with it, so an eventfd tells of that. Behind a pooler there is no LISTEN, and a timer says once a second
 * that the store may have changed.
 */
#include "store/postgres.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"

/* ---- Events ---- */

int rec_postgres_event_add(struct rec_store *store, const struct rec_event *event, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	int64_t time_us = 0;
	bool has_time = rec_timestamp_parse(event->time, &time_us) == 0;
	rec_postgres_put_number(&a, s->counters.event_seq + 1);
	rec_postgres_put_text(&a, event->time);
	rec_postgres_put_optional(&a, has_time, time_us);
	rec_postgres_put_text(&a, event->event);
	rec_postgres_put_text(&a, event->batch_id);
	rec_postgres_put_text(&a, event->task_id);
	rec_postgres_put_text(&a, event->action);
	rec_postgres_put_text(&a, event->reason);
	rec_postgres_put_text(&a, event->source);
	rec_postgres_put_text(&a, event->current_status);
	rec_postgres_put_text(&a, event->external_status);
	rec_postgres_put_text(&a, event->believed);
	rec_postgres_put_text(&a, event->observation);
	rec_postgres_put_text(&a, event->detail);
	rec_postgres_put_optional(&a, event->has_attempt, event->attempt);
	rec_postgres_put_optional(&a, event->has_blockers, event->blockers_total);
	rec_postgres_put_optional(&a, event->has_blockers, event->blockers_open);
	rec_postgres_put_optional(&a, event->has_blockers, event->blockers_new);
	rec_postgres_put_optional(&a, event->has_exit_code, event->exit_code);
	rec_postgres_put_optional(&a, event->has_exit_signal, event->exit_signal);
	rec_postgres_put_optional(&a, event->has_survivors, event->survivors);
	int r = rec_postgres_later(s, REC_POSTGRES_EVENT_INSERT, &a, error);
	if (r == 0)
		store->event_seq = ++s->counters.event_seq;
	return r;
}

struct event_listing {
	int64_t since;
	uint64_t limit;
	rec_event_fn *fn;
	void *context;
	bool told;
};

static int event_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)error;
	struct event_listing *l = context;
#define TEXT(column) rec_postgres_text(s, row, index, column)
#define NUMBER(column) rec_postgres_number(s, row, index, column)
#define GIVEN(column) (!rec_postgres_null(s, row, index, column))
	const struct rec_event event = {
		.seq = NUMBER(0),
		.time = TEXT(1),
		.event = TEXT(2),
		.batch_id = TEXT(3),
		.task_id = TEXT(4),
		.action = TEXT(5),
		.reason = TEXT(6),
		.source = TEXT(7),
		.current_status = TEXT(8),
		.external_status = TEXT(9),
		.believed = TEXT(10),
		.observation = TEXT(11),
		.detail = TEXT(12),
		.has_attempt = GIVEN(13),
		.attempt = NUMBER(13),
		.has_blockers = GIVEN(14),
		.blockers_total = NUMBER(14),
		.blockers_open = NUMBER(15),
		.blockers_new = NUMBER(16),
		.has_exit_code = GIVEN(17),
		.exit_code = NUMBER(17),
		.has_exit_signal = GIVEN(18),
		.exit_signal = NUMBER(18),
		.has_survivors = GIVEN(19),
		.survivors = NUMBER(19),
	};
#undef TEXT
#undef NUMBER
#undef GIVEN
	l->told = true;
	return l->fn(l->context, &event);
}

static int events_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct event_listing *l = context;
	struct rec_postgres_arguments a = {0};
	rec_postgres_put_number(&a, l->since);
	rec_postgres_put_optional(&a, l->limit > 0 && l->limit <= INT64_MAX, (int64_t)l->limit);
	return rec_postgres_stream(s, REC_POSTGRES_EVENT_LIST, &a, event_row, l, error);
}

int rec_postgres_events(struct rec_store *store, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
			struct rec_error *error)
{
	struct event_listing l = {.since = since, .limit = limit, .fn = fn, .context = context};
	return rec_postgres_read(rec_postgres_of(store), events_body, &l, &l.told, error);
}

/* ---- Change feed ---- */

enum { GENERATION, PRUNED, LAST, SEQ, TASK_ID };

struct asking {
	struct rec_cursor before, after;
	rec_id_fn *fn;
	void *context;
	bool there, told;
	int64_t read; /* the number of the last row of the page */
	int rows;
};

static int change_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)error;
	struct asking *a = context;
	int64_t pruned = rec_postgres_number(s, row, index, PRUNED), last = rec_postgres_number(s, row, index, LAST);
	a->there = true;
	a->after.generation = (uint64_t)rec_postgres_number(s, row, index, GENERATION);
	a->after.seq = last;
	if (a->before.generation != a->after.generation || a->before.seq < pruned || a->before.seq > last)
		return REC_RESCAN;
	if (rec_postgres_null(s, row, index, SEQ))
		return 0;
	a->told = true;
	a->rows++;
	a->read = rec_postgres_number(s, row, index, SEQ);
	return a->fn(a->context, rec_postgres_text(s, row, index, TASK_ID));
}

static int page_read(struct rec_postgres *s, struct asking *asking, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	asking->rows = 0;
	rec_postgres_put_number(&a, asking->before.seq);
	rec_postgres_put_number(&a, (int64_t)asking->before.generation);
	int r = rec_postgres_stream(s, REC_POSTGRES_FEED_LOOK, &a, change_row, asking, error);
	if (r == 0 && !asking->there)
		r = rec_fail(error, REC_E_CORRUPT, "%s: the table reconciler.feed is empty (restore a copy)",
			     s->location);
	return r;
}

static int changes_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct asking *a = context;
	for (;;) {
		int r = page_read(s, a, error);
		if (r || a->rows < REC_POSTGRES_FEED_PAGE)
			return r;
		a->before.seq = a->read;
	}
}

int rec_postgres_changes(struct rec_store *store, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
			 struct rec_error *error)
{
	struct asking a = {.before = *cursor, .fn = fn, .context = context};
	int r = rec_postgres_read(rec_postgres_of(store), changes_body, &a, &a.told, error);
	if (r == 0 || r == REC_RESCAN)
		*cursor = a.after;
	return r;
}

static int stamp_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	const struct rec_postgres_arguments none = {0};
	PGresult *row = NULL;
	int r = rec_postgres_run(s, REC_POSTGRES_STAMP, &none, &row, error);
	if (r == 0)
		*(uint64_t *)context = (uint64_t)rec_postgres_number(s, row, 0, 0);
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_stamp(struct rec_store *store, uint64_t *ret_stamp, struct rec_error *error)
{
	return rec_postgres_read(rec_postgres_of(store), stamp_body, ret_stamp, NULL, error);
}

/* ---- Being woken ---- */

static int watch_socket(struct rec_postgres *s, struct rec_error *error)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
	int r = rec_postgres_do(s, "LISTEN reconciler", NULL, error);
	if (r == 0 && epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, s->pq.PQsocket(s->connection), &event) < 0)
		r = rec_fail_errno(error, errno, "%s: epoll", s->location);
	return r;
}

int rec_postgres_wake_connect(struct rec_postgres *s, struct rec_error *error)
{
	return s->wake_fd < 0 || s->pooled ? 0 : watch_socket(s, error);
}

void rec_postgres_wake_disconnect(struct rec_postgres *s)
{
	int socket = s->pq.PQsocket(s->connection);
	if (s->wake_fd >= 0 && !s->pooled && socket >= 0)
		epoll_ctl(s->wake_fd, EPOLL_CTL_DEL, socket, NULL);
}

static int each_second(void)
{
	const struct itimerspec second = {{1, 0}, {1, 0}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd >= 0)
		timerfd_settime(fd, 0, &second, NULL);
	return fd;
}

static int descriptor_make(struct rec_postgres *s, struct rec_error *error)
{
	struct epoll_event event = {.events = EPOLLIN};
	s->wake_fd = s->pooled ? each_second() : epoll_create1(EPOLL_CLOEXEC);
	if (!s->pooled)
		s->heard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0 || (!s->pooled && epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, s->heard_fd, &event) < 0))
		return rec_fail_errno(error, errno, "%s: wake-up descriptor", s->location);
	return rec_postgres_wake_connect(s, error);
}

int rec_postgres_wake_fd(struct rec_store *store, int *ret_fd, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	int r = s->in_group ? 0 : rec_postgres_connect(s, error);
	if (r == 0 && s->wake_fd < 0) {
		r = descriptor_make(s, error);
		if (r < 0) {
			rec_close_fd(&s->wake_fd);
			rec_close_fd(&s->heard_fd);
		}
	}
	if (r == 0)
		*ret_fd = s->wake_fd;
	return r;
}

/* Our own commits do not wake. */
void rec_postgres_wake_hear(struct rec_postgres *s)
{
	bool others = false;
	if (s->heard_fd < 0)
		return;
	for (PGnotify *notice; (notice = s->pq.PQnotifies(s->connection));) {
		others |= notice->be_pid != s->pq.PQbackendPID(s->connection);
		s->pq.PQfreemem(notice);
	}
	if (others)
		(void)eventfd_write(s->heard_fd, 1);
}

/* False: it is dead. Its end is seen only behind the last that it said. */
static bool take_input(struct rec_postgres *s)
{
	struct pollfd socket = {.fd = s->pq.PQsocket(s->connection), .events = POLLIN};
	do {
		if (!s->pq.PQconsumeInput(s->connection))
			return false;
		for (PGnotify *notice; (notice = s->pq.PQnotifies(s->connection));)
			s->pq.PQfreemem(notice);
	} while (poll(&socket, 1, 0) > 0);
	return true;
}

/* A connection found dead here is taken out of the descriptor, or it would wake for ever; the next call makes
 * another. */
void rec_postgres_wake_drain(struct rec_store *store)
{
	struct rec_postgres *s = rec_postgres_of(store);
	eventfd_t ticks;
	(void)eventfd_read(s->pooled ? s->wake_fd : s->heard_fd, &ticks); /* a timer is a counter, too */
	if (!s->pooled && s->connection && !take_input(s) && !s->in_group)
		rec_postgres_disconnect(s);
}

/* ---- Care ---- */

static int prune(struct rec_postgres *s, enum rec_postgres_query query, int64_t older_than_us, uint64_t *ret_count,
		 struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	rec_postgres_put_number(&a, older_than_us);
	int r = rec_postgres_run(s, query, &a, &row, error);
	if (r == 0)
		*ret_count = (uint64_t)rec_postgres_number(s, row, 0, 0);
	rec_postgres_clear(s, row);
	return r;
}

static int count_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct rec_gc *gc = context;
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	rec_postgres_put_number(&a, gc->older_than_us);
	int r = rec_postgres_run(s, REC_POSTGRES_GC_COUNT, &a, &row, error);
	if (r == 0) {
		gc->changes = (uint64_t)rec_postgres_number(s, row, 0, 0);
		gc->events = (uint64_t)rec_postgres_number(s, row, 0, 1);
		gc->attempts = (uint64_t)rec_postgres_number(s, row, 0, 2);
	}
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_gc(struct rec_store *store, struct rec_gc *gc, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	if (gc->dry_run)
		return rec_postgres_read(s, count_body, gc, NULL, error);
	int r = prune(s, REC_POSTGRES_GC_CHANGES, gc->older_than_us, &gc->changes, error);
	if (r == 0)
		r = prune(s, REC_POSTGRES_GC_EVENTS, gc->older_than_us, &gc->events, error);
	return r == 0 ? prune(s, REC_POSTGRES_GC_ATTEMPTS, gc->older_than_us, &gc->attempts, error) : r;
}

struct problem_listing {
	rec_problem_fn *fn;
	void *context;
	bool told;
};

static int problem_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct problem_listing *l = context;
	struct rec_slice kind = rec_postgres_text(s, row, index, 0), name = rec_postgres_text(s, row, index, 1);
	char sentence[200], word[16];
	(void)error;
	snprintf(word, sizeof word, "%.*s", (int)kind.length, kind.data);
	snprintf(sentence, sizeof sentence, "the %s reconciler.%.*s is missing or disabled (run `reconciler init`)",
		 word, (int)name.length, name.data);
	l->told = true;
	return l->fn(l->context, word, sentence);
}

static int problems_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	const struct rec_postgres_arguments none = {0};
	return rec_postgres_stream(s, REC_POSTGRES_PROBLEMS, &none, problem_row, context, error);
}

int rec_postgres_problems(struct rec_store *store, rec_problem_fn *fn, void *context, struct rec_error *error)
{
	struct problem_listing l = {fn, context, false};
	return rec_postgres_read(rec_postgres_of(store), problems_body, &l, &l.told, error);
}
