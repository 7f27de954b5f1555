"""What the tests of `run` share: workers that wait for the test, batches beside it, what is left of them.

Nothing sleeps to wait: a worker waits in a FIFO for the test, the test polls for a file or a status with a deadline.
Workers are shell scripts in the test's directory, which is their working directory too.
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import time

import harness

PAUSE_S = 0.01  # between two looks of a poll


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, or not ours
        return b""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def is_alive(pid):
    """Does it run? A corpse nobody has collected does not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def is_pending(pid, number):
    """Was the signal sent to the process, and not taken yet?"""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(("ShdPnd:", "SigPnd:")) and int(line.split()[1], 16) >> (number - 1) & 1:
            return True
    return False


def children_of(pid):
    found = []
    for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, thread.read_text(encoding="utf-8").split())
    return found


class Batch(harness.Running):
    """`run` or `resume` beside the test; its id is read from the first line on standard error."""

    def __init__(self, case, command):
        super().__init__(case, command)
        first = self.error_line()
        case.assertRegex(first, "^batch ", "the first line on standard error")
        self.id = first.removeprefix("batch ")

    @property
    def pid(self):
        return self.process.pid

    def kill(self):
        """kill -9 of the conductor alone; what it started lives on."""
        self.process.kill()
        self.process.wait()

    def shims(self):
        return children_of(self.pid)


class RunCase(harness.Case):
    """A store, workers, and the certainty that no process of the test is left when it ends."""

    def setUp(self):
        super().setUp()
        self.store = self.init()
        self.addCleanup(self.end_everything)

    # ---- The store from outside ----------------------------------------------------------------

    @property
    def uri(self):
        return f"sqlite:{self.store}"

    def stored(self, task_id):
        """The stored status, read as cheaply as can be."""
        with contextlib.closing(sqlite3.connect(self.store, timeout=5)) as connection:
            return connection.execute("SELECT status FROM tasks WHERE id=?", (task_id,)).fetchone()[0]

    def stored_all(self):
        """Which statuses there are."""
        with contextlib.closing(sqlite3.connect(self.store, timeout=5)) as connection:
            return {status for (status,) in connection.execute("SELECT DISTINCT status FROM tasks")}

    def set_outside(self, **statuses):
        """As another program does."""
        for task_id, status in statuses.items():
            self.sqlite(self.store).execute("UPDATE tasks SET status=? WHERE id=?", (status, task_id))

    def assert_whole(self):
        with contextlib.closing(sqlite3.connect(self.store, timeout=5)) as connection:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("SELECT count(*) FROM rec_claims").fetchone(), (0,))

    # ---- Processes -----------------------------------------------------------------------------

    def processes(self):
        """What carries this store's mark: shims, children, and whatever those started."""
        mark = b"\0REC_STORE=" + os.fsencode(self.uri) + b"\0"
        return [pid for pid in pids() if mark in b"\0" + environment_of(pid) and is_alive(pid)]

    def end_everything(self):
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def assert_nothing_runs(self):
        self.until(lambda: not self.processes(), "every process of the batch is gone")

    # ---- Waiting -------------------------------------------------------------------------------

    def until(self, condition, what):
        """Waits until the condition gives something true, and gives that; fails after the deadline."""
        deadline = time.monotonic() + harness.DEADLINE_S
        while not (value := condition()):
            if time.monotonic() > deadline:
                self.fail(f"not within {harness.DEADLINE_S} s: {what}")
            time.sleep(PAUSE_S)
        return value

    def path(self, name):
        return self.directory / name

    def until_file(self, name):
        return self.until(lambda: self.path(name).exists() and self.path(name).read_text(encoding="utf-8"), f"file {name}")

    def until_status(self, task_id, status):
        self.until(lambda: self.stored(task_id) == status, f"{task_id} is {status}")

    def assert_stored(self, **statuses):
        self.assertEqual({task_id: self.stored(task_id) for task_id in statuses}, statuses)

    # ---- Workers -------------------------------------------------------------------------------

    def script(self, text, name="worker"):
        """An executable shell script, whole before anybody can run it."""
        path = self.write(name, "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return f"./{name}"

    def gate(self, *names):
        """FIFOs in which workers wait (`read x < NAME`) until the test opens them."""
        for name in names:
            os.mkfifo(self.path(name))

    def open_gate(self, name):
        fd = os.open(self.path(name), os.O_RDWR)
        self.addCleanup(os.close, fd)
        os.write(fd, b"go\n" * 100)

    def holding(self, *task_ids, after="exit 0"):
        """A worker that says `started.ID` (its pid is in there) and goes on when gate.ID is opened."""
        self.gate(*(f"gate.{task_id}" for task_id in task_ids))
        return self.script(f"""
echo "$REC_TASK_ID $REC_ATTEMPT" >> journal
echo $$ > new.$REC_TASK_ID; mv new.$REC_TASK_ID started.$REC_TASK_ID
[ ! -p gate.$REC_TASK_ID ] || read x < gate.$REC_TASK_ID
echo "$REC_TASK_ID" >> ended
{after}
""")

    def started(self, task_id):
        """Waits until the worker of the task runs; its pid."""
        return int(self.until_file(f"started.{task_id}"))

    def lines_of(self, name):
        path = self.path(name)
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    # ---- Batches -------------------------------------------------------------------------------

    def add_tasks(self, *task_ids, **options):
        for task_id in task_ids:
            self.add(f"task {task_id}", "--id", task_id,
                     *(word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)))

    def batch(self, *arguments, tasks=("--all-ready",), worker="true", **options):
        return Batch(self, self.command(["run", *tasks, *arguments, "--", *([worker] if isinstance(worker, str) else worker)],
                                        **options))

    def resume(self, batch_id):
        return Batch(self, self.command(["resume", batch_id]))

    def run_batch(self, *arguments, tasks=("--all-ready",), worker="true", status=0, **options):
        """`run` to its end."""
        return self.reconciler("run", *tasks, *arguments, "--", *([worker] if isinstance(worker, str) else worker),
                               status=status, **options)

    def status_json(self, batch_id):
        return self.reconciler("status", batch_id, "--json").json

    def task_in(self, batch_id, task_id):
        return next(task for task in self.status_json(batch_id)["tasks"] if task["task_id"] == task_id)

    def events(self, name=None, **wanted):
        found = self.reconciler("events", "--format", "ndjson").objects
        return [event for event in found if name in (None, event["event"])
                and all(event.get(key) == value for key, value in wanted.items())]

    def assert_sound(self, doctor=0):
        """The store is whole, every decision can be made again, and nothing is left that cannot heal by itself."""
        self.assert_whole()
        self.reconciler("events", "verify")
        self.reconciler("doctor", status=doctor)


class OnFiles:
    """Before RunCase (or what is made of it): the same on a directory of task files."""

    def init(self):
        store = self.directory / "tasks"
        self.reconciler("init", "-S", f"dir:{store}")
        self.environment["RECONCILER_STORE"] = f"dir:{store}"
        return store

    @property
    def uri(self):
        return f"dir:{self.store}"

    def stored(self, task_id):
        return json.loads((self.store / f"{task_id}.json").read_text(encoding="utf-8"))["status"]

    def stored_all(self):
        return {self.stored(path.stem) for path in self.store.glob("*.json")}

    def set_outside(self, **statuses):
        for task_id, status in statuses.items():
            path = self.store / f"{task_id}.json"
            task = dict(json.loads(path.read_text(encoding="utf-8")), status=status)
            other = self.store / f".{task_id}.swp"
            other.write_text(json.dumps(task), encoding="utf-8")
            other.rename(path)

    def assert_whole(self):
        """Every claim was ended, and every file is in place."""
        claims = set()
        for line in (self.store / ".rec" / "log").read_text(encoding="utf-8").splitlines():
            if line[1:].startswith("claim "):
                number = json.loads(line[7:])["claim_id"]
                claims = claims | {number} if line[0] == "+" else claims - {number}
        self.assertEqual(claims, set())
        self.assertEqual(os.listdir(self.store / ".rec" / "new"), [])
