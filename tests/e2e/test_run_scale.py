"""Many at once: a thousand children, several conductors on one store, a disk that is full for a while."""
import json
import os
import resource
import shutil
import subprocess
import unittest

import harness
from running import RunCase, children_of, is_alive

harness.DEADLINE_S = 120  # many at once on a busy machine
FILES_PER_SLOT = 5


class Many(RunCase):
    def import_tasks(self, count):
        lines = "\n".join(f'{{"id":"T{number:05}","title":"task {number}"}}' for number in range(count))
        self.reconciler("task", "import", "-", stdin=lines)

    def run_apart(self, *arguments, worker, name="told"):
        """`run` whose many lines go to a file; its process, and its batch."""
        with open(self.path(name), "wb") as told:
            process = subprocess.Popen(**self.command(["run", "--all-ready", *arguments, "--", *worker],
                                                      stdout=subprocess.DEVNULL, stderr=told))
        self.addCleanup(process.wait)
        self.until(lambda: self.lines_of(name), "the batch is made")
        return process, self.lines_of(name)[0].removeprefix("batch ")

    def steady(self, look):
        """What is seen ten times in a row: nobody was seen in the middle of something."""
        seen = []

        def is_steady():
            seen.append(look())
            return len(seen) >= 10 and all(one == seen[-1] for one in seen[-10:])

        self.until(is_steady, "nothing moves")
        return seen[-1]

    def test_scale_a_thousand_children_run_at_once(self):
        count = 1000
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < count * FILES_PER_SLOT + 100:
            self.skipTest("this process may not open that many files")
        self.import_tasks(count)
        self.gate("gate")
        os.mkdir(self.path("up"))
        process, batch = self.run_apart("-j", str(count),
                                        worker=["sh", "-c", ': > "up/$REC_TASK_ID"; read -r line < gate'])
        self.until(lambda: len(os.listdir(self.path("up"))) == count, "all of them run")
        self.assertEqual(self.status_json(batch)["counts"]["running"], count)
        gate = os.open(self.path("gate"), os.O_RDWR)
        self.addCleanup(os.close, gate)
        os.write(gate, b"\n" * count)
        self.assertEqual(process.wait(timeout=harness.DEADLINE_S), 0)
        self.assertEqual(self.status_json(batch)["counts"]["done"], count)
        self.assert_sound()

    def test_duplicate_dispatch_three_conductors_run_two_thousand_tasks_each_exactly_once(self):
        count = 2000
        self.import_tasks(count)
        worker = ["sh", "-c", 'echo "$REC_TASK_ID $REC_ATTEMPT" >> journal']
        running = [self.run_apart("-j", "2", worker=worker, name=name) for name in ("one", "two", "three")]
        for process, _ in running:
            self.assertEqual(process.wait(timeout=harness.DEADLINE_S), 0)
        self.assertEqual(sorted(self.lines_of("journal")), [f"T{number:05} 1" for number in range(count)])
        done = [self.status_json(batch)["counts"] for _, batch in running]
        self.assertEqual(sum(counts["done"] for counts in done), count)
        for counts in done:
            self.assertEqual(counts["done"] + counts["skipped"], sum(counts.values()))
        self.assert_sound()


    def test_b37_two_thousand_children_one_after_the_other_leave_nothing_behind(self):
        """Eight wait at the beginning and eight at the end: meanwhile no descriptor and hardly any memory was kept."""
        slots, count = 8, 2000
        first, last = [f"A{number}" for number in range(slots)], [f"Z{number}" for number in range(slots)]
        tasks = [{"id": task_id, "title": "waits", "priority": priority}
                 for ids, priority in ((first, 0), (last, 9)) for task_id in ids]
        tasks += [{"id": f"T{number:05}", "title": "goes by", "priority": 5} for number in range(count)]
        self.reconciler("task", "import", "-", stdin=json.dumps(tasks))
        self.gate("A", "Z")
        os.mkdir(self.path("up"))
        worker = self.script('''case $REC_TASK_ID in T*) exit 0;; esac
: > "up/$REC_TASK_ID"; read -r line < "$(printf %.1s "$REC_TASK_ID")"''')
        process, batch = self.run_apart("-j", str(slots), worker=[worker])
        seen = {}
        for name, ids in (("A", first), ("Z", last)):
            self.until(lambda ids=ids: set(ids) <= set(os.listdir(self.path("up"))), f"those of {name} wait")
            seen[name] = self.steady(lambda: open_files([process.pid, *children_of(process.pid)])), resident_kib(process.pid)
            gate = os.open(self.path(name), os.O_RDWR)
            self.addCleanup(os.close, gate)
            os.write(gate, b"\n" * slots)
        self.assertEqual(process.wait(timeout=harness.DEADLINE_S), 0)
        self.assertEqual(seen["A"][0], seen["Z"][0])
        self.assertLess(seen["Z"][1] - seen["A"][1], 8192)
        self.assertEqual(self.status_json(batch)["counts"]["done"], count + 2 * slots)

    def test_b37_in_a_large_batch_an_outside_change_is_seen_at_once(self):
        """Ten thousand tasks with three prerequisites each, two hundred blockers, eight that run."""
        count, running = 10000, 8
        tasks = []
        for number in range(count):
            needs = [] if number < 300 else [f"T{number - 100 * step:05}" for step in (1, 2, 3)]
            blockers = [{"question": "?"}] if number % 50 == 0 else []
            tasks.append({"id": f"T{number:05}", "title": "x", "depends_on": needs, "blockers": blockers})
        self.reconciler("task", "import", "-", stdin=json.dumps(tasks))
        worker = self.script("echo $$ > new.$REC_TASK_ID; mv new.$REC_TASK_ID started.$REC_TASK_ID; exec sleep 1000")
        process, batch = self.run_apart("-j", str(running), "--settle", "0", "--reconcile-interval", "0", worker=[worker])
        started = self.until(lambda: len(found := sorted(self.directory.glob("started.*"))) == running and found,
                             "eight run")
        victim = started[3].name.removeprefix("started.")
        self.sqlite(self.store).execute("UPDATE tasks SET status='DONE' WHERE id=?", (victim,))
        self.until(lambda: not is_alive(self.started(victim)), "its child is stopped")
        self.until(lambda: len(list(self.directory.glob("started.*"))) == running + 1, "another takes its place")
        self.assertEqual(self.stored(victim), "DONE")
        self.reconciler("stop", batch, "--force")
        self.assertEqual(process.wait(timeout=harness.DEADLINE_S), 1)
        self.assert_nothing_runs()


def open_files(of):
    return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in of}


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


FULL_DISK = r"""
set -eu
reconciler=$1
report=$2
mkdir disk
mount -t tmpfs -o size=3m none disk
cd disk
"$reconciler" init -q > /dev/null
"$reconciler" -q task add one --id T1 > /dev/null
"$reconciler" -q task add two --id T2 > /dev/null
mkfifo gate
"$reconciler" run --all-ready -j 1 -- sh -c 'echo "$REC_TASK_ID" >> started; [ "$REC_TASK_ID" = T2 ] || read -r x < gate' \
    2> "$report" > "$report.out" &
until [ -s started ]; do sleep 0.01; done
exec 9<> gate
dd if=/dev/zero of=fill bs=64k 2> /dev/null || true
dd if=/dev/zero of=fill2 bs=512 2> /dev/null || true
echo go >&9
until grep -q RECONCILIATION_ERROR "$report"; do sleep 0.01; done
echo "full: $(cat started | tr '\n' ' ')"
kill -0 $!
rm fill fill2
status=0
wait $! || status=$?
echo "status $status, started $(cat started | tr '\n' ' ')"
"$reconciler" task show T1 --json | grep -o '"status":"[A-Z]*"'
"$reconciler" doctor -q
"$reconciler" events verify -q
"""


class FullDisk(RunCase):
    """With real processes, on a small file system of the test's own (a namespace of its user)."""

    def test_b30_a_full_disk_loses_no_end_and_starts_nothing_until_there_is_room(self):
        unshare = shutil.which("unshare")
        if not unshare or subprocess.run([unshare, "-Urm", "sh", "-c", "mkdir -p probe && mount -t tmpfs none probe"],
                                         cwd=self.directory, capture_output=True, check=False).returncode != 0:
            self.skipTest("no file system can be mounted in a namespace of this user")
        done = subprocess.run([unshare, "-Urm", "sh", "-c", FULL_DISK, "sh", harness.RECONCILER, str(self.path("report"))],
                              cwd=self.directory, capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
        told = self.path("report").read_text(encoding="utf-8")
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}{told}")
        self.assertEqual(done.stdout.splitlines()[:3], ["full: T1 ", "status 0, started T1 T2 ", '"status":"DONE"'], told)
        self.assertRegex(told, "RECONCILIATION_ERROR.*no space left")


if __name__ == "__main__":
    unittest.main()
