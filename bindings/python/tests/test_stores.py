"""Every kind of store: the same life through the same calls."""
import os

import pytest
from conftest import DEADLINE_S

import reconciler
from reconciler import ReconcileAction, Reconciler, blockers, tasks


@pytest.fixture(params=["sqlite", "dir", "postgresql"])
def place(request, tmp_path):
    """A place for a store of each kind; PostgreSQL's where the test runs beside a server (tests/postgres/with-cluster)."""
    if request.param == "postgresql":
        found = os.environ.get("REC_TEST_POSTGRES")
        if not found:
            pytest.skip("there is no PostgreSQL server beside this test")
        return found
    return f"{request.param}:{tmp_path / 'store'}{'.db' if request.param == 'sqlite' else ''}"


def test_a_life(place, tmp_path, monkeypatch):
    with reconciler.create_or_load_workspace(place) as workspace:
        tasks.create(workspace, "a task", id="a", status="BLOCKED", github_issue_number=7)
        question = blockers.create(workspace, "why?", "a")
        monkeypatch.chdir("/")  # a place stays where it was
        with Reconciler(place) as checker:
            [result] = checker.check_tasks(["a"], {"a": "IN_PROGRESS"})
            assert result.action is ReconcileAction.KILL
            with checker.watch(batch_state={"a": "BLOCKED"}) as watch:
                watch.wait(0)
                blockers.answer(workspace, question.id, "so")
                told = watch.wait(DEADLINE_S)
                assert [one.action for one in told] == [ReconcileAction.REQUEUE]
            assert checker.apply(batch_id="b")[0].applied
        assert tasks.get(workspace, "a").status == "READY"
        assert tasks.get(workspace, "a").github_issue_number == 7
        tasks.delete(workspace, "a")
        assert tasks.list_tasks(workspace) == []
