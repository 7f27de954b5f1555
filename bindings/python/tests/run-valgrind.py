#!/usr/bin/env python3
"""Runs tests of the package under valgrind.

usage: run-valgrind.py TEST_FILE...

Fails if a test fails, on every access to memory that is not ours or not initialised, and on every definite leak of
memory that a function of the library or of the glue asked for. What Python and cffi leave behind at their end is
theirs. Exit status 77: there is no valgrind.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

OURS = re.compile(r"\b(?:rec|glue)_\w+ \(")


def records(text):
    """Each record of valgrind's log, as one text."""
    lines = [re.sub(r"^==\d+== ?", "", line) for line in text.splitlines()]
    return [record for record in "\n".join(lines).split("\n\n") if record.strip()]


def is_fault(record):
    """Is it one that counts?"""
    return not re.search(r"definitely lost", record) or bool(OURS.search(record))


def main():
    valgrind = shutil.which("valgrind")
    if not valgrind:
        print("valgrind is not installed (scripts/install-deps ci)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        done = subprocess.run(
            [valgrind, "--quiet", "--leak-check=full", "--show-leak-kinds=definite", f"--log-file={log}", sys.executable,
             "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]],
            env=dict(os.environ, PYTHONMALLOC="malloc"), check=False)
        with open(log, encoding="utf-8", errors="replace") as file:
            faults = [record for record in records(file.read()) if is_fault(record)]
    for fault in faults:
        print(fault, end="\n\n")
    print(f"valgrind: {len(faults)} faults")
    return 1 if done.returncode or faults else 0


if __name__ == "__main__":
    sys.exit(main())
