/* The belief and the parser of batch states: what is accepted, what is refused and with which words. Every
 * input is fed whole, byte by byte and cut at every place; the outcome must be the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/belief.h"

/* ---- The belief ---- */

static void test_belief__holds_what_was_set_in_the_order_it_came(void **state)
{
	(void)state;
	struct rec_belief b;
	uint32_t index;
	rec_belief_init(&b, NULL, 1);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("a")), REC_STATUS_ABSENT);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("b"), REC_READY, &index, NULL), 0);
	assert_int_equal(index, 0);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("a"), REC_DONE, NULL, NULL), 0);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("b"), REC_FAILED, &index, NULL), 0);
	assert_int_equal(index, 0);
	assert_int_equal(b.count, 2);
	assert_memory_equal(b.ids[0].data, "b", 1);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("b")), REC_FAILED);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("a")), REC_DONE);
	rec_belief_release(&b);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("a")), REC_STATUS_ABSENT);
}

static void test_belief__adding_an_id_twice_tells_where_it_is_and_changes_nothing(void **state)
{
	(void)state;
	struct rec_belief b;
	uint32_t index = 77;
	rec_belief_init(&b, NULL, 1);
	assert_int_equal(rec_belief_add(&b, rec_slice_of("x"), REC_READY, NULL, NULL), 0);
	assert_int_equal(rec_belief_add(&b, rec_slice_of("y"), REC_READY, &index, NULL), 0);
	assert_int_equal(index, 1);
	assert_int_equal(rec_belief_add(&b, rec_slice_of("x"), REC_DONE, &index, NULL), REC_EXISTS);
	assert_int_equal(index, 0);
	assert_int_equal(b.count, 2);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("x")), REC_READY);
	rec_belief_release(&b);
}

static void test_belief__refuses_what_is_no_task_id(void **state)
{
	(void)state;
	struct rec_belief b;
	struct rec_error error;
	char id[257];
	memset(id, 'a', sizeof id);
	rec_belief_init(&b, NULL, 1);
	assert_int_equal(rec_belief_set(&b, (struct rec_slice){id, 255}, REC_READY, NULL, &error), 0);
	assert_int_equal(rec_belief_set(&b, (struct rec_slice){id, 256}, REC_READY, NULL, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "longer than 255 bytes"));
	assert_int_equal(rec_belief_set(&b, (struct rec_slice){"", 0}, REC_READY, NULL, &error), REC_E_INVALID);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("a\tb"), REC_READY, NULL, &error), REC_E_INVALID);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("\xff"), REC_READY, NULL, &error), REC_E_INVALID);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("a"), REC_STATUS_UNRECOGNISED, NULL, &error), REC_E_INVALID);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("a"), (enum rec_status)200, NULL, &error), REC_E_INVALID);
	assert_int_equal(b.count, 1);
	rec_belief_release(&b);
}

static void test_belief__ten_thousand_ids_are_all_found(void **state)
{
	(void)state;
	struct rec_belief b;
	char id[32];
	rec_belief_init(&b, NULL, 42);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(id, sizeof id, "task-%u", i);
		assert_int_equal(rec_belief_set(&b, rec_slice_of(id), (enum rec_status)(i % 7), NULL, NULL), 0);
	}
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(id, sizeof id, "task-%u", i);
		assert_int_equal(rec_belief_of(&b, rec_slice_of(id)), i % 7);
		assert_true(rec_slice_equal(b.ids[i], rec_slice_of(id)));
	}
	assert_int_equal(rec_belief_of(&b, rec_slice_of("task-10000")), REC_STATUS_ABSENT);
	rec_belief_release(&b);
}

/* ---- The parser ---- */

/* Feeds `text` cut after every `step` bytes, the first piece being `first` bytes long. */
static int parse(struct rec_belief *b, bool live, struct rec_slice text, size_t first, size_t step,
		 struct rec_error *error)
{
	struct rec_belief_parser p;
	int r = 0;
	rec_belief_parser_init(&p, b, live);
	for (size_t at = 0, piece = first; r == 0 && at < text.length; at += piece, piece = step) {
		if (piece > text.length - at)
			piece = text.length - at;
		r = rec_belief_parser_feed(&p, (struct rec_slice){text.data + at, piece}, error);
	}
	if (r == 0)
		r = rec_belief_parser_finish(&p, error);
	rec_belief_parser_release(&p);
	return r;
}

/* "id=STATUS id=STATUS ..." */
static void belief_show(const struct rec_belief *b, char *out, size_t capacity)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < b->count; i++)
		used += (size_t)snprintf(out + used, capacity - used, "%s%.*s=%s", i ? " " : "", (int)b->ids[i].length,
					 b->ids[i].data, rec_status_text((enum rec_status)b->statuses[i]));
}

struct conversation {
	const char *input, *belief; /* belief: as belief_show, or NULL */
	const char *error;          /* the message begins so */
};

static void conversation_holds(const struct conversation *c, bool live, size_t first, size_t step)
{
	struct rec_belief b;
	struct rec_error error = {0};
	char shown[400];
	rec_belief_init(&b, NULL, 7);
	int r = parse(&b, live, rec_slice_of(c->input), first, step, &error);
	belief_show(&b, shown, sizeof shown);
	if (c->belief && (r != 0 || strcmp(shown, c->belief) != 0))
		fail_msg("%s (cut %zu, %zu): got %d %s [%s], wanted [%s]", c->input, first, step, r, error.message,
			 shown, c->belief);
	if (!c->belief &&
	    (r != REC_E_INVALID || error.code != r || strncmp(error.message, c->error, strlen(c->error)) != 0))
		fail_msg("%s (cut %zu, %zu): got %d \"%s\", wanted \"%s\"", c->input, first, step, r, error.message,
			 c->error);
	rec_belief_release(&b);
}

static void conversations_hold(const struct conversation *all, size_t count, bool live)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(all[i].input);
		conversation_holds(&all[i], live, 1, 1);
		for (size_t cut = 1; cut <= length + 1; cut++)
			conversation_holds(&all[i], live, cut, SIZE_MAX);
	}
}
#define HOLD(all, live) conversations_hold(all, sizeof(all) / sizeof *(all), live)

static void test_parser__one_object(void **state)
{
	(void)state;
	static const struct conversation all[] = {
		{"{}", "", NULL},
		{" \n{ }\n\n", "", NULL},
		{"{\"a\":\"READY\"}", "a=READY", NULL},
		{"{\"a\":\"BACKLOG\",\"b\":\"READY\",\"c\":\"IN_PROGRESS\",\"d\":\"BLOCKED\",\"e\":\"FAILED\","
		 "\"f\":\"DONE\",\"g\":\"MERGED\"}",
		 "a=BACKLOG b=READY c=IN_PROGRESS d=BLOCKED e=FAILED f=DONE g=MERGED", NULL},
		{"{\"r\":\"RUNNING\",\"c\":\"COMPLETED\"}", "r=IN_PROGRESS c=DONE", NULL},
		{"{\n \"z\": \"DONE\",\n \"a\": \"READY\"\n}\n", "z=DONE a=READY", NULL},
		{"{\"\\u0061\\/\\\\\\\"\":\"DO\\u004eE\"}", "a/\\\"=DONE", NULL},
		{"{\"\xd0\x97\xd0\xb0\xd0\xb4\xd0\xb0\xd1\x87\xd0\xb0 1\":\"DONE\"}",
		 "\xd0\x97\xd0\xb0\xd0\xb4\xd0\xb0\xd1\x87\xd0\xb0 1=DONE", NULL},
	};
	HOLD(all, false);
}

static void test_parser__lines(void **state)
{
	(void)state;
	static const struct conversation all[] = {
		{"{\"task_id\":\"a\",\"status\":\"READY\"}", "a=READY", NULL},
		{"{\"status\":\"READY\",\"task_id\":\"a\"}", "a=READY", NULL},
		{"{\"task_id\":\"b\",\"status\":\"DONE\"}\n{\"status\":\"RUNNING\",\"task_id\":\"a\"}\n",
		 "b=DONE a=IN_PROGRESS", NULL},
		{"\n\n{\"task_id\":\"b\",\"status\":\"DONE\"}\r\n \n\n{\"task_id\":\"a\",\"status\":\"DONE\"}\n\n",
		 "b=DONE a=DONE", NULL},
		{"{\"task_id\":\"b\",\"status\":\"DONE\"}{\"task_id\":\"a\",\"status\":\"DONE\"}", "b=DONE a=DONE",
		 NULL},
		{"{\"task_id\":\"x\",\"status\":\"DONE\"}\n{\"task_id\":\"READY\",\"status\":\"DONE\"}",
		 "x=DONE READY=DONE", NULL},
	};
	HOLD(all, false);
}

static void test_parser__tasks_named_like_the_keys(void **state)
{
	(void)state;
	static const struct conversation all[] = {
		{"{\"task_id\":\"READY\",\"status\":\"DONE\"}", "task_id=READY status=DONE", NULL},
		{"{\"status\":\"DONE\",\"task_id\":\"READY\"}", "status=DONE task_id=READY", NULL},
		{"{\"task_id\":\"READY\"}", "task_id=READY", NULL},
		{"{\"status\":\"DONE\"}", "status=DONE", NULL},
		{"{\"status\":\"DONE\",\"x\":\"READY\",\"task_id\":\"FAILED\"}", "status=DONE x=READY task_id=FAILED",
		 NULL},
		{"{\"task_id\":\"READY\",\"x\":\"READY\",\"status\":\"FAILED\"}", "task_id=READY x=READY status=FAILED",
		 NULL},
		{"{\"x\":\"READY\",\"task_id\":\"DONE\",\"status\":\"FAILED\"}", "x=READY task_id=DONE status=FAILED",
		 NULL},
		{"{\"task_id\":\"READY\",\"status\":\"DONE\"}\n{\"task_id\":\"b\",\"status\":\"DONE\"}", NULL,
		 "line 2, column 1 (byte 36): content after the object"},
	};
	HOLD(all, false);
}

static void test_parser__what_is_refused_names_place_and_value(void **state)
{
	(void)state;
	static const struct conversation all[] = {
		{"", NULL, "empty batch state (say {} for none)"},
		{" \n\n ", NULL, "empty batch state (say {} for none)"},
		{"{\"a\":\"READY\",\n\"b\":\"DONE\",\n \"a\":\"DONE\"}", NULL,
		 "line 3, column 2 (byte 27): duplicate id \"a\""},
		{"{\"a\":\"ready\"}", NULL,
		 "line 1, column 6 (byte 5): unknown status \"ready\" of task \"a\" (one of "},
		{"{\"a\":\"\"}", NULL, "line 1, column 6 (byte 5): unknown status \"\" of task \"a\""},
		{"{\"a\":\"-\"}", NULL, "line 1, column 6 (byte 5): unknown status \"-\" of task \"a\""},
		{"{\"a\":5}", NULL, "line 1, column 6 (byte 5): the status of task \"a\" is a number, not a text"},
		{"{\"a\":null}", NULL, "line 1, column 6 (byte 5): the status of task \"a\" is null"},
		{"{\"a\":true}", NULL, "line 1, column 6 (byte 5): the status of task \"a\" is a truth value"},
		{"{\"a\":{\"b\":\"READY\"}}", NULL, "line 1, column 6 (byte 5): the status of task \"a\" is an object"},
		{"{\"a\":[]}", NULL, "line 1, column 6 (byte 5): the status of task \"a\" is a list"},
		{"[]", NULL, "line 1, column 1 (byte 0): expected an object {...}, found a list"},
		{"\"READY\"", NULL, "line 1, column 1 (byte 0): expected an object {...}, found a text"},
		{"7 ", NULL, "line 1, column 1 (byte 0): expected an object {...}, found a number"},
		{"null", NULL, "line 1, column 1 (byte 0): expected an object {...}, found null"},
		{"{\"\":\"READY\"}", NULL, "line 1, column 2 (byte 1): task id \"\": it is empty"},
		{"{\"a\\nb\":\"READY\"}", NULL, "line 1, column 2 (byte 1): task id \"a\\x0ab\": it holds a control"},
		{"{\"a\":\"READY\"} {\"b\":\"DONE\"}", NULL, "line 1, column 15 (byte 14): content after the object"},
		{"{\"a\":\"READY\"}\n{\"task_id\":\"b\",\"status\":\"DONE\"}", NULL,
		 "line 2, column 1 (byte 14): content after the object"},
		{"{}{}", NULL, "line 1, column 3 (byte 2): content after the object"},
		{"{\"a\":\"READY\"", NULL, "line 1, column 13 (byte 12): expected ',' or '}', found the end"},
		{"{\"a\":\"READY\",}", NULL, "line 1, column 14 (byte 13): expected a key in double quotes, found '}'"},
		{"{\"a\" \"READY\"}", NULL, "line 1, column 6 (byte 5): expected ':', found '\"'"},
		{"{a:1}", NULL, "line 1, column 2 (byte 1): expected a key"},
		{"{\"a\":\"READY\"}x", NULL, "line 1, column 14 (byte 13): expected a JSON value, found 'x'"},
	};
	HOLD(all, false);
}

static void test_parser__bad_lines_are_refused(void **state)
{
	(void)state;
	static const struct conversation all[] = {
		{"{\"task_id\":\"a\",\"status\":\"READY\"}\n{\"task_id\":\"a\",\"status\":\"DONE\"}", NULL,
		 "line 2, column 12 (byte 44): duplicate id \"a\""},
		{"{\"task_id\":\"a\",\"status\":\"GONE\"}", NULL,
		 "line 1, column 25 (byte 24): unknown status \"GONE\" of task \"a\""},
		{"{\"status\":\"GONE\",\"task_id\":\"a\"}", NULL,
		 "line 1, column 11 (byte 10): unknown status \"GONE\" (one of"},
		{"{\"task_id\":\"a\"}", NULL, "line 1, column 15 (byte 14): \"status\" is missing"},
		{"{\"task_id\":\"a\",\"status\":\"DONE\"}\n{\"status\":\"DONE\"}", NULL,
		 "line 2, column 17 (byte 48): \"task_id\" is missing"},
		{"{\"task_id\":\"a\",\"status\":\"DONE\"}\n{}", NULL,
		 "line 2, column 2 (byte 33): \"task_id\" is missing"},
		{"{\"task_id\":\"a\",\"state\":\"DONE\"}", NULL, "line 1, column 16 (byte 15): unknown key \"state\""},
		{"{\"task_id\":\"a\",\"status\":\"DONE\",\"note\":1}", NULL,
		 "line 1, column 32 (byte 31): unknown key \"note\""},
		{"{\"task_id\":\"a\",\"task_id\":\"b\"}", NULL,
		 "line 1, column 16 (byte 15): duplicate key \"task_id\""},
		{"{\"status\":\"DONE\",\"status\":\"DONE\"}", NULL, "line 1, column 18 (byte 17): duplicate key"},
		{"{\"task_id\":\"a\",\"status\":\"DONE\",\"status\":\"DONE\"}", NULL,
		 "line 1, column 32 (byte 31): duplicate key \"status\""},
		{"{\"task_id\":7,\"status\":\"DONE\"}", NULL,
		 "line 1, column 12 (byte 11): a task id is a text, not a number"},
		{"{\"task_id\":\"a\",\"status\":null}", NULL,
		 "line 1, column 25 (byte 24): the status of task \"a\" is null"},
		{"{\"task_id\":\"\",\"status\":\"DONE\"}", NULL,
		 "line 1, column 12 (byte 11): task id \"\": it is empty"},
		{"{\"task_id\":\"a\",\"status\":\"DONE\"}\n{\"a\":\"READY\"}", NULL,
		 "line 2, column 2 (byte 33): unknown key \"a\""},
		{"{\"task_id\":\"a\",\"status\":\"DONE\"}\n[]", NULL,
		 "line 2, column 1 (byte 32): expected an object {...}, found a list"},
		{"{\"task_id\":\"READY\",\"task_id\":\"DONE\"}", NULL,
		 "line 1, column 20 (byte 19): duplicate id \"task_id\""},
	};
	HOLD(all, false);
}

static void test_parser__live_lines_change_and_forget(void **state)
{
	(void)state;
	static const struct conversation all[] = {
		{"", "", NULL},
		{"\n", "", NULL},
		{"{\"task_id\":\"a\",\"status\":\"READY\"}\n{\"task_id\":\"a\",\"status\":\"DONE\"}\n", "a=DONE", NULL},
		{"{\"task_id\":\"a\",\"status\":\"READY\"}\n{\"task_id\":\"a\",\"status\":null}\n", "a=-", NULL},
		{"{\"status\":null,\"task_id\":\"a\"}\n{\"task_id\":\"a\",\"status\":\"DONE\"}\n", "a=DONE", NULL},
		{"{\"task_id\":\"READY\",\"status\":\"DONE\"}", "READY=DONE", NULL},
		{"{\"a\":\"READY\"}", NULL, "line 1, column 2 (byte 1): unknown key \"a\""},
		{"{}", NULL, "line 1, column 2 (byte 1): \"task_id\" is missing"},
		{"{\"task_id\":\"a\",\"status\":\"-\"}", NULL, "line 1, column 25 (byte 24): unknown status \"-\""},
		{"{\"task_id\":\"a\",\"status\":\"DONE\"", NULL, "line 1, column 31 (byte 30): expected"},
	};
	HOLD(all, true);
}

struct heard {
	uint32_t indices[8];
	size_t count;
};

static void hear(void *context, uint32_t index)
{
	struct heard *heard = context;
	heard->indices[heard->count++] = index;
}

static void test_parser__a_live_update_takes_effect_with_its_closing_brace(void **state)
{
	(void)state;
	static const char line[] = "{\"task_id\":\"b\",\"status\":\"DONE\"}";
	struct rec_belief b;
	struct rec_belief_parser p;
	struct heard heard = {.count = 0};
	rec_belief_init(&b, NULL, 3);
	rec_belief_parser_init(&p, &b, true);
	p.on_update = hear;
	p.context = &heard;
	assert_int_equal(rec_belief_set(&b, rec_slice_of("a"), REC_READY, NULL, NULL), 0);
	assert_int_equal(rec_belief_parser_feed(&p, (struct rec_slice){line, sizeof line - 2}, NULL), 0);
	assert_int_equal(heard.count, 0);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("b")), REC_STATUS_ABSENT);
	assert_int_equal(rec_belief_parser_feed(&p, rec_slice_of("}"), NULL), 0);
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.indices[0], 1);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("b")), REC_DONE);
	assert_int_equal(rec_belief_parser_finish(&p, NULL), 0);
	rec_belief_parser_release(&p);
	rec_belief_release(&b);
}

static void test_parser__a_half_line_of_a_known_task_does_not_touch_its_belief(void **state)
{
	(void)state;
	struct rec_belief b;
	struct rec_belief_parser p;
	rec_belief_init(&b, NULL, 3);
	rec_belief_parser_init(&p, &b, true);
	assert_int_equal(rec_belief_set(&b, rec_slice_of("a"), REC_READY, NULL, NULL), 0);
	assert_int_equal(rec_belief_parser_feed(&p, rec_slice_of("{\"task_id\":\"a\",\"status\":\"DONE\""), NULL), 0);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("a")), REC_READY);
	assert_int_equal(rec_belief_parser_finish(&p, NULL), REC_E_INVALID);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("a")), REC_READY);
	rec_belief_parser_release(&p);
	rec_belief_release(&b);
}

static void test_parser__a_text_over_the_limit_is_an_error_not_memory(void **state)
{
	(void)state;
	size_t length = 1u << 20;
	char *text = rec_alloc(NULL, length);
	struct rec_belief b;
	struct rec_error error;
	memset(text, 'x', length);
	memcpy(text, "{\"", 2);
	rec_belief_init(&b, NULL, 3);
	assert_int_equal(parse(&b, false, (struct rec_slice){text, length}, 4096, 4096, &error), REC_E_LIMIT);
	rec_belief_release(&b);
	rec_belief_init(&b, NULL, 3);
	memcpy(text + 300, "\":\"READY\"}", 10);
	assert_int_equal(parse(&b, false, (struct rec_slice){text, 310}, 4096, 4096, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "longer than 255 bytes"));
	rec_belief_release(&b);
	rec_free(NULL, text);
}

static void test_parser__the_window_does_not_grow_with_the_input(void **state)
{
	(void)state;
	struct rec_belief b;
	struct rec_belief_parser p;
	struct rec_buffer text;
	rec_buffer_init(&text, NULL, SIZE_MAX);
	rec_buffer_add_text(&text, "{");
	for (unsigned i = 0; i < 50000; i++)
		rec_buffer_printf(&text, "%s\"task %u\":\"READY\"", i ? ",\n" : "", i);
	rec_buffer_add_text(&text, "}");
	assert_true(text.length > 1000000);
	rec_belief_init(&b, NULL, 9);
	rec_belief_parser_init(&p, &b, false);
	assert_int_equal(rec_belief_parser_feed(&p, rec_buffer_slice(&text), NULL), 0);
	assert_true(p.reader.window.capacity < 400000);
	assert_int_equal(rec_belief_parser_finish(&p, NULL), 0);
	assert_int_equal(b.count, 50000);
	rec_belief_parser_release(&p);
	rec_belief_release(&b);
	rec_buffer_release(&text);
}

/* ---- The fixture, memory ---- */

static size_t fixture_read(const char *name, char *out, size_t capacity)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/codeframe/%s", getenv("REC_TEST_DATA"), name);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t length = fread(out, 1, capacity, file);
	assert_true(length < capacity);
	fclose(file);
	return length;
}

static void test_parser__reads_the_codeframe_fixture(void **state)
{
	(void)state;
	static char text[100000];
	size_t length = fixture_read("small.batch-state.json", text, sizeof text);
	struct rec_belief b;
	rec_belief_init(&b, NULL, 3);
	assert_int_equal(parse(&b, false, (struct rec_slice){text, length}, 100, 7, NULL), 0);
	assert_int_equal(b.count, 19);
	assert_int_equal(rec_belief_of(&b, rec_slice_of("3099fdf5-ab99-454a-a901-e35cd47d380d")), REC_MERGED);
	assert_true(rec_slice_equal(b.ids[18], rec_slice_of("00000000-0000-4000-8000-00000000dead")));
	rec_belief_release(&b);
}

static void test_parser__every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
	(void)state;
	static char text[100000];
	size_t length = fixture_read("medium.batch-state.json", text, sizeof text);
	int r = REC_E_NOMEM;
	uint64_t n = 0;
	while (r == REC_E_NOMEM) {
		struct rec_failing_allocator failing;
		struct rec_belief b;
		struct rec_error error = {0};
		n++;
		rec_failing_allocator_init(&failing, n, n % 2 == 0);
		rec_belief_init(&b, &failing.allocator, 3);
		r = parse(&b, false, (struct rec_slice){text, length}, 1000, 1000, &error);
		assert_true(r == 0 || (r == REC_E_NOMEM && error.code == r));
		rec_belief_release(&b);
		assert_int_equal(failing.live, 0);
	}
	assert_int_equal(r, 0);
	assert_true(n > 20);
}

static void test_belief__a_failed_set_leaves_it_as_it_was(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 40; n++) {
		struct rec_failing_allocator failing;
		struct rec_belief b;
		char id[8];
		size_t held = 0;
		rec_failing_allocator_init(&failing, n, 0);
		rec_belief_init(&b, &failing.allocator, 3);
		for (unsigned i = 0; i < 500; i++) {
			snprintf(id, sizeof id, "t%u", i);
			int r = rec_belief_set(&b, rec_slice_of(id), REC_DONE, NULL, NULL);
			held += r == 0;
			assert_int_equal(rec_belief_of(&b, rec_slice_of(id)), r == 0 ? REC_DONE : REC_STATUS_ABSENT);
		}
		assert_int_equal(b.count, held);
		rec_belief_release(&b);
		assert_int_equal(failing.live, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_belief__holds_what_was_set_in_the_order_it_came),
		cmocka_unit_test(test_belief__adding_an_id_twice_tells_where_it_is_and_changes_nothing),
		cmocka_unit_test(test_belief__refuses_what_is_no_task_id),
		cmocka_unit_test(test_belief__ten_thousand_ids_are_all_found),
		cmocka_unit_test(test_belief__a_failed_set_leaves_it_as_it_was),
		cmocka_unit_test(test_parser__one_object),
		cmocka_unit_test(test_parser__lines),
		cmocka_unit_test(test_parser__tasks_named_like_the_keys),
		cmocka_unit_test(test_parser__what_is_refused_names_place_and_value),
		cmocka_unit_test(test_parser__bad_lines_are_refused),
		cmocka_unit_test(test_parser__live_lines_change_and_forget),
		cmocka_unit_test(test_parser__a_live_update_takes_effect_with_its_closing_brace),
		cmocka_unit_test(test_parser__a_half_line_of_a_known_task_does_not_touch_its_belief),
		cmocka_unit_test(test_parser__a_text_over_the_limit_is_an_error_not_memory),
		cmocka_unit_test(test_parser__the_window_does_not_grow_with_the_input),
		cmocka_unit_test(test_parser__reads_the_codeframe_fixture),
		cmocka_unit_test(test_parser__every_failing_allocation_is_reported_and_leaks_nothing),
	};
	return cmocka_run_group_tests_name("engine/belief", tests, NULL, NULL);
}
