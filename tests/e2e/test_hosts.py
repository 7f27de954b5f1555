"""Three hosts over one PostgreSQL, each with a network, a state folder and a conductor of its own: a short outage ends
nothing; of one that is cut off and one that is paused, the third takes over, and no task runs twice at once. Runs under
tests/postgres/with-cluster; skipped where no network namespace can be made."""
import os
import signal
import sys
import time
import unittest

import harness
import postgres_hosts
import running
import test_postgres

WORDS = postgres_hosts.way_to_make_one()
OUTAGE_S = 2  # several renewals long, far from the end of a lease


class Hosts(test_postgres.PostgresCase):
    def setUp(self):
        super().setUp()
        self.network = postgres_hosts.Hosts(WORDS, 3, test_postgres.PARTS["host"])
        self.addCleanup(self.network.close)
        self.addCleanup(self.end_everything)  # before the network goes

    def begin(self, number, tasks):
        """A conductor on that host, which takes so many tasks."""
        name = "abc"[number]
        uri = (f"postgresql://{test_postgres.PARTS['user']}@{self.network.address(number)}:5432/postgres"
               "?sslmode=disable&gssencmode=disable")
        self.gate(name)
        inside = self.network.inside(number)
        command = self.command
        self.command = lambda *given, **options: (made := command(*given, **options)) | {"args": inside + made["args"]}
        try:
            batch = self.batch(dict(self.host(f"host-{name}"), RECONCILER_STORE=uri), "--all-ready", "--wait",
                               "-j", str(tasks), "--", self.worker(), name)
        finally:
            self.command = command
        return batch

    def began(self, name, attempt):
        return {line.split()[2] for line in self.log() if line.startswith(f"began {name} ") and line.endswith(f" {attempt}")}

    def assert_never_twice(self, of):
        """Whoever began one of these tasks had stopped, or was done, before anybody else began it."""
        at_work = {}
        for line in self.log():
            what, host, task = line.split()[:3]
            if task in of and what == "began":
                self.assertNotIn(task, at_work, line)
                at_work[task] = host
            elif task in of:
                self.assertEqual(at_work.pop(task, None), host, line)
        self.assertEqual(at_work, {})

    def test_no_task_is_lost_and_none_runs_twice_at_once(self):
        ids = [f"t{i}" for i in range(8)]
        self.reconciler("task", "import", "-",
                        stdin="".join(f'{{"id":"{i}","title":"x","status":"READY"}}\n' for i in ids))
        of_a, of_b = self.begin(0, 2), None
        self.until(lambda: len(self.began("a", 1)) == 2, "A runs two")
        of_b = self.begin(1, 2)
        self.until(lambda: len(self.began("b", 1)) == 2, "B runs two")
        of_c = self.begin(2, 8)
        self.until(lambda: len(self.began("c", 1)) == 4, "C runs the rest")
        for number in range(3):
            self.network.cut(number)
        time.sleep(OUTAGE_S)
        for number in range(3):
            self.network.mend(number)
        cut_off, paused = self.began("a", 1), self.began("b", 1)
        self.network.cut(0)
        asleep = [of_b.pid, *self.processes(str(self.directory / "host-b"))]
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        self.until(lambda: self.began("c", 2) == cut_off | paused, "C took over",
                   test_postgres.TAKE_OVER_S + harness.DEADLINE_S)
        stopped = [line for line in self.log() if line.startswith("stopped")]
        self.assertEqual(sorted(stopped), sorted(f"stopped a {task}" for task in cut_off))
        self.network.mend(0)
        self.wake(asleep)
        for batch in (of_a, of_b):
            out, err = batch.process.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(batch.process.returncode, 1, (out, err))
        self.until(lambda: not [pid for pid in asleep if running.is_alive(pid)], "B's children are gone")
        for name in "abc":
            self.open_gate(name)
        out, err = of_c.process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(of_c.process.returncode, 0, (out, err))
        self.assert_never_twice(set(ids) - paused)
        self.assertEqual(sorted(line for line in self.log() if line.startswith("done")),
                         sorted(f"done c {task}" for task in ids))
        self.assertEqual(test_postgres.psql("SELECT id||status||attempt FROM reconciler.tasks ORDER BY id").split(),
                         [f"{task}DONE{1 + (task in cut_off | paused)}" for task in ids])
        self.assertEqual(test_postgres.psql("SELECT count(*) FROM reconciler.claims"), "0")
        self.assertEqual(self.reconciler("events", "verify").status, 0)


if __name__ == "__main__":
    if not WORDS:
        print("skipped: no network namespace can be made here (unshare, nsenter and ip are needed, and the right to use them)")
        sys.exit(77)
    unittest.main(verbosity=2)
