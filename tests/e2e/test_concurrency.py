"""Several at once: two writers, appliers, a foreign writer in codeframe's manner, a killed one."""
import json
import os
import signal
import subprocess
import threading

from harness import Case, main


class Writers(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()

    def together(self, commands):
        """Starts them all, waits for all; the exit statuses."""
        running = [subprocess.Popen(**self.command(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
                   for words in commands]
        statuses = []
        for process in running:
            err = process.communicate(timeout=120)[1].decode()
            self.assertNotEqual(process.returncode, 2, err)
            statuses.append(process.returncode)
        return statuses

    def test_two_writers_lose_nothing(self):
        self.assertEqual(self.together([["task", "add", f"Task {number}", "--id", str(number)]
                                        for number in range(24)]), [0] * 24)
        self.assertEqual(len(self.reconciler("task", "list", "--json").json), 24)

    def test_of_two_that_make_one_id_one_wins(self):
        statuses = self.together([["task", "add", "x", "--id", "same"]] * 8)
        self.assertEqual(sorted(statuses), [0] + [1] * 7)

    def test_two_imports_of_the_same_are_one(self):
        self.write("tasks.json", json.dumps([{"id": str(number), "title": "x"} for number in range(500)]))
        running = [subprocess.run(**self.command(["task", "import", "tasks.json"], capture_output=True, check=False))
                   for _ in range(2)]
        self.assertEqual(sorted(done.returncode for done in running), [0, 2])
        self.assertEqual(len(self.reconciler("task", "list", "--json").json), 500)

    def test_appliers_requeue_each_task_once(self):
        count = 30
        self.write("tasks.json", json.dumps([
            {"id": f"{number:02}", "title": "x", "status": "BLOCKED",
             "blockers": [{"question": "?", "status": "ANSWERED", "answer": "!"}]} for number in range(count)]))
        self.reconciler("task", "import", "tasks.json")
        self.together([["apply"]] * 6)
        events = self.reconciler("events", "--format", "ndjson").objects
        requeued = [one["task_id"] for one in events if one["event"] == "RECONCILIATION_TASK_REQUEUED"]
        self.assertEqual(sorted(requeued), [f"{number:02}" for number in range(count)])
        self.reconciler("events", "verify")

    def test_a_killed_import_leaves_nothing(self):
        lines = "".join(json.dumps({"id": f"{number:06}", "title": "x" * 200}) + "\n" for number in range(20_000))
        for _ in range(3):
            running = self.start("task", "import", "-")
            running.process.stdin.write(lines.encode())
            running.process.stdin.flush()
            running.process.kill()
            running.process.wait()
            self.assertEqual(self.reconciler("task", "list").out, "")
        self.reconciler("task", "import", "-", stdin=lines)
        self.reconciler("doctor")


class Codeframe(Case):
    """A writer with codeframe's manners while we look and write."""

    def setUp(self):
        super().setUp()
        self.store = self.fixture("medium")
        self.stop = threading.Event()
        self.failures = []
        self.writes = 0

    def write_on(self, check_same_thread=True):
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()

        def work():
            import sqlite3
            mine = sqlite3.connect(self.store, timeout=5)
            ids = [row[0] for row in mine.execute("SELECT id FROM tasks WHERE status = 'READY'")]
            try:
                while not self.stop.is_set():
                    for status in ("IN_PROGRESS", "READY"):
                        with mine:
                            mine.execute("UPDATE tasks SET status = ? WHERE id = ?",
                                         (status, ids[self.writes % len(ids)]))
                        self.writes += 1
                        self.stop.wait(0.002)  # without a pause SQLite lets nobody else in
            except sqlite3.Error as error:
                self.failures.append(error)
            finally:
                mine.close()

        thread = threading.Thread(target=work)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop.set)

    def test_checks_see_whole_snapshots_and_disturb_nobody(self):
        self.write_on()
        for _ in range(20):
            shown = self.reconciler("check", "--format", "ndjson", status=1)
            self.assertEqual(len(shown.lines), 1000)
            moving = [one for one in shown.objects if one["current_status"] in ("READY", "IN_PROGRESS")]
            self.assertEqual(len(moving), 510)
        self.stop.set()
        self.assertEqual(self.failures, [])
        self.assertGreater(self.writes, 0)

    def test_init_and_writes_of_ours_beside_it(self):
        self.write_on()
        self.reconciler("init")
        for number in range(10):
            self.add(f"ours {number}")
            self.reconciler("apply")
        self.stop.set()
        self.assertEqual(self.failures, [])
        self.assertEqual(len(self.reconciler("task", "list", "--json").json), 1010)
        self.reconciler("events", "verify")
        connection = self.sqlite(self.store)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")

    def test_a_watcher_sees_every_final_state(self):
        self.reconciler("init")
        watching = self.start("watch", "--format", "ndjson", "--batch-state", "-")
        connection = self.sqlite(self.store)
        ids = [row[0] for row in connection.execute("SELECT id FROM tasks WHERE status = 'READY' LIMIT 50")]
        watching.send(*({"task_id": one, "status": "READY"} for one in ids))
        for one in ids:
            connection.execute("UPDATE tasks SET status = 'IN_PROGRESS' WHERE id = ?", (one,))
            connection.execute("UPDATE tasks SET status = 'BLOCKED' WHERE id = ?", (one,))
        seen = {}
        while any(seen.get(one) != "BLOCKED" for one in ids):
            told = watching.object()
            seen[told["task_id"]] = told["current_status"]
        watching.signal(signal.SIGINT)
        watching.finish(130)
        self.assertIn("state.db", os.listdir(self.store.parent))


if __name__ == "__main__":
    main()
