/* cutting.c - see cutting.h. The functions of libpq that a handle uses are in a table of its own, so they are replaced
 * there, and no proxy is needed: the connection's socket is shut down before or after a message. */
#include "cutting.h"

#include <poll.h>
#include <sys/socket.h>

#include "store/postgres.h"

#define HANDLES_MAX (CONTRACT_HANDLES_MAX + 2u)

/* The programs of the contract have one thread and one place. */
static struct {
	struct rec_libpq real;
	struct rec_store_ops ops; /* with our close */
	void (*close)(struct rec_store *s);
	struct rec_store *handles[HANDLES_MAX];
	uint64_t count, fail_at;
	bool persistent;
} cutting;

/* Is this the one? */
static bool strikes(void)
{
	cutting.count++;
	return cutting.fail_at &&
	       (cutting.persistent ? cutting.count >= cutting.fail_at : cutting.count == cutting.fail_at);
}

static void cut(PGconn *connection)
{
	shutdown(cutting.real.PQsocket(connection), SHUT_RDWR);
}

/* The server has done what it was told, and its answer gets lost. */
static void lose_answer(PGconn *connection)
{
	char lost[4096];
	struct pollfd socket = {.fd = cutting.real.PQsocket(connection), .events = POLLIN};
	while (cutting.real.PQflush(connection) > 0)
		poll(NULL, 0, 1);
	if (poll(&socket, 1, 10000) > 0)
		while (recv(socket.fd, lost, sizeof lost, MSG_DONTWAIT) > 0)
			;
	cut(connection);
}

/* Each message has two places to fail: it gets lost, or its answer does; what goes through a pipeline is answered
 * behind the pipeline's mark, which is a message as well. A network that stays down loses no answer more: then nobody
 * could say how a commit ended. */
static int answer_cut(PGconn *connection, int sent, bool before)
{
	if (!before && strikes() && !cutting.persistent && sent)
		lose_answer(connection);
	return sent;
}

static int send_cut(PGconn *connection, int sent, bool before)
{
	if (PQpipelineStatus(connection) == PQ_PIPELINE_OFF)
		return answer_cut(connection, sent, before);
	return sent;
}

static void send_begin(PGconn *connection, bool *ret_before)
{
	*ret_before = strikes();
	if (*ret_before)
		cut(connection);
}

static int send_query(PGconn *connection, const char *query)
{
	bool before;
	send_begin(connection, &before);
	return send_cut(connection, cutting.real.PQsendQuery(connection, query), before);
}

static int send_prepare(PGconn *connection, const char *name, const char *query, int count, const Oid *types)
{
	bool before;
	send_begin(connection, &before);
	return send_cut(connection, cutting.real.PQsendPrepare(connection, name, query, count, types), before);
}

static int send_prepared(PGconn *connection, const char *name, int count, const char *const *values, const int *lengths,
			 const int *formats, int format)
{
	bool before;
	send_begin(connection, &before);
	int sent = cutting.real.PQsendQueryPrepared(connection, name, count, values, lengths, formats, format);
	return send_cut(connection, sent, before);
}

static int send_parameters(PGconn *connection, const char *query, int count, const Oid *types,
			   const char *const *values, const int *lengths, const int *formats, int format)
{
	bool before;
	send_begin(connection, &before);
	int sent = cutting.real.PQsendQueryParams(connection, query, count, types, values, lengths, formats, format);
	return send_cut(connection, sent, before);
}

static int pipeline_sync(PGconn *connection)
{
	bool before;
	send_begin(connection, &before);
	return answer_cut(connection, cutting.real.PQpipelineSync(connection), before);
}

static PostgresPollingStatusType connect_poll(PGconn *connection)
{
	if (cutting.persistent && cutting.fail_at && cutting.count >= cutting.fail_at)
		return PGRES_POLLING_FAILED;
	return cutting.real.PQconnectPoll(connection);
}

static void handle_close(struct rec_store *s)
{
	for (size_t i = 0; i < HANDLES_MAX; i++)
		if (cutting.handles[i] == s)
			cutting.handles[i] = NULL;
	cutting.close(s);
}

void cutting_watch(struct rec_store *s)
{
	struct rec_postgres *handle = (struct rec_postgres *)s;
	size_t free_place = 0;
	if (!cutting.close) {
		cutting.real = handle->pq;
		cutting.ops = *s->ops;
		cutting.close = s->ops->close;
		cutting.ops.close = handle_close;
	}
	while (cutting.handles[free_place])
		assert_true(++free_place < HANDLES_MAX);
	cutting.handles[free_place] = s;
	s->ops = &cutting.ops;
	handle->pq.PQsendQuery = send_query;
	handle->pq.PQsendPrepare = send_prepare;
	handle->pq.PQsendQueryPrepared = send_prepared;
	handle->pq.PQsendQueryParams = send_parameters;
	handle->pq.PQpipelineSync = pipeline_sync;
	handle->pq.PQconnectPoll = connect_poll;
}

uint64_t cutting_set(uint64_t n, bool persistent)
{
	uint64_t count = cutting.count;
	cutting.count = 0;
	cutting.fail_at = n;
	cutting.persistent = persistent;
	/* Nobody waits until the next attempt is due. */
	for (size_t i = 0; i < HANDLES_MAX; i++)
		if (cutting.handles[i])
			((struct rec_postgres *)cutting.handles[i])->retry_step_us = 0;
	return count;
}
