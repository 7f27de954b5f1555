/* files-document.c - one JSON document as a tree. A node knows the bytes it was made of, so that a change can be put
 * exactly there and everything else stay as a person wrote it. A key that stands twice is an error: which of the
 * two counts would be a guess. Many are compared sorted, at the end of their object, and there are not too many of
 * them: a file is read while everybody waits. */
#include "store/files.h"

#include <stdlib.h>

#include "base/text.h"

#define KEYS_FEW 32u

struct reading {
	struct rec_json_reader reader;
	struct rec_arena *arena;
	struct rec_error *error;
};

static int token_next(struct reading *d, struct rec_json_token *token)
{
	int r = rec_json_next(&d->reader, token, d->error);
	if (r == REC_JSON_NEED_MORE || r == REC_END)
		return rec_fail(d->error, REC_E_INVALID, "the file is empty or ends too early");
	return r;
}

static uint32_t here(const struct reading *d)
{
	return (uint32_t)(d->reader.window_offset + d->reader.position);
}

/* The containers that are open, innermost last. */
struct open_nodes {
	struct rec_files_node *stack[REC_JSON_DEPTH_MAX + 1], **tails[REC_JSON_DEPTH_MAX + 1];
	size_t depth;
	struct rec_slice key;
	uint32_t key_start;
};

static struct rec_files_node *node_add(struct reading *d, struct open_nodes *o, const struct rec_json_token *token)
{
	struct rec_files_node *node = rec_arena_alloc(d->arena, sizeof *node);
	if (!node)
		return NULL;
	*node = (struct rec_files_node){
		.type = token->type,
		.key = o->key,
		.start = (uint32_t)token->offset,
		.end = here(d),
		.key_start = o->key_start,
	};
	*o->tails[o->depth] = node;
	o->tails[o->depth] = &node->next;
	return node;
}

static int value_take(struct reading *d, struct open_nodes *o, const struct rec_json_token *token)
{
	struct rec_files_node *node = node_add(d, o, token);
	if (!node)
		return rec_fail_nomem(d->error);
	if (token->type == REC_JSON_STRING || token->type == REC_JSON_NUMBER)
		node->text = token->text;
	if (token->type == REC_JSON_OBJECT_BEGIN || token->type == REC_JSON_ARRAY_BEGIN) {
		o->depth++;
		o->stack[o->depth] = node;
		o->tails[o->depth] = &node->child;
		o->key = (struct rec_slice){NULL, 0};
	}
	return 0;
}

static void key_take(struct open_nodes *o, const struct rec_json_token *token)
{
	o->key_start = (uint32_t)token->offset;
	o->key = token->text;
}

static int key_order(const void *a, const void *b)
{
	return rec_slice_compare(*(const struct rec_slice *)a, *(const struct rec_slice *)b);
}

/* A key that stands twice, or NULL. Few are compared each with each: most differ in their lengths. */
static const struct rec_slice *key_twice(struct rec_slice *keys, size_t count)
{
	bool few = count <= KEYS_FEW;
	if (!few)
		qsort(keys, count, sizeof *keys, key_order);
	for (size_t i = 1; i < count; i++)
		for (size_t k = few ? 0 : i - 1; k < i; k++)
			if (rec_slice_equal(keys[k], keys[i]))
				return &keys[i];
	return NULL;
}

static int keys_judge(struct reading *d, const struct rec_files_node *object)
{
	struct rec_slice keys[REC_FILES_KEYS_MAX];
	char shown[64];
	size_t count = 0;
	for (const struct rec_files_node *n = object->child; n; n = n->next) {
		if (count == REC_FILES_KEYS_MAX)
			return rec_fail(d->error, REC_E_INVALID, "an object has more than %u keys", REC_FILES_KEYS_MAX);
		keys[count++] = n->key;
	}
	const struct rec_slice *twice = key_twice(keys, count);
	if (!twice)
		return 0;
	return rec_fail(d->error, REC_E_INVALID, "the key \"%s\" stands twice",
			rec_text_shown(shown, sizeof shown, *twice));
}

static int container_end(struct reading *d, struct open_nodes *o)
{
	struct rec_files_node *node = o->stack[o->depth];
	if (!node || o->depth == 0)
		return rec_fail(d->error, REC_E_BUG, "an end without a beginning (please report)");
	node->end = here(d);
	o->depth--;
	return node->type == REC_JSON_OBJECT_BEGIN ? keys_judge(d, node) : 0;
}

static int token_take(struct reading *d, struct open_nodes *o, const struct rec_json_token *token)
{
	switch (token->type) {
	case REC_JSON_KEY:
		key_take(o, token);
		return 0;
	case REC_JSON_OBJECT_END:
	case REC_JSON_ARRAY_END:
		return container_end(d, o);
	default:
		return value_take(d, o, token);
	}
}

static int document_read(struct reading *d, struct rec_files_node **ret_root)
{
	struct rec_files_node *root = NULL;
	struct open_nodes open = {.tails = {&root}};
	struct rec_json_token token;
	int r = token_next(d, &token);
	while (r == 0 && token.type != REC_JSON_END_DOCUMENT) {
		r = token_take(d, &open, &token);
		if (r == 0)
			r = token_next(d, &token);
	}
	if (r)
		return r;
	r = rec_json_next(&d->reader, &token, d->error);
	if (r != REC_END)
		return r < 0 ? r : rec_fail(d->error, REC_E_INVALID, "something follows after the end of the object");
	*ret_root = root;
	return 0;
}

/* The reader's window is a copy in the arena, all of it at once: nothing of it moves, so what tokens point to stays. */
int rec_files_document(struct rec_slice text, struct rec_arena *arena, struct rec_files_node **ret_root,
		       struct rec_error *error)
{
	struct reading d = {.arena = arena, .error = error};
	if (text.length >= UINT32_MAX)
		return rec_fail(error, REC_E_LIMIT, "the text is longer than 4 GiB");
	char *copy = rec_arena_strndup(arena, text.data, text.length);
	if (!copy)
		return rec_fail_nomem(error);
	rec_json_init(&d.reader, arena->allocator, text.length + 1);
	d.reader.window.data = copy;
	d.reader.window.length = text.length;
	d.reader.window.capacity = text.length + 1;
	rec_json_finish(&d.reader);
	return document_read(&d, ret_root);
}

void rec_files_list_write(struct rec_buffer *out, const struct rec_files_node *list)
{
	rec_buffer_add_text(out, "[");
	for (const struct rec_files_node *n = list->child; n; n = n->next) {
		rec_buffer_add_text(out, n == list->child ? "" : ", ");
		rec_json_write_string(out, n->text);
	}
	rec_buffer_add_text(out, "]");
}

struct rec_files_node *rec_files_member(const struct rec_files_node *object, const char *key)
{
	const struct rec_slice wanted = rec_slice_of(key);
	for (struct rec_files_node *n = object->type == REC_JSON_OBJECT_BEGIN ? object->child : NULL; n; n = n->next)
		if (rec_slice_equal(n->key, wanted))
			return n;
	return NULL;
}
