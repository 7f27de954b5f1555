"""Errors, opening and closing, threads and forks."""
import gc
import os
import pickle
import sqlite3
import threading
import time

import pytest
from conftest import DEADLINE_S, python

import reconciler
from reconciler import ErrorClass, Reconciler, tasks


def open_files(folder):
    """Descriptors of this process, and of its helpers, in that folder."""
    found = []
    children = [os.getpid(), *map(int, open(f"/proc/self/task/{os.getpid()}/children").read().split())]
    for process in children:
        try:
            names = os.listdir(f"/proc/{process}/fd")
        except FileNotFoundError:
            continue
        for name in names:
            try:
                target = os.readlink(f"/proc/{process}/fd/{name}")
            except FileNotFoundError:
                continue
            if target.startswith(str(folder)) and "state.db" in target:
                found.append(target)
    return found


class TestErrors:
    @pytest.mark.parametrize("make, kind", [
        (lambda folder: None, reconciler.NoStoreError),
        (lambda folder: (folder / "state.db").write_text("no database at all " * 100), reconciler.NotAStoreError),
        (lambda folder: (folder / "state.db").mkdir(), reconciler.NoStoreError),
    ])
    def test_a_place_that_is_no_store(self, tmp_path, make, kind):
        make(tmp_path)
        with pytest.raises(kind) as refused:
            Reconciler(tmp_path / "state.db")
        assert str(tmp_path / "state.db") in str(refused.value)
        assert refused.value.error_class is ErrorClass.TERMINAL
        assert refused.value.code < 0
        assert isinstance(refused.value, reconciler.ReconcilerError)

    def test_busy_is_worth_another_try(self, workspace, tmp_path, add):
        add("READY", id="a")
        other = sqlite3.connect(tmp_path / ".reconciler" / "state.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        with pytest.raises(reconciler.BusyError) as busy:
            tasks.update_status(workspace, "a", "DONE")
        assert time.monotonic() - begin > 4  # it waits for others as long as it says
        assert (busy.value.error_class, busy.value.name) == (ErrorClass.RETRY, "BUSY")
        assert isinstance(busy.value, reconciler.RetryError)
        other.execute("ROLLBACK")
        other.close()
        assert tasks.update_status(workspace, "a", "DONE").status == "DONE"

    def test_errors_can_be_pickled(self):
        again = pickle.loads(pickle.dumps(reconciler.BusyError("store: is locked", -3)))
        assert (type(again), str(again), again.code) == (reconciler.BusyError, "store: is locked", -3)

    def test_bad_rows_are_told_once(self, codeframe):
        folder = codeframe("small")
        with sqlite3.connect(folder / ".codeframe" / "state.db") as theirs:
            theirs.execute("UPDATE tasks SET depends_on = 'no list' WHERE id = (SELECT min(id) FROM tasks)")
            [(changed,)] = theirs.execute("SELECT min(id) FROM tasks")
        theirs.close()
        with reconciler.create_or_load_workspace(folder) as opened:
            tasks.list_tasks(opened)
            checker = Reconciler(opened)
            [warning] = checker.take_warnings()
            assert (warning.task_id, warning.column) == (changed, "depends_on")
            assert "no list" in str(warning)
            assert checker.take_warnings() == []


class TestClosing:
    def test_with_closes(self, workspace, tmp_path):
        workspace.close()
        with Reconciler(tmp_path) as checker:
            assert checker.check() == []
        assert open_files(tmp_path) == []
        with pytest.raises(reconciler.ClosedError) as closed:
            checker.check()
        assert "closed" in str(closed.value)
        for call in (checker.apply, checker.watch, lambda: checker.watch(apply=True), workspace.attach,
                     lambda: tasks.create(workspace, "a task")):
            with pytest.raises(reconciler.ClosedError):
                call()
        assert open_files(tmp_path) == []
        checker.close()

    def test_a_watch_may_outlive_its_store(self):
        with reconciler.create_or_load_workspace("memory:") as made:
            watch = Reconciler(made).watch()
        with pytest.raises(reconciler.ClosedError) as closed:
            watch.look()
        watch.close()
        assert "memory:" in str(closed.value)

    def test_forgetting_closes(self, workspace, tmp_path):
        workspace.close()
        checker = Reconciler(tmp_path)
        checker.check()
        watch = checker.watch()
        watch.look()
        assert open_files(tmp_path)
        del checker, watch
        gc.collect()
        assert open_files(tmp_path) == []

    def test_a_cycle_is_collected(self, workspace, tmp_path):
        workspace.close()
        checker = Reconciler(tmp_path)
        checker.check()
        checker.itself = checker
        del checker
        gc.collect()
        assert open_files(tmp_path) == []

    def test_a_workspace_outlives_its_reconcilers(self, workspace, add):
        task = add("READY")
        with Reconciler(workspace) as checker:
            assert len(checker.check()) == 1
        assert tasks.get(workspace, task.id) == task

    def test_the_end_of_the_program_is_quiet(self, tmp_path):
        done = python("import sys, reconciler\n"
                      "w = reconciler.create_or_load_workspace(sys.argv[1])\n"
                      "t = reconciler.tasks.create(w, 'a task')\n"
                      "r = reconciler.Reconciler(w); watch = r.watch(); print(len(watch.look()))\n", tmp_path)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", "0\n")


class TestThreads:
    def test_many_threads_share_one(self, workspace, add):
        ids = [add("READY").id for _ in range(20)]
        checker, seen, errors = Reconciler(workspace), [], []

        def work(number):
            try:
                for _ in range(50):
                    asked = ids[number:] + ids[:number]
                    seen.append([r.task_id for r in checker.check_tasks(asked, dict.fromkeys(ids, "READY"))] == asked)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
        assert errors == []
        assert len(seen) == 400 and all(seen)

    def test_the_interpreter_goes_on_while_the_store_is_waited_for(self, workspace, tmp_path, add):
        add("READY", id="a")
        other = sqlite3.connect(tmp_path / ".reconciler" / "state.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        started, done = threading.Event(), []

        def write():
            started.set()
            done.append(tasks.update_status(workspace, "a", "DONE").status)

        writer = threading.Thread(target=write)
        writer.start()
        assert started.wait(DEADLINE_S)
        turns, end = 0, time.monotonic() + 0.3
        while time.monotonic() < end:  # would not get on if the waiting thread held the interpreter
            turns += 1
        other.execute("ROLLBACK")
        writer.join(DEADLINE_S)
        other.close()
        assert turns > 1000
        assert done == ["DONE"]


class TestForks:
    def in_fork(self, act):
        """What act() gives in a forked child, as text."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                text = repr(act())
            except BaseException as error:
                text = f"{type(error).__name__}: {error}"
            os.write(writing, text.encode())
            os._exit(0)
        os.close(writing)
        with open(reading, encoding="utf-8") as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return text

    def test_a_fork_is_refused_and_the_parent_goes_on(self, workspace, tmp_path, add):
        task = add("READY")
        checker = Reconciler(tmp_path)
        assert len(checker.check()) == 1
        watch = checker.watch()
        for act in (checker.check, lambda: tasks.get(workspace, task.id), watch.look):
            assert self.in_fork(act).startswith("ForkedError: ")
        assert "READY" in self.in_fork(lambda: Reconciler(tmp_path).check()[0].current_status)
        self.in_fork(lambda: (checker.close(), workspace.close(), gc.collect()))
        assert tasks.update_status(workspace, task.id, "DONE").status == "DONE"
        assert checker.check()[0].current_status == "DONE"
