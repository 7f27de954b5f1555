"""kill -9 at chosen moments, several conductors, and what `resume` makes of it. (Random moments: tests/crash.)"""
import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import unittest

from running import OnFiles, RunCase, children_of, is_alive

PR_SET_CHILD_SUBREAPER = 36


class Crash(RunCase):
    def test_a_killed_conductor_shows_as_gone_and_resume_adopts_its_living_children(self):
        self.add_tasks("T1", "T2", "T3")
        worker = self.holding("T1", "T2")
        batch = self.batch("-j", "2", worker=worker)
        children = [self.started("T1"), self.started("T2")]
        batch.kill()
        status = self.status_json(batch.id)
        self.assertEqual((status["status"], status["conductor"]), ("RUNNING", "gone"))
        self.assertIn("gone", self.reconciler("status", batch.id).out)
        resumed = self.resume(batch.id)
        self.until(lambda: self.status_json(batch.id)["conductor"] == "alive", "taken up")
        self.assertTrue(all(map(is_alive, children)))
        self.open_gate("gate.T1")
        self.open_gate("gate.T2")
        resumed.finish()
        self.assert_stored(T1="DONE", T2="DONE", T3="DONE")
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T2 1", "T3 1"])
        self.assert_sound()

    def test_an_end_without_a_conductor_is_not_forgotten(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "2", worker=self.holding("T1", "T2", after="[ $REC_TASK_ID = T1 ] || exit 7"))
        children = [self.started("T1"), self.started("T2")]
        batch.kill()
        self.open_gate("gate.T1")
        self.open_gate("gate.T2")
        self.until(lambda: not any(map(is_alive, children)), "both have ended")
        self.assert_stored(T1="IN_PROGRESS", T2="IN_PROGRESS")
        self.resume(batch.id).finish(status=1)
        self.assert_stored(T1="DONE", T2="FAILED")
        self.assertEqual([event["exit_code"] for event in self.events("BATCH_TASK_FAILED", task_id="T2")], [7])
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T2 1"])
        self.assert_sound()

    def test_an_outside_status_set_while_nobody_conducts_is_kept(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "2", worker=self.holding("T1", "T2"))
        children = [self.started("T1"), self.started("T2")]
        batch.kill()
        self.set_outside(T1="DONE", T2="BACKLOG")
        self.open_gate("gate.T1")
        self.until(lambda: not is_alive(children[0]), "T1's child has ended")
        resumed = self.resume(batch.id)
        self.open_gate("gate.T2")
        resumed.finish(status=1)
        self.assert_stored(T1="DONE", T2="BACKLOG")
        self.assert_sound()

    def test_b02_one_lost_process_does_not_fail_the_living_one(self):
        self.add_tasks("T1", "T2")
        worker = self.holding("T1", "T2")
        batch = self.batch("-j", "2", worker=worker)
        living, lost = self.started("T1"), self.started("T2")
        shim = next(shim for shim in batch.shims() if lost in children_of(shim))
        batch.kill()
        os.kill(shim, signal.SIGKILL)  # its child goes with it
        self.until(lambda: not is_alive(lost), "the child of the killed shim is gone")
        self.path("started.T2").unlink()
        resumed = self.resume(batch.id)
        self.started("T2")
        self.assertTrue(is_alive(living))
        self.open_gate("gate.T1")
        self.open_gate("gate.T2")
        resumed.finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T2 1", "T2 2"])
        self.assertEqual(len(self.events("BATCH_TASK_LOST", task_id="T2")), 1)
        self.assert_sound()

    def test_a_killed_shim_loses_one_attempt_and_its_whole_tree_goes(self):
        self.add_tasks("T1")
        worker = self.script("""
            echo "$REC_ATTEMPT" >> journal
            [ $REC_ATTEMPT = 1 ] || exit 0
            setsid sh -c 'sh -c "echo \\$\\$ > orphan.new; mv orphan.new orphan; exec sleep 300" & exec sleep 300' &
            echo $$ > new; mv new started.T1; wait""")
        batch = self.batch(worker=worker)
        child, orphan = self.started("T1"), int(self.until_file("orphan"))
        os.kill(batch.shims()[0], signal.SIGKILL)
        batch.finish()
        self.assertFalse(is_alive(child) or is_alive(orphan))
        self.assertEqual(self.lines_of("journal"), ["1", "2"])
        self.assert_stored(T1="DONE")
        self.assert_sound()

    def test_an_attempt_lost_too_often_is_a_failure(self):
        self.add_tasks("T1")
        worker = self.script("echo $$ > new; mv new started.$REC_ATTEMPT; exec sleep 300")
        batch = self.batch(worker=worker)
        for attempt in range(1, 5):
            child = int(self.until_file(f"started.{attempt}"))
            os.kill(next(shim for shim in batch.shims() if child in children_of(shim)), signal.SIGKILL)
        batch.finish(status=1)
        self.assert_stored(T1="FAILED")
        self.assertEqual(self.events("BATCH_TASK_LOST", task_id="T1")[-1]["reason"], "process lost")
        self.assertFalse(self.path("started.5").exists())

    def be_subreaper(self):
        """What loses its parent becomes ours, and is a corpse until we collect it."""
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.addCleanup(libc.prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def test_b08_a_reboot_requeues_what_ran_and_signals_no_stranger(self):
        """After a reboot neither locks nor processes are left, and the pids belong to others."""
        self.be_subreaper()
        self.add_tasks("T1")
        worker = self.holding("T1")
        batch = self.batch(worker=worker)
        child = self.started("T1")
        shim = batch.shims()[0]
        batch.kill()
        os.kill(shim, signal.SIGKILL)
        for pid in (shim, child):  # it dies with its shim
            os.waitpid(pid, 0)
        strangers = [self.start_stranger(pid) for pid in (child, shim, batch.pid)]
        self.open_gate("gate.T1")
        self.resume(batch.id).finish()
        self.assertEqual([stranger.poll() for stranger in strangers], [None] * 3)
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T1 2"])
        self.assert_stored(T1="DONE")

    def start_stranger(self, pid):
        """With that pid where we may choose it (as root), else with any."""
        def begin():
            with contextlib.suppress(PermissionError):
                pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1), encoding="ascii")
            stranger = subprocess.Popen(["sleep", "300"])
            if os.geteuid() == 0 and stranger.pid != pid:  # somebody was faster
                stranger.kill()
                stranger.wait()
                return None
            return stranger
        stranger = self.until(begin, f"{pid} is somebody else's")
        self.addCleanup(lambda: (stranger.kill(), stranger.wait()))
        return stranger

    def test_b09_a_corpse_that_nobody_collects_is_not_waited_for(self):
        self.be_subreaper()
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", worker=self.holding("T1"))
        child = self.started("T1")
        shim = batch.shims()[0]
        batch.kill()
        os.kill(shim, signal.SIGKILL)
        corpses = [os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_pid for pid in (shim, child)]
        self.open_gate("gate.T1")
        self.resume(batch.id).finish()
        self.assertEqual([os.waitpid(pid, os.WNOHANG)[0] for pid in corpses], corpses)  # they were there all the time
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T1 2", "T2 1"])
        self.assert_stored(T1="DONE", T2="DONE")

    def test_run_first_records_what_a_dead_conductor_left(self):
        self.add_tasks("T1")
        self.add_tasks("T2", status="BACKLOG")
        first = self.batch(worker=self.holding("T1"))
        child = self.started("T1")
        first.kill()
        self.open_gate("gate.T1")
        self.until(lambda: not is_alive(child), "it has ended")
        self.reconciler("task", "set", "T2", "READY")
        self.run_batch(tasks=("T2",))
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1"])

    def test_stop_of_a_batch_without_a_conductor_cancels_it_at_once(self):
        self.add_tasks("T1")
        batch = self.batch(worker=self.holding("T1"))
        self.started("T1")
        batch.kill()
        self.reconciler("stop", batch.id)
        self.assertEqual(self.status_json(batch.id)["status"], "CANCELLED")
        self.open_gate("gate.T1")
        self.resume(batch.id).finish()
        self.assert_stored(T1="DONE")

    def test_a_stopped_batch_is_taken_up_again_where_it_was(self):
        self.add_tasks("T1", "T2")
        batch = self.batch("-j", "1", worker=self.holding("T1"))
        self.started("T1")
        self.reconciler("stop", batch.id)
        self.open_gate("gate.T1")
        batch.finish(status=1)
        self.assert_stored(T1="DONE", T2="READY")
        self.resume(batch.id).finish()
        self.assertEqual(self.lines_of("journal"), ["T1 1", "T2 1"])
        self.assert_sound()


class Several(RunCase):
    """Several conductors on one store."""

    def test_b06_a_second_conductor_on_the_same_batch_is_refused_naming_pid_and_host(self):
        self.add_tasks("T1")
        batch = self.batch(worker=self.holding("T1"))
        self.started("T1")
        refused = self.assert_refused("resume", batch.id)
        self.assertIn(str(batch.pid), refused.err)
        self.assertIn(socket.gethostname(), refused.err)
        self.open_gate("gate.T1")
        batch.finish()
        self.assertEqual(self.lines_of("journal"), ["T1 1"])

    def test_b06_several_conductors_run_every_task_exactly_once(self):
        count, conductors = 200, 3
        self.reconciler("task", "import", "-",
                        stdin="\n".join(f'{{"id":"T{i:03}","title":"no-op"}}' for i in range(count)))
        worker = self.script('echo "$REC_TASK_ID" >> journal')
        batches = [self.batch("-j", "3", worker=worker) for _ in range(conductors)]
        for batch in batches:
            batch.finish()
        self.assertEqual(sorted(self.lines_of("journal")), [f"T{i:03}" for i in range(count)])
        self.assertEqual(self.stored_all(), {"DONE"})
        self.assert_nothing_runs()
        self.assert_sound()

    def test_every_worker_is_given_its_own_task_however_fast_they_follow_each_other(self):
        self.reconciler("task", "import", "-",
                        stdin="\n".join(f'{{"id":"T{i:03}","title":"no-op"}}' for i in range(150)))
        worker = self.script("""read -r line
            case "$line" in *"\\"id\\":\\"$REC_TASK_ID\\""*) ;; *) echo "$REC_TASK_ID: $line" >> wrong;; esac""")
        self.run_batch("-j", "2", worker=worker)
        self.assertEqual(self.lines_of("wrong"), [])

    def test_a_task_held_by_another_living_conductor_is_waited_for(self):
        self.add_tasks("T1")
        self.add_tasks("T2", depends_on="T1")
        first = self.batch(tasks=("T1",), worker=self.holding("T1"))
        self.started("T1")
        second = self.batch(tasks=("T1", "T2"), worker=["sh", "-c", "echo second $REC_TASK_ID >> journal"])
        self.until(lambda: self.status_json(second.id)["conductor"] == "alive", "the second lives")
        self.assertIsNone(second.process.poll())
        self.open_gate("gate.T1")
        first.finish()
        second.finish()
        self.assertEqual(self.lines_of("journal"), ["T1 1", "second T2"])

    def test_a_living_conductor_takes_over_what_a_killed_one_left(self):
        self.add_tasks("T1")
        self.add_tasks("T2", depends_on="T1")
        first = self.batch(tasks=("T1",), worker=self.holding("T1"))
        child = self.started("T1")
        first.kill()
        second = self.batch("--reconcile-interval", "100ms", tasks=("T2",))
        self.assertTrue(is_alive(child))
        self.open_gate("gate.T1")
        second.finish()
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(self.lines_of("journal"), ["T1 1"])


class CrashOnFiles(OnFiles, Crash):
    """The same on a directory of task files."""


class SeveralOnFiles(OnFiles, Several):
    """The same on a directory of task files."""


if __name__ == "__main__":
    unittest.main(verbosity=1)
