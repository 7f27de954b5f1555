"""Where codeframe's own reconciliation engine has an answer, ours beside it: the same but for the differences that
docs/codeframe.md lists. Its "completed" is our SKIP, its "blocker_resolved" our REQUEUE."""
import collections
import json
import re

from harness import CODEFRAME, DATA, Case, main

DOCUMENT = DATA.parent.parent / "docs" / "codeframe.md"
MEANS = {"completed": "SKIP", "blocker_resolved": "REQUEUE"}
# codeframe's sweep asks about tasks whose outcome in the batch is missing, RUNNING or BLOCKED.
ASKED = (None, "RUNNING", "BLOCKED")


class Answers(Case):
    def compare(self, name):
        """{(codeframe's answer, our action, our stored status, our reason): ids} over the tasks of its batch."""
        store = self.fixture(name)
        answers = json.loads((CODEFRAME / f"codeframe-{name}.answers.json").read_text(encoding="utf-8"))
        connection = self.sqlite(store)
        task_ids, outcomes = connection.execute("SELECT task_ids, results FROM batch_runs WHERE id = ?",
                                                (answers["batch_id"],)).fetchone()
        connection.close()
        outcomes = json.loads(outcomes or "{}")
        checked = self.reconciler("check", "--batch", answers["batch_id"], "--format", "ndjson", status=1).objects
        self.assertEqual([one["task_id"] for one in checked], json.loads(task_ids))
        groups = collections.defaultdict(list)
        for one in checked:
            theirs = answers["changes_without_github"].get(one["task_id"])
            change = theirs["change_type"] if theirs else None
            if outcomes.get(one["task_id"]) not in ASKED:
                self.assertIsNone(change)
                change = "not asked"
            groups[change, one["action"], one["current_status"], one["reason"]].append(one["task_id"])
        return groups

    def rows(self, heading):
        """The rows of a table in docs/codeframe.md, as tuples of cells, "nothing" being None."""
        text = DOCUMENT.read_text(encoding="utf-8")
        part = text.split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
        cells = [tuple(cell.strip() for cell in line.strip("|").split("|"))
                 for line in part.splitlines() if re.match(r"\| (?!codeframe)", line)]
        return [tuple(None if cell == "nothing" else cell for cell in row) for row in cells]

    def compare_with_document(self, name):
        groups = self.compare(name)
        listed = {row[:4]: int(row[4]) for row in self.rows(f"The {name} workspace")}
        self.assertEqual({key: len(ids) for key, ids in groups.items()}, listed)
        for (change, action, _, _), ids in groups.items():
            if change in MEANS:
                self.assertEqual(action, MEANS[change], ids)

    def test_the_document_lists_the_small_workspace_exactly(self):
        self.compare_with_document("small")

    def test_the_document_lists_the_medium_workspace_exactly(self):
        self.compare_with_document("medium")


class Differences(Case):
    """What docs/codeframe.md claims beyond the recorded answers."""

    BLOCKED_ANSWERED = "cd447e35-b8b6-48fe-842e-3d437204e52d"

    def ask(self, connection, number, status):
        workspace = connection.execute("SELECT id FROM workspace").fetchone()[0]
        connection.execute(
            "INSERT INTO blockers(id, workspace_id, task_id, question, status, created_at, created_by) "
            "VALUES (?, ?, ?, 'Which?', ?, ?, 'agent')",
            (f"blocker-{number}", workspace, self.BLOCKED_ANSWERED, status,
             f"2026-01-02T00:{number // 60:02}:{number % 60:02}.000000+00:00"))

    def verdict(self):
        return self.reconciler("check", "blockers", self.BLOCKED_ANSWERED, "--format", "ndjson",
                               status=None).objects[0]

    def test_the_hundred_and_first_blocker_counts(self):
        connection = self.sqlite(self.fixture("small"))
        for number in range(150):
            self.ask(connection, number, "ANSWERED")
        self.assertEqual(self.verdict()["action"], "REQUEUE")
        self.ask(connection, 151, "OPEN")
        self.assertEqual(self.verdict()["reason"], "open blockers remain")

    def test_codeframes_events_and_batches_are_never_written(self):
        store = self.fixture("small")
        connection = self.sqlite(store)
        count = "SELECT (SELECT count(*) FROM events), (SELECT group_concat(quote(results)) FROM batch_runs)"
        before = connection.execute(count).fetchone()
        self.reconciler("init")
        self.reconciler("apply", "--batch", "62397bc7-0176-4741-bab9-f87ff5059285")
        self.reconciler("task", "set", "4be03db0", "READY")
        self.assertEqual(connection.execute(count).fetchone(), before)
        self.assertGreaterEqual(len(self.reconciler("events", "--json").json), 4)

    def test_codeframe_can_delete_a_task_that_we_wrote_about(self):
        store = self.fixture("small")
        self.reconciler("init")
        self.reconciler("task", "set", "78e51061", "READY")
        connection = self.sqlite(store)
        connection.execute("DELETE FROM tasks WHERE id LIKE '78e51061%'")
        self.assertEqual(connection.execute("SELECT count(*) FROM tasks").fetchone()[0], 24)
        self.reconciler("check", status=1)

    def test_dropping_what_begins_with_rec_takes_everything_out(self):
        store = self.fixture("small")
        connection = self.sqlite(store)
        schema = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
        before = connection.execute(schema).fetchall()
        self.reconciler("init")
        added = [row for row in connection.execute(schema) if row not in before]
        self.assertTrue(added)
        for kind, name, _ in added:
            self.assertTrue(name.startswith("rec_"), name)
        for kind, name, _ in sorted(added, key=lambda row: row[0] != "trigger"):
            connection.execute(f"DROP {kind} IF EXISTS {name}")
        self.assertEqual(connection.execute(schema).fetchall(), before)


if __name__ == "__main__":
    main()
