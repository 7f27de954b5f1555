"""Which SQLite do Python's modules use: the one this package uses, or a copy of their own?

Two copies of SQLite in one process do not know of each other's locks: closing a database in one drops the locks of the
other, and a commit can be lost without an error. So with a second copy the store is worked on in a helper process.
RECONCILER_SQLITE=helper does so always.
"""
import importlib
import os
import sys
from typing import Iterator, Optional, Tuple

from ._handle import Handle, Text
from ._native import ffi, lib
from ._remote import RemoteHandle

_SAME = 0  # enum glue_sqlite
_OTHER_MODULES = ("apsw", "apsw.__init__", "pysqlite3._sqlite3", "sqlcipher3._sqlite3", "pysqlcipher3._sqlite3")


def _modules() -> Iterator[Tuple[str, Optional[str]]]:
    """(name, file) of the compiled modules that use SQLite: Python's own, which may be imported later, and others that
    are loaded by now."""
    try:
        own = importlib.import_module("_sqlite3")
    except ImportError:
        pass
    else:
        yield "sqlite3", getattr(own, "__file__", None)
    for name in _OTHER_MODULES:
        if name in sys.modules:
            yield name, getattr(sys.modules[name], "__file__", None)


def second_copy() -> Optional[str]:
    """Where a second copy of SQLite is, or None."""
    for name, path in _modules():
        if lib.glue_sqlite_of(os.fsencode(path) if path else ffi.NULL) != _SAME:
            return name
    with Text() as collected:
        if lib.glue_sqlite_others(collected.own) != 0:
            raise MemoryError
        found = collected.take().split(b"\0")[0]
    return os.fsdecode(found) if found else None


def open_handle(place: bytes, check_interval_ms: int, mode: int) -> Handle:
    """Opens a store here or in a helper process."""
    if os.environ.get("RECONCILER_SQLITE") == "helper" or second_copy():
        return RemoteHandle(place, check_interval_ms, mode)  # type: ignore[return-value]
    return Handle(place, check_interval_ms, mode)
