#!/usr/bin/env python3
"""Measure how long conductors take together for the same no-op tasks on one PostgreSQL: one, two, four, eight of them.

usage: tests/postgres/with-cluster bench/scaling.py [--build FOLDER] [--tasks N] [--rounds N] [--conductors N,N,...]

Each conductor is a process with a state folder of its own, as on a host of its own, four slots, and its share of the
tasks, named in its arguments. Prints "CONDUCTORS TAB SECONDS", medians over the rounds; in each round every number of
conductors has its turn. The whole command is measured, start and end included. The schema reconciler of the server is
dropped (REC_TEST_POSTGRES)."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SLOTS = 4
CONDUCTORS = (1, 2, 4, 8)
TASKS = 400
ROUNDS = 3
LIMIT_S = 120


def psql(server, text):
    done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", server, "-c", text], capture_output=True, text=True,
                          check=False, env={**os.environ, "PGOPTIONS": "-c client_min_messages=error"})
    if done.returncode:
        sys.exit(f"scaling: {done.stderr.strip()}")
    return done.stdout.strip()


def shares(tasks, conductors):
    """The ids of each conductor."""
    return [[f"T{i:07}" for i in range(number, tasks, conductors)] for number in range(conductors)]


def take(command, server, tasks, conductors):
    """Seconds for all tasks, in a schema made for it."""
    psql(server, "DROP SCHEMA IF EXISTS reconciler CASCADE")
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-", ignore_cleanup_errors=True) as folder:
        hosts = [{**os.environ, "RECONCILER_STORE": server, "XDG_STATE_HOME": f"{folder}/{number}",
                  "XDG_CONFIG_HOME": f"{folder}/none"} for number in range(conductors)]
        subprocess.run([command, "-q", "--store", server, "init"], env=hosts[0], check=True, stdout=subprocess.DEVNULL)
        psql(server, f"INSERT INTO reconciler.tasks(id,title) SELECT 'T'||lpad(i::text,7,'0'),'a task' "
             f"FROM generate_series(0,{tasks - 1}) i")
        psql(server, "ANALYZE reconciler.tasks")
        begun = time.monotonic()
        running = [subprocess.Popen([command, "-q", "run", *ids, "-j", str(SLOTS), "--", "true"], env=host, cwd=folder,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                   for host, ids in zip(hosts, shares(tasks, conductors))]
        statuses = [process.wait(timeout=LIMIT_S) for process in running]
        took = time.monotonic() - begun
    done = int(psql(server, "SELECT count(*) FROM reconciler.attempts a JOIN reconciler.tasks t ON t.id=a.task_id "
                            "WHERE t.status='DONE' AND t.attempt=1"))
    if any(statuses) or done != tasks:
        sys.exit(f"scaling: {conductors} conductors: exit statuses {statuses}, {done} of {tasks} tasks done once")
    return took


def measure(build, smoke):
    """{"tasks": how many, "seconds": {conductors: seconds}}; {} without the command. Only where a server is installed."""
    command = pathlib.Path(build).resolve() / "src/cli/reconciler"
    if not command.exists():
        return {}
    tasks = 24 if smoke else TASKS
    words = ["--build", str(build), "--tasks", str(tasks), *(["--rounds", "1", "--conductors", "1,2"] if smoke else [])]
    environment = {name: value for name, value in os.environ.items() if name != "REC_TEST_POSTGRES"}
    print("bench: PostgreSQL, several conductors", file=sys.stderr)
    cluster = pathlib.Path(__file__).resolve().parent.parent / "tests/postgres/with-cluster"
    done = subprocess.run([cluster, sys.executable, __file__, *words], env=environment, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"bench: scaling: {done.stderr.strip() or done.returncode}")
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return {"tasks": tasks, "seconds": {int(count): float(seconds) for count, seconds in lines}}


def report(values):
    """Rows of Markdown."""
    tasks, values = values["tasks"], values["seconds"]
    alone = values[min(values)]
    return ["", f"No-op tasks ({tasks}) by several conductors at once, {SLOTS} slots each, start and end of the command included; "
            "all of them, the tasks and the server share this machine's cores.", "",
            "| conductors | " + " | ".join(map(str, values)) + " |", "| --- |" + " --- |" * len(values),
            "| s | " + " | ".join(f"{seconds:.2f}" for seconds in values.values()) + " |",
            "| tasks a second | " + " | ".join(f"{tasks / seconds:.0f}" for seconds in values.values()) + " |",
            "| the time of one / theirs | " + " | ".join(f"{alone / seconds:.2f}" for seconds in values.values()) + " |"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release")
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--conductors", default=",".join(map(str, CONDUCTORS)))
    options = parser.parse_args()
    command, server = pathlib.Path(options.build).resolve() / "src/cli/reconciler", os.environ["REC_TEST_POSTGRES"]
    counts = list(map(int, options.conductors.split(",")))
    taken = {count: [] for count in counts}
    for number in range(options.rounds):
        for count in counts if number % 2 == 0 else reversed(counts):
            taken[count].append(take(command, server, options.tasks, count))
    for count in counts:
        print(f"{count}\t{statistics.median(taken[count]):.3f}")


if __name__ == "__main__":
    main()
