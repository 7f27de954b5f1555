"""Tasks of a workspace. Every write is durable and leaves an event."""
import datetime
import json
import uuid
from enum import Enum
from typing import Any, Dict, List, Optional

from ._errors import EXISTS, NOT_FOUND, REFUSED, ExistsError, InvalidError, NotFoundError, RefusedError
from ._pack import pack_texts, status_number, text_bytes
from ._types import Blocker, Task, TaskStatus, blocker_status_of, status_of
from .workspace import Workspace, store_of

__all__ = ["Task", "TaskStatus", "create", "get", "list_tasks", "update_status", "delete"]

_STATUSES = list(TaskStatus)
_FIELDS = ("id", "title", "description", "priority", "depends_on", "parent_id", "external_url", "created_at",
           "updated_at")


def _json_of(value: Any) -> Any:
    """What json itself does not know."""
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return aware.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (uuid.UUID,)):
        return str(value)
    return list(value)


def create(workspace: Workspace, title: str, description: str = "", status: Any = TaskStatus.BACKLOG, priority: int = 0,
           **columns: Any) -> Task:
    """Creates a task and returns it. columns: `id` (else a UUID is made), `depends_on`, `parent_id`, `external_url`,
    and any further column of codeframe's schema (`github_issue_number`, `estimated_hours`, ...).

    ExistsError: the id is taken. InvalidError, LimitError: a bad value. UninitialisedError: see Workspace.attach.
    """
    text_bytes("title", title)
    name = _STATUSES[status_number("status", status)].value
    record: Dict[str, Any] = {"id": str(uuid.uuid4()), "title": title, "description": description, "status": name,
                              "priority": priority}
    record.update((key, value) for key, value in columns.items() if value is not None)
    task_id = text_bytes("id", record["id"])
    data = json.dumps(record, default=_json_of, ensure_ascii=False, allow_nan=False).encode()
    with store_of(workspace).writing() as handle:
        taken = ExistsError(f"task {record['id']!r}: the id is taken (leave it out and one is made)", EXISTS)
        if handle.tasks_export(task_id + b"\0", 1):
            raise taken
        try:
            handle.task_import(data)
        except InvalidError:
            if handle.tasks_export(task_id + b"\0", 1):  # somebody was faster
                raise taken from None
            raise
    created = get(workspace, record["id"])
    if created is None:
        raise _missing(record["id"])
    return created


def get(workspace: Workspace, task_id: str) -> Optional[Task]:
    """The task, or None."""
    exported = store_of(workspace).reader().tasks_export(text_bytes("task_id", task_id) + b"\0", 1)
    return _task(json.loads(exported[0])) if exported else None


def list_tasks(workspace: Workspace, status: Any = None, limit: Optional[int] = None) -> List[Task]:
    """Tasks in the order of their ids: those with one status, or (None) all; at most `limit`."""
    if limit is not None and limit <= 0:
        return []
    handle = store_of(workspace).reader()
    mask = 0 if status is None else 1 << status_number("status", status)
    ids = handle.task_ids(mask, limit or 0)
    exported = handle.tasks_export(pack_texts("id", ids), len(ids))  # without those deleted since
    return [_task(json.loads(task)) for task in exported]


def update_status(workspace: Workspace, task_id: str, status: Any, *, force: bool = False) -> Task:
    """Sets a status and returns the task; composite parents follow. Without force the change must be possible by legal
    transitions. From a status to itself nothing is written.

    NotFoundError: no such task. RefusedError: not a legal change; it names both statuses.
    """
    number = status_number("status", status)
    with store_of(workspace).writing() as handle:
        outcome, current = handle.task_set_status(text_bytes("task_id", task_id), number, force)
    if outcome == REFUSED:
        raise RefusedError(f"task {task_id!r}: {_STATUSES[current].value} cannot become {_STATUSES[number].value} "
                           "(use force=True to write it all the same)", REFUSED)
    task = get(workspace, task_id) if outcome == 0 else None
    if task is None:
        raise _missing(task_id)
    return task


def delete(workspace: Workspace, task_id: str) -> None:
    """Deletes a task and what belongs to it. NotFoundError; RefusedError while a conductor runs it."""
    with store_of(workspace).writing() as handle:
        outcome = handle.task_delete(text_bytes("task_id", task_id))
    if outcome == NOT_FOUND:
        raise _missing(task_id)
    if outcome == REFUSED:
        raise RefusedError(f"task {task_id!r}: a conductor runs it (stop its batch first)", REFUSED)


def _missing(task_id: str) -> NotFoundError:
    return NotFoundError(f"task {task_id!r}: there is none with that id (list_tasks tells the ids)", NOT_FOUND)


def _task(record: Dict[str, Any]) -> Task:
    known = {name: record.pop(name, None) for name in _FIELDS}
    status = record.pop("status", None)
    blockers = [_blocker(known["id"], blocker) for blocker in record.pop("blockers", None) or ()]
    known["depends_on"] = known["depends_on"] or []
    return Task(status=status_of(status) or "", blockers=blockers, columns=record, **known)


def _blocker(task_id: str, record: Dict[str, Any]) -> Blocker:
    return Blocker(record["id"], task_id, record.get("question") or "", record.get("answer"),
                   blocker_status_of(record.get("status") or ""), record.get("created_at") or "",
                   record.get("answered_at"), record.get("created_by") or "")
