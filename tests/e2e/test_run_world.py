"""`run` while the world changes: people, agents and other programs finish, block, answer, withdraw, delete."""
import json
import os
import shutil
import signal
import subprocess
import unittest

import harness
from running import RunCase, is_alive


class Outside(RunCase):
    """Changes from outside to what runs, waits or is held."""

    def set(self, task_id, status):
        """As a person does it, with a foreign program's bare UPDATE: no rules, no events."""
        self.sqlite(self.store).execute("UPDATE tasks SET status=?, updated_at=datetime('now') WHERE id=?", (status, task_id))

    def test_b03_a_persons_done_is_not_reverted_by_the_killed_childs_exit(self):
        self.add_tasks("T1")
        self.add_tasks("T2", depends_on="T1")
        worker = self.holding("T1", after="exit 0")
        batch = self.batch("--settle", "0", "--on-failure", "stop", worker=worker)
        child = self.started("T1")
        self.set("T1", "DONE")
        self.started("T2")
        batch.finish()
        self.assertFalse(is_alive(child))
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T2 1"])
        self.assertEqual(self.events("BATCH_TASK_FAILED"), [])
        self.assertEqual(self.events("RECONCILIATION_TASK_SKIPPED", task_id="T1")[0]["current_status"], "DONE")
        self.assert_sound()

    def test_b03_nor_by_a_child_that_fails_while_it_settles(self):
        self.add_tasks("T1")
        batch = self.batch(worker=self.holding("T1", after="exit 1"))
        self.started("T1")
        self.set("T1", "DONE")
        self.open_gate("gate.T1")
        batch.finish()
        self.assert_stored(T1="DONE")

    def test_a_task_blocked_outside_is_stopped_and_stays_blocked(self):
        self.add_tasks("T1")
        batch = self.batch("--settle", "0", worker=self.holding("T1"))
        child = self.started("T1")
        self.reconciler("blocker", "add", "T1", "which?")
        self.set("T1", "BLOCKED")
        out, _ = batch.finish(status=1)
        self.assertFalse(is_alive(child))
        self.assert_stored(T1="BLOCKED")
        self.assertIn("1 task killed (externally blocked)", out)
        self.assertEqual(self.status_json(batch.id)["reconciliation"], {"skipped": 0, "killed": 1, "requeued": 0, "errors": 0})
        self.assert_sound()

    def test_b05_a_task_blocked_after_it_was_queued_does_not_start(self):
        self.add_tasks("T0", "T1")
        batch = self.batch("-j", "1", worker=self.holding("T0"))
        self.started("T0")
        self.reconciler("blocker", "add", "T1", "which?")
        self.set("T1", "BLOCKED")
        self.open_gate("gate.T0")
        batch.finish(status=1)
        self.assertFalse(self.path("started.T1").exists())
        self.assert_stored(T0="DONE", T1="BLOCKED")
        self.assertEqual(self.task_in(batch.id, "T1")["phase"], "held")
        self.assertTrue(self.events(task_id="T1"))

    def test_a_withdrawn_task_is_stopped_and_stays_withdrawn(self):
        self.add_tasks("T1")
        self.add_tasks("T2", depends_on="T1")
        batch = self.batch("--settle", "0", worker=self.holding("T1"))
        child = self.started("T1")
        self.set("T1", "BACKLOG")
        batch.finish(status=1)
        self.assertFalse(is_alive(child))
        self.assert_stored(T1="BACKLOG", T2="READY")
        self.assertIn("dependency", self.task_in(batch.id, "T2")["reason"])

    def test_a_deleted_task_is_stopped_and_everything_else_goes_on(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("--settle", "0", worker=self.holding("T1", "T2"))
        child = self.started("T1")
        self.started("T2")
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM tasks WHERE id='T1'")
        self.until(lambda: not is_alive(child), "the child of the deleted task is gone")
        self.open_gate("gate.T2")
        batch.finish(status=None or batch.process.wait(timeout=30))
        self.assert_stored(T2="DONE")

    def test_a_task_set_ready_under_its_child_runs_once_more_afterwards(self):
        self.add_tasks("T1")
        batch = self.batch(worker=self.holding("T1"))
        self.started("T1")
        self.set("T1", "READY")
        self.until(lambda: self.stored("T1") == "READY", "READY stands")
        self.open_gate("gate.T1")
        batch.finish()
        self.assert_stored(T1="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T1 2"])

    def test_failed_from_outside_stands_and_is_no_success(self):
        self.add_tasks("T1")
        batch = self.batch("--settle", "0", worker=self.holding("T1"))
        self.started("T1")
        self.set("T1", "FAILED")
        batch.finish(status=1)
        self.assert_stored(T1="FAILED")
        self.assertEqual(self.status_json(batch.id)["counts"]["failed"], 1)

    def test_a_finished_task_that_is_reopened_runs_again(self):
        self.add_tasks("T0", "T1")
        batch = self.batch(worker=self.holding("T0"))
        self.started("T0")
        self.until_status("T1", "DONE")
        self.set("T1", "READY")
        self.until(lambda: "T1 2" in self.lines_of("journal"), "T1 runs again")
        self.open_gate("gate.T0")
        batch.finish()
        self.assert_stored(T0="DONE", T1="DONE")

    def test_what_was_skipped_is_counted_and_said(self):
        self.add_tasks("T0", "T1", "T2")
        batch = self.batch("-j", "1", worker=self.holding("T0"))
        self.started("T0")
        self.set("T1", "DONE")
        self.set("T2", "MERGED")
        self.open_gate("gate.T0")
        out, _ = batch.finish()
        self.assertIn("1 done, 2 skipped", out)
        self.assertIn("2 tasks skipped (externally completed)", out)

    def test_b29_a_store_locked_by_another_for_a_while_delays_and_breaks_nothing(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", "--settle", "0", worker=self.holding("T1"))
        child = self.started("T1")
        other = self.sqlite(self.store)
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE tasks SET status='DONE' WHERE id='T1'")
        self.open_gate("gate.T1")
        self.until(lambda: not is_alive(child), "the child has ended")
        self.assertIsNone(batch.process.poll())
        other.execute("COMMIT")
        batch.finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assert_sound()


    def test_store_fault_moved_away_for_a_while_it_loses_no_end_and_starts_nothing(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", worker=self.holding("T1"))
        self.started("T1")
        home, away = self.path(".reconciler"), self.path("away")
        home.rename(away)
        self.open_gate("gate.T1")
        while "moved away" not in batch.error_line():
            pass
        self.assertFalse(self.path("started.T2").exists())
        away.rename(home)
        batch.finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T2 1"])
        self.assert_sound()

    def test_store_fault_moved_away_for_good_can_be_left_by_who_is_told_to_stop(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", "--grace", "1s", worker=self.holding("T1"))
        child = self.started("T1")
        home, away = self.path(".reconciler"), self.path("away")
        home.rename(away)
        batch.signal(signal.SIGTERM)
        error = batch.finish(2)[1].splitlines()[-1]
        for words in ("reconciler: ", "moved away", "resume"):
            self.assertIn(words, error)
        self.assertFalse(is_alive(child))
        away.rename(home)
        self.open_gate("gate.T1")
        self.resume(batch.id).finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T1 2", "T2 1"])
        self.assert_sound()

    def test_b32_malformed_all_work_stops_untouched_and_goes_on_once_it_is_mended(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", worker=self.holding("T1"))
        self.started("T1")
        connection = self.sqlite(self.store)
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name='tasks'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with open(self.store, "r+b") as file:
            file.seek((root - 1) * size)
            whole = file.read(size)
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)
        connection.execute("INSERT INTO rec_changes(task_id) VALUES('T2')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        damaged = self.store.read_bytes()
        self.assertIn("malformed", batch.finish(2)[1].splitlines()[-1])
        self.open_gate("gate.T1")
        self.assert_nothing_runs()
        self.assertEqual(self.store.read_bytes(), damaged)
        with open(self.store, "r+b") as file:
            file.seek((root - 1) * size)
            file.write(whole)
        self.resume(batch.id).finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T2 1"])
        self.assert_sound()


class ReadOnly(RunCase):
    """File and folder lose the right to be written, for a user who is not root: in a namespace without its own name, root
    is not."""

    def setUp(self):
        super().setUp()
        self.before = []
        if os.geteuid() == 0:
            self.before = ["unshare", "-U"]
            if not shutil.which("unshare") or subprocess.run([*self.before, "true"], check=False, capture_output=True).returncode != 0:
                self.skipTest("root may write everywhere, and cannot become somebody else here")
        self.addCleanup(self.writable, True)

    def command(self, arguments, **options):
        made = super().command(arguments, **options)
        return made | {"args": [*getattr(self, "before", []), *made["args"]]}

    def writable(self, yes):
        for folder, _, names in os.walk(self.store.parent, topdown=False):
            for path in (*(os.path.join(folder, name) for name in names), folder):
                os.chmod(path, os.stat(path).st_mode & ~0o222 | (0o200 if yes else 0))

    def test_store_fault_read_only_for_a_while_it_loses_no_end_and_starts_nothing(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", worker=self.holding("T1"))
        self.started("T1")
        self.writable(False)
        self.assert_refused("task", "add", "x", words=["state.db", "may not be written to", "give the right"])
        self.open_gate("gate.T1")
        while "RECONCILIATION_ERROR" not in (line := batch.error_line()):
            pass
        self.assertRegex(line, r"/rec-run/slot-0000/task-\d\.json: may not be written: Permission denied \(make file and folder writable")
        self.assertFalse(self.path("started.T2").exists())
        self.writable(True)
        batch.finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T2 1"])
        self.assert_sound()

    def test_store_fault_read_only_it_is_resumed_once_it_can_be_written(self):
        self.add_tasks("T1", "T2", "T3")
        batch = self.batch("-j", "2", worker=self.holding("T1", "T2"))
        child = self.started("T1")
        self.started("T2")
        self.writable(False)
        batch.kill()
        self.assert_refused("resume", batch.id, words=["state.db", "may not be written to", "give the right"])
        self.open_gate("gate.T1")
        self.until(lambda: not is_alive(child), "T1 has ended")
        self.assert_refused("resume", batch.id, words=["may not be written to"])
        self.assertEqual(self.status_json(batch.id)["conductor"], "gone")
        self.writable(True)
        resumed = self.resume(batch.id)
        self.open_gate("gate.T2")
        resumed.finish()
        self.assert_stored(T1="DONE", T2="DONE", T3="DONE")
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T2 1", "T3 1"])
        self.assert_sound()


READ_ONLY = r"""
set -eu
reconciler=$1
"$reconciler" init -q > /dev/null
for id in T1 T2; do "$reconciler" -q task add x --id $id > /dev/null; done
mkfifo gate
"$reconciler" run --all-ready -j 1 -- sh -c 'echo "$REC_TASK_ID" >> started; [ "$REC_TASK_ID" = T2 ] || read -r x < gate
    echo "$REC_TASK_ID" >> ended' > out 2> report &
conductor=$!
until [ -s started ]; do sleep 0.01; done
mount --bind .reconciler .reconciler
mount -o remount,bind,ro .reconciler
"$reconciler" task add x 2>> refused || echo "task add: $?"
kill -9 $conductor
wait $conductor 2> /dev/null || true
batch=$(sed -n 's/^batch //p' report)
"$reconciler" resume "$batch" 2>> refused || echo "resume: $?"
exec 9<> gate
echo go >&9
until [ -s ended ]; do sleep 0.01; done
"$reconciler" check -q > /dev/null
umount .reconciler
"$reconciler" resume "$batch" > /dev/null 2>> report
echo "started $(cat started | tr '\n' ' ')"
"$reconciler" task list --json | grep -o '"status":"[A-Z]*"' | sort | uniq -c
"$reconciler" doctor -q > /dev/null
"$reconciler" events verify -q > /dev/null
"""


class ReadOnlyMount(RunCase):
    def test_store_fault_read_only_file_system_it_is_resumed_once_it_can_be_written(self):
        place = self.path("place")
        place.mkdir()
        unshare = shutil.which("unshare")
        if not unshare or subprocess.run([unshare, "-Urm", "sh", "-c", "mount --bind . . && mount -o remount,bind,ro ."],
                                         cwd=place, capture_output=True, check=False).returncode != 0:
            self.skipTest("nothing can be mounted in a namespace of this user")
        done = subprocess.run([unshare, "-Urm", "sh", "-c", READ_ONLY, "sh", harness.RECONCILER], cwd=place, capture_output=True,
                              text=True, check=False, timeout=harness.DEADLINE_S)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
        self.assertEqual(done.stdout.split(), ["task", "add:", "2", "resume:", "2", "started", "T1", "T2", "2", '"status":"DONE"'])
        refused = (place / "refused").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(refused), 2)
        for line in refused:
            self.assertRegex(line, r"/state\.db: lies on a read-only file system \(make it writable, or move the store\)")


class Processes(RunCase):
    """What a child leaves behind, and what does not listen."""

    def set(self, task_id, status):
        self.sqlite(self.store).execute("UPDATE tasks SET status=? WHERE id=?", (status, task_id))

    def test_b10_grandchildren_are_ended(self):
        self.add_tasks("T1")
        worker = self.script("""
            sh -c 'echo $$ > same; while :; do echo x >> grows; sleep 0.05; done' &
            setsid sh -c 'echo $$ > other; exec sleep 300' &
            (setsid sh -c 'sh -c "echo \\$\\$ > orphan; exec sleep 300" &' &)
            echo $$ > started.T1; wait""")
        batch = self.batch("--settle", "0", "--grace", "5s", worker=worker)
        found = [int(self.until_file(name)) for name in ("started.T1", "same", "other", "orphan")]
        self.set("T1", "DONE")
        batch.finish()
        self.assertEqual([pid for pid in found if is_alive(pid)], [])
        self.assert_stored(T1="DONE")
        self.assert_nothing_runs()

    def test_b10_descendants_outlive_no_normal_exit_and_are_counted(self):
        self.add_tasks("T1")
        worker = self.script("setsid sh -c 'echo $$ > other; exec sleep 300' & while [ ! -s other ]; do :; done")
        self.run_batch(worker=worker)
        self.assertFalse(is_alive(int(self.path("other").read_text(encoding="utf-8"))))
        self.assertEqual([event.get("survivors") for event in self.events("BATCH_TASK_COMPLETED")], [1])
        self.assert_stored(T1="DONE")

    def test_b11_a_stubborn_child_delays_nobody(self):
        self.add_tasks("T1", "T2", "T3")
        self.gate("never")
        worker = self.script("""
            [ $REC_TASK_ID != T1 ] || trap '' TERM
            echo $$ > new.$REC_TASK_ID; mv new.$REC_TASK_ID started.$REC_TASK_ID
            [ $REC_TASK_ID = T3 ] || while :; do read x < never || exit 1; done""")
        batch = self.batch("-j", "2", "--settle", "0", "--grace", "3s", worker=worker)
        stubborn, meek = self.started("T1"), self.started("T2")
        self.reconciler("blocker", "add", "T1", "which?")
        self.set("T1", "BLOCKED")
        self.set("T2", "DONE")
        self.until(lambda: not is_alive(meek), "T2's child is gone")
        self.until_status("T3", "DONE")
        self.assertTrue(is_alive(stubborn))  # its grace is not over
        batch.finish(status=1)
        self.assertFalse(is_alive(stubborn))
        self.assert_stored(T1="BLOCKED", T2="DONE", T3="DONE")
        self.assertEqual([event["exit_signal"] for event in self.events("RECONCILIATION_TASK_KILLED", task_id="T1")
                          if "exit_signal" in event], [9])

    def test_b12_a_grandchild_with_stdout_is_not_waited_for(self):
        self.add_tasks("T1")
        self.run_batch(worker=["sh", "-c", "echo ok; sleep 3600 & exit 0"])
        self.assertEqual(self.reconciler("logs", "T1").out, "ok\n")
        self.assert_stored(T1="DONE")
        self.assert_nothing_runs()

    def test_b01_a_child_killed_from_elsewhere_is_a_failed_attempt(self):
        self.add_tasks("T1")
        batch = self.batch(worker=self.holding("T1"))
        os.kill(self.started("T1"), signal.SIGKILL)
        batch.finish(status=1)
        self.assert_stored(T1="FAILED")
        self.assertEqual([event["exit_signal"] for event in self.events("BATCH_TASK_FAILED")], [9])
        self.open_gate("gate.T1")
        self.reconciler("resume", batch.id)
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T1 2"])

    def test_b09_a_corpse_nobody_collects_frees_its_slot(self):
        self.add_tasks("T1", "T2")
        worker = self.script("""
            [ $REC_TASK_ID = T2 ] || setsid sh -c 'sh -c "exit 0" & exec sleep 300' &
            exit 0""")
        self.run_batch("-j", "1", worker=worker)
        self.assert_stored(T1="DONE", T2="DONE")
        self.assert_nothing_runs()

    def test_a_child_that_leaves_a_daemon_storm_is_contained(self):
        self.add_tasks("T1")
        worker = self.script("""
            i=0; while [ $i -lt 30 ]; do i=$((i+1)); setsid sh -c 'trap "" TERM; sleep 300 & wait' & done
            echo > started.T1; wait""")
        batch = self.batch("--settle", "0", "--grace", "300ms", worker=worker)
        self.until_file("started.T1")
        self.set("T1", "DONE")
        batch.finish()
        self.assert_nothing_runs()

    def test_the_child_is_in_its_own_process_group_and_without_our_descriptors(self):
        self.add_tasks("T1")
        self.run_batch(worker=["sh", "-c", "ls /proc/self/fd > fds; cut -d' ' -f5 /proc/$$/stat > group; echo $$ > pid"])
        self.assertEqual(self.lines_of("group"), self.lines_of("pid"))
        self.assertEqual(sorted(map(int, self.lines_of("fds")))[:4], [0, 1, 2, 3])
        self.assertLessEqual(len(self.lines_of("fds")), 4)  # and the folder that ls reads


class Blockers(RunCase):
    def set(self, task_id, status):
        self.sqlite(self.store).execute("UPDATE tasks SET status=? WHERE id=?", (status, task_id))

    def open_blocker(self, task_id):
        return self.until(lambda: self.reconciler("blocker", "list", task_id, "--open", "--json").json,
                          f"an open blocker of {task_id}")[0]["id"]

    def test_b14_every_answer_requeues_once_within_the_same_batch(self):
        self.add_tasks("T0", "T1")
        self.gate("gate.T0")
        worker = self.script(f"""
            echo "$REC_TASK_ID $REC_ATTEMPT" >> journal
            [ $REC_TASK_ID = T1 ] || {{ read x < gate.T0; exit 0; }}
            [ $REC_ATTEMPT -ge 3 ] || {os.environ['RECONCILER']} -S "$REC_STORE" blocker add T1 "round $REC_ATTEMPT?" """)
        batch = self.batch("--reconcile-interval", "50ms", worker=worker)
        for attempt in ("T1 2", "T1 3"):
            self.until_status("T1", "BLOCKED")
            self.reconciler("blocker", "answer", self.open_blocker("T1"), "so")
            # Not by its status: the next attempt may have asked again before anybody looked.
            self.until(lambda line=attempt: line in self.lines_of("journal"), "T1 goes on")
        self.until_status("T1", "DONE")
        self.open_gate("gate.T0")
        out, _ = batch.finish()
        self.assertEqual([line for line in self.lines_of("journal") if line.startswith("T1")], ["T1 1", "T1 2", "T1 3"])
        self.assertIn("2 tasks requeued", out)
        self.assertEqual(len(self.events("RECONCILIATION_TASK_REQUEUED", task_id="T1")), 2)

    def test_b15_lifting_a_block_waits_for_the_dependencies(self):
        self.add_tasks("T1")
        self.add_tasks("T2", depends_on="T1")
        self.reconciler("blocker", "add", "T2", "which?")
        self.set("T2", "BLOCKED")
        batch = self.batch(tasks=("T1", "T2"), worker=self.holding("T1"))
        self.started("T1")
        self.reconciler("blocker", "answer", self.open_blocker("T2"), "so")
        self.until_status("T2", "READY")
        self.assertFalse(self.path("started.T2").exists())
        self.open_gate("gate.T1")
        batch.finish()
        self.assertEqual(self.lines_of("ended"), ["T1", "T2"])

    def test_a_batch_ends_with_what_nobody_answers(self):
        self.add_tasks("T1")
        self.reconciler("blocker", "add", "T1", "which?")
        self.set("T1", "BLOCKED")
        done = self.run_batch(tasks=("T1",), status=1)
        self.assertIn("PARTIAL", done.out)
        self.assert_stored(T1="BLOCKED")


class Dependencies(RunCase):
    def test_b36_a_ring_is_reported_and_held(self):
        tasks = {"T1": ["T2"], "T2": ["T3"], "T3": ["T1"], "T4": ["T1"], "T5": [], "T6": ["T6"]}
        self.reconciler("task", "import", "-", stdin=json.dumps(
            [{"id": task_id, "title": task_id, "depends_on": on} for task_id, on in tasks.items()]), status=None)
        if not self.sqlite(self.store).execute("SELECT count(*) FROM tasks").fetchone()[0]:
            connection = self.sqlite(self.store)  # import refuses rings; another program may write them
            for task_id, on in tasks.items():
                self.add_tasks(task_id)
                connection.execute("UPDATE tasks SET depends_on=? WHERE id=?", (json.dumps(on), task_id))
        batch = self.batch("-j", "2", worker=["sh", "-c", "echo $REC_TASK_ID >> journal"])
        batch.finish(status=1)
        self.assertEqual(self.lines_of("journal"), ["T5"])
        rings = sorted(sorted(event["detail"].split()) for event in self.events("DEPENDENCY_RING"))
        self.assertEqual(rings, [["T1", "T2", "T3"], ["T6"]])
        reasons = {task["task_id"]: task["reason"] for task in self.status_json(batch.id)["tasks"]}
        for member in ("T1", "T2", "T3", "T6"):
            self.assertEqual(reasons[member], "in a ring of dependencies")
        self.assertEqual(reasons["T4"], "a dependency cannot finish: T1")
        self.assertEqual(self.status_json(batch.id)["status"], "PARTIAL")

    def test_a_missing_dependency_is_named_and_holds_only_what_needs_it(self):
        self.add_tasks("T1", "T2")
        self.sqlite(self.store).execute("UPDATE tasks SET depends_on='[\"nowhere\"]' WHERE id='T1'")
        batch = self.batch()
        batch.finish(status=1)
        self.assert_stored(T1="READY", T2="DONE")
        self.assertEqual(self.task_in(batch.id, "T1")["reason"], "a dependency does not exist")

    def test_a_failed_dependency_holds_what_needs_it(self):
        self.add_tasks("T1")
        self.add_tasks("T2", depends_on="T1")
        done = self.run_batch(worker=["sh", "-c", "[ $REC_TASK_ID != T1 ]"], status=1)
        self.assertIn("0 done, 0 skipped, 1 failed, 1 held", done.out)
        self.assert_stored(T1="FAILED", T2="READY")

    def test_b33_rows_in_a_bad_state_hold_nobody_up(self):
        self.add_tasks(*(f"T{i}" for i in range(10)))
        connection = self.sqlite(self.store)
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("UPDATE tasks SET created_at='2026-03-12 03:11:13' WHERE id='T0'")
        connection.execute("UPDATE tasks SET priority='soon' WHERE id='T2'")
        connection.execute("UPDATE tasks SET status='ready ' WHERE id='T1'")
        self.run_batch(tasks=tuple(f"T{i}" for i in range(10)), status=1)
        self.assertEqual(self.stored("T1"), "ready ")
        self.assertEqual([self.stored(f"T{i}") for i in (0, 2, 3, 4, 5, 6, 7, 8, 9)], ["DONE"] * 9)


if __name__ == "__main__":
    unittest.main(verbosity=1)
