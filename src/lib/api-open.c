/* api-open.c - the handle itself, and the names of things. */
#include "core/status.h"
#include "engine/exchange.h"
#include "lib/api.h"

const char *rec_version(void)
{
	return REC_VERSION_STRING;
}

const char *rec_status_name(enum rec_status status)
{
	return rec_status_text(status);
}

enum rec_status rec_status_from_name(const char *name)
{
	return rec_status_parse(rec_slice_of(name));
}

const char *rec_action_name(enum rec_action action)
{
	return (unsigned)action < REC_ACTION_COUNT ? rec_action_text(action) : "?";
}

int rec_api_enter(const struct reconciler *r, struct rec_error *error)
{
	if (!r->import)
		return 0;
	return rec_fail(error, REC_E_INVALID, "an import is going on (finish or free it first)");
}

/* ---- Opening ---- */

static int store_open(const char *place, const struct rec_open_options *options, struct rec_store **ret_store,
		      struct rec_error *error)
{
	static const enum rec_store_mode modes[] = {
		[REC_OPEN_READ] = REC_STORE_READ,
		[REC_OPEN_WRITE] = REC_STORE_WRITE,
		[REC_OPEN_INIT] = REC_STORE_INIT,
	};
	if ((unsigned)options->mode >= sizeof modes / sizeof *modes)
		return rec_fail(error, REC_E_INVALID, "open: %d is no mode (see enum rec_open_mode)",
				(int)options->mode);
	struct rec_store_options store_options = {
		.mode = modes[options->mode],
		.allocator = options->allocator,
		.busy_timeout_ms = options->busy_timeout_ms,
	};
	return rec_store_open(place, &store_options, ret_store, error);
}

int rec_open(const char *workspace_or_uri, int64_t check_interval_ms, const struct rec_open_options *options,
	     struct reconciler **ret_reconciler, struct rec_error *error)
{
	struct rec_open_options own;
	int result = rec_abi_read(&own, sizeof own, options, "struct rec_open_options", error);
	if (result)
		return result;
	if (!workspace_or_uri)
		return rec_fail(error, REC_E_INVALID, "open: no place was given (a workspace directory or a URI)");
	if (check_interval_ms < 0 || check_interval_ms > INT64_MAX / 1000)
		return rec_fail(error, REC_E_INVALID, "open: the check interval %lld ms is out of range (0 is off)",
				(long long)check_interval_ms);
	struct reconciler *r = rec_zalloc(own.allocator, 1, sizeof *r);
	if (!r)
		return rec_fail_nomem(error);
	r->allocator = own.allocator;
	r->check_interval_ms = check_interval_ms;
	result = store_open(workspace_or_uri, &own, &r->store, error);
	if (result) {
		rec_free(own.allocator, r);
		return result;
	}
	rec_store_info(r->store, &r->info);
	*ret_reconciler = r;
	return 0;
}

struct reconciler *rec_close(struct reconciler *r)
{
	if (!r)
		return NULL;
	rec_store_close(r->store);
	return rec_free(r->allocator, r);
}

int64_t rec_check_interval_ms(const struct reconciler *r)
{
	return r->check_interval_ms;
}

const char *rec_location(const struct reconciler *r)
{
	return r->info.location;
}

/* ---- Warnings ---- */

/* The id of a bad row may be anything; what is longer than an id is cut. */
static void warning_pass(void *context, const struct rec_warning *warning)
{
	const struct reconciler *r = context;
	char id[REC_ID_BYTES_MAX + 1];
	size_t length = warning->task_id.length < REC_ID_BYTES_MAX ? warning->task_id.length : REC_ID_BYTES_MAX;
	if (warning->task_id.data)
		memcpy(id, warning->task_id.data, length);
	id[length] = '\0';
	struct rec_warning_info info = {
		.size = sizeof info,
		.task_id = warning->task_id.data ? id : NULL,
		.column = warning->column,
		.problem = warning->problem,
		.shown = warning->shown,
	};
	r->on_warning(r->warning_context, &info);
}

void rec_on_warning(struct reconciler *r, rec_warning_callback *callback, void *context)
{
	r->on_warning = callback;
	r->warning_context = context;
	rec_store_on_warning(r->store, callback ? warning_pass : NULL, r);
}
