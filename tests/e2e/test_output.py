"""Standard output: full disks, readers that go away, closed descriptors, terminals, colours."""
import itertools
import os
import re
import subprocess

from harness import RECONCILER, STATUSES, Case, main, on_terminal

ESCAPE = re.compile(r"\033\[[0-9;]*m")


class Streams(Case):
    def setUp(self):
        super().setUp()
        self.init()
        self.add("The title", "--id", "a")

    COMMANDS = (["check"], ["check", "--json"], ["check", "--format", "ndjson"], ["task", "list"], ["task", "export"],
                ["task", "show", "a"], ["policy"], ["events"], ["--help"], ["--version"], ["completion", "fish"],
                ["blocker", "list", "--json"], ["doctor"])

    def test_a_full_disk_is_an_error(self):
        for words in self.COMMANDS:
            with open("/dev/full", "wb") as full:
                done = subprocess.run(**self.command(words, stdout=full, stderr=subprocess.PIPE, check=False))
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (2, "reconciler: standard output: No space left on device\n"), words)

    def test_a_watch_notices_a_full_disk(self):
        self.reconciler("task", "set", "a", "DONE", "--force")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(**self.command(["watch"], stdout=full, stderr=subprocess.PIPE, check=False,
                                                 timeout=30))
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (2, "reconciler: standard output: No space left on device\n"))

    def test_a_closed_standard_output_is_an_error(self):
        for words in self.COMMANDS:
            done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', *self.command(words)["args"]], check=False,
                                  cwd=self.directory, env=self.environment, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (2, "reconciler: standard output: Bad file descriptor\n"), words)

    def test_a_closed_standard_input_is_an_error_where_it_is_read(self):
        for words in (["watch", "--batch-state", "-"], ["check", "--batch-state", "-"], ["task", "import", "-"]):
            done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', RECONCILER, *words], check=False, timeout=30,
                                  cwd=self.directory, env=self.environment, capture_output=True)
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (2, "reconciler: standard input: Bad file descriptor\n"), words)

    def test_every_descriptor_closed_still_leaves_the_store_sound(self):
        for words in (["task", "add", "y", "--id", "b"], ["check"], ["task", "import", "-"]):
            done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *self.command(words)["args"]],
                                  check=False, cwd=self.directory, env=self.environment)
            self.assertEqual(done.returncode, 2, words)
        self.assertEqual(self.status_of("b"), "READY")
        self.reconciler("doctor")

    def test_a_reader_that_has_seen_enough(self):
        for words in (["task", "list"], ["policy"], ["completion", "zsh"], ["--help"]):
            reading, writing = os.pipe()
            os.close(reading)
            done = subprocess.run(**self.command(words, stdout=writing, stderr=subprocess.PIPE, check=False))
            os.close(writing)
            self.assertEqual((done.returncode, done.stderr), (141, b""), words)

    def test_head(self):
        text = "".join(f'{{"id":"{number:06}","title":"Task"}}\n' for number in range(50_000))
        self.reconciler("task", "import", "-", stdin=text)
        for words in ("task list", "task export", "check --format ndjson", "check --json"):
            done = subprocess.run(["bash", "-c", f'set -o pipefail; "{RECONCILER}" {words} | head -c 1'],
                                  cwd=self.directory, env=self.environment, capture_output=True, check=False)
            self.assertEqual((done.returncode, len(done.stdout), done.stderr), (141, 1, b""), words)

    def test_a_slow_reader_gets_everything(self):
        text = "".join(f'{{"id":"{number:06}","title":"Task"}}\n' for number in range(20_000))
        self.reconciler("task", "import", "-", stdin=text)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        process = subprocess.Popen(**self.command(["task", "list", "--format", "ndjson"], stdout=writing))
        os.close(writing)
        with open(reading, "rb") as stream:
            lines = sum(1 for _ in stream)
        self.assertEqual((process.wait(), lines), (0, 20_001))


class Terminals(Case):
    def setUp(self):
        super().setUp()
        self.init()
        for status in STATUSES:
            self.add(f"A task that is {status} and has a title which is rather long for a narrow terminal", "--status",
                     status)

    def test_colours_on_a_terminal_only(self):
        for words in (["task", "list"], ["check"], ["policy"], ["events"], ["--help"]):
            self.assertNotIn("\033", self.reconciler(*words).out)
            self.assertIn("\033[", on_terminal(self, *words)[1], words)

    def test_who_wants_none_gets_none(self):
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            self.assertNotIn("\033", on_terminal(self, "task", "list", env=env)[1])
        self.assertNotIn("\033", on_terminal(self, "task", "list", "--color", "never")[1])
        self.assertIn("\033[", on_terminal(self, "task", "list", env={"NO_COLOR": ""})[1])
        self.assertIn("\033[", on_terminal(self, "task", "list", "--color=always", env={"NO_COLOR": "1"})[1])
        self.assertIn("\033[", self.reconciler("task", "list", "--color", "always").out)
        self.assertNotIn("\033", on_terminal(self, "task", "list", "--json")[1])

    def test_lines_fit_the_terminal(self):
        for columns, words in itertools.product((60, 80, 100, 200), (["task", "list"], ["check"], ["events"])):
            if (columns, words) != (60, ["events"]):  # the name of an event and its time are never cut
                for line in ESCAPE.sub("", on_terminal(self, *words, columns=columns)[1]).splitlines():
                    self.assertLessEqual(len(line), columns, (words, line))
        wide = on_terminal(self, "task", "list", columns=60, env={"COLUMNS": "200"})[1]
        self.assertIn("narrow terminal", wide)

    def test_nothing_is_cut_elsewhere(self):
        self.assertEqual(self.reconciler("task", "list", env={"COLUMNS": "20"}).out.count("narrow terminal"), 7)

    def test_the_decision_table_is_aligned_on_a_terminal(self):
        shown = ESCAPE.sub("", on_terminal(self, "policy")[1]).splitlines()
        self.assertEqual(len(shown), 57)
        self.assertNotIn("\t", "".join(shown))
        self.assertEqual(shown[0], "stored       believed     action   discrepancy  reason")

    def test_bytes_from_the_store_cannot_drive_the_terminal(self):
        self.add("evil \033]0;title\007\033[2J\r\n", "--id", "evil")
        self.reconciler("blocker", "add", "evil", "\033[31mquestion", "--by", "agent")
        for words in (["task", "list"], ["task", "show", "evil"], ["blocker", "list"]):
            shown = self.reconciler(*words, "--color=never").out
            self.assertNotIn("\033", shown)
            self.assertNotIn("\r", shown)
            self.assertIn("\\x1b[", shown)


if __name__ == "__main__":
    main()
