"""check_tasks from Python: against the C call, and against a loop over Python's own sqlite3 (bench/measure-python.py)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "tests/data/codeframe/codeframe-schema.sql"
SIZES = {1000: 201, 100000: 21}  # tasks: pairs
SMOKE = {1000: 3}


def package(build):
    """The folder with the Python package built against that build folder, made if need be; None without cffi."""
    if subprocess.run([sys.executable, "-c", "import cffi, setuptools"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("bench: Python is left out (cffi or setuptools is missing: scripts/install-deps check)", file=sys.stderr)
        return None
    folder = build / "bindings/python/package"
    if not (build / "bindings/python/python-package.stamp").exists():  # else ninja keeps it
        stamp = build / "python-package.stamp"
        subprocess.run([ROOT / "bindings/python/build-for-tests", ROOT / "bindings/python", build, folder, sys.executable,
                        stamp], check=True)
    return folder


def measure(build, smoke):
    """{size: {name: value}}, or {} where it cannot be measured."""
    build, values = pathlib.Path(build).resolve(), {}
    module = build / "bench/measure-call.so"
    place = package(build) if module.exists() else None
    for size, pairs in (SMOKE if smoke else SIZES).items():
        if place is None:
            break
        folder = tempfile.mkdtemp(prefix="reconciler-bench-")
        try:
            print(f"bench: Python, {size:,} tasks, {pairs} pairs", file=sys.stderr)
            subprocess.run([build / "bench/make-store", str(size), folder, SCHEMA], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([sys.executable, ROOT / "bench/measure-python.py", folder, str(pairs), module],
                                  env=dict(os.environ, PYTHONPATH=str(place), PYTHONDONTWRITEBYTECODE="1"),
                                  stdout=subprocess.PIPE, text=True, check=True)
        finally:
            shutil.rmtree(folder)
        values[size] = {name: float(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}
    return values


def goals_of(values):
    """Yields (what, measured text, goal text, measured / goal)."""
    for size, v in values.items():
        yield (f"check_tasks from Python, {size:,} ids / the C call", f"{v['python_ratio']:.2f} x", "3 x",
               v["python_ratio"] / 3)
        yield (f"a loop over Python's sqlite3, {size:,} ids / check_tasks from Python",
               f"{v['python_plain_ratio']:.1f} x", "at least 4 x", 4 / v["python_plain_ratio"])


def report(values):
    """Rows of Markdown."""
    rows = ["| check_tasks with a batch state, ms | " + " | ".join(f"{size:,} ids" for size in values) + " |",
            "| --- |" + " --- |" * len(values)]
    for what, key in (("from C: state, check, every result read", "python_c_us"),
                      ("from Python: a list of results", "python_us"),
                      ("a loop over Python's sqlite3, one connection, one query per id", "python_plain_us")):
        rows.append(f"| {what} | " + " | ".join(f"{v[key] / 1e3:,.2f}" for v in values.values()) + " |")
    return rows
