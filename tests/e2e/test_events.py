"""events and their verification, policy, doctor, gc."""
import json
import signal

from harness import DATA, Case, main


class Store(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()

    def requeue_one(self, task_id):
        """A task that apply requeues: one recorded decision."""
        self.add("x", "--id", task_id, "--status", "BLOCKED")
        blocker = self.reconciler("blocker", "add", task_id, "Why?").out.strip()
        self.reconciler("blocker", "answer", blocker, "So")
        self.reconciler("apply", task_id)

    def events(self, *arguments):
        return self.reconciler("events", *arguments, "--format", "ndjson").objects


class Events(Store):
    def test_tell_everything_that_was_done(self):
        self.requeue_one("a")
        self.reconciler("task", "edit", "a", "--title", "y")
        self.reconciler("task", "set", "a", "BACKLOG")
        self.reconciler("task", "delete", "a")
        events = self.events()
        names = [one["event"] for one in events]
        for name in ("TASK_CREATED", "BLOCKER_CREATED", "BLOCKER_ANSWERED", "RECONCILIATION_TASK_REQUEUED",
                     "TASK_EDITED", "TASK_STATUS_CHANGED"):
            self.assertIn(name, names)
        self.assertEqual([one["seq"] for one in events], sorted({one["seq"] for one in events}))
        for one in events:
            self.assertEqual(list(one)[:3], ["seq", "time", "event"])
            self.assertRegex(one["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*(Z|\+00:00)$")
        self.assertEqual(self.reconciler("events", "--json").json, events)

    def test_nothing_is_recorded_when_nothing_changed(self):
        self.requeue_one("a")
        before = self.events()
        self.reconciler("apply")
        self.reconciler("check")
        self.reconciler("task", "set", "a", "READY")
        self.assertEqual(self.events(), before)

    def test_since(self):
        self.requeue_one("a")
        every = self.events()
        for index, one in enumerate(every):
            self.assertEqual(self.events("--since", one["seq"]), every[index + 1:])
        self.assertEqual(self.events("--since", "0"), every)

    def test_the_table(self):
        self.requeue_one("a")
        lines = self.reconciler("events").lines
        self.assertEqual(lines[0].split(), ["SEQ", "TIME", "(UTC)", "EVENT", "TASK", "WHAT"])
        self.assertRegex(lines[1], r"^ +\d+  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  TASK_CREATED +a ")
        self.assertTrue(any("all blockers resolved (blockers)" in line for line in lines), lines)

    def test_follow(self):
        self.add("x", "--id", "a")
        following = self.start("events", "-f", "--format", "ndjson")
        first = following.object()
        self.assertEqual((first["event"], first["task_id"]), ("TASK_CREATED", "a"))
        self.reconciler("task", "set", "a", "IN_PROGRESS")
        self.assertEqual(following.object()["event"], "TASK_STATUS_CHANGED")
        self.reconciler("task", "set", "a", "DONE")
        self.assertEqual(following.object()["current_status"], "IN_PROGRESS")
        following.signal(signal.SIGINT)
        self.assertEqual(following.finish(130), ("", ""))

    def test_follow_from_a_cursor_until_the_reader_goes(self):
        self.add("x", "--id", "a")
        last = self.events()[-1]["seq"]
        following = self.start("events", "--follow", "--since", last)
        self.reconciler("task", "delete", "a")
        self.assertIn("SEQ", following.line())
        self.assertIn("TASK_DELETED", following.line())
        following.process.stdout.close()
        self.assertEqual(following.process.wait(timeout=30), 141)


class Verify(Store):
    def test_decides_everything_again(self):
        self.requeue_one("a")
        self.requeue_one("b")
        self.assertEqual(self.reconciler("events", "verify").out, "2 decisions checked, 0 different\n")
        self.assertEqual(self.reconciler("events", "verify", "--json").json,
                         {"differences": [], "checked": 2, "different": 0})

    def test_a_tampered_log_is_a_negative_answer(self):
        self.requeue_one("a")
        connection = self.sqlite(self.store)
        columns = [row[1] for row in connection.execute("PRAGMA table_info(rec_events)")]
        self.assertIn("blockers_open", columns)
        connection.execute("UPDATE rec_events SET blockers_open = 1 WHERE event = 'RECONCILIATION_TASK_REQUEUED'")
        connection.close()
        shown = self.reconciler("events", "verify", status=1)
        self.assertIn("REQUEUE", shown.lines[0])
        self.assertEqual(shown.lines[-1], "1 decision checked, 1 different")
        objects = self.reconciler("events", "verify", "--format", "ndjson", status=1).objects
        self.assertEqual((objects[-1], len(objects)), ({"checked": 1, "different": 1}, 2))
        self.assertIsInstance(objects[0]["seq"], int)

    def test_of_an_empty_log(self):
        self.assertEqual(self.reconciler("events", "verify").out, "0 decisions checked, 0 different\n")


class Policy(Case):
    TABLE = DATA / "decision-table.tsv"

    def test_is_the_table_byte_for_byte(self):
        code, out, err = self.run_bytes("policy")
        self.assertEqual((code, out, err), (0, self.TABLE.read_bytes(), b""))

    def test_as_objects(self):
        rows = [line.split("\t") for line in self.TABLE.read_text(encoding="utf-8").splitlines()[1:]]
        wanted = [{"stored": stored, "believed": None if believed == "-" else believed, "action": action,
                   "discrepancy": discrepancy == "yes", "reason": reason}
                  for stored, believed, action, discrepancy, reason in rows]
        self.assertEqual(self.reconciler("policy", "--json").json, wanted)
        self.assertEqual(self.reconciler("policy", "--format", "ndjson").objects, wanted)


class Doctor(Store):
    def kinds(self, status=1):
        return sorted(one["kind"] for one in self.reconciler("doctor", "--format", "ndjson", status=status).objects)

    def test_a_sound_store(self):
        self.add("x")
        self.assertEqual(self.reconciler("doctor").out, "nothing that would not heal by itself\n")
        self.assertEqual(self.reconciler("doctor", "--json").json, [])

    def test_finds_what_cannot_heal(self):
        self.add("x", "--id", "started", "--status", "IN_PROGRESS")
        self.add("x", "--id", "stuck", "--status", "BLOCKED")
        self.add("x", "--id", "first")
        self.add("x", "--id", "second", "--depends-on", "first")
        self.reconciler("task", "edit", "first", "--depends-on", "second")
        self.add("x", "--id", "gone")
        self.add("x", "--id", "waits", "--depends-on", "gone")
        self.add("x", "--id", "odd")
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("DELETE FROM tasks WHERE id = 'gone'")
        connection.execute("UPDATE tasks SET status = 'odd' WHERE id = 'odd'")
        connection.close()
        self.assertEqual(self.kinds(), ["blocked-without-blockers", "dependency-ring", "in-progress-without-run",
                                        "missing-dependency", "unrecognised-status"])
        shown = self.reconciler("doctor", status=1)
        self.assertIn("\n    mend: reconciler ", shown.out)
        self.assertEqual(shown.lines[-1], "5 findings")

    def test_the_command_it_names_mends(self):
        self.add("x", "--id", "started", "--status", "IN_PROGRESS")
        finding = self.reconciler("doctor", "--json", status=1).json[0]
        words = finding["command"].split()
        self.assertEqual(words[0], "reconciler")
        self.reconciler(*words[1:])
        self.reconciler("doctor")

    def test_missing_triggers(self):
        connection = self.sqlite(self.store)
        name = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'rec_%' "
                                  "ORDER BY name").fetchone()[0]
        connection.execute(f"DROP TRIGGER {name}")
        connection.close()
        self.assertEqual(self.kinds(), ["missing-trigger"])
        self.reconciler("init")
        self.assertEqual(self.kinds(status=0), [])


class Collect(Store):
    def test_nothing_is_old(self):
        self.requeue_one("a")
        self.assertEqual(self.reconciler("gc").out, "removed 0 changes, 0 events, 0 attempts\n")

    def test_what_is_old_goes(self):
        self.requeue_one("a")
        count = len(self.reconciler("events", "--json").json)
        dry = self.reconciler("gc", "--older-than", "0", "--dry-run", "--json").json
        self.assertEqual((dry["events"], dry["dry_run"]), (count, True))
        self.assertEqual(len(self.reconciler("events", "--json").json), count)
        gone = self.reconciler("gc", "--older-than", "0s", "--json").json
        self.assertEqual((gone["events"], gone["dry_run"]), (count, False))
        self.assertGreater(gone["changes"], 0)
        self.assertEqual(self.reconciler("events", "--json").json, [])
        self.assertEqual(self.status_of("a"), "READY")

    def test_durations(self):
        for text in ("1d", "500ms", "2h", "1.5s", "7"):
            self.reconciler("gc", "--older-than", text)
        for text in ("", "-1s", "soon", "1y", "999999999999h"):
            self.assert_refused("gc", "--older-than", text, words=["--older-than", "duration"])


class Objects(Store):
    def test_every_format_of_every_list_is_valid_when_empty(self):
        for words in (["task", "list"], ["blocker", "list"], ["events"], ["task", "export"], ["doctor"]):
            self.assertEqual(json.loads(self.reconciler(*words, "--json").out), [])
            self.assertEqual(self.reconciler(*words, "--format", "ndjson").out, "")


if __name__ == "__main__":
    main()
