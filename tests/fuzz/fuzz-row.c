/* fuzz-row.c - what may stand in a row: the text of depends_on against another reader of JSON, and the names of
 * statuses, actions and reasons, which must be taken exactly as written and never guessed.
 */
#include <jansson.h>

#include "base/text.h"
#include "fuzz.h"
#include "store/sqlite.h"

/* ---- depends_on ---- */

/* A list of strings, as jansson reads it; NULL: it is none. */
static json_t *oracle(struct rec_slice text)
{
	json_t *list = json_loadb(text.data, text.length, 0, NULL);
	if (!list)
		return NULL;
	bool strings = json_is_array(list);
	for (size_t i = 0; strings && i < json_array_size(list); i++)
		strings = json_is_string(json_array_get(list, i));
	if (strings)
		return list;
	json_decref(list);
	return NULL;
}

static bool same(const struct rec_slice *ids, size_t count, json_t *list)
{
	bool equal = count == json_array_size(list);
	for (size_t i = 0; equal && i < count; i++) {
		json_t *item = json_array_get(list, i);
		struct rec_slice text = {json_string_value(item), json_string_length(item)};
		equal = rec_slice_equal(ids[i], text);
	}
	return equal;
}

static void check_written(const struct rec_slice *ids, size_t count, struct rec_arena *arena)
{
	struct rec_buffer out;
	const struct rec_slice *again = NULL;
	size_t again_count = 0;

	rec_buffer_init(&out, NULL, SIZE_MAX);
	require(rec_sqlite_id_list_write(&out, ids, count) == 0);
	require(rec_sqlite_id_list(rec_buffer_slice(&out), arena, &again, &again_count, NULL) == 0);
	require(again_count == count);
	for (size_t i = 0; i < count; i++)
		require(rec_slice_equal(ids[i], again[i]));
	rec_buffer_release(&out);
}

static void check_depends_on(struct rec_slice text)
{
	struct rec_arena arena;
	const struct rec_slice *ids = NULL;
	size_t count = 0;

	rec_arena_init(&arena, NULL);
	json_t *list = oracle(text);
	int r = rec_sqlite_id_list(text, &arena, &ids, &count, NULL);
	require((r == 0) == (list != NULL));
	if (r == 0) {
		require(same(ids, count, list));
		check_written(ids, count, &arena);
	}
	json_decref(list);
	rec_arena_release(&arena);
}

/* ---- Names ---- */

static void check_names(struct rec_slice text)
{
	enum rec_status status = rec_status_parse(text), believed = rec_status_parse_belief(text);
	enum rec_blocker_status blocker = rec_blocker_status_parse(text);
	enum rec_reason reason = rec_reason_parse(text);
	int action = rec_action_parse(text);

	if (status != REC_STATUS_UNRECOGNISED) {
		require(status < REC_STATUS_COUNT && believed == status);
		require(rec_slice_equal(text, rec_slice_of(rec_status_text(status))));
	}
	if (blocker != REC_BLOCKER_UNRECOGNISED)
		require(rec_slice_equal(text, rec_slice_of(rec_blocker_status_text(blocker))));
	if (action >= 0)
		require(rec_slice_equal(text, rec_slice_of(rec_action_text((enum rec_action)action))));
	if (reason != REC_REASON_COUNT)
		require(rec_slice_equal(text, rec_slice_of(rec_reason_text(reason))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_slice text = {(const char *)data, size};
	check_names(text);
	check_depends_on(text);
	return 0;
}
