"""On codeframe's databases the Python calls return the same rows as the command, and leave no trace."""
import hashlib
import json
import os
import pathlib

import pytest
from conftest import CODEFRAME, command, row_of, rows_of

from reconciler import Reconciler, UninitialisedError, Workspace, blockers, create_or_load_workspace, tasks


def expected(name, kind):
    return rows_of((CODEFRAME / f"{name}.expected-{kind}.ndjson").read_text(encoding="utf-8"))


def state_of(name):
    return json.loads((CODEFRAME / f"{name}.batch-state.json").read_text(encoding="utf-8"))


def fingerprint(folder):
    place = folder / ".codeframe"
    return hashlib.sha256((place / "state.db").read_bytes()).hexdigest(), sorted(os.listdir(place))


@pytest.mark.parametrize("name", ["small", "medium"])
class TestSameRows:
    def test_as_recorded(self, codeframe, name):
        folder, state = codeframe(name), state_of(name)
        before = fingerprint(folder)
        with Reconciler(folder) as reconciler:
            assert [row_of(result) for result in reconciler.check_tasks(state, state)] == expected(name, "tasks")
            assert [row_of(result) for result in reconciler.check(None, state)] == expected(name, "all")
            checked = {row["task_id"]: row for row in expected(name, "blockers")}
            told = [row_of(result) for result in reconciler.check_blockers(checked)]
            assert told == list(checked.values())
        assert fingerprint(folder) == before
        assert before[1] == ["state.db"]

    def test_as_the_command_without_a_batch(self, codeframe, name):
        folder = codeframe(name)
        printed = command("check", "--format", "ndjson", cwd=folder)
        with Reconciler(str(folder)) as reconciler:
            assert [row_of(result) for result in reconciler.check()] == rows_of(printed)

    def test_tasks_and_blockers_as_exported(self, codeframe, name):
        folder = codeframe(name)
        exported = rows_of(command("task", "export", cwd=folder))
        with create_or_load_workspace(folder) as workspace:
            listed = tasks.list_tasks(workspace)
            assert [task.id for task in listed] == [task["id"] for task in exported]
            assert [task.status.value for task in listed] == [task["status"] for task in exported]
            assert [len(task.blockers) for task in listed] == [len(task.get("blockers", [])) for task in exported]
            assert len(blockers.list_all(workspace)) >= sum(len(task.blockers) for task in listed)


class TestForeignWorkspace:
    def test_codeframes_own_workspace_object_is_accepted(self, codeframe):
        class Theirs:
            def __init__(self, folder):
                self.repo_path = pathlib.Path(folder)
                self.db_path = pathlib.Path(folder) / ".codeframe" / "state.db"

        folder = codeframe("small")
        with Reconciler(Theirs(folder)) as reconciler:
            assert len(reconciler.check_tasks(None)) == 25
            assert reconciler.location == str(folder / ".codeframe" / "state.db")

    def test_writing_needs_to_attach_once(self, codeframe):
        folder = codeframe("small")
        before = fingerprint(folder)
        with create_or_load_workspace(folder) as workspace:
            assert isinstance(workspace, Workspace)
            with pytest.raises(UninitialisedError) as refused:
                tasks.create(workspace, "a task")
            assert "init" in str(refused.value)
            assert fingerprint(folder) == before
            workspace.attach()
            made = tasks.create(workspace, "a task", github_issue_number=7)
            assert made.github_issue_number == 7
            assert len(tasks.list_tasks(workspace)) == 26
