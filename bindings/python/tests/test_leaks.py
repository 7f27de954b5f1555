"""Ten thousand calls later: as many references, as much memory, as many descriptors as before."""
import gc
import os
import sys

import pytest

from reconciler import Reconciler, TaskStatus, blockers, tasks

CALLS = 10_000
SLOW_CALLS = 200  # what opens a database or commits to it


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(call, calls):
    """(objects, bytes) more after `calls` calls than after a tenth of them, when all caches are warm."""
    for _ in range(calls // 10):
        call()
    gc.collect()
    objects, memory = len(gc.get_objects()), resident_bytes()
    for _ in range(calls):
        call()
    gc.collect()
    return len(gc.get_objects()) - objects, resident_bytes() - memory


@pytest.fixture
def quiet(monkeypatch, workspace):
    """A workspace with two tasks."""
    tasks.create(workspace, "a task", id="a", status="BLOCKED")
    blockers.create(workspace, "why?", "a")
    tasks.create(workspace, "a task", id="b", status="READY")
    return workspace


class TestReferences:
    def check(self, call, calls=CALLS):
        objects, memory = measure(call, calls)
        assert objects < calls // 100
        assert memory < calls * 20 + (2 << 20)

    def test_checks(self, quiet):
        checker, ids = Reconciler(quiet), ["a", "b", "nobody at all".upper()]
        state = {"a": "IN_PROGRESS", "b": TaskStatus.READY}
        before = [sys.getrefcount(thing) for thing in (ids, state, ids[2], TaskStatus.READY, checker)]
        self.check(lambda: checker.check_tasks(ids, state))
        self.check(lambda: checker.check_blockers(ids))
        self.check(lambda: checker.check(None, state))
        assert [sys.getrefcount(thing) for thing in (ids, state, ids[2], TaskStatus.READY, checker)] == before

    def test_refusals(self, quiet):
        checker = Reconciler(quiet)

        def refuse():
            with pytest.raises(ValueError):
                checker.check_tasks(["a"], {"": "READY"})

        self.check(refuse, CALLS // 5)

    def test_applying_what_is_nothing(self, quiet):
        checker = Reconciler(quiet)
        self.check(lambda: checker.apply(["a", "b"]))

    def test_looking(self, quiet):
        with Reconciler(quiet).watch() as watch:
            self.check(watch.look)

    def test_reading(self, quiet):
        self.check(lambda: (tasks.get(quiet, "a"), blockers.list_all(quiet)))

    def test_opening(self, quiet, tmp_path):
        def life():
            with Reconciler(tmp_path) as checker:
                checker.check()
                checker.watch().close()

        descriptors = len(os.listdir("/proc/self/fd"))
        self.check(life, SLOW_CALLS)
        # SQLite keeps a descriptor that it may not close yet, since another connection here has locks, and uses it again.
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 4

    def test_writing(self, quiet):
        statuses = ["READY", "IN_PROGRESS"]

        def write():
            statuses.reverse()
            tasks.update_status(quiet, "b", statuses[0])

        self.check(write, SLOW_CALLS)
