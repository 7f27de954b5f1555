"""Trackers while a batch runs: what they say counts at once, and one that fails changes nothing but one warning."""
import contextlib
import json
import os
import select
import signal
import sqlite3
import statistics
import time

from harness import DEADLINE_S, main
from running import RunCase, children_of, is_alive

URL = "https://issues.example/acme/app/issues/"
HELPER = """#!/usr/bin/env python3
import json, os, sys
with open("helpers", "a") as file:
    print(os.getpid(), file=file)
for line in sys.stdin:
    with open("requests", "a") as file:
        file.write(line)
    request = json.loads(line)
    answer = {"id": request["id"], "protocol": 1, "helper": "test 1", "can_close": True, "closed": True}
    if request["method"] == "fetch":
        with open("items.json") as file:
            items = json.load(file)
        answer["observations"] = [dict(items.get(link["url"], {"state": "unknown"}), url=link["url"])
                                  for link in request["links"]]
    print(json.dumps(answer), flush=True)
"""


class Trackers(RunCase):
    def configure(self, helper=HELPER, timeout="30s"):
        self.write("helper", helper).chmod(0o755)
        self.write(".reconciler/reconciler.conf",
                   f"[tracker test]\ncommand = ./helper\nurl_prefix = https://issues.example/\ntimeout = {timeout}\n")

    def items(self, **states):
        """issue5="open": what the helper says of .../issues/5 from now on."""
        self.second = getattr(self, "second", 0) + 1
        said = {URL + name.removeprefix("issue"): {"state": state, "kind": "issue", "comments": 0,
                                                   "reason": "completed" if state == "closed" else None,
                                                   "time": f"2026-01-02T03:04:{self.second:02d}Z"}
                for name, state in states.items()}
        self.write("items.new", json.dumps(said)).rename(self.path("items.json"))

    def linked(self, **numbers):
        for task_id, number in numbers.items():
            self.add_tasks(task_id, issue=f"{URL}{number}")

    def requests(self, method):
        return [request for request in map(json.loads, self.lines_of("requests")) if request["method"] == method]

    def close_requests(self):
        return [(request["url"], request["marker"]) for request in self.requests("close")]

    # ---- What they say -------------------------------------------------------------------------

    def test_an_issue_closed_as_completed_stops_its_child_and_frees_what_waits(self):
        self.configure()
        self.items(issue5="open")
        self.linked(a=5)
        self.add_tasks("b", depends_on="a")
        batch = self.batch("--reconcile-interval", "100ms", "--settle", "0", "--grace", "5s",
                           worker=self.holding("a"))
        self.started("a")
        self.until(lambda: len(self.requests("fetch")) >= 2, "it was asked again")
        self.assertEqual(self.stored("a"), "IN_PROGRESS")
        self.items(issue5="closed")
        out, err = batch.finish(0)
        self.assertRegex(err, "RECONCILIATION_TASK_SKIPPED a: issue closed as completed")
        self.assert_stored(a="DONE", b="DONE")
        self.assertIn("trackers: 1 changed tasks, 0 items closed, 0 could not be asked", out)
        self.assertEqual(len(self.events("RECONCILIATION_TASK_SKIPPED", source="test", task_id="a")), 1)
        self.assertEqual(len(self.lines_of("helpers")), 1)
        self.assert_nothing_runs()
        self.assert_sound()

    def test_an_issue_that_was_closed_before_is_not_worked_on_for_long(self):
        self.configure()
        self.items(issue7="closed", issue8="open")
        self.linked(a=7, b=8)
        batch = self.batch("--reconcile-interval", "100ms", "-j", "1", "--settle", "0", worker=self.holding("a", "b"))
        self.until_status("a", "DONE")
        self.open_gate("gate.b")
        batch.finish(0)
        self.assert_stored(a="DONE", b="DONE")
        self.assert_sound()

    def test_an_interval_of_zero_asks_nobody(self):
        self.configure()
        self.items(issue5="closed")
        self.linked(a=5)
        out = self.run_batch("--reconcile-interval", "0").out
        self.assertNotIn("trackers:", out)
        self.assertEqual(self.lines_of("requests"), [])

    # ---- What fails ----------------------------------------------------------------------------

    def run_until_warned(self, *task_ids):
        """A batch of which a task does not end before a warning was given; gives (standard output, standard error)."""
        batch = self.batch("--reconcile-interval", "50ms", worker=self.holding(*task_ids))
        lines = [batch.error_line()]
        while "RECONCILIATION_ERROR" not in lines[-1]:
            lines.append(batch.error_line())
        for task_id in task_ids:
            self.open_gate(f"gate.{task_id}")
        out, err = batch.finish(0)
        return out, "\n".join(lines) + "\n" + err

    def fails(self, words, doctor=0):
        """Twelve tasks, two of them linked, and a tracker that fails: they are done, and there is one warning."""
        task_ids = [f"t{number}" for number in range(10)]
        self.add_tasks(*task_ids)
        self.linked(a=5, b=6)
        out, err = self.run_until_warned("a")
        for task_id in ("a", "b", *task_ids):
            self.assertEqual(self.stored(task_id), "DONE")
        self.assert_sound(doctor)
        self.assert_one_warning(err, words)
        return out

    def assert_one_warning(self, err, words):
        warnings = [line for line in err.splitlines() if "RECONCILIATION_ERROR" in line]
        self.assertEqual(len(warnings), 1, err)
        self.assertIn(words, warnings[0])

    def test_one_that_exits_at_once_changes_nothing_but_one_warning(self):
        self.configure("#!/bin/sh\necho 'no such host' >&2\nexit 3\n")
        out = self.fails("tracker test cannot be asked: the helper exited with status 3: no such host")
        self.assertIn("1 could not be asked", out)

    def test_one_that_prints_html_changes_nothing_but_one_warning(self):
        self.configure("#!/bin/sh\nread line\necho '<html>502</html>'\ncat > /dev/null\n")
        self.fails("cannot be read")

    def test_one_that_is_not_there_changes_nothing_but_one_warning(self):
        self.write(".reconciler/reconciler.conf",
                   "[tracker test]\ncommand = no-such-helper-anywhere\nurl_prefix = https://issues.example/\n")
        self.fails("no-such-helper-anywhere")

    def test_one_that_hangs_changes_nothing_but_one_warning(self):
        self.configure("#!/bin/sh\ncat > /dev/null\n", timeout="300ms")
        self.fails("did not answer within 300 ms")

    def test_a_wrong_section_refuses_the_batch_before_it_exists(self):
        self.write(".reconciler/reconciler.conf", "[tracker test]\ncommand = true\n")
        self.add_tasks("a")
        result = self.reconciler("run", "--all-ready", "--", "true", status=2)
        self.assertIn("[tracker test]: url_prefix is missing", result.err)
        self.assertEqual(self.reconciler("status", "--json").json, [])

    def test_a_store_older_than_links_ends_the_asking_not_the_batch(self):
        self.configure()
        self.items(issue5="closed", issue6="closed")
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            connection.executescript("DROP TABLE rec_links; DROP TABLE rec_cursors;")
        self.fails("init", doctor=1)

    def test_and_ends_no_attempt_whose_issue_was_to_be_closed(self):
        self.configure()
        self.linked(a=5)
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            connection.executescript("DROP TABLE rec_links; DROP TABLE rec_cursors;")
        self.run_batch("--close-issues", "--reconcile-interval", "0")
        self.assert_stored(a="DONE")

    # ---- Speed ---------------------------------------------------------------------------------

    def reaction(self, count=15):
        """Median seconds from another program's commit to the end of the child, one after the other."""
        task_ids = [f"r{number}" for number in range(count)]
        self.add_tasks(*task_ids)
        self.linked(x=99)
        found = []
        batch = self.batch("-j", str(count + 1), "--reconcile-interval", "50ms", "--settle", "0",
                           worker=self.holding("x", *task_ids))
        pids = {task_id: self.started(task_id) for task_id in ("x", *task_ids)}
        with contextlib.closing(sqlite3.connect(self.store, timeout=5)) as connection:
            for task_id in task_ids:
                pidfd = os.pidfd_open(pids[task_id])
                connection.execute("UPDATE tasks SET status = 'DONE' WHERE id = ?", (task_id,))
                connection.commit()
                begun = time.monotonic()
                self.assertTrue(select.select([pidfd], [], [], DEADLINE_S)[0], "the child is gone")
                found.append(time.monotonic() - begun)
                os.close(pidfd)
        self.open_gate("gate.x")
        batch.finish(0)
        return statistics.median(found)

    def test_a_hanging_helper_delays_no_reaction(self):
        """The figures are printed; the bound is wide, since the machine may be busy."""
        self.configure("#!/bin/sh\nread line\necho hello > asked\nexec sleep 1000\n")
        hanging = self.reaction()
        self.assertTrue(self.path("asked").exists())
        print(f"reaction with a hanging helper: median {hanging * 1000:.2f} ms")
        self.assertLess(hanging, 0.5)

    def test_without_trackers_a_batch_reacts_as_soon(self):
        without = self.reaction()
        print(f"reaction without trackers: median {without * 1000:.2f} ms")
        self.assertLess(without, 0.5)

    # ---- Processes -----------------------------------------------------------------------------

    def test_a_helper_is_no_orphan_when_a_shim_is_killed(self):
        self.configure()
        self.items(issue5="open")
        self.linked(a=5)
        batch = self.batch("--reconcile-interval", "50ms", "--retry", "3", "--retry-delay", "0",
                           worker=self.holding("a"))
        self.started("a")
        self.until(lambda: self.requests("fetch"), "it was asked")
        helper = int(self.lines_of("helpers")[0])
        shims = [pid for pid in children_of(batch.pid) if helper not in children_of(pid)]
        self.path("started.a").unlink()
        for pid in shims:
            os.kill(pid, signal.SIGKILL)
        self.started("a")
        asked = len(self.requests("fetch"))
        self.until(lambda: len(self.requests("fetch")) > asked, "it is asked on")
        self.assertEqual(self.lines_of("helpers"), [str(helper)])
        self.open_gate("gate.a")
        batch.finish(0)
        self.until(lambda: not is_alive(helper), "the helper left with the batch")

    def test_a_helper_ends_with_a_killed_conductor(self):
        self.configure()
        self.items(issue5="open")
        self.linked(a=5)
        batch = self.batch("--reconcile-interval", "50ms", worker=self.holding("a"))
        self.until(lambda: self.requests("fetch"), "it was asked")
        helper = int(self.lines_of("helpers")[0])
        batch.kill()
        self.until(lambda: not is_alive(helper), "the helper is gone")
        self.open_gate("gate.a")
        self.resume(batch.id).finish(0)
        self.assert_stored(a="DONE")

    # ---- How they are --------------------------------------------------------------------------

    def test_status_tells_how_trackers_are(self):
        self.configure("#!/bin/sh\necho 'no such host' >&2\nexit 3\n")
        self.linked(a=5)
        self.run_until_warned("a")
        self.assertIn("tracker test: down", self.reconciler("status").out)
        batch_id = self.reconciler("status", "--json").json[0]["batch_id"]
        told = self.status_json(batch_id)["trackers"]
        self.assertEqual([(one["name"], one["state"], one["budget"]) for one in told], [("test", "down", None)])
        self.assertIn("no such host", told[0]["problem"])
        self.assertIn("tracker test: down", self.reconciler("status", batch_id).out)
        self.configure()
        self.items(issue5="open")
        self.reconciler("sync")
        self.assertRegex(self.reconciler("status").out, r"tracker test: reached \d+ s ago\n")
        self.assertEqual(self.status_json(batch_id)["trackers"][0]["state"], "reached")

    def test_a_pause_that_a_tracker_asked_for_outlives_the_process(self):
        self.configure(HELPER.replace('"closed": True', '"closed": True, "retry_after_ms": 600000'))
        self.items(issue5="open")
        self.linked(a=5)
        self.reconciler("sync")
        self.assertEqual(len(self.requests("fetch")), 1)
        self.assertIn("left alone", self.reconciler("sync").err)
        self.run_batch("--reconcile-interval", "50ms", worker=["sleep", "0.3"])
        self.assertEqual(len(self.requests("fetch")), 1)
        self.assertIn("tracker test: paused", self.reconciler("status").out)

    def test_doctor_names_one_that_failed_again_and_again(self):
        self.configure()
        self.linked(a=5)
        self.assertEqual(self.reconciler("doctor", "--format", "ndjson").objects, [])
        report = {"state": "down", "failures": 3, "problem": "401: bad credentials"}
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            connection.execute("INSERT INTO rec_cursors (tracker, key, value) VALUES ('health:test', 'health', ?)",
                               (json.dumps(report),))
            connection.commit()
        found = self.reconciler("doctor", "--format", "ndjson", status=1).objects
        self.assertEqual([one["kind"] for one in found], ["tracker-down"])
        self.assertIn("3 times in a row: 401: bad credentials", found[0]["problem"])

    # ---- Closing -------------------------------------------------------------------------------

    def test_issues_of_finished_tasks_are_closed_if_asked_to(self):
        self.configure()
        self.items(issue5="open", issue6="open", issue7="closed")
        self.linked(a=5, b=6)
        self.add_tasks("c")
        worker = self.script('[ "$REC_TASK_ID" != b ]')
        batch = self.batch("--close-issues", "--reconcile-interval", "50ms", worker=worker)
        out = batch.finish(1)[0]
        self.assertEqual(self.close_requests(), [(URL + "5", f"reconciler:{batch.id}:a:1")])
        comment = self.requests("close")[0]["comment"]
        self.assertIn("`a`", comment)
        self.assertIn(f"`{batch.id}`", comment)
        self.assertIn("1 items closed", out)
        self.assertEqual(len(self.events("TRACKER_ITEM_CLOSED", task_id="a", source="test", attempt=1)), 1)

    def test_nothing_is_closed_unless_asked_to(self):
        self.configure()
        self.items(issue5="open", issue6="open")
        self.linked(a=5)
        task = {"id": "b", "title": "b", "external_url": URL + "6", "auto_close_github_issue": 1}
        self.reconciler("task", "import", "-", stdin=json.dumps([task]))
        batch = self.batch("--reconcile-interval", "50ms")
        batch.finish(0)
        self.assertEqual(self.close_requests(), [(URL + "6", f"reconciler:{batch.id}:b:1")])

    def killed_while_closing(self):
        """A batch that is done and dies before its tracker has answered: the first close hangs."""
        self.configure(HELPER.replace('    answer = {', """    if request["method"] == "close" and not os.path.exists("closing"):
        open("closing", "w").close()
        import time
        time.sleep(1000)
    answer = {"""))
        self.items(issue5="open", issue6="open")
        self.linked(a=5, b=6)
        worker = self.script('[ "$REC_TASK_ID" != b ]')
        batch = self.batch("--close-issues", "--reconcile-interval", "50ms", worker=worker)
        self.until(lambda: self.path("closing").exists(), "it is being closed")
        batch.kill()
        self.assert_stored(a="DONE")
        return batch

    def test_what_a_dead_conductor_did_not_close_is_closed_when_its_batch_goes_on(self):
        batch = self.killed_while_closing()
        self.resume(batch.id).finish(1)
        self.assertEqual(self.close_requests(), [(URL + "5", f"reconciler:{batch.id}:a:1")] * 2)
        self.assertEqual(len(self.events("TRACKER_ITEM_CLOSED", task_id="a", batch_id=batch.id, attempt=1)), 1)

    def test_or_by_the_next_batch_whatever_that_wants_closed_and_once(self):
        batch = self.killed_while_closing()
        for task_id in ("c", "d"):
            self.add_tasks(task_id)
            self.batch("--reconcile-interval", "50ms", tasks=(task_id,)).finish(0)
        self.assertEqual(self.close_requests(), [(URL + "5", f"reconciler:{batch.id}:a:1")] * 2)

    def test_what_a_person_has_closed_and_opened_since_stays_open(self):
        self.killed_while_closing()
        self.items(issue5="closed", issue6="open")
        self.reconciler("sync")
        self.items(issue5="open", issue6="open")
        self.reconciler("sync")
        self.assert_stored(a="DONE")
        self.add_tasks("c")
        self.batch("--reconcile-interval", "50ms", tasks=("c",)).finish(0)
        self.assertEqual(len(self.close_requests()), 1)

    def test_a_helper_that_cannot_close_leaves_it_open_with_one_warning(self):
        self.configure(HELPER.replace('"can_close": True', '"can_close": False'))
        self.items(issue5="open")
        self.linked(a=5)
        result = self.run_batch("--close-issues", "--reconcile-interval", "50ms")
        self.assert_one_warning(result.err, "stays open")
        self.assert_stored(a="DONE")


if __name__ == "__main__":
    main()
