"""The vocabulary: statuses, actions, results, tasks, blockers."""
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Dict, List, Optional, Union


class TaskStatus(str, Enum):
    """The status of a task. FAILED, DONE and MERGED are terminal for a batch."""

    BACKLOG = "BACKLOG"
    READY = "READY"
    IN_PROGRESS = "IN_PROGRESS"
    BLOCKED = "BLOCKED"
    FAILED = "FAILED"
    DONE = "DONE"
    MERGED = "MERGED"


class ReconcileAction(str, Enum):
    """What to do about a task."""

    NONE = "NONE"  # nothing
    SKIP = "SKIP"  # finished or withdrawn elsewhere: leaves the queue; a running child is stopped
    KILL = "KILL"  # blocked or withdrawn elsewhere: the running child is stopped, or the task is held
    REQUEUE = "REQUEUE"  # released elsewhere: may run again


class BlockerStatus(str, Enum):
    """The status of a blocker. ANSWERED and RESOLVED release the task."""

    OPEN = "OPEN"
    ANSWERED = "ANSWERED"
    RESOLVED = "RESOLVED"


@dataclass
class ReconciliationResult:
    """What is to be done about one task, and why.

    current_status: stored; a value that is none of the seven stays a plain str; None: there is no such task.
    external_status: believed by the batch; None: nothing is believed, or belief played no part.
    discrepancy: stored and believed differ, or the task cannot heal as it stands.
    """

    task_id: str
    current_status: Union[TaskStatus, str, None]
    external_status: Union[TaskStatus, str, None]
    action: ReconcileAction
    reason: str
    source: str = "store"
    discrepancy: bool = False


@dataclass
class AppliedResult(ReconciliationResult):
    """A result of apply: `applied` says whether something was written for it."""

    applied: bool = False


@dataclass
class Blocker:
    """A question, usually attached to a task. Times are RFC 3339 in UTC."""

    id: str
    task_id: Optional[str]
    question: str
    answer: Optional[str]
    status: Union[BlockerStatus, str]
    created_at: str
    answered_at: Optional[str]
    created_by: str


@dataclass
class Task:
    """A task as it is stored. Further columns of the store (codeframe's, for one) are in `columns`, and can be read
    as attributes too: task.github_issue_number."""

    id: str
    title: str
    description: Optional[str]
    status: Union[TaskStatus, str]
    priority: int
    depends_on: List[str]
    parent_id: Optional[str]
    external_url: Optional[str]
    created_at: str
    updated_at: str
    blockers: List[Blocker] = field(default_factory=list)
    columns: Dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        columns = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"a task has no {name!r}")


@dataclass(frozen=True)
class StoreWarning:
    """A bad row met while reading. It is never the end of a read."""

    task_id: Optional[str]
    column: Optional[str]
    problem: Optional[str]
    shown: Optional[str]

    def __str__(self) -> str:
        return f"task {self.task_id!r}: {self.column} {self.problem}: {self.shown}"


_STATUSES = {status.value: status for status in TaskStatus}
_BLOCKER_STATUSES = {status.value: status for status in BlockerStatus}


def status_of(text: Optional[str]) -> Union[TaskStatus, str, None]:
    """The status of that name; any other text as it is."""
    return _STATUSES.get(text, text) if text is not None else None


def blocker_status_of(text: str) -> Union[BlockerStatus, str]:
    """The blocker status of that name; any other text as it is."""
    return _BLOCKER_STATUSES.get(text, text)
