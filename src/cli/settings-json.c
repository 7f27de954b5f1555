/* settings-json.c - settings as they are kept with a batch. */
#include "base/json.h"
#include "cli/settings.h"

#define TOKEN_BYTES_MAX (4u << 20)

static bool of_one_call(const char *name)
{
	return strcmp(name, "dry-run") == 0 || strcmp(name, "detach") == 0 || strcmp(name, "all-ready") == 0;
}

static void write_list(struct rec_buffer *out, const char *key, const char *const *texts, size_t count)
{
	rec_buffer_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		rec_buffer_add_text(out, i ? "," : "");
		rec_json_write_string(out, rec_slice_of(texts[i]));
	}
	rec_buffer_add_text(out, "]");
}

int settings_write_json(const struct settings *s, struct rec_buffer *out)
{
	bool first = true;
	rec_buffer_add_text(out, "{");
	write_list(out, "command", s->command, s->command_count);
	rec_buffer_add_text(out, ",\"options\":{");
	for (size_t i = 0; i < s->count; i++) {
		if (of_one_call(s->items[i].name))
			continue;
		rec_buffer_add_text(out, first ? "" : ",");
		rec_json_write_string(out, rec_slice_of(s->items[i].name));
		rec_buffer_add_text(out, ":");
		rec_json_write_string(out, rec_slice_of(s->items[i].text));
		first = false;
	}
	rec_buffer_add_text(out, "},");
	write_list(out, "env", s->environment, s->environment_count);
	rec_buffer_add_text(out, "}");
	return out->failed;
}

/* ---- Reading ------------------------------------------------------------------------------------ */

struct reading {
	struct settings *settings;
	struct cli *cli;
	char *top, *name; /* the keys around the value */
};

static char *keep(struct reading *reading, struct rec_slice text)
{
	return rec_arena_strndup(&reading->cli->arena, text.data, text.length);
}

static int take_text(struct reading *reading, const char *text)
{
	struct settings *s = reading->settings;
	const char ***list = NULL;
	size_t *count = NULL, *capacity = NULL;
	if (!text)
		return REC_E_NOMEM;
	if (strcmp(reading->top, "options") == 0) {
		if (reading->name && s->count < SETTINGS_MAX)
			s->items[s->count++] = (struct setting){reading->name, text};
		return 0;
	}
	if (strcmp(reading->top, "command") == 0) {
		list = &s->command;
		count = &s->command_count;
		capacity = &s->command_capacity;
	} else {
		list = &s->environment;
		count = &s->environment_count;
		capacity = &s->environment_capacity;
	}
	if (rec_grow(NULL, (void **)list, capacity, *count + 2, sizeof **list) != 0)
		return REC_E_NOMEM;
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
	return 0;
}

static int take(struct reading *reading, const struct rec_json_token *token)
{
	if (token->type == REC_JSON_KEY) {
		char *key = keep(reading, token->text);
		*(token->depth == 1 ? &reading->top : &reading->name) = key;
		return key ? 0 : REC_E_NOMEM;
	}
	if (token->type == REC_JSON_STRING && reading->top)
		return take_text(reading, keep(reading, token->text));
	return 0;
}

int settings_read_json(struct settings *s, struct cli *cli, struct rec_slice json, struct rec_error *error)
{
	struct rec_json_reader reader;
	struct rec_json_token token;
	struct reading reading = {.settings = s, .cli = cli};
	rec_json_init(&reader, NULL, TOKEN_BYTES_MAX);
	char *space = rec_json_space(&reader, json.length);
	int r = space ? 0 : rec_fail_nomem(error);
	if (r == 0) {
		memcpy(space, json.data, json.length);
		rec_json_added(&reader, json.length);
		rec_json_finish(&reader);
	}
	while (r == 0 && (r = rec_json_next(&reader, &token, error)) == 0)
		r = take(&reading, &token) ? rec_fail_nomem(error) : 0;
	rec_json_release(&reader);
	return r == REC_END ? 0 : r;
}
