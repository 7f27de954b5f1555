#!/usr/bin/env python3
"""kill -9 at random moments, until nothing is left to be found.

usage: torture.py [--store KIND] [--runs N] [--seconds S] [--seed SEED] [--keep]

  --store KIND  sqlite, files, postgresql (under tests/postgres/with-cluster)
  --runs N      how many runs (200)
  --seconds S   stop after so long, whatever --runs says
  --seed SEED   of the first run; run i has SEED + i, and is repeated by `--runs 1 --seed` with that number
  --keep        leave the folder of a run that failed

One run: a store with some tasks, some of which depend on others, one or two conductors, and an adversary who kills
conductors, shims and children (and a server, if the store has one), sets statuses as people do, and answers questions.
Then peace: `resume` until the batches end. Checked afterwards:

  - no task ran twice at once (tests/crash/worker.c holds a lock for its life), nor again after it had succeeded
  - none was lost: what nobody changed from outside is DONE and its end is in the journal
  - every status set from outside stands (READY excepted, which asks for another attempt)
  - `events verify`, `doctor` and the store itself (stores.py) find nothing; no claim is left
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
import subprocess
import sys
import tempfile
import time

import stores

RECONCILER = os.environ["RECONCILER"]
WORKER = os.environ["CRASH_WORKER"]
KILLS = ("conductor", "shim", "everybody", "child", "server")
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
    def __init__(self, kind, seed, folder):
        self.seed, self.folder, self.random = seed, folder, random.Random(seed)
        self.store = stores.STORES[kind](folder)
        self.conductors, self.batches, self.log = [], [], []
        self.outside = {}  # task -> the last status set from outside
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8",
                            "RECONCILER_STORE": self.store.uri}
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

    def statuses(self):
        lines = self.reconciler("task", "list", "--format", "ndjson").stdout.splitlines()
        return {task["id"]: task["status"] for task in map(json.loads, lines)}

    def open_batches(self, *ended):
        """Those that are RUNNING, as the store has it, or ended like that; the oldest first."""
        batches = json.loads(self.reconciler("status", "--json").stdout)
        return [batch["batch_id"] for batch in sorted(batches, key=lambda batch: batch["started_at"])
                if batch["status"] in ("RUNNING", *ended)]

    # ---- The world -----------------------------------------------------------------------------

    def make(self):
        r = self.random
        self.began = time.monotonic()
        (self.folder / "locks").mkdir()
        self.store.make()
        self.reconciler("init", "-q", "--store", self.store.uri)
        self.tasks = [f"T{i:02}" for i in range(r.randint(6, 20))]
        self.needs, rows = {}, []
        for i, task in enumerate(self.tasks):
            self.needs[task] = r.sample(self.tasks[:i], min(i, r.choice([0, 0, 0, 1, 2])))
            rows.append({"id": task, "title": task, "priority": r.randint(0, 2), "depends_on": self.needs[task]})
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
        home = b"\0HOME=" + os.fsencode(self.folder) + b"\0"
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_alive(pid)
                and home in (marks := b"\0" + environment_of(pid)) and b"\0REC_STORE=" in marks]

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

    def restart_server(self):
        if hasattr(self.store, "restart"):
            self.note("kill server")
            self.store.restart()

    def person(self):
        """As another program does it."""
        task = self.random.choice(self.tasks)
        status = self.random.choice(["DONE", "DONE", "BLOCKED", "BACKLOG", "READY"])
        if status == "READY" and task not in self.outside:
            return
        expected = ("BACKLOG", "BLOCKED") if status == "READY" else ("READY", "IN_PROGRESS")
        stored = self.store.change(task, status, expected)
        if stored:
            if status == "READY":
                del self.outside[task]
            else:
                self.outside[task] = status
            self.note("person:", task, stored, "->", status)

    def answer(self):
        """BLOCKED stays, its questions are answered: it is to be requeued."""
        blocked = [task for task, status in self.outside.items() if status == "BLOCKED"]
        if blocked:
            task = self.random.choice(blocked)
            self.store.answer(task)
            del self.outside[task]
            self.note("answered:", task)

    def take_up(self):
        """Somebody resumes what has no conductor, or starts another batch."""
        gone = self.open_batches()
        if gone:
            self.conduct("resume", self.random.choice(gone))

    def trouble(self):
        r = self.random
        acts = [self.kill_conductor] * 3 + [self.kill_shim] * 3 + [self.kill_everybody] + [self.kill_child] * 2 + \
               [self.person] * 4 + [self.answer] * 2 + [self.take_up] * 3 + [self.restart_server]
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
                self.store.answer(task)
                del self.outside[task]
        for _ in range(4):
            for batch in self.open_batches("PARTIAL", "CANCELLED"):
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
        batches = [batch["batch_id"] for batch in json.loads(self.reconciler("status", "--json").stdout)]
        ours = {task["task_id"] for batch in batches
                for task in json.loads(self.reconciler("status", batch, "--json", statuses=(0, 1)).stdout)["tasks"]}
        for task, status in self.statuses().items():
            if status == "BLOCKED" and task not in ours:
                self.reconciler("-q", "task", "set", task, "READY")

    def unfinished(self):
        """Tasks that could run and have not: not DONE, not withdrawn, and not behind one that is."""
        status, able = self.statuses(), {}
        for task in self.tasks:  # dependencies stand before what needs them
            able[task] = status[task] != "BACKLOG" and all(able[on] for on in self.needs[task])
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
        status = self.statuses()
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
        fault = self.store.fault()
        if fault:
            raise Fault(fault)
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
        except Exception as fault:  # whatever it is, the seed tells how to see it again
            print(f"seed {self.seed}: {type(fault).__name__}: {fault}", flush=True)
            print("\n".join(self.log), flush=True)
            print("\n".join(" ".join(line) for line in self.journal()), flush=True)
            return False
        finally:
            self.end()
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=stores.STORES, default="sqlite")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"torture: {options.store}, seed {first}", flush=True)
    began, done, kills = time.monotonic(), 0, collections.Counter()
    for seed in range(first, first + options.runs):
        if time.monotonic() - began > options.seconds:
            break
        folder = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-torture-"))
        run = Run(options.store, seed, folder)
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
