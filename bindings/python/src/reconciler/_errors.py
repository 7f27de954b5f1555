"""Every failure is a ReconcilerError with the library's own message: "WHAT: WHY (way out)"."""
from enum import Enum
from typing import Dict, NoReturn, Tuple, Type


class ErrorClass(str, Enum):
    """How to take a failure."""

    RETRY = "retry"  # may succeed later, unchanged
    TERMINAL = "terminal"  # will fail again until somebody changes something
    BUG = "bug"


class ReconcilerError(Exception):
    """Base of all. `code` is the library's number (0: raised by this package), `name` its name, `error_class` how to
    take it."""

    name = "ERROR"
    error_class = ErrorClass.TERMINAL

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> Tuple[type, Tuple[str, int]]:
        return type(self), (str(self), self.code)


class RetryError(ReconcilerError):
    """May succeed later, unchanged."""

    error_class = ErrorClass.RETRY


class OutOfMemoryError(RetryError, MemoryError):
    """Memory is exhausted."""

    name = "NOMEM"


class StoreIOError(RetryError):
    """The operating system failed a read, a write, an open."""

    name = "IO"


class BusyError(RetryError):
    """The store stayed locked for longer than the limit (five seconds)."""

    name = "BUSY"


class NoSpaceError(RetryError):
    """No space is left for the store."""

    name = "FULL"


class StorePermissionError(ReconcilerError):
    """Not allowed by the file system."""

    name = "PERMISSION"


class ReadOnlyError(ReconcilerError):
    """A write to a store that can only be read."""

    name = "READ_ONLY"


class CorruptError(ReconcilerError):
    """The store is malformed; all work on it has stopped."""

    name = "CORRUPT"


class NotAStoreError(ReconcilerError):
    """There is something at that place, but no task store."""

    name = "NOT_A_STORE"


class NoStoreError(ReconcilerError):
    """There is nothing at that place."""

    name = "NO_STORE"


class UninitialisedError(ReconcilerError):
    """A write to a task store without our tables: Workspace.attach or `reconciler init` makes them."""

    name = "UNINITIALISED"


class VersionError(ReconcilerError):
    """The store was made by a newer version."""

    name = "VERSION"


class SchemaError(ReconcilerError):
    """A table or column that this operation needs is missing."""

    name = "SCHEMA"


class NetworkFileSystemError(ReconcilerError):
    """SQLite on a network file system."""

    name = "NETWORK_FS"


class InvalidError(ReconcilerError, ValueError):
    """Bad input."""

    name = "INVALID"


class LimitError(ReconcilerError, ValueError):
    """A stated maximum was exceeded."""

    name = "LIMIT"


class UnsupportedError(ReconcilerError):
    """This store or build cannot do that."""

    name = "UNSUPPORTED"


class InterruptedCallError(ReconcilerError):
    """Stopped at the caller's request."""

    name = "INTERRUPTED"


class BugError(ReconcilerError):
    """An invariant of the library broke: please report."""

    name = "BUG"
    error_class = ErrorClass.BUG


class NotFoundError(ReconcilerError, LookupError):
    """There is no such task or blocker."""

    name = "NOT_FOUND"


class ExistsError(ReconcilerError, ValueError):
    """That id is taken."""

    name = "EXISTS"


class RefusedError(ReconcilerError, ValueError):
    """The change is not legal; nothing was written."""

    name = "REFUSED"


class ClosedError(ReconcilerError, ValueError):
    """The object was closed."""

    name = "CLOSED"


class ForkedError(ReconcilerError):
    """The object was opened by another process, of which this one is a fork."""

    name = "FORKED"


class HelperError(ReconcilerError):
    """The helper process could not be started, ended, or failed at what no other error is for."""

    name = "HELPER"


NOT_FOUND, EXISTS, REFUSED = 1, 3, 4  # enum rec_outcome

_BY_CODE: Dict[int, Type[ReconcilerError]] = dict(enumerate((
    OutOfMemoryError, StoreIOError, BusyError, NoSpaceError, StorePermissionError, ReadOnlyError, CorruptError,
    NotAStoreError, NoStoreError, UninitialisedError, VersionError, SchemaError, NetworkFileSystemError, InvalidError,
    LimitError, UnsupportedError, InterruptedCallError, BugError), 1))


def raise_error(code: int, message: str) -> NoReturn:
    """Raises what stands for a negative result of the library."""
    raise _BY_CODE.get(-code, ReconcilerError)(message, code)
