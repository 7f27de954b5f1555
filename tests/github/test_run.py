#!/usr/bin/env python3
"""A batch and GitHub: an issue that is closed stops its worker, and a GitHub that is down changes nothing."""
import os
import select
import subprocess
import urllib.request

import harness

RECONCILER = os.environ.get("RECONCILER", "")
DEADLINE_S = 60


class Run(harness.Case):
    def reconciler(self, *arguments):
        return subprocess.run([RECONCILER, *arguments], cwd=self.directory, env=self.with_token(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout

    def with_token(self):
        return dict(self.environment, GITHUB_TOKEN=harness.TOKEN)

    def store(self, url, *tasks):
        self.reconciler("init")
        text = f"[github]\nreconcile_github = true\napi_url = {url}\n"
        (self.directory / ".reconciler" / "reconciler.conf").write_text(text, encoding="utf-8")
        for name, path in tasks:
            self.reconciler("task", "add", name, "--id", name, "--issue", f"https://github.com/{path}")

    def begin(self, *command):
        out = open(self.directory / "run.out", "wb")
        err = open(self.directory / "run.err", "wb")
        self.addCleanup(out.close)
        self.addCleanup(err.close)
        run = subprocess.Popen([RECONCILER, "run", "--all-ready", "--reconcile-interval", "200ms", "--settle", "0", "--", *command],
                               cwd=self.directory, env=self.with_token(), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.addCleanup(lambda: run.poll() is None and (run.kill(), run.wait()))
        return run

    def status(self, name):
        return self.reconciler("task", "show", name)

    def test_closing_the_issue_stops_the_worker_and_the_task_is_done(self):
        loopback = self.github("world", "1/5")
        self.store(loopback.url, ("t1", "acme/r0/issues/1"))
        os.mkfifo(self.directory / "begun")
        begun = os.open(self.directory / "begun", os.O_RDWR)
        self.addCleanup(os.close, begun)
        run = self.begin("sh", "-c", "echo >begun; exec sleep 1000")
        self.assertTrue(select.select([begun], [], [], DEADLINE_S)[0], "the worker does not begin")
        urllib.request.urlopen(urllib.request.Request(f"{loopback.url}/change/1", method="POST"), timeout=30).close()
        self.assertEqual(run.wait(timeout=DEADLINE_S), 0)
        self.assertIn("DONE", self.status("t1"))
        self.assertIn("issue closed as completed", self.reconciler("events"))

    def test_a_github_that_is_down_for_the_whole_batch_changes_nothing_but_one_warning(self):
        loopback = self.github("states")
        loopback.end()  # its port answers no more
        self.store(loopback.url, ("t1", "acme/app/issues/1"), ("t2", "acme/app/issues/2"))
        run = self.begin("sh", "-c", "sleep 1")
        self.assertEqual(run.wait(timeout=DEADLINE_S), 0)
        self.assertIn("DONE", self.status("t1"))
        err = (self.directory / "run.err").read_text(encoding="utf-8")
        self.assertEqual(err.count("GitHub could not be asked"), 1, err)


if __name__ == "__main__":
    harness.main()
