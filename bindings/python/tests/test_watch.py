"""watch: an iterator, a descriptor for a loop of one's own, asyncio."""
import asyncio
import select
import signal
import sys
import threading
import time

import pytest
from conftest import DEADLINE_S, command

import reconciler
from reconciler import ReconcileAction, Reconciler, blockers, tasks


@pytest.fixture(params=["on disk", "in memory"])
def either(request, tmp_path):
    """A workspace of each kind."""
    with reconciler.create_or_load_workspace(tmp_path if request.param == "on disk" else "memory:") as made:
        yield made


def make(workspace, name, status):
    return tasks.create(workspace, "a task", status=status, id=name)


class TestIterating:
    def test_first_what_differs_then_what_changes(self, either):
        make(either, "a", "BLOCKED")
        make(either, "b", "READY")
        with Reconciler(either).watch(batch_state={"a": "IN_PROGRESS", "b": "READY"}) as watch:
            first = next(watch)
            assert (first.task_id, first.action) == ("a", ReconcileAction.KILL)
            tasks.update_status(either, "b", "DONE")
            second = next(watch)
            assert (second.task_id, second.action) == ("b", ReconcileAction.SKIP)
            tasks.update_status(either, "a", "IN_PROGRESS")
            third = next(watch)
            assert (third.task_id, third.action, third.discrepancy) == ("a", ReconcileAction.NONE, False)
            assert watch.wait(0) == []

    def test_beliefs_come_and_go(self, either):
        make(either, "a", "BLOCKED")
        with Reconciler(either).watch(batch_state={}) as watch:
            assert watch.wait(0) == []
            watch.believe("a", "RUNNING")
            assert next(watch).action is ReconcileAction.KILL
            watch.believe("a", None)
            watch.wait(0)
            watch.believe("nobody", reconciler.TaskStatus.READY)
            assert watch.wait(0) in ([], )
            with pytest.raises(reconciler.InvalidError) as refused:
                watch.believe("a", "nope")
            assert "nope" in str(refused.value)

    def test_only_the_named_ones(self, either):
        make(either, "a", "BLOCKED")
        make(either, "b", "BLOCKED")
        watch = Reconciler(either).watch(["b"], {"a": "IN_PROGRESS", "b": "IN_PROGRESS"})
        assert [result.task_id for result in watch.wait(0)] == ["b"]
        watch.close()

    def test_applying(self, either):
        make(either, "a", "BLOCKED")
        question = blockers.create(either, "why?", "a")
        with Reconciler(either).watch(apply=True, batch_id="b1") as watch:
            assert watch.wait(0) == []
            blockers.answer(either, question.id, "so")
            told = next(watch)
            assert (told.action, told.applied) == (ReconcileAction.REQUEUE, True)
        assert tasks.get(either, "a").status == "READY"

    def test_a_commit_of_another_process_wakes(self, workspace, tmp_path, add):
        add("IN_PROGRESS", id="a")
        with Reconciler(workspace, check_interval_ms=0).watch(batch_state={"a": "IN_PROGRESS"}) as watch:
            assert watch.wait(0) == []
            command("task", "set", "a", "DONE", cwd=tmp_path)
            assert [result.action for result in watch.wait(DEADLINE_S)] == [ReconcileAction.SKIP]

    def test_on_a_database_that_is_not_ours(self, codeframe):
        import sqlite3
        folder = codeframe("small")
        with Reconciler(folder).watch() as watch:
            watch.wait(0)
            theirs = sqlite3.connect(folder / ".codeframe" / "state.db", isolation_level=None)
            [(task_id,)] = theirs.execute("SELECT task_id FROM blockers WHERE status = 'OPEN' LIMIT 1")
            theirs.execute("UPDATE blockers SET status = 'ANSWERED' WHERE task_id = ?", (task_id,))
            theirs.execute("UPDATE tasks SET status = 'BLOCKED' WHERE id = ?", (task_id,))
            found, end = [], time.monotonic() + DEADLINE_S
            while not found and time.monotonic() < end:
                found = [r for r in watch.wait(1) if (r.task_id, r.action) == (task_id, ReconcileAction.REQUEUE)]
            theirs.close()
        assert found


class TestClosing:
    def test_closing_ends_the_one_that_waits(self, either):
        watch, ended = Reconciler(either, check_interval_ms=0).watch(), []
        waiter = threading.Thread(target=lambda: ended.append(list(watch)))
        waiter.start()
        while not watch._waiters and waiter.is_alive():
            time.sleep(0)
        watch.close()
        waiter.join(DEADLINE_S)
        assert ended == [[]]
        watch.close()
        with pytest.raises(reconciler.ClosedError) as closed:
            watch.look()
        assert "closed" in str(closed.value)

    def test_closing_beside_one_that_looks(self, either):
        checker, errors = Reconciler(either), []

        def work(watch):
            try:
                while True:
                    watch.look()
                    watch.timeout()
                    watch.believe("a", "READY")
            except reconciler.ClosedError:
                pass
            except Exception as error:
                errors.append(error)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for turn in range(60):
                watch = checker.watch(batch_state={})
                looker = threading.Thread(target=work, args=(watch,))
                looker.start()
                time.sleep(turn % 10 / 1e4)  # so that it is met in all sorts of places
                watch.close()
                looker.join(DEADLINE_S)
        finally:
            sys.setswitchinterval(interval)
        assert errors == []

    def test_a_signals_handler_may_close(self, either):
        watch = Reconciler(either).watch()
        before = signal.signal(signal.SIGALRM, lambda *_: watch.close())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with pytest.raises(reconciler.ClosedError) as closed:
                while True:
                    watch.look()
        finally:
            signal.signal(signal.SIGALRM, before)
        assert str(closed.value).startswith("watch:")

    def test_believing_wakes_the_one_that_waits(self, either):
        make(either, "a", "BLOCKED")
        watch, told = Reconciler(either, check_interval_ms=0).watch(batch_state={}), []
        waiter = threading.Thread(target=lambda: told.append(next(watch)))
        waiter.start()
        while not watch._waiters and waiter.is_alive():
            time.sleep(0)
        watch.believe("a", "IN_PROGRESS")
        waiter.join(DEADLINE_S)
        assert [result.action for result in told] == [ReconcileAction.KILL]
        watch.close()

    def test_refusals(self, workspace, codeframe):
        with pytest.raises(reconciler.InvalidError) as refused:
            Reconciler(workspace).watch(kind="both")
        assert "both" in str(refused.value)
        with pytest.raises(reconciler.UninitialisedError) as refused:
            Reconciler(codeframe("small")).watch(apply=True)
        assert "init" in str(refused.value)


class TestOwnLoop:
    def test_descriptor_and_timeout(self, workspace, tmp_path, add):
        add("IN_PROGRESS", id="a")
        with Reconciler(tmp_path, check_interval_ms=7000).watch(batch_state={"a": "IN_PROGRESS"}) as watch:
            assert watch.timeout() == 0
            assert watch.look() == []
            end = time.monotonic() + DEADLINE_S
            while watch.timeout() < 1 and time.monotonic() < end:  # the looks after a wake-up
                select.select([watch], [], [], watch.timeout())
                watch.look()
            assert 1 <= watch.timeout() <= 7
            tasks.update_status(workspace, "a", "BLOCKED")
            readable, _, _ = select.select([watch], [], [], DEADLINE_S)
            assert readable == [watch]
            told = []
            while not told and time.monotonic() < end:
                told = watch.look()
                select.select([watch], [], [], watch.timeout())
            assert [result.action for result in told] == [ReconcileAction.KILL]

    def test_the_interval_is_the_reconcilers_own_beside_a_workspace(self, workspace):
        with Reconciler(workspace, check_interval_ms=90_000).watch() as watch:
            end = time.monotonic() + DEADLINE_S
            while watch.timeout() < 60 and time.monotonic() < end:  # the looks after a wake-up
                select.select([watch], [], [], min(watch.timeout(), 0.1))
                watch.look()
            assert 60 <= watch.timeout() <= 90


class TestAsyncio:
    def test_async_for_beside_other_work(self, either):
        make(either, "a", "IN_PROGRESS")
        ticks = []

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        async def story():
            beside, told = asyncio.ensure_future(tick()), []
            with Reconciler(either).watch(batch_state={"a": "IN_PROGRESS"}) as watch:
                asyncio.get_running_loop().call_later(0.05, tasks.update_status, either, "a", "BLOCKED")
                async for result in watch:
                    told.append(result.action)
                    if len(told) == 2:
                        watch.close()
                    else:
                        tasks.update_status(either, "a", "DONE", force=True)
            beside.cancel()
            return told

        told = asyncio.run(asyncio.wait_for(story(), DEADLINE_S))
        assert told == [ReconcileAction.KILL, ReconcileAction.SKIP]
        assert len(ticks) > 1
