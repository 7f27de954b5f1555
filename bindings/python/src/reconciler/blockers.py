"""Blockers: questions attached to tasks. Answering or resolving one never changes its task; reconciliation does."""
from typing import Any, List, Optional

from ._errors import NOT_FOUND, REFUSED, NotFoundError, RefusedError
from ._pack import Row, text_bytes
from ._types import Blocker, BlockerStatus, blocker_status_of
from .workspace import Workspace, store_of

__all__ = ["Blocker", "BlockerStatus", "create", "get", "answer", "resolve", "list_for_task", "list_all"]


def create(workspace: Workspace, question: str, task_id: Optional[str] = None, created_by: Any = "human") -> Blocker:
    """Asks a question, usually about a task, and returns the new blocker. created_by: "human", "agent" or "system".

    NotFoundError: no such task.
    """
    about = None if task_id is None else text_bytes("task_id", task_id)
    author = text_bytes("created_by", getattr(created_by, "value", created_by))
    with store_of(workspace).writing() as handle:
        outcome, made = handle.blocker_create(about, text_bytes("question", question), author)
    if outcome == NOT_FOUND:
        raise NotFoundError(f"task {task_id!r}: there is none with that id", NOT_FOUND)
    return _existing(workspace, made)


def get(workspace: Workspace, blocker_id: str) -> Optional[Blocker]:
    """The blocker, or None."""
    row = store_of(workspace).reader().blocker_get(text_bytes("blocker_id", blocker_id))
    return None if row is None else _blocker(row)


def answer(workspace: Workspace, blocker_id: str, text: str) -> Blocker:
    """Answers it: OPEN or ANSWERED becomes ANSWERED. NotFoundError; RefusedError if it is RESOLVED."""
    with store_of(workspace).writing() as handle:
        outcome = handle.blocker_answer(text_bytes("blocker_id", blocker_id), text_bytes("answer", text))
    if outcome == REFUSED:
        raise RefusedError(f"blocker {blocker_id!r}: it is resolved and cannot be answered (ask again)", REFUSED)
    return _existing(workspace, blocker_id, outcome)


def resolve(workspace: Workspace, blocker_id: str) -> Blocker:
    """ANSWERED becomes RESOLVED. NotFoundError; RefusedError if it is OPEN."""
    with store_of(workspace).writing() as handle:
        outcome = handle.blocker_resolve(text_bytes("blocker_id", blocker_id))
    if outcome == REFUSED:
        raise RefusedError(f"blocker {blocker_id!r}: it is open (answer it first)", REFUSED)
    return _existing(workspace, blocker_id, outcome)


def list_for_task(workspace: Workspace, task_id: str) -> List[Blocker]:
    """The blockers of one task, oldest first."""
    rows = store_of(workspace).reader().blocker_list(text_bytes("task_id", task_id), False)
    return [_blocker(row) for row in rows]


def list_all(workspace: Workspace, status: Any = None) -> List[Blocker]:
    """All blockers, oldest first: those with one status, or (None) all."""
    wanted = getattr(status, "value", status)
    rows = store_of(workspace).reader().blocker_list(None, wanted == "OPEN")
    return [_blocker(row) for row in rows if wanted is None or row[4] == wanted]


def _existing(workspace: Workspace, blocker_id: str, outcome: int = 0) -> Blocker:
    blocker = get(workspace, blocker_id) if outcome == 0 else None
    if blocker is None:
        raise NotFoundError(f"blocker {blocker_id!r}: there is none with that id (list_all tells the ids)", NOT_FOUND)
    return blocker


def _blocker(row: Row) -> Blocker:
    blocker_id, task_id, question, text, status, created_at, answered_at, created_by = row
    return Blocker(blocker_id or "", task_id, question or "", text, blocker_status_of(status or ""), created_at or "",
                   answered_at, created_by or "")
