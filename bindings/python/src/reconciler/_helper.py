"""The helper process: holds a Handle where Python's own sqlite3 brings a second copy of SQLite, and answers calls over
a socket. It never imports sqlite3, so there is one copy in it.

A call is (name, arguments), an answer ("value", value, warnings), ("error", code, message) or, of what is no
ReconcilerError, ("failed", type, message), pickled by multiprocessing.connection. Both ends are one program and its
child; nobody else has the socket. It ends when the socket is closed.
"""
import array
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any, Optional, Tuple

from ._errors import ReconcilerError
from ._handle import Handle


class Server:
    """One handle, one peer."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.connection = Connection(os.dup(descriptor))
        self.handle: Optional[Handle] = None

    def call(self, name: str, arguments: Tuple[Any, ...]) -> Any:
        """Does what is asked for."""
        if name == "open":
            self.handle = Handle(*arguments)
            return self.handle.location
        return getattr(self.handle, name)(*arguments)

    def answer(self, name: str, arguments: Tuple[Any, ...]) -> Tuple[Any, ...]:
        """A call and what comes of it."""
        try:
            value = self.call(name, arguments)
        except ReconcilerError as error:
            return "error", error.code, str(error)
        except Exception as error:
            return "failed", type(error).__name__, str(error)
        return "value", value, self.handle.take_warnings() if self.handle else []

    def send(self, name: str, answer: Tuple[Any, ...]) -> None:
        """The answer, and the descriptor that belongs to it."""
        self.connection.send(answer)
        if name == "watcher_descriptor" and answer[0] == "value" and answer[1] >= 0:
            self.socket.sendmsg([b"d"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [answer[1]]))])
            os.close(answer[1])

    def serve(self) -> None:
        """Until the peer is gone."""
        while True:
            try:
                name, arguments = self.connection.recv()
            except (EOFError, OSError):
                return
            answer = self.answer(name, arguments)
            try:
                self.send(name, answer)
            except OSError:  # it did not wait for the answer
                return


def main() -> None:
    """python -m reconciler._helper DESCRIPTOR"""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the peer; its end ends this
    Server(int(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
