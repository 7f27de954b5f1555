#!/usr/bin/env python3
"""Measure `reconciler run`: dispatch against other ways to run many commands, reaction, idleness, memory.

usage: bench/dispatch.py [--build FOLDER] [--smoke] [--rounds N] [--tasks N]

Alone it prints its tables; bench/run.py (make bench) takes them into docs/benchmarks.md. All subjects run the same
number of /bin/true, two at once, one right after the other in each round, in an order that rotates; a figure is the
median over the rounds, a ratio the median of the rounds' ratios. What is not installed is named and left out.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SLOTS = 2
LIMIT_S = 60


class Dispatch:
    def __init__(self, build, smoke=False, rounds=None, tasks=None):
        self.build = pathlib.Path(build).resolve()
        self.command = str(self.build / "src/cli/reconciler")
        self.spawn = str(self.build / "bench/measure-spawn")
        self.true = shutil.which("true")
        self.smoke = smoke
        self.rounds = rounds or (2 if smoke else 9)
        self.tasks = tasks or (40 if smoke else 2000)  # start and end of a batch are no dispatch: 40 ms
        self.values = {}
        self.left_out = []

    # ---- Stores --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def store(self, count):
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-", ignore_cleanup_errors=True) as folder:
            quietly([self.command, "init", "-q"], cwd=folder)
            tasks = "\n".join(json.dumps({"id": f"T{i:07}", "title": f"task {i}"}) for i in range(count))
            quietly([self.command, "-q", "task", "import", "-"], cwd=folder, input=tasks, text=True)
            yield pathlib.Path(folder)

    @contextlib.contextmanager
    def conductor(self, folder, *words):
        """`run` in the background; stopped at the end with all it started."""
        process = subprocess.Popen([self.command, "-q", "run", "--all-ready", *words], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    # ---- Dispatch ------------------------------------------------------------------------------

    def subjects(self):
        """Name -> a function that runs all tasks and gives the microseconds it took."""
        found = {"loop": self.loop, "reconciler": self.reconciler}
        for name, program, function in (("make", "make", self.make), ("xargs", "xargs", self.xargs),
                                        ("parallel", "parallel", self.parallel), ("tsp", "tsp", self.spooler)):
            if shutil.which(program):
                found[name] = function
            else:
                self.left_out.append(name)
                print(f"bench: {name} is not installed, left out", file=sys.stderr)
        return found

    def loop(self):
        return timed([self.spawn, "loop", self.tasks, SLOTS, self.true])

    def reconciler(self):
        with self.store(self.tasks) as folder:
            return timed([self.command, "-q", "run", "--all-ready", "-j", SLOTS, "--", self.true], cwd=folder)

    def make(self):
        names = " ".join(f"t{i}" for i in range(self.tasks))
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as folder:
            text = f"all: {names}\n{names}:\n\t@{self.true}\n.PHONY: all {names}\n"
            pathlib.Path(folder, "Makefile").write_text(text, encoding="utf-8")
            return timed(["make", f"-j{SLOTS}", "-s", "-r"], cwd=folder)

    def xargs(self):
        return timed(["xargs", f"-P{SLOTS}", "-n1", self.true], input=self.numbers(), text=True)

    def parallel(self):
        return timed(["parallel", "--will-cite", f"-j{SLOTS}", self.true], input=self.numbers(), text=True)

    def numbers(self):
        return "".join(f"{i}\n" for i in range(self.tasks))

    def spooler(self):
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as folder:
            environment = dict(os.environ, TS_SOCKET=f"{folder}/socket", TS_MAXFINISHED="10", TMPDIR=folder)
            quietly(["tsp", "-S", str(SLOTS)], env=environment)
            try:
                begin = time.monotonic()
                for _ in range(self.tasks):
                    quietly(["tsp", "-n", self.true], env=environment)
                quietly(["tsp", "-w"], env=environment)
                return (time.monotonic() - begin) * 1e6
            finally:
                quietly(["tsp", "-K"], env=environment)

    def dispatch(self):
        subjects = self.subjects()
        names, times = list(subjects), {name: [] for name in subjects}
        print(f"bench: dispatch of {self.tasks:,} tasks, {self.rounds} rounds", file=sys.stderr)
        for number in range(self.rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                if name in ("parallel", "tsp") and number % 3:  # slow ones less often
                    continue
                times[name].append((number, subjects[name]()))
        loops = dict(times["loop"])
        own = dict(times["reconciler"])
        for name, taken in times.items():
            self.values[f"{name}_us"] = statistics.median(us for _, us in taken) / self.tasks
            self.values[f"{name}_to_loop"] = statistics.median(us / loops[number] for number, us in taken)
            self.values[f"reconciler_to_{name}"] = statistics.median(own[number] / us for number, us in taken)

    # ---- Reaction ------------------------------------------------------------------------------

    def reaction(self):
        count = 10 if self.smoke else 100
        print(f"bench: reaction of run to {count} commits", file=sys.stderr)
        times = []
        with self.store(count) as folder, contextlib.ExitStack() as stack:
            said = folder / "said"
            os.mkfifo(said)
            lines = stack.enter_context(os.fdopen(os.open(said, os.O_RDWR), "r", buffering=1))
            database = stack.enter_context(contextlib.closing(
                sqlite3.connect(folder / ".reconciler/state.db", timeout=20, isolation_level=None)))
            stack.enter_context(self.conductor(folder, "-j", "1", "--settle", "0", "--", self.spawn, "stopped", str(said)))
            for number in range(count):
                what, task = lines.readline().split()
                if what != "ready":
                    sys.exit("bench: the child of a task was not ready")
                time.sleep(0.005 + 0.02 * (number % 7) / 7)  # no phase of the waiting is favoured
                database.execute("UPDATE tasks SET status='DONE' WHERE id=?", (task,))
                begin = time.monotonic_ns()
                times.append((int(lines.readline().split()[1]) - begin) / 1e3)
        self.values["stop_us"] = statistics.median(times)
        self.values["stop_p99_us"] = sorted(times)[len(times) * 99 // 100 - 1]

    # ---- Standing still ------------------------------------------------------------------------

    def idle(self):
        seconds = 0.5 if self.smoke else 5
        print(f"bench: an idle conductor for {seconds} s", file=sys.stderr)
        with self.store(1) as folder, self.conductor(folder, "-j", "1", "--", shutil.which("sleep"), "300") as process:
            shim = until(lambda: children_of(process.pid))[0]
            until(lambda: children_of(shim))
            begun = cpu_ns(process.pid)
            time.sleep(4.5)  # the looks that follow an own commit end after four seconds at most
            before = cpu_ns(process.pid)
            self.values["settle_us"] = (before - begun) / 1e3
            time.sleep(seconds)
            self.values["idle_percent"] = (cpu_ns(process.pid) - before) / seconds / 1e7
            self.values["shim_private_kib"] = private_kib(shim)
            self.values["conductor_private_kib"] = private_kib(process.pid)

    def queue(self):
        count = 1000 if self.smoke else 100000
        print(f"bench: a batch of {count:,} tasks", file=sys.stderr)
        with self.store(count) as folder:
            begin = time.monotonic()
            with self.conductor(folder, "-j", "1", "--", shutil.which("sleep"), "300") as process:
                shim = until(lambda: children_of(process.pid))[0]
                until(lambda: children_of(shim))
                self.values["queue_start_s"] = time.monotonic() - begin
                time.sleep(0.2)
                kib = private_kib(process.pid) - self.values["conductor_private_kib"]
                self.values["queue_bytes_per_task"] = kib * 1024 / count
        self.values["queue_tasks"] = count

    # ---- Many ----------------------------------------------------------------------------------

    def machine(self):
        """The machine alone: what a task of a large batch costs."""
        for size in (100, 1000) if self.smoke else (1000, 100000, 1000000):
            done = subprocess.run([self.build / "bench/measure-batch", str(size), str(SLOTS)], check=True,
                                  capture_output=True, text=True)
            for line in done.stdout.splitlines():
                name, value = line.split("\t")
                self.values.setdefault(name, {})[size] = float(value)

    def flat(self):
        """Many no-op tasks one after the other: what the conductor and its shims hold, early and late."""
        count = 400 if self.smoke else 100000
        print(f"bench: {count:,} tasks, descriptors and memory", file=sys.stderr)
        with self.store(count) as folder:
            begin = time.monotonic()
            with self.conductor(folder, "-j", str(SLOTS), "--", self.true) as process:
                held, seen = [], 0
                database = sqlite3.connect(folder / ".reconciler/state.db", timeout=20, isolation_level=None)
                with contextlib.closing(database):
                    while process.poll() is None:
                        seen, = database.execute("SELECT count(*) FROM rec_attempts").fetchone()
                        held += holds(seen, process.pid)
                        time.sleep(0.002 if self.smoke else 0.5)
            early = next((one for one in held if one[0] >= count / 10), held[0])
            self.values["flat"] = {"tasks": count, "seconds": time.monotonic() - begin, "early": early, "late": held[-1]}

    def all(self):
        self.dispatch()
        self.reaction()
        self.idle()
        self.queue()
        self.machine()
        self.flat()
        return self.values


# ---- Helpers ------------------------------------------------------------------------------------


def quietly(words, **options):
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL, **options)


def timed(words, **options):
    begin = time.monotonic()
    quietly(words, **options)
    return (time.monotonic() - begin) * 1e6


def until(condition):
    deadline = time.monotonic() + LIMIT_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            sys.exit("bench: what was waited for did not come")
        time.sleep(0.002)
    return value


def children_of(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    except OSError:
        return []


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[0])


def private_kib(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


def holds(ended, pid):
    """[(tasks that have ended, open descriptors, private KiB)] of a conductor and its shims; nothing if it has just ended."""
    try:
        pids = [pid, *children_of(pid)]
        files = sum(len(os.listdir(f"/proc/{one}/fd")) for one in pids)
        return [(ended, files, sum(map(private_kib, pids)))]
    except OSError:
        return []


def goals_of(v):
    """As bench/run.py's: (what, measured, goal, measured / goal)."""
    yield ("dispatch of a task / bare posix_spawn loop", f"{v['reconciler_to_loop']:.2f} x", "1.3 x",
           v["reconciler_to_loop"] / 1.3)
    if "reconciler_to_xargs" in v:
        yield "dispatch of a task / xargs -P2", f"{v['reconciler_to_xargs']:.2f} x", "1 x", v["reconciler_to_xargs"]
    yield "from a commit outside to the stop signal, median", f"{v['stop_us'] / 1e3:.2f} ms", "2 ms", v["stop_us"] / 2000
    most = max(v["batch_bytes_per_task"])
    yield (f"memory of a queued task, id included, {most:,} tasks", f"{v['batch_bytes_per_task'][most]:.0f} B", "200 B",
           v["batch_bytes_per_task"][most] / 200)
    yield "private memory of a shim", f"{v['shim_private_kib']:,.0f} KiB", "256 KiB", v["shim_private_kib"] / 256
    yield "an idle conductor, of a core", f"{v['idle_percent']:.4f} %", "0.01 %", v["idle_percent"] / 0.01


NAMES = {"loop": "bare posix_spawn loop", "reconciler": "reconciler run -j 2", "make": "make -j2", "xargs": "xargs -P2 -n1",
         "parallel": "GNU parallel -j2", "tsp": "task-spooler, 2 slots"}


def report(v):
    lines = ["| /bin/true, two at once | / bare loop | µs per task |", "| --- | --- | --- |"]
    for name, text in NAMES.items():
        if f"{name}_us" in v:
            lines.append(f"| {text} | {v[f'{name}_to_loop']:.2f} x | {v[f'{name}_us']:,.0f} |")
        else:
            lines.append(f"| {text} | not installed | |")
    lines += ["", "| running | |", "| --- | --- |",
              f"| commit outside to stop signal (settle 0), median and 99th of a hundred | {v['stop_us'] / 1e3:.2f} and "
              f"{v['stop_p99_us'] / 1e3:.2f} ms |",
              f"| an idle conductor, of a core | {v['idle_percent']:.4f} % |",
              f"| processor time until it is idle, from the start of its child | {v['settle_us'] / 1e3:.2f} ms |",
              f"| private memory of a shim | {v['shim_private_kib']:,.0f} KiB |",
              f"| of a conductor with one task | {v['conductor_private_kib']:,.0f} KiB |",
              f"| beyond that, {v['queue_tasks']:,} tasks queued | {v['queue_bytes_per_task']:,.0f} B/task |",
              f"| from the start of the command to the first child, as many | {v['queue_start_s']:.2f} s |"]
    flat, sizes = v["flat"], sorted(v["batch_idle_us"])
    lines += [f"| {flat['tasks']:,} tasks one after the other: descriptors after {flat['early'][0]:,} and {flat['late'][0]:,} | "
              f"{flat['early'][1]} and {flat['late'][1]} |",
              f"| their private memory, conductor and shims together | {flat['early'][2]:,} and {flat['late'][2]:,} KiB |",
              "", "| the machine alone, by tasks in the batch | " + " | ".join(f"{size:,}" for size in sizes) + " |",
              "| --- " * (len(sizes) + 1) + "|"]
    for name, text, digits in (("batch_bytes_per_task", "memory, ids included, B/task", 0),
                               ("batch_load_us_per_task", "taking it up, µs/task", 2),
                               ("batch_turn_us", "a turn: an end, the next claim, its start, µs", 2),
                               ("batch_idle_us", "an idle plan, µs", 3)):
        lines.append(f"| {text} | " + " | ".join(f"{v[name][size]:,.{digits}f}" for size in sizes) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(pathlib.Path(__file__).resolve().parent.parent / "build-release"))
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--tasks", type=int, default=None)
    options = parser.parse_args()
    values = Dispatch(options.build, options.smoke, options.rounds, options.tasks).all()
    for what, measured, goal, share in goals_of(values):
        print(f"{what}: {measured} (goal {goal}){'' if share <= 1 else ' MISSED'}")
    print("\n".join(report(values)))


if __name__ == "__main__":
    main()
