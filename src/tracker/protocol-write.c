/* protocol-write.c - requests as lines: see protocol.h. */
#include <inttypes.h>

#include "base/json.h"
#include "tracker/protocol.h"

#define CURSOR_BYTES_MAX (1u << 20)
#define LINE_ROOM 64u /* for what closes a request */

static int add_text(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	rec_buffer_printf(out, ",\"%s\":", key);
	return text.data ? rec_json_write_string(out, text) : rec_buffer_add_text(out, "null");
}

static int begin(struct rec_buffer *out, int64_t id, const char *method)
{
	return rec_buffer_printf(out, "{\"id\":%" PRId64 ",\"method\":\"%s\"", id, method);
}

int rec_protocol_write_hello(struct rec_buffer *out, int64_t id, struct rec_slice name)
{
	begin(out, id, "hello");
	rec_buffer_printf(out, ",\"protocol\":%d", REC_TRACKER_PROTOCOL);
	add_text(out, "name", name);
	return rec_buffer_add_text(out, "}\n");
}

int rec_protocol_write_close(struct rec_buffer *out, int64_t id, struct rec_slice url, struct rec_slice comment,
			     struct rec_slice marker)
{
	begin(out, id, "close");
	add_text(out, "url", url);
	add_text(out, "comment", comment);
	add_text(out, "marker", marker);
	return rec_buffer_add_text(out, "}\n");
}

static void cut(struct rec_buffer *out, size_t length)
{
	out->length = length;
	out->data[length] = '\0';
}

static void write_cursors(struct rec_buffer *out, const struct rec_protocol_fetch *fetch)
{
	size_t begun = out->length;
	rec_buffer_add_text(out, ",\"cursors\":{");
	for (size_t i = 0; i < fetch->cursor_count; i++) {
		size_t before = out->length;
		if (i)
			rec_buffer_add_text(out, ",");
		rec_json_write_string(out, fetch->cursors[i].key);
		rec_buffer_add_text(out, ":");
		rec_json_write_string(out, fetch->cursors[i].value);
		if (!out->failed && out->length - begun > CURSOR_BYTES_MAX) {
			cut(out, before);
			break;
		}
	}
	rec_buffer_add_text(out, "}");
}

int rec_protocol_write_fetch(struct rec_buffer *out, const struct rec_protocol_fetch *fetch, size_t *ret_written)
{
	size_t begun = out->length, written = 0;
	begin(out, fetch->id, "fetch");
	rec_buffer_printf(out, ",\"budget_share\":%.4g,\"deadline_ms\":%" PRId64, fetch->budget_share,
			  fetch->deadline_ms);
	write_cursors(out, fetch);
	rec_buffer_add_text(out, ",\"links\":[");
	for (; written < fetch->count && written < REC_TRACKER_LINKS_MAX; written++) {
		size_t before = out->length;
		rec_buffer_add_text(out, written ? ",{\"url\":" : "{\"url\":");
		rec_json_write_string(out, fetch->links[written].url);
		add_text(out, "validator", fetch->links[written].validator);
		rec_buffer_add_text(out, "}");
		if (!out->failed && written && out->length - begun > REC_TRACKER_LINE_BYTES_MAX - LINE_ROOM) {
			cut(out, before);
			break;
		}
	}
	int r = rec_buffer_add_text(out, "]}\n");
	if (r == 0)
		*ret_written = written;
	return r;
}
