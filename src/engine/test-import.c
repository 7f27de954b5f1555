#include "engine/test-exchange.h"

/* ---- Accepting ---- */

static void test_import__missing_values_get_their_defaults(void **state)
{
	struct fixture *f = *state;
	assert_imported(f, "[{\"id\":\"a\",\"title\":\"T\",\"blockers\":[{\"id\":\"k\",\"question\":\"Q\"}]}]", 1);
	struct rec_task task = task_of(f, "a");
	assert_int_equal(task.status, REC_READY);
	assert_int_equal(task.priority, 0);
	assert_true(task.is_leaf);
	assert_slice(task.created_at, "2026-01-01T00:00:00.000000+00:00");
	assert_slice(task.updated_at, "2026-01-01T00:00:00.000000+00:00");
	assert_null(task.description.data);
	assert_int_equal(task.depends_on_count, 0);
	assert_int_equal(task.blocker_count, 1);
	assert_int_equal(task.blockers[0].status, REC_OPEN);
	assert_slice(task.blockers[0].created_by, "human");
	assert_slice(task.blockers[0].created_at, "2026-01-01T00:00:00.000000+00:00");
}

static int id_keep(void *context, const struct rec_task *task)
{
	char *id = context;
	assert_int_equal(task->id.length, REC_UUID_BYTES - 1);
	memcpy(id, task->id.data, task->id.length);
	return 0;
}

static void test_import__a_missing_id_becomes_a_version_4_uuid(void **state)
{
	struct fixture *f = *state;
	char id[REC_UUID_BYTES] = "";
	struct rec_list_options all = {.limit = 0};
	assert_imported(f, "{\"title\":\"T\",\"blockers\":[{\"question\":\"Q\"},{\"question\":\"R\"}]}", 1);
	assert_int_equal(rec_store_list(f->store, &all, id_keep, id, &f->error), 0);
	assert_int_equal(id[14], '4');
	assert_int_equal(task_of(f, id).blocker_count, 2);
}

static void test_import__list_and_lines_give_the_same(void **state)
{
	struct fixture *f = *state;
	assert_imported(f, "[{\"id\":\"a\",\"title\":\"A\"},\n {\"id\":\"b\",\"title\":\"B\"}]\n", 2);
	assert_imported(f, "{\"id\":\"a\",\"title\":\"A\"}\n{\"id\":\"b\",\"title\":\"B\"}", 2);
	assert_imported(f, "[]", 0);
	assert_imported(f, " \n", 0);
	assert_imported(f, "", 0);
}

static void test_import__order_is_free_and_parents_become_composite(void **state)
{
	struct fixture *f = *state;
	/* "early" comes before its child, "late" after; "hollow" says itself that it is no leaf; "early" lies. */
	assert_imported(f,
			"{\"id\":\"early\",\"title\":\"T\",\"is_leaf\":true}\n"
			"{\"id\":\"c1\",\"title\":\"T\",\"parent_id\":\"early\",\"depends_on\":[\"late\",\"c1\"]}\n"
			"{\"id\":\"c2\",\"title\":\"T\",\"parent_id\":\"late\"}\n"
			"{\"id\":\"late\",\"title\":\"T\",\"is_leaf\":1}\n"
			"{\"id\":\"hollow\",\"title\":\"T\",\"is_leaf\":false}\n",
			5);
	assert_false(task_of(f, "early").is_leaf);
	assert_false(task_of(f, "late").is_leaf);
	assert_false(task_of(f, "hollow").is_leaf);
	assert_true(task_of(f, "c1").is_leaf);
	assert_int_equal(task_of(f, "c1").depends_on_count, 2);
}

static void test_import__statuses_stand_as_given_without_roll_up(void **state)
{
	struct fixture *f = *state;
	assert_imported(f,
			"{\"id\":\"p\",\"title\":\"T\",\"status\":\"DONE\",\"updated_at\":\"2020-01-01T00:00:00Z\"}\n"
			"{\"id\":\"c\",\"title\":\"T\",\"status\":\"FAILED\",\"parent_id\":\"p\"}\n",
			2);
	assert_int_equal(task_of(f, "p").status, REC_DONE);
	assert_slice(task_of(f, "p").updated_at, "2020-01-01T00:00:00Z");
	assert_int_equal(task_of(f, "c").status, REC_FAILED);
}

static void test_import__a_parent_of_the_store_becomes_composite(void **state)
{
	struct fixture *f = *state;
	assert_imported(f, "{\"id\":\"p\",\"title\":\"T\",\"status\":\"DONE\"}", 1);
	assert_int_equal(import(f, S("{\"id\":\"c\",\"title\":\"T\",\"parent_id\":\"p\"}")), 0);
	assert_false(task_of(f, "p").is_leaf);
	assert_int_equal(task_of(f, "p").status, REC_DONE);
}

static void test_import__unknown_keys_are_skipped_if_asked(void **state)
{
	struct fixture *f = *state;
	f->options.ignore_unknown = true;
	assert_imported(
		f,
		"[{\"x\":{\"title\":[1,{\"y\":[[[]]]}],\"z\":{}},\"id\":\"a\",\"y\":[],\"title\":\"T\",\"q\":1.5e3,"
		"\"w\":null,\"blockers\":[{\"question\":\"Q\",\"extra\":{\"id\":\"k\"}}],\"t\":\"s\"}]",
		1);
	assert_slice(task_of(f, "a").title, "T");
	assert_int_equal(task_of(f, "a").blocker_count, 1);
}

static void test_import__workspace_id_is_known_and_kept_out(void **state)
{
	struct fixture *f = *state;
	assert_imported(
		f,
		"[{\"workspace_id\":{\"a\":[]},\"id\":\"a\",\"title\":\"T\",\"blockers\":[{\"workspace_id\":\"w\","
		"\"task_id\":\"a\",\"question\":\"Q\"}]}]",
		1);
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_null(strstr(export_lines(f, &out), "workspace_id"));
	rec_buffer_release(&out);
}

static void test_import__optional_values_may_be_null(void **state)
{
	struct fixture *f = *state;
	assert_imported(
		f,
		"{\"id\":\"a\",\"title\":\"T\",\"description\":null,\"parent_id\":null,\"external_url\":null,"
		"\"estimated_hours\":null,\"complexity_score\":null,\"uncertainty_level\":null,\"lineage\":null,"
		"\"requirement_ids\":null,\"github_issue_number\":null,\"prd_id\":null,\"hierarchical_id\":null,"
		"\"blockers\":[{\"question\":\"Q\",\"answer\":null,\"answered_at\":null,\"task_id\":null}]}",
		1);
	assert_false(task_of(f, "a").has_estimated_hours);
	assert_null(task_of(f, "a").lineage.data);
}

static void test_import__a_dry_run_checks_and_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	f->options.dry_run = true;
	assert_int_equal(import(f, S("{\"id\":\"a\",\"title\":\"T\"}")), 0);
	assert_int_equal(f->imported, 1);
	assert_string_equal(export_lines(f, &out), "");
	assert_int_equal(import(f, S("{\"id\":\"a\",\"title\":\"T\",\"parent_id\":\"x\"}")), REC_E_INVALID);
	rec_buffer_release(&out);
}

static int event_judge(void *context, const struct rec_event *event)
{
	unsigned *count = context;
	++*count;
	assert_slice(event->event, "TASKS_IMPORTED");
	assert_slice(event->source, "import");
	assert_slice(event->detail, "2 tasks");
	return 0;
}

static void test_import__one_event_tells_of_all(void **state)
{
	struct fixture *f = *state;
	unsigned count = 0;
	assert_int_equal(import(f, S("[{\"title\":\"A\"},{\"title\":\"B\"}]")), 0);
	assert_int_equal(import(f, S("[]")), 0);
	assert_int_equal(rec_store_events(f->store, 0, 0, event_judge, &count, &f->error), 0);
	assert_int_equal(count, 1);
}

/* ---- Links ---- */

static int link_judge(void *context, const struct rec_link *link)
{
	unsigned *count = context;
	assert_slice(link->task_id, "a");
	assert_slice(link->url, *count ? "v" : "u");
	assert_false(link->implicit);
	assert_int_equal(link->state, *count ? REC_OBSERVED_MERGED : REC_OBSERVED_UNKNOWN);
	if (*count)
		assert_slice(link->observed_at, "2026-01-01T00:00:00.000000+00:00"); /* now */
	else
		assert_null(link->observed_at.data);
	++*count;
	return 0;
}

static void test_import__a_link_needs_only_its_address(void **state)
{
	struct fixture *f = *state;
	unsigned count = 0;
	assert_imported(
		f, "{\"links\":[{\"url\":\"v\",\"state\":\"merged\"},{\"url\":\"u\"}],\"title\":\"T\",\"id\":\"a\"}",
		1);
	assert_int_equal(rec_store_links(f->store, S("a"), link_judge, &count, &f->error), 0);
	assert_int_equal(count, 2);
}

static void test_import__links_of_one_task_are_not_those_of_the_next(void **state)
{
	struct fixture *f = *state;
	unsigned count = 0;
	assert_imported(f,
			"{\"id\":\"a\",\"title\":\"T\",\"links\":[{\"url\":\"u\"}]}\n"
			"{\"id\":\"b\",\"title\":\"T\"}\n{\"id\":\"c\",\"title\":\"T\",\"links\":[]}",
			3);
	assert_int_equal(rec_store_links(f->store, (struct rec_slice){0}, link_judge, &count, &f->error), 0);
	assert_int_equal(count, 1);
}

/* ---- Refusing ---- */

static const struct {
	const char *text, *message;
} refused[] = {
	{"[{\"id\":\"a\"}]", "line 1, column 2 (byte 1): this task has no \"title\""},
	{"\n {\"title\":null}", "line 2, column 11 (byte 11): key \"title\" of a task: it must not be null"},
	{"{\"title\":7}", "column 10 (byte 9): key \"title\" of a task: it must be a string, not a number"},
	{"{\"title\":{}}", "key \"title\" of a task: it must be a string, not an object"},
	{"{\"title\":[]}", "key \"title\" of a task: it must be a string, not a list"},
	{"{\"title\":\"T\",\n\"colour\":1}", "line 2, column 1 (byte 14): unknown key \"colour\" in a task"},
	{"{\"title\":\"T\",\"title\":\"U\"}", "key \"title\" stands twice in one task"},
	{"{\"title\":\"T\",\"status\":\"SLEEPING\"}",
	 "key \"status\" of a task: \"SLEEPING\" is not allowed (one of BACKLOG, READY"},
	{"{\"title\":\"T\",\"status\":\"ready\"}", "\"ready\" is not allowed"},
	{"{\"title\":\"T\",\"status\":null}", "key \"status\" of a task: it must not be null"},
	{"{\"title\":\"T\",\"status\":true}", "it must be a string, not true"},
	{"{\"title\":\"T\",\"priority\":\"1\"}", "key \"priority\" of a task: it must be an integer"},
	{"{\"title\":\"T\",\"priority\":1.5}", "1.5 is no integer from -9223372036854775808"},
	{"{\"title\":\"T\",\"priority\":9223372036854775808}", "9223372036854775808 is no integer"},
	{"{\"title\":\"T\",\"complexity_score\":6}", "6 is no integer from 1 to 5"},
	{"{\"title\":\"T\",\"complexity_score\":0}", "0 is no integer from 1 to 5"},
	{"{\"title\":\"T\",\"estimated_hours\":\"2\"}", "it must be a number, not a string"},
	{"{\"title\":\"T\",\"estimated_hours\":1e999}", "the number 1e999 is out of range"},
	{"{\"title\":\"T\",\"uncertainty_level\":\"huge\"}", "\"huge\" is not allowed (one of low, medium, high)"},
	{"{\"title\":\"T\",\"is_leaf\":2}", "2 is no integer from 0 to 1"},
	{"{\"title\":\"T\",\"is_leaf\":\"yes\"}", "it must be true or false, not a string"},
	{"{\"title\":\"T\",\"created_at\":\"yesterday\"}", "\"yesterday\" is no time"},
	{"{\"title\":\"T\",\"updated_at\":\"2026-02-30T00:00:00Z\"}", "is no time"},
	{"{\"title\":\"T\",\"id\":\"\"}", "the id \"\" is empty"},
	{"{\"title\":\"T\",\"id\":\"a\\u0007b\"}", "holds a control character"},
	{"{\"title\":\"T\",\"id\":\"a\\u0000b\"}", "\\u0000 is refused"},
	{"{\"title\":\"a\\u0000b\"}", "\\u0000 is refused"},
	{"{\"title\":\"\xff\"}", "not UTF-8"},
	{"{\"title\":\"T\",\"depends_on\":\"a\"}", "it must be a list of ids, not a string"},
	{"{\"title\":\"T\",\"depends_on\":null}", "it must not be null"},
	{"{\"title\":\"T\",\"depends_on\":[1]}", "every element must be a string, not a number"},
	{"{\"title\":\"T\",\"depends_on\":[[]]}", "every element must be a string, not a list"},
	{"{\"title\":\"T\",\"depends_on\":[\"\"]}", "key \"depends_on\" of a task: the id \"\" is empty"},
	{"{\"title\":\"T\",\"lineage\":7}", "it must be a list of strings, not a number"},
	{"{\"title\":\"T\",\"lineage\":[7]}", "every element must be a string"},
	{"{\"title\":\"T\",\"blockers\":{}}", "it must be a list of blockers, not an object"},
	{"{\"title\":\"T\",\"blockers\":[7]}", "every element must be a blocker object, not a number"},
	{"{\"title\":\"T\",\"blockers\":[{}]}", "column 26 (byte 25): this blocker has no \"question\""},
	{"{\"title\":\"T\",\"blockers\":[{\"question\":\"Q\",\"status\":\"SHUT\"}]}",
	 "key \"status\" of a blocker: \"SHUT\" is not allowed (one of OPEN, ANSWERED, RESOLVED)"},
	{"{\"title\":\"T\",\"blockers\":[{\"question\":\"Q\",\"created_by\":\"cat\"}]}", "one of human, agent, system"},
	{"{\"title\":\"T\",\"blockers\":[{\"question\":\"Q\",\"x\":1}]}", "unknown key \"x\" in a blocker"},
	{"{\"title\":\"T\",\"blockers\":[{\"question\":\"Q\",\"question\":\"Q\"}]}",
	 "key \"question\" stands twice in one blocker"},
	{"{\"title\":\"T\",\"id\":\"a\",\"blockers\":[{\"question\":\"Q\",\"task_id\":\"b\"}]}",
	 "task \"a\": one of its blockers has the task_id \"b\""},
	{"{\"title\":\"T\",\"id\":\"a\",\"blockers\":[{\"question\":\"Q\",\"id\":\"k\"},{\"question\":\"Q\","
	 "\"id\":\"k\"}]}",
	 "task \"a\": blocker id 'k': is given twice"},
	{"{\"title\":\"T\",\"links\":{}}", "key \"links\" of a task: it must be a list of links, not an object"},
	{"{\"title\":\"T\",\"links\":null}", "key \"links\" of a task: it must not be null"},
	{"{\"title\":\"T\",\"links\":[\"u\"]}", "every element must be a link object, not a string"},
	{"{\"title\":\"T\",\"links\":[{\"kind\":\"issue\"}]}", "column 23 (byte 22): this link has no \"url\""},
	{"{\"title\":\"T\",\"links\":[{\"url\":7}]}", "key \"url\" of a link: it must be a string, not a number"},
	{"{\"title\":\"T\",\"id\":\"a\",\"links\":[{\"url\":\"\"}]}",
	 "line 1, column 32 (byte 31): link \"\" of task \"a\": link: the address is missing"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"a b\"}]}", "holds a blank or a control character at byte 1"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"https://me:secret@h/1\"}]}", "link \"...\" of task"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"state\":\"shut\"}]}",
	 "\"shut\" is not allowed (one of unknown, open, closed, merged)"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"state\":\"gone\"}]}", "\"gone\" is not allowed"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"kind\":\"wish\"}]}",
	 "\"wish\" is not allowed (one of unknown, issue, pull_request)"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"kind\":7}]}",
	 "key \"kind\" of a link: it must be a string, not a number"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"state\":true}]}",
	 "key \"state\" of a link: it must be a string, not true"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"time\":\"soon\"}]}",
	 "key \"time\" of a link: \"soon\" is no time"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"moved_to\":\"a b\"}]}", "moved_to: the address holds a blank"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"validator\":\"v\"}]}", "unknown key \"validator\" in a link"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\",\"url\":\"v\"}]}", "key \"url\" stands twice in one link"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\"},{\"url\":\"u\"}]}", "column 35 (byte 34): link \"u\" of task"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"u\"},{\"url\":\"u\"}]}",
	 "stands twice in the links of the task (remove one)"},
	{"{\"title\":\"T\",\"links\":[{\"url\":\"https://t.example/a/b/issues/1\",\"implicit\":true}]}",
	 "is implicit, but no issue"},
	{"{\"title\":\"T\",\"external_url\":\"https://t/x\",\"links\":[{\"url\":\"https://t/x\",\"implicit\":true}]}",
	 "is implicit, but no issue"},
	{"{\"title\":\"T\",\"external_url\":\"https://t.example/a/b/issues/1\",\"links\":[{\"url\":\"https://t.example/"
	 "a/b/issues/1\"},{\"url\":\"https://t.example/a/b/issues/1\",\"implicit\":true}]}",
	 "stands twice in the links"},
	{"7", "expected a task object, found a number"},
	{"\"x\"", "expected a task object, found a string"},
	{"[7]", "expected a task object, found a number"},
	{"[[]]", "expected a task object, found a list"},
	{"[]{\"title\":\"T\"}", "something follows the list of tasks"},
	{"{\"title\":\"T\"}[]", "expected a task object, found a list"},
	{"[{\"title\":\"T\"},]", "expected a value, found ']'"},
	{"[{\"title\":\"T\"}", "expected ',' or ']', found the end of the input"},
	{"{\"title\":\"T\"", "found the end of the input"},
	{"{\"title\":\"T", "this string is not closed"},
	{"{'title':1}", "expected a key in double quotes"},
	{"\xef\xbb\xbf[]", "byte order mark"},
	{"{\"id\":\"a\",\"title\":\"T\"}\n{\"id\":\"a\",\"title\":\"T\"}",
	 "line 2, column 1 (byte 23): task \"a\": it exists already"},
	{"{\"id\":\"a\",\"title\":\"T\",\"parent_id\":\"a\"}", "task \"a\""},
	{"{\"title\":\"T\",\"parent_id\":\"p\"}",
	 "line 1, column 26 (byte 25): key \"parent_id\" of a task: there is no task \"p\""},
	{"{\"title\":\"T\",\"depends_on\":[\"x\",\"y\"]}", "key \"depends_on\" of a task: there is no task \"x\""},
	{"{\"id\":\"a\",\"title\":\"T\",\"external_url\":\"u\"}\n{\"id\":\"b\",\"title\":\"T\",\"external_"
	 "url\":\"u\"}",
	 "line 2, column 1"},
};

static void test_import__refuses_and_names_place_key_and_reason(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		assert_refused(f, refused[i].text, REC_E_INVALID, refused[i].message);
}

static void test_import__deep_nesting_is_refused_safely(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer text;
	rec_buffer_init(&text, NULL, SIZE_MAX);
	f->options.ignore_unknown = true;
	rec_buffer_add_text(&text, "{\"title\":\"T\",\"x\":");
	for (unsigned i = 0; i < 100000; i++)
		rec_buffer_add_text(&text, "[");
	assert_refused(f, text.data, REC_E_LIMIT, "nested deeper than");
	rec_buffer_release(&text);
}

/* `count` bytes of text between two pieces. */
static char *padded(struct rec_buffer *out, const char *before, size_t count, const char *after)
{
	rec_buffer_clear(out);
	rec_buffer_add_text(out, before);
	char *space = rec_buffer_space(out, count);
	memset(space, 'x', count);
	rec_buffer_added(out, count);
	rec_buffer_add_text(out, after);
	return out->data;
}

static void test_import__texts_over_their_limit_are_refused(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer text;
	rec_buffer_init(&text, NULL, SIZE_MAX);
	assert_int_equal(import(f, S(padded(&text, "{\"title\":\"", REC_TITLE_BYTES_MAX, "\"}"))), 0);
	assert_int_equal(import(f, S(padded(&text, "{\"title\":\"", REC_TITLE_BYTES_MAX + 1, "\"}"))), REC_E_LIMIT);
	assert_non_null(strstr(f->error.message, "key \"title\" of a task: 4097 bytes are over the limit of 4096"));
	const char *before = "{\"title\":\"T\",\"description\":\"";
	assert_int_equal(import(f, S(padded(&text, before, REC_TEXT_BYTES_MAX, "\"}"))), 0);
	assert_int_equal(import(f, S(padded(&text, before, REC_TEXT_BYTES_MAX + 1, "\"}"))), REC_E_LIMIT);
	assert_int_equal(import(f, S(padded(&text, before, 7 * REC_TEXT_BYTES_MAX, "\"}"))), REC_E_LIMIT);
	assert_non_null(strstr(f->error.message, "line 1, column 28"));
	before = "{\"title\":\"T\",\"lineage\":[\"";
	assert_int_equal(import(f, S(padded(&text, before, REC_TEXT_BYTES_MAX, "\"]}"))), REC_E_LIMIT);
	assert_non_null(strstr(f->error.message, "key \"lineage\" of a task: the list is over the limit"));
	assert_int_equal(import(f, S(padded(&text, "{\"title\":\"T\",\"id\":\"", 255, "\"}"))), 0);
	assert_int_equal(import(f, S(padded(&text, "{\"title\":\"T\",\"id\":\"", 256, "\"}"))), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "is longer than 255 bytes"));
	rec_buffer_release(&text);
}

static void test_import__an_existing_task_or_blocker_refuses_all(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before, after;
	rec_buffer_init(&before, NULL, SIZE_MAX);
	rec_buffer_init(&after, NULL, SIZE_MAX);
	assert_int_equal(
		import(f, S("{\"id\":\"a\",\"title\":\"T\",\"blockers\":[{\"id\":\"k\",\"question\":\"Q\"}]}")), 0);
	export_lines(f, &before);
	assert_int_equal(import(f, S("{\"id\":\"n\",\"title\":\"T\"}{\"id\":\"a\",\"title\":\"T\"}")), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "task \"a\": it exists already (delete it first"));
	assert_int_equal(
		import(f, S("{\"id\":\"n\",\"title\":\"T\",\"blockers\":[{\"id\":\"k\",\"question\":\"Q\"}]}")),
		REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "task \"n\": its blocker \"k\" exists already"));
	assert_string_equal(export_lines(f, &after), before.data);
	rec_buffer_release(&before);
	rec_buffer_release(&after);
}

static void test_import__missing_references_are_kept_if_asked(void **state)
{
	struct fixture *f = *state;
	f->options.keep_missing = true;
	assert_imported(f, "{\"id\":\"a\",\"title\":\"T\",\"parent_id\":\"p\",\"depends_on\":[\"x\"]}", 1);
	assert_slice(task_of(f, "a").parent_id, "p");
	assert_int_equal(task_of(f, "a").depends_on_count, 1);
}

static void test_import__a_reference_to_the_store_is_found(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(import(f, S("{\"id\":\"old\",\"title\":\"T\"}")), 0);
	assert_int_equal(
		import(f, S("{\"id\":\"a\",\"title\":\"T\",\"depends_on\":[\"old\",\"b\"]}{\"id\":\"b\",\"title\":"
			    "\"T\"}")),
		0);
}

static void test_import__a_failure_is_repeated_and_lets_go_of_the_store(void **state)
{
	struct fixture *f = *state;
	struct rec_import *i;
	uint64_t tasks = 99;
	assert_int_equal(rec_import_begin(f->store, NULL, &i, &f->error), 0);
	assert_int_equal(rec_import_feed(i, S("{\"title\":\"T\"}"), &f->error), 0);
	assert_true(rec_store_in_group(f->store));
	assert_int_equal(rec_import_feed(i, S("{\"x\":1}"), &f->error), REC_E_INVALID);
	assert_false(rec_store_in_group(f->store));
	f->error.message[0] = '\0';
	assert_int_equal(rec_import_feed(i, S("{\"title\":\"T\"}"), &f->error), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "unknown key \"x\""));
	assert_int_equal(rec_import_finish(i, &tasks, &f->error), REC_E_INVALID);
	assert_int_equal(tasks, 99);
	rec_import_free(i);
}

static void test_import__left_alone_it_rolls_back(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer out;
	struct rec_import *i;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_int_equal(rec_import_begin(f->store, NULL, &i, &f->error), 0);
	assert_int_equal(rec_import_feed(i, S("{\"title\":\"T\"}"), &f->error), 0);
	assert_null(rec_import_free(i));
	assert_string_equal(export_lines(f, &out), "");
	rec_buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exchange_test(test_import__missing_values_get_their_defaults),
		exchange_test(test_import__a_missing_id_becomes_a_version_4_uuid),
		exchange_test(test_import__list_and_lines_give_the_same),
		exchange_test(test_import__order_is_free_and_parents_become_composite),
		exchange_test(test_import__statuses_stand_as_given_without_roll_up),
		exchange_test(test_import__a_parent_of_the_store_becomes_composite),
		exchange_test(test_import__unknown_keys_are_skipped_if_asked),
		exchange_test(test_import__workspace_id_is_known_and_kept_out),
		exchange_test(test_import__optional_values_may_be_null),
		exchange_test(test_import__a_dry_run_checks_and_writes_nothing),
		exchange_test(test_import__one_event_tells_of_all),
		exchange_test(test_import__a_link_needs_only_its_address),
		exchange_test(test_import__links_of_one_task_are_not_those_of_the_next),
		exchange_test(test_import__refuses_and_names_place_key_and_reason),
		exchange_test(test_import__deep_nesting_is_refused_safely),
		exchange_test(test_import__texts_over_their_limit_are_refused),
		exchange_test(test_import__an_existing_task_or_blocker_refuses_all),
		exchange_test(test_import__missing_references_are_kept_if_asked),
		exchange_test(test_import__a_reference_to_the_store_is_found),
		exchange_test(test_import__a_failure_is_repeated_and_lets_go_of_the_store),
		exchange_test(test_import__left_alone_it_rolls_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
