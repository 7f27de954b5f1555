"""check and apply: the ticket's own scenarios, batch states in every shape and every broken one, tables for people."""
import json

from harness import STATUSES, Case, main, result

READY_ALL = "all blockers resolved"


class World(Case):
    """A store in which tasks have their status by their id."""

    def setUp(self):
        super().setUp()
        self.store = self.init()

    def task(self, task_id, status, blockers=()):
        self.add(f"Task {task_id}", "--id", task_id, "--status", status)
        connection = self.sqlite(self.store)
        for number, blocker in enumerate(blockers):
            made = self.reconciler("blocker", "add", task_id, f"Question {number}?").out.strip()
            connection.execute("UPDATE blockers SET status = ? WHERE id = ?", (blocker, made))
        connection.close()

    def check(self, *arguments, status, state=None):
        extra = ["--batch-state", "-"] if state is not None else []
        return self.reconciler("check", *arguments, *extra, "--format", "ndjson", status=status,
                               stdin=json.dumps(state) if state is not None else "").objects


class Scenarios(World):
    def test_no_discrepancy(self):
        self.task("a", "READY")
        self.task("b", "IN_PROGRESS")
        self.assertEqual(self.check("tasks", "a", status=0, state={"a": "READY"}),
                         [result("a", "READY", "READY", "NONE", "no action required")])
        self.assertEqual(self.check("tasks", "b", status=0),
                         [result("b", "IN_PROGRESS", None, "NONE", "no action required")])

    def test_skip(self):
        self.task("a", "DONE")
        self.task("b", "FAILED")
        self.task("c", "IN_PROGRESS")
        self.assertEqual(self.check("tasks", status=1, state={"a": "IN_PROGRESS", "b": "READY", "c": "DONE"}), [
            result("a", "DONE", "IN_PROGRESS", "SKIP", "task already terminal in durable state"),
            result("b", "FAILED", "READY", "SKIP", "task already terminal in durable state"),
            result("c", "IN_PROGRESS", "DONE", "SKIP", "task externally completed")])

    def test_kill(self):
        self.task("a", "BLOCKED")
        self.assertEqual(self.check("tasks", status=1, state={"a": "IN_PROGRESS"}),
                         [result("a", "BLOCKED", "IN_PROGRESS", "KILL", "task externally transitioned to BLOCKED")])

    def test_requeue(self):
        self.task("a", "BLOCKED", ["ANSWERED", "RESOLVED"])
        self.assertEqual(self.check("blockers", status=1, state={"a": "BLOCKED"}),
                         [result("a", "BLOCKED", None, "REQUEUE", READY_ALL, "blockers")])

    def test_not_requeued(self):
        self.task("a", "BLOCKED", ["ANSWERED", "OPEN"])
        self.task("b", "READY", ["ANSWERED"])
        self.task("c", "BLOCKED")
        self.assertEqual(self.check("blockers", status=0), [
            result("a", "BLOCKED", None, "NONE", "open blockers remain", "blockers"),
            result("b", "READY", None, "NONE", "task is not blocked", "blockers"),
            result("c", "BLOCKED", None, "NONE", "blocked without blockers", "blockers", True)])

    def test_missing_task(self):
        self.assertEqual(self.check("tasks", "nobody", status=0, state={"nobody": "IN_PROGRESS"}),
                         [result("nobody", None, None, "NONE", "task not found")])
        self.assertEqual(self.check("blockers", "nobody", status=0),
                         [result("nobody", None, None, "NONE", "task not found", "blockers")])

    def test_every_cell_of_the_decision_table(self):
        table = [line.split("\t") for line in self.reconciler("policy").lines[1:]]
        for status in STATUSES:
            self.task(status, status)
        self.assertEqual(len(table), 56)
        for believed in ["-", *STATUSES]:
            state = {status: believed for status in STATUSES if believed != "-"}
            checked = self.check("tasks", *STATUSES, status=None, state=state)
            held = None if believed == "-" else believed
            self.assertEqual(checked, [result(stored, stored, held, action, reason, "store", discrepancy == "yes")
                                       for stored, wanted, action, discrepancy, reason in table
                                       if wanted == believed])

    def test_a_store_full_of_finished_tasks_is_no_discrepancy(self):
        for status in ("DONE", "MERGED", "FAILED"):
            self.task(status, status)
        self.assertEqual([one["action"] for one in self.check(status=0)], ["SKIP"] * 3)

    def test_an_unrecognised_status_is_shown_as_it_is(self):
        self.task("a", "READY")
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("UPDATE tasks SET status = 'Ready' WHERE id = 'a'")
        self.assertEqual(self.check("a", status=0, state={"a": "READY"}), [
            result("a", "Ready", "READY", "NONE", "unrecognised status in durable state", "store", True)])


class Selection(World):
    def setUp(self):
        super().setUp()
        for task_id in ("b", "a", "ab"):
            self.task(task_id, "READY")

    def ids(self, *arguments, state=None):
        return [one["task_id"] for one in self.check(*arguments, status=None, state=state)]

    def test_order_and_duplicates_are_those_asked_for(self):
        self.assertEqual(self.ids("b", "a", "b", "x", "ab"), ["b", "a", "b", "x", "ab"])

    def test_without_ids_every_task_in_bytewise_order(self):
        self.task("B", "READY")
        self.task("ä", "READY")
        self.assertEqual(self.ids(), ["B", "a", "ab", "b", "ä"])

    def test_without_ids_but_with_a_state_its_ids_in_its_order(self):
        self.assertEqual(self.ids(state={"b": "READY", "zz": "DONE", "a": "READY"}), ["b", "zz", "a"])
        self.assertEqual(self.ids(state={}), [])

    def test_ids_with_a_state_are_just_those(self):
        self.assertEqual(self.ids("a", state={"b": "DONE", "a": "DONE"}), ["a"])

    def test_ids_are_literal_not_prefixes(self):
        self.task("unique", "READY")
        self.assertEqual(self.check("uniq", status=0)[0]["reason"], "task not found")

    def test_impossible_ids_are_refused(self):
        for bad, word in (("", "is empty"), ("x" * 256, "255"), ("a\nb", "control character")):
            self.assert_refused("check", bad, words=["task id", word])
        self.assert_refused("check", b"\xff\xfe", words=["not UTF-8"])
        self.assertEqual(self.ids("x" * 255, "../../etc", "a/b", "a b", "\"'", "任务"),
                         ["x" * 255, "../../etc", "a/b", "a b", "\"'", "任务"])


class BatchStates(World):
    def state(self, text, *words):
        self.write("state.json", text)
        self.assert_refused("check", "--batch-state", "state.json", words=["state.json", *words])
        self.assert_refused("apply", "--batch-state", "-", words=["standard input", *words],
                     stdin=text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text)

    def test_codeframes_run_statuses_are_understood(self):
        believed = {one["task_id"]: one["external_status"] for one in self.check(status=None, state={
            "a": "RUNNING", "b": "COMPLETED", "c": "FAILED", "d": "BLOCKED"}) if one["external_status"]}
        self.assertEqual(believed, {})  # none of them exists
        for task_id in "abcd":
            self.task(task_id, "READY")
        believed = {one["task_id"]: one["external_status"] for one in self.check(status=None, state={
            "a": "RUNNING", "b": "COMPLETED", "c": "FAILED", "d": "BLOCKED"})}
        self.assertEqual(believed, {"a": "IN_PROGRESS", "b": "DONE", "c": "FAILED", "d": "BLOCKED"})

    def test_an_empty_object_is_an_empty_batch_but_an_empty_file_is_an_error(self):
        self.assertEqual(self.check(status=0, state={}), [])
        for text in ("", " \n\t\n"):
            self.state(text, "{}")

    def test_broken_json(self):
        for text in ('{"a":"READY"', '{"a":"READY",}', '{"a" "READY"}', "{'a':'READY'}", '{"a":"READY"} trailing',
                     '{"a":"READY"}}', "nonsense", '[{"task_id":"a","status":"READY"}]', "[]", '"READY"', "null", "1"):
            self.state(text, "line 1")

    def test_the_place_of_a_mistake_is_told(self):
        self.state('{\n  "a": "READY",\n  "b": nope\n}', "line 3", "column 9")

    def test_wrong_types_and_unknown_statuses(self):
        for value in ("1", "null", "true", "[]", "{}", '"READYY"', '"ready"', '""', '" READY"'):
            self.state(f'{{"a":"READY","b":{value}}}', "line 1")
        self.state('{"task_id":"a","status":"READY"}\n{"task_id":"b"}\n', "line 2")
        self.state('{"task_id":"a","status":"READY"}\n{"task_id":"b","status":"READY","x":1}\n', "line 2")
        self.state('{"task_id":7,"status":"READY"}\n', "line 1")

    def test_duplicates(self):
        self.state('{"a":"READY","b":"DONE","a":"READY"}', "a")
        self.state('{"a":"READY","\\u0061":"READY"}', "a")
        self.state('{"task_id":"a","status":"READY"}\n{"task_id":"a","status":"READY"}\n', "line 2")

    def test_impossible_ids(self):
        for bad in ("", "x" * 256, "a\nb", "\x7f", "\x85"):
            self.state(json.dumps({"a": "READY", bad: "READY"}), "line 1")

    def test_bytes_that_are_not_utf8(self):
        self.state(b'{"a\xff":"READY"}', "UTF-8")
        self.state(b'{"a":"READY\xc3"}', "UTF-8")
        self.state(b'\xef\xbb\xbf{"a":"READY"}', "byte order mark")
        self.state('{"\\ud800":"READY"}', "line 1")

    def test_depth_is_limited(self):
        self.state("{\"a\":" * 100_000, "line 1")
        self.state("[" * 1_000_000, "line 1")

    def test_files_that_cannot_be_read(self):
        self.assert_refused("check", "--batch-state", "missing.json", words=["missing.json", "No such file"])
        self.assert_refused("check", "--batch-state", ".", words=[".", "directory"])

    def test_nothing_is_decided_by_half_a_state(self):
        self.task("a", "BLOCKED", ["ANSWERED"])
        self.assert_refused("apply", "--batch-state", "-", stdin='{"a":"BLOCKED","b":"oops"}')
        self.assertEqual(self.status_of("a"), "BLOCKED")
        self.assertEqual(self.reconciler("events", "--format", "ndjson").out.count("REQUEUED"), 0)

    def test_a_large_state_streams(self):
        state = {f"task-{number:06}": STATUSES[number % 7] for number in range(100_000)}
        checked = self.check(status=0, state=state)
        self.assertEqual(len(checked), len(state))
        self.assertEqual([one["task_id"] for one in checked[:3]], ["task-000000", "task-000001", "task-000002"])


class Apply(World):
    def apply(self, *arguments, state=None, status=0):
        extra = ["--batch-state", "-"] if state is not None else []
        return self.reconciler("apply", *arguments, *extra, "--format", "ndjson", status=status,
                               stdin=json.dumps(state) if state is not None else "")

    def test_requeues_what_was_answered_once(self):
        self.task("a", "BLOCKED", ["ANSWERED", "RESOLVED"])
        first = self.apply().objects
        self.assertEqual(first, [dict(result("a", "BLOCKED", None, "REQUEUE", READY_ALL, "blockers"), applied=True)])
        self.assertEqual(list(first[0])[-1], "applied")
        self.assertEqual(self.status_of("a"), "READY")
        again = self.apply().objects
        self.assertEqual(again, [dict(result("a", "READY", None, "NONE", "no action required"), applied=False)])
        events = [one for one in self.reconciler("events", "--format", "ndjson").objects
                  if one["event"] == "RECONCILIATION_TASK_REQUEUED"]
        self.assertEqual(len(events), 1)
        self.assertEqual((events[0]["task_id"], events[0]["blockers_total"], events[0]["blockers_open"]), ("a", 2, 0))
        self.reconciler("events", "verify")

    def test_skip_kill_and_requeue_of_a_ready_task_change_nothing(self):
        self.task("done", "DONE")
        self.task("blocked", "BLOCKED", ["OPEN"])
        self.task("ready", "READY")
        before = self.reconciler("task", "export").out
        applied = self.apply(state={"done": "IN_PROGRESS", "blocked": "IN_PROGRESS", "ready": "FAILED"}).objects
        self.assertEqual([(one["action"], one["applied"]) for one in applied],
                         [("SKIP", False), ("KILL", False), ("REQUEUE", False)])
        self.assertEqual(self.reconciler("task", "export").out, before)

    def test_dry_run_is_check(self):
        self.task("a", "BLOCKED", ["ANSWERED"])
        dry = self.reconciler("apply", "--dry-run", "--format", "ndjson", status=1)
        self.assertEqual(dry.out, self.reconciler("check", "--format", "ndjson", status=1).out)
        self.assertEqual(self.status_of("a"), "BLOCKED")

    def test_parents_roll_up(self):
        self.task("parent", "BLOCKED")
        self.add("child", "--id", "child", "--status", "BLOCKED", "--parent", "parent")
        blocker = self.reconciler("blocker", "add", "child", "Which?").out.strip()
        self.reconciler("blocker", "answer", blocker, "This.")
        self.apply("child")
        self.assertEqual((self.status_of("child"), self.status_of("parent")), ("READY", "READY"))

    def test_needs_our_tables(self):
        self.directory = self.directory / "elsewhere"
        self.directory.mkdir()
        self.fixture("small")
        self.assert_refused("apply", words=["init"])
        self.reconciler("apply", "--dry-run", status=1)

    def test_json_has_the_key_too(self):
        self.task("a", "BLOCKED", ["ANSWERED"])
        document = self.reconciler("apply", "--json").json
        self.assertEqual([one["applied"] for one in document["results"]], [True])
        self.assertEqual(document["summary"], {"NONE": 0, "SKIP": 0, "KILL": 0, "REQUEUE": 1})


class Tables(World):
    def test_what_agrees_is_counted_and_what_differs_is_listed(self):
        for status in STATUSES:
            self.task(f"task-{status}", status)
        state = {f"task-{status}": status for status in STATUSES}
        state["task-READY"] = "FAILED"
        shown = self.reconciler("check", "tasks", "--batch-state", "-", stdin=json.dumps(state), status=1)
        self.assertEqual(shown.lines[0].split(), ["TASK", "STORED", "BELIEVED", "ACTION", "REASON"])
        self.assertEqual(shown.lines[1].split(maxsplit=4),
                         ["task-READY", "READY", "FAILED", "REQUEUE", "failed task externally reset for retry"])
        self.assertEqual(shown.lines[2:], ["", "7 tasks: 1 REQUEUE, 6 agree"])

    def test_named_ones_are_always_listed(self):
        self.task("a", "READY")
        shown = self.reconciler("check", "a", "b")
        self.assertEqual([line.split()[0] for line in shown.lines[:3]], ["TASK", "a", "b"])
        self.assertEqual(shown.lines[-1], "2 tasks: 1 not found, 1 agrees")

    def test_nothing_to_do(self):
        self.task("a", "READY")
        self.assertEqual(self.reconciler("check").out, "1 task: 1 agrees\n")
        self.reconciler("task", "delete", "a")
        self.assertEqual(self.reconciler("check").out, "0 tasks\n")

    def test_apply_says_what_it_applied(self):
        self.task("a", "BLOCKED", ["ANSWERED"])
        shown = self.reconciler("apply")
        self.assertIn("APPLIED", shown.lines[0])
        self.assertIn("yes", shown.lines[1])
        self.assertEqual(shown.lines[-1], "1 task: 1 REQUEUE; 1 applied")


if __name__ == "__main__":
    main()
