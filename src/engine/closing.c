/* closing.c - see closing.h. A value is six lines; neither ids nor addresses can hold the end of one. */
#include "engine/closing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"

static const char list_name[] = "close:wanted";

int rec_closing_key(struct rec_slice task_id, struct rec_slice link_url, const struct rec_allocator *a,
		    char out[REC_SHA256_HEX_BYTES])
{
	struct rec_buffer text;
	rec_buffer_init(&text, a, REC_ID_BYTES_MAX + 1 + REC_LINK_URL_BYTES_MAX);
	rec_buffer_add(&text, task_id.data, task_id.length);
	rec_buffer_add(&text, "\n", 1);
	rec_buffer_add(&text, link_url.data, link_url.length);
	int r = text.failed;
	if (r == 0)
		rec_sha256_hex(rec_buffer_slice(&text), out);
	rec_buffer_release(&text);
	return r;
}

int rec_closing_put(struct rec_store *s, const struct rec_closing *c, struct rec_error *error)
{
	const struct rec_slice texts[] = {c->task_id, c->url, c->batch_id, c->holder, c->host};
	struct rec_buffer value;
	rec_buffer_init(&value, rec_store_allocator(s), REC_VALIDATOR_BYTES_MAX);
	rec_buffer_printf(&value, "%" PRId64, c->attempt);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		rec_buffer_add(&value, "\n", 1);
		rec_buffer_add(&value, texts[i].data ? texts[i].data : "", texts[i].length);
	}
	int r = value.failed ? rec_fail(error, value.failed, "an item to be closed cannot be written down")
			     : rec_store_tracker_cursor_put(s, rec_slice_of(list_name), rec_slice_of(c->key),
							    rec_buffer_slice(&value), error);
	rec_buffer_release(&value);
	return r;
}

int rec_closing_drop(struct rec_store *s, const char *key, struct rec_error *error)
{
	const struct rec_slice none = {0};
	return rec_store_tracker_cursor_put(s, rec_slice_of(list_name), rec_slice_of(key), none, error);
}

/* ---- Reading ------------------------------------------------------------------------------------ */

struct reading {
	struct rec_arena *arena;
	struct rec_closings all;
	bool nomem;
};

/* The text up to the next end of a line, which is cut off. */
static struct rec_slice line_cut(struct rec_slice *text)
{
	const char *end = text->length ? memchr(text->data, '\n', text->length) : NULL;
	struct rec_slice line = {text->data, end ? (size_t)(end - text->data) : text->length};
	size_t cut = end ? line.length + 1 : line.length;
	*text = (struct rec_slice){text->data + cut, text->length - cut};
	return line;
}

static int row_read(void *context, struct rec_slice key, struct rec_slice value)
{
	struct reading *reading = context;
	struct rec_closing c = {.attempt = 0};
	void *items = reading->all.items;
	char *copy = rec_arena_strndup(reading->arena, value.data, value.length);
	reading->nomem = !copy || rec_grow(reading->arena->allocator, &items, &reading->all.capacity,
					   reading->all.count + 1, sizeof c);
	reading->all.items = items;
	if (reading->nomem)
		return REC_END;
	struct rec_slice rest = {copy, value.length};
	c.attempt = strtoll(copy, NULL, 10);
	(void)line_cut(&rest);
	c.task_id = line_cut(&rest);
	c.url = line_cut(&rest);
	c.batch_id = line_cut(&rest);
	c.holder = line_cut(&rest);
	c.host = line_cut(&rest);
	if (key.length + 1 != sizeof c.key || !c.task_id.length || !c.url.length || !c.holder.length)
		return 0;
	memcpy(c.key, key.data, key.length);
	reading->all.items[reading->all.count++] = c;
	return 0;
}

int rec_closings_read(struct rec_store *s, struct rec_arena *arena, struct rec_closings *ret_closings,
		      struct rec_error *error)
{
	struct reading reading = {.arena = arena};
	int r = rec_store_tracker_cursors(s, rec_slice_of(list_name), row_read, &reading, error);
	if (reading.nomem)
		r = rec_fail_nomem(error);
	if (r < 0)
		rec_closings_release(&reading.all, arena->allocator);
	*ret_closings = reading.all;
	return r < 0 ? r : 0;
}

void rec_closings_release(struct rec_closings *all, const struct rec_allocator *a)
{
	rec_free(a, all->items);
	*all = (struct rec_closings){.count = 0};
}
