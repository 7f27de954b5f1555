"""Links, and what trackers say of them: link, unlink, sync, check trackers, apply trackers, with made-up helpers."""
import json
import os
import pty
import signal
import subprocess
import sys
import time

from harness import DEADLINE_S, Case, main

HELPER = """
import json, os, sys, time
said = sys.argv[1]
for line in sys.stdin:
    asked = json.loads(line)
    with open(said, encoding="utf-8") as file:
        world = json.load(file)
    if world.get("exit"):
        sys.exit(7)
    if asked["method"] == "hello":
        print(json.dumps({"id": asked["id"], "protocol": 1, "helper": "made-up 1"}), flush=True)
        continue
    with open(said + ".asked", "a", encoding="utf-8") as file:
        file.write(json.dumps(asked) + "\\n")
    while world.get("hang"):
        time.sleep(1)
    answers = [dict(world.get("items", {}).get(link["url"], {"state": "unknown", "problem": "nobody knows"}), url=link["url"])
               for link in asked["links"]]
    print(json.dumps({"id": asked["id"], "observations": answers, "cursors": world.get("cursors", {})}), flush=True)
"""
ISSUE = "https://tracker.example/acme/app/issues/"
PULL = "https://tracker.example/acme/app/pull/"


def closed(reason="completed", time_="2026-01-01T10:00:00Z", **more):
    return dict({"state": "closed", "kind": "issue", "reason": reason, "time": time_}, **more)


class Sync(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()
        self.write("helper.py", HELPER)
        self.trackers("made-up")

    def trackers(self, *names, timeout="20s"):
        """A tracker each; the first for tracker.example, the others for NAME.example."""
        text = ""
        for number, name in enumerate(names):
            host = "tracker.example" if number == 0 else f"{name}.example"
            text += (f"[tracker {name}]\ncommand = {sys.executable} {self.directory}/helper.py {self.directory}/{name}.json\n"
                     f"url_prefix = https://{host}/\ntimeout = {timeout}\n")
            self.says(name)
        (self.store.parent / "reconciler.conf").write_text(text, encoding="utf-8")

    def says(self, name="made-up", items=(), **more):
        self.write(f"{name}.json", json.dumps(dict({"items": dict(items)}, **more)))

    def asked(self, name="made-up"):
        """What the helper was asked, and forgets it."""
        path = self.directory / f"{name}.json.asked"
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").splitlines()
        path.unlink()
        return [json.loads(line) for line in lines]

    def add_linked(self, task_id, url, *options):
        self.add("x", "--id", task_id, *options)
        self.reconciler("link", task_id, url)

    def objects(self, *arguments, status=0):
        return {o["task_id"]: o for o in self.reconciler("--format", "ndjson", *arguments, status=status).objects}

    def events(self):
        return [e for e in self.reconciler("events", "--format", "ndjson").objects if "source" in e]


class Links(Sync):
    def test_link_and_unlink(self):
        self.add("x", "--id", "one")
        self.assertEqual(self.reconciler("link", "o", ISSUE + "7").out, "one: linked\n")
        self.assert_refused("link", "one", ISSUE + "7", status=1, words=["one", "already"])
        self.assert_refused("link", "none", ISSUE + "7", status=1, words=["none", "not found"])
        self.assert_refused("link", "one", "a b", words=["blank"])
        self.assertIn(f"link          {ISSUE}7", self.reconciler("task", "show", "one").out)
        self.assertEqual(self.reconciler("unlink", "one", "--json").json, {"id": "one", "result": "unlinked"})
        self.assert_refused("unlink", "one", status=1, words=["one", "not linked"])
        events = [e["event"] for e in self.reconciler("events", "--format", "ndjson").objects]
        self.assertEqual(events, ["TASK_CREATED", "TASK_LINKED", "TASK_UNLINKED"])

    def test_a_bad_configuration_is_told_before_anything_is_linked(self):
        self.add("x", "--id", "one")
        (self.store.parent / "reconciler.conf").write_text("[tracker half]\ncommand = true\n")
        self.assert_refused("link", "one", ISSUE + "7", words=["[tracker half]", "url_prefix is missing"])
        self.trackers("made-up")
        self.assertEqual(self.reconciler("link", "one", ISSUE + "7").out, "one: linked\n")

    def test_what_is_wrong_in_the_configuration_is_named_by_file_and_line(self):
        config = self.store.parent / "reconciler.conf"
        for text, words in (("[tracker z]\nurl_prefix = https://z/\ncommand = x \"y\n", ["line 3", "[tracker z]", "quote"]),
                            ("[tracker z]\nurl_prefix = https://z/\ncommand = ''\n", ["line 3", "empty"]),
                            ("[run]\nwait = no\n[tracker z]\ncommand = x\n", ["line 4", "[tracker z]", "url_prefix is missing"]),
                            ("[tracker a:b]\ncommand = x\n", ["line 2", "colon"]),
                            ("[tracker z]\nurl_prefix = https://z/a\ncommand = x\n"
                             "[tracker y]\nurl_prefix = HTTPS://Z/a\ncommand = x\n", ["line 5", "[tracker y]", "[tracker z]", "line 2", "change or remove"]),
                            ("[tracker z]\ncommand = x\n[run]\nwait = no\n[tracker z]\nurl_prefix = https://z/\n",
                             ["line 6", "tracker z", "a second time", "line 1"]),
                            ("[tracker z]\ncommand = x\ntimeout = 0\n", ["line 3", "timeout", "more than 0", "without this key"])):
            config.write_text(text, encoding="utf-8")
            self.assert_refused("sync", words=[str(config), *words])
        config.write_text("[worker]\n\ncommand = 'x\n", encoding="utf-8")
        self.assert_refused("run", "--all-ready", words=[str(config), "line 3", "quote"])
        config.write_text("[tracker z]\nurl_prefix = https://z/a\ncommand = x\n"
                          "[tracker y]\nurl_prefix = https://z/A\ncommand = x\n", encoding="utf-8")
        self.reconciler("sync")

    def test_an_address_with_a_password_is_kept_nowhere(self):
        self.add("x", "--id", "one")
        for login in ("me:secret", "secret"):
            address = f"https://{login}@tracker.example/a/b/issues/7"
            for command in (("link", "one", address), ("task", "edit", "one", "--issue", address),
                            ("task", "add", "y", "--issue", address)):
                refused = self.assert_refused(*command, words=["password", "leave it out"])
                self.assertNotIn("secret", refused.err)
            for more in ({"external_url": address}, {"links": [{"url": address}]}):
                given = json.dumps({"title": "y", **more})
                self.assertNotIn("secret", self.assert_refused("task", "import", "-", stdin=given, words=["line 1", "password"]).err)
        self.assertNotIn("secret", self.reconciler("task", "export").out + self.reconciler("events", "--json").out)
        self.reconciler("link", "one", "https://tracker.example/@me/b/issues/7?to=you@there")

    def test_an_address_with_a_password_that_is_there_can_be_read_and_taken_away(self):
        address = "https://me:secret@tracker.example/a/b/issues/7"
        self.add("x", "--id", "one")
        self.add("y", "--id", "two", "--issue", ISSUE + "7")
        self.reconciler("link", "one", ISSUE + "8")
        connection = self.sqlite(self.store)
        connection.execute("UPDATE rec_links SET url=? WHERE task_id='one'", (address,))
        connection.execute("UPDATE tasks SET external_url=? WHERE id='two'", (address,))
        connection.commit()
        connection.close()
        self.assertIn(address, self.reconciler("task", "show", "one").out)
        self.reconciler("check", "trackers")
        self.reconciler("task", "edit", "two", "--title", "z")
        self.reconciler("unlink", "one")
        self.reconciler("task", "edit", "two", "--issue", "")
        self.assertNotIn(address, self.reconciler("task", "export").out)

    def test_links_and_what_was_seen_of_them_come_along_by_export_and_import(self):
        self.add_linked("left", ISSUE + "1")
        self.add_linked("moves", ISSUE + "2", "--status", "IN_PROGRESS")
        self.add("z", "--id", "own", "--issue", ISSUE + "3")
        self.says(items={ISSUE + "1": closed("not_planned"), ISSUE + "2": {"state": "open", "kind": "issue", "validator": "v"},
                         ISSUE + "3": closed()})
        self.reconciler("sync")
        self.reconciler("task", "set", "left", "READY", "--force")  # a person's answer to an issue closed long ago
        self.reconciler("task", "set", "own", "READY", "--force")
        exported = self.reconciler("task", "export").out
        config = (self.store.parent / "reconciler.conf").read_text(encoding="utf-8")
        for place, uri in ((".", f"sqlite:{self.directory}/copy.db"), ("files/.rec", f"dir:{self.directory}/files")):
            self.reconciler("-S", uri, "init")
            self.reconciler("-S", uri, "task", "import", "-", stdin=exported)
            self.assertEqual(self.reconciler("-S", uri, "task", "export").out, exported)
            self.assertEqual(self.reconciler("-S", uri, "task", "export", "moves").out, exported.splitlines(keepends=True)[1])
            self.assert_refused("-S", uri, "task", "import", "-", stdin=exported, words=["exists already"])
            self.assertEqual(self.reconciler("-S", uri, "task", "export").out, exported)
            (self.directory / place / "reconciler.conf").write_text(config, encoding="utf-8")
            self.says(items={ISSUE + "1": closed("not_planned"), ISSUE + "2": closed(), ISSUE + "3": closed()})
            self.asked()
            applied = {o["task_id"] for o in self.reconciler("-S", uri, "--format", "ndjson", "sync").objects if o["applied"]}
            self.assertEqual(applied, {"moves"})
            self.assertFalse([link for asked in self.asked() for link in asked["links"] if link.get("validator")])

    def test_a_link_that_nobody_answers_for_is_a_warning(self):
        self.add("x", "--id", "one")
        done = self.reconciler("link", "one", "https://elsewhere.example/a/b/issues/1")
        self.assertIn("no tracker answers", done.err)
        self.assertEqual(self.objects("check", "trackers")["one"]["reason"], "no tracker for its link")

    def test_an_issue_given_to_task_add_is_a_link(self):
        self.add("x", "--id", "one", "--issue", ISSUE + "7")
        self.says(items={ISSUE + "7": closed()})
        self.assert_refused("unlink", "one", status=1, words=["--issue"])
        self.assertTrue(self.objects("sync")["one"]["applied"])
        self.assertEqual(self.status_of("one"), "DONE")

    def test_codeframes_workspace_is_linked_as_it_is(self):
        path = self.fixture("small", "ws/.codeframe")
        connection = self.sqlite(path)
        connection.execute("UPDATE tasks SET external_url=? WHERE id=(SELECT id FROM tasks WHERE status='READY' LIMIT 1)", (ISSUE + "7",))
        task_id, = connection.execute("SELECT id FROM tasks WHERE external_url IS NOT NULL").fetchone()
        connection.close()
        self.reconciler("init", "ws")
        (path.parent / "reconciler.conf").write_text((self.store.parent / "reconciler.conf").read_text())
        self.says(items={ISSUE + "7": closed()})
        result = self.objects("-S", "ws", "sync")[task_id]
        self.assertEqual((result["external_status"], result["source"], result["applied"]), ("DONE", "made-up", True))

    def test_a_store_of_an_older_version_is_mended_by_init(self):
        self.add("x", "--id", "one", "--issue", ISSUE + "7")
        connection = self.sqlite(self.store)
        connection.executescript("DROP TABLE rec_links; DROP TABLE rec_cursors; DROP INDEX rec_tasks_url")
        connection.close()
        self.says(items={ISSUE + "7": closed()})
        self.reconciler("task", "set", "one", "FAILED", "--force")
        self.assertEqual(self.objects("check", "trackers", status=1)["one"]["external_status"], "DONE")
        result = self.reconciler("sync", status=2)
        self.assertIn("reconciler init", result.err)
        self.assert_refused("link", "one", ISSUE + "8", words=["reconciler init"])
        self.reconciler("init")
        self.assertTrue(self.objects("sync")["one"]["applied"])


class Pass(Sync):
    def test_check_records_nothing_and_sync_writes_once(self):
        self.add_linked("one", ISSUE + "7")
        self.add_linked("two", PULL + "8", "--status", "READY")
        self.add("x", "--id", "free")
        self.says(items={ISSUE + "7": closed(), PULL + "8": {"state": "open", "time": "2026-01-01T10:00:00Z"}})
        wanted = {"task_id": "one", "current_status": "READY", "external_status": "DONE", "action": "SKIP",
                  "reason": "issue closed as completed", "source": "made-up", "discrepancy": True}
        for command in (("check", "trackers"), ("sync", "--dry-run")):
            found = self.objects(*command, status=1)
            self.assertEqual(found["one"], wanted)
            self.assertEqual(list(found), ["free", "one", "two"])
            self.assertEqual(found["free"]["reason"], "task is not linked")
        self.assertEqual(self.status_of("one"), "READY")
        self.assertEqual(self.objects("sync")["one"], dict(wanted, applied=True))
        self.assertEqual(self.status_of("one"), "DONE")
        again = self.objects("sync")
        self.assertEqual((again["one"]["action"], again["one"]["applied"]), ("NONE", False))
        event, = self.events()
        self.assertEqual((event["event"], event["source"], event["current_status"], event["external_status"]),
                         ("RECONCILIATION_TASK_SKIPPED", "made-up", "READY", "DONE"))
        self.assertEqual(json.loads(event["observation"])["reason"], "completed")
        self.reconciler("events", "verify")

    def test_apply_trackers_is_sync_with_literal_ids_and_a_batch_state(self):
        self.add_linked("one", ISSUE + "7")
        self.add_linked("only", ISSUE + "8")
        self.says(items={ISSUE + "7": closed(), ISSUE + "8": closed()})
        self.assertEqual(self.objects("apply", "trackers", "on")["on"]["reason"], "task not found")
        self.write("batch.json", '{"only":"READY"}')
        self.assertEqual(list(self.objects("apply", "trackers", "--batch-state", "batch.json")), ["only"])
        self.assertEqual((self.status_of("one"), self.status_of("only")), ("READY", "DONE"))
        self.write("batch.json", "{}")
        self.assertEqual(self.objects("check", "trackers", "--batch-state", "batch.json"), {})
        self.assertEqual(list(self.objects("sync", "one")), ["one"])
        self.assert_refused("sync", "nobody", status=1, words=["nobody", "not found"])

    def test_apply_trackers_of_a_batch_names_it_in_its_events(self):
        self.add("x", "--id", "one")
        run = self.reconciler("run", "one", "--", "false", status=1)
        batch_id = run.err.splitlines()[0].removeprefix("batch ")
        self.reconciler("link", "one", ISSUE + "7")
        self.says(items={ISSUE + "7": closed()})
        self.assertTrue(self.objects("apply", "trackers", "--batch", batch_id)["one"]["applied"])
        self.assertEqual([e["batch_id"] for e in self.events() if e["source"] == "made-up"], [batch_id])

    def test_a_task_called_trackers(self):
        self.add("x", "--id", "trackers")
        self.assertEqual(self.objects("check", "--", "trackers")["trackers"]["source"], "store")
        self.assertEqual(self.objects("check", "trackers", "--", "trackers")["trackers"]["reason"], "task is not linked")

    def test_json_and_tables(self):
        self.add_linked("one", ISSUE + "7")
        self.says(items={ISSUE + "7": closed("not_planned")})
        document = self.reconciler("check", "trackers", "--json", status=1).json
        self.assertEqual(document["summary"], {"NONE": 0, "SKIP": 1, "KILL": 0, "REQUEUE": 0})
        table = self.reconciler("sync").out
        self.assertRegex(table, r"TASK +STORED +OBSERVED +ACTION +APPLIED +REASON")
        self.assertRegex(table, r"one +READY +BACKLOG +SKIP +yes +issue closed as not planned")
        self.assertIn("1 task: 1 SKIP; 1 applied", table)

    def test_validators_and_cursors_come_back_the_next_time(self):
        self.add_linked("one", ISSUE + "7")
        self.says(items={ISSUE + "7": {"state": "open", "time": "2026-01-01T10:00:00Z", "validator": "v1"}},
                  cursors={"repo:acme/app": "c1"})
        self.reconciler("sync")
        first, = self.asked()
        self.assertEqual((first["links"], first["cursors"]), ([{"url": ISSUE + "7", "validator": None}], {}))
        self.says(items={ISSUE + "7": {"state": "unchanged"}}, cursors={"repo:acme/app": "c2"})
        self.assertEqual(self.objects("sync")["one"]["reason"], "nothing new at the tracker")
        second, = self.asked()
        self.assertEqual((second["links"], second["cursors"]),
                         ([{"url": ISSUE + "7", "validator": "v1"}], {"repo:acme/app": "c1"}))
        self.reconciler("sync", "one")
        self.assertEqual(self.asked()[0]["cursors"], {})

    def test_a_tie_is_asked_again_without_its_validator(self):
        self.add_linked("one", ISSUE + "7")
        open_ = {"state": "open", "time": "2026-01-01T10:00:00Z", "validator": "v1"}
        self.says(items={ISSUE + "7": open_})
        self.reconciler("sync")
        self.asked()
        self.says(items={ISSUE + "7": closed()})
        self.assertTrue(self.objects("sync")["one"]["applied"])
        self.assertEqual([q["links"][0]["validator"] for q in self.asked()], ["v1", None])

    def test_reopened_comes_back_and_gone_is_for_the_doctor(self):
        self.add_linked("one", ISSUE + "7")
        self.says(items={ISSUE + "7": closed()})
        self.reconciler("sync")
        self.says(items={ISSUE + "7": {"state": "open", "kind": "issue", "time": "2026-01-01T11:00:00Z"}})
        self.assertEqual(self.objects("sync")["one"]["action"], "REQUEUE")
        self.assertEqual(self.status_of("one"), "READY")
        self.says(items={ISSUE + "7": {"state": "gone"}})
        self.reconciler("sync")
        finding, = self.reconciler("doctor", "--json", status=1).json
        self.assertEqual((finding["kind"], finding["task_id"]), ("dead-link", "one"))
        self.assertEqual(finding["command"], "reconciler unlink one")
        self.asked()
        self.reconciler("sync")
        self.assertEqual(self.asked(), [])
        self.reconciler("unlink", "one")
        self.reconciler("doctor")
        self.reconciler("events", "verify")

    def test_more_links_than_one_request_takes(self):
        count = 2100
        tasks = [{"id": f"t{i:04}", "title": "x", "external_url": f"{ISSUE}{i + 1}"} for i in range(count)]
        self.reconciler("task", "import", "-", stdin=json.dumps(tasks))
        self.says(items={f"{ISSUE}{i + 1}": closed() for i in range(count)})
        document = self.reconciler("sync", "--json").json
        self.assertEqual(document["summary"]["SKIP"], count)
        self.assertTrue(all(result["applied"] for result in document["results"]))
        self.reconciler("events", "verify")


class Trouble(Sync):
    def test_a_tracker_that_is_down_is_one_warning_and_delays_no_other(self):
        self.trackers("made-up", "broken")
        for number in range(3):
            self.add_linked(f"t{number}", f"https://broken.example/a/b/issues/{number + 1}")
        self.add_linked("one", ISSUE + "7")
        self.says("broken", exit=True)
        self.says(items={ISSUE + "7": closed()})
        done = self.reconciler("sync", "--format", "ndjson")
        found = {o["task_id"]: o for o in done.objects}
        self.assertEqual(done.err.count("\n"), 1, done.err)
        self.assertIn("tracker broken:", done.err)
        self.assertEqual([found[f"t{i}"]["reason"] for i in range(3)], ["unknown at the tracker"] * 3)
        self.assertEqual([found[f"t{i}"]["source"] for i in range(3)], ["broken"] * 3)
        self.assertTrue(found["one"]["applied"])
        self.assertEqual(len(self.events()), 1)

    def test_a_tracker_that_hangs_is_left_after_its_time(self):
        self.trackers("made-up", timeout="500ms")
        self.add_linked("one", ISSUE + "7")
        self.says(hang=True)
        done = self.reconciler("sync", "--format", "ndjson")
        self.assertIn("tracker made-up:", done.err)
        self.assertEqual(done.objects[0]["reason"], "unknown at the tracker")

    def test_a_tracker_that_hangs_delays_nothing_of_another(self):
        self.trackers("made-up", "slow", timeout="1h")
        self.add_linked("one", ISSUE + "7")
        self.says(items={ISSUE + "7": {"state": "open", "time": "2026-01-01T10:00:00Z"}})
        self.reconciler("sync")
        self.add_linked("two", "https://slow.example/a/b/issues/1")
        self.says("slow", hang=True)
        self.says(items={ISSUE + "7": closed()})  # as old as what is known: it is read once more
        running = subprocess.Popen(**self.command(["sync"], stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        deadline = time.monotonic() + DEADLINE_S
        while self.status_of("one") != "DONE" and time.monotonic() < deadline:
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=DEADLINE_S)
        self.assertEqual((running.returncode, self.status_of("one")), (143, "DONE"))

    def test_a_program_that_is_not_there(self):
        (self.store.parent / "reconciler.conf").write_text(
            "[tracker gone]\ncommand = /nowhere/helper\nurl_prefix = https://tracker.example/\n")
        self.add_linked("one", ISSUE + "7")
        done = self.reconciler("check", "trackers", "--format", "ndjson")
        self.assertIn("/nowhere/helper", done.err)
        self.assertEqual(done.objects[0]["reason"], "unknown at the tracker")

    def test_quiet_says_nothing_of_it(self):
        self.add_linked("one", ISSUE + "7")
        self.says(exit=True)
        self.assertEqual(self.reconciler("-q", "sync").err, "")

    def test_a_signal_ends_the_waiting(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.add_linked(f"t{status}", ISSUE + str(status))
            self.says(hang=True)
            running = subprocess.Popen(**self.command(["sync"], stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            deadline = time.monotonic() + DEADLINE_S
            while not (self.directory / "made-up.json.asked").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            running.send_signal(number)
            out, err = running.communicate(timeout=DEADLINE_S)
            self.assertEqual((running.returncode, out, err), (status, b"", b""))
            self.asked()
        self.assertEqual(self.events(), [])

    def test_a_reader_that_is_gone_costs_no_time(self):
        self.trackers("made-up", timeout="3s")
        self.add_linked("one", ISSUE + "7")
        self.says(hang=True)
        reader, writer = os.pipe()
        os.close(reader)
        running = subprocess.Popen(**self.command(["sync"], stdout=writer, stderr=subprocess.DEVNULL))
        os.close(writer)
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(running.returncode, 128 + signal.SIGPIPE)
        self.assertEqual(len(self.asked()), 1)
        self.assertLess(usage.ru_utime + usage.ru_stime, 1)  # its tracker is waited for three seconds

    def test_a_terminal_sees_that_something_is_asked(self):
        self.add_linked("one", ISSUE + "7")
        self.says(items={ISSUE + "7": closed()})
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        done = subprocess.run(**self.command(["sync"], stdout=subprocess.PIPE, stderr=slave, timeout=DEADLINE_S, check=False))
        os.close(slave)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"asking about 1 link", os.read(master, 4096))


if __name__ == "__main__":
    main()
