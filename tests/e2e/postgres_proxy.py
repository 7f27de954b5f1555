"""A proxy between libpq and the server, on Unix sockets, that a test can cut: the network of one host."""
import contextlib
import os
import socket
import threading


class Proxy:
    """Listens in `folder` as a server would, or by the socket given; forwards to the server in `target`."""

    def __init__(self, folder, target, listener=None):
        self.target = os.path.join(target, ".s.PGSQL.5432")
        self.folder = str(folder)
        self.open = True
        self.flows = threading.Event()
        self.flows.set()
        self.pairs = []
        self.lock = threading.Lock()
        self.listener = listener or self.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def listen(self):
        os.makedirs(self.folder)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.folder, ".s.PGSQL.5432"))
        listener.listen(16)
        return listener

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if not self.open:
                    client.close()
                    continue
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                self.flows.wait()
                sink.sendall(piece)
        for end in (source, sink):
            self.end(end)
            end.close()

    @staticmethod
    def end(end):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Nothing comes through any more, in either direction."""
        with self.lock:
            self.open = False
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                self.end(end)

    def mute(self):
        """Connections stay and new ones are taken, but nothing comes through until it is mended."""
        self.flows.clear()

    def mend(self):
        with self.lock:
            self.open = True
        self.flows.set()

    def close(self):
        self.cut()
        self.listener.close()
