"""Batches on PostgreSQL: several conductors, several hosts, a server that goes away. A host is a state folder of its own;
one of them reaches the server through a proxy that can be cut. Runs under tests/postgres/with-cluster."""
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.parse

import harness
import running
from postgres_proxy import Proxy

SERVER = os.environ["REC_TEST_POSTGRES"]
CLUSTER = os.environ["REC_TEST_POSTGRES_CLUSTER"]
PARTS = dict(urllib.parse.parse_qsl(SERVER.partition("?")[2]))
TASKS = int(os.environ.get("REC_TEST_POSTGRES_TASKS", "120"))
CONDUCTORS = int(os.environ.get("REC_TEST_POSTGRES_CONDUCTORS", "3"))
LEASE_S = 14  # the shortest that a grace of one second allows
TAKE_OVER_S = LEASE_S + 10


def cluster(what):
    subprocess.run([CLUSTER, what], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def psql(text):
    return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", SERVER, "-c", text], check=True,
                          capture_output=True, text=True).stdout.strip()


class PostgresCase(harness.Case):
    def setUp(self):
        super().setUp()
        psql("DROP SCHEMA IF EXISTS reconciler CASCADE")
        self.environment["RECONCILER_STORE"] = SERVER
        self.reconciler("--store", SERVER, "init")
        self.addCleanup(self.end_everything)

    def host(self, name, folder=None):
        """The environment of a host: its own state, a short lease, perhaps its own way to the server."""
        config = self.directory / name / "config" / "reconciler"
        config.mkdir(parents=True)
        (config / "reconciler.conf").write_text(f"[postgres]\nlease = {LEASE_S}s\n", encoding="utf-8")
        uri = SERVER.replace(PARTS["host"], str(folder)) if folder else SERVER
        return {"XDG_STATE_HOME": str(self.directory / name / "state"),
                "XDG_CONFIG_HOME": str(config.parent), "RECONCILER_STORE": uri}

    def batch(self, host, *arguments):
        return running.Batch(self, self.command(["run", "--reconcile-interval", "1s", "--grace", "1s", *arguments],
                                                env=host))

    def processes(self, word):
        mark = os.fsencode(word)
        return [pid for pid in running.pids() if mark in running.environment_of(pid) and running.is_alive(pid)]

    def end_everything(self):
        for pid in self.processes(str(self.directory)):
            try:
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    @staticmethod
    def wake(asleep):
        for pid in asleep:
            with contextlib.suppress(ProcessLookupError):  # whoever woke before it has ended it
                os.kill(pid, signal.SIGCONT)

    def until(self, condition, what, seconds=harness.DEADLINE_S):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            if time.monotonic() > deadline:
                self.fail(f"not within {seconds} s: {what}")
            time.sleep(running.PAUSE_S)
        return value

    def worker(self):
        """Says when it begins and when it is stopped, and waits in a FIFO."""
        path = self.directory / "worker"
        path.write_text("#!/bin/sh\n"
                        f"cd {self.directory}\n"
                        "trap 'echo \"stopped $1 $REC_TASK_ID\" >> log; exit 143' TERM\n"
                        "echo \"began $1 $REC_TASK_ID $REC_ATTEMPT\" >> log\n"
                        "read x < gate-$1\n"
                        "echo \"done $1 $REC_TASK_ID\" >> log\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def log(self):
        path = self.directory / "log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def gate(self, name):
        os.mkfifo(self.directory / f"gate-{name}")

    def open_gate(self, name):
        """For everybody who waits in it now, and later."""
        descriptor = os.open(self.directory / f"gate-{name}", os.O_RDWR)
        self.addCleanup(os.close, descriptor)
        os.write(descriptor, b"\n" * 100)


class OneHost(PostgresCase):
    def test_a_batch_runs_and_its_children_can_open_the_store(self):
        self.add("one", "--id", "a")
        self.add("two", "--id", "b", "--depends-on", "a")
        result = self.reconciler("run", "--all-ready", "--", harness.RECONCILER, "task", "add", "child of {id}", "--status", "BACKLOG")
        self.assertIn("2 done", result.out)
        self.assertEqual(psql("SELECT count(*) FROM reconciler.tasks WHERE title LIKE 'child of%'"), "2")
        self.assertEqual(psql("SELECT count(*) FROM reconciler.claims"), "0")
        self.assertEqual(self.reconciler("events", "verify").status, 0)

    def test_what_is_imported_gives_the_same_results_byte_for_byte(self):
        for database in sorted(harness.CODEFRAME.glob("codeframe-*.db")):
            name = database.stem.removeprefix("codeframe-")
            with self.subTest(name):
                psql("DROP SCHEMA IF EXISTS reconciler CASCADE")
                self.reconciler("--store", SERVER, "init")
                source = "sqlite:" + str(self.fixture(name, f"{name}/.codeframe"))
                tasks = self.reconciler("--store", source, "task", "export", "--format", "ndjson").out
                belief = "".join(f'{{"task_id":{json.dumps(json.loads(line)["id"])},"status":"IN_PROGRESS"}}\n'
                                 for line in tasks.splitlines())
                results = []
                for store in (f"sqlite:{self.directory}/{name}/copy.db", SERVER):
                    self.reconciler("--store", store, "init")
                    self.reconciler("--store", store, "task", "import", "-", stdin=tasks)
                    results.append([self.run_bytes("--store", store, "task", "export", "--format", "ndjson")] + [
                        self.run_bytes("--store", store, "check", *more, "--format", "ndjson", stdin=belief.encode())
                        for more in ((), ("--batch-state", "-"))])
                self.assertEqual(*results)
                self.assertGreater(len(results[0][2][1]), 100)

    def test_links_come_along_by_export_and_import(self):
        tasks = ('{"id":"a","title":"x","links":[{"url":"https://t/a/b/issues/1","state":"closed","reason":"completed",'
                 '"time":"2026-01-01T00:00:00Z","comments":2,"gone":true},{"url":"https://t/a/b/issues/2"}]}\n'
                 '{"id":"b","title":"y","external_url":"https://t/a/b/issues/1",'
                 '"links":[{"url":"https://t/a/b/issues/1","implicit":true,"state":"open","kind":"issue"}]}\n')
        self.reconciler("task", "import", "-", stdin=tasks)
        exported = self.reconciler("task", "export").out
        self.assertEqual([len(json.loads(line)["links"]) for line in exported.splitlines()], [2, 1])
        copy = f"sqlite:{self.directory}/copy.db"
        self.reconciler("--store", copy, "init")
        self.reconciler("--store", copy, "task", "import", "-", stdin=exported)
        self.assertEqual(self.reconciler("--store", copy, "task", "export").out, exported)

    def test_each_task_runs_once_though_the_server_is_restarted_twice(self):
        ids = [f"t{i:05}" for i in range(TASKS)]
        self.reconciler("task", "import", "-",
                        stdin="".join(f'{{"id":"{i}","title":"x","status":"READY"}}\n' for i in ids))
        begun = time.monotonic()
        log = self.directory / "log"
        command = self.command(["run", "-q", "--reconcile-interval", "1s", "--all-ready", "--wait", "-j", "2", "--", "sh", "-c",
                                'echo "$REC_TASK_ID" >> "$0"', log])
        batches = [subprocess.Popen(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **command)
                   for _ in range(CONDUCTORS)]  # quiet: nobody reads a line for each event
        for share, how in ((4, "stop"), (2, "kill")):
            self.until(lambda share=share: len(self.log()) >= TASKS // share, "a part of the tasks has run", 300)
            cluster(how)
            cluster("start")
        for batch in batches:
            self.assertEqual(batch.wait(timeout=600), 0)
        taken = time.monotonic() - begun
        self.assertEqual(collections.Counter(self.log()), collections.Counter(ids))
        self.assertEqual(psql("SELECT status,count(*) FROM reconciler.tasks GROUP BY 1"), f"DONE|{TASKS}")
        self.assertEqual(psql("SELECT count(*) FROM reconciler.claims"), "0")
        print(f"{TASKS} tasks, {CONDUCTORS} conductors, two restarts: {taken:.1f} s", flush=True)


@unittest.skipUnless(shutil.which("pgbouncer"), "pgbouncer is not installed")
class Pooled(PostgresCase):
    """Behind PgBouncer, which gives each transaction another session."""

    def pooler(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rec-pgbouncer-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "users").write_text(f'"{PARTS["user"]}" ""\n', encoding="utf-8")
        (folder / "ini").write_text(
            f"[databases]\npostgres = host={PARTS['host']} dbname=postgres\n[pgbouncer]\nunix_socket_dir = {folder}\n"
            f"listen_port = 5432\nauth_type = trust\nauth_file = {folder}/users\npool_mode = transaction\n"
            "default_pool_size = 3\n", encoding="utf-8")
        user = []
        if os.getuid() == 0:
            shutil.chown(folder, PARTS["user"])
            user = ["runuser", "-u", PARTS["user"], "--"]
        process = subprocess.Popen([*user, "pgbouncer", "-q", folder / "ini"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.until((folder / ".s.PGSQL.5432").exists, "the pooler listens")
        return folder

    def test_a_batch_runs_and_hears_of_what_others_write(self):
        self.run_a_batch(self.host("host-a", self.pooler()))

    def test_a_string_of_keys_and_values_is_behind_it_too(self):
        folder = self.pooler()
        self.run_a_batch(dict(self.host("host-a"), RECONCILER_STORE=f"host={folder} dbname=postgres user={PARTS['user']}"))

    def test_b07_two_conductors_behind_it_run_each_task_once(self):
        folder = self.pooler()
        self.gate("x")
        self.open_gate("x")
        ids = [f"t{number}" for number in range(12)]
        for name in ids:
            self.add(name, "--id", name)
        hosts = [self.host(name, folder) for name in ("host-a", "host-b")]
        for host in hosts:
            config = pathlib.Path(host["XDG_CONFIG_HOME"]) / "reconciler" / "reconciler.conf"
            config.write_text("[postgres]\npooled = true\n", encoding="utf-8")
        batches = [self.batch(host, *ids, "-j", "3", "--", self.worker(), "x") for host in hosts]
        for batch in batches:
            out, err = batch.process.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(batch.process.returncode, 0, (out, err))
        began = [line.split()[2] for line in self.log() if line.startswith("began")]
        self.assertEqual(sorted(began), sorted(ids))
        self.assertEqual(psql("SELECT DISTINCT status,attempt FROM reconciler.tasks"), "DONE|1")
        self.assertEqual(psql("SELECT count(*) FROM reconciler.claims"), "0")

    def run_a_batch(self, host):
        config = self.directory / "host-a" / "config" / "reconciler" / "reconciler.conf"
        config.write_text("[postgres]\npooled = true\n", encoding="utf-8")
        for name in "abc":
            self.reconciler("task", "add", name, "--id", name, env=host)
        self.gate("x")
        batch = self.batch(host, "--all-ready", "--wait", "-j", "2", "--", self.worker(), "x")
        self.until(lambda: len(self.log()) == 2, "two began")
        psql("UPDATE reconciler.tasks SET status='DONE' WHERE id='c'")  # heard of within a second or so
        self.open_gate("x")
        out, err = batch.process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(batch.process.returncode, 0, (out, err))
        self.assertEqual(len([line for line in self.log() if line.startswith("began")]), 2)
        self.assertEqual(psql("SELECT count(*) FROM reconciler.claims"), "0")


class SeveralHosts(PostgresCase):
    def begin(self, way=None):
        """Host A runs t; host B has something of its own to do."""
        for name in "ab":
            self.gate(name)
        worker = self.worker()
        self.add("the task", "--id", "t")
        a = self.host("host-a", way)
        first = self.batch(a, "t", "--", worker, "a")
        self.until(lambda: "began a t 1" in self.log(), "A began")
        self.add("another", "--id", "u")
        second = self.batch(self.host("host-b"), "--all-ready", "--wait", "-j", "2", "--", worker, "b")
        self.until(lambda: "began b u 1" in self.log(), "B began")
        return first, second

    def take_over(self):
        self.until(lambda: "began b t 2" in self.log(), "B took over", TAKE_OVER_S + harness.DEADLINE_S)

    def end(self, second):
        self.open_gate("b")
        out, err = second.process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(second.process.returncode, 0, (out, err))
        self.assertEqual(psql("SELECT id,status,attempt FROM reconciler.tasks ORDER BY id"), "t|DONE|2\nu|DONE|1")
        self.assertEqual(psql("SELECT number,outcome FROM reconciler.attempts WHERE task_id='t' ORDER BY 1"),
                         "1|process lost, to be tried again\n2|exit 0")
        self.assertEqual(psql("SELECT count(*) FROM reconciler.claims"), "0")

    def test_nobody_touches_what_a_living_host_runs(self):
        first, second = self.begin()
        status = self.reconciler("status", first.id, "--json", env=self.host("host-c")).json
        self.assertEqual(status["conductor"], "alive")
        listed = self.reconciler("status", "--json", env=self.host("host-e")).json
        self.assertEqual({batch["batch_id"]: batch["conductor"] for batch in listed},
                         {first.id: "alive", second.id: "alive"})
        refused = self.reconciler("resume", first.id, status=2, env=self.host("host-d"))
        self.assertIn("is being run by", refused.err)
        time.sleep(2 * LEASE_S / 10)  # some passes of B's recovery
        self.assertEqual([line for line in self.log() if line.startswith("began")], ["began a t 1", "began b u 1"])
        self.open_gate("a")
        self.open_gate("b")
        for batch in (first, second):
            batch.process.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(batch.process.returncode, 0)

    def test_a_dead_host_is_taken_over_when_its_lease_is_over(self):
        first, second = self.begin()
        died = time.monotonic()
        first.kill()
        for pid in self.processes(str(self.directory / "host-a")):
            os.kill(pid, signal.SIGKILL)
        self.take_over()
        self.assertGreater(time.monotonic() - died, LEASE_S - 1)  # the last renewal was a moment before
        self.end(second)

    def test_a_host_that_is_cut_off_stops_before_another_takes_over(self):
        proxy = Proxy(self.directory / "way", PARTS["host"])
        self.addCleanup(proxy.close)
        first, second = self.begin(proxy.folder)
        proxy.cut()
        self.take_over()
        log = self.log()
        self.assertLess(log.index("stopped a t"), log.index("began b t 2"))
        proxy.mend()
        out, err = first.process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(first.process.returncode, 1, (out, err))
        self.end(second)

    def test_a_host_whose_server_turns_silent_stops_before_another_takes_over(self):
        proxy = Proxy(self.directory / "way", PARTS["host"])
        self.addCleanup(proxy.close)
        first, second = self.begin(proxy.folder)
        proxy.mute()
        self.take_over()
        log = self.log()
        self.assertLess(log.index("stopped a t"), log.index("began b t 2"))
        proxy.mend()  # what it had said meanwhile comes through now
        out, err = first.process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(first.process.returncode, 1, (out, err))
        self.end(second)

    def test_a_conductor_that_was_killed_leaves_nothing_running_when_another_takes_over(self):
        first, second = self.begin()
        os.kill(first.pid, signal.SIGKILL)  # alone: its shim and the child live on
        self.take_over()
        log = self.log()
        self.assertLess(log.index("stopped a t"), log.index("began b t 2"))
        first.process.communicate(timeout=harness.DEADLINE_S)
        self.end(second)

    def test_a_conductor_that_is_paused_leaves_nothing_running_when_another_takes_over(self):
        first, second = self.begin()
        os.kill(first.pid, signal.SIGSTOP)
        self.take_over()
        log = self.log()
        self.assertLess(log.index("stopped a t"), log.index("began b t 2"))
        os.kill(first.pid, signal.SIGCONT)
        first.process.communicate(timeout=harness.DEADLINE_S)
        self.end(second)

    def test_a_short_outage_stops_nothing(self):
        proxy = Proxy(self.directory / "way", PARTS["host"])
        self.addCleanup(proxy.close)
        first, second = self.begin(proxy.folder)
        proxy.cut()
        time.sleep(1)
        proxy.mend()
        self.open_gate("a")
        self.open_gate("b")
        for batch in (first, second):
            out, err = batch.process.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(batch.process.returncode, 0, (out, err))
        self.assertEqual(sorted(line for line in self.log() if line.startswith(("began", "stopped"))),
                         ["began a t 1", "began b u 1"])

    def test_a_host_that_slept_too_long_cannot_record_what_it_did(self):
        first, second = self.begin()
        asleep = [first.pid, *self.processes(str(self.directory / "host-a"))]
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        self.take_over()
        self.wake(asleep)
        self.open_gate("a")
        first.process.communicate(timeout=harness.DEADLINE_S)
        self.end(second)


if __name__ == "__main__":
    unittest.main(verbosity=2)
