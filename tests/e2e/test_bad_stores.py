"""What bad stores and bad rows get: a store that cannot be read as a whole is an error that changes nothing; a bad row
is one result or one warning, and the others are unaffected."""
import os
import pwd
import shutil
import sqlite3
import subprocess
import unittest

from harness import RECONCILER, Case, fingerprint, main

READING = (["check"], ["task", "list"], ["task", "show", "x"], ["task", "export"], ["blocker", "list"], ["events"],
           ["events", "verify"], ["doctor"], ["watch"], ["apply", "--dry-run"])
WRITING = (["task", "add", "x"], ["task", "set", "x", "READY"], ["blocker", "add", "x", "y"], ["apply"], ["gc"],
           ["task", "retry", "--failed"], ["watch", "--apply"], ["init"])


class NotStores(Case):
    def every_command_refuses(self, *words, path="store.db"):
        place = self.directory / path
        before = fingerprint(place)
        for arguments in READING:
            self.assert_refused("-S", path, *arguments, words=words)
        self.assertEqual(fingerprint(place), before)
        for arguments in WRITING:
            self.assert_refused("-S", path, *arguments, words=words)
        self.assertEqual(fingerprint(place)[0], before[0])  # SQLite may leave an empty -wal beside a broken file

    def test_nothing_there(self):
        for arguments in (*READING, *WRITING[:-1]):
            self.assert_refused("-S", "missing.db", *arguments, words=["missing.db"])
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_directory_without_a_store(self):
        (self.directory / "empty").mkdir()
        for arguments in READING:
            self.assert_refused("-S", "empty", *arguments, words=["empty"])
        (self.directory / ".reconciler" / "state.db").mkdir(parents=True)
        for arguments in (*READING, *WRITING):
            self.assert_refused(*arguments, words=["state.db"])

    def test_an_empty_file(self):
        self.write("store.db", "")
        for arguments in (*READING, *WRITING[:-1]):
            self.assert_refused("-S", "store.db", *arguments, words=["store.db"])
        self.assertEqual((self.directory / "store.db").read_bytes(), b"")

    def test_a_text(self):
        self.write("store.db", "# a text\n" * 500)
        self.every_command_refuses("store.db")

    def test_a_truncated_database(self):
        whole = self.fixture("medium", place="whole").read_bytes()
        for size in (16, 100, 4096, len(whole) // 2, len(whole) - 4096):
            self.write("store.db", whole[:size])
            self.every_command_refuses("store.db")

    def test_a_database_of_another_application(self):
        connection = self.sqlite(self.directory / "store.db")
        connection.execute("CREATE TABLE tasks(number INTEGER, name TEXT)")
        connection.execute("INSERT INTO tasks VALUES (1, 'x')")
        connection.close()
        self.every_command_refuses("store.db")

    def test_a_database_without_tasks(self):
        connection = self.sqlite(self.directory / "store.db")
        connection.execute("CREATE TABLE something(x)")
        connection.close()
        self.every_command_refuses("store.db")

    def test_a_newer_store(self):
        store = self.init()
        connection = self.sqlite(store)
        connection.execute("UPDATE rec_meta SET value = value + 1000 WHERE key = 'schema_version'")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        before = store.read_bytes()
        for arguments in (*READING, *WRITING):
            result = self.assert_refused(*arguments, words=["newer"])
            self.assertRegex(result.err, r"\b10\d\d\b.*\b\d\b|\b\d\b.*\b10\d\d\b")  # both versions are named
        self.assertEqual(store.read_bytes(), before)

    def test_a_missing_column(self):
        store = self.fixture("small")
        connection = self.sqlite(store)
        connection.execute("ALTER TABLE tasks RENAME COLUMN status TO state")
        connection.close()
        self.assert_refused("check", words=["status"])
        self.assert_refused("init", words=["status"])

    def test_uris_we_do_not_know(self):
        for uri in ("mysql://x", "http://x/y", "sqlite:", ""):
            self.assert_refused("-S", uri, "check")


class Corruption(Case):
    def test_is_loud_and_nothing_is_touched(self):
        store = self.fixture("medium")
        connection = self.sqlite(store)
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'tasks'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.close()
        with open(store, "r+b") as file:
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)
        before = fingerprint(store)
        for arguments in (["check"], ["task", "list"], ["task", "export"]):
            self.assert_refused(*arguments, words=["malformed"])
        self.assertEqual(fingerprint(store), before)


class Locks(Case):
    def test_a_store_locked_for_too_long_is_reported(self):
        store = self.init()
        self.add("x", "--id", "a")
        connection = self.sqlite(store)
        connection.execute("BEGIN EXCLUSIVE")
        self.assert_refused("task", "set", "a", "IN_PROGRESS", words=["lock"])
        connection.execute("ROLLBACK")
        self.reconciler("task", "set", "a", "IN_PROGRESS")

    def test_a_store_locked_for_a_while_is_waited_for(self):
        store = self.init()
        self.add("x", "--id", "a")
        connection = self.sqlite(store)
        connection.execute("BEGIN IMMEDIATE")
        waiting = self.start("task", "set", "a", "IN_PROGRESS")
        self.assertTrue(waiting.quiet(0.7))  # it waits
        connection.execute("COMMIT")
        self.assertEqual(waiting.finish()[0], "a: READY -> IN_PROGRESS\n")

    def test_reading_goes_on_while_somebody_writes(self):
        store = self.init()
        self.add("x", "--id", "a")
        connection = self.sqlite(store)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE tasks SET status = 'DONE'")
        self.assertEqual(self.status_of("a"), "READY")
        connection.execute("COMMIT")
        self.assertEqual(self.status_of("a"), "DONE")


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become somebody with fewer rights")
class Permissions(Case):
    """As nobody, on stores that belong to root."""

    def setUp(self):
        super().setUp()
        self.nobody = pwd.getpwnam("nobody")
        self.program = shutil.copy(RECONCILER, self.directory / "program")
        os.chmod(self.program, 0o755)
        os.chmod(self.directory, 0o755)

    def as_nobody(self, *arguments, status):
        done = subprocess.run([self.program, *arguments], cwd=self.directory, env=self.environment, capture_output=True,
                              check=False, user=self.nobody.pw_uid, group=self.nobody.pw_gid, extra_groups=[],
                              timeout=60)
        self.assertEqual(done.returncode, status, done)
        return done.stdout.decode(), done.stderr.decode()

    def test_an_unreadable_store(self):
        store = self.init()
        store.chmod(0o600)
        for arguments in (["check"], ["task", "add", "x"]):
            out, err = self.as_nobody(*arguments, status=2)
            self.assertEqual(out, "")
            self.assertRegex(err, r"^reconciler: .*state\.db.*\n$")

    def test_a_store_that_may_only_be_read(self):
        store = self.fixture("small")
        store.chmod(0o644)
        before = fingerprint(store)
        self.assertIn("25 tasks", self.as_nobody("check", status=1)[0])
        for arguments in (["init"], ["task", "add", "x"]):
            self.as_nobody(*arguments, status=2)
        self.assertEqual(fingerprint(store), before)

    def test_our_own_store_that_may_only_be_read(self):
        store = self.init()
        self.add("x", "--id", "a")
        self.assertIn("a", self.as_nobody("task", "list", status=0)[0])
        out, err = self.as_nobody("task", "set", "a", "IN_PROGRESS", status=2)
        self.assertEqual((out, len(err.splitlines())), ("", 1))
        self.assertEqual(self.status_of("a"), "READY")
        self.assertTrue(store.exists())

    def test_a_wal_store_in_a_directory_that_may_not_be_written(self):
        store = self.init()
        connection = self.sqlite(store)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("INSERT INTO tasks(id, workspace_id, title, status, created_at, updated_at) "
                           "SELECT 'w', id, 'x', 'READY', '', '' FROM workspace")
        for name in os.listdir(store.parent):
            os.chmod(store.parent / name, 0o644)
        self.assertEqual(self.as_nobody("check", status=0)[0], "1 task: 1 agrees\n")
        connection.close()  # removes -wal and -shm: now they would have to be made
        self.assertEqual(self.as_nobody("check", status=0)[0], "1 task: 1 agrees\n")

    def test_nothing_can_be_made(self):
        out, err = self.as_nobody("init", status=2)
        self.assertEqual(out, "")
        self.assertIn("Permission denied", err)


class BadRows(Case):
    """A loose copy of codeframe's tables that lets anything in."""

    def setUp(self):
        super().setUp()
        self.store = self.fixture("small")
        connection = sqlite3.connect(self.store, isolation_level=None)
        columns = [row[1] for row in connection.execute("PRAGMA table_info(tasks)")]
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("CREATE TABLE loose AS SELECT * FROM tasks")
        connection.execute("DROP TABLE tasks")
        connection.execute("ALTER TABLE loose RENAME TO tasks")
        self.assertIn("depends_on", columns)
        self.connection = connection
        self.addCleanup(connection.close)

    def spoil(self, column, value):
        self.connection.execute(f"UPDATE tasks SET {column} = ? WHERE id LIKE '35bf%'", (value,))

    ID = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"

    def check_one(self):
        shown = self.reconciler("check", "--format", "ndjson", status=1)
        self.assertEqual(len(shown.lines), 25)
        return next(one for one in shown.objects if one["task_id"] == self.ID), shown.err

    def test_statuses(self):
        for value, text in ((None, None), (7, "7"), (b"\xff\x00", None), ("ready", "ready"), ("", "")):
            self.spoil("status", value)
            one, err = self.check_one()
            self.assertEqual((one["action"], one["reason"], one["discrepancy"]),
                             ("NONE", "unrecognised status in durable state", True), value)
            if text is not None:
                self.assertEqual(one["current_status"], text)
            self.assertLessEqual(len(err.splitlines()), 1)
            self.reconciler("task", "show", self.ID)
            self.assertEqual(len(self.reconciler("task", "list").lines), 26)

    def test_other_columns_get_one_warning_each(self):
        for column, value in (("title", None), ("title", 7), ("title", b"\xff"), ("depends_on", "not json"),
                              ("depends_on", "{}"), ("depends_on", "[1, 2]"), ("depends_on", 5),
                              ("created_at", "yesterday"), ("created_at", None), ("priority", "high"),
                              ("priority", None)):
            before = self.connection.execute(f"SELECT {column} FROM tasks WHERE id = ?", (self.ID,)).fetchone()[0]
            self.spoil(column, value)
            for words in (["task", "list", "--format", "ndjson"], ["task", "export"]):
                shown = self.reconciler(*words)
                self.assertEqual(len(shown.lines), 25, (column, value))
                self.assertLessEqual(len(shown.err.splitlines()), 1, shown.err)
                if shown.err:
                    self.assertIn("reconciler: warning: ", shown.err)
                    self.assertIn(self.ID, shown.err)
            self.assertEqual(self.check_one()[0]["action"], "NONE")
            self.assertEqual(self.reconciler("-q", "task", "list").err, "")
            self.spoil(column, before)

    def test_ids_that_are_no_ids(self):
        for value in (None, 7, b"\x00\x01", ""):
            self.connection.execute("UPDATE tasks SET id = ? WHERE id = ?", (value, self.ID))
            for words in (["check"], ["task", "list"], ["task", "export"], ["doctor"]):
                shown = self.reconciler(*words, status=None)
                self.assertIn(shown.status, (0, 1), (value, shown))
            checked = self.reconciler("check", "--format", "ndjson", status=1)
            self.assertGreaterEqual(len(checked.lines), 24)
            self.connection.execute("UPDATE tasks SET id = ? WHERE title LIKE 'Приготовить%'", (self.ID,))

    def test_blockers_without_a_task_or_with_an_odd_status(self):
        self.connection.execute("PRAGMA ignore_check_constraints=ON")
        self.connection.execute("UPDATE blockers SET status = 'MAYBE' WHERE id LIKE '1a2b8f1f%'")
        one = next(one for one in self.reconciler("check", "blockers", "--format", "ndjson", status=1).objects
                   if one["task_id"].startswith("cd447e35"))
        self.assertEqual(one["reason"], "open blockers remain")  # never guessed released
        self.assertIn("MAYBE", self.reconciler("blocker", "list").out)


if __name__ == "__main__":
    main()
