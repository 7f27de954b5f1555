"""The reconciler itself."""
from array import array
from typing import Any, Iterable, List, Mapping, Optional, cast

from . import _handle
from ._errors import InvalidError
from ._pack import applied_of, list_of, pack, results_of, text_bytes
from ._store import CHECK_INTERVAL_MS
from ._types import AppliedResult, ReconciliationResult, StoreWarning
from ._watch import Watch
from .workspace import Workspace, store_at, store_of

Ids = Optional[Iterable[str]]
BatchState = Optional[Mapping[str, Any]]

_KINDS = {"all": _handle.ALL, "tasks": _handle.TASKS, "blockers": _handle.BLOCKERS}


class Reconciler:
    """Compares what a batch believes about its tasks with what the store says.

    workspace_or_path: a Workspace, a folder with .reconciler or .codeframe in it, a database file, a URI
    ("sqlite:PATH", "dir:PATH", "postgresql://..."), or a foreign object with a `db_path` (codeframe's Workspace).
    check_interval_ms: how often a driver should look again without a wake-up; watch() honours it. 0: never. A
    store in memory has that of its Workspace, which is the default.

    Checks only read, and leave no trace in a database that is not ours. Belief never runs ahead of the batch's own
    commit: write the store first, then the batch state; else your own change looks like one from outside.

    Statuses in a batch state are TaskStatus, the same as str, enums of your own with that value, or what codeframe
    calls a run's outcome (RUNNING, COMPLETED). None: the batch holds nothing.

    Threads may share it; one call goes on at a time, without the interpreter's lock. A fork must open its own.
    """

    def __init__(self, workspace_or_path: Any, check_interval_ms: int = CHECK_INTERVAL_MS) -> None:
        if isinstance(check_interval_ms, bool) or not isinstance(check_interval_ms, int):
            raise TypeError(f"check_interval_ms: {type(check_interval_ms).__name__} is no int (give milliseconds)")
        if not 0 <= check_interval_ms < 2**53:
            raise InvalidError(f"check_interval_ms: {check_interval_ms} is out of range (0 is off)")
        self.check_interval_ms = check_interval_ms
        self._owns = not isinstance(workspace_or_path, Workspace)
        self._store = (store_at(workspace_or_path, check_interval_ms) if self._owns else store_of(workspace_or_path))

    @property
    def location(self) -> str:
        """The absolute path of the database."""
        return self._store.location

    # ---- Checking: one result per id, in that order, from one snapshot ----

    def check_tasks(self, task_ids: Ids, batch_state: BatchState = None) -> List[ReconciliationResult]:
        """Stored against believed, by the decision table. task_ids None: every id of batch_state, or every task."""
        return self._check(_handle.TASKS, task_ids, batch_state)

    def check_blockers(self, task_ids: Ids) -> List[ReconciliationResult]:
        """Which BLOCKED tasks have all their blockers released? None: every task."""
        return self._check(_handle.BLOCKERS, task_ids, None)

    def check(self, task_ids: Ids = None, batch_state: BatchState = None) -> List[ReconciliationResult]:
        """Both, merged to one result per task. What a driver should use."""
        return self._check(_handle.ALL, task_ids, batch_state)

    def _check(self, kind: int, task_ids: Ids, batch_state: BatchState) -> List[ReconciliationResult]:
        ids = None if task_ids is None else list_of(task_ids)
        variants, codes, told = self._store.reader().check(kind, False, pack(ids, batch_state), None)
        return results_of(cast(List[str], told if ids is None else ids), array("i", codes), variants)

    # ---- Applying ----

    def apply(self, task_ids: Ids = None, batch_state: BatchState = None, *, kind: str = "all",
              batch_id: Optional[str] = None) -> List[AppliedResult]:
        """Decides and applies: a BLOCKED task whose blockers are released becomes READY, with an event that names
        batch_id. Nothing else is written and nothing is signalled: to stop a running child is yours. Idempotent.

        kind: "all", "tasks" or "blockers". UninitialisedError: a store of codeframe's without our tables
        (Workspace.attach).
        """
        ids = None if task_ids is None else list_of(task_ids)
        batch = pack(ids, batch_state)
        name = None if batch_id is None else text_bytes("batch_id", batch_id)
        with self._store.writing() as handle:
            variants, codes, told = handle.check(_kind(kind), True, batch, name)
        return applied_of(cast(List[str], told if ids is None else ids), array("i", codes), variants)

    # ---- Watching ----

    def watch(self, task_ids: Ids = None, batch_state: BatchState = None, *, kind: str = "all", apply: bool = False,
              batch_id: Optional[str] = None) -> Watch:
        """An endless iterator of verdicts as they change, woken by the store (see Watch). With ids, those; with a batch
        state alone, its tasks, also those believed later; with neither, every task. apply: applies as apply() does.
        """
        ids = None if task_ids is None else list_of(task_ids)
        name = None if batch_id is None else text_bytes("batch_id", batch_id)
        only_believed = ids is None and batch_state is not None
        return Watch(self._store, self.check_interval_ms, _kind(kind), apply, pack(ids, batch_state), only_believed,
                     name)

    # ---- Life ----

    def take_warnings(self) -> List[StoreWarning]:
        """Bad rows met while reading since the last call, each told once. Also logged, as "reconciler"."""
        return self._store.warnings()

    def close(self) -> None:
        """Closes the store, unless it is a Workspace's. May be called again."""
        if self._owns:
            self._store.close()

    def __enter__(self) -> "Reconciler":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Reconciler {self._store.location}>"


def _kind(kind: str) -> int:
    if kind not in _KINDS:
        raise InvalidError(f"kind: {kind!r} is none (one of {', '.join(_KINDS)})")
    return _KINDS[kind]
