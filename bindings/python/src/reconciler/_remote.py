"""A Handle that lives in a helper process (_helper.py), with the same methods."""
import json
import os
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any, Callable, List, Optional

from ._errors import ClosedError, ForkedError, HelperError, raise_error
from ._types import StoreWarning

# The helper finds the package where this process found it, and sees nothing of its environment.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from reconciler._helper import main; main()"


class RemoteHandle:
    """Any method of Handle; see there."""

    def __init__(self, place: bytes, check_interval_ms: int, mode: int) -> None:
        self._socket: Optional[socket.socket] = None
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._warnings: List[StoreWarning] = []
        if not sys.executable:
            raise HelperError("helper process: it is not known where this Python is (set sys.executable)")
        mine, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-E", "-S", "-c", _PROGRAM, json.dumps(sys.path), str(theirs.fileno())]
            try:
                self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                                 stdout=subprocess.DEVNULL)
            except OSError as error:
                mine.close()
                raise HelperError(f"helper process: {sys.executable} cannot be started: {error.strerror} "
                                  "(set sys.executable)") from error
        self._connection = Connection(os.dup(mine.fileno()))
        self._socket = mine
        self.location = os.fsdecode(place)
        try:
            self.location = self._call("open", place, check_interval_ms, mode)
        except BaseException:
            self.close()
            raise

    def _call(self, name: str, *arguments: Any) -> Any:
        if os.getpid() != self._pid:
            raise ForkedError(f"{self.location}: this process is a fork of the one that opened it (open it again here)")
        with self._lock:
            if self._socket is None:
                raise ClosedError(f"{self.location}: it was closed (open it again)")
            try:
                self._connection.send((name, arguments))
                kind, value, rest = self._connection.recv()
                if name == "watcher_descriptor" and kind == "value" and value >= 0:
                    value = self._receive_descriptor()
            except (EOFError, OSError) as error:
                raise HelperError(f"{self.location}: its helper process has ended (open it again)") from error
            except BaseException:  # the answer may still come: nobody may take it for the next one's
                self._abandon()
                raise
            if kind == "value":
                self._warnings.extend(rest)
                return value
        if kind == "failed":
            raise HelperError(f"{self.location}: {name} failed in the helper process: {value}: {rest} (please report)")
        raise_error(value, rest)

    def _receive_descriptor(self) -> int:
        assert self._socket is not None
        _, descriptors, _, _ = socket.recv_fds(self._socket, 1, 1)
        if not descriptors:
            raise EOFError
        os.set_inheritable(descriptors[0], False)
        return descriptors[0]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: self._call(name, *arguments)

    def take_warnings(self) -> List[StoreWarning]:
        """What was wrong with rows read since the last call."""
        taken, self._warnings = self._warnings, []
        return taken

    def close(self) -> None:
        """Ends the helper. May be called again. In a fork it does nothing."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._abandon()

    def _abandon(self) -> None:
        mine, self._socket = self._socket, None
        if mine is None:
            return
        mine.shutdown(socket.SHUT_RDWR)  # also where a fork holds a copy
        self._connection.close()
        mine.close()
        self._process.wait()

    def __del__(self) -> None:
        if getattr(self, "_socket", None):
            self.close()
