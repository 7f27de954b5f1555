"""What torture.py does to a store behind the command's back, as people and other programs do; one class for each kind.

  make()                      a new store
  change(task, to, expected)  a person's status, if the stored one is one of these; BLOCKED comes with a question, READY
                              with its answer. Gives the status it replaced, or None
  answer(task)                whatever is open is answered
  fault()                     what is wrong with the store at rest, or None
  restart()                   of the server, the hard way

`uri` is what the command is told.
"""
import contextlib
import json
import os
import sqlite3
import subprocess
import time


def question_id():
    return f"B{time.monotonic_ns()}"


class Sqlite:
    def __init__(self, folder):
        self.path = folder / ".reconciler" / "state.db"
        self.uri = f"sqlite:{self.path}"

    def make(self):
        self.path.parent.mkdir()

    @contextlib.contextmanager
    def transaction(self):
        with contextlib.closing(sqlite3.connect(self.path, timeout=20, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    def change(self, task, to, expected):
        with self.transaction() as database:
            (stored,) = database.execute("SELECT status FROM tasks WHERE id=?", (task,)).fetchone()
            if stored not in expected:
                return None
            if to == "BLOCKED":
                database.execute("INSERT INTO blockers(id,workspace_id,task_id,question,status,created_at) "
                                 "SELECT ?,workspace_id,id,'which?','OPEN',datetime('now') FROM tasks WHERE id=?",
                                 (question_id(), task))
            elif to == "READY":
                self.answer_in(database, task)
            database.execute("UPDATE tasks SET status=? WHERE id=?", (to, task))
            return stored

    def answer(self, task):
        with self.transaction() as database:
            self.answer_in(database, task)

    @staticmethod
    def answer_in(database, task):
        database.execute("UPDATE blockers SET status='ANSWERED',answer='so',answered_at=datetime('now') "
                         "WHERE task_id=? AND status='OPEN'", (task,))

    def fault(self):
        with self.transaction() as database:
            if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                return "integrity_check"
            claims = database.execute("SELECT * FROM rec_claims").fetchall()
            return f"claims left: {claims}" if claims else None


class Files:
    """A person's editor: a new file is renamed into place."""

    def __init__(self, folder):
        self.path = folder / "tasks"
        self.uri = f"dir:{self.path}"

    def make(self):
        self.path.mkdir()

    def write(self, task, values):
        beside = self.path / f".{task}.edited"
        beside.write_text(json.dumps(values, indent=1), encoding="utf-8")
        beside.rename(self.path / f"{task}.json")

    def read(self, task):
        return json.loads((self.path / f"{task}.json").read_text(encoding="utf-8"))

    def change(self, task, to, expected):
        values = self.read(task)
        stored = values["status"]
        if stored not in expected:
            return None
        if to == "BLOCKED":
            values.setdefault("blockers", []).append({"id": question_id(), "question": "which?"})
        elif to == "READY":
            self.answer_in(values)
        self.write(task, values | {"status": to})
        return stored

    def answer(self, task):
        values = self.read(task)
        self.answer_in(values)
        self.write(task, values)

    @staticmethod
    def answer_in(values):
        for blocker in values.get("blockers", []):
            if blocker.get("status", "OPEN") == "OPEN":
                blocker |= {"status": "ANSWERED", "answer": "so"}

    def fault(self):
        for file in self.path.glob("*.json"):
            if json.loads(file.read_text(encoding="utf-8"))["id"] != file.stem:
                return f"{file.name} is another task"
        left = [path.name for path in (self.path / ".rec" / "new").glob("*")]
        return f"files left: {left}" if left else None


class Postgres:
    """The server of tests/postgres/with-cluster, a schema for each run."""

    def __init__(self, _):
        self.uri = os.environ["REC_TEST_POSTGRES"]

    def psql(self, text, **values):
        arguments = [f"--set={name}={value}" for name, value in values.items()]
        return subprocess.run(["psql", "-XAtq", "--set=ON_ERROR_STOP=1", *arguments, self.uri], check=True, input=text,
                              capture_output=True, text=True).stdout.strip()

    def make(self):
        self.psql("DROP SCHEMA IF EXISTS reconciler CASCADE")

    def change(self, task, to, expected):
        more = ""
        if to == "BLOCKED":
            more = ", asked AS (INSERT INTO reconciler.blockers(id,task_id,question) SELECT :'question',id,'which?' FROM was)"
        elif to == "READY":
            more = f", answered AS ({self.ANSWER} AND task_id IN (SELECT id FROM was))"
        return self.psql("BEGIN; LOCK TABLE reconciler.writer IN EXCLUSIVE MODE; "
                         "WITH was AS (SELECT id,status FROM reconciler.tasks WHERE id=:'task' AND "
                         f"status=ANY(string_to_array(:'expected',' '))) {more}, "
                         "set AS (UPDATE reconciler.tasks t SET status=:'to' FROM was WHERE t.id=was.id) "
                         "SELECT status FROM was; COMMIT;",
                         task=task, to=to, expected=" ".join(expected), question=question_id()) or None

    ANSWER = "UPDATE reconciler.blockers SET status='ANSWERED',answer='so' WHERE status='OPEN'"

    def answer(self, task):
        self.psql(self.ANSWER + " AND task_id=:'task'", task=task)

    def fault(self):
        claims = self.psql("SELECT * FROM reconciler.claims")
        return f"claims left: {claims}" if claims else None

    def restart(self):
        for what in ("kill", "start"):
            subprocess.run([os.environ["REC_TEST_POSTGRES_CLUSTER"], what], check=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


STORES = {"sqlite": Sqlite, "files": Files, "postgresql": Postgres}
