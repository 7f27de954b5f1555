/* batches.c - see batches.h. */
#include "cli/batches.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "conductor/shim-slots.h"

#define RUN_DIRECTORY "rec-run"
#define HOLDER_BYTES_MAX 1024

/* ---- Finding ------------------------------------------------------------------------------------ */

struct finding {
	struct cli *cli;
	struct rec_slice prefix;
	struct rec_slice found; /* the first that begins with it */
	uint64_t count;
	bool exact;
};

static int find_one(void *context, const struct rec_batch *batch)
{
	struct finding *f = context;
	struct rec_slice id = batch->batch_id;
	if (f->exact || id.length < f->prefix.length || memcmp(id.data, f->prefix.data, f->prefix.length) != 0)
		return 0;
	f->exact = id.length == f->prefix.length;
	f->count++;
	if (f->count > 1 && !f->exact)
		return 0;
	char *copy = rec_arena_strndup(&f->cli->arena, id.data, id.length);
	f->found = (struct rec_slice){copy, id.length};
	return copy ? 0 : REC_E_NOMEM;
}

int batch_find(struct cli *cli, const char *text, struct rec_batch *ret_batch)
{
	struct finding f = {.cli = cli, .prefix = rec_slice_of(text)};
	struct rec_error error = {0};
	char shown[REC_ID_BYTES_MAX + 1];
	rec_text_shown(shown, sizeof shown, f.prefix);
	if (rec_store_batches(cli->store, find_one, &f, &error) < 0)
		return cli_error(&error);
	if (f.count == 0 || f.prefix.length == 0)
		return cli_refuse("batch %s: not found (reconciler status lists them)", shown);
	if (f.count > 1 && !f.exact)
		return cli_refuse("batch %s: ambiguous (%" PRIu64 " batches begin so)", shown, f.count);
	int r = rec_store_batch_get(cli->store, f.found, &cli->arena, ret_batch, &error);
	return cli_outcome(r, "batch", f.found, &error);
}

/* ---- Living ------------------------------------------------------------------------------------- */

const char *batch_run_directory(struct cli *cli)
{
	struct rec_store_info info;
	rec_store_info(cli->store, &info);
	if (!info.directory)
		return NULL;
	size_t length = strlen(info.directory) + sizeof "/" RUN_DIRECTORY;
	char *path = rec_arena_alloc(&cli->arena, length);
	if (path)
		snprintf(path, length, "%s/" RUN_DIRECTORY, info.directory);
	return path;
}

/* A name that no other folder has, made once. */
static int host_read(const char *directory, bool make, struct rec_buffer *name, struct rec_error *error)
{
	char path[PATH_MAX], lock[PATH_MAX], uuid[REC_UUID_BYTES];
	rec_cleanup(rec_close_fd) int fd = -1;
	if (snprintf(path, sizeof path, "%s/host", directory) >= (int)sizeof path ||
	    snprintf(lock, sizeof lock, "%s/host.lock", directory) >= (int)sizeof lock)
		return rec_fail(error, REC_E_INVALID, "%s: the path is too long", directory);
	int r = rec_file_read(path, REC_UUID_BYTES, name, error);
	if (r != REC_NOT_FOUND || !make)
		return r == REC_NOT_FOUND ? 0 : r;
	r = rec_directory_make(directory, error);
	do /* whoever holds it makes the name right now */
		r = r < 0 ? r : rec_file_lock(lock, &fd, error);
	while (r == REC_CONFLICT);
	r = r < 0 ? r : rec_file_read(path, REC_UUID_BYTES, name, error);
	if (r != REC_NOT_FOUND)
		return r;
	r = rec_file_replace(path, rec_slice_of(rec_uuid_new(uuid)), 0600, error);
	return r < 0 || rec_buffer_add_text(name, uuid) == 0 ? r : rec_fail_nomem(error);
}

const char *batch_host(struct cli *cli, bool make)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer name;
	struct rec_store_info info;
	struct rec_error error;
	rec_buffer_init(&name, NULL, 256);
	rec_store_info(cli->store, &info);
	if (!info.shared || !info.directory)
		return "";
	if (host_read(info.directory, make, &name, &error) < 0) {
		cli_error(&error);
		return NULL;
	}
	char *host = rec_arena_strndup(&cli->arena, name.length ? name.data : "", name.length);
	if (!host)
		cli_say("out of memory");
	return host;
}

static bool is_here(struct rec_slice owner, const char *host)
{
	size_t length = strlen(host);
	return length && owner.length >= length && memcmp(owner.data + owner.length - length, host, length) == 0;
}

/* An owner of this host is judged by its lock alone. */
static int lives_elsewhere(struct cli *cli, struct rec_slice batch_id, bool *ret_living)
{
	struct rec_store_info info;
	struct rec_error error;
	struct rec_batch batch;
	int64_t left_us = INT64_MIN;
	const char *host = batch_host(cli, false);
	rec_store_info(cli->store, &info);
	if (!info.shared || !host)
		return host ? STATUS_OK : STATUS_TROUBLE;
	int r = rec_store_batch_get(cli->store, batch_id, &cli->arena, &batch, &error);
	if (r == 0 && batch.owner.data && !is_here(batch.owner, host))
		r = rec_store_lease(cli->store, batch.owner, &left_us, &error);
	*ret_living = left_us >= -REC_LEASE_GRACE_US;
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

int batch_living(struct cli *cli, struct rec_slice batch_id, bool *ret_living)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer path;
	struct rec_error error;
	const char *directory = batch_run_directory(cli);
	rec_buffer_init(&path, NULL, 64u << 10);
	*ret_living = false;
	if (!directory)
		return STATUS_OK;
	if (rec_batch_lock_path(&path, directory, batch_id) < 0)
		return cli_fail("out of memory");
	if (rec_file_locked(path.data, ret_living, &error) < 0)
		return cli_error(&error);
	return *ret_living ? STATUS_OK : lives_elsewhere(cli, batch_id, ret_living);
}

const char *batch_holder(struct cli *cli, struct rec_slice batch_id)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer path;
	rec_cleanup(rec_buffer_release) struct rec_buffer text;
	const char *directory = batch_run_directory(cli), *unknown = "another process";
	rec_buffer_init(&path, NULL, 64u << 10);
	rec_buffer_init(&text, NULL, HOLDER_BYTES_MAX);
	if (!directory || rec_batch_lock_path(&path, directory, batch_id) < 0 ||
	    rec_file_read(path.data, HOLDER_BYTES_MAX, &text, NULL) != 0 || text.length == 0)
		return unknown;
	text.length -= text.data[text.length - 1] == '\n';
	char *holder = rec_arena_strndup(&cli->arena, text.data, text.length);
	return holder ? holder : unknown;
}

/* ---- Counting ----------------------------------------------------------------------------------- */

static void count_finished(struct batch_counts *counts, const struct rec_batch_task *task)
{
	if (!rec_status_success(task->believed))
		counts->failed++;
	else if (task->own)
		counts->done++;
	else
		counts->skipped++;
}

void batch_count_task(struct batch_counts *counts, const struct rec_batch_task *task, bool unmet, int64_t now_us)
{
	if (rec_slice_equal(task->phase, rec_slice_of("finished")))
		count_finished(counts, task);
	else if (rec_slice_equal(task->phase, rec_slice_of("running")))
		counts->running++;
	else if (rec_slice_equal(task->phase, rec_slice_of("held")))
		counts->held++;
	else if (unmet || task->not_before_us > now_us)
		counts->waiting++;
	else
		counts->queued++;
}

int batch_exit_status(enum rec_batch_status status)
{
	return status == REC_BATCH_COMPLETED ? STATUS_OK : STATUS_NO;
}

static void describe_one(struct rec_buffer *out, int64_t count, const char *what)
{
	if (count > 0)
		rec_buffer_printf(out, "%s%" PRId64 " task%s %s", out->length ? ", " : "", count, count == 1 ? "" : "s",
				  what);
}

void batch_describe_reconciliation(struct rec_buffer *out, int64_t skipped, int64_t killed, int64_t requeued)
{
	describe_one(out, skipped, "skipped (externally completed)");
	describe_one(out, killed, "killed (externally blocked)");
	describe_one(out, requeued, "requeued");
}
