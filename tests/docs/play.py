#!/usr/bin/env python3
"""What a page of docs/ shows is what happens: its programs are written to files, its commands run, their output compared.

usage: play.py PAGE...
environment: RECONCILER, the command; BUILD, the build folder; PACKAGE, where the Python package is ("": nowhere);
             REC_TEST_DATA, the folder with codeframe's databases

A block "```LANGUAGE FILE" is a file; console blocks are one session, as in README.md (tests/e2e/test_readme.py). The
session begins in an empty folder; for the page on codeframe, one that holds a workspace of codeframe's.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from test_readme import fits, steps  # noqa: E402

BUILD = pathlib.Path(os.environ["BUILD"])
DESCRIPTION = """Name: libreconciler
Description: the library in the build folder
Version: 0
Cflags: -I{root}/include
Libs: -L{build}/src/lib -lreconciler
"""


def files(text):
    """(name, content) of every block with a file name."""
    return re.findall(r"^```\w+ ([\w.-]+)\n(.*?)^```$", text, re.S | re.M)


def environment(folder):
    """What the examples need, as if everything was installed."""
    programs, descriptions = folder / "bin", folder / "pkgconfig"
    programs.mkdir(parents=True)
    descriptions.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    (descriptions / "libreconciler.pc").write_text(DESCRIPTION.format(root=ROOT, build=BUILD), encoding="utf-8")
    return {"PATH": f"{pathlib.Path(os.environ['RECONCILER']).resolve().parent}:{programs}:{os.environ['PATH']}",
            "HOME": str(folder), "LC_ALL": "C.UTF-8", "PKG_CONFIG_PATH": str(descriptions),
            "LD_LIBRARY_PATH": str(BUILD / "src/lib"), "PYTHONPATH": os.environ.get("PACKAGE", ""),
            "PYTHONDONTWRITEBYTECODE": "1"}


def play(page, folder):
    """Runs the page; gives how many commands it has and what was not as shown."""
    text = page.read_text(encoding="utf-8")
    place, wrong = folder / "place", []
    place.mkdir()
    if page.stem == "codeframe":
        (place / ".codeframe").mkdir()
        shutil.copyfile(pathlib.Path(os.environ["REC_TEST_DATA"]) / "codeframe/codeframe-small.db", place / ".codeframe/state.db")
        os.utime(place / ".codeframe/state.db", (1767225600, 1767225600))
    for name, content in files(text):
        (place / name).write_text(content, encoding="utf-8")
    variables = environment(folder)
    session = steps(text)
    for line, command, expected in session:
        done = subprocess.run(["bash", "-c", command], cwd=place, env=variables, timeout=120, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, text=True, check=False)
        if not fits(expected, done.stdout.splitlines()):
            wrong.append(f"{page.name}:{line}: $ {command}\nexpected: {expected}\nshown:    {done.stdout.splitlines()}")
    return len(session), wrong


def main():
    failed = False
    for name in sys.argv[1:]:
        page = pathlib.Path(name)
        if page.stem == "python" and not os.environ.get("PACKAGE"):
            print(f"{page.name}: the Python package is not built here")
            return 77
        with tempfile.TemporaryDirectory(prefix="reconciler-docs-") as folder:
            count, wrong = play(page, pathlib.Path(folder))
        print(f"{page.name}: {count} commands, {len(wrong)} not as shown", *wrong, sep="\n")
        failed = failed or bool(wrong) or count == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
