"""The codeframe databases: every expected result byte for byte, and nothing on disk changed by asking."""
import hashlib
import json

from harness import CODEFRAME, Case, fingerprint, main

KINDS = {"tasks": ["tasks"], "blockers": ["blockers"], "all": []}


class Fixtures(Case):
    def check_fixture(self, name, kind):
        store = self.fixture(name)
        before = fingerprint(store)
        state = CODEFRAME / f"{name}.batch-state.json"
        expected = (CODEFRAME / f"{name}.expected-{kind}.ndjson").read_bytes()
        code, out, err = self.run_bytes("check", *KINDS[kind], "--batch-state", state, "--format", "ndjson")
        self.assertEqual(err, b"")
        self.assertEqual(out, expected)
        calls = any(one["action"] in ("KILL", "REQUEUE") or (one["action"] == "SKIP" and one["discrepancy"])
                    for one in map(json.loads, expected.splitlines()))
        self.assertEqual(code, 1 if calls else 0)
        self.assertEqual(fingerprint(store), before)
        self.assertEqual(before[1], ["state.db"])  # neither -wal nor -shm

    def test_small_tasks(self):
        self.check_fixture("small", "tasks")

    def test_small_blockers(self):
        self.check_fixture("small", "blockers")

    def test_small_merged(self):
        self.check_fixture("small", "all")

    def test_medium_tasks(self):
        self.check_fixture("medium", "tasks")

    def test_medium_blockers(self):
        self.check_fixture("medium", "blockers")

    def test_medium_merged(self):
        self.check_fixture("medium", "all")

    def test_the_state_may_come_by_standard_input_or_as_ndjson(self):
        self.fixture("small")
        state = json.loads((CODEFRAME / "small.batch-state.json").read_text(encoding="utf-8"))
        expected = (CODEFRAME / "small.expected-all.ndjson").read_text(encoding="utf-8")
        lines = "".join(json.dumps({"task_id": task, "status": status}) + "\n" for task, status in state.items())
        for text in (json.dumps(state), lines):
            checked = self.reconciler("check", "--batch-state", "-", "--format", "ndjson", stdin=text, status=1)
            self.assertEqual(checked.out, expected)

    def test_json_holds_the_same_results_and_counts_them(self):
        self.fixture("medium")
        text = (CODEFRAME / "medium.expected-all.ndjson").read_text(encoding="utf-8")
        expected = [json.loads(line) for line in text.splitlines()]
        document = self.reconciler("check", "--batch-state", CODEFRAME / "medium.batch-state.json", "--json",
                                   status=1).json
        self.assertEqual(document["results"], expected)
        for action, count in document["summary"].items():
            self.assertEqual(count, sum(one["action"] == action for one in expected), action)
        self.assertEqual(list(document["summary"]), ["NONE", "SKIP", "KILL", "REQUEUE"])

    def test_every_reading_command_leaves_the_database_alone(self):
        store = self.fixture("small")
        before = fingerprint(store)
        for arguments in (["task", "list"], ["task", "show", "4be0"], ["task", "export"], ["blocker", "list"],
                          ["check"], ["check", "--batch", "62397bc7-0176-4741-bab9-f87ff5059285"],
                          ["apply", "--dry-run"], ["policy"]):
            code, _, err = self.run_bytes(*arguments)
            self.assertIn(code, (0, 1), err)
        self.run_bytes("doctor")
        self.assertEqual(fingerprint(store), before)

    def test_a_database_on_read_only_ground(self):
        store = self.fixture("small")
        digest = hashlib.sha256(store.read_bytes()).hexdigest()
        store.chmod(0o444)
        store.parent.chmod(0o555)
        self.addCleanup(store.parent.chmod, 0o755)
        self.reconciler("check", status=1)
        self.assertEqual(hashlib.sha256(store.read_bytes()).hexdigest(), digest)


class Batches(Case):
    """--batch ID on codeframe's batch_runs row: ids from task_ids, statuses from results, none meaning READY."""

    BATCH = "62397bc7-0176-4741-bab9-f87ff5059285"

    def row(self, store):
        connection = self.sqlite(store)
        task_ids, results = connection.execute("SELECT task_ids, results FROM batch_runs WHERE id = ?",
                                               (self.BATCH,)).fetchone()
        connection.close()
        return json.loads(task_ids), json.loads(results)

    def test_equals_the_same_belief_given_as_a_file(self):
        store = self.fixture("small")
        ids, results = self.row(store)
        words = {"RUNNING": "IN_PROGRESS", "COMPLETED": "DONE"}
        state = {one: words.get(results.get(one), results.get(one, "READY")) for one in ids}
        self.write("state.json", json.dumps(state))
        by_file = self.reconciler("check", "--batch-state", "state.json", "--format", "ndjson", status=1)
        by_batch = self.reconciler("check", "--batch", self.BATCH, "--format", "ndjson", status=1)
        self.assertEqual(by_batch.out, by_file.out)
        self.assertEqual([one["task_id"] for one in by_batch.objects], ids)

    def test_an_unknown_batch_is_not_found(self):
        self.fixture("small")
        self.assert_refused("check", "--batch", "nonsense", status=1, words=["batch nonsense: not found"])

    def test_a_malformed_row_is_an_error(self):
        store = self.fixture("small")
        connection = self.sqlite(store)
        connection.execute("UPDATE batch_runs SET task_ids = '[\"a\"'")
        connection.close()
        self.assert_refused("check", "--batch", self.BATCH, words=[self.BATCH])


if __name__ == "__main__":
    main()
