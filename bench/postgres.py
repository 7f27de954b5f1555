"""The PostgreSQL store against a bare client (bench/measure-postgres.c), beside a server of this run's own, which is gone
afterwards (tests/postgres/with-cluster)."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = (1000, 10000, 100000, 1000000)
SMOKE = (1000,)
CONNECTIONS = 4
SKIPPED = 77


def measure(build, smoke):
    """({size: {name: value}}, None), or ({}, why it cannot be measured)."""
    program, values = pathlib.Path(build).resolve() / "bench/measure-postgres", {}
    if not program.exists():
        return {}, "built without libpq"
    # A server that somebody named for tests is not for this: the schema is dropped.
    environment = {name: value for name, value in os.environ.items() if name != "REC_TEST_POSTGRES"}
    for size in SMOKE if smoke else SIZES:
        print(f"bench: PostgreSQL, {size:,} tasks", file=sys.stderr)
        done = subprocess.run([ROOT / "tests/postgres/with-cluster", program, str(size), str(CONNECTIONS)], env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode == SKIPPED:
            return {}, done.stdout.strip().removeprefix("skipped: ")
        if done.returncode:
            sys.exit(f"bench: measure-postgres: {done.stderr.strip() or done.returncode}")
        values[size] = {name: float(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}
    return values, None


def goals_of(values):
    """As bench/run.py's: (what, measured, goal, measured / goal)."""
    for size, v in values.items():
        for what, key in (("", "snapshot_ratio"), (", a tenth BLOCKED", "blocked_ratio"), (" by their ids", "ids_ratio")):
            yield (f"PostgreSQL, snapshot of {size:,} tasks{what} / a bare client", f"{v[key]:.2f} x", "1.25 x",
                   v[key] / 1.25)
    for size, v in values.items():
        yield (f"PostgreSQL, reaction to a commit, {size:,} tasks, median", f"{v['reaction_us'] / 1e3:.3f} ms", "5 ms",
               v["reaction_us"] / 5000)
    for size, v in values.items():
        yield (f"PostgreSQL, claims of {CONNECTIONS} connections, {size:,} tasks: a bare loop's in a second / ours",
               f"{v['claims_ratio']:.2f} x", "1.3 x", v["claims_ratio"] / 1.3)


def report(values):
    """Rows of Markdown."""
    rows = ["The server keeps its files in memory and never waits for a disk, on both sides: what is compared is work.", "",
            "| tasks | unit | " + " | ".join(f"{size:,}" for size in values) + " |",
            "| --- | --- |" + " --- |" * len(values)]
    for what, key, unit, factor in (
            ("snapshot, by the wall", "snapshot_us", "ms", 1e-3),
            ("bare client: the same rows, looked at", "snapshot_bare_us", "ms", 1e-3),
            ("snapshot, a tenth BLOCKED with two blockers each", "blocked_us", "ms", 1e-3),
            ("bare client: the same rows and all blockers", "blocked_bare_us", "ms", 1e-3),
            ("snapshot of all by their ids", "ids_us", "ms", 1e-3),
            ("bare client: id = ANY (the same)", "ids_bare_us", "ms", 1e-3),
            ("idle look at the feed", "idle_us", "µs", 1),
            (f"claims of {CONNECTIONS} connections, sixteen a group", "claims_per_s", "1/s", 1),
            ("bare client: one UPDATE … SKIP LOCKED … RETURNING each", "claims_bare_per_s", "1/s", 1),
            ("bare client: the same, sixteen at once", "claims_bare_grouped_per_s", "1/s", 1)):
        rows.append(f"| {what} | {unit} | " + " | ".join(f"{v[key] * factor:,.3g}" if v[key] * factor < 100 else
                                                         f"{v[key] * factor:,.0f}" for v in values.values()) + " |")
    return rows
