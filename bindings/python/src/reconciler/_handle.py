"""An open store in this process: a thin, locked layer over the C functions. Everything that comes in and goes out is
plain (numbers, texts, bytes, lists), so that _remote.py can offer the same over a socket.

One thread at a time: a lock is held while a call goes on, and the interpreter is released during it. A fork is
refused: SQLite's locks and connections do not survive one.
"""
import itertools
import os
import threading
from typing import Any, Dict, List, Optional, Tuple

from ._errors import ClosedError, ForkedError, raise_error
from ._native import ffi, lib
from ._pack import Batch, Row, Variant, unpack_rows
from ._types import StoreWarning

READ, WRITE, INIT = 0, 1, 2  # enum rec_open_mode
ALL, TASKS, BLOCKERS = 0, 1, 2  # enum glue_kind


def text(pointer: Any) -> Optional[str]:
    """A C string, or None."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else None


class Text:
    """A struct glue_text that is released."""

    def __init__(self) -> None:
        self.own = ffi.new("struct glue_text *")

    def __enter__(self) -> "Text":
        return self

    def __exit__(self, *_: object) -> None:
        lib.glue_text_release(self.own)

    def take(self) -> bytes:
        """The bytes collected so far; none are left."""
        data = bytes(ffi.buffer(self.own.bytes, self.own.length)) if self.own.length else b""
        self.own.length = 0
        return data


class Handle:
    """A struct reconciler."""

    def __init__(self, place: bytes, check_interval_ms: int, mode: int) -> None:
        self._reconciler = ffi.NULL
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._error = ffi.new("struct rec_error *")
        self._notes = Text()
        self._watchers: Dict[int, Any] = {}
        self._numbers = itertools.count(1)
        self._warnings: List[StoreWarning] = []
        opened = ffi.new("struct reconciler **")
        self._check(lib.glue_open(place, check_interval_ms, mode, opened, self._error))
        self._reconciler = opened[0]
        lib.glue_warnings_to(self._reconciler, self._notes.own)
        self.location = text(lib.rec_location(self._reconciler))

    # ---- Life ----

    def _check(self, result: int) -> int:
        """The result, unless it is an error."""
        if result < 0:
            raise_error(result, text(self._error.message) or "failed")
        return result

    def __enter__(self) -> Any:
        """The open reconciler, for this thread alone until the block ends."""
        if os.getpid() != self._pid:
            raise ForkedError(f"{self.location}: this process is a fork of the one that opened it (open it again here)")
        self._lock.acquire()
        if not self._reconciler:
            self._lock.release()
            raise ClosedError(f"{self.location}: it was closed (open it again)")
        return self._reconciler

    def __exit__(self, *_: object) -> None:
        rows = unpack_rows(self._notes.take(), 4) if self._notes.own.length else ()
        self._warnings.extend(StoreWarning(*row) for row in rows)
        self._lock.release()

    def take_warnings(self) -> List[StoreWarning]:
        """What was wrong with rows read since the last call."""
        taken, self._warnings = self._warnings, []
        return taken

    def close(self) -> None:
        """May be called again. In a fork it does nothing: the connection is the parent's."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            for watcher in self._watchers.values():
                lib.rec_watcher_free(watcher)
            self._watchers.clear()
            self._reconciler = lib.rec_close(self._reconciler)
            lib.glue_text_release(self._notes.own)

    def __del__(self) -> None:
        if getattr(self, "_reconciler", None):
            self.close()

    # ---- Check and apply ----

    def _batch(self, batch: Batch) -> Any:
        """(struct glue_batch *, what must live as long)"""
        kept = [ffi.from_buffer(part) if part is not None else ffi.NULL for part in (batch.ids, batch.state)]
        kept.append(ffi.from_buffer("unsigned char[]", batch.statuses))
        packed = ffi.new("struct glue_batch *", (kept[0], len(batch.ids or b""), batch.id_count, kept[1],
                                                 len(batch.state or b""), kept[2], len(batch.statuses)))
        return packed, kept

    def check(self, kind: int, applying: bool, batch: Batch,
              batch_id: Optional[bytes]) -> Tuple[List[Variant], bytes, Optional[List[str]]]:
        """(the different results, for each id which of them as int32, the ids where none were given)"""
        packed, _kept = self._batch(batch)
        results = ffi.new("struct glue_results *")
        with self as reconciler:
            self._check(lib.glue_check(reconciler, kind, applying, packed, batch_id or ffi.NULL, results, self._error))
        try:
            return self._results(results, batch.ids is None)
        finally:
            lib.glue_results_release(results)

    def _results(self, results: Any, with_ids: bool) -> Tuple[List[Variant], bytes, Optional[List[str]]]:
        variants: List[Variant] = []
        for at in range(results.variant_count):
            v = results.variants[at]
            variants.append((text(v.current_status), text(v.external_status), text(v.action) or "", text(v.reason) or "",
                             text(v.source) or "", bool(v.discrepancy), v.applied > 0))
        codes = bytes(ffi.buffer(results.variant_of, results.count * 4))
        if not with_ids:
            return variants, codes, None
        with Text() as collected:
            if lib.glue_results_ids(results, collected.own) != 0:
                raise MemoryError
            return variants, codes, [row[0] or "" for row in unpack_rows(collected.take(), 1)]

    # ---- Watching ----

    def watcher_new(self, kind: int, applying: bool, batch: Batch, only_believed: bool,
                    batch_id: Optional[bytes]) -> int:
        """The number of a new watcher."""
        packed, _kept = self._batch(batch)
        made = ffi.new("struct rec_watcher **")
        with self as reconciler:
            self._check(lib.glue_watcher_new(reconciler, kind, applying, packed, only_believed, batch_id or ffi.NULL,
                                             made, self._error))
            number = next(self._numbers)
            self._watchers[number] = made[0]
        return number

    def watcher_free(self, number: int) -> None:
        """Ends a watcher."""
        with self:
            lib.rec_watcher_free(self._watchers.pop(number))

    def watcher_believe(self, number: int, task_id: bytes, status: int) -> None:
        """Changes the belief about one task."""
        with self:
            self._check(lib.rec_watcher_believe(self._watchers[number], task_id, status, self._error))

    def watcher_look(self, number: int) -> List[Row]:
        """What changed since the last look."""
        with Text() as collected:
            with self:
                self._check(lib.glue_watcher_look(self._watchers[number], collected.own, self._error))
            return unpack_rows(collected.take(), 8)

    def watcher_timeout_ms(self, number: int) -> int:
        """How long to wait before the next look; -1: for ever."""
        with self:
            return int(lib.rec_watcher_timeout_ms(self._watchers[number]))

    def watcher_descriptor(self, number: int) -> int:
        """Readable when the store may have changed: a copy that is the caller's; -1: none."""
        with self:
            descriptor = lib.rec_watcher_descriptor(self._watchers[number])
            return os.dup(descriptor) if descriptor >= 0 else -1

    # ---- Tasks and blockers: outcomes are the library's (0, or enum rec_outcome) ----

    def task_ids(self, status_mask: int, limit: int) -> List[str]:
        """Ids, in order."""
        with Text() as collected:
            with self as reconciler:
                self._check(lib.glue_task_ids(reconciler, status_mask, limit, collected.own, self._error))
            return [row[0] or "" for row in unpack_rows(collected.take(), 1)]

    def tasks_export(self, ids: bytes, count: int) -> List[bytes]:
        """Those of the tasks that exist, as JSON."""
        with Text() as collected:
            with self as reconciler:
                self._check(lib.glue_tasks_export(reconciler, ids, len(ids), count, collected.own, self._error))
            return collected.take().split(b"\n")[:-1]

    def task_import(self, json: bytes) -> None:
        """All or nothing."""
        with self as reconciler:
            self._check(lib.glue_task_import(reconciler, json, len(json), self._error))

    def task_set_status(self, task_id: bytes, status: int, force: bool) -> Tuple[int, int]:
        """(outcome, what the task had)"""
        current = ffi.new("int *")
        with self as reconciler:
            outcome = lib.glue_task_set_status(reconciler, task_id, status, force, current, self._error)
            return self._check(outcome), current[0]

    def task_delete(self, task_id: bytes) -> int:
        """The outcome."""
        with self as reconciler:
            return self._check(lib.rec_task_delete(reconciler, task_id, self._error))

    def blocker_create(self, task_id: Optional[bytes], question: bytes, created_by: bytes) -> Tuple[int, str]:
        """(outcome, id)"""
        made = ffi.new("char[]", lib.REC_ID_BYTES_MAX + 1)
        with self as reconciler:
            outcome = lib.glue_blocker_create(reconciler, task_id or ffi.NULL, question, created_by, made, self._error)
            return self._check(outcome), text(made) or ""

    def blocker_answer(self, blocker_id: bytes, answer: bytes) -> int:
        """The outcome."""
        with self as reconciler:
            return self._check(lib.rec_blocker_answer(reconciler, blocker_id, answer, self._error))

    def blocker_resolve(self, blocker_id: bytes) -> int:
        """The outcome."""
        with self as reconciler:
            return self._check(lib.rec_blocker_resolve(reconciler, blocker_id, self._error))

    def blocker_get(self, blocker_id: bytes) -> Optional[Row]:
        """One blocker, or None."""
        with Text() as collected:
            with self as reconciler:
                found = self._check(lib.glue_blocker_get(reconciler, blocker_id, collected.own, self._error)) == 0
            return unpack_rows(collected.take(), 8)[0] if found else None

    def blocker_list(self, task_id: Optional[bytes], open_only: bool) -> List[Row]:
        """Oldest first."""
        with Text() as collected:
            with self as reconciler:
                self._check(lib.glue_blocker_list(reconciler, task_id or ffi.NULL, open_only, collected.own,
                                                  self._error))
            return unpack_rows(collected.take(), 8)
