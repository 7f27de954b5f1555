#!/usr/bin/env python3
"""Measure what there is to do against the least that it could take, in the same run, and say which goals are met.

usage: bench/run.py [--build FOLDER] [--only PART,...] [--sizes N,N,...] [--write FILE] [--check] [--smoke]

  --build FOLDER  where the programs were built (build-release)
  --only PART,... of store, files, watch, python, postgres, run (all of them)
  --sizes N,...   tasks in the store (1000,10000,100000,1000000)
  --write FILE    write the tables there as Markdown too
  --check         exit 1 if a goal is missed by more than a tenth (timing noise)
  --smoke         small and short: does everything still run? Figures mean nothing then

Needs about 1 GiB in the temporary folder for 1,000,000 tasks. Ratios are medians over pairs of runs, one right after
the other, so that they hold on a busy machine; times are what this machine gave and no promise.
"""
import argparse
import datetime
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import calls
import dispatch
import postgres
import scaling

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "tests/data/codeframe/codeframe-schema.sql"
REACTION_SIZE = 10000
FILES_SIZE_MAX = 100000
TOLERANCE = 1.10
PARTS = ("store", "files", "watch", "python", "postgres", "run")


def pairs_for(size, smoke):
    return 3 if smoke else max(9, min(201, 4000000 // size))


class Bench:
    """Runs the measuring programs and keeps what they print, by size."""

    def __init__(self, build, smoke):
        self.build = pathlib.Path(build).resolve()
        self.command = self.build / "src/cli/reconciler"
        self.smoke = smoke
        self.values = {}
        self.left_out = {}  # part: why

    def run(self, size, program, *arguments):
        words = [str(self.build / "bench" / program), *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"bench: {program}: {result.stderr.strip() or result.returncode}")
        for line in result.stdout.splitlines():
            name, value = line.split("\t")
            self.values.setdefault(size, {})[name] = float(value)

    def size(self, size):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        pairs = pairs_for(size, self.smoke)
        try:
            print(f"bench: {size:,} tasks, {pairs} pairs", file=sys.stderr)
            self.run(size, "make-store", size, folder, SCHEMA)
            self.run(size, "measure-check", folder, pairs)
            if self.command.exists():
                self.run(size, "measure-command", self.command, folder, max(pairs // 2, 3))
            self.run(size, "measure-feed", folder, 3 if self.smoke else 9)
        finally:
            shutil.rmtree(folder)

    def files(self, sizes, changes):
        """A directory of task files; not beyond a size that is made in reasonable time."""
        for size in sizes:
            if size > FILES_SIZE_MAX:
                continue
            folder = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
            try:
                print(f"bench: {size:,} task files", file=sys.stderr)
                self.run(size, "measure-files", folder / "tasks", size, 3 if self.smoke else 9, changes)
            finally:
                shutil.rmtree(folder)

    def reaction(self, commits):
        if not self.command.exists():
            return
        folder = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            print(f"bench: reaction to {commits} commits", file=sys.stderr)
            self.run("watch", "make-store", REACTION_SIZE, folder, SCHEMA)
            subprocess.run([self.command, "init", "-q", "-S", folder / "state.db"], check=True, stdout=subprocess.DEVNULL)
            for mode in ("NORMAL", "FULL"):
                self.run(f"watch {mode}", "measure-reaction", self.command, folder, commits, mode)
        finally:
            shutil.rmtree(folder)

    def parts(self, wanted, sizes):
        """Measures those of PARTS."""
        commits = 20 if self.smoke else 1000
        if "store" in wanted:
            for size in sizes:
                self.size(size)
        if "files" in wanted:
            self.files(sizes, commits)
        if "watch" in wanted:
            self.reaction(commits)
        if "python" in wanted and self.command.exists():
            self.values["calls"] = calls.measure(self.build, self.smoke)
        if "postgres" in wanted:
            self.values["postgres"], self.left_out["postgres"] = postgres.measure(self.build, self.smoke)
            if self.left_out["postgres"]:
                print(f"bench: PostgreSQL is left out: {self.left_out['postgres']}", file=sys.stderr)
            else:
                self.values["scaling"] = scaling.measure(self.build, self.smoke)
        if "run" in wanted and self.command.exists():
            self.values["dispatch"] = dispatch.Dispatch(self.build, self.smoke).all()


def sizes_with(values, key):
    """The sizes for which there is that value, in order."""
    return sorted(size for size in values if isinstance(size, int) and key in values[size])


def goals_of(values):
    """Yields (what, measured text, goal text, measured / goal)."""
    if "dispatch" in values:
        yield from dispatch.goals_of(values["dispatch"])
    yield from calls.goals_of(values.get("calls", {}))
    yield from store_goals_of(values, sizes_with(values, "check_ratio"))
    for size in sizes_with(values, "files_ratio"):
        v = values[size]
        yield (f"task files, first look at {size:,} / reading and parsing them bare", f"{v['files_ratio']:.2f} x",
               "1.25 x", v["files_ratio"] / 1.25)
        yield (f"task files, the same once they are indexed, {size:,} tasks", f"{v['files_again_ratio']:.2f} x", "1.25 x",
               v["files_again_ratio"] / 1.25)
        yield f"task files, idle look, {size:,} tasks", f"{v['files_idle_us']:.2f} µs", "5 µs", v["files_idle_us"] / 5
        yield (f"task files, reaction to an edit, {size:,} tasks, median", f"{v['files_reaction_us'] / 1e3:.3f} ms", "1 ms",
               v["files_reaction_us"] / 1000)
    yield from postgres.goals_of(values.get("postgres", {}))
    for mode in ("NORMAL", "FULL"):
        v = values.get(f"watch {mode}")
        if v:
            yield (f"reaction of watch, foreign sync {mode}, median", f"{v['reaction_us'] / 1e3:.3f} ms", "1 ms",
                   v["reaction_us"] / 1000)
            yield f"commits missed, foreign sync {mode}", f"{v['reaction_missed']:.0f}", "0", v["reaction_missed"] * 9


def store_goals_of(values, sizes):
    """The same of SQLite."""
    if not sizes:
        return
    for size in sizes:
        v = values[size]
        yield f"check, {size:,} tasks / scan by hand", f"{v['check_ratio']:.2f} x", "1.25 x", v["check_ratio"] / 1.25
    for size in sizes:
        v = values[size]
        if "command_us" not in v:
            continue
        if size >= 100000:
            yield (f"whole command, {size:,} tasks / scan by hand", f"{v['command_ratio']:.2f} x", "3 x",
                   v["command_ratio"] / 3)
        else:
            limit = 3 * v["command_reference_us"] + 5000
            yield (f"whole command, {size:,} tasks", f"{v['command_us'] / 1e3:.2f} ms",
                   f"3 x scan + 5 ms = {limit / 1e3:.2f} ms", v["command_us"] / limit)
    if "start_us" in values[sizes[0]]:
        start = values[sizes[0]]["start_us"]
        yield "start-up of the command", f"{start / 1e3:.2f} ms", "5 ms", start / 5000
    for size in sizes:
        v = values[size]  # 5 µs is 2.2 times what asking SQLite alone costs on a quiet machine; on a busy one that holds
        yield (f"idle look, {size:,} tasks", f"{v['idle_us']:.2f} µs = {v['idle_ratio']:.2f} x data_version",
               "5 µs or 2.2 x", min(v["idle_us"] / 5, v["idle_ratio"] / 2.2))
    growth = values[sizes[-1]]["idle_ratio"] / values[sizes[0]]["idle_ratio"]
    yield f"idle look, {sizes[-1]:,} / {sizes[0]:,} tasks", f"{growth:.2f} x", "flat (1.5 x)", growth / 1.5
    for size in sizes[-1:]:
        memory = values[size]["bytes_per_task"]
        yield f"memory beyond the ids, {size:,} tasks", f"{memory:.0f} B/task", "100 B/task", memory / 100


ROWS = [  # (what, key, unit, factor)
    ("check / scan by hand", "check_ratio", "x", 1),
    ("check / the same scan reading every row", "check_all_ratio", "x", 1),
    ("check of the store alone (no batch) / scan by hand", "store_alone_ratio", "x", 1),
    ("whole command / scan by hand", "command_ratio", "x", 1),
    ("check", "check_us", "ms", 1e-3),
    ("scan by hand", "check_reference_us", "ms", 1e-3),
    ("whole command (read, check, print NDJSON)", "command_us", "ms", 1e-3),
    ("the same, by the wall", "command_wall_us", "ms", 1e-3),
    ("start-up of the command", "start_us", "ms", 1e-3),
    ("the same, by the wall", "start_wall_us", "ms", 1e-3),
    ("10 ids", "few_us", "µs", 1),
    ("10 ids, one BLOCKED, store without our index", "few_blocked_us", "µs", 1),
    ("10 ids, one BLOCKED, store with it", "few_attached_us", "µs", 1),
    ("watch: first look", "first_look_us", "ms", 1e-3),
    ("watch: idle look", "idle_us", "µs", 1),
    ("PRAGMA data_version alone", "idle_bare_us", "µs", 1),
    ("watch: look after 1 change", "tick_1_us", "µs", 1),
    ("watch: look after 10 changes", "tick_10_us", "µs", 1),
    ("watch: look after 1,000 changes", "tick_1000_us", "µs", 1),
    ("task files: first look", "files_first_us", "ms", 1e-3),
    ("task files: first look once they are indexed", "files_again_us", "ms", 1e-3),
    ("task files: read and parsed bare", "files_bare_us", "ms", 1e-3),
    ("task files: look after 1 edit", "files_tick_1_us", "µs", 1),
    ("task files: look after 10 edits", "files_tick_10_us", "µs", 1),
    ("task files: look after 1,000 edits", "files_tick_1000_us", "ms", 1e-3),
    ("task files: reaction to an edit, 99th percentile", "files_reaction_p99_us", "ms", 1e-3),
    ("memory beyond the ids, belief and check", "bytes_per_task", "B/task", 1),
    ("of that, the belief", "belief_bytes_per_task", "B/task", 1),
    ("largest resident set of the command", "command_rss_kib", "MiB", 1 / 1024),
    ("batch state parsed", "parse_mb_per_s", "MB/s", 1),
]


INTRODUCTION = [
    "Ratios are medians over pairs of runs in the same program, one right after the other; compare those. Times are what",
    "this machine gave: processor time (user and system), since nothing here waits, except reaction, PostgreSQL and what",
    "says so, which are by the wall.",
    "",
    "The scan by hand (bench/reference.c) is C written for one schema and for UUIDs: it reads only the rows whose status",
    "matters, hashes the batch, looks at blockers. The check decides every task, takes any id and survives any row; it",
    "may cost less all the same, because it reads indexes where the scan reads rows.",
]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(rows):
    return ["| " + " | ".join(row) + " |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]]]


def report(values, left_out, command):
    sizes = sorted(size for size in values if isinstance(size, int))
    goals = [["", "measured", "goal", ""]]
    goals += [[what, measured, goal, "met" if share <= 1 else "**missed**"]
              for what, measured, goal, share in goals_of(values)]
    detail = [["tasks", "unit", *(f"{size:,}" for size in sizes)]]
    for what, key, unit, factor in ROWS:
        if any(key in values[size] for size in sizes):
            detail.append([what, unit, *(number(values[size][key] * factor) if key in values[size] else "-"
                                         for size in sizes)])
    return ["# Benchmarks", "", f"Made by `{command}` on {datetime.date.today().isoformat()}, {machine()}.",
            "", *INTRODUCTION, "", "## Goals", "", *table(goals), "",
            *(["## By size", "", *table(detail), ""] if sizes else []),
            *(["## From Python", "", *calls.report(values["calls"]), ""] if values.get("calls") else []),
            *(["## PostgreSQL", "", *postgres.report(values["postgres"]), ""] if values.get("postgres") else []),
            *([*scaling.report(values["scaling"]), ""] if values.get("scaling") else []),
            *(["## PostgreSQL", "", f"Left out: {left_out['postgres']}.", ""] if left_out.get("postgres") else []),
            *(["## Running batches", "", *dispatch.report(values["dispatch"]), ""] if "dispatch" in values else [])]


def machine():
    model = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{os.cpu_count()} cores ({model}), {platform.system()} {platform.machine()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build-release"))
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--sizes", default=None)
    parser.add_argument("--write", default=None)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    parts = options.only.split(",")
    if set(parts) - set(PARTS):
        parser.error(f"--only {options.only}: a part is none of {', '.join(PARTS)}")
    sizes = options.sizes or ("1000,3000" if options.smoke else "1000,10000,100000,1000000")
    bench = Bench(options.build, options.smoke)
    bench.parts(parts, list(map(int, sizes.split(","))))
    lines = report(bench.values, bench.left_out, "make bench" if not options.sizes else f"bench/run.py --sizes {sizes}")
    print("\n".join(lines))
    if options.write:
        pathlib.Path(options.write).write_text("\n".join(lines), encoding="utf-8")
    missed = [what for what, _, _, share in goals_of(bench.values) if share > TOLERANCE]
    if options.check and missed:
        sys.exit(f"bench: missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
