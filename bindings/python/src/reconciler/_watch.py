"""Watching: verdicts as they change."""
import asyncio
import os
import select
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from typing import Any, AsyncIterator, Deque, Iterator, List, Optional

from ._errors import ClosedError
from ._pack import ABSENT, Batch, belief_number, result_of_row, text_bytes
from ._store import Store
from ._types import ReconciliationResult


class Watch:
    """Keeps looking at the store: first every result but NONE without discrepancy, then each change of one, a return to
    NONE included.

    Iterate it (`for result in watch`), or in asyncio `async for`; it ends when it is closed. A loop of one's own waits
    until `fileno()` is readable or `timeout()` seconds have passed, and then calls `look()`.
    Believing and closing are safe from any thread, and wake the one that iterates.
    """

    def __init__(self, store: Store, check_interval_ms: int, kind: int, applying: bool, batch: Batch,
                 only_believed: bool, batch_id: Optional[bytes]) -> None:
        self._closed, self._released, self._waiters = True, False, 0
        self._lock = threading.RLock()  # a signal's handler may close what it interrupts
        self._applying = applying
        self._pending: Deque[ReconciliationResult] = deque()
        self._handle = store.watch_handle(applying, check_interval_ms)
        self._shared = store.in_memory
        self._number = self._handle.watcher_new(kind, applying, batch, only_believed, batch_id)
        self._bell, self._ring = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._ring, False)
        self._epoll = select.epoll()
        self._epoll.register(self._bell, select.EPOLLIN)
        self._descriptor = self._handle.watcher_descriptor(self._number)
        if self._descriptor >= 0:
            self._epoll.register(self._descriptor, select.EPOLLIN)
        self._closed = False
        if self._shared:
            store.watches.add(self)

    # ---- A loop of one's own ----

    def fileno(self) -> int:
        """Readable when look() may have something to tell."""
        return self._epoll.fileno()

    def timeout(self) -> Optional[float]:
        """Seconds until the next look is due even if the descriptor stays quiet; None: for ever. Honours the check
        interval, and looks again after a wake-up, which may come before the commit is visible."""
        with self._inside():
            milliseconds = self._handle.watcher_timeout_ms(self._number)
        return None if milliseconds < 0 else milliseconds / 1000

    def look(self) -> List[ReconciliationResult]:
        """What changed since the last look. Never waits."""
        with self._inside():
            try:
                os.read(self._bell, 4096)
            except BlockingIOError:
                pass
            return [result_of_row(row, self._applying) for row in self._handle.watcher_look(self._number)]

    def believe(self, task_id: str, status: Any) -> None:
        """Changes what the batch believes about one task; None forgets it. Write the store first, then call this."""
        number = ABSENT if status is None else belief_number(f"belief about {task_id!r}", status)
        with self._inside():
            self._handle.watcher_believe(self._number, text_bytes("task_id", task_id), number)
            self.wake()

    def wake(self) -> None:
        """Lets whoever waits look again. Safe from any thread."""
        with self._lock:
            if self._released:
                return
            try:
                os.write(self._ring, b"!")
            except BlockingIOError:
                pass  # it rings already

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """For who uses what close() lets go of: it stays until the last one is out."""
        with self._lock:
            self._waiters += 1
        try:
            if self._closed:
                raise ClosedError("watch: it was closed (make another)")
            yield
        finally:
            with self._lock:
                self._waiters -= 1
                self._release()

    # ---- Iterating ----

    def wait(self, timeout: Optional[float] = None) -> List[ReconciliationResult]:
        """Waits until something changed or `timeout` seconds have passed (None: for ever): what changed, or nothing."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            told = self.look()
            left = None if end is None else max(0.0, end - time.monotonic())
            if told or left == 0:
                return told
            self._sleep(left)

    def _sleep(self, at_most: Optional[float]) -> None:
        due = self.timeout()
        seconds = min((s for s in (due, at_most) if s is not None), default=None)
        with self._inside():
            self._epoll.poll(seconds)

    def __iter__(self) -> Iterator[ReconciliationResult]:
        return self

    def __next__(self) -> ReconciliationResult:
        while not self._pending:
            try:
                self._pending.extend(self.wait())
            except ClosedError:
                raise StopIteration from None
        return self._pending.popleft()

    def __aiter__(self) -> AsyncIterator[ReconciliationResult]:
        return self

    async def __anext__(self) -> ReconciliationResult:
        while not self._pending:
            try:
                self._pending.extend(self.look())
                if not self._pending:
                    await self._sleep_async()
            except ClosedError:
                raise StopAsyncIteration from None
        return self._pending.popleft()

    async def _sleep_async(self) -> None:
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        with self._inside():
            due, descriptor = self.timeout(), self.fileno()
            loop.add_reader(descriptor, woken.set)
            try:
                await asyncio.wait_for(woken.wait(), due)
            except asyncio.TimeoutError:
                pass
            finally:
                loop.remove_reader(descriptor)

    # ---- Life ----

    def close(self) -> None:
        """Ends the watch, and whoever iterates it. May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self.wake()
                self._release()

    def _release(self) -> None:
        """Under the lock: the last one out closes the door."""
        if not self._closed or self._waiters or self._released:
            return
        self._released = True
        self._epoll.close()
        for descriptor in (self._bell, self._ring, self._descriptor):
            if descriptor >= 0:
                os.close(descriptor)
        if self._shared:
            with suppress(ClosedError):  # the store is gone, and the watcher with it
                self._handle.watcher_free(self._number)
        else:
            self._handle.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._closed:
            self.close()
