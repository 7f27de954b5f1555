"""watch: a live companion. Nobody sleeps here: every line is waited for with a deadline."""
import json
import os
import pathlib
import signal
import time

from harness import Case, main, result

PROGRESS = "start not recorded in durable state"
COMPLETED = "task already terminal in durable state"


class Watch(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()

    def watch(self, *arguments, **options):
        return self.start("watch", *arguments, "--format", "ndjson", **options)

    def belief(self, task_id, status):
        return {"task_id": task_id, "status": status}


class Live(Watch):
    """--batch-state -: beliefs in, verdicts out."""

    def test_verdicts_follow_beliefs_and_the_store(self):
        self.add("x", "--id", "a")
        watching = self.watch("--batch-state", "-")
        watching.send(self.belief("a", "IN_PROGRESS"))
        self.assertEqual(watching.object(), result("a", "READY", "IN_PROGRESS", "NONE", PROGRESS, "store", True))
        self.reconciler("task", "set", "a", "IN_PROGRESS")
        self.assertEqual(watching.object(),
                         result("a", "IN_PROGRESS", "IN_PROGRESS", "NONE", "no action required"))
        self.sqlite(self.store).execute("UPDATE tasks SET status = 'DONE' WHERE id = 'a'")
        self.assertEqual(watching.object(), result("a", "DONE", "IN_PROGRESS", "SKIP", COMPLETED))
        watching.send(self.belief("a", None))
        self.assertEqual(watching.object(), result("a", "DONE", None, "SKIP", COMPLETED, "store", False))
        self.assertEqual(watching.finish(), ("", ""))

    def test_only_what_differs_is_told_at_first(self):
        for name in "abc":
            self.add("x", "--id", name)
        watching = self.watch("--batch-state", "-")
        watching.send(self.belief("a", "READY"), self.belief("b", "FAILED"), self.belief("c", "READY"))
        self.assertEqual(watching.object()["task_id"], "b")
        self.assertEqual(watching.finish(), ("", ""))

    def test_only_what_the_batch_believes_is_watched(self):
        for name in "ab":
            self.add("x", "--id", name)
        watching = self.watch("--batch-state", "-")
        watching.send(self.belief("b", "IN_PROGRESS"))
        watching.object()
        self.reconciler("task", "set", "a", "IN_PROGRESS")
        self.reconciler("task", "set", "b", "IN_PROGRESS")
        self.assertEqual(watching.object()["task_id"], "b")
        self.assertEqual(watching.finish(), ("", ""))

    def test_a_deleted_task_is_told(self):
        self.add("x", "--id", "a")
        watching = self.watch("--batch-state", "-")
        watching.send(self.belief("a", "IN_PROGRESS"))
        watching.object()
        self.reconciler("task", "delete", "a")
        self.assertEqual(watching.object(), result("a", None, None, "NONE", "task not found"))
        watching.finish()

    def test_the_end_of_input_ends_it_after_what_was_sent(self):
        self.add("x", "--id", "a", "--status", "BLOCKED")
        done = self.reconciler("watch", "--batch-state", "-", "--format", "ndjson",
                               stdin='{"task_id":"a","status":"IN_PROGRESS"}\n')
        self.assertEqual([one["action"] for one in done.objects], ["KILL"])
        self.assertEqual(self.reconciler("watch", "--batch-state", "-", "--format", "ndjson", stdin="").out, "")

    def test_a_bad_line_ends_it_with_2_after_what_came_before(self):
        self.add("x", "--id", "a", "--status", "DONE")
        good = '{"task_id":"a","status":"READY"}\n'
        for bad in ("nonsense", '{"task_id":"a"}', '{"task_id":"a","status":"Ready"}', '{"task_id":1,"status":"DONE"}',
                    '{"task_id":"","status":"DONE"}', '{"task_id":"a","status":"DONE","x":1}', '{"task_id":"a",'):
            done = self.reconciler("watch", "--batch-state", "-", "--format", "ndjson", stdin=good + bad + "\n",
                                   status=2)
            self.assertEqual([one["task_id"] for one in done.objects], ["a"], bad)
            self.assertEqual(len(done.err.splitlines()), 1)
            self.assertIn("standard input: line ", done.err)

    def test_updates_may_come_in_pieces(self):
        self.add("x", "--id", "a", "--status", "DONE")
        watching = self.watch("--batch-state", "-")
        for byte in b'{"task_id":"a","status":"READY"}\n':
            watching.process.stdin.write(bytes([byte]))
            watching.process.stdin.flush()
        self.assertEqual(watching.object()["task_id"], "a")
        watching.finish()

    def test_thousands_of_updates(self):
        count = 5000
        self.reconciler("task", "import", "-", stdin="".join(
            json.dumps({"id": f"{number:05}", "title": "x", "status": "DONE"}) + "\n" for number in range(count)))
        lines = "".join(json.dumps(self.belief(f"{number:05}", "READY")) + "\n" for number in range(count))
        done = self.reconciler("watch", "--batch-state", "-", "--format", "ndjson", stdin=lines)
        self.assertEqual(sorted(one["task_id"] for one in done.objects), [f"{number:05}" for number in range(count)])


class Others(Watch):
    def test_all_tasks_without_a_belief(self):
        self.add("x", "--id", "a", "--status", "DONE")
        self.add("y", "--id", "b", "--status", "BLOCKED")
        blocker = self.reconciler("blocker", "add", "b", "Why?").out.strip()
        watching = self.watch()
        self.assertEqual(watching.object(), result("a", "DONE", None, "SKIP", COMPLETED, "store", False))
        self.reconciler("blocker", "answer", blocker, "So")
        self.assertEqual(watching.object(),
                         result("b", "BLOCKED", None, "REQUEUE", "all blockers resolved", "blockers"))
        self.add("z", "--id", "c", "--status", "MERGED")
        self.assertEqual(watching.object()["task_id"], "c")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.finish(130), ("", ""))

    def test_named_tasks(self):
        for name in "ab":
            self.add("x", "--id", name)
        watching = self.watch("b")
        for name in "ab":
            self.reconciler("task", "set", name, "DONE", "--force")
        self.assertEqual(watching.object()["task_id"], "b")
        watching.signal(signal.SIGTERM)
        self.assertEqual(watching.finish(143), ("", ""))

    def test_a_state_file_is_read_once(self):
        self.add("x", "--id", "a")
        self.write("state.json", '{"a":"FAILED"}')
        watching = self.watch("--batch-state", "state.json")
        self.assertEqual(watching.object()["action"], "REQUEUE")
        watching.process.stdin.close()  # not read: the watch goes on
        self.reconciler("task", "set", "a", "DONE", "--force")
        self.assertEqual(watching.object()["action"], "SKIP")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.process.wait(timeout=30), 130)

    def test_apply_requeues_what_is_answered(self):
        self.add("x", "--id", "a", "--status", "BLOCKED")
        blocker = self.reconciler("blocker", "add", "a", "Why?").out.strip()
        watching = self.watch("--apply")
        self.add("done", "--id", "b", "--status", "DONE")
        self.assertEqual(watching.object()["applied"], False)
        self.reconciler("blocker", "answer", blocker, "So")
        told = watching.object()
        self.assertEqual((told["action"], told["applied"]), ("REQUEUE", True))
        self.assertEqual(watching.object()["current_status"], "READY")
        self.assertEqual(self.status_of("a"), "READY")
        watching.signal(signal.SIGINT)
        watching.finish(130)

    def test_its_reader_may_go_away_at_any_time(self):
        self.add("x", "--id", "a", "--status", "DONE")
        watching = self.watch()
        watching.line()
        watching.process.stdout.close()
        self.assertEqual(watching.process.wait(timeout=30), 141)

    def test_the_table(self):
        self.add("x", "--id", "a", "--status", "DONE")
        watching = self.start("watch")
        self.assertEqual(watching.line().split(), ["TIME", "TASK", "STORED", "BELIEVED", "ACTION", "REASON"])
        self.assertRegex(watching.line(), r"^\d\d:\d\d:\d\d  a +DONE +- +SKIP +task already terminal")
        watching.signal(signal.SIGINT)
        watching.finish(130)


class Foreign(Watch):
    """A store without our tables: read-only, reread whenever it changes."""

    def setUp(self):
        Case.setUp(self)
        self.store = self.fixture("small")

    def test_codeframe_writes_and_we_see_it(self):
        watching = self.watch("35bf992d-c9e9-4616-a12e-7696a6cecc1b")
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA journal_mode=WAL")
        for status, action in (("DONE", "SKIP"), ("READY", "NONE"), ("FAILED", "SKIP")):
            connection.execute("UPDATE tasks SET status = ? WHERE id LIKE '35bf%'", (status,))
            told = watching.object()
            self.assertEqual((told["current_status"], told["action"]), (status, action))
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.finish(130), ("", ""))

    def test_a_store_that_stays_locked_is_asked_again(self):
        connection = self.sqlite(self.store)
        self.assertEqual(connection.execute("PRAGMA journal_mode=DELETE").fetchone(), ("delete",))  # readers wait
        watching = self.watch("35bf992d-c9e9-4616-a12e-7696a6cecc1b")
        connection.execute("UPDATE tasks SET status = 'DONE' WHERE id LIKE '35bf%'")
        self.assertEqual(watching.object()["action"], "SKIP")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("UPDATE tasks SET status = 'READY' WHERE id LIKE '35bf%'")
        self.assertRegex(watching.error_line(), r"^reconciler: warning: .*locked.*; looking again$")
        connection.execute("COMMIT")
        self.assertEqual(watching.object()["current_status"], "READY")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.finish(130), ("", ""))

    def test_apply_needs_our_tables(self):
        self.assert_refused("watch", "--apply", words=["reconciler init"])


class Reaction(Watch):
    def test_nothing_is_missed_and_the_median_is_short(self):
        self.add("x", "--id", "a", "--status", "READY")
        watching = self.watch("--batch-state", "-")
        watching.send(self.belief("a", "FAILED"))
        self.assertEqual(watching.object()["action"], "REQUEUE")
        connection = self.sqlite(self.store)
        times = []
        for number in range(200):
            status = ("DONE", "READY")[number % 2]
            connection.execute("UPDATE tasks SET status = ? WHERE id = 'a'", (status,))
            committed = time.monotonic()
            self.assertEqual(watching.object()["current_status"], status)
            times.append(time.monotonic() - committed)
        watching.finish()
        # The budget is under a millisecond and stands in docs/benchmarks.md; here a busy machine must not fail.
        self.assertLess(sorted(times)[len(times) // 2], 0.1)

    def test_idle_costs_nothing(self):
        self.add("x", "--id", "a", "--status", "DONE")
        watching = self.watch()
        watching.line()
        ticks = os.sysconf("SC_CLK_TCK")
        stat = pathlib.Path(f"/proc/{watching.process.pid}/stat")
        used = lambda: sum(map(int, stat.read_text().rsplit(")")[1].split()[11:13]))
        self.assertTrue(watching.quiet(2.5))  # the re-looks after the last wake-up end after two seconds
        before = used()
        self.assertTrue(watching.quiet(3))
        self.assertLessEqual(used() - before, 0.01 * ticks)
        watching.signal(signal.SIGINT)
        watching.finish(130)


class Bursts(Watch):
    def test_every_change_of_a_burst_ends_in_the_truth(self):
        names = [f"{number:03}" for number in range(200)]
        self.reconciler("task", "import", "-",
                        stdin="".join(json.dumps({"id": name, "title": "x"}) + "\n" for name in names))
        watching = self.watch("--batch-state", "-")
        watching.send(*(self.belief(name, "IN_PROGRESS") for name in names))
        latest = {}
        while len(latest) < len(names):
            told = watching.object()
            latest[told["task_id"]] = told["current_status"]
        connection = self.sqlite(self.store)
        for name in names:
            connection.execute("UPDATE tasks SET status = 'BLOCKED' WHERE id = ?", (name,))
        connection.execute("UPDATE tasks SET status = 'DONE'")
        while any(latest[name] != "DONE" for name in names):
            told = watching.object()
            latest[told["task_id"]] = told["current_status"]
        self.assertEqual(watching.finish(), ("", ""))


if __name__ == "__main__":
    main()
