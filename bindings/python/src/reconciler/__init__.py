"""reconciler: keeps a running batch of tasks true to the world.

    from reconciler import Reconciler, ReconcileAction

    with Reconciler("my-workspace") as reconciler:
        for result in reconciler.check(batch_state={"task-1": "IN_PROGRESS"}):
            if result.action is ReconcileAction.KILL:
                ...

A Reconciler compares what a running batch believes about its tasks with what the store says, and tells for each task
what to do. Modules: tasks, blockers, workspace. Every failure is a ReconcilerError.
"""
from . import blockers, tasks, workspace
from ._errors import (BugError, BusyError, ClosedError, CorruptError, ErrorClass, ExistsError, ForkedError, HelperError,
                      InterruptedCallError, InvalidError, LimitError, NetworkFileSystemError, NoSpaceError,
                      NoStoreError, NotAStoreError, NotFoundError, OutOfMemoryError, ReadOnlyError, ReconcilerError,
                      RefusedError, RetryError, SchemaError, StoreIOError, StorePermissionError, UninitialisedError,
                      UnsupportedError, VersionError)
from ._native import ffi as _ffi
from ._native import lib as _lib
from ._reconciler import Reconciler
from ._types import (AppliedResult, Blocker, BlockerStatus, ReconcileAction, ReconciliationResult, StoreWarning, Task,
                     TaskStatus)
from ._watch import Watch
from .workspace import Workspace, create_or_load_workspace

__version__: str = _ffi.string(_lib.rec_version()).decode()

__all__ = [
    "AppliedResult", "Blocker", "BlockerStatus", "BugError", "BusyError", "ClosedError", "CorruptError", "ErrorClass",
    "ExistsError", "ForkedError", "HelperError", "InterruptedCallError", "InvalidError", "LimitError",
    "NetworkFileSystemError", "NoSpaceError", "NoStoreError", "NotAStoreError", "NotFoundError", "OutOfMemoryError",
    "ReadOnlyError", "ReconcileAction", "Reconciler", "ReconcilerError", "ReconciliationResult", "RefusedError",
    "RetryError", "SchemaError", "StoreIOError", "StorePermissionError", "StoreWarning", "Task", "TaskStatus",
    "UninitialisedError", "UnsupportedError", "VersionError", "Watch", "Workspace", "blockers",
    "create_or_load_workspace", "tasks", "workspace",
]
