"""task and blocker: every verb, every refusal, ids by prefix."""
import json
import re

from harness import STATUSES, Case, main

UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
LEGAL = {
    "BACKLOG": ["READY"], "READY": ["BACKLOG", "IN_PROGRESS"], "IN_PROGRESS": ["READY", "BLOCKED", "FAILED", "DONE"],
    "BLOCKED": ["READY", "IN_PROGRESS"], "FAILED": ["READY", "IN_PROGRESS"], "DONE": ["READY", "MERGED"],
    "MERGED": [],
}


class Store(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()

    def show(self, task_id):
        return self.reconciler("task", "show", "--json", "--", task_id).json


class Add(Store):
    def test_prints_the_id_and_sets_defaults(self):
        task_id = self.add("Write the README")
        self.assertRegex(task_id, UUID)
        shown = self.show(task_id)
        self.assertEqual((shown["title"], shown["status"], shown["priority"], shown["depends_on"]),
                         ("Write the README", "READY", 0, []))
        self.assertRegex(shown["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$")

    def test_takes_every_field(self):
        first = self.add("First")
        second = self.add("Second")
        parent = self.add("Parent")
        task_id = self.add("Title", "--id", "my id", "--description", "long\ntext", "--status", "BACKLOG",
                           "--priority", "-3", "--depends-on", first[:8], "--depends-on", second, "--parent", parent,
                           "--issue", "https://github.com/acme/app/issues/7")
        self.assertEqual(task_id, "my id")
        shown = self.show("my id")
        self.assertEqual(shown["description"], "long\ntext")
        self.assertEqual((shown["status"], shown["priority"], shown["depends_on"], shown["parent_id"]),
                         ("BACKLOG", -3, [first, second], parent))
        self.assertEqual(shown["external_url"], "https://github.com/acme/app/issues/7")

    def test_json_is_an_object(self):
        made = self.reconciler("task", "add", "x", "--json").json
        self.assertRegex(made["id"], UUID)

    def test_a_taken_id_is_a_negative_answer(self):
        self.add("x", "--id", "a")
        self.assert_refused("task", "add", "y", "--id", "a", status=1, words=["task a", "exists already"])
        self.assertEqual(self.show("a")["title"], "x")

    def test_impossible_values(self):
        for bad in ("", "x" * 256, "a\tb"):
            self.assert_refused("task", "add", "x", "--id", bad)
        self.assert_refused("task", "add", "x" * 4097, words=["title"])
        self.assert_refused("task", "add", b"\xff", words=["UTF-8"])
        self.assert_refused("task", "add", "x", "--priority", "high", words=["--priority", "high"])
        self.assert_refused("task", "add", "x", "--priority", "99999999999999999999", words=["--priority"])
        self.assert_refused("task", "add", "x", "--depends-on", "nobody", status=1, words=["task nobody", "not found"])
        self.assert_refused("task", "add", "x", "--parent", "nobody", status=1, words=["task nobody", "not found"])
        self.assertEqual(self.reconciler("task", "list").out, "")

    def test_legal_but_unusual_ids(self):
        for name in ("a/b", "../../outside", ".", "with blank", "quote\"'`", "задача", "任务", "x" * 255,
                     "%n{}$(x)"):
            self.assertEqual(self.add("title", "--id", name), name)
            self.assertEqual(self.show(name)["id"], name)


class Edit(Store):
    def test_changes_only_what_is_named(self):
        task_id = self.add("Title", "--description", "text", "--priority", "5")
        before = self.show(task_id)
        self.assertEqual(self.reconciler("task", "edit", task_id[:8], "--priority", "1").out, f"{task_id}: edited\n")
        after = self.show(task_id)
        self.assertEqual(after["priority"], 1)
        for key in ("title", "description", "status", "created_at"):
            self.assertEqual(after[key], before[key])

    def test_every_field(self):
        a, b, c = self.add("a"), self.add("b"), self.add("c")
        self.reconciler("task", "edit", a, "--title", "A", "--description", "d", "--depends-on", b, "--parent", c,
                        "--issue", "https://x/1", "--status", "IN_PROGRESS")
        shown = self.show(a)
        self.assertEqual((shown["title"], shown["description"], shown["depends_on"], shown["parent_id"],
                          shown["external_url"], shown["status"]),
                         ("A", "d", [b], c, "https://x/1", "IN_PROGRESS"))
        self.reconciler("task", "edit", a, "--depends-on", "", "--parent", "", "--issue", "")
        shown = self.show(a)
        self.assertEqual((shown["depends_on"], shown["parent_id"], shown["external_url"]), ([], None, None))

    def test_fields_and_status_are_one_step(self):
        task_id = self.add("Title")
        self.assert_refused("task", "edit", task_id, "--title", "New", "--status", "MERGED", status=1,
                     words=["READY cannot become MERGED"])
        self.assertEqual(self.show(task_id)["title"], "Title")

    def test_refusals(self):
        task_id = self.add("Title")
        self.assert_refused("task", "edit", task_id, words=["nothing to change"])
        self.assert_refused("task", "edit", "nobody", "--title", "x", status=1, words=["not found"])
        self.assert_refused("task", "edit", task_id, "--parent", task_id, words=["own parent"])
        self.assert_refused("task", "edit", task_id, "--depends-on", task_id, words=["own dependency"])
        child = self.add("child", "--parent", task_id)
        self.assert_refused("task", "edit", task_id, "--parent", child, words=["below it"])


class Delete(Store):
    def test_deletes_with_blockers(self):
        task_id = self.add("x")
        self.reconciler("blocker", "add", task_id, "Why?")
        self.assertEqual(self.reconciler("task", "delete", task_id[:6]).out, f"{task_id}: deleted\n")
        self.assert_refused("task", "show", task_id, status=1, words=["not found"])
        self.assertEqual(self.reconciler("blocker", "list", "--json").json, [])

    def test_twice_is_not_found(self):
        task_id = self.add("x")
        self.reconciler("task", "delete", task_id)
        self.assert_refused("task", "delete", task_id, status=1, words=[task_id, "not found"])


class Set(Store):
    def test_every_step_is_as_the_rules_say(self):
        for before in STATUSES:
            for after in STATUSES:
                task_id = self.add("x", "--status", before)
                if after in LEGAL[before] or after == before:
                    shown = self.reconciler("task", "set", task_id, after).out
                    self.assertEqual(shown, f"{task_id}: {before} -> {after}\n")
                    self.assertEqual(self.status_of(task_id), after)
                else:
                    allowed = ", ".join(LEGAL[before]) or "none"
                    self.assert_refused("task", "set", task_id, after, status=1, words=[
                        f"task {task_id}: {before} cannot become {after} (allowed: {allowed}; --force"])
                    self.assertEqual(self.status_of(task_id), before)

    def test_force_writes_anything_and_the_event_says_so(self):
        task_id = self.add("x", "--status", "MERGED")
        forced = self.reconciler("task", "set", task_id, "BACKLOG", "--force", "--json").json
        self.assertEqual(forced, {"id": task_id, "from": "MERGED", "to": "BACKLOG"})
        event = self.reconciler("events", "--format", "ndjson").objects[-1]
        self.assertEqual((event["event"], event["task_id"], event["current_status"]),
                         ("TASK_STATUS_CHANGED", task_id, "MERGED"))
        self.assertIn("forced", self.reconciler("events").lines[-1])

    def test_unknown_words(self):
        task_id = self.add("x")
        for bad in ("Ready", "", "OPEN", "READY "):
            self.assert_refused("task", "set", task_id, bad, words=["is no status", "IN_PROGRESS"])
        self.assert_refused("task", "set", "nobody", "READY", status=1, words=["task nobody: not found"])

    def test_an_unrecognised_status_needs_force(self):
        task_id = self.add("x")
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("UPDATE tasks SET status = 'bogus'")
        self.assert_refused("task", "set", task_id, "READY", status=1, words=["'bogus'", "--force"])
        self.reconciler("task", "set", task_id, "READY", "--force")
        self.assertEqual(self.status_of(task_id), "READY")

    def test_parents_roll_up(self):
        parent = self.add("parent")
        children = [self.add("child", "--parent", parent) for _ in range(2)]
        self.reconciler("task", "set", children[0], "IN_PROGRESS")
        self.assertEqual(self.status_of(parent), "IN_PROGRESS")
        for child in children:
            self.reconciler("task", "set", child, "DONE", "--force")
        self.assertEqual(self.status_of(parent), "DONE")


class Retry(Store):
    def test_named_and_all(self):
        failed = sorted(self.add("x", "--status", "FAILED") for _ in range(3))
        ready = self.add("y")
        self.assertEqual(self.reconciler("task", "retry", failed[0][:12]).out, f"{failed[0]}: FAILED -> READY\n")
        shown = self.reconciler("task", "retry", "--failed", "--json").json
        self.assertEqual([one["id"] for one in shown], failed[1:])
        self.assertEqual([self.status_of(one) for one in failed + [ready]], ["READY"] * 4)
        self.assertEqual(self.reconciler("task", "retry", "--failed").out, "")

    def test_what_is_not_failed_is_told_and_the_others_go_on(self):
        ready = self.add("y")
        failed = self.add("x", "--status", "FAILED")
        result = self.reconciler("task", "retry", ready, failed, status=1)
        self.assertIn(f"task {ready}: is READY, not FAILED", result.err)
        self.assertEqual(self.status_of(failed), "READY")


class Lists(Store):
    def test_table_and_objects(self):
        a = self.add("Eins", "--id", "a", "--priority", "2")
        self.add("Zwei 二", "--id", "b", "--status", "BLOCKED", "--depends-on", a)
        self.assertEqual(self.reconciler("task", "list").out, ("ID        STATUS       PRIO  AFTER  TITLE\n"
                                                               "a         READY           2      0  Eins\n"
                                                               "b         BLOCKED         0      1  Zwei 二\n"))
        objects = self.reconciler("task", "list", "--format", "ndjson").objects
        self.assertEqual(objects, self.reconciler("task", "list", "--json").json)
        self.assertEqual([one["id"] for one in objects], ["a", "b"])

    def test_by_status_and_limit(self):
        for number, status in enumerate(STATUSES * 2):
            self.add("x", "--id", f"{number:02}", "--status", status)
        objects = self.reconciler("task", "list", "--status", "DONE", "--status", "READY", "--json").json
        self.assertEqual([one["id"] for one in objects], ["01", "05", "08", "12"])
        for limit, count in ((0, 0), (1, 1), (99, 14)):
            self.assertEqual(len(self.reconciler("task", "list", "--limit", limit, "--json").json if limit
                                 else self.reconciler("task", "list", "--limit", limit).lines), count)

    def test_show_for_people(self):
        first = self.add("First")
        task_id = self.add("The title", "--description", "One.\n\nTwo \033[31mred.", "--depends-on", first,
                           "--issue", "https://github.com/acme/app/issues/7")
        blocker = self.reconciler("blocker", "add", task_id, "Which\ndatabase?", "--by", "agent").out.strip()
        self.reconciler("blocker", "answer", blocker, "SQLite")
        shown = self.reconciler("task", "show", task_id).out
        for text in ("The title\n", task_id, "READY", f"{first}  READY  First", "https://github.com/acme/app/issues/7",
                     "  One.\n\n  Two \\x1b[31mred.\n", f"ANSWERED  {blocker}  asked by agent", "    Which\n",
                     "    database?\n", "  > SQLite\n"):
            self.assertIn(text, shown)

    def test_a_missing_dependency_is_shown_as_missing(self):
        first = self.add("First")
        task_id = self.add("x", "--depends-on", first)
        self.sqlite(self.store).execute("DELETE FROM tasks WHERE id = ?", (first,))
        self.assertIn(f"{first}  missing", self.reconciler("task", "show", task_id).out)


class Prefixes(Store):
    def setUp(self):
        super().setUp()
        for name in ("abc1", "abc2", "abd", "ABC", "ab"):
            self.add(f"Task {name}", "--id", name)

    def test_a_unique_beginning_is_enough(self):
        self.assertEqual(self.show("abd")["id"], "abd")
        self.assertEqual(self.show("A")["id"], "ABC")

    def test_an_exact_id_beats_a_prefix(self):
        self.assertEqual(self.show("ab")["id"], "ab")

    def test_ambiguous_names_up_to_five(self):
        self.assert_refused("task", "show", "abc", status=1, words=["task abc: ambiguous (abc1, abc2)"])
        for number in range(10):
            self.add("x", "--id", f"many{number}")
        self.assert_refused("task", "set", "many", "DONE", status=1,
                     words=["ambiguous (many0, many1, many2, many3, many4 and more)"])

    def test_they_are_literal_and_case_sensitive(self):
        for text in ("%", "_", "abx", "ABC1", "*", "a?"):
            self.assert_refused("task", "show", text, status=1, words=[f"task {text}: not found"])

    def test_impossible_ones(self):
        self.assert_refused("task", "show", "", words=["task id ''", "is empty"])
        self.assert_refused("task", "show", "a\x01", words=["control character"])

    def test_of_blockers(self):
        blocker = self.reconciler("blocker", "add", "abd", "Why?").out.strip()
        self.reconciler("blocker", "answer", blocker[:7], "Because")
        self.assert_refused("blocker", "answer", "zz", "x", status=1, words=["blocker zz: not found", "blocker list"])


class Blockers(Store):
    def setUp(self):
        super().setUp()
        self.task = self.add("The task")

    def blocker(self):
        return self.reconciler("blocker", "list", "--json").json[0]

    def test_from_open_to_resolved(self):
        made = self.reconciler("blocker", "add", self.task[:8], "Which database?").out.strip()
        self.assertRegex(made, UUID)
        one = self.blocker()
        self.assertEqual((one["id"], one["task_id"], one["status"], one["created_by"], one["question"]),
                         (made, self.task, "OPEN", "human", "Which database?"))
        self.assertEqual(self.reconciler("blocker", "answer", made, "SQLite").out, f"{made}: answered\n")
        self.assertEqual((self.blocker()["status"], self.blocker()["answer"]), ("ANSWERED", "SQLite"))
        self.reconciler("blocker", "answer", made, "No, PostgreSQL")
        self.assertEqual(self.blocker()["answer"], "No, PostgreSQL")
        self.assertEqual(self.reconciler("blocker", "resolve", made, "--json").json,
                         {"id": made, "result": "resolved"})
        self.reconciler("blocker", "resolve", made)
        self.assertEqual(self.blocker()["status"], "RESOLVED")
        self.assertEqual(self.status_of(self.task), "READY")

    def test_refusals(self):
        made = self.reconciler("blocker", "add", self.task, "Why?", "--by", "system").out.strip()
        self.assert_refused("blocker", "resolve", made, status=1, words=["is OPEN", "blocker answer"])
        self.reconciler("blocker", "answer", made, "So")
        self.reconciler("blocker", "resolve", made)
        self.assert_refused("blocker", "answer", made, "Again", status=1, words=["is resolved", "blocker add"])
        self.assert_refused("blocker", "add", "nobody", "Why?", status=1, words=["task nobody: not found"])
        self.assert_refused("blocker", "add", self.task, "Why?", "--by", "cat", words=["human, agent, system"])
        self.assert_refused("blocker", "add", self.task, b"\xff", words=["UTF-8"])

    def test_list(self):
        other = self.add("Other")
        first = self.reconciler("blocker", "add", self.task, "One?").out.strip()
        second = self.reconciler("blocker", "add", other, "Two?").out.strip()
        self.reconciler("blocker", "answer", first, "1")
        ids = lambda *words: [one["id"] for one in self.reconciler("blocker", "list", *words, "--json").json]
        self.assertEqual(ids(), [first, second])
        self.assertEqual(ids("--open"), [second])
        self.assertEqual(ids(other[:8]), [second])
        self.assertEqual(ids(self.task, "--open"), [])
        table = self.reconciler("blocker", "list").lines
        self.assertEqual(table[0].split(), ["ID", "STATUS", "TASK", "BY", "QUESTION"])
        self.assertEqual(table[1].split(), [first, "ANSWERED", self.task, "human", "One?"])

    def test_a_long_question_by_file_descriptor_limits(self):
        question = "x" * 100_000
        self.reconciler("blocker", "add", self.task, question)
        self.assertEqual(self.blocker()["question"], question)


class Uninitialised(Case):
    """Whatever writes refuses a store without our tables and names init."""

    def test_all_of_them(self):
        store = self.fixture("small")
        before = store.read_bytes()
        for arguments in (["task", "add", "x"], ["task", "edit", "4be0", "--title", "x"], ["task", "delete", "4be0"],
                          ["task", "set", "4be0", "READY"], ["task", "retry", "--failed"], ["task", "import", "-"],
                          ["blocker", "add", "4be0", "x"], ["blocker", "answer", "c381", "x"],
                          ["blocker", "resolve", "c381"], ["apply"], ["watch", "--apply"], ["gc"]):
            self.assert_refused(*arguments, words=["reconciler init"], stdin=json.dumps([{"title": "x"}]))
        self.assertEqual(store.read_bytes(), before)


if __name__ == "__main__":
    main()
