"""The command line as such: help on every level, options in every form, mistakes, exit statuses."""
import re

from harness import Case, main

COMMAND = re.compile(r"^  ([a-z]+)\s", re.M)
OPTION = re.compile(r"^  (?:(-\w)(?:, | ))?\s*(--[a-z-]+)?", re.M)
LATER = ["serve"]


def section(text, heading):
    """The indented lines below a heading."""
    match = re.search(rf"^{heading}:\n((?:  .*\n)+)", text, re.M)
    return match.group(1) if match else ""


class Help(Case):
    def paths(self, *path):
        """Every command there is, by reading the help."""
        text = self.reconciler(*path, "--help").out
        yield path, text
        for name in COMMAND.findall(section(text, "Commands")):
            yield from self.paths(*path, name)

    def test_every_level_has_help_with_every_option(self):
        seen = {}
        for path, text in self.paths():
            seen[path] = text
            self.assertTrue(text.startswith(f"usage: reconciler{''.join(' ' + word for word in path)}"), text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80, path)
            for option in ("-C", "--store", "--format", "--json", "--color", "--quiet", "--verbose", "--help",
                           "--version"):
                self.assertIn(option, text, path)
        self.assertEqual(len(seen), 38)
        wanted = {
            ("init",): [], ("check",): ["--batch-state", "--batch"],
            ("apply",): ["--batch-state", "--batch", "--dry-run"], ("watch",): ["--batch-state", "--batch", "--apply"],
            ("task", "add"): ["--id", "--description", "--status", "--priority", "--depends-on", "--parent",
                              "--issue"],
            ("task", "edit"): ["--title", "--description", "--priority", "--depends-on", "--parent", "--issue"],
            ("task", "import"): ["--ignore-unknown"], ("task", "list"): ["--status", "--limit"],
            ("task", "set"): ["--force"], ("task", "retry"): ["--failed"], ("blocker", "add"): ["--by"],
            ("blocker", "list"): ["--open"], ("events",): ["--since", "-f"], ("gc",): ["--older-than", "--dry-run"],
            ("run",): ["--all-ready", "--max-parallel", "--reconcile-interval", "--on-failure", "--retry",
                       "--retry-delay", "--timeout", "--stall-timeout", "--settle", "--grace", "--wait",
                       "--ignore-blockers", "--close-issues", "--child-owns-run", "--dry-run", "--detach", "--workdir", "--env",
                       "--log-limit", "--on-end"],
            ("sync",): ["--dry-run"], ("link",): [], ("unlink",): [],
            ("tracker", "test"): ["--url", "--timeout"], ("resume",): [], ("stop",): ["--force"], ("status",): [], ("wait",): [], ("heartbeat",): [],
            ("logs",): ["--attempt", "--follow"],
        }
        for path, options in wanted.items():
            for option in options:
                self.assertIn(option, section(seen[path], "Options"), path)

    def test_every_option_has_an_explanation(self):
        for path, text in self.paths():
            for line in re.findall(r"^  +(?:-\w, )?--?[a-zA-Z][^\n]*(?:\n {30}[^\n]*)?", text, re.M):
                self.assertRegex(line, r"\s{2,}\w.*\S|\n {30}\S", f"{path}: {line}")

    def test_help_beats_missing_words(self):
        self.assertIn("TITLE", self.reconciler("task", "add", "-h").out)

    def test_version(self):
        self.assertRegex(self.reconciler("--version").out, r"^reconciler \d+\.\d+\.\d+\n$")
        self.assertRegex(self.reconciler("task", "list", "--version").out, r"^reconciler ")


class Mistakes(Case):
    def test_no_command(self):
        self.assert_refused(words=["a command is missing", "reconciler --help"])
        self.assert_refused("task", words=["task: a command is missing", "reconciler task --help"])

    def test_unknown_commands(self):
        self.assert_refused("chekc", words=["chekc", "did you mean check?"])
        self.assert_refused("task", "lst", words=["lst", "reconciler task", "did you mean list?"])
        self.assert_refused("xyzzy", words=["xyzzy", "reconciler --help"])

    def test_commands_of_later_versions_are_not_accepted(self):
        for name in LATER:
            self.assert_refused(name, words=[name])
        self.assert_refused("watch", "trackers", words=["in this version"])

    def test_unknown_options(self):
        self.assert_refused("check", "--batch-stat", "x", words=["--batch-stat", "did you mean --batch-state?"])
        self.assert_refused("--formt", "json", "check", words=["did you mean --format?"])
        self.assert_refused("check", "-Z", words=["-Z", "reconciler check --help"])
        self.assert_refused("check", "--force", words=["--force: no such option of reconciler check"])

    def test_values(self):
        self.assert_refused("check", "--format", "xml", words=["--format", "xml", "table, json, ndjson"])
        self.assert_refused("check", "--color=sometimes", words=["auto, always, never"])
        self.assert_refused("check", "--store", words=["--store: its value is missing"])
        self.assert_refused("check", "--json=yes", words=["--json: takes no value"])
        self.assert_refused("task", "list", "--status", "Ready", words=["Ready", "BACKLOG, READY"])
        self.assert_refused("task", "list", "--limit", "-1", words=["--limit", "-1", "0 or more"])
        self.assert_refused("gc", "--older-than", "yesterday", words=["yesterday", "duration"])
        self.assert_refused("events", "--since", "now", words=["--since", "now"])

    def test_too_many_words(self):
        self.assert_refused("policy", "x", words=["policy: unexpected argument 'x'"])
        self.assert_refused("task", "show", "a", "b", words=["task show: unexpected argument 'b'"])
        self.assert_refused("init", "a", "b", words=["unexpected argument 'b'"])

    def test_contradictions(self):
        self.assert_refused("check", "--batch", "x", "--batch-state", "y", words=["--batch", "one of them"])
        self.assert_refused("-S", "x.db", "init", "dir", words=["DIR", "--store"])
        self.assert_refused("task", "retry", words=["either ids or --failed"])
        self.assert_refused("task", "retry", "x", "--failed", words=["either ids or --failed"])
        self.assert_refused("watch", "--json", words=["watch", "table or ndjson"])
        self.assert_refused("events", "-f", "--json", words=["table or ndjson"])
        self.assert_refused("task", "export", "--format", "table", words=["json or ndjson"])

    def test_control_characters_do_not_reach_the_terminal(self):
        result = self.assert_refused("che\033[31mck\n")
        self.assertNotIn("\033", result.err)

    def test_a_directory_that_is_not_there(self):
        self.assert_refused("-C", "nowhere", "check", words=["-C nowhere", "No such file"])


class GlobalOptions(Case):
    def test_stand_before_or_after_the_command(self):
        self.init()
        task_id = self.add("one")
        for words in (["--format", "ndjson", "task", "list"], ["task", "--format", "ndjson", "list"],
                      ["task", "list", "--format=ndjson"]):
            self.assertEqual(self.reconciler(*words).objects[0]["id"], task_id)

    def test_json_is_format_json(self):
        self.init()
        self.assertEqual(self.reconciler("task", "list", "--json").json, [])
        self.assertEqual(self.reconciler("task", "list", "--format", "json").json, [])

    def test_c_changes_the_directory_first(self):
        (self.directory / "below" / "deep").mkdir(parents=True)
        self.reconciler("-C", "below", "init")
        self.assertTrue((self.directory / "below/.reconciler/state.db").exists())
        self.reconciler("-C", "below/deep", "task", "list")
        self.reconciler("-C", "below", "-S", ".reconciler/state.db", "task", "list")

    def test_the_store_is_found_above_or_named(self):
        store = self.init()
        task_id = self.add("one")
        (self.directory / "a" / "b").mkdir(parents=True)
        below = self.directory / "a" / "b"
        elsewhere = {"cwd": "/", "env": {"RECONCILER_STORE": str(store)}}
        self.assertIn(task_id, self.reconciler("task", "list", cwd=below).out)
        self.assertIn(task_id, self.reconciler("task", "list", **elsewhere).out)
        for uri in (f"sqlite:{store}", str(store), str(self.directory)):
            self.assertIn(task_id, self.reconciler("task", "list", "-S", uri, cwd="/").out)

    def test_the_option_beats_the_environment_and_that_beats_the_search(self):
        self.init()
        for name in ("other", "third"):
            self.reconciler("init", name)
        self.reconciler("-S", "other", "task", "add", "in other")
        self.reconciler("-S", "third", "task", "add", "in third")
        environment = {"RECONCILER_STORE": "other"}
        self.assertIn("in other", self.reconciler("task", "list", env=environment).out)
        self.assertIn("in third", self.reconciler("-S", "third", "task", "list", env=environment).out)
        self.assertEqual(self.reconciler("task", "list", env={"RECONCILER_STORE": ""}).out, "")

    def test_reconciler_stores_come_before_codeframe_ones(self):
        self.fixture("small")
        self.assertIn("Write the README", self.reconciler("task", "list").out)
        self.reconciler("-S", "sqlite:x.db", "init")
        (self.directory / ".reconciler").mkdir()
        (self.directory / "x.db").rename(self.directory / ".reconciler/state.db")
        self.assertEqual(self.reconciler("task", "list").out, "")

    def test_no_store_at_all(self):
        self.assert_refused("check", words=["no task store here", "reconciler init", "--store"])

    def test_verbose_says_which_store(self):
        store = self.init()
        self.assertIn(str(store), self.reconciler("-v", "task", "list").err)
        self.assertEqual(self.reconciler("task", "list").err, "")

    def test_a_later_option_wins(self):
        self.init()
        self.assertEqual(self.reconciler("task", "list", "--format", "ndjson", "--format", "json").json, [])


class Words(Case):
    def test_ids_after_two_dashes(self):
        self.init()
        for name in ("-x", "tasks", "--", "blockers", "verify"):
            self.reconciler("task", "add", "title", "--id", name)
        self.assertEqual(self.reconciler("task", "show", "--json", "--", "-x").json["id"], "-x")
        self.assertEqual(self.reconciler("task", "show", "--json", "--", "--").json["id"], "--")
        checked = self.reconciler("check", "--format", "ndjson", "--", "tasks", "-x", "blockers").objects
        self.assertEqual([one["task_id"] for one in checked], ["tasks", "-x", "blockers"])
        checked = self.reconciler("check", "tasks", "tasks", "--format", "ndjson").objects
        self.assertEqual([one["task_id"] for one in checked], ["tasks"])
        self.reconciler("task", "set", "--", "-x", "IN_PROGRESS")
        self.assertEqual(self.status_of("tasks"), "READY")

    def test_a_title_that_looks_like_an_option(self):
        self.init()
        task_id = self.reconciler("task", "add", "--", "--title").out.strip()
        self.assertEqual(self.reconciler("task", "show", task_id, "--json").json["title"], "--title")


if __name__ == "__main__":
    main()
