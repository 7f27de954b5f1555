"""What the tests of the Python package share."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import reconciler
from reconciler import tasks

CODEFRAME = pathlib.Path(os.environ["REC_TEST_DATA"]) / "codeframe"
COMMAND = os.environ["RECONCILER"]
DEADLINE_S = 30  # for what should take milliseconds


@pytest.fixture
def workspace(tmp_path):
    """A new, empty workspace."""
    with reconciler.create_or_load_workspace(tmp_path) as made:
        yield made


@pytest.fixture
def add(workspace):
    """add(status, id=...): a task."""
    def create(status, **columns):
        return tasks.create(workspace, "a task", status=status, **columns)
    return create


@pytest.fixture
def codeframe(tmp_path):
    """codeframe(name): a folder with a copy of that codeframe database, quiet for long."""
    def place(name):
        folder = tmp_path / name / ".codeframe"
        folder.mkdir(parents=True)
        shutil.copyfile(CODEFRAME / f"codeframe-{name}.db", folder / "state.db")
        os.utime(folder / "state.db", (1767225600, 1767225600))
        return folder.parent
    return place


def command(*arguments, cwd, **options):
    """Runs the command; gives its standard output."""
    done = subprocess.run([COMMAND, *map(str, arguments)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=DEADLINE_S, **options)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def row_of(result):
    """A result as the command prints it."""
    return {
        "task_id": result.task_id,
        "current_status": getattr(result.current_status, "value", result.current_status),
        "external_status": getattr(result.external_status, "value", result.external_status),
        "action": result.action.value,
        "reason": result.reason,
        "source": result.source,
        "discrepancy": result.discrepancy,
    }


def rows_of(text):
    """What the command printed as NDJSON."""
    return [json.loads(line) for line in text.splitlines()]


def python(program, *arguments, **options):
    """Runs a Python program beside the test; gives the CompletedProcess."""
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=120, **options)
