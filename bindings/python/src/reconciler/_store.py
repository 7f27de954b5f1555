"""A store with up to two handles: one that only reads, and one that also writes, opened when it is first needed. So a
check leaves no trace in a database that is not ours."""
import logging
import os
import threading
import weakref
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional

from ._errors import ClosedError
from ._handle import INIT, READ, WRITE, Handle
from ._pack import text_bytes
from ._sqlite import open_handle
from ._types import StoreWarning

logger = logging.getLogger("reconciler")
logger.addHandler(logging.NullHandler())

CHECK_INTERVAL_MS = 30_000


def place_of(workspace_or_path: Any) -> bytes:
    """A path, a URI, or an object that knows where its database is (codeframe's Workspace)."""
    if isinstance(workspace_or_path, str):
        return text_bytes("workspace", workspace_or_path)
    for attribute in ("db_path", "repo_path"):
        found = getattr(workspace_or_path, attribute, None)
        if isinstance(found, (str, os.PathLike)):
            return os.path.abspath(os.fsencode(found))
    if isinstance(workspace_or_path, (bytes, os.PathLike)):
        return os.path.abspath(os.fsencode(workspace_or_path))  # never a URI
    raise TypeError(f"workspace: {type(workspace_or_path).__name__} is no workspace (give a path, a URI or a Workspace)")


def is_uri(place: str) -> bool:
    """Does it name a kind of store?"""
    return place.startswith(("sqlite:", "dir:", "memory:", "postgresql:", "postgres:"))


def anchored(place: bytes) -> bytes:
    """The same place, whatever the working directory will be."""
    for prefix in (b"sqlite:", b"dir:"):
        if place.startswith(prefix):
            return prefix + os.path.abspath(place[len(prefix):])
    return place if is_uri(os.fsdecode(place)) else os.path.abspath(place)


class Store:
    """What a Workspace and its Reconcilers share."""

    def __init__(self, place: bytes, check_interval_ms: int = CHECK_INTERVAL_MS, mode: int = READ) -> None:
        self.place, self.check_interval_ms = place, check_interval_ms
        self._lock, self._closed = threading.Lock(), False
        self.in_memory = place == b"memory:"
        self._reader: Optional[Handle] = None
        self._writer: Optional[Handle] = None
        self.watches: "weakref.WeakSet[Any]" = weakref.WeakSet()  # of a store in memory: nobody else wakes them
        if self.in_memory or mode == INIT:
            self._writer = open_handle(place, check_interval_ms, INIT)
        else:
            self._reader = open_handle(place, check_interval_ms, READ)
        handle = self.reader()
        self.location: str = handle.location or ""
        self.place = anchored(place)

    def reader(self) -> Handle:
        """For what only reads."""
        handle = self._writer or self._reader
        assert handle is not None
        return handle

    def writer(self, mode: int = WRITE) -> Handle:
        """For what writes. Raises UninitialisedError for a store without our tables, unless mode is INIT."""
        with self._lock:
            self._must_be_open()
            if self._writer is None:
                self._writer = open_handle(self.place, self.check_interval_ms, mode)
            return self._writer

    @contextmanager
    def writing(self) -> Iterator[Handle]:
        """writer(), for calls that change something."""
        yield self.writer()
        for watch in list(self.watches):
            watch.wake()

    def watch_handle(self, applying: bool, check_interval_ms: int) -> Handle:
        """One for a watch alone; for a store in memory, the one there is, with its own check interval."""
        if self.in_memory:
            return self.writer()
        self._must_be_open()
        return open_handle(self.place, check_interval_ms, WRITE if applying else READ)

    def _must_be_open(self) -> None:
        if self._closed:
            raise ClosedError(f"{self.location}: it was closed (open it again)")

    def warnings(self) -> List[StoreWarning]:
        """Takes what was noted, and logs it."""
        taken = [warning for handle in (self._reader, self._writer) if handle for warning in handle.take_warnings()]
        for warning in taken:
            logger.warning("%s: %s", self.location, warning)
        return taken

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            self._closed = True
        for handle in (self._reader, self._writer):
            if handle:
                handle.close()
