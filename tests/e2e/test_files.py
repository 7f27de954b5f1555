"""A directory of task files (dir:PATH): edited by hand, merged by git, damaged, run, and killed while written."""
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from harness import CODEFRAME, DATA, DEADLINE_S, Case, main
from running import Batch, environment_of, is_alive, pids


class Files(Case):
    def setUp(self):
        super().setUp()
        self.place = self.directory / "tasks"
        self.uri = f"dir:{self.place}"
        self.environment["RECONCILER_STORE"] = self.uri
        self.reconciler("init", "-S", self.uri)
        self.addCleanup(self.end_everything)

    def end_everything(self):
        mark = b"\0REC_STORE=" + os.fsencode(self.uri) + b"\0"
        for pid in pids():
            if mark in b"\0" + environment_of(pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)

    def on(self, *arguments, **options):
        return self.reconciler("-S", self.uri, *arguments, **options)

    def add_tasks(self, *names):
        for name in names:
            self.on("task", "add", f"task {name}", "--id", name)

    def file(self, name):
        return self.place / f"{name}.json"

    def read(self, name):
        return json.loads(self.file(name).read_text(encoding="utf-8"))

    def edit(self, name, **values):
        """As an editor does: the whole file anew, under another name first."""
        task = dict(self.read(name), **values)
        other = self.place / f".{name}.swp"
        other.write_text(json.dumps(task, indent=2) + "\n", encoding="utf-8")
        other.rename(self.file(name))

    def statuses(self):
        return {one["task_id"]: one["current_status"] for one in self.on("check", "--format", "ndjson",
                                                                         status=None).objects}

    def until(self, condition, what):
        deadline = time.monotonic() + DEADLINE_S
        while not (value := condition()):
            if time.monotonic() > deadline:
                self.fail(f"not within {DEADLINE_S} s: {what}")
            time.sleep(0.01)
        return value


class Exchange(Files):
    def test_the_fixtures_give_the_same_bytes_as_in_sqlite(self):
        for name in ("small", "medium"):
            store = self.fixture(name, name)
            self.uri = f"dir:{self.directory / (name + '.files')}"
            self.reconciler("init", "-S", self.uri)
            exported = self.reconciler("-S", store, "task", "export").out
            self.on("task", "import", "-", stdin=exported)
            for kind in ("tasks", "blockers", "all"):
                code, out, err = self.run_bytes("-S", self.uri, "check", *([kind] if kind != "all" else []),
                                                "--batch-state", CODEFRAME / f"{name}.batch-state.json",
                                                "--format", "ndjson")
                self.assertEqual(err, b"")
                self.assertIn(code, (0, 1))
                self.assertEqual(out, (CODEFRAME / f"{name}.expected-{kind}.ndjson").read_bytes())

    def test_sqlite_and_files_there_and_back_without_loss(self):
        store = self.fixture("medium")
        exported = self.reconciler("-S", store, "task", "export").out
        self.on("task", "import", "-", stdin=exported)
        again = self.on("task", "export").out
        self.assertEqual(again, exported)
        self.reconciler("init", "-S", "back.db")
        self.reconciler("-S", "back.db", "task", "import", "-", stdin=again)
        self.assertEqual(self.reconciler("-S", "back.db", "task", "export").out, exported)

    def test_every_column_and_every_id_survives(self):
        ids = ["../../outside", "a/b", "a_b", ".", "..", "~tilde", "sp ace", "日本語 Ünï", "%41", "x" * 255, "é" * 127]
        tasks = [{"title": f"t {number}", "id": task, "description": "\"quoted\" \\ \t\u2028 ü", "priority": number,
                  "estimated_hours": 2.5, "complexity_score": 3, "uncertainty_level": "low", "lineage": ["a", "b"],
                  "requirement_ids": "[ \"odd\" ]", "hierarchical_id": "1.2", "prd_id": "p", "depends_on": ["a/b"],
                  "external_url": f"https://example.org/{number}",
                  "blockers": [{"id": f"k{number}", "question": "Why?\nBecause"}]} for number, task in enumerate(ids)]
        self.on("task", "import", "-", stdin=json.dumps(tasks))
        exported = self.on("task", "export").out
        self.assertEqual({json.loads(line)["id"] for line in exported.removesuffix("\n").split("\n")}, set(ids))
        self.assertEqual(len(list(self.place.glob("*.json"))) + len(list(self.place.glob(".*.json"))), len(ids))
        self.assertEqual({path.name for path in self.directory.iterdir()}, {"tasks"})
        self.reconciler("init", "-S", "back.db")
        self.reconciler("-S", "back.db", "task", "import", "-", stdin=exported)
        self.assertEqual(self.reconciler("-S", "back.db", "task", "export").out, exported)


class ByHand(Files):
    def test_a_change_keeps_what_a_person_wrote(self):
        text = ('{ "title" : "By hand",\n\n    "status":"READY", "mine": {"a" : [1,2 ]},\n  "priority" : 3,\n'
                '  "blockers": [ {"question": "Which port?", "note": "see mail"} ] }')
        self.file("hand").write_text(text, encoding="utf-8")
        self.on("task", "set", "hand", "BLOCKED", "--force")
        wanted = text.replace('"READY"', '"BLOCKED"')
        self.assertTrue(self.file("hand").read_text(encoding="utf-8").startswith(wanted[:wanted.rindex("}")].rstrip()))
        blocker = self.on("blocker", "list", "--json").json[0]
        self.on("blocker", "answer", blocker["id"], "8080")
        task = self.read("hand")
        self.assertEqual(task["mine"], {"a": [1, 2]})
        self.assertEqual((task["blockers"][0]["note"], task["blockers"][0]["answer"], task["blockers"][0]["status"]),
                         ("see mail", "8080", "ANSWERED"))

    def test_an_answer_written_into_the_file_requeues(self):
        self.add_tasks("t")
        self.edit("t", status="BLOCKED", blockers=[{"question": "Which?", "status": "OPEN"}])
        self.assertEqual(self.on("apply", "--format", "ndjson").objects[0]["action"], "NONE")
        self.edit("t", blockers=[{"question": "Which?", "status": "ANSWERED", "answer": "That."}])
        self.on("apply", status=None)
        self.assertEqual(self.read("t")["status"], "READY")

    def test_watch_tells_at_once_what_an_editor_wrote(self):
        self.add_tasks("t", "u")
        watch = self.start("-S", self.uri, "watch", "--format", "ndjson")
        watch.send({"task_id": "t", "status": "IN_PROGRESS"})
        self.edit("t", status="DONE")
        one = watch.object()
        while one.get("current_status") != "DONE":
            one = watch.object()
        self.assertEqual((one["task_id"], one["action"]), ("t", "SKIP"))
        self.file("t").write_text(self.file("t").read_text(encoding="utf-8").replace("DONE", "BLOCKED"),
                                  encoding="utf-8")  # in place
        while one.get("current_status") != "BLOCKED":
            one = watch.object()
        self.assertEqual(one["task_id"], "t")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_git_merges_two_changes_and_shows_a_conflict_as_one_bad_task(self):
        def git(*arguments, check=True):
            return subprocess.run(["git", "-C", self.place, "-c", "user.name=a", "-c", "user.email=a@example.org",
                                   *arguments], check=check, capture_output=True, env=self.environment)
        self.add_tasks("t", "u")
        git("init", "-q", "-b", "main")
        git("add", ".")
        self.assertEqual(git("ls-files").stdout.decode().split(), [".rec/.gitignore", "t.json", "u.json"])
        git("commit", "-qm", "one")
        git("checkout", "-qb", "other")
        self.edit("t", title="other title")
        self.edit("u", status="DONE")
        git("commit", "-qam", "two")
        git("checkout", "-q", "main")
        self.edit("t", description="a description at the end")
        self.edit("u", status="BLOCKED")
        git("commit", "-qam", "three")
        git("merge", "-q", "other", check=False)
        result = self.on("check", "--format", "ndjson", status=None)
        stored = {one["task_id"]: one["current_status"] for one in result.objects}
        self.assertEqual(stored["t"], "READY")
        self.assertEqual(self.read("t")["title"], "other title")
        self.assertIn("conflict markers", stored["u"])
        self.assertIn("conflict markers", result.err)
        before = self.file("u").read_bytes()
        self.assertIn("repair", self.on("task", "edit", "u", "--title", "x", status=2).err)
        self.assertEqual(self.file("u").read_bytes(), before)


class Damaged(Files):
    def test_each_bad_file_is_one_bad_task_and_never_the_end(self):
        good = [f"t{number}" for number in range(50)]
        self.on("task", "import", "-", stdin=json.dumps([{"id": name, "title": name} for name in good]))
        whole = self.file("t1").read_text(encoding="utf-8")
        self.file("half").write_text(whole[:40], encoding="utf-8")
        self.file("empty").write_text("", encoding="utf-8")
        self.file("other").write_text(whole, encoding="utf-8")  # its id says t1
        self.file("list").write_text("[1]", encoding="utf-8")
        self.file("twice").write_text('{"status": "READY", "status": "DONE"}', encoding="utf-8")
        self.file("bytes").write_bytes(b'{"title": "\xff"}')
        self.file("folder").mkdir()
        self.file("link").symlink_to(self.file("t1"))
        self.file("dangling").symlink_to("/nowhere")
        os.mkfifo(self.file("pipe"))
        with socket.socket(socket.AF_UNIX) as plug:
            plug.bind(str(self.file("plug")))
        with open(self.file("huge"), "wb") as file:
            file.truncate(1 << 32)
        pathlib.Path(os.fsdecode(os.fsencode(self.place) + b"/bad\xffname.json")).write_text("{}", encoding="utf-8")
        (self.place / "not an id.json").write_text("{}", encoding="utf-8")
        (self.place / "notes.txt").write_text("not ours", encoding="utf-8")
        result = self.on("check", "--format", "ndjson", status=None)
        stored = {one["task_id"]: one for one in result.objects}
        bad = {"half", "empty", "other", "list", "twice", "bytes", "folder", "link", "dangling", "pipe", "plug", "huge"}
        self.assertEqual({name for name in stored if stored[name]["current_status"] == "READY"}, set(good))
        self.assertEqual(set(stored) - set(good), bad)
        for name in bad:
            self.assertIn("bad file", stored[name]["current_status"])
            self.assertEqual(stored[name]["action"], "NONE")
            self.assertIn(name, result.err)
        self.assertIn("not an id.json", result.err)
        found = {one["task_id"]: one for one in self.on("doctor", "--format", "ndjson", status=1).objects}
        self.assertEqual(len(found), len(bad) + 2)  # each once, and the two without an id
        aside = {"folder", "link", "dangling", "pipe", "plug"}
        for name in bad:
            path = self.file(name)
            self.assertEqual(found[name]["command"], f"mv {path} {path}.bad" if name in aside else f"${{EDITOR:-vi}} {path}")
        for name in aside | {"not an id"}:
            command = found[name if name in aside else f"{name}.json"]["command"]
            subprocess.run(["sh", "-c", command], check=True, timeout=DEADLINE_S)
            self.assertFalse(os.path.lexists(self.file(name)))
        self.assertEqual(self.on("doctor", status=1).lines[-1], f"{len(bad) - len(aside) + 1} findings")

    def test_a_bad_value_is_mended_in_the_file(self):
        self.file("it%27s").write_text('{"title": "a", "status": "READY", "created_at": 7, "blockers": [{"question": 1}]}', encoding="utf-8")
        found = self.on("doctor", "--json", status=1).json
        self.assertEqual(len(found), 2)
        for finding in found:
            self.assertEqual(subprocess.run(["sh", "-c", finding["command"]], check=True, timeout=DEADLINE_S, capture_output=True,
                                            text=True, env={**os.environ, "EDITOR": "echo"}).stdout, f"{self.place}/it%27s.json\n")

    def test_odd_values_are_told_and_the_task_goes_on(self):
        self.file("t51").write_text('{"title": "a", "status": "READY", "created_at": "2026-03-12 03:11:13"}', encoding="utf-8")
        self.file("t52").write_text('{"title": null, "status": "READY"}', encoding="utf-8")
        self.file("t53").write_text('{"title": "c", "status": null}', encoding="utf-8")
        self.file("t54").write_text('{"title": "d", "status": "ready"}', encoding="utf-8")
        self.assertEqual(self.statuses(), {"t51": "READY", "t52": "READY", "t53": "", "t54": "ready"})

    def test_a_newer_format_is_refused_and_nothing_changes(self):
        self.add_tasks("t")
        log = self.place / ".rec" / "log"
        log.write_bytes(log.read_bytes().replace(b"reconciler-files 1 ", b"reconciler-files 2 "))
        before = log.read_bytes()
        for command in (["check"], ["task", "add", "x"], ["init"]):
            result = self.on(*command, status=2)
            self.assertIn("version 2", result.err)
            self.assertIn("version 1", result.err)
        self.assertEqual(log.read_bytes(), before)

    def test_a_damaged_log_is_refused_loudly(self):
        self.add_tasks("t", "u", "v")
        log = self.place / ".rec" / "log"
        text = log.read_bytes().replace(b'"change_seq":2', b'"change_seq":7')
        log.write_bytes(text)
        error = self.on("check", status=2).err
        self.assertIn("damaged", error)
        self.assertIn("move .rec away", error)
        self.assertTrue(error.endswith(")\n"), error)  # the way out is whole
        self.assertEqual(log.read_bytes(), text)
        (self.place / ".rec").rename(self.directory / "damaged")  # the way out that it names
        self.on("init")
        self.assertEqual(self.statuses(), {"t": "READY", "u": "READY", "v": "READY"})
        self.on("task", "add", "x")

    def test_what_doctor_tells_can_be_pasted_whatever_the_name(self):
        names = ["line\nline.json", b"\xff.json", "it's \\ \u202e.json", "\x1b[31m.json"]
        for name in names:
            with open(os.path.join(os.fsencode(self.place), os.fsencode(name)), "wb") as file:
                file.write(b"no JSON")
        shown = self.on("doctor", status=1).out
        self.assertNotIn("\x1b", shown)
        for command in re.findall("mend: (.*)", shown):
            subprocess.run(["bash", "-c", command.replace("${EDITOR:-vi}", "rm --")], check=True)
        self.on("doctor")

    def test_a_directory_that_was_never_made_a_store_can_be_read(self):
        shutil.rmtree(self.place / ".rec")
        self.file("t").write_text('{"title": "x", "status": "DONE"}', encoding="utf-8")
        self.assertEqual(self.statuses(), {"t": "DONE"})
        self.assertEqual(os.listdir(self.place), ["t.json"])
        self.assertIn("reconciler init", self.on("task", "add", "x", status=2).err)
        self.assertIn("no complete .rec folder", self.on("doctor", status=1).out)

    def test_a_directory_that_has_nothing_of_a_store_is_none(self):
        shutil.rmtree(self.place)
        self.place.mkdir()
        (self.place / "notes.txt").write_text("x", encoding="utf-8")
        for command in ("check", "doctor", "status", "task list"):
            self.assert_refused("-S", self.uri, *command.split(), words=("neither a task file nor", "reconciler init"))
        self.on("init")
        self.assertEqual(self.statuses(), {})


def schema():
    return json.loads((DATA.parent.parent / "docs" / "task-file.schema.json").read_text(encoding="utf-8"))


def page_example():
    """The task file that the manual shows."""
    page = (DATA.parent.parent / "man" / "reconciler-files.5.scd").read_text(encoding="utf-8")
    return page.split("```")[1].strip() + "\n"


class Format(Files):
    def test_the_example_of_the_manual_is_a_task(self):
        self.file("port-choice").write_text(page_example(), encoding="utf-8")
        self.assertEqual(self.statuses(), {"port-choice": "BLOCKED"})
        shown = self.on("task", "show", "port-choice", "--json").json
        for key, value in json.loads(page_example()).items():
            if key != "blockers":
                self.assertEqual(shown[key], value)
        for key, value in json.loads(page_example())["blockers"][0].items():
            self.assertEqual(shown["blockers"][0][key], value)

    def test_what_is_written_looks_like_the_example(self):
        example = json.loads(page_example())
        self.add_tasks("parser")
        self.on("task", "import", "-", stdin=json.dumps(example))
        self.assertEqual(list(self.read("port-choice")), list(example))
        self.assertEqual(list(self.read("port-choice")["blockers"][0]), list(example["blockers"][0]))
        self.assertEqual(self.file("port-choice").read_text(encoding="utf-8"), page_example())

    @unittest.skipUnless(importlib.util.find_spec("jsonschema"), "python3-jsonschema is not installed")
    def test_the_schema_agrees_with_what_is_written_and_what_is_read(self):
        import jsonschema
        validator = jsonschema.Draft7Validator(schema())
        jsonschema.Draft7Validator.check_schema(schema())
        validator.validate(json.loads(page_example()))
        self.on("task", "import", "-", stdin=self.reconciler("-S", self.fixture("medium"), "task", "export").out)
        for path in self.place.glob("*.json"):
            validator.validate(json.loads(path.read_text(encoding="utf-8")))
        # What the schema refuses is told when it is read; what it takes is not.
        good = {"title": "x", "status": "READY"}
        for change, sound in [({}, True), ({"mine": 1}, True), ({"priority": None}, True), ({"depends_on": ["a"]}, True),
                              ({"blockers": [{"question": "?"}]}, True), ({"priority": "urgent"}, False),
                              ({"title": 5}, False), ({"depends_on": "a"}, False), ({"depends_on": [1]}, False),
                              ({"blockers": {}}, False), ({"created_at": "soon"}, False),
                              ({"created_at": f"2026-01-01T00:00:00.{'0' * 50}Z"}, False), ({"is_leaf": "no"}, False),
                              ({"blockers": [{"question": "?", "status": "open"}]}, False), ({"lineage": [1]}, False)]:
            task = dict(good, **change)
            self.assertEqual(validator.is_valid(task), sound, task)
            self.file("odd").write_text(json.dumps(task), encoding="utf-8")
            warned = self.on("task", "show", "odd", "--json").err
            self.assertEqual(warned == "", sound, (task, warned))


class Running(Files):
    def batch(self, *worker, arguments=()):
        return Batch(self, self.command(["-S", self.uri, "run", "--all-ready", *arguments, "--", *worker]))

    def test_a_batch_runs_and_its_children_find_the_store(self):
        self.add_tasks("a", "b")
        batch = self.batch(os.environ["RECONCILER"], "task", "edit", "a", "--title", "changed by a worker",
                           arguments=["--max-parallel", "1"])
        batch.finish()
        self.assertEqual(self.statuses(), {"a": "DONE", "b": "DONE"})
        self.assertEqual(self.read("a")["title"], "changed by a worker")
        self.on("events", "verify")

    def test_done_written_into_the_file_stops_the_worker_and_stands(self):
        self.add_tasks("a", "b")
        self.edit("b", depends_on=["a"])
        self.write("w", '#!/bin/sh\n[ $REC_TASK_ID = b ] && exit 0\necho $$ > pid.new; mv pid.new pid; exec sleep 600\n').chmod(0o755)
        batch = self.batch("./w", arguments=["--settle", "0s", "--grace", "1s"])
        pid = int(self.until(lambda: (self.directory / "pid").exists() and
                             (self.directory / "pid").read_text(encoding="utf-8"), "the worker runs"))
        self.edit("a", status="DONE")
        batch.finish()
        self.assertFalse(is_alive(pid))
        self.assertEqual(self.statuses(), {"a": "DONE", "b": "DONE"})

    def test_blocked_before_its_start_stays_blocked(self):
        self.add_tasks("a")
        self.edit("a", status="BLOCKED", blockers=[{"question": "?", "status": "OPEN"}])
        before = self.file("a").read_bytes()
        self.on("run", "a", "--", "true", status=None)
        self.assertEqual(self.file("a").read_bytes(), before)


class Killed(Files):
    def test_writers_that_are_killed_leave_whole_groups(self):
        """Each import is a group of a parent and nine children: all ten are there, or none."""
        imports = [json.dumps([{"id": f"{number}.{child}", "title": "x", **({"parent_id": f"{number}.0"} if child else {})}
                               for child in range(10)]) for number in range(60)]
        killed = 0
        for number, text in enumerate(imports):
            process = subprocess.Popen(**self.command(["-S", self.uri, "task", "import", "-"], stdin=subprocess.PIPE,
                                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            process.stdin.write(text.encode())
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.0003 * (number % 30))
            process.kill()
            killed += process.wait() < 0
            if number % 6 == 0:
                self.assert_groups_whole()
        self.assert_groups_whole()
        self.add_tasks("alive")
        self.assertEqual(os.listdir(self.place / ".rec" / "new"), [])
        self.assertGreater(killed, 0)

    def assert_groups_whole(self):
        counts = {}
        for task in self.statuses():
            counts[task.split(".")[0]] = counts.get(task.split(".")[0], 0) + 1
        self.assertEqual(set(counts.values()) - {10}, set())


if __name__ == "__main__":
    main()
