#!/usr/bin/env python3
"""What README.md shows is what happens: every command of its console blocks is run, its output compared.

environment: RECONCILER, the command

The blocks are one session: an empty folder, one command after the other ("$ COMMAND", with "> " for further
lines of it), what it prints to the terminal below. A line "..." stands for any lines, a "…" in a line for any text.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["RECONCILER"]).resolve()
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def steps(text):
    """(line number, command, expected output) of each command in the console blocks."""
    found = []
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.S | re.M):
        line = text.count("\n", 0, block.start()) + 2
        for number, row in enumerate(block.group(1).splitlines(), line):
            if row.startswith("$ "):
                found.append([number, row[2:], []])
            elif row.startswith("> ") and found and not found[-1][2]:
                found[-1][1] += "\n" + row[2:]
            else:
                found[-1][2].append(row)
    return found


def fits(expected, shown):
    pattern = "\n".join(".*" if row == "..." else re.escape(row).replace("…", "[^\n]+") for row in expected)
    return re.fullmatch(pattern, "\n".join(shown), re.S) is not None


class ReadmeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="reconciler-readme-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": self.folder, "LC_ALL": "C.UTF-8"}

    def test_the_examples_are_true(self):
        examples = steps(README.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(examples), 5)
        for number, command, expected in examples:
            with self.subTest(line=number, command=command):
                result = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, timeout=60,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                shown = result.stdout.splitlines()
                if not fits(expected, shown):
                    self.assertEqual(expected, shown)

    def test_a_wrong_example_would_be_seen(self):
        [(number, command, expected)] = steps("text\n```console\n$ printf '%s\\n' a b \\\n> c\na\n...\n```\n")
        self.assertEqual((number, command), (3, "printf '%s\\n' a b \\\nc"))
        self.assertTrue(fits(expected, ["a", "b", "c"]))
        self.assertFalse(fits(expected, ["b"]))
        self.assertFalse(fits(["a"], ["a", "b"]))
        self.assertTrue(fits(["a … c"], ["a b c"]))
        self.assertFalse(fits(["a … c"], ["a b", " c"]))


if __name__ == "__main__":
    unittest.main()
