"""Hosts for tests: network namespaces, each with a wire of its own to the server, which can be cut.

The server listens on a Unix socket. In a namespace of its own a listener takes what comes over the wires; the test forwards it
to the socket, as the proxy does. So what is cut is a real network: packets are lost, and nobody says so.
"""
import os
import shutil
import socket
import subprocess
import sys

from postgres_proxy import Proxy

LISTEN = ("import socket,sys\n"
          "way = socket.socket(fileno=int(sys.argv[1]))\n"
          "listener = socket.create_server(('0.0.0.0', 5432), backlog=16)\n"
          "socket.send_fds(way, [b'.'], [listener.fileno()])\n")


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def way_to_make_one():
    """The words in front of a command that shall have a network of its own, or None where that cannot be had."""
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return None
    for words in (["unshare", "-n"], ["unshare", "-Urn"]):
        if subprocess.run([*words, "ip", "link", "set", "lo", "up"], check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return words
    return None


class Namespace:
    """A network that lives as long as a process that waits in it."""

    def __init__(self, words):
        self.user = [] if words == ["unshare", "-n"] else ["-U", "--preserve-credentials"]
        self.process = subprocess.Popen([*words, "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.ip("link", "set", "lo", "up")

    def inside(self):
        return ["nsenter", "-t", str(self.process.pid), "-n", *self.user, "--"]

    def ip(self, *words):
        run(*self.inside(), "ip", *words)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Hosts:
    """`count` hosts around a server whose Unix socket is in `folder`."""

    def __init__(self, words, count, folder):
        self.middle = Namespace(words)
        self.hosts = [Namespace(self.beside(words)) for _ in range(count)]
        for number, host in enumerate(self.hosts):
            self.middle.ip("link", "add", f"wire{number}", "type", "veth", "peer", "name", "wire", "netns",
                           str(host.process.pid))
            self.middle.ip("addr", "add", f"{self.address(number)}/30", "dev", f"wire{number}")
            host.ip("addr", "add", f"10.97.{number}.2/30", "dev", "wire")
            host.ip("link", "set", "wire", "up")
            self.mend(number)
        self.proxy = Proxy(None, folder, self.listener())

    def beside(self, words):
        """A network of the same owner, or no wire could be drawn to it."""
        return words if not self.middle.user else [*self.middle.inside(), "unshare", "-n"]

    def listener(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours, theirs:
            subprocess.run([*self.middle.inside(), sys.executable, "-c", LISTEN, str(theirs.fileno())], check=True,
                           stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
            return socket.socket(fileno=socket.recv_fds(ours, 1, 1)[1][0])

    @staticmethod
    def address(number):
        return f"10.97.{number}.1"

    def inside(self, number):
        return self.hosts[number].inside()

    def cut(self, number):
        self.middle.ip("link", "set", f"wire{number}", "down")

    def mend(self, number):
        self.middle.ip("link", "set", f"wire{number}", "up")

    def close(self):
        self.proxy.close()
        for namespace in (*self.hosts, self.middle):
            namespace.close()
