"""The two examples of reconciler-tracker(7), and what `reconciler tracker test` says of them and of worse ones."""
import json
import pathlib
import re

from harness import Case, main

PAGE = pathlib.Path(__file__).parents[2] / "man" / "reconciler-tracker.7.scd"
URLS = ["--url", "https://issues.example/5", "--url", "https://issues.example/6"]


def examples():
    """The text of each example, by the name of its interpreter."""
    found = {}
    for block in re.findall(r"^```\n(#!.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        found[block.splitlines()[0].split("/")[-1]] = block
    return found


class Helpers(Case):
    def setUp(self):
        super().setUp()
        for name in ("open", "closed"):
            (self.directory / name).mkdir()
        self.write("open/5", "")
        self.write("closed/6", "")
        self.write("issues.txt", "5 open 2026-01-02T03:04:05Z\n6 closed 2026-01-02T03:04:06Z\n")

    def helper(self, text, name="helper"):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return f"./{name}"

    def checks(self, helper, *options, status=None):
        done = self.reconciler("--format", "ndjson", "tracker", "test", *options, "--", helper, status=status)
        return {check["check"]: check for check in map(json.loads, done.out.splitlines())}

    def assert_good(self, text):
        checks = self.checks(self.helper(text), *URLS, status=0)
        self.assertEqual(len(checks), 11)
        self.assertEqual([check for check in checks.values() if not check["ok"]], [])

    def test_the_examples_are_short_and_pass(self):
        for name, text in examples().items():
            with self.subTest(name):
                self.assertLessEqual(len(text.splitlines()), 24)
                self.assert_good(text)
        self.assertEqual(sorted(examples()), ["env python3", "sh"])

    def test_without_addresses_some_checks_are_left_out(self):
        checks = self.checks(self.helper(examples()["sh"]), status=0)
        self.assertEqual(len(checks), 9)

    def test_an_address_that_is_not_known_fails(self):
        checks = self.checks(self.helper(examples()["env python3"]), "--url", "https://issues.example/99", status=1)
        self.assertIn("unknown", checks["addresses are observed"]["problem"])

    def test_one_that_does_not_understand_a_bad_line_fails(self):
        text = examples()["env python3"].replace("except (ValueError, KeyError) as problem", "except OSError as problem")
        checks = self.checks(self.helper(text), status=1)
        self.assertEqual([name for name, check in checks.items() if not check["ok"]],
                         ["an unknown method does no harm", "a bad line does no harm"][1:])
        self.assertIn("exited with status 1", checks["a bad line does no harm"]["problem"])

    def test_one_that_takes_unknown_for_gone_fails(self):
        text = examples()["env python3"].replace('("unknown", None)', '("gone", None)')
        checks = self.checks(self.helper(text), *URLS, status=1)
        self.assertEqual([name for name, check in checks.items() if not check["ok"]], ["an unknown address is unknown"])

    def test_one_that_stays_when_its_input_ends_fails(self):
        text = examples()["env python3"] + "\nimport time\ntime.sleep(1000)\n"
        checks = self.checks(self.helper(text), "--timeout", "2s", status=1)
        self.assertEqual([name for name, check in checks.items() if not check["ok"]], ["the end of input ends it"])

    def test_one_that_prints_something_else_fails(self):
        checks = self.checks(self.helper("#!/bin/sh\necho welcome\ncat >/dev/null\n"), status=1)
        self.assertFalse(any(check["ok"] for check in checks.values()))
        self.assertIn("no answer", checks["hello"]["problem"])

    def test_a_program_that_is_not_there_is_an_error(self):
        self.assert_refused("tracker", "test", "--", "./nowhere", words=["./nowhere"])
        self.assert_refused("tracker", "test", words=["no command"])

    def test_people_read_a_line_for_each_check(self):
        done = self.reconciler("tracker", "test", "--", self.helper("#!/bin/sh\nexit 3\n"), status=1)
        self.assertIn("FAIL hello: the helper exited with status 3", done.out)


if __name__ == "__main__":
    main()
