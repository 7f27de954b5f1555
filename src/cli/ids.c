/* ids.c - unique prefixes. An exact id is the first of those that begin with it, so one look tells all. */
#include "base/text.h"
#include "cli/cli.h"

#define NAMED_MAX 5

typedef int find_fn(struct rec_store *s, struct rec_slice prefix, struct rec_arena *arena, struct rec_slice *ids,
		    size_t capacity, size_t *ret_count, struct rec_error *error);

static int ambiguous(const char *thing, struct rec_slice prefix, const struct rec_slice *ids, size_t count)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer names;
	char shown[REC_ID_BYTES_MAX + 1];
	rec_buffer_init(&names, NULL, 64u << 10);
	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		rec_buffer_add_text(&names, i ? ", " : "");
		rec_text_show(&names, ids[i], 60);
	}
	if (count > NAMED_MAX)
		rec_buffer_add_text(&names, " and more");
	return cli_refuse("%s %s: ambiguous (%s)", thing, rec_text_shown(shown, sizeof shown, prefix),
			  names.data ? names.data : "");
}

static int resolve(struct cli *cli, const char *thing, const char *list, find_fn *find, struct rec_slice text,
		   struct rec_slice *ret_id)
{
	struct rec_slice ids[NAMED_MAX + 1];
	struct rec_error error;
	char shown[REC_ID_BYTES_MAX + 1];
	size_t count = 0;
	rec_text_shown(shown, sizeof shown, text);
	const char *problem = rec_id_problem(text);
	if (problem)
		return cli_fail("%s id '%s': %s", thing, shown, problem);
	if (find(cli->store, text, &cli->arena, ids, NAMED_MAX + 1, &count, &error) < 0)
		return cli_error(&error);
	if (count == 0)
		return cli_refuse("%s %s: not found (%s shows them)", thing, shown, list);
	if (count > 1 && !rec_slice_equal(ids[0], text))
		return ambiguous(thing, text, ids, count);
	*ret_id = ids[0];
	return STATUS_OK;
}

int cli_task_id(struct cli *cli, const char *text, struct rec_slice *ret_id)
{
	return resolve(cli, "task", "reconciler task list", rec_store_find_prefix, rec_slice_of(text), ret_id);
}

int cli_blocker_id(struct cli *cli, const char *text, struct rec_slice *ret_id)
{
	return resolve(cli, "blocker", "reconciler blocker list", rec_store_find_blocker_prefix, rec_slice_of(text),
		       ret_id);
}
