"""`run` and what belongs to it: the contract with the worker, every option, the operator's signals."""
import json
import os
import pathlib
import re
import resource
import signal
import unicodedata
import unittest

import harness
from running import RunCase, is_alive, is_pending


class Contract(RunCase):
    """What a worker is given, and what its end means."""

    def test_the_first_line_names_the_batch_and_the_summary_counts(self):
        self.add_tasks("T1", "T2")
        done = self.run_batch()
        batch_id = done.err.splitlines()[0].removeprefix("batch ")
        self.assertEqual(done.lines, [f"batch {batch_id} COMPLETED: 2 done, 0 skipped, 0 failed, 0 held",
                                      "reconciliation: nothing to do"])
        self.assert_stored(T1="DONE", T2="DONE")
        self.assert_sound()

    def test_the_environment_names_task_attempt_batch_store_claim_and_file(self):
        self.add("It's a \"title\" with $(x) and {id}", "--id", "T1")
        done = self.run_batch("--env", "MINE=yes", worker=["sh", "-c", "env > seen"])
        batch_id = done.err.splitlines()[0].removeprefix("batch ")
        seen = dict(line.split("=", 1) for line in self.path("seen").read_text(encoding="utf-8").splitlines())
        self.assertEqual({name: seen.get(name) for name in
                          ("REC_TASK_ID", "REC_TASK_TITLE", "REC_ATTEMPT", "REC_BATCH_ID", "REC_STORE", "MINE", "HOME")},
                         {"REC_TASK_ID": "T1", "REC_TASK_TITLE": "It's a \"title\" with $(x) and {id}", "REC_ATTEMPT": "1",
                          "REC_BATCH_ID": batch_id, "REC_STORE": f"sqlite:{self.store}", "MINE": "yes",
                          "HOME": self.environment["HOME"]})
        self.assertRegex(seen["REC_CLAIM"], "^[0-9]+$")
        self.assertTrue(seen["REC_TASK_FILE"].startswith("/"))

    def test_the_store_of_the_environment_opens_from_inside(self):
        self.add_tasks("T1")
        self.run_batch(worker=["sh", "-c", f'cd / && {harness.RECONCILER} -S "$REC_STORE" task show T1 --json > "$OLDPWD/seen"'])
        seen = json.loads(self.path("seen").read_text(encoding="utf-8"))
        self.assertEqual((seen["id"], seen["status"]), ("T1", "IN_PROGRESS"))

    def test_the_whole_task_stands_on_stdin_and_in_the_file(self):
        self.add("first", "--id", "T0", "--status", "DONE")
        self.add("title é", "--id", "T1", "--description", "line\none", "--priority", "3", "--depends-on", "T0")
        self.run_batch(worker=["sh", "-c", "cat > in; cat $REC_TASK_FILE > file"])
        text = self.path("in").read_text(encoding="utf-8")
        self.assertEqual(self.path("file").read_text(encoding="utf-8"), text)
        task = json.loads(text)
        self.assertEqual([task[key] for key in ("id", "title", "description", "status", "priority", "depends_on", "blockers")],
                         ["T1", "title é", "line\none", "IN_PROGRESS", 3, ["T0"], []])

    def test_placeholders_are_replaced_everywhere_in_an_argument(self):
        self.add("a {id} b", "--id", "T1")
        self.run_batch(worker=["sh", "-c", 'printf "%s\\n" "$@" > seen', "x", "{id}", "<{id}/{attempt}>", "{title}", "{other}", "{"])
        self.assertEqual(self.lines_of("seen"), ["T1", "<T1/1>", "a {id} b", "{other}", "{"])

    def test_no_shell_reads_the_command(self):
        self.add("$(touch hit) `touch hit` ; touch hit", "--id", "-x;touch hit")
        self.run_batch(worker=["touch", "--", "{id} {title}"])
        self.assertFalse(self.path("hit").exists())
        self.assertEqual(self.stored("-x;touch hit"), "DONE")

    def test_exit_codes_and_signals_are_kept_apart(self):
        self.add_tasks("T0", "T3", "T15", "T143")
        worker = self.script("case $REC_TASK_ID in T0) exit 0;; T3) exit 3;; T15) kill -TERM $$;; T143) exit 143;; esac")
        self.run_batch(worker=worker, status=1)
        self.assert_stored(T0="DONE", T3="FAILED", T15="FAILED", T143="FAILED")
        ends = {event["task_id"]: (event.get("exit_code"), event.get("exit_signal"))
                for event in self.events() if "exit_code" in event or "exit_signal" in event}
        self.assertEqual(ends, {"T0": (0, None), "T3": (3, None), "T15": (None, 15), "T143": (143, None)})
        self.assert_sound()

    def test_exit_75_means_again_later_and_is_no_failure(self):
        self.add_tasks("T1")
        self.run_batch("--retry-delay", "10ms", worker=["sh", "-c", 'echo $REC_ATTEMPT >> journal; [ $REC_ATTEMPT -ge 3 ] || exit 75'])
        self.assertEqual(self.lines_of("journal"), ["1", "2", "3"])
        self.assert_stored(T1="DONE")
        self.assertEqual(self.events("BATCH_TASK_FAILED"), [])

    def test_exit_75_has_a_limit(self):
        self.add_tasks("T1")
        self.run_batch("--retry-delay", "0", status=1, worker=["sh", "-c", "echo >> journal; exit 75"])
        self.assert_stored(T1="FAILED")
        self.assertEqual(len(self.lines_of("journal")), 21)

    def test_what_the_worker_itself_stored_stands(self):
        self.add_tasks("T1", "T2")
        self.run_batch(worker=["sh", "-c", f"""
            case $REC_TASK_ID in T1) s=DONE; c=1;; T2) s=BLOCKED; c=0;; esac
            {harness.RECONCILER} -S "$REC_STORE" task set $REC_TASK_ID $s || exit 9
            exit $c"""], status=1)
        self.assert_stored(T1="DONE", T2="BLOCKED")

    def test_a_blocker_raised_during_the_attempt_blocks_the_task(self):
        self.add_tasks("T1")
        done = self.run_batch(worker=["sh", "-c", f'{harness.RECONCILER} -S "$REC_STORE" blocker add T1 "which?" --by agent'], status=1)
        self.assertIn("1 held", done.out)
        self.assert_stored(T1="BLOCKED")
        self.assert_sound()

    def test_a_blocker_raised_and_answered_during_the_attempt_does_not(self):
        self.add_tasks("T1")
        self.run_batch(worker=["sh", "-c", f"""
            id=$({harness.RECONCILER} -S "$REC_STORE" blocker add T1 "which?" --by agent) || exit 9
            {harness.RECONCILER} -S "$REC_STORE" blocker answer $id this"""])
        self.assert_stored(T1="DONE")

    def test_codeframes_runner_moves_its_own_task(self):
        self.add_tasks("T1", "T2")
        self.run_batch("--child-owns-run", worker=["sh", "-c", f"""
            case $REC_TASK_ID in T1) s=DONE;; T2) s=FAILED;; esac
            {harness.RECONCILER} -S "$REC_STORE" task set $REC_TASK_ID $s --force || exit 9
            [ $s = DONE ]"""], status=1)
        self.assert_stored(T1="DONE", T2="FAILED")
        self.assertEqual(self.sqlite(self.store).execute("SELECT count(*) FROM runs").fetchone(), (0,))

    def test_b13_a_large_description_reaches_the_child(self):
        text = "é€😀" * 50000
        self.reconciler("task", "import", "-", stdin=json.dumps([{"id": "T1", "title": "large", "description": text},
                                                                  {"id": "T2", "title": "small"}]))
        self.run_batch(worker=["sh", "-c", "cat > in.$REC_TASK_ID"])
        self.assertEqual(json.loads(self.path("in.T1").read_text(encoding="utf-8"))["description"], text)
        self.assert_stored(T1="DONE", T2="DONE")

    def test_b34_odd_output_bytes_are_kept_as_they_came(self):
        self.add_tasks("T1", "T2")
        self.run_batch(worker=["sh", "-c", r'printf "a\224\000b\377" ; [ $REC_TASK_ID = T1 ] || printf err >&2'])
        self.assertEqual(self.run_bytes("logs", "T1")[1], b"a\x94\x00b\xff")
        self.assertEqual(self.run_bytes("logs", "T2")[1], b"a\x94\x00b\xfferr")
        self.assert_stored(T1="DONE", T2="DONE")
        self.events()

    def test_b35_an_id_with_separators_stays_inside(self):
        ids = ["../../outside", "a/b", "a_b", ".", "..", "ünï/日本"]
        self.reconciler("task", "import", "-", stdin=json.dumps([{"id": task_id, "title": "x"} for task_id in ids]))
        self.run_batch(worker=["sh", "-c", 'printf %s "$REC_TASK_ID"'])
        for task_id in ids:
            self.assertEqual(self.run_bytes("logs", "--", task_id)[1].decode(), task_id)
        self.assertEqual(sorted(os.listdir(self.directory)), [".reconciler"])

    def test_output_beyond_the_limit_is_cut_and_says_so(self):
        self.add_tasks("T1")
        self.run_batch("--log-limit", "1K", worker=["sh", "-c", "head -c 5000 /dev/zero | tr '\\0' x"])
        log = self.run_bytes("logs", "T1")[1]
        self.assertEqual(log[:1024], b"x" * 1024)
        self.assertIn(b"cut", log[1024:])
        self.assertLess(len(log), 1200)

    def test_output_beyond_what_a_file_may_hold_is_lost_and_the_attempt_is_not(self):
        self.add_tasks("T1")
        self.run_batch(worker=["sh", "-c", "head -c 3000000 /dev/zero"],
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.assertEqual(len(self.run_bytes("logs", "T1")[1]), 1 << 20)
        self.assertEqual(self.stored("T1"), "DONE")
        self.assertEqual(len(self.events("BATCH_TASK_STARTED")), 1)


class Options(RunCase):
    def test_neither_ids_nor_all_ready_is_refused(self):
        self.add_tasks("T1")
        self.assert_refused("run", "--", "true", words=["run: no tasks named"])

    def test_a_command_that_cannot_be_found_is_refused_before_a_batch_exists(self):
        self.add_tasks("T1")
        for command in ("no-such-command", "./nothing-here", "/etc/passwd"):
            self.assert_refused("run", "--all-ready", "--", command, words=[command])
        self.assertEqual(self.reconciler("status", "--json").json, [])
        self.assert_stored(T1="READY")

    def test_wrong_values_are_refused_naming_option_and_value(self):
        self.add_tasks("T1")
        for option, value in (("-j", "0"), ("-j", "x"), ("--retry", "-1"), ("--timeout", "fast"), ("--log-limit", "1Q"),
                              ("--env", "NOEQUALS"), ("--env", "REC_CLAIM=1"), ("--on-failure", "explode"),
                              ("--workdir", "nowhere"), ("--workdir", "/etc/passwd")):
            with self.subTest(option=option, value=value):
                refused = self.reconciler("run", "--all-ready", option, value, "--", "true", status=2)
                self.assertIn(value, refused.err)
        self.assertEqual(self.reconciler("status", "--json").json, [])

    def test_a_missing_task_is_refused(self):
        self.add_tasks("T1")
        self.reconciler("run", "T1", "nothing", "--", "true", status=1)
        self.assert_stored(T1="READY")

    def test_only_named_tasks_run(self):
        self.add_tasks("T1", "T2", "T3")
        self.run_batch(tasks=("T1", "T3"))
        self.assert_stored(T1="DONE", T2="READY", T3="DONE")

    def test_finished_ones_are_skipped_and_unready_ones_held_with_the_reason(self):
        self.add_tasks("D", status="DONE")
        self.add_tasks("F", status="FAILED")
        self.add_tasks("B", status="BACKLOG")
        self.add_tasks("P", status="IN_PROGRESS")
        self.add_tasks("R")
        done = self.run_batch(tasks=("D", "F", "B", "P", "R"), status=1)
        self.assert_stored(D="DONE", F="FAILED", B="BACKLOG", P="IN_PROGRESS", R="DONE")
        batch_id = done.err.splitlines()[0].removeprefix("batch ")
        phases = {task["task_id"]: task["phase"] for task in self.status_json(batch_id)["tasks"]}
        self.assertEqual(phases, {"D": "finished", "F": "finished", "B": "held", "P": "held", "R": "finished"})
        self.assertEqual(self.task_in(batch_id, "P")["reason"], "in progress without a claim")
        self.assertEqual(self.status_json(batch_id)["counts"],
                         {"waiting": 0, "queued": 0, "running": 0, "held": 2, "done": 1, "failed": 1, "skipped": 1})

    def test_max_parallel_is_kept_and_used(self):
        self.add_tasks(*(f"T{i}" for i in range(6)))
        self.gate("gate")
        worker = self.script("echo >> journal; read x < gate")
        batch = self.batch("-j", "3", worker=worker)
        self.until(lambda: len(self.lines_of("journal")) == 3, "three run")
        self.assertEqual(self.status_json(batch.id)["counts"]["running"], 3)
        self.assertEqual(len(self.lines_of("journal")), 3)
        self.open_gate("gate")
        batch.finish()

    def test_priority_then_age_then_id_is_the_order_and_dry_run_tells_it(self):
        self.add_tasks("late", priority=5)
        self.add_tasks("b", "a", priority=1)
        self.add_tasks("child", priority=0, depends_on="late")
        plan = self.reconciler("run", "--all-ready", "--dry-run", "--json", "--", "true").json
        self.assertEqual([task["task_id"] for task in plan], ["b", "a", "late", "child"])
        self.assertEqual(self.reconciler("status", "--json").json, [])
        self.run_batch("-j", "1", worker=["sh", "-c", "echo $REC_TASK_ID >> journal"])
        self.assertEqual(self.lines_of("journal"), ["b", "a", "late", "child"])

    def test_retries_count_and_delay(self):
        self.add_tasks("T1", "T2")
        self.run_batch("--retry", "2", "--retry-delay", "20ms", status=1, worker=["sh", "-c",
            'echo "$REC_TASK_ID $REC_ATTEMPT" >> journal; [ $REC_TASK_ID = T2 -a $REC_ATTEMPT = 2 ]'])
        self.assertEqual(sorted(self.lines_of("journal")), ["T1 1", "T1 2", "T1 3", "T2 1", "T2 2"])
        self.assert_stored(T1="FAILED", T2="DONE")
        self.assertEqual([event["attempt"] for event in self.events("BATCH_TASK_FAILED", task_id="T1")], [1, 2, 3])

    def test_on_failure_stop_starts_nothing_new_and_lets_the_running_finish(self):
        self.add_tasks("T1", "T2", "T3")
        worker = self.holding("T1", "T2", after="[ $REC_TASK_ID != T1 ]")
        batch = self.batch("-j", "2", "--on-failure", "stop", worker=worker)
        self.started("T1")
        self.started("T2")
        self.open_gate("gate.T1")
        self.until_status("T1", "FAILED")
        self.open_gate("gate.T2")
        batch.finish(status=1)
        self.assert_stored(T1="FAILED", T2="DONE", T3="READY")
        self.assertEqual(self.status_json(batch.id)["status"], "PARTIAL")

    def test_timeout_is_a_failure_with_that_reason(self):
        self.add_tasks("T1")
        self.run_batch("--timeout", "100ms", "--grace", "5s", status=1, worker=["sleep", "300"])
        self.assert_stored(T1="FAILED")
        self.assertEqual([event["reason"] for event in self.events("BATCH_TASK_FAILED")], ["timed out"])
        self.assert_nothing_runs()

    def test_b18_a_silent_worker_is_stalled_but_a_busy_or_beating_one_is_not(self):
        """The second silent one begins when the first was stopped, so the others live for two such times at least."""
        self.add_tasks("silent", "busy", "beating", "loud", "silent-too")
        self.gate("never")
        worker = self.script(f"""
            case $REC_TASK_ID in
            silent*) read x < never;;
            busy) sh -c 'i=0; while [ ! -e stalled ]; do i=$((i+1)); done';;
            beating) while [ ! -e stalled ]; do {harness.RECONCILER} heartbeat || exit 9; done;;
            loud) while [ ! -e stalled ]; do echo x; sleep 0.05; done;;
            esac""")
        batch = self.batch("-j", "4", "--stall-timeout", "1500ms", "--grace", "1s", worker=worker)
        self.until_status("silent-too", "FAILED")
        self.write("stalled", "")
        batch.finish(status=1)
        self.assert_stored(silent="FAILED", busy="DONE", beating="DONE", loud="DONE")
        self.assertEqual([event["reason"] for event in self.events("BATCH_TASK_FAILED")], ["no sign of life"] * 2)

    def test_heartbeat_outside_a_task_is_refused(self):
        self.assert_refused("heartbeat", words=["REC_TASK_FILE"])

    def test_ignore_blockers_starts_what_open_blockers_hold(self):
        self.add_tasks("T1")
        self.reconciler("blocker", "add", "T1", "which?")
        self.sqlite(self.store).execute("UPDATE tasks SET status='READY' WHERE id='T1'")
        done = self.run_batch(status=1)
        self.assertIn("1 held", done.out)
        self.run_batch("--ignore-blockers")
        self.assert_stored(T1="DONE")

    def test_workdir_and_config_file(self):
        self.add_tasks("T1")
        (self.directory / "elsewhere").mkdir()
        self.write(".reconciler/reconciler.conf",
                   "[worker]\ncommand = sh -c 'pwd > \"$OUT\"'\nenv.OUT = here\n[run]\nworkdir = elsewhere\n")
        self.reconciler("run", "--all-ready")
        self.assertEqual(self.lines_of("elsewhere/here"), [os.path.realpath(self.directory / "elsewhere")])

    def test_on_end_gets_the_summary(self):
        self.add_tasks("T1", "T2")
        self.script("cat > summary; exit 1", name="tell")
        done = self.run_batch("--on-end", "./tell now", worker=["sh", "-c", "[ $REC_TASK_ID = T1 ]"], status=1)
        summary = json.loads(self.path("summary").read_text(encoding="utf-8"))
        self.assertEqual((summary["status"], summary["counts"]["done"], summary["counts"]["failed"]), ("PARTIAL", 1, 1))
        self.assertIn("--on-end", done.err)  # it failed; the batch's exit status is its own

    def test_whom_we_start_ignores_no_signal_that_we_ignore(self):
        self.add_tasks("T1")
        ignored = "grep SigIgn /proc/self/status"
        self.run_batch("--on-end", f"sh -c '{ignored} > end'", worker=["sh", "-c", f"{ignored} > child"])
        for name in ("end", "child"):
            mask = int(self.path(name).read_text(encoding="utf-8").split()[1], 16)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                self.assertFalse(mask >> (number - 1) & 1, (name, number))

    def test_on_end_must_be_a_program_before_anything_runs(self):
        self.add_tasks("T1")
        for command, word in (("./nowhere now", "./nowhere"), ("", "empty"), ("'x", "quote")):
            self.assert_refused("run", "--all-ready", "--on-end", command, "--", "true", words=["--on-end", word])
        self.assertEqual(self.stored("T1"), "READY")
        self.assertEqual(self.reconciler("status", "--json").json, [])

    def test_ndjson_is_one_event_a_line_and_the_last_carries_the_counts(self):
        self.add_tasks("T1")
        events = self.run_batch("--format", "ndjson").objects
        self.assertEqual([event["event"] for event in events],
                         ["BATCH_STARTED", "BATCH_TASK_STARTED", "BATCH_TASK_COMPLETED", "BATCH_COMPLETED"])
        self.assertEqual(events[-1]["counts"],
                         {"waiting": 0, "queued": 0, "running": 0, "held": 0, "done": 1, "failed": 0, "skipped": 0})
        self.assertEqual(events[-1]["reconciliation"], {"skipped": 0, "killed": 0, "requeued": 0, "errors": 0})
        self.assertNotIn("counts", events[0])

    def test_ndjson_events_are_those_of_the_audit_log(self):
        """With their numbers and times, in their order; also those of a batch that is taken up again."""
        self.add_tasks("T1", "T2", "T3")
        self.reconciler("task", "edit", "T3", "--depends-on", "T2")
        for words, status in ((["run", "--all-ready"], 1), (["resume"], 0)):
            if status == 0:
                words.append(shown[0]["batch_id"])
            worker = ["--", "sh", "-c", '[ "$REC_TASK_ID$REC_ATTEMPT" != T21 ]'] if status else []
            shown = self.reconciler("--format", "ndjson", *words, *worker, status=status).objects
            logged = [one for one in self.reconciler("events", "--format", "ndjson").objects
                      if one.get("batch_id") == shown[0]["batch_id"] and one["seq"] >= shown[0]["seq"]]
            last = shown.pop()
            self.assertEqual(shown, logged[:-1])
            self.assertEqual({key: last[key] for key in logged[-1]}, logged[-1])
            self.assertEqual(set(last) - set(logged[-1]), {"counts", "reconciliation"})
            self.assertTrue(all(one["seq"] > 0 and one["time"].endswith("+00:00") for one in shown))
            self.assertEqual(shown[0]["event"], "BATCH_STARTED" if status else "BATCH_RESUMED")

    def test_json_is_one_document(self):
        self.add_tasks("T1")
        self.assertEqual(self.run_batch("--json").json["status"], "COMPLETED")

    def test_wait_stays_for_what_is_held_and_takes_what_becomes_ready(self):
        self.add_tasks("T1", status="BLOCKED")
        self.add_tasks("T0")
        self.reconciler("blocker", "add", "T1", "which?")
        batch = self.batch("--wait", tasks=("T0", "T1"))
        self.until_status("T0", "DONE")
        blocker = self.reconciler("blocker", "list", "T1", "--json").json[0]["id"]
        self.assertIsNone(batch.process.poll())
        self.reconciler("blocker", "answer", blocker, "this")
        batch.finish()
        self.assert_stored(T1="DONE")

    def test_wait_with_all_ready_takes_tasks_that_come_later(self):
        self.add_tasks("T0")
        self.add_tasks("T1", status="BACKLOG")
        self.gate("gate.T0")
        worker = self.script('[ $REC_TASK_ID != T0 ] || { echo > started.T0; read x < gate.T0; }')
        batch = self.batch("--wait", worker=worker)
        self.until_file("started.T0")
        self.add_tasks("T2")
        self.until_status("T2", "DONE")
        self.open_gate("gate.T0")
        batch.finish()
        self.assert_stored(T0="DONE", T1="BACKLOG")


class LiveView(RunCase):
    """What a person sees while a batch runs."""

    def shown(self, *options, worker=("sleep", "0.3"), **terminal):
        status, text = harness.on_terminal(self, "run", "--all-ready", *options, "--", *worker, **terminal)
        self.assertEqual(status, 0, text)
        return text

    def test_a_terminal_gets_a_bar_and_no_line_per_event(self):
        self.add_tasks("T1")
        text = self.shown()
        self.assertIn("[", text)
        self.assertIn("1 done", text)
        self.assertNotIn("BATCH_TASK_STARTED", text)

    def test_nothing_is_drawn_that_could_not_be_taken_back(self):
        """Lines that wrap, or that leave the terminal at the top, would stay for ever."""
        for i in range(12):
            self.add("日本語のとても長い題名日本語のとても長い題名" * 2, "--id", f"{i:02}-{'é' * 30}")
        for columns, rows in ((40, 8), (12, 5), (200, 24)):
            text = self.shown("-j", "12", columns=columns, rows=rows)
            for task in self.reconciler("task", "list", "--format", "ndjson").objects:
                self.reconciler("task", "set", "--force", task["id"], "READY")
            drawn = re.split("\033\\[[0-9]+A\033\\[J", text.split("\n", 1)[1])[:-1]
            self.assertGreater(len(drawn), 1)
            for lines in (re.sub("\033\\[[0-9]*m", "", drawing).splitlines() for drawing in drawn):
                self.assertLess(len(lines), rows, lines)
                for line in lines:
                    self.assertLess(sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line), columns, line)

    def test_a_dumb_terminal_gets_a_line_per_event(self):
        self.add_tasks("T1")
        text = self.shown(env={"TERM": "dumb"})
        self.assertNotIn("\033", text)
        self.assertIn("BATCH_TASK_STARTED T1", text)

    def test_colour_goes_by_where_standard_error_goes(self):
        self.add_tasks("T1", "T2", "T3")
        with open(self.path("err"), "wb") as err:
            harness.on_terminal(self, "run", "T1", "--", "true", stderr=err)
        self.assertNotIn(b"\033", self.path("err").read_bytes())
        for option, wanted in (("never", False), ("auto", True)):
            text = self.shown("--color", option)
            self.assertEqual("\033[36m" in text, wanted, text)
            self.reconciler("task", "set", "--force", "T2", "READY")

    def test_a_running_task_keeps_its_line(self):
        self.add_tasks("T1", "T2", "T3")
        text = self.shown("--color", "never", worker=("sh", "-c", "[ $REC_TASK_ID = T1 ] || sleep 0.4"))
        self.assertRegex(text, "  T2[^\n]*\n  T3")
        self.assertNotRegex(text, "  T3[^\n]*\n  T2")


class Operator(RunCase):
    """Ctrl-C, SIGTERM, stop, status, logs."""

    def both_running(self, *options, after="exit 0"):
        self.add_tasks("T1", "T2", "T3")
        batch = self.batch("-j", "2", *options, worker=self.holding("T1", "T2", after=after))
        return batch, self.started("T1"), self.started("T2")

    def drained(self, batch, status):
        self.open_gate("gate.T1")
        self.open_gate("gate.T2")
        batch.finish(status)
        self.assert_stored(T1="DONE", T2="DONE", T3="READY")
        self.assertEqual(self.status_json(batch.id)["status"], "CANCELLED")
        self.assert_sound()

    def test_one_sigint_starts_nothing_new_and_waits(self):
        batch, *_ = self.both_running()
        batch.signal(signal.SIGINT)
        self.drained(batch, 130)

    def test_a_second_sigint_stops_what_runs_and_gives_it_back(self):
        batch, first, second = self.both_running("--grace", "5s")
        batch.signal(signal.SIGINT)
        self.until(lambda: not is_pending(batch.pid, signal.SIGINT), "the first was heard")  # two at once are one
        batch.signal(signal.SIGINT)
        batch.finish(130)
        self.assert_stored(T1="READY", T2="READY", T3="READY")
        self.assertFalse(is_alive(first) or is_alive(second))
        self.assertEqual(self.status_json(batch.id)["status"], "CANCELLED")
        self.assert_sound()

    def test_sigterm_stops_what_runs_and_gives_it_back(self):
        batch, first, second = self.both_running()
        batch.signal(signal.SIGTERM)
        batch.finish(143)
        self.assert_stored(T1="READY", T2="READY", T3="READY")
        self.assertFalse(is_alive(first) or is_alive(second))
        self.assert_nothing_runs()
        self.assert_sound()

    def test_sighup_goes_on(self):
        batch, *_ = self.both_running()
        batch.signal(signal.SIGHUP)
        self.open_gate("gate.T1")
        self.open_gate("gate.T2")
        batch.finish()
        self.assert_stored(T1="DONE", T2="DONE", T3="DONE")

    def test_stop_acts_as_the_first_ctrl_c(self):
        batch, *_ = self.both_running()
        self.reconciler("stop", batch.id)
        self.drained(batch, 1)

    def test_b04_a_stopped_batch_is_never_running_again(self):
        batch, *_ = self.both_running()
        self.reconciler("stop", batch.id)
        self.open_gate("gate.T1")
        self.until_status("T1", "DONE")
        self.assertFalse(self.path("started.T3").exists())
        self.drained(batch, 1)
        self.reconciler("stop", batch.id, status=1)

    def test_stop_force_acts_as_the_second(self):
        batch, first, second = self.both_running()
        self.reconciler("stop", "--force", batch.id)
        batch.finish(1)
        self.assert_stored(T1="READY", T2="READY", T3="READY")
        self.assertFalse(is_alive(first) or is_alive(second))

    def test_a_stubborn_child_is_killed_after_the_grace(self):
        self.add_tasks("T1")
        worker = self.script("trap '' TERM; echo $$ > new; mv new started.T1; while :; do read x < never; done")
        self.gate("never")
        batch = self.batch("--grace", "200ms", worker=worker)
        child = self.started("T1")
        batch.signal(signal.SIGTERM)
        batch.finish(143)
        self.assertFalse(is_alive(child))
        self.assert_stored(T1="READY")

    def test_status_has_exactly_these_keys(self):
        batch, *_ = self.both_running()
        status = self.status_json(batch.id)
        self.assertEqual(list(status), ["batch_id", "status", "conductor", "counts", "reconciliation", "tasks"])
        self.assertEqual(list(status["counts"]), ["waiting", "queued", "running", "held", "done", "failed", "skipped"])
        self.assertEqual(list(status["reconciliation"]), ["skipped", "killed", "requeued", "errors"])
        self.assertEqual(list(status["tasks"][0]), ["task_id", "phase", "status", "attempt", "reason"])
        self.assertEqual((status["status"], status["conductor"]), ("RUNNING", "alive"))
        self.assertEqual({task["task_id"]: task["phase"] for task in status["tasks"]},
                         {"T1": "running", "T2": "running", "T3": "queued"})
        batch.signal(signal.SIGTERM)
        batch.finish(143)
        self.assertIsNone(self.status_json(batch.id)["conductor"])
        self.assertIn(batch.id, self.reconciler("status").out)

    def test_logs_of_an_attempt_and_following_it(self):
        self.add_tasks("T1")
        self.gate("go")
        worker = self.script('echo "attempt $REC_ATTEMPT"; [ $REC_ATTEMPT = 1 ] && exit 1; echo > started; read x < go; echo end')
        batch = self.batch("--retry", "1", "--retry-delay", "1ms", worker=worker)
        self.until_file("started")
        follower = self.start("logs", "T1", "-f")
        self.assertEqual(follower.line(), "attempt 2")
        self.assertEqual(self.reconciler("logs", "T1", "--attempt", "1").out, "attempt 1\n")
        self.open_gate("go")
        self.assertEqual(follower.finish()[0], "end\n")
        batch.finish()
        self.assertEqual(self.reconciler("logs", "T1").out, "attempt 2\nend\n")
        self.reconciler("logs", "T1", "--attempt", "7", status=1)
        self.reconciler("logs", "nothing", status=1)

    def test_detach_prints_the_id_and_the_batch_goes_on(self):
        self.add_tasks("T1")
        worker = self.holding("T1")
        done = self.reconciler("run", "--all-ready", "--detach", "--", worker)
        batch_id = done.out.strip()
        self.started("T1")
        self.assertEqual(self.status_json(batch_id)["conductor"], "alive")
        self.open_gate("gate.T1")
        self.until(lambda: self.status_json(batch_id)["status"] == "COMPLETED", "the batch has ended")
        self.assert_nothing_runs()

    def test_detach_says_what_is_wrong_before_it_goes(self):
        self.add_tasks("T1")
        self.assert_refused("run", "--all-ready", "--detach", "--", "no-such-command", words=["no-such-command"])

    def test_a_finished_batch_cannot_be_resumed_or_stopped(self):
        self.add_tasks("T1")
        done = self.run_batch()
        batch_id = done.err.splitlines()[0].removeprefix("batch ")
        self.assert_refused("resume", batch_id, status=1, words=["completed"])
        self.assert_refused("stop", batch_id, status=1, words=["ended"])
        self.assert_refused("status", "nothing", status=1, words=["not found"])

    def test_a_partial_batch_is_resumed_with_its_failed_tasks(self):
        self.add_tasks("T1", "T2")
        done = self.run_batch(worker=["sh", "-c", "echo $REC_TASK_ID >> journal; [ $REC_TASK_ID = T1 -o -e mended ]"], status=1)
        batch_id = done.err.splitlines()[0].removeprefix("batch ")
        self.write("mended", "")
        self.reconciler("resume", batch_id)
        self.assert_stored(T1="DONE", T2="DONE")
        self.assertEqual(sorted(self.lines_of("journal")), ["T1", "T2", "T2"])

    def test_a_batch_of_nothing_is_complete(self):
        self.assertIn("0 done", self.run_batch().out)


if __name__ == "__main__":
    unittest.main(verbosity=1)
