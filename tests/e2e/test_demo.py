#!/usr/bin/env python3
"""`make demo` tells the truth and leaves nothing behind, with a terminal and without.

environment: RECONCILER, the command
"""
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["RECONCILER"]).resolve()
DEMO = pathlib.Path(__file__).resolve().parents[2] / "scripts/demo"


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="reconciler-demo-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder.name, "TMPDIR": folder.name, "LC_ALL": "C.UTF-8"}

    def run_demo(self, **options):
        return subprocess.run([DEMO, PROGRAM], env=self.environment, cwd="/", timeout=120, check=False, **options)

    def test_it_shows_each_kind_of_change_and_cleans_up(self):
        result = self.run_demo(stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for shown in ("6 tasks: 1 SKIP, 2 KILL, 1 REQUEUE, 2 agree\n", "1 applied\n", "0 different\n",
                      "The difference in the store: export was BLOCKED and is READY.\n",
                      "19 tasks: 4 SKIP, 3 KILL, 2 REQUEUE,", "The database is the same to the byte.\n"):
            self.assertIn(shown, result.stdout)
        self.assertNotIn("\033", result.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_it_has_colours_on_a_terminal(self):
        self.environment["TERM"] = "xterm-256color"
        ours, theirs = pty.openpty()
        shown = b""
        with subprocess.Popen([DEMO, PROGRAM], env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs) as demo:
            os.close(theirs)
            try:
                while piece := os.read(ours, 65536):
                    shown += piece
            except OSError:
                pass  # the terminal is closed: the demo has ended
        os.close(ours)
        self.assertEqual(demo.returncode, 0)
        self.assertIn(b"\033[31mKILL", shown)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_batch_survives_people_and_a_kill(self):
        result = subprocess.run([DEMO.parent / "demo-run", PROGRAM], env=self.environment, cwd="/", timeout=120,
                                check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for shown in ("its conductor is gone", "COMPLETED: 11 done, 1 skipped, 0 failed, 0 held\n",
                      "survey   attempts: 2  status: DONE\n", "docs     attempts: 1  status: DONE\n",
                      "import   attempts: 1  status: DONE\n", " 0 different\n"):
            self.assertIn(shown, result.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_broken_command_ends_it_with_a_failure(self):
        result = subprocess.run([DEMO, "/bin/false"], env=self.environment, capture_output=True, timeout=60, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
