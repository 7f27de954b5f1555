"""The originating design's tests, class by class, against the interface it gives."""
import dataclasses
import inspect

import pytest

from reconciler import ReconcileAction, ReconciliationResult, Reconciler, TaskStatus, blockers, tasks


@pytest.fixture
def reconciler(workspace):
    return Reconciler(workspace)


class TestInterface:
    def test_constructor(self):
        parameters = inspect.signature(Reconciler).parameters
        assert list(parameters) == ["workspace_or_path", "check_interval_ms"]
        assert parameters["check_interval_ms"].default == 30_000

    def test_methods(self):
        assert list(inspect.signature(Reconciler.check_tasks).parameters) == ["self", "task_ids", "batch_state"]
        assert inspect.signature(Reconciler.check_tasks).parameters["batch_state"].default is None
        assert list(inspect.signature(Reconciler.check_blockers).parameters) == ["self", "task_ids"]

    def test_result_is_a_dataclass_with_these_fields_in_this_order(self):
        fields = dataclasses.fields(ReconciliationResult)
        assert [field.name for field in fields] == ["task_id", "current_status", "external_status", "action", "reason",
                                                     "source", "discrepancy"]
        assert (fields[5].default, fields[6].default) == ("store", False)
        made = ReconciliationResult("t", TaskStatus.DONE, None, ReconcileAction.SKIP, "because")
        assert (made.source, made.discrepancy) == ("store", False)

    def test_enums_are_texts(self):
        assert [action.value for action in ReconcileAction] == ["NONE", "SKIP", "KILL", "REQUEUE"]
        assert [status.value for status in TaskStatus] == ["BACKLOG", "READY", "IN_PROGRESS", "BLOCKED", "FAILED",
                                                           "DONE", "MERGED"]
        assert ReconcileAction.SKIP == "SKIP" and TaskStatus.DONE == "DONE"

    def test_functions_of_the_modules(self):
        create = inspect.signature(tasks.create)
        assert list(create.parameters) == ["workspace", "title", "description", "status", "priority", "columns"]
        assert create.parameters["status"].default is TaskStatus.BACKLOG
        assert list(inspect.signature(tasks.update_status).parameters)[:3] == ["workspace", "task_id", "status"]
        assert str(inspect.signature(blockers.create)).startswith(
            "(workspace: reconciler.workspace.Workspace, question: str, task_id: Optional[str] = None, created_by")
        assert len(inspect.signature(blockers.answer).parameters) == 3
        assert len(inspect.signature(blockers.resolve).parameters) == 2


class TestNoDiscrepancy:
    def test_ready_in_both(self, add, reconciler):
        task = add(TaskStatus.READY)
        [result] = reconciler.check_tasks([task.id], {task.id: TaskStatus.READY})
        assert result == ReconciliationResult(task.id, TaskStatus.READY, TaskStatus.READY, ReconcileAction.NONE,
                                              "no action required")

    def test_in_progress_without_batch_state(self, add, reconciler):
        task = add(TaskStatus.IN_PROGRESS)
        [result] = reconciler.check_tasks([task.id])
        assert result.action == ReconcileAction.NONE
        assert not result.discrepancy
        assert result.external_status is None


class TestSkip:
    @pytest.mark.parametrize("status", [TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.MERGED])
    def test_already_terminal(self, add, reconciler, status):
        task = add(status)
        [result] = reconciler.check_tasks([task.id], {task.id: TaskStatus.READY})
        assert result.action == ReconcileAction.SKIP
        assert result.reason == "task already terminal in durable state"
        assert result.discrepancy

    def test_in_progress_but_done_outside(self, add, reconciler):
        task = add(TaskStatus.IN_PROGRESS)
        [result] = reconciler.check_tasks([task.id], {task.id: TaskStatus.DONE})
        assert (result.action, result.reason) == (ReconcileAction.SKIP, "task externally completed")

    def test_running_task_completed_in_the_store(self, workspace, add, reconciler):
        task = add(TaskStatus.IN_PROGRESS)
        assert tasks.update_status(workspace, task.id, TaskStatus.DONE).status is TaskStatus.DONE
        [result] = reconciler.check_tasks([task.id], {task.id: TaskStatus.IN_PROGRESS})
        assert (result.action, result.current_status) == (ReconcileAction.SKIP, TaskStatus.DONE)


class TestKill:
    def test_running_task_blocked_outside(self, add, reconciler):
        task = add(TaskStatus.BLOCKED)
        [result] = reconciler.check_tasks([task.id], {task.id: TaskStatus.IN_PROGRESS})
        assert result.action == ReconcileAction.KILL
        assert result.reason == "task externally transitioned to BLOCKED"
        assert (result.current_status, result.external_status) == (TaskStatus.BLOCKED, TaskStatus.IN_PROGRESS)


class TestRequeue:
    def test_all_blockers_resolved(self, workspace, add, reconciler):
        task = add(TaskStatus.BLOCKED)
        first = blockers.create(workspace, "why?", task.id)
        second = blockers.create(workspace, "how?", task_id=task.id, created_by="agent")
        blockers.answer(workspace, first.id, "so")
        blockers.answer(workspace, second.id, "thus")
        blockers.resolve(workspace, second.id)
        [result] = reconciler.check_blockers([task.id])
        assert (result.action, result.reason) == (ReconcileAction.REQUEUE, "all blockers resolved")
        assert (result.source, result.discrepancy) == ("blockers", True)
        assert reconciler.check([task.id])[0].action == ReconcileAction.REQUEUE
        assert tasks.get(workspace, task.id).status is TaskStatus.BLOCKED  # a check changes nothing


class TestNotRequeued:
    def test_one_blocker_open(self, workspace, add, reconciler):
        task = add(TaskStatus.BLOCKED)
        first = blockers.create(workspace, "why?", task.id)
        blockers.create(workspace, "how?", task.id)
        blockers.answer(workspace, first.id, "so")
        [result] = reconciler.check_blockers([task.id])
        assert (result.action, result.reason) == (ReconcileAction.NONE, "open blockers remain")

    def test_task_not_blocked(self, workspace, add, reconciler):
        task = add(TaskStatus.READY)
        blockers.answer(workspace, blockers.create(workspace, "why?", task.id).id, "so")
        [result] = reconciler.check_blockers([task.id])
        assert (result.action, result.reason) == (ReconcileAction.NONE, "task is not blocked")


class TestMissingTask:
    def test_is_a_result_of_its_own(self, add, reconciler):
        task = add(TaskStatus.READY)
        for check in (reconciler.check_tasks, reconciler.check_blockers, reconciler.check):
            results = check(["nobody", task.id, "nobody"])
            assert [result.task_id for result in results] == ["nobody", task.id, "nobody"]
            assert results[0] == ReconciliationResult("nobody", None, None, ReconcileAction.NONE, "task not found",
                                                      results[0].source, False)
