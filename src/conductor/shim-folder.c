/* shim-folder.c - the folders of slots: who owns them, what their records still owe.
 *
 * `owner` is locked by the conductor that uses the slot, `record` by the shim. A slot is free if neither is
 * locked and every recorded claim is forgotten. A folder is never removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "conductor/slot.h"

#define BATCH_ID_BYTES_MAX 1024

static int folder_path(struct rec_shim_slots *s, uint32_t number, const char *name, struct rec_buffer *path)
{
	rec_buffer_clear(path);
	return rec_buffer_printf(path, "%s/slot-%04u%s%s", s->options.run_directory, number, name ? "/" : "",
				 name ? name : "");
}

static struct slot *slot_new(struct rec_shim_slots *s)
{
	struct slot *slot = rec_zalloc(s->allocator, 1, sizeof *slot);
	if (!slot)
		return NULL;
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		rec_buffer_init(&slot->claims[i].texts, s->allocator, REC_SHIM_MESSAGE_BYTES_MAX);
	slot->owner_fd = slot->folder_fd = slot->record_fd = slot->socket = slot->shim_pidfd = -1;
	return slot;
}

static void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

struct slot *rec_slot_let_go(struct rec_shim_slots *s, struct slot *slot)
{
	if (!slot)
		return NULL;
	rec_slot_disconnect(s, slot);
	rec_record_map_close(slot->map);
	fd_close(&slot->record_fd);
	fd_close(&slot->folder_fd);
	fd_close(&slot->shim_pidfd);
	fd_close(&slot->owner_fd); /* last: now others may take it */
	rec_free(s->allocator, slot->folder);
	rec_free(s->allocator, slot->batch_id);
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++) {
		rec_slot_claim_remove(s, &slot->claims[i]);
		rec_buffer_release(&slot->claims[i].texts);
	}
	s->unsettled -= slot->hung_up_us != 0;
	return rec_free(s->allocator, slot);
}

static int batch_read(struct rec_shim_slots *s, struct slot *slot, const char *path, struct rec_error *error)
{
	struct rec_buffer text;
	rec_buffer_init(&text, s->allocator, BATCH_ID_BYTES_MAX);
	int r = rec_file_read(path, BATCH_ID_BYTES_MAX, &text, error);
	if (r == REC_NOT_FOUND)
		r = 0; /* made, never used */
	if (r == 0) {
		slot->batch_id = rec_strndup(s->allocator, text.data ? text.data : "", text.length);
		r = slot->batch_id ? 0 : rec_fail_nomem(error);
	}
	rec_buffer_release(&text);
	return r;
}

int rec_slot_batch_write(struct rec_shim_slots *s, struct slot *slot, struct rec_error *error)
{
	struct rec_buffer path;
	rec_buffer_init(&path, s->allocator, 8192);
	char *batch_id = rec_strndup(s->allocator, s->options.batch_id.data, s->options.batch_id.length);
	int r = batch_id ? rec_buffer_printf(&path, "%s/batch", slot->folder) : rec_fail_nomem(error);
	if (r == 0)
		r = rec_file_replace(path.data, s->options.batch_id, 0600, error);
	rec_buffer_release(&path);
	if (r != 0) {
		rec_free(s->allocator, batch_id);
		return r;
	}
	rec_free(s->allocator, slot->batch_id);
	slot->batch_id = batch_id;
	return 0;
}

static int record_open(struct slot *slot, struct rec_error *error)
{
	slot->folder_fd = open(slot->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (slot->folder_fd < 0)
		return rec_fail_errno(error, errno, "%s", slot->folder);
	slot->record_fd = openat(slot->folder_fd, REC_SLOT_RECORD, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	slot->map = slot->record_fd < 0 ? NULL : rec_record_map_open(slot->record_fd);
	if (!slot->map)
		return rec_fail_errno(error, errno, "%s/" REC_SLOT_RECORD, slot->folder);
	return 0;
}

/* The lock is held; reads who used the slot and opens its record. */
static int slot_fill(struct rec_shim_slots *s, struct slot *slot, uint32_t number, struct rec_buffer *path,
		     struct rec_error *error)
{
	if (folder_path(s, number, NULL, path) != 0)
		return rec_fail_nomem(error);
	slot->folder = rec_strndup(s->allocator, path->data, path->length);
	if (!slot->folder || folder_path(s, number, "batch", path) != 0)
		return rec_fail_nomem(error);
	int r = batch_read(s, slot, path->data, error);
	return r ? r : record_open(slot, error);
}

int rec_slot_take(struct rec_shim_slots *s, uint32_t number, bool make, struct slot **ret_slot, struct rec_error *error)
{
	struct rec_buffer path;
	rec_buffer_init(&path, s->allocator, 8192);
	struct slot *slot = slot_new(s);
	int r = slot && folder_path(s, number, NULL, &path) == 0 ? 0 : rec_fail_nomem(error);
	if (r == 0 && make && mkdir(path.data, 0700) != 0 && errno != EEXIST)
		r = rec_fail_errno(error, errno, "%s", path.data);
	if (r == 0 && !make && access(path.data, F_OK) != 0)
		r = REC_NOT_FOUND;
	if (r == 0 && folder_path(s, number, "owner", &path) != 0)
		r = rec_fail_nomem(error);
	if (r == 0)
		r = rec_file_lock(path.data, &slot->owner_fd, error);
	if (r == 0)
		r = slot_fill(s, slot, number, &path, error);
	rec_buffer_release(&path);
	if (r == 0)
		*ret_slot = slot;
	else
		rec_slot_let_go(s, slot);
	return r;
}

static bool forgotten(const struct slot *slot, int64_t claim_id)
{
	struct rec_record record;
	return rec_record_find(slot->map, REC_LANE_FORGOTTEN, claim_id, &record);
}

size_t rec_slot_recorded(const struct slot *slot, int64_t claims[REC_RECORD_CLAIMS_MAX])
{
	static const enum rec_lane lanes[] = {REC_LANE_AHEAD, REC_LANE_RUNNING, REC_LANE_ENDED};
	size_t count = 0;
	for (size_t i = 0; i < 2 * sizeof lanes / sizeof *lanes; i++) {
		struct rec_record record = rec_record_at(slot->map, lanes[i / 2], (int)(i % 2));
		bool known = record.phase == REC_RECORD_EMPTY || forgotten(slot, record.claim_id);
		for (size_t k = 0; k < count && !known; k++)
			known = claims[k] == record.claim_id;
		if (!known)
			claims[count++] = record.claim_id;
	}
	return count;
}
