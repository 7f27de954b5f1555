/* store.c - the frame around every call of the contract: what may be called when, groups, and the check that a
 * backend keeps to its documented results.
 *
 * A group has two views. The caller's (`in_group`) lasts from begin to commit or rollback. The backend's
 * ends early when a call fails: it is rolled back at that moment, so that a forgotten group cannot keep
 * others out, and what failed is remembered and answered to every further call.
 */
#include "store/wrapper.h"

/* ---- Making and ending a store ---- */

#define BUSY_TIMEOUT_DEFAULT_MS 5000

void rec_store_setup(struct rec_store *s, const struct rec_store_ops *ops, const struct rec_store_options *options)
{
	static const struct rec_store_options defaults = {.mode = REC_STORE_READ};
	options = options ? options : &defaults;
	*s = (struct rec_store){
		.ops = ops,
		.allocator = options->allocator,
		.clock = options->clock ? options->clock : &rec_clock_real,
		.busy_timeout_ms = options->busy_timeout_ms > 0 ? options->busy_timeout_ms : BUSY_TIMEOUT_DEFAULT_MS,
		.info = {.backend = ops->backend, .mode = options->mode},
	};
}

struct rec_store *rec_store_close(struct rec_store *s)
{
	if (!s)
		return NULL;
	rec_store_rollback(s);
	(void)rec_store_sync(s, NULL); /* what cannot be synced is there all the same */
	s->warned = rec_warned_free(s->allocator, s->warned);
	s->ops->close(s);
	return NULL;
}

void rec_store_info(const struct rec_store *s, struct rec_store_info *ret_info)
{
	*ret_info = s->info;
}

int64_t rec_store_event_seq(const struct rec_store *s)
{
	return s->event_seq;
}

void rec_store_patience(struct rec_store *s, int64_t us)
{
	if (s->ops->patience)
		s->ops->patience(s, us < 0 ? 0 : us);
}

const struct rec_allocator *rec_store_allocator(const struct rec_store *s)
{
	return s->allocator;
}

struct rec_slice rec_store_now(const struct rec_store *s, char buffer[REC_TIMESTAMP_BYTES])
{
	return rec_slice_of(rec_timestamp_format(s->clock->wall_us(s->clock->context), buffer));
}

/* ---- Results ---- */

/* Whoever is told a code is told why: a backend that fails without a message is named. */
static int result_check(const struct rec_store *s, const char *call, int r, unsigned may, struct rec_error *error)
{
	if (may == REC_MAY_ANY)
		return r;
	if (r > REC_END || r < REC_E_BUG || (r > 0 && !(may & REC_MAY(r))))
		return rec_fail(error, REC_E_BUG, "%s: the %s backend gave the undocumented result %d (please report)",
				call, s->ops->backend, r);
	if (r < 0 && error && error->code != r)
		return rec_fail(error, r, "%s: the %s backend failed without a message", call, s->ops->backend);
	return r;
}

/* ---- Groups ---- */

static int group_failed(const struct rec_store *s, struct rec_error *error)
{
	return rec_fail(error, s->group_failed.code, "nothing of this group is stored: an earlier step failed: %s",
			s->group_failed.message);
}

static void group_fail(struct rec_store *s, int r, const struct rec_error *error)
{
	if (!s->in_group || s->group_failed.code)
		return;
	s->ops->rollback(s);
	if (error && error->code == r)
		s->group_failed = *error;
	else
		rec_fail(&s->group_failed, r, "error %d", r);
}

static int not_from_callback(const struct rec_store *s, struct rec_error *error)
{
	if (error)
		error->code = 0;
	if (s->in_callback)
		return rec_fail(error, REC_E_BUG, "the store was called from a callback of its own (please report)");
	return 0;
}

static int writable(const struct rec_store *s, struct rec_error *error)
{
	const char *place = s->info.location ? s->info.location : s->ops->backend;
	if (s->info.mode == REC_STORE_READ)
		return rec_fail(error, REC_E_READ_ONLY, "%s: was opened for reading only", place);
	if (!s->info.attached)
		return rec_fail(error, REC_E_UNINITIALISED,
				"%s: has no reconciler tables (`reconciler init` makes them)", place);
	return 0;
}

int rec_store_begin(struct rec_store *s, struct rec_error *error)
{
	int r = not_from_callback(s, error);
	if (r < 0)
		return r;
	if (s->in_group)
		return rec_write_refuse(
			s, rec_fail(error, REC_E_BUG, "a group was begun inside a group (please report)"), error);
	r = writable(s, error);
	if (r < 0)
		return r;
	r = result_check(s, "begin", s->ops->begin(s, error), 0, error);
	s->in_group = r == 0;
	s->group_failed.code = 0;
	return r;
}

int rec_store_commit(struct rec_store *s, struct rec_error *error)
{
	int r = not_from_callback(s, error);
	if (r < 0)
		return r;
	if (!s->in_group)
		return rec_fail(error, REC_E_BUG, "a commit without a group (please report)");
	s->in_group = false;
	if (s->group_failed.code)
		return group_failed(s, error);
	r = result_check(s, "commit", s->ops->commit(s, error), 0, error);
	s->unsynced = s->unsynced || (r == 0 && s->sync_apart);
	return r;
}

void rec_store_rollback(struct rec_store *s)
{
	if (s->in_group && !s->group_failed.code)
		s->ops->rollback(s);
	s->in_group = false;
}

bool rec_store_in_group(const struct rec_store *s)
{
	return s->in_group;
}

/* ---- Waiting for the disk ---- */

int rec_store_sync_apart(struct rec_store *s, struct rec_error *error)
{
	int r = not_from_callback(s, error);
	if (r < 0 || s->sync_apart || !s->ops->sync_apart)
		return r;
	if (s->in_group)
		return rec_fail(error, REC_E_BUG, "sync_apart inside a group (please report)");
	r = result_check(s, "sync_apart", s->ops->sync_apart(s, error), 0, error);
	s->sync_apart = r == 0;
	return r;
}

bool rec_store_unsynced(const struct rec_store *s)
{
	return s->unsynced;
}

int rec_store_sync(struct rec_store *s, struct rec_error *error)
{
	int r = not_from_callback(s, error);
	if (r < 0 || !s->unsynced)
		return r;
	if (s->in_group)
		return rec_fail(error, REC_E_BUG, "a sync inside a group (please report)");
	r = result_check(s, "sync", s->ops->sync(s, error), 0, error);
	s->unsynced = r < 0;
	return r;
}

/* ---- The frame of one call ---- */

int rec_read_enter(struct rec_store *s, struct rec_error *error)
{
	int r = not_from_callback(s, error);
	if (r == 0 && s->in_group && s->group_failed.code)
		r = group_failed(s, error);
	return r;
}

int rec_read_leave(struct rec_store *s, const char *call, int r, unsigned may, struct rec_error *error)
{
	r = result_check(s, call, r, may, error);
	if (r < 0)
		group_fail(s, r, error);
	return r;
}

int rec_write_enter(struct rec_store *s, bool *ret_own, struct rec_error *error)
{
	if (s->in_group) {
		*ret_own = false;
		return rec_read_enter(s, error);
	}
	*ret_own = true;
	return rec_store_begin(s, error);
}

int rec_write_leave(struct rec_store *s, const char *call, bool own, int r, unsigned may, struct rec_error *error)
{
	r = result_check(s, call, r, may, error);
	if (own && r == 0)
		return rec_store_commit(s, error);
	if (own)
		rec_store_rollback(s);
	else if (r < 0)
		group_fail(s, r, error);
	return r;
}

int rec_write_refuse(struct rec_store *s, int r, const struct rec_error *error)
{
	if (r < 0)
		group_fail(s, r, error);
	return r;
}
