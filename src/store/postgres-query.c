/* postgres-query.c - sending a statement and waiting for what comes back. The socket is never waited for without
 * an end: a server, or a network, that stays silent for too long is a lost connection. Statements are prepared by
 * name at their first use on a connection, unless a pooler gives each transaction another one.
 *
 * What is not waited for goes into libpq's pipeline: a queue of messages whose answers come in the same order. What is
 * waited for goes behind it, then a mark (Sync); after an error the server skips everything up to that. One trip
 * serves all of it. With nothing in the queue there is no pipeline.
 */
#include "store/postgres.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define READ_SILENCE_MS 30000  /* a large snapshot is sorted before its first row comes */
#define WRITE_SILENCE_MS 25000 /* beyond the busy limit, after which the server itself gives up */

enum { OID_BOOL = 16, OID_INT8 = 20, OID_TEXT = 25, OID_FLOAT8 = 701, OID_TEXT_ARRAY = 1009 };

/* ---- Arguments ---- */

static void put(struct rec_postgres_arguments *a, Oid type, const void *value, size_t length)
{
	int i = a->count++;
	a->types[i] = type;
	a->values[i] = value;
	a->lengths[i] = (int)length;
	a->formats[i] = 1;
}

void rec_postgres_put_text(struct rec_postgres_arguments *a, struct rec_slice text)
{
	put(a, OID_TEXT, text.data, text.length);
}

void rec_postgres_put_word(struct rec_postgres_arguments *a, const char *word)
{
	rec_postgres_put_text(a, rec_slice_of(word));
}

static void put_bits(struct rec_postgres_arguments *a, Oid type, bool present, uint64_t bits)
{
	unsigned char *bytes = a->numbers[a->count];
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(bits >> (56 - 8 * i));
	put(a, type, present ? bytes : NULL, 8);
}

void rec_postgres_put_optional(struct rec_postgres_arguments *a, bool present, int64_t number)
{
	put_bits(a, OID_INT8, present, (uint64_t)number);
}

void rec_postgres_put_number(struct rec_postgres_arguments *a, int64_t number)
{
	rec_postgres_put_optional(a, true, number);
}

void rec_postgres_put_double(struct rec_postgres_arguments *a, bool present, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_bits(a, OID_FLOAT8, present, bits);
}

void rec_postgres_put_bool(struct rec_postgres_arguments *a, bool value)
{
	unsigned char *bytes = a->numbers[a->count];
	bytes[0] = value;
	put(a, OID_BOOL, bytes, 1);
}

static void add_word(struct rec_buffer *out, size_t number)
{
	unsigned char bytes[4];
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(number >> (24 - 8 * i));
	rec_buffer_add(out, bytes, sizeof bytes);
}

/* The server's own form of an array: dimensions, may it hold NULL, type of the elements; size and lower bound; then
 * each element behind its length. */
int rec_postgres_put_texts(struct rec_postgres *s, struct rec_postgres_arguments *a, const struct rec_slice *texts,
			   size_t count, struct rec_buffer *bytes, struct rec_error *error)
{
	rec_buffer_init(bytes, s->base.allocator, 1u << 30);
	add_word(bytes, count > 0);
	add_word(bytes, 0);
	add_word(bytes, OID_TEXT);
	if (count > 0) {
		add_word(bytes, count);
		add_word(bytes, 1);
	}
	for (size_t i = 0; i < count && !bytes->failed; i++) {
		add_word(bytes, texts[i].length);
		if (texts[i].length)
			rec_buffer_add(bytes, texts[i].data, texts[i].length);
	}
	if (bytes->failed == REC_E_LIMIT)
		return rec_fail(error, REC_E_LIMIT, "%s: a list of %zu texts is too long for one statement",
				s->location, count);
	if (bytes->failed)
		return rec_fail_nomem(error);
	put(a, OID_TEXT_ARRAY, bytes->data, bytes->length);
	return 0;
}

/* ---- Waiting ---- */

static int fail_silent(struct rec_postgres *s, bool patient, int silence_ms, struct rec_error *error)
{
	s->silent = true;
	if (!patient)
		return rec_fail(error, REC_E_BUSY, "%s: no answer in time; the connection is given up (try again)",
				s->location);
	return rec_fail(error, REC_E_BUSY, "%s: the server was silent for %d s; the connection is given up (try again)",
			s->location, silence_ms / 1000);
}

static int silence_limit(const struct rec_postgres *s)
{
	int64_t limit = s->in_group ? s->base.busy_timeout_ms + WRITE_SILENCE_MS : READ_SILENCE_MS;
	return limit < s->base.busy_timeout_ms ? (int)s->base.busy_timeout_ms : (int)limit;
}

/* Until the socket can be read (or, while something waits to be sent, written). */
static int wait_socket(struct rec_postgres *s, bool sending, struct rec_error *error)
{
	int silence_ms = silence_limit(s);
	struct pollfd socket = {.fd = s->pq.PQsocket(s->connection), .events = POLLIN};
	if (socket.fd < 0)
		return rec_postgres_fail(s, NULL, "wait", error);
	if (sending)
		socket.events |= POLLOUT;
	for (;;) {
		int wait_ms = rec_postgres_wait_ms(s, silence_ms);
		int ready = wait_ms > 0 ? poll(&socket, 1, wait_ms) : 0;
		if (ready > 0)
			return 0;
		if (ready == 0)
			return fail_silent(s, wait_ms == silence_ms, silence_ms, error);
		if (errno != EINTR)
			return rec_fail_errno(error, errno, "%s: poll", s->location);
	}
}

/* The next result of what was sent; NULL at the end. */
static int next_result(struct rec_postgres *s, PGresult **ret_result, struct rec_error *error)
{
	int unsent = s->pq.PQflush(s->connection);
	while (unsent > 0 || s->pq.PQisBusy(s->connection)) {
		int r = unsent < 0 ? rec_postgres_fail(s, NULL, "send", error) : wait_socket(s, unsent > 0, error);
		if (r < 0)
			return r;
		/* If the other side is gone, PQgetResult has the reason. */
		if (!s->pq.PQconsumeInput(s->connection))
			break;
		if (unsent > 0)
			unsent = s->pq.PQflush(s->connection);
	}
	*ret_result = s->pq.PQgetResult(s->connection);
	return 0;
}

static bool failed(struct rec_postgres *s, const PGresult *result)
{
	ExecStatusType status = s->pq.PQresultStatus(result);
	return status != PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE && status != PGRES_COMMAND_OK;
}

/* Takes all results of one message. The last one goes to the caller; the first failure decides. */
static int take(struct rec_postgres *s, const char *doing, PGresult **ret_result, struct rec_error *error)
{
	PGresult *last = NULL, *result = NULL;
	int r = 0;
	for (;;) {
		int waited = next_result(s, &result, r < 0 ? NULL : error);
		if (waited < 0 || !result) {
			r = r < 0 ? r : waited;
			break;
		}
		if (r == 0 && failed(s, result))
			r = rec_postgres_fail(s, result, doing, error);
		s->pq.PQclear(last);
		last = result;
	}
	if (r == 0 && !last)
		r = rec_postgres_fail(s, NULL, doing, error);
	if (r < 0 || !ret_result) {
		s->pq.PQclear(last);
		return r;
	}
	*ret_result = last;
	return 0;
}

/* ---- The pipeline ---- */

/* The answer to what nobody waited for. */
static int take_queued(struct rec_postgres *s, const struct rec_postgres_queued *queued, struct rec_error *error)
{
	int r = take(s, rec_postgres_query_name(queued->query), NULL, error);
	if (queued->prepares && r < 0)
		s->prepared[queued->query] = false;
	return r;
}

/* Behind the last answer. */
static int leave_pipeline(struct rec_postgres *s, struct rec_error *error)
{
	PGresult *mark = NULL;
	int r = next_result(s, &mark, error);
	s->pq.PQclear(mark);
	if (r == 0 && !s->pq.PQexitPipelineMode(s->connection)) {
		r = rec_postgres_fail(s, NULL, "pipeline", error);
		s->silent = true; /* it cannot be used any more */
	}
	return r;
}

/* Behind the last message; it sends them all. */
static int mark_end(struct rec_postgres *s, struct rec_error *error)
{
	if (s->pq.PQpipelineSync(s->connection))
		return 0;
	int r = rec_postgres_fail(s, NULL, "send", error);
	s->silent = true; /* what was sent and what is answered would not match any more */
	return r;
}

/* The answers to all that waited. */
static int take_queue(struct rec_postgres *s, struct rec_error *error)
{
	int r = 0, count = s->queued;
	s->queued = 0;
	for (int i = 0; i < count; i++) {
		int one = take_queued(s, &s->queue[i], r < 0 ? NULL : error);
		r = r < 0 ? r : one;
	}
	return r;
}

/* The answer to the last message, behind those; `piped`: it went through the pipeline. */
static int collect(struct rec_postgres *s, const char *doing, bool piped, PGresult **ret_result,
		   struct rec_error *error)
{
	PGresult *result = NULL;
	int r = take_queue(s, error);
	int last = take(s, doing, &result, r < 0 ? NULL : error);
	r = r < 0 ? r : last;
	int left = piped ? leave_pipeline(s, r < 0 ? NULL : error) : 0;
	r = r < 0 ? r : left;
	rec_postgres_wake_hear(s);
	if (r < 0 || !ret_result) {
		s->pq.PQclear(result);
		return r;
	}
	*ret_result = result;
	return 0;
}

int rec_postgres_settle(struct rec_postgres *s, struct rec_error *error)
{
	if (s->queued == 0)
		return 0;
	int r = mark_end(s, error);
	if (r < 0)
		return r;
	r = take_queue(s, error);
	int left = leave_pipeline(s, r < 0 ? NULL : error);
	rec_postgres_wake_hear(s);
	return r < 0 ? r : left;
}

void rec_postgres_clear(struct rec_postgres *s, PGresult *result)
{
	s->pq.PQclear(result);
}

/* ---- Sending ---- */

static int usable(struct rec_postgres *s, struct rec_error *error)
{
	return rec_postgres_connected(s) ? 0 : rec_postgres_fail(s, NULL, "query", error);
}

int rec_postgres_do(struct rec_postgres *s, const char *sql, PGresult **ret_result, struct rec_error *error)
{
	int r = usable(s, error);
	if (r == 0)
		r = rec_postgres_settle(s, error); /* several statements cannot go through a pipeline */
	if (r < 0)
		return r;
	if (!s->pq.PQsendQuery(s->connection, sql))
		return rec_postgres_fail(s, NULL, "send", error);
	return collect(s, "statement", false, ret_result, error);
}

/* Room for a message that is not waited for. */
static int enqueue(struct rec_postgres *s, enum rec_postgres_query query, bool prepares, struct rec_error *error)
{
	int r = s->queued == REC_POSTGRES_QUEUE ? rec_postgres_settle(s, error) : 0;
	if (r == 0 && s->queued == 0 && !s->pq.PQenterPipelineMode(s->connection))
		r = rec_postgres_fail(s, NULL, "pipeline", error);
	if (r == 0)
		s->queue[s->queued++] = (struct rec_postgres_queued){query, prepares};
	return r;
}

static int prepare(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		   struct rec_error *error)
{
	const char *name = rec_postgres_query_name(query);
	int r = enqueue(s, query, true, error);
	if (r < 0)
		return r;
	if (!s->pq.PQsendPrepare(s->connection, name, rec_postgres_sql(query), a->count, a->types)) {
		s->queued--;
		return rec_postgres_fail(s, NULL, name, error);
	}
	s->prepared[query] = true; /* unless the answer says that it is not */
	return 0;
}

static int send_query(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		      bool by_name, struct rec_error *error)
{
	const char *name = rec_postgres_query_name(query);
	bool looks_on = query == REC_POSTGRES_SNAPSHOT_FEW || query == REC_POSTGRES_SNAPSHOT_MANY;
	int sent;
	s->seen.there = s->seen.there && looks_on;
	if (!by_name)
		sent = s->pq.PQsendQueryParams(s->connection, rec_postgres_sql(query), a->count, a->types, a->values,
					       a->lengths, a->formats, 1);
	else
		sent = s->pq.PQsendQueryPrepared(s->connection, name, a->count, a->values, a->lengths, a->formats, 1);
	return sent ? 0 : rec_postgres_fail(s, NULL, name, error);
}

/* Sends what waits and this. */
static int send_all(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		    bool by_name, bool *ret_piped, struct rec_error *error)
{
	int r = usable(s, error);
	if (r == 0 && by_name && !s->prepared[query])
		r = prepare(s, query, a, error);
	if (r == 0)
		r = send_query(s, query, a, by_name, error);
	*ret_piped = s->queued > 0;
	return r == 0 && *ret_piped ? mark_end(s, error) : r;
}

int rec_postgres_later(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		       struct rec_error *error)
{
	int r = usable(s, error);
	if (r == 0 && !s->pooled && !s->prepared[query])
		r = prepare(s, query, a, error);
	if (r == 0)
		r = enqueue(s, query, false, error);
	if (r == 0) {
		r = send_query(s, query, a, !s->pooled, error);
		s->queued -= r < 0;
	}
	return r;
}

int rec_postgres_run(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		     PGresult **ret_result, struct rec_error *error)
{
	bool piped;
	int r = send_all(s, query, a, !s->pooled, &piped, error);
	return r < 0 ? r : collect(s, rec_postgres_query_name(query), piped, ret_result, error);
}

int rec_postgres_effect(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
			int *ret_rows, struct rec_error *error)
{
	PGresult *result = NULL;
	int r = rec_postgres_run(s, query, a, &result, error);
	if (r == 0 && ret_rows)
		*ret_rows = s->pq.PQntuples(result);
	s->pq.PQclear(result);
	return r;
}

/* ---- Row by row ---- */

static int drop_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)s, (void)row, (void)index, (void)context, (void)error;
	return 0;
}

/* Once somebody has ended it, the rest is read and dropped: the connection must come back in order. */
static int stream_rows(struct rec_postgres *s, const char *name, rec_postgres_row_fn *fn, void *context,
		       struct rec_error *error)
{
	PGresult *result = NULL;
	int r = 0;
	for (;;) {
		int waited = next_result(s, &result, r ? NULL : error);
		if (waited < 0 || !result)
			return r ? r : waited;
		if (r == 0 && failed(s, result))
			r = rec_postgres_fail(s, result, name, error);
		int count = s->pq.PQntuples(result);
		for (int i = 0; r == 0 && i < count; i++)
			r = fn(s, result, i, context, error);
		s->pq.PQclear(result);
	}
}

static int stream(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		  bool by_name, rec_postgres_row_fn *fn, void *context, struct rec_error *error)
{
	bool piped;
	int r = send_all(s, query, a, by_name, &piped, error);
	if (r < 0)
		return r;
	r = take_queue(s, error);
	(void)s->pq.PQsetSingleRowMode(s->connection);
	int rows = stream_rows(s, rec_postgres_query_name(query), r < 0 ? drop_row : fn, context, r < 0 ? NULL : error);
	r = r < 0 ? r : rows;
	int left = piped ? leave_pipeline(s, r ? NULL : error) : 0;
	rec_postgres_wake_hear(s);
	return r ? r : left;
}

int rec_postgres_stream(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
			rec_postgres_row_fn *fn, void *context, struct rec_error *error)
{
	return stream(s, query, a, !s->pooled, fn, context, error);
}

int rec_postgres_stream_afresh(struct rec_postgres *s, enum rec_postgres_query query,
			       const struct rec_postgres_arguments *a, rec_postgres_row_fn *fn, void *context,
			       struct rec_error *error)
{
	return stream(s, query, a, false, fn, context, error);
}

/* ---- Reads ---- */

int rec_postgres_read(struct rec_postgres *s, rec_postgres_body_fn *body, void *context, const bool *told,
		      struct rec_error *error)
{
	if (s->in_group)
		return body(s, context, error);
	int r = rec_postgres_connect(s, error);
	if (r < 0)
		return r;
	r = body(s, context, error);
	if (r != REC_E_BUSY || rec_postgres_connected(s) || (told && *told))
		return r;
	r = rec_postgres_connect(s, error);
	return r < 0 ? r : body(s, context, error);
}
