/* test-links.c - links to trackers, what is remembered of them, and what trackers want to be given back. */
#include "contract.h"

#include <string.h>

#define ISSUE "https://github.com/acme/app/issues/7"
#define PULL "https://github.com/acme/app/pull/15"

static void put(struct contract *c, int wanted, const char *task_id, const char *url)
{
	expect(c, wanted, rec_store_link_put(c->store, S(task_id), S(url), &c->error));
}

static void add_with_url(struct contract *c, const char *id, const char *url)
{
	struct rec_task task = contract_task(id, REC_READY);
	task.external_url = S(url);
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
}

static int list_tell(void *context, const struct rec_link *link)
{
	rec_buffer_printf(context, "%.*s %.*s%s %s\n", (int)link->task_id.length, link->task_id.data,
			  (int)link->url.length, link->url.data, link->implicit ? " implicit" : "",
			  rec_observed_text(link->state));
	return 0;
}

static void assert_links_in(struct contract *c, struct rec_store *s, const char *task_id, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX / 2);
	expect(c, 0, rec_store_links(s, task_id ? S(task_id) : NO_TEXT, list_tell, &out, &c->error));
	assert_slice(out.length ? rec_buffer_slice(&out) : S(""), wanted);
	rec_buffer_release(&out);
}

static void assert_links(struct contract *c, const char *wanted)
{
	assert_links_in(c, c->store, NULL, wanted);
}

/* ---- Links ---- */

static void test_link__one_issue_may_belong_to_several_tasks_and_one_task_to_several_issues(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	put(c, 0, "b", ISSUE);
	put(c, 0, "a", PULL);
	put(c, 0, "a", ISSUE);
	assert_links(c, "a " ISSUE " unknown\na " PULL " unknown\nb " ISSUE " unknown\n");
	assert_links_in(c, c->store, "b", "b " ISSUE " unknown\n");
	assert_links_in(c, c->store, "nobody", "");
}

static void test_link__is_made_once_and_only_for_a_task_that_exists(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	put(c, REC_NOT_FOUND, "b", ISSUE);
	put(c, 0, "a", ISSUE);
	put(c, REC_EXISTS, "a", ISSUE);
	assert_links(c, "a " ISSUE " unknown\n");
}

static void test_link__bad_input_is_refused(void **state)
{
	struct contract *c = *state;
	char longer[REC_LINK_URL_BYTES_MAX + 2];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	contract_add(c, "a", REC_READY);
	put(c, REC_E_INVALID, "a", "");
	put(c, REC_E_INVALID, "a", "https://example.org/a b");
	put(c, REC_E_INVALID, "a", "https://example.org/\xff");
	put(c, REC_E_INVALID, "a", longer);
	put(c, REC_E_INVALID, "a\n", ISSUE);
	longer[sizeof longer - 2] = '\0';
	put(c, 0, "a", longer);
	struct rec_link link = {.task_id = S("a"), .url = S(longer), .state = REC_OBSERVED_GONE};
	expect(c, REC_E_INVALID, rec_store_link_observed(c->store, &link, &c->error));
	link.state = REC_OBSERVED_OPEN;
	link.moved_to = S("not an address");
	expect(c, REC_E_INVALID, rec_store_link_observed(c->store, &link, &c->error));
}

static void test_link__the_address_of_an_issue_links_its_task(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	add_with_url(c, "b", "https://example.org/wiki/page");
	add_with_url(c, "c", PULL);
	put(c, 0, "b", "jira:APP-1");
	put(c, 0, "c", "https://github.com/acme/app/issues/1");
	put(c, 0, "c", "https://github.com/acme/app/pull/2");
	assert_links(c, "a " ISSUE " implicit unknown\nb jira:APP-1 unknown\n"
			"c https://github.com/acme/app/issues/1 unknown\nc " PULL " implicit unknown\n"
			"c https://github.com/acme/app/pull/2 unknown\n");
	assert_links_in(c, c->store, "a", "a " ISSUE " implicit unknown\n");
}

static void test_link__one_that_is_both_comes_once_and_goes_back_to_implicit(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	put(c, 0, "a", ISSUE);
	assert_links(c, "a " ISSUE " unknown\n");
	expect(c, 0, rec_store_link_remove(c->store, S("a"), S(ISSUE), &c->error));
	assert_links(c, "a " ISSUE " implicit unknown\n");
	expect(c, REC_NOT_FOUND, rec_store_link_remove(c->store, S("a"), S(ISSUE), &c->error));
}

static void test_unlink__takes_one_or_all_explicit_links(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", "https://github.com/acme/app/issues/1");
	contract_add(c, "ab", REC_READY);
	put(c, 0, "a", ISSUE);
	put(c, 0, "a", ISSUE "0");
	put(c, 0, "a", PULL);
	put(c, 0, "ab", ISSUE);
	expect(c, 0, rec_store_link_remove(c->store, S("a"), S(ISSUE), &c->error));
	assert_links_in(c, c->store, "a",
			"a https://github.com/acme/app/issues/1 implicit unknown\na " ISSUE "0 unknown\na " PULL
			" unknown\n");
	expect(c, 0, rec_store_link_remove(c->store, S("a"), NO_TEXT, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_link_remove(c->store, S("a"), NO_TEXT, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_link_remove(c->store, S("nobody"), NO_TEXT, &c->error));
	assert_links(c, "a https://github.com/acme/app/issues/1 implicit unknown\nab " ISSUE " unknown\n");
}

/* The message never shows the address. */
static void assert_secret(struct contract *c, int r)
{
	assert_int_equal(r, REC_E_INVALID);
	assert_non_null(strstr(c->error.message, "password"));
	assert_null(strstr(c->error.message, "secret"));
}

static void test_link__an_address_with_a_password_is_not_taken(void **state)
{
	struct contract *c = *state;
	struct rec_slice url = S("https://me:secret@github.com/acme/app/issues/7");
	struct rec_task task = contract_task("b", REC_READY);
	contract_add(c, "a", REC_READY);
	assert_secret(c, rec_store_link_put(c->store, S("a"), url, &c->error));
	task.external_url = url;
	assert_secret(c, rec_store_create(c->store, &task, &c->error));
	assert_secret(c, rec_store_create_as_given(c->store, &task, &c->error));
	task.id = S("a");
	assert_secret(c, rec_store_edit(c->store, &task, REC_EDIT_EXTERNAL_URL, &c->error));
	expect(c, 0, rec_store_edit(c->store, &task, REC_EDIT_TITLE, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_link_remove(c->store, S("a"), url, &c->error));
	assert_links(c, "");
}

static void test_link__goes_with_its_task(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	put(c, 0, "a", ISSUE);
	expect(c, 0, rec_store_delete(c->store, S("a"), &c->error));
	assert_links(c, "");
	contract_add(c, "a", REC_READY);
	assert_links(c, "");
}

static void test_link__of_a_task_that_another_program_deleted_is_not_told(void **state)
{
	struct contract *c = *state;
	if (!contract_backend.foreign_delete)
		skip();
	contract_add(c, "a", REC_READY);
	put(c, 0, "a", ISSUE);
	contract_backend.foreign_delete(c->place, "a");
	struct rec_link link = {.task_id = S("a"), .url = S(ISSUE), .state = REC_OBSERVED_OPEN};
	assert_links(c, "");
	expect(c, REC_NOT_FOUND, rec_store_link_observed(c->store, &link, &c->error));
}

/* ---- What is remembered ---- */

static struct rec_link full_link(const char *task_id, const char *url)
{
	return (struct rec_link){.task_id = S(task_id),
				 .url = S(url),
				 .state = REC_OBSERVED_CLOSED,
				 .kind = REC_LINK_ISSUE,
				 .reason = S("completed"),
				 .time = S("2026-01-01T00:00:00Z"),
				 .has_comments = true,
				 .comments = 7,
				 .moved_to = S("https://github.com/acme/new/issues/1"),
				 .validator = S("W/\"abc\""),
				 .observed_at = S("2026-01-01T00:00:01Z"),
				 .gone = true,
				 .made_done_at = S("2026-01-01T00:00:02Z")};
}

static int keep_link(void *context, const struct rec_link *link)
{
	rec_buffer_printf(context, "%s %s %.*s %.*s %d/%lld %.*s %.*s %.*s %d %.*s", rec_observed_text(link->state),
			  rec_link_kind_text(link->kind), (int)link->reason.length, link->reason.data,
			  (int)link->time.length, link->time.data, link->has_comments, (long long)link->comments,
			  (int)link->moved_to.length, link->moved_to.data, (int)link->validator.length,
			  link->validator.data, (int)link->observed_at.length, link->observed_at.data, link->gone,
			  (int)link->made_done_at.length, link->made_done_at.data);
	return 0;
}

static void assert_remembered(struct contract *c, struct rec_store *s, const char *task_id, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX / 2);
	expect(c, 0, rec_store_links(s, S(task_id), keep_link, &out, &c->error));
	assert_slice(out.length ? rec_buffer_slice(&out) : S(""), wanted);
	rec_buffer_release(&out);
}

#define FULL                                                                                                           \
	"closed issue completed 2026-01-01T00:00:00Z 1/7 https://github.com/acme/new/issues/1 W/\"abc\" "              \
	"2026-01-01T00:00:01Z 1 2026-01-01T00:00:02Z"
#define NEVER "unknown unknown   0/0    0 "

static void test_observed__every_field_is_remembered_by_every_handle(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	put(c, 0, "a", ISSUE);
	assert_remembered(c, c->store, "a", NEVER);
	struct rec_link link = full_link("a", ISSUE);
	expect(c, 0, rec_store_link_observed(c->store, &link, &c->error));
	assert_remembered(c, c->store, "a", FULL);
	assert_remembered(c, contract_open(c, REC_STORE_READ), "a", FULL);
	struct rec_link nothing = {.task_id = S("a"), .url = S(ISSUE)};
	expect(c, 0, rec_store_link_observed(c->store, &nothing, &c->error));
	assert_remembered(c, c->store, "a", NEVER);
}

static void test_observed__what_is_no_link_is_not_remembered(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	struct rec_link other = full_link("a", PULL), nobody = full_link("nobody", ISSUE);
	expect(c, REC_NOT_FOUND, rec_store_link_observed(c->store, &other, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_link_observed(c->store, &nobody, &c->error));
	put(c, 0, "a", PULL);
	expect(c, 0, rec_store_link_observed(c->store, &other, &c->error));
	expect(c, 0, rec_store_link_remove(c->store, S("a"), NO_TEXT, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_link_observed(c->store, &other, &c->error));
}

static void test_observed__an_implicit_link_is_remembered_as_long_as_it_is_the_tasks_address(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	struct rec_link link = full_link("a", ISSUE);
	expect(c, 0, rec_store_link_observed(c->store, &link, &c->error));
	assert_remembered(c, c->store, "a", FULL);
	assert_links(c, "a " ISSUE " implicit closed\n");
	struct rec_task edited = {.id = S("a"), .external_url = S(PULL)};
	expect(c, 0, rec_store_edit(c->store, &edited, REC_EDIT_EXTERNAL_URL, &c->error));
	assert_remembered(c, c->store, "a", NEVER);
	assert_links(c, "a " PULL " implicit unknown\n");
	expect(c, REC_NOT_FOUND, rec_store_link_observed(c->store, &link, &c->error));
}

static void test_observed__linking_it_explicitly_keeps_what_is_known(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	struct rec_link link = full_link("a", ISSUE);
	expect(c, 0, rec_store_link_observed(c->store, &link, &c->error));
	put(c, 0, "a", ISSUE);
	assert_remembered(c, c->store, "a", FULL);
	assert_links(c, "a " ISSUE " closed\n");
}

static void test_observed__a_rollback_takes_it_back_with_all_else(void **state)
{
	struct contract *c = *state;
	struct rec_buffer before, after;
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	put(c, 0, "a", ISSUE);
	contract_dump(c->store, &before);
	struct rec_link link = full_link("a", ISSUE);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_set(c, "a", REC_READY, REC_IN_PROGRESS);
	expect(c, 0, rec_store_link_observed(c->store, &link, &c->error));
	put(c, 0, "b", ISSUE);
	expect(c, 0, rec_store_link_remove(c->store, S("a"), NO_TEXT, &c->error));
	expect(c, 0, rec_store_tracker_cursor_put(c->store, S("github"), S("k"), S("v"), &c->error));
	assert_links(c, "b " ISSUE " unknown\n");
	rec_store_rollback(c->store);
	contract_dump(c->store, &after);
	assert_same_dump(&before, &after);
	rec_buffer_release(&before);
	rec_buffer_release(&after);
}

static void test_observed__is_not_a_change_of_the_task(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	put(c, 0, "a", ISSUE);
	contract_catch_up(c->store, &c->cursor);
	struct rec_link link = full_link("a", ISSUE);
	expect(c, 0, rec_store_link_observed(c->store, &link, &c->error));
	expect(c, 0, rec_store_tracker_cursor_put(c->store, S("github"), S("k"), S("v"), &c->error));
	char ids[16] = "";
	contract_changes(c->store, &c->cursor, ids, sizeof ids);
	assert_string_equal(ids, "");
}

/* ---- Cursors ---- */

static int cursor_tell(void *context, struct rec_slice key, struct rec_slice value)
{
	rec_buffer_printf(context, "%.*s=%.*s ", (int)key.length, key.data, (int)value.length, value.data);
	return 0;
}

static void cursor(struct contract *c, int wanted, const char *tracker, const char *key, const char *value)
{
	expect(c, wanted,
	       rec_store_tracker_cursor_put(c->store, S(tracker), S(key), value ? S(value) : NO_TEXT, &c->error));
}

static void assert_cursors(struct contract *c, struct rec_store *s, const char *tracker, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX / 2);
	expect(c, 0, rec_store_tracker_cursors(s, S(tracker), cursor_tell, &out, &c->error));
	assert_slice(out.length ? rec_buffer_slice(&out) : S(""), wanted);
	rec_buffer_release(&out);
}

static void test_cursor__each_tracker_is_given_back_its_own(void **state)
{
	struct contract *c = *state;
	assert_cursors(c, c->store, "github", "");
	cursor(c, 0, "github", "repo:b", "2");
	cursor(c, 0, "github", "repo:a", "1");
	cursor(c, 0, "git", "hub", "other");
	cursor(c, 0, "github", "repo:b", "3");
	cursor(c, 0, "github", "", "empty key");
	assert_cursors(c, c->store, "github", "=empty key repo:a=1 repo:b=3 ");
	assert_cursors(c, contract_open(c, REC_STORE_READ), "git", "hub=other ");
	cursor(c, 0, "github", "repo:a", NULL);
	cursor(c, 0, "github", "never", NULL);
	assert_cursors(c, c->store, "github", "=empty key repo:b=3 ");
}

/* News of what was no link meanwhile has gone by, and would never come again. */
static void test_cursor__moving_on_forgets_what_is_no_link(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	contract_add(c, "b", REC_READY);
	put(c, 0, "b", ISSUE);
	struct rec_link first = full_link("a", ISSUE), second = full_link("b", ISSUE);
	expect(c, 0, rec_store_link_observed(c->store, &first, &c->error));
	expect(c, 0, rec_store_link_observed(c->store, &second, &c->error));
	struct rec_task edited = {.id = S("a"), .external_url = S(PULL)};
	expect(c, 0, rec_store_edit(c->store, &edited, REC_EDIT_EXTERNAL_URL, &c->error));
	cursor(c, 0, "github", "repo", "2");
	edited.external_url = S(ISSUE);
	expect(c, 0, rec_store_edit(c->store, &edited, REC_EDIT_EXTERNAL_URL, &c->error));
	assert_remembered(c, c->store, "a", NEVER);
	assert_remembered(c, c->store, "b", FULL);
	if (!contract_backend.foreign_delete)
		return;
	contract_backend.foreign_delete(c->place, "b");
	cursor(c, 0, "github", "repo", "3");
	contract_add(c, "b", REC_READY);
	assert_links_in(c, c->store, "b", "");
}

/* What is kept under a name that is no tracker's stands for no news. */
static void test_cursor__a_list_of_our_own_forgets_no_link(void **state)
{
	struct contract *c = *state;
	add_with_url(c, "a", ISSUE);
	struct rec_link link = full_link("a", ISSUE);
	expect(c, 0, rec_store_link_observed(c->store, &link, &c->error));
	struct rec_task edited = {.id = S("a"), .external_url = S(PULL)};
	expect(c, 0, rec_store_edit(c->store, &edited, REC_EDIT_EXTERNAL_URL, &c->error));
	cursor(c, 0, "list:ours", "k", "v");
	cursor(c, 0, "list:ours", "k", NULL);
	edited.external_url = S(ISSUE);
	expect(c, 0, rec_store_edit(c->store, &edited, REC_EDIT_EXTERNAL_URL, &c->error));
	assert_remembered(c, c->store, "a", FULL);
}

static void test_cursor__bad_input_is_refused(void **state)
{
	struct contract *c = *state;
	char longer[REC_VALIDATOR_BYTES_MAX + 2];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	cursor(c, REC_E_INVALID, "", "k", "v");
	cursor(c, REC_E_INVALID, "github", "k", longer);
	cursor(c, REC_E_INVALID, "github", longer, "v");
	cursor(c, 0, "github", "k", longer + 1);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_link__one_issue_may_belong_to_several_tasks_and_one_task_to_several_issues),
	contract_test(test_link__is_made_once_and_only_for_a_task_that_exists),
	contract_test(test_link__bad_input_is_refused),
	contract_test(test_link__the_address_of_an_issue_links_its_task),
	contract_test(test_link__one_that_is_both_comes_once_and_goes_back_to_implicit),
	contract_test(test_unlink__takes_one_or_all_explicit_links),
	contract_test(test_link__an_address_with_a_password_is_not_taken),
	contract_test(test_link__goes_with_its_task),
	contract_test(test_link__of_a_task_that_another_program_deleted_is_not_told),
	contract_test(test_observed__every_field_is_remembered_by_every_handle),
	contract_test(test_observed__what_is_no_link_is_not_remembered),
	contract_test(test_observed__an_implicit_link_is_remembered_as_long_as_it_is_the_tasks_address),
	contract_test(test_observed__linking_it_explicitly_keeps_what_is_known),
	contract_test(test_observed__a_rollback_takes_it_back_with_all_else),
	contract_test(test_observed__is_not_a_change_of_the_task),
	contract_test(test_cursor__each_tracker_is_given_back_its_own),
	contract_test(test_cursor__moving_on_forgets_what_is_no_link),
	contract_test(test_cursor__a_list_of_our_own_forgets_no_link),
	contract_test(test_cursor__bad_input_is_refused),
};

/* A backend that keeps no links says so; until then there is nothing to test. */
int contract_run_links(void)
{
	void *state = NULL;
	if (contract_setup(&state))
		return 1;
	struct contract *c = state;
	int r = rec_store_link_put(c->store, S("a"), S(ISSUE), &c->error);
	contract_teardown(&state);
	return r == REC_E_UNSUPPORTED ? 0 : cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
