#!/usr/bin/env python3
"""From GitHub to the task: `reconciler sync` with reconciler-github and a GitHub on loopback. Scenarios by their numbers."""
import json
import os
import sqlite3
import subprocess
import urllib.request

import harness

RECONCILER = os.environ.get("RECONCILER", "")


class Sync(harness.Case):
    """A store in self.directory; self.github_is starts the loopback and points the configuration at it."""

    def reconciler(self, *arguments, status=0):
        environment = dict(self.environment, GITHUB_TOKEN=harness.TOKEN)
        done = subprocess.run([RECONCILER, *arguments], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        with open(self.directory / "said", "a", encoding="utf-8") as said:
            said.write(done.stdout + done.stderr)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def github_is(self, scenario, argument=""):
        loopback = self.github(scenario, argument)
        if not (self.directory / ".reconciler").exists():
            self.reconciler("init")
        text = f"[github]\nreconcile_github = true\napi_url = {loopback.url}\n"
        (self.directory / ".reconciler" / "reconciler.conf").write_text(text, encoding="utf-8")
        return loopback

    def task(self, name, path, *options):
        self.reconciler("task", "add", name, "--id", name, "--issue", f"https://github.com/{path}", *options)

    def statuses(self):
        return {task["id"]: task["status"] for task in map(json.loads, self.reconciler("task", "export").splitlines())}

    def sync(self, status=0):
        results = json.loads(self.reconciler("--json", "sync", status=status))["results"]
        return {r["task_id"]: (r["action"], r["reason"]) for r in results}

    def events(self, name):
        return [e for e in map(json.loads, self.reconciler("--format", "ndjson", "events").splitlines()) if e.get("task_id") == name]

    def test_b19_closed_is_done_and_not_planned_is_not(self):
        self.github_is("states")
        self.task("t1", "acme/app/issues/1")
        self.task("t2", "acme/app/issues/7", "--depends-on", "t1")
        self.task("t3", "acme/app/issues/2")
        self.task("t4", "acme/app/issues/6", "--depends-on", "t3")
        self.assertEqual(self.sync()["t3"], ("SKIP", "issue closed as not planned"))
        self.assertEqual(self.statuses(), {"t1": "DONE", "t2": "READY", "t3": "BACKLOG", "t4": "READY"})
        self.assertEqual(self.sync().get("t1", ("NONE",))[0], "NONE")  # only changes act

    def test_b20_merged_is_told_from_closed(self):
        self.github_is("states")
        self.task("t1", "acme/app/pull/11", "--status", "DONE")
        self.task("t2", "acme/app/pull/10", "--status", "DONE")
        self.task("t3", "acme/app/pull/14", "--status", "IN_PROGRESS")
        self.sync()
        self.assertEqual(self.statuses(), {"t1": "DONE", "t2": "MERGED", "t3": "FAILED"})

    def test_b21_a_bare_limit_changes_nothing_and_is_waited_for(self):
        loopback = self.github_is("limit", "403-secondary-bare")
        for n in range(5):
            self.task(f"t{n}", f"acme/app{n}/issues/{n + 1}")
        for _ in range(3):
            self.assertEqual({r[0] for r in self.sync_whatever().values()} | {"NONE"}, {"NONE"})
        self.assertEqual(set(self.statuses().values()), {"READY"})
        self.assertEqual(len(self.requests(loopback)), 1)  # and by the next process too

    def sync_whatever(self):
        """A sync that may say that the tracker could not be asked."""
        done = subprocess.run([RECONCILER, "--json", "sync"], cwd=self.directory, env=dict(self.environment, GITHUB_TOKEN=harness.TOKEN),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        return {r["task_id"]: (r["action"], r["reason"]) for r in json.loads(done.stdout)["results"]}

    def test_b22_html_twice_then_closed(self):
        self.github_is("html")
        self.task("t1", "acme/app/issues/7")
        for status in ("READY", "READY", "DONE"):
            self.forget_health()
            self.sync_whatever()
            self.assertEqual(self.statuses()["t1"], status)

    def forget_health(self):
        """A tracker that failed is left alone for a while; forget that it did, as time would."""
        with sqlite3.connect(self.directory / ".reconciler" / "state.db") as db:
            db.execute("DELETE FROM rec_cursors WHERE tracker LIKE 'health:%'")
        db.close()

    def test_b23_whatever_its_age_or_title(self):
        loopback = self.github_is("world", "1/250")
        for number in (3, 240, 100, 200):
            self.task(f"t{number}", f"acme/r0/issues/{number}")
        self.reconciler("task", "edit", "t240", "--title", "{{..}} %n $(x)")
        self.sync()
        self.assertEqual(set(self.statuses().values()), {"READY"})
        self.change(loopback, 250)  # every issue
        self.sync()
        self.assertEqual(set(self.statuses().values()), {"DONE"})

    @staticmethod
    def change(loopback, count):
        urllib.request.urlopen(urllib.request.Request(f"{loopback.url}/change/{count}", method="POST"), timeout=30).close()

    def test_more_links_than_one_request_holds(self):
        """2,000 of one repository: the others cost one listing more."""
        loopback = self.github_is("world", "1/2500")
        (self.directory / "tasks").write_text("".join(
            json.dumps({"id": f"t{n}", "title": "x", "external_url": f"https://github.com/acme/r0/issues/{n}"}) + "\n"
            for n in range(1, 2501)), encoding="utf-8")
        self.reconciler("task", "import", "tasks")
        costs = []
        for changes in (0, 0, 0, 3, 0):
            self.change(loopback, changes)
            asked = len(loopback.log.read_text(encoding="utf-8").splitlines())
            done = [name for name, (action, _) in self.sync().items() if action != "NONE"]
            self.assertEqual(len(done), changes)
            costs.append([r["status"] for r in map(json.loads, loopback.log.read_text(encoding="utf-8").splitlines()[asked:])])
        self.assertEqual(costs, [[200] * 25, [200, 200], [304, 200], [200, 200], [304, 200]])

    def test_b24_not_modified_without_a_tag(self):
        loopback = self.github_is("conditional")
        self.task("t1", "acme/app/issues/7", "--status", "IN_PROGRESS")
        for status in ("IN_PROGRESS", "IN_PROGRESS", "IN_PROGRESS", "DONE"):
            self.sync()
            self.assertEqual(self.statuses()["t1"], status)
        self.assertEqual([r.get("condition") for r in self.requests(loopback)], [None] + ['W/"a1"'] * 3)

    def test_b25_a_moved_issue_is_asked_where_it_is(self):
        loopback = self.github_is("transferred")
        self.task("t1", "acme/app/issues/7")
        self.sync()
        self.sync()
        self.assertEqual(self.statuses()["t1"], "READY")
        self.assertEqual([r["url"] for r in self.requests(loopback)],
                         ["/repos/acme/app/issues/7", "/repositories/2/issues/99", "/repos/acme/other/issues/99"])

    def test_b25_another_host_changes_nothing(self):
        stranger = self.github("states")
        self.github_is("other-host", f"{stranger.url}/repos/acme/app/issues/1")
        self.task("t1", "acme/app/issues/1")
        self.sync_whatever()
        self.assertEqual(self.statuses()["t1"], "READY")
        self.assertEqual(self.requests(stranger), [])

    def test_b26_gone_is_marked_once_and_asked_no_more(self):
        loopback = self.github_is("gone-refused-closed")
        for number in (9, 10, 11):
            self.task(f"t{number}", f"acme/app{number}/issues/{number}")
        for _ in range(3):
            self.sync_whatever()
        self.assertEqual(self.statuses(), {"t9": "READY", "t10": "READY", "t11": "DONE"})
        asked = [r["url"] for r in self.requests(loopback)]
        self.assertEqual(asked.count("/repos/acme/app9/issues/9"), 1)
        self.assertEqual(len([e for e in self.events("t9") if "gone" in json.dumps(e)]), 1)

    def test_a_tracker_that_is_down_changes_nothing(self):
        loopback = self.github_is("states")
        loopback.end()
        self.task("t1", "acme/app/issues/1")
        self.sync_whatever()
        self.assertEqual(self.statuses()["t1"], "READY")


if __name__ == "__main__":
    harness.main()
