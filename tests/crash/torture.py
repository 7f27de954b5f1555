#!/usr/bin/env python3
"""kill -9 at random moments, until nothing is left to be found.

usage: torture.py [--runs N] [--seconds S] [--seed SEED] [--keep]

  --runs N      how many runs (200)
  --seconds S   stop after so long, whatever --runs says
  --seed SEED   of the first run; run i has SEED + i, and is repeated by `--runs 1 --seed` with that number
  --keep        leave the folder of a run that failed

One run: a store with some tasks, some of which depend on others, one or two conductors, and an adversary who kills
conductors, shims and children, sets statuses as people do, and answers questions. Then peace: `resume` until the
batches end. Checked afterwards:

  - no task ran twice at once (tests/crash/worker.c holds a lock for its life), nor again after it had succeeded
  - none was lost: what nobody changed from outside is DONE and its end is in the journal
  - every status set from outside stands (READY excepted, which asks for another attempt)
  - PRAGMA integrity_check, `events verify` and `doctor` find nothing; no claim is left
  - no process of any attempt is left

The environment names RECONCILER and CRASH_WORKER.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

RECONCILER = os.environ["RECONCILER"]
WORKER = os.environ["CRASH_WORKER"]
KILLS = ("conductor", "shim", "everybody", "child")
LIMIT_S = 60  # for what should take a second or two


class Fault(Exception):
    pass


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] != b"Z"
    except (OSError, IndexError):
        return False


def kill(pid):
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


class Run:
    def __init__(self, seed, folder):
        self.seed, self.folder, self.random = seed, folder, random.Random(seed)
        self.store = folder / ".reconciler" / "state.db"
        self.conductors, self.batches, self.log = [], [], []
        self.outside = {}  # task -> the last status set from outside
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def note(self, *words):
        self.log.append(f"{time.monotonic() - self.began:8.3f} " + " ".join(map(str, words)))

    # ---- The command ---------------------------------------------------------------------------

    def reconciler(self, *arguments, stdin="", statuses=(0,)):
        done = subprocess.run([RECONCILER, *map(str, arguments)], cwd=self.folder, env=self.environment, input=stdin,
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode not in statuses:
            raise Fault(f"{arguments}: status {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done

    def conduct(self, *arguments):
        """A conductor in the background; its batch is noted once it says which one it is."""
        err = open(self.folder / "stderr", "ab")
        process = subprocess.Popen([RECONCILER, "-q", *map(str, arguments)], cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        err.close()
        self.conductors.append(process)
        self.note("conductor", process.pid, *arguments[:2])
        return process

    def database(self):
        return contextlib.closing(sqlite3.connect(self.store, timeout=20, isolation_level=None))

    def query(self, text, *values):
        with self.database() as database:
            return database.execute(text, values).fetchall()

    # ---- The world -----------------------------------------------------------------------------

    def make(self):
        r = self.random
        self.began = time.monotonic()
        (self.folder / "locks").mkdir()
        self.reconciler("init", "-q")
        self.tasks = [f"T{i:02}" for i in range(r.randint(6, 20))]
        rows = []
        for i, task in enumerate(self.tasks):
            needs = r.sample(self.tasks[:i], min(i, r.choice([0, 0, 0, 1, 2])))
            rows.append({"id": task, "title": task, "priority": r.randint(0, 2), "depends_on": needs})
        self.reconciler("task", "import", "-", stdin=json.dumps(rows))

    def begin(self):
        r = self.random
        nap = r.choice([0, 5, 30, 80, 200])
        fork = ["fork"] if r.random() < 0.3 else []
        options = ["-j", r.randint(1, 4), "--settle", r.choice(["0", "50ms"]), "--grace", "300ms", "--retry", "1000",
                   "--retry-delay", "5ms", "--reconcile-interval", r.choice(["100ms", "30s"])]
        for _ in range(r.choice([1, 1, 2])):
            self.conduct("run", "--all-ready", *options, "--", WORKER, self.folder, nap, 0, *fork)

    def marked(self):
        mark = b"\0REC_STORE=sqlite:" + os.fsencode(self.store) + b"\0"
        return [int(pid) for pid in os.listdir("/proc")
                if pid.isdigit() and mark in b"\0" + environment_of(pid) and is_alive(pid)]

    def shims(self):
        return [pid for pid in self.marked() if b"\0REC_CLAIM=" not in b"\0" + environment_of(pid)]

    def children(self):
        return [pid for pid in self.marked() if b"\0REC_CLAIM=" in b"\0" + environment_of(pid)]

    def living(self):
        return [process for process in self.conductors if process.poll() is None]

    # ---- The adversary -------------------------------------------------------------------------

    def kill_conductor(self):
        living = self.living()
        if living:
            process = self.random.choice(living)
            self.note("kill conductor", process.pid)
            process.kill()
            process.wait()

    def kill_shim(self):
        for pid in self.random.sample(self.shims(), min(1, len(self.shims()))) if self.shims() else []:
            self.note("kill shim", pid)
            kill(pid)

    def kill_everybody(self):
        self.note("kill everybody")
        stopped = [process for process in self.living()]
        for process in stopped:
            process.kill()
        for pid in self.shims():
            kill(pid)
        for process in stopped:
            process.wait()

    def kill_child(self):
        children = self.children()
        if children:
            pid = self.random.choice(children)
            self.note("kill child", pid)
            kill(pid)

    def person(self):
        """A bare UPDATE, as another program does it."""
        task = self.random.choice(self.tasks)
        status = self.random.choice(["DONE", "DONE", "BLOCKED", "BACKLOG", "READY"])
        with self.database() as database:
            database.execute("BEGIN IMMEDIATE")
            stored = database.execute("SELECT status FROM tasks WHERE id=?", (task,)).fetchone()[0]
            if stored in ("READY", "IN_PROGRESS") and status != "READY" or \
                    stored in ("BACKLOG", "BLOCKED") and status == "READY" and task in self.outside:
                if status == "BLOCKED":
                    database.execute("INSERT INTO blockers(id,workspace_id,task_id,question,status,created_at) "
                                     "SELECT ?,workspace_id,id,'which?','OPEN',datetime('now') FROM tasks WHERE id=?",
                                     (f"B{time.monotonic_ns()}", task))
                elif stored == "BLOCKED":
                    database.execute("UPDATE blockers SET status='ANSWERED',answer='so',answered_at=datetime('now') "
                                     "WHERE task_id=? AND status='OPEN'", (task,))
                database.execute("UPDATE tasks SET status=? WHERE id=?", (status, task))
                if status == "READY":
                    self.outside.pop(task, None)
                else:
                    self.outside[task] = status
                self.note("person:", task, stored, "->", status)
            database.execute("COMMIT")

    def answer(self):
        """BLOCKED stays, its questions are answered: it is to be requeued."""
        blocked = [task for task, status in self.outside.items() if status == "BLOCKED"]
        if blocked:
            task = self.random.choice(blocked)
            with self.database() as database:
                database.execute("UPDATE blockers SET status='ANSWERED',answer='so',answered_at=datetime('now') "
                                 "WHERE task_id=? AND status='OPEN'", (task,))
            self.outside.pop(task)
            self.note("answered:", task)

    def take_up(self):
        """Somebody resumes what has no conductor, or starts another batch."""
        gone = [row[0] for row in self.query("SELECT batch_id FROM rec_batches WHERE status='RUNNING'")]
        if gone:
            self.conduct("resume", self.random.choice(gone))

    def trouble(self):
        r = self.random
        acts = [self.kill_conductor] * 3 + [self.kill_shim] * 3 + [self.kill_everybody] + [self.kill_child] * 2 + \
               [self.person] * 4 + [self.answer] * 2 + [self.take_up] * 3
        for _ in range(r.randint(3, 10)):
            time.sleep(r.random() * r.choice([0.01, 0.1, 0.3]))  # the moment is what is random here
            r.choice(acts)()

    # ---- Peace ---------------------------------------------------------------------------------

    def settle(self):
        """Resumes what is not complete until a round changes nothing."""
        deadline = time.monotonic() + LIMIT_S
        for process in self.conductors:
            try:
                process.wait(timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Fault(f"conductor {process.pid} does not end") from None
        for process in self.conductors:
            if process.returncode not in (0, 1, 2, -signal.SIGKILL):
                raise Fault(f"a conductor ended with {process.returncode}")
        for task in list(self.outside):  # nothing that a batch waits for for ever: all questions are answered
            if self.outside[task] == "BLOCKED":
                self.answer_one(task)
        for _ in range(4):
            open_batches = self.query("SELECT batch_id FROM rec_batches WHERE status<>'COMPLETED' ORDER BY started_at")
            for (batch,) in open_batches:
                self.note("resume", batch)
                self.reconciler("-q", "resume", batch, statuses=(0, 1))
            self.free_strangers()
            if self.unfinished():
                self.note("run --all-ready for", *self.unfinished())
                self.reconciler("-q", "run", "--all-ready", "--", WORKER, self.folder, 0, 0, statuses=(0, 1))
            if not self.unfinished():
                return

    def free_strangers(self):
        """What was BLOCKED before any batch took it is nobody's to requeue."""
        ours = {task for (task,) in self.query("SELECT task_id FROM rec_batch_tasks")}
        for (task,) in self.query("SELECT id FROM tasks WHERE status='BLOCKED'"):
            if task not in ours:
                self.reconciler("-q", "task", "set", task, "READY")

    def answer_one(self, task):
        with self.database() as database:
            database.execute("UPDATE blockers SET status='ANSWERED',answer='so',answered_at=datetime('now') "
                             "WHERE task_id=? AND status='OPEN'", (task,))
        self.outside.pop(task)

    def unfinished(self):
        """Tasks that could run and have not: not DONE, not withdrawn, and not behind one that is."""
        status = dict(self.query("SELECT id,status FROM tasks"))
        needs = {task: json.loads(on or "[]") for task, on in self.query("SELECT id,depends_on FROM tasks")}
        able = {}
        for task in self.tasks:  # dependencies stand before what needs them
            able[task] = status[task] != "BACKLOG" and all(able[on] for on in needs[task])
        return [task for task in self.tasks if able[task] and status[task] != "DONE"]

    # ---- Judgement -----------------------------------------------------------------------------

    def journal(self):
        path = self.folder / "journal"
        return [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def judge(self):
        lines = self.journal()
        twice = [line for line in lines if line[0] == "twice"]
        if twice:
            raise Fault(f"ran twice at once: {twice}")
        status = dict(self.query("SELECT id,status FROM tasks"))
        for task, wanted in self.outside.items():
            if status[task] != wanted:
                raise Fault(f"{task}: {wanted} from outside became {status[task]}")
        left = self.unfinished()
        if left:
            raise Fault(f"lost: {[(task, status[task]) for task in left]}")
        ended = {line[1] for line in lines if line[0] == "end" and line[3] == "0"}
        for task in self.tasks:
            if status[task] == "DONE" and task not in self.outside and task not in ended:
                raise Fault(f"{task}: DONE, and never ended well")
        attempts = [tuple(line[1:3]) for line in lines if line[0] == "start"]
        if len(attempts) != len(set(attempts)):
            raise Fault(f"one attempt started twice: {sorted(a for a in attempts if attempts.count(a) > 1)}")
        self.judge_store(status)
        deadline = time.monotonic() + 10
        while self.marked():
            if time.monotonic() > deadline:
                raise Fault(f"processes left: {self.marked()}")
            time.sleep(0.01)

    def judge_store(self, status):
        if self.query("PRAGMA integrity_check") != [("ok",)]:
            raise Fault("integrity_check")
        claims = self.query("SELECT * FROM rec_claims")
        if claims:
            raise Fault(f"claims left: {claims}")
        self.reconciler("events", "verify")
        found = [finding for finding in json.loads(self.reconciler("doctor", "--json", statuses=(0, 1)).stdout)
                 if status.get(finding["task_id"]) != "BACKLOG"]
        if found:
            raise Fault(f"doctor: {found}")

    def end(self):
        for process in self.conductors:
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in self.marked():
            kill(pid)

    def all(self):
        try:
            self.make()
            self.begin()
            self.trouble()
            self.settle()
            self.judge()
        except (Fault, sqlite3.Error, subprocess.TimeoutExpired) as fault:
            print(f"seed {self.seed}: {type(fault).__name__}: {fault}", flush=True)
            print("\n".join(self.log), flush=True)
            print("\n".join(" ".join(line) for line in self.journal()), flush=True)
            return False
        finally:
            self.end()
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"torture: seed {first}", flush=True)
    began, done, kills = time.monotonic(), 0, collections.Counter()
    for seed in range(first, first + options.runs):
        if time.monotonic() - began > options.seconds:
            break
        folder = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-torture-"))
        run = Run(seed, folder)
        good = run.all()
        kills.update(what for line in run.log for what in KILLS if f" kill {what}" in line)
        if good or not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
        if not good:
            sys.exit(f"torture: seed {seed} failed" + (f" ({folder})" if options.keep else ""))
        done += 1
        if done % 50 == 0:
            print(f"torture: {done} runs", flush=True)
    print(f"torture: {done} runs, {time.monotonic() - began:.0f} s, nothing found; killed: "
          + ", ".join(f"{what} {kills[what]}" for what in KILLS))


if __name__ == "__main__":
    main()
