"""pip install without network: against the tree's library, against an installed one, with the system's Python and with
another that stands first on PATH."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
TREE = PACKAGE.parent.parent
BUILD = os.environ["RECONCILER_BUILD"]
PROGRAM = """
import sys, reconciler
from reconciler import Reconciler, TaskStatus, blockers, tasks
assert "site-packages" in reconciler.__file__, reconciler.__file__
workspace = reconciler.create_or_load_workspace(sys.argv[1])
task = tasks.create(workspace, "a task", status=TaskStatus.BLOCKED)
question = blockers.create(workspace, "why?", task.id)
blockers.answer(workspace, question.id, "so")
assert Reconciler(workspace).check_tasks([task.id], {task.id: "IN_PROGRESS"})[0].action == "KILL"
assert Reconciler(workspace).apply()[0].applied
assert tasks.get(workspace, task.id).status is TaskStatus.READY
import os
assert os.path.exists(os.path.join(os.path.dirname(reconciler.__file__), "py.typed"))
print(reconciler.__version__)
"""


def run(*words, **environment):
    """Runs a program that must succeed; gives its output."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "RECONCILER_BUILD")}
    done = subprocess.run([str(word) for word in words], env=dict(kept, **environment), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def tree(tmp_path):
    """A copy of what pip needs of the source tree: it builds where the sources are."""
    shutil.copytree(TREE / "include", tmp_path / "tree/include")
    shutil.copytree(PACKAGE, tmp_path / "tree/bindings/python",
                    ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    return tmp_path / "tree/bindings/python"


def install(python, folder, tree, **environment):
    """A virtual environment with the package in it; gives its Python."""
    run(python, "-m", "venv", "--system-site-packages", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--no-index", "--no-build-isolation", "--quiet",
        "--disable-pip-version-check", tree, **environment)
    return folder / "bin/python"


def test_against_the_tree(tree, tmp_path):
    python = install(sys.executable, tmp_path / "venv", tree, RECONCILER_BUILD=BUILD)
    (tmp_path / "store").mkdir()
    assert run(python, "-c", PROGRAM, tmp_path / "store").strip() == "0.1.0"
    run(python, "-m", "pip", "uninstall", "--yes", "--quiet", "reconciler")
    assert not list((tmp_path / "venv").glob("**/site-packages/reconciler/_native*"))


def test_against_the_whole_tree_which_builds_its_library(tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(TREE, whole, ignore=lambda folder, names: [
        name for name in names if name.startswith("build") and (pathlib.Path(folder) / name).is_dir() or name == ".git"])
    nothing = tmp_path / "nothing"  # to be found by pkg-config: an installed library goes before the tree's
    nothing.mkdir()
    (nothing / "libreconciler.pc").write_text("Name: another\nDescription: another\nVersion: 0\n", encoding="utf-8")
    python = install(sys.executable, tmp_path / "venv", whole / "bindings/python", PKG_CONFIG_PATH=str(nothing))
    (tmp_path / "store").mkdir()
    assert run(python, "-c", PROGRAM, tmp_path / "store").strip() == "0.1.0"


def test_against_an_installed_library(tree, tmp_path):
    root = tmp_path / "root"
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root, "--quiet")
    [description] = root.glob("**/libreconciler.pc")
    text = description.read_text(encoding="utf-8")
    prefix = next(line for line in text.splitlines() if line.startswith("prefix="))
    description.write_text(text.replace(prefix, f"prefix={root}{prefix[len('prefix='):]}"), encoding="utf-8")
    python = install(sys.executable, tmp_path / "venv", tree, PKG_CONFIG_PATH=str(description.parent))
    libraries = str(description.parent.parent)
    (tmp_path / "store").mkdir()
    assert run(python, "-c", PROGRAM, tmp_path / "store", LD_LIBRARY_PATH=libraries).strip() == "0.1.0"
    [module] = (tmp_path / "venv").glob("**/site-packages/reconciler/_native*.so")
    assert "libreconciler.so.0" in run("ldd", module, LD_LIBRARY_PATH=libraries)


@pytest.fixture
def wheel(tmp_path):
    """A folder with Debian's wheel, which is pure Python, for a Python that has none."""
    folder = tmp_path / "wheel"
    folder.mkdir()
    for path in pathlib.Path("/usr/lib/python3/dist-packages").glob("wheel*"):
        (folder / path.name).symlink_to(path)
    return folder


def test_with_another_python_first_on_path(tree, tmp_path, wheel):
    other = shutil.which("python3")
    wanted = "import sys, cffi, setuptools, venv; print(sys.version_info >= (3, 9) and sys.prefix)"
    probe = subprocess.run([other, "-c", wanted], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=False)
    if probe.stdout.strip() in ("", "False", sys.prefix):
        pytest.skip(f"{other} is this Python, or has not all of cffi, setuptools, venv")
    python = install(other, tmp_path / "venv", tree, RECONCILER_BUILD=BUILD, PYTHONPATH=str(wheel))
    (tmp_path / "store").mkdir()
    assert run(python, "-c", PROGRAM, tmp_path / "store").strip() == "0.1.0"
    (tmp_path / "second").mkdir()
    assert run(python, "-c", PROGRAM, tmp_path / "second", RECONCILER_SQLITE="helper").strip() == "0.1.0"
