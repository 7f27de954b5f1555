"""What the tests of the command share: running it, stores to run it on, reading with a deadline.

The built program comes by the environment (RECONCILER), the fixtures too (REC_TEST_DATA). Every test gets an empty
directory and an environment in which nothing of the user's machine matters.
"""
import hashlib
import json
import os
import pathlib
import pty
import select
import shutil
import sqlite3
import subprocess
import tempfile
import termios
import time
import typing
import unittest

RECONCILER = os.environ["RECONCILER"]
DATA = pathlib.Path(os.environ["REC_TEST_DATA"])
CODEFRAME = DATA / "codeframe"
DEADLINE_S = 30  # for what should take milliseconds; long, since the machine may be busy

STATUSES = ["BACKLOG", "READY", "IN_PROGRESS", "BLOCKED", "FAILED", "DONE", "MERGED"]


class Result(typing.NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self):
        return self.out.removesuffix("\n").split("\n") if self.out else []

    @property
    def objects(self):
        return [json.loads(line) for line in self.lines]

    @property
    def json(self):
        return json.loads(self.out)


class Case(unittest.TestCase):
    """One test: self.directory is its own, empty at first."""

    maxDiff = 4000

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-e2e-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.directory / "home"),
            "LC_ALL": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "MALLOC_PERTURB_"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    # ---- Running the command -------------------------------------------------------------------

    def command(self, arguments, **options):
        """subprocess.Popen arguments for the command."""
        environment = dict(self.environment, **options.pop("env", {}))
        return dict({"args": [RECONCILER, *map(os.fsencode, map(text_of, arguments))], "cwd": self.directory, "env": environment}, **options)

    def run_bytes(self, *arguments, stdin=b"", **options):
        done = subprocess.run(**self.command(arguments, input=stdin, capture_output=True, timeout=300, check=False,
                                             **options))
        return done.returncode, done.stdout, done.stderr

    def reconciler(self, *arguments, status=0, stdin="", **options):
        """Runs it, asserts the exit status (None: whatever it is), gives the Result."""
        code, out, err = self.run_bytes(*arguments, stdin=stdin.encode("utf-8", "surrogateescape"), **options)
        result = Result(code, out.decode("utf-8", "backslashreplace"), err.decode("utf-8", "backslashreplace"))
        if status is not None:
            self.assertEqual(result.status, status, f"{arguments}: {result}")
        return result

    def assert_error(self, result, *words):
        """One line on standard error, in the form of an error, with these words in it; nothing on standard output."""
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1, result)
        self.assertTrue(lines[0].startswith("reconciler: "), result)
        self.assertEqual(result.out, "", result)
        for word in words:
            self.assertIn(word, lines[0])

    def assert_refused(self, *arguments, words=(), status=2, **options):
        result = self.reconciler(*arguments, status=status, **options)
        self.assert_error(result, *words)
        return result

    # ---- Stores --------------------------------------------------------------------------------

    def init(self):
        """A new store in self.directory."""
        self.reconciler("init")
        return self.directory / ".reconciler" / "state.db"

    def add(self, title, *options):
        return self.reconciler("task", "add", title, *options).out.strip()

    def status_of(self, task_id, **options):
        return self.reconciler("task", "show", task_id, "--json", **options).json["status"]

    def fixture(self, name, place=".codeframe"):
        """A copy of a codeframe database, old enough to count as quiet."""
        folder = self.directory / place
        folder.mkdir(parents=True)
        target = folder / "state.db"
        shutil.copyfile(CODEFRAME / f"codeframe-{name}.db", target)
        os.utime(target, (1767225600, 1767225600))
        return target

    def sqlite(self, path):
        """A foreign connection, as codeframe opens it."""
        connection = sqlite3.connect(path, isolation_level=None, timeout=5)
        self.addCleanup(connection.close)
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    def write(self, name, text):
        path = self.directory / name
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
        return path

    def start(self, *arguments, **options):
        """The command in the background."""
        return Running(self, self.command(arguments, **options))


def text_of(argument):
    """Arguments may be numbers and paths too, and bytes that are no text."""
    return argument if isinstance(argument, bytes) else str(argument)


def fingerprint(path):
    """What must not change when a store is only read: the bytes, and which files stand there."""
    return hashlib.sha256(path.read_bytes()).hexdigest(), sorted(os.listdir(path.parent))


class Running:
    """A command that runs beside the test: lines in, lines out with a deadline, never a sleep."""

    def __init__(self, case, command):
        self.case = case
        self.process = subprocess.Popen(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **command)
        self.rest = {self.process.stdout: b"", self.process.stderr: b""}
        case.addCleanup(self.stop)

    def send(self, *objects):
        for thing in objects:
            text = thing if isinstance(thing, str) else json.dumps(thing)
            self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def line(self, stream=None):
        """The next line of standard output (or `stream`); fails after DEADLINE_S or at the end."""
        stream = stream or self.process.stdout
        deadline = time.monotonic() + DEADLINE_S
        while b"\n" not in self.rest[stream]:
            if not select.select([stream], [], [], max(0, deadline - time.monotonic()))[0]:
                self.case.fail(f"no line within {DEADLINE_S} s")
            piece = os.read(stream.fileno(), 65536)
            if not piece:
                self.case.fail(f"the output ended; standard error: {self.process.stderr.read().decode()}")
            self.rest[stream] += piece
        line, self.rest[stream] = self.rest[stream].split(b"\n", 1)
        return line.decode()

    def error_line(self):
        return self.line(self.process.stderr)

    def quiet(self, seconds):
        """Does standard output stay silent for so long?"""
        return not self.rest[self.process.stdout] and not select.select([self.process.stdout], [], [], seconds)[0]

    def object(self):
        return json.loads(self.line())

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, status=0):
        """Closes standard input and waits for the end; gives what was left on (standard output, standard error)."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        self.case.assertEqual(self.process.returncode, status, err.decode())
        return tuple((self.rest[stream] + text).decode()
                     for stream, text in ((self.process.stdout, out), (self.process.stderr, err)))

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        self.process.wait()


def on_terminal(case, *arguments, columns=80, rows=50, env=None, stderr=None):
    """Runs the command with standard output and error (or `stderr`: a file) on a terminal; gives (status, what the
    terminal got)."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (rows, columns)) if hasattr(termios, "tcsetwinsize") else set_size(
        follower, rows, columns)
    environment = dict({"TERM": "xterm-256color"}, **(env or {}))
    process = subprocess.Popen(**case.command(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=follower,
                                              stderr=stderr or follower))
    os.close(follower)
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the last end of the other side was closed
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    return process.wait(timeout=DEADLINE_S), text.decode().replace("\r\n", "\n")


def set_size(fd, rows, columns):
    """termios.tcsetwinsize for Pythons before 3.11."""
    import fcntl
    import struct
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def result(task_id, stored, believed, action, reason, source="store", discrepancy=None):
    """A result object as check prints it."""
    if discrepancy is None:
        discrepancy = action != "NONE"
    return {"task_id": task_id, "current_status": stored, "external_status": believed, "action": action,
            "reason": reason, "source": source, "discrepancy": discrepancy}


def main():
    unittest.main(verbosity=1)
