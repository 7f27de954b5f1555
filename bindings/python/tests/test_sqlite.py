"""Python's own sqlite3 on the same database, in the same process and in others: with the system's SQLite that all
share, and with a Python that brings a second copy of it."""
import gc
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from conftest import DEADLINE_S, python, row_of

import reconciler
from reconciler import Reconciler, tasks

# A Python program that keeps changing statuses until its standard input ends; prints a line once it is going.
WRITER = """
import sqlite3, sys, threading
theirs = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
theirs.execute("PRAGMA journal_mode=WAL")
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
turn = 0
while not ended.wait(0.003):  # busy, but not without a pause: SQLite's lock is not fair
    theirs.execute("BEGIN IMMEDIATE")
    theirs.execute("UPDATE tasks SET status = ?, updated_at = updated_at", (("READY", "DONE")[turn % 2],))
    theirs.execute("COMMIT")
    turn += 1
    if turn == 1:
        print("going", flush=True)
"""


def start_writer(database):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(database)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "going\n"
    return writer


def end_writer(writer):
    writer.communicate(timeout=DEADLINE_S)
    assert writer.returncode == 0


class TestOneCopy:
    def test_python_and_we_use_the_same_one(self):
        own = importlib.import_module("_sqlite3")
        with open("/proc/self/maps", encoding="utf-8") as maps:
            mapped = {line.split()[-1] for line in maps if "libsqlite3" in line}
        if len(mapped) == 1 and getattr(own, "__file__", None):
            assert reconciler._sqlite.second_copy() is None
        else:
            assert reconciler._sqlite.second_copy() is not None

    @pytest.mark.parametrize("attached", [False, True])
    def test_checks_stay_right_while_others_write(self, codeframe, attached):
        folder = codeframe("small")
        database = folder / ".codeframe" / "state.db"
        if attached:
            with reconciler.create_or_load_workspace(folder) as workspace:
                workspace.attach()
        mine = sqlite3.connect(database, isolation_level=None, timeout=30)
        [(task_id,)] = mine.execute("SELECT id FROM tasks WHERE status = 'BACKLOG' LIMIT 1")
        checker, writer, seen, turns = Reconciler(folder), start_writer(database), set(), 0
        try:
            end = time.monotonic() + 1
            while time.monotonic() < end or len(seen) < 2 or turns < 4:
                turns += 1
                results = checker.check_tasks(None)
                statuses = {result.current_status for result in results}
                assert len(statuses) == 1, statuses  # one transaction changed all: one snapshot shows all or nothing
                assert len(results) == 25
                seen |= statuses
                assert mine.execute("SELECT count(*) FROM tasks").fetchone() == (25,)
                mine.execute("UPDATE tasks SET title = title || '.' WHERE id = ?", (task_id,))
        finally:
            end_writer(writer)
        assert seen == {"READY", "DONE"}
        titles = mine.execute("SELECT title FROM tasks WHERE id = ?", (task_id,)).fetchone()[0]
        assert titles.endswith("...")
        mine.close()
        checker.close()

    def test_writing_beside_two_others(self, workspace, tmp_path, add):
        database = tmp_path / ".reconciler" / "state.db"
        task, errors = add("READY"), []
        writer = start_writer(database)

        def mine():
            try:
                theirs = sqlite3.connect(database, isolation_level=None, timeout=30)
                for _ in range(100):
                    theirs.execute("UPDATE tasks SET priority = priority + 1")
                theirs.close()
            except sqlite3.Error as error:
                errors.append(error)

        thread = threading.Thread(target=mine)
        thread.start()
        try:
            for _ in range(50):
                tasks.update_status(workspace, task.id, "IN_PROGRESS", force=True)
                Reconciler(workspace).apply([task.id], {task.id: "IN_PROGRESS"})
        finally:
            thread.join(DEADLINE_S)
            end_writer(writer)
        assert errors == []
        assert tasks.get(workspace, task.id).priority == 100


# argv: folder of a workspace, "guarded" or "unguarded". Prints how the store was opened, then what became of a commit.
STORY = """
import os, pathlib, subprocess, sys
import sqlite3, _sqlite3
import reconciler, reconciler._sqlite
if sys.argv[2] == "unguarded":
    os.environ.pop("RECONCILER_SQLITE", None)
    reconciler._sqlite.second_copy = lambda: None
database = pathlib.Path(sys.argv[1]) / ".codeframe" / "state.db"
OTHER = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(c.execute(sys.argv[2]).fetchone()[0]); c.close()"

def other(sql):
    done = subprocess.run([sys.executable, "-c", OTHER, str(database), sql], capture_output=True, text=True, check=True)
    return done.stdout.strip()

checker = reconciler.Reconciler(sys.argv[1])          # quiet: read without locks
checker.check()
mine = sqlite3.connect(database, isolation_level=None)
mine.execute("PRAGMA journal_mode=WAL")
mine.execute("UPDATE tasks SET priority = 7")         # now there is a log, and a lock of ours on the database
checker.check()                                       # lets go of the quiet file, reads the log
checker.close()
other("SELECT count(*) FROM tasks")                   # would be the last one out, had that lock been lost
mine.execute("UPDATE tasks SET priority = 8")
mine.execute("SELECT 1")
print(type(checker._store.reader()).__name__, other("SELECT min(priority) FROM tasks"))
"""


class TestTwoCopies:
    @pytest.fixture
    def bundled(self, tmp_path):
        """An environment in which Python's sqlite3 uses a copy of SQLite of its own: the compiled module and the library,
        the name of one in the other changed."""
        own = importlib.import_module("_sqlite3")
        path = getattr(own, "__file__", None)
        with open("/proc/self/maps", encoding="utf-8") as maps:
            libraries = {line.split()[-1] for line in maps if re.search(r"/libsqlite3\.so", line)}
        if not path or len(libraries) != 1 or b"libsqlite3.so.0\0" not in pathlib.Path(path).read_bytes():
            pytest.skip("this Python's sqlite3 does not link the system's libsqlite3.so.0 dynamically")
        folder = tmp_path / "bundled"
        folder.mkdir()
        for source, name in ((path, os.path.basename(path)), (libraries.pop(), "libsqliteX.so.0")):
            data = pathlib.Path(source).read_bytes().replace(b"libsqlite3.so.0\0", b"libsqliteX.so.0\0")
            (folder / name).write_bytes(data)
        shutil.copymode(path, folder / os.path.basename(path))
        return dict(os.environ, PYTHONPATH=f"{folder}:{os.environ['PYTHONPATH']}", LD_LIBRARY_PATH=str(folder))

    def story(self, codeframe, environment, how):
        done = python(STORY, codeframe("small"), how, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def test_it_is_seen(self, bundled):
        done = python("import reconciler._sqlite as s; print(s.second_copy())", env=bundled)
        assert done.stdout.strip() == "sqlite3", done.stderr
        done = python("import ctypes, sys, reconciler._sqlite as s; ctypes.CDLL('libsqliteX.so.0');"
                      "sys.modules['_sqlite3'] = None; print(s.second_copy())", env=bundled)
        assert done.stdout.strip().endswith("libsqliteX.so.0"), done.stderr

    def test_it_is_seen_among_many_objects(self, bundled, tmp_path):
        smallest = min(pathlib.Path(importlib.import_module("_sqlite3").__file__).parent.glob("*.so"),
                       key=lambda path: path.stat().st_size)
        deep = tmp_path.joinpath(*["x" * 200] * 18)
        deep.mkdir(parents=True)
        copies = [deep / f"{number}.so" for number in range(20)] + [tmp_path / f"{number}.so" for number in range(80)]
        for copy in copies:  # more than 64 KiB of names
            shutil.copyfile(smallest, copy)
        done = python("import ctypes, sys, reconciler._sqlite as s; kept = [ctypes.CDLL(path) for path in sys.argv[1:]];"
                      "ctypes.CDLL('libsqliteX.so.0'); sys.modules['_sqlite3'] = None; print(s.second_copy())", *copies,
                      env=bundled)
        assert done.stdout.strip().endswith("libsqliteX.so.0"), done.stderr

    def test_no_commit_is_lost_with_one_copy(self, codeframe):
        kind = "RemoteHandle" if reconciler._sqlite.second_copy() else "Handle"
        if os.environ.get("RECONCILER_SQLITE") == "helper":
            kind = "RemoteHandle"
        assert self.story(codeframe, None, "guarded") == [kind, "8"]

    def test_no_commit_is_lost_with_two(self, codeframe, bundled):
        assert self.story(codeframe, bundled, "guarded") == ["RemoteHandle", "8"]

    def test_one_would_be_lost_without_the_helper(self, codeframe, bundled):
        # The danger itself, so that the test above is known to test something.
        assert self.story(codeframe, bundled, "unguarded") == ["Handle", "7"]

    def test_the_same_answers_through_the_helper(self, codeframe, bundled):
        program = ("import json, sys; from reconciler import Reconciler; from conftest import row_of\n"
                   "print(json.dumps([row_of(r) for r in Reconciler(sys.argv[1]).check()]))")
        folder = codeframe("small")
        path = f"{bundled['PYTHONPATH']}:{pathlib.Path(__file__).parent}"
        done = python(program, folder, env=dict(bundled, PYTHONPATH=path))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [row_of(result) for result in Reconciler(folder).check()]


class TestHelper:
    @pytest.fixture
    def helped(self, monkeypatch, workspace, tmp_path, add):
        """A reconciler that works through a helper process."""
        monkeypatch.setenv("RECONCILER_SQLITE", "helper")
        add("BLOCKED", id="a")
        with Reconciler(tmp_path) as checker:
            assert type(checker._store.reader()).__name__ == "RemoteHandle"
            yield checker

    def test_it_never_loads_pythons_sqlite3(self, helped):
        process = helped._store.reader()._process
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            text = maps.read()
        assert "libsqlite3" in text or "libreconciler" in text or "_native" in text
        assert "/_sqlite3" not in text

    def test_errors_and_warnings_come_through(self, helped, tmp_path):
        with pytest.raises(reconciler.NoStoreError) as refused:
            Reconciler(tmp_path / "nowhere")
        assert "nowhere" in str(refused.value) and refused.value.code == -9
        assert helped.check_tasks(["a"], {"a": "IN_PROGRESS"})[0].action is reconciler.ReconcileAction.KILL
        assert helped.take_warnings() == []

    def test_its_death_is_told(self, helped):
        process = helped._store.reader()._process
        process.kill()
        process.wait()
        with pytest.raises(reconciler.HelperError) as ended:
            helped.check()
        assert "open it again" in str(ended.value)

    def test_an_interrupted_call_shifts_no_answer(self, helped, tmp_path, monkeypatch):
        class Interrupt(Exception):
            pass

        def handler(*_):
            theirs.execute("ROLLBACK")
            raise Interrupt

        theirs = sqlite3.connect(tmp_path / ".reconciler" / "state.db", isolation_level=None)
        with reconciler.create_or_load_workspace(tmp_path) as workspace:
            tasks.update_status(workspace, "a", "READY")
            before = signal.signal(signal.SIGALRM, handler)
            try:
                theirs.execute("BEGIN IMMEDIATE")
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                with pytest.raises(Interrupt):
                    tasks.update_status(workspace, "a", "DONE")  # waits for the other one's lock
            finally:
                signal.signal(signal.SIGALRM, before)
                theirs.close()
            with pytest.raises(reconciler.ClosedError):
                tasks.update_status(workspace, "a", "READY")
        assert helped.check()[0].task_id == "a"

    def test_a_python_that_cannot_be_started(self, tmp_path, monkeypatch, recwarn):
        monkeypatch.setenv("RECONCILER_SQLITE", "helper")
        monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
        with pytest.raises(reconciler.HelperError) as refused:
            Reconciler(tmp_path)
        assert "no-python cannot be started" in str(refused.value)
        del refused
        gc.collect()
        assert not recwarn.list

    def test_a_call_that_fails_otherwise_is_answered(self, helped):
        with pytest.raises(reconciler.HelperError) as failed:
            helped._store.reader().nonsense()
        assert "AttributeError" in str(failed.value)
        assert helped.check()[0].task_id == "a"

    def test_it_ends_with_us(self, helped):
        process = helped._store.reader()._process
        assert process.poll() is None
        helped.close()
        assert process.poll() == 0

    def test_the_watch_descriptor_is_the_stores(self, helped, workspace):
        with helped.watch(batch_state={"a": "BLOCKED"}) as watch:
            watch.wait(0)
            tasks.update_status(workspace, "a", "READY")
            assert [result.current_status for result in watch.wait(DEADLINE_S)] == ["READY"]
