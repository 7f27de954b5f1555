"""Allocations of the whole command failing in turn, once and for good: never a crash, never a wrong answer, never half a
write."""
import os
import subprocess
import unittest

from harness import Case, main

PRELOAD = os.environ.get("FAIL_MALLOC")  # the preloaded library; not with sanitizers


@unittest.skipUnless(PRELOAD, "needs a build without sanitizers")
class Allocations(Case):
    def run_failing(self, words, number, persistent, stdin):
        """(did it get so far, exit status, standard output, standard error)"""
        reading, writing = os.pipe()
        environment = dict(self.environment, LD_PRELOAD=PRELOAD, FAIL_MALLOC_AT=str(number),
                           FAIL_MALLOC_FD=str(writing))
        if persistent:
            environment["FAIL_MALLOC_ON"] = "1"
        done = subprocess.run(**self.command(words, env=environment, input=stdin, capture_output=True, check=False,
                                             pass_fds=[writing], timeout=60))
        os.close(writing)
        reached = os.read(reading, 1) == b"x"
        os.close(reading)
        return reached, done.returncode, done.stdout, done.stderr.decode()

    def count(self, words, stdin):
        """How many allocations the command makes."""
        low, high = 0, 64
        while self.run_failing(words, high, False, stdin)[0]:
            low, high = high, 4 * high
        while high - low > 1:
            middle = (low + high) // 2
            if self.run_failing(words, middle, False, stdin)[0]:
                low = middle
            else:
                high = middle
        return low

    def fail_each(self, *words, stdin=b"", runs=100):
        """Lets allocations fail in turn, all of them if there are not many more than `runs`; what the command says
        without any failing is the right answer."""
        count = self.count(words, stdin)
        _, *right, err = self.run_failing(words, count + 1000, False, stdin)
        self.assertIn(right[0], (0, 1), err)
        for persistent in (False, True):
            for number in range(1, count + 1, max(1, count // runs)):
                _, status, out, err = self.run_failing(words, number, persistent, stdin)
                self.assertGreaterEqual(status, 0, f"{words}: ended by a signal at allocation {number}")
                if status == 2:
                    self.assertRegex(err, r"^reconciler: .+\n$", f"{words} at allocation {number}")
                else:
                    self.assertEqual([status, out], right, f"{words} at allocation {number}: {err}")

    def test_reading(self):
        self.fixture("small")
        state = b'{"35bf992d-c9e9-4616-a12e-7696a6cecc1b":"FAILED","4be03db0-dc25-44bd-b940-67edfe175330":"READY"}'
        self.fail_each("check", "--batch-state", "-", "--format", "ndjson", stdin=state)
        self.fail_each("check", "--json")
        self.fail_each("task", "list")
        self.fail_each("task", "show", "4be0")
        self.fail_each("doctor")

    def test_without_a_store(self):
        self.fail_each("policy")
        self.fail_each("task", "add", "--help")
        self.fail_each("completion", "bash")

    def test_writing_is_all_or_nothing(self):
        store = self.init()
        self.add("x", "--id", "a")
        before = self.reconciler("task", "export").out
        for number in range(1, 400, 9):
            _, status, _, err = self.run_failing(["task", "import", "-"], number, False,
                                                 b'[{"title":"one","id":"1"},{"title":"two","id":"2"}]')
            after = self.reconciler("task", "export").out
            if status == 0:
                self.assertEqual(len(after.splitlines()), 3)
                for one in "12":
                    self.reconciler("task", "delete", one)
            else:
                self.assertEqual((status, after), (2, before), err)
        self.assertTrue(store.exists())
        self.reconciler("doctor")


if __name__ == "__main__":
    main()
