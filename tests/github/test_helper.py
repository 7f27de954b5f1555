#!/usr/bin/env python3
"""reconciler-github as a process: its lines, its token, closing."""
import json
import os
import pathlib
import subprocess
import unittest
import urllib.request

import harness

RECONCILER = os.environ.get("RECONCILER", "")


class Lines(harness.Case):
    def test_hello(self):
        helper = self.helper(None)
        answer = helper.ask("hello", protocol=1, name="github")
        self.assertEqual((answer["protocol"], answer["can_close"]), (1, True))
        self.assertTrue(answer["helper"].startswith("reconciler-github "))
        self.assertIn("problem", helper.ask("hello", protocol=2))
        self.assertEqual(helper.end(), 0)

    def test_bad_lines_do_no_harm(self):
        """Without an id there is nothing to answer; the log tells."""
        helper = self.helper(None)
        for line, problem in ((b"x", "request: the line is not JSON"), (b"[]", "request: the line is not an object"),
                              (b"{}", "request: there is no id"), (b"\xff", "request: the line is not JSON"),
                              (b" " * (5 << 20), "request: a line of more than 4 MiB")):
            helper.process.stdin.write(line + b"\n\n")
            self.assertEqual(helper.ask("fetch", links=[])["observations"], [])
            self.assertTrue((self.directory / "helper.err").read_text(encoding="utf-8").endswith(f"{problem}\n"), problem)
        for line, problem in ((b'{"id":7,"method":"dance"}', "request: no such method"),
                              (b'{"id":8,"method":"close"}', "request: close without a url"),
                              (b'{"id":9,"method":"fetch","links":7}', "request: links is not an array")):
            helper.process.stdin.write(line + b"\n")
            helper.process.stdin.flush()
            self.assertEqual(helper.read()["problem"], problem)
        self.assertEqual(helper.end(), 0)

    def test_it_keeps_to_the_protocol_as_any_helper(self):
        loopback = self.github("states")
        urls = [word for n in (1, 6, 7) for word in ("--url", f"https://github.com/acme/app/issues/{n}")]
        done = subprocess.run([RECONCILER, "tracker", "test", *urls, "--", harness.HELPER, "--api-url", loopback.url],
                              env=dict(self.environment, GITHUB_TOKEN=harness.TOKEN), cwd=self.directory, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_usage(self):
        def run(*arguments):
            return subprocess.run([harness.HELPER, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env=self.environment, timeout=30, check=False)
        self.assertEqual((run("--help").returncode, run("--version").returncode), (0, 0))
        self.assertTrue(run("--help").stdout.startswith("usage: reconciler-github "))
        for bad in (["--nothing"], ["argument"], ["--api-url", "http://example.org"], ["--api-url", "x"], ["--api-url", "https://api."],
                    ["--token-file", "/nonexistent"]):
            result = run(*bad)
            self.assertEqual((result.returncode, result.stdout), (2, ""), bad)
            self.assertGreater(len(result.stderr), len("reconciler-github: \n"), bad)


    def test_what_cannot_be_written_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.HELPER, "--api-url", "http://127.0.0.1:9"], input='{"id":1,"method":"hello","protocol":1}\n',
                                  stdout=full, stderr=subprocess.PIPE, text=True, env=dict(self.environment, GITHUB_TOKEN=harness.TOKEN),
                                  timeout=30, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "reconciler-github: standard output: No space left on device\n"))


class Loading(unittest.TestCase):
    def test_no_other_program_loads_libcurl(self):
        def needed(program):
            return subprocess.run(["readelf", "-d", program], capture_output=True, text=True, timeout=60, check=True).stdout
        for program in os.environ["REC_OTHER_PROGRAMS"].split(":"):
            self.assertIn("libc.so", needed(program))
            self.assertNotIn("curl", needed(program), program)
        self.assertIn("libcurl", needed(harness.HELPER))


class Token(harness.Case):
    def ask_with(self, *arguments, token=None, **environment):
        loopback = self.github("states")
        helper = self.helper(loopback, *arguments, token=token, **environment)
        self.fetch(helper, "acme/app/issues/7")
        status = pathlib.Path("/proc", str(helper.process.pid))
        limits = (status / "limits").read_text(encoding="ascii") if os.access(status / "limits", os.R_OK) else ""
        try:
            self.assertNotIn(harness.TOKEN.encode(), (status / "environ").read_bytes())
        except PermissionError:
            pass  # as it should be, for whoever is not root
        self.assertNotIn(harness.TOKEN.encode(), (status / "cmdline").read_bytes())
        if limits:
            self.assertRegex(limits, r"Max core file size +0 +0 ")
        self.assertEqual(helper.end(), 0)
        return [r["token"] for r in self.requests(loopback)]

    def token_file(self, text=harness.TOKEN + "\n"):
        path = self.directory / "token"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return str(path)

    def test_from_each_place(self):
        self.assertEqual(self.ask_with(token=harness.TOKEN), [True])
        self.assertEqual(self.ask_with(GH_TOKEN=harness.TOKEN), [True])
        self.assertEqual(self.ask_with("--token-file", self.token_file()), [True])
        self.assertEqual(self.ask_with(GH_TOKEN=""), [False])

    def test_from_gh_without_a_shell(self):
        program = self.directory / "bin" / "gh"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n[ \"$*\" = 'auth token --hostname github.com' ] && cat \"$HOME/token\"\n", encoding="utf-8")
        program.chmod(0o755)
        self.token_file()
        path = f"{program.parent}:/usr/bin:/bin"
        self.assertEqual(self.ask_with(PATH=path), [True])
        program.write_text("#!/bin/sh\necho no token >&2; exit 1\n", encoding="utf-8")
        self.assertEqual(self.ask_with(PATH=path), [False])

    def test_gh_has_five_seconds_to_end(self):
        """Not only to print: here it closes its output and stays."""
        program = self.directory / "bin" / "gh"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\ncat \"$HOME/token\"; exec >&-; exec sleep 1000\n", encoding="utf-8")
        program.chmod(0o755)
        self.token_file()
        self.assertEqual(self.ask_with(PATH=f"{program.parent}:/usr/bin:/bin"), [False])

    def test_a_file_that_others_may_read_is_warned_of_if_it_is_used(self):
        path = self.token_file()
        pathlib.Path(path).chmod(0o640)
        self.helper(None, "--token-file", path).end()
        err = self.directory / "helper.err"
        self.assertEqual(err.read_text(encoding="utf-8"), "")
        self.helper(None, "--token-file", path, token=None).end()
        self.assertEqual(err.read_text(encoding="utf-8"), f"reconciler-github: {path}: others may read this token (chmod 600)\n")

    def test_a_file_that_is_no_token_is_named_and_not_shown(self):
        for text in ("", "two words " + harness.TOKEN, "x" * 5000, "\x01"):
            helper = self.helper(None, "--token-file", self.token_file(text), token=None)
            self.assertEqual(helper.end(), 2)
        err = (self.directory / "helper.err").read_text(encoding="utf-8")
        self.assertIn("this is not a token", err)
        self.assertNotIn("two words", err)

    def test_a_variable_that_is_no_token_is_refused(self):
        self.assertEqual(self.helper(None, token="two words").end(), 2)
        self.assertIn("GITHUB_TOKEN: this is not a token", (self.directory / "helper.err").read_text(encoding="utf-8"))

    def test_a_token_that_github_sends_back_is_not_passed_on(self):
        loopback = self.github("echo", harness.TOKEN)
        helper = self.helper(loopback)
        observations, answer = self.fetch(helper, "acme/app/issues/7")
        self.assertIn("***", observations["acme/app/issues/7"]["problem"] + answer.get("problem", ""))

    def test_nor_the_part_of_it_that_a_cut_leaves(self):
        problem = self.one("echo", "x" * 80 + harness.TOKEN)[0]["problem"]
        self.assertTrue(problem.endswith("**..."), problem)
        self.assertNotIn(harness.TOKEN[:4], problem)

    def test_a_newer_token_is_taken_from_the_file_after_a_refusal(self):
        loopback = self.github("token-changes")
        path = self.token_file("old-token")
        helper = self.helper(loopback, "--token-file", path, token=None)
        self.assertIn("problem", self.fetch(helper, "acme/app/issues/7")[1])
        self.token_file("new-token")
        self.assertEqual(self.fetch(helper, "acme/app/issues/7")[0]["acme/app/issues/7"]["state"], "open")


class Close(harness.Case):
    REQUEST = {"url": "https://github.com/acme/app/issues/7", "comment": "Task t1 of batch b1 is done.", "marker": "reconciler:b1:t1:2"}

    def close(self, lost=""):
        loopback = self.github("close", lost)
        helper = self.helper(loopback)
        answers = [helper.ask("close", deadline_ms=10000, **self.REQUEST)]
        for _ in range(2):
            if not answers[-1].get("closed"):
                answers.append(helper.ask("close", deadline_ms=10000, **self.REQUEST))
        answers.append(helper.ask("close", deadline_ms=10000, **self.REQUEST))
        with urllib.request.urlopen(f"{loopback.url}/seen", timeout=30) as response:
            seen = json.load(response)
        helper.end()
        loopback.end()
        return answers, seen

    def test_one_comment_and_closed_however_often_it_is_interrupted(self):
        for lost in ("", "POST 0", "PATCH 0"):
            with self.subTest(lost):
                answers, seen = self.close(lost)
                self.assertEqual([a.get("closed") for a in answers], [True, True] if not lost else [None, True, True])
                ours = [c["body"] for c in seen["comments"] if self.REQUEST["marker"] in c["body"]]
                self.assertEqual(ours, [self.REQUEST["comment"] + "\n\n<!-- " + self.REQUEST["marker"] + " -->"])
                self.assertTrue(seen["closed"])

    def test_without_a_token_nothing_is_written(self):
        loopback = self.github("close")
        helper = self.helper(loopback, token=None)
        self.assertEqual(helper.ask("hello", protocol=1)["can_close"], False)
        self.assertIn("problem", helper.ask("close", **self.REQUEST))
        helper.end()
        self.assertEqual(self.requests(loopback), [])


if __name__ == "__main__":
    harness.main()
