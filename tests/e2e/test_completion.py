"""Completion scripts: sound, complete, and asking the store for ids, in the shells that are installed."""
import os
import pty
import select
import shutil
import subprocess
import unittest

from harness import RECONCILER, STATUSES, Case, main

BASH = """
source ./script
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_reconciler
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(Case):
    def setUp(self):
        super().setUp()
        folder = self.directory / "bin"
        folder.mkdir()
        (folder / "reconciler").symlink_to(RECONCILER)
        self.environment["PATH"] = f"{folder}:{self.environment['PATH']}"
        self.init()
        for name in ("alpha", "alps", "with blank", "quote'd", 'dou"ble'):
            self.add("x", "--id", name)
        self.reconciler("init", "other")
        self.reconciler("-S", "other", "task", "add", "x", "--id", "omega")

    def script(self, shell, name="script"):
        return self.write(name, self.reconciler("completion", shell).out)

    def run_shell(self, *words):
        done = subprocess.run(words, cwd=self.directory, env=self.environment, capture_output=True, timeout=60,
                              check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_an_unknown_shell(self):
        self.assert_refused("completion", "tcsh", words=["tcsh", "bash, zsh, fish"])
        self.assert_refused("completion", words=["bash|zsh|fish is missing"])


@unittest.skipUnless(shutil.which("bash"), "no bash here")
class Bash(Completion):
    def complete(self, *words):
        return self.run_shell("bash", "-c", BASH, "bash", "reconciler", *words)

    def setUp(self):
        super().setUp()
        self.script("bash")

    def test_syntax(self):
        self.run_shell("bash", "-n", "script")

    def test_commands_and_options(self):
        self.assertEqual(self.complete("ch"), ["check"])
        self.assertEqual(self.complete("task", "ex"), ["export"])
        self.assertEqual(sorted(self.complete("check", "--batch")), ["--batch", "--batch-state"])
        self.assertEqual(self.complete("events", "--fo"), ["--follow", "--format"])
        self.assertEqual(self.complete("-C", ".", "-q", "task", "sh"), ["show"])
        self.assertEqual(self.complete("events", ""), ["verify"])

    def test_values(self):
        self.assertEqual(self.complete("--format", "n"), ["ndjson"])
        self.assertEqual(self.complete("check", "--format", "="), ["table", "json", "ndjson"])
        self.assertEqual(self.complete("check", "--format", "=", "j"), ["json"])
        self.assertEqual(self.complete("task", "set", "alpha", ""), STATUSES)
        self.assertEqual(self.complete("init", "bi"), ["bin"])
        self.assertEqual(self.complete("task", "import", "scr"), ["script"])

    def test_ids_of_the_store(self):
        self.assertEqual(self.complete("task", "show", "al"), ["alpha", "alps"])
        self.assertEqual(self.complete("task", "show", "w"), ["with\\ blank"])
        self.assertEqual(self.complete("check", "t"), ["tasks", "trackers"])
        self.assertEqual(self.complete("watch", "t"), ["tasks"])
        self.assertIn("alps", self.complete("check", ""))
        self.assertIn("alps", self.complete("check", "tasks", "alpha", ""))
        self.assertIn("alps", self.complete("check", "--", "al"))
        blocker = self.reconciler("blocker", "add", "alpha", "?").out.strip()
        self.assertEqual(self.complete("blocker", "answer", ""), [blocker])

    def test_ids_of_another_store_or_none(self):
        self.assertEqual(self.complete("-S", "other", "task", "show", ""), ["omega"])
        self.assertEqual(self.complete("-C", "other", "task", "show", ""), ["omega"])
        self.assertEqual(self.complete("-S", "nowhere", "task", "show", ""), [""])


@unittest.skipUnless(shutil.which("fish"), "no fish here")
class Fish(Completion):
    def complete(self, line):
        self.environment["line"] = line
        shown = self.run_shell("fish", "-c", "source ./script; complete -C $line")
        return sorted(one.split("\t")[0] for one in shown)

    def setUp(self):
        super().setUp()
        self.script("fish")

    def test_syntax(self):
        self.run_shell("fish", "-n", "script")

    def test_everything(self):
        self.assertEqual(len(self.complete("reconciler ")), 22)
        self.assertEqual(self.complete("reconciler task ex"), ["export"])
        self.assertEqual(self.complete("reconciler check --batch"), ["--batch", "--batch-state"])
        self.assertEqual(self.complete("reconciler --format n"), ["ndjson"])
        self.assertEqual(self.complete("reconciler -C . task set alpha "), sorted(STATUSES))
        self.assertEqual(self.complete("reconciler task show al"), ["alpha", "alps"])
        self.assertEqual(self.complete("reconciler task show --json al"), ["alpha", "alps"])
        self.assertIn("tasks", self.complete("reconciler check "))
        self.assertIn("alps", self.complete("reconciler check "))
        self.assertNotIn("tasks", self.complete("reconciler check tasks "))
        self.assertEqual(self.complete("reconciler events "), ["verify"])
        self.assertEqual(self.complete("reconciler -S other task show "), ["omega"])
        self.assertEqual(self.complete("reconciler -C other task show "), ["omega"])
        self.assertEqual(self.complete("reconciler task import scr"), ["script"])

    def test_descriptions(self):
        self.environment["line"] = "reconciler ini"
        self.assertEqual(self.run_shell("fish", "-c", "source ./script; complete -C $line"),
                         ["init\tmake a store, or attach to a codeframe workspace"])


@unittest.skipUnless(shutil.which("zsh"), "no zsh here")
class Zsh(Completion):
    def test_syntax(self):
        self.script("zsh", "_reconciler")
        self.run_shell("zsh", "-n", "_reconciler")

    SETUP = """
PS1= LISTMAX=0
fpath=($PWD $fpath)
autoload -U compinit
compinit -u -D
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
		builtin compadd "$@"
		return
	fi
	local -a offered
	builtin compadd -A offered "$@"
	print -rl -- $offered >> offered
	builtin compadd "$@"
}
tell() { print -r -- @@OFFERED }
list() { comppostfuncs=(tell); _main_complete }
zle -C list list-choices list
bindkey '^I' list
"""

    def shell(self):
        """A real zsh on a pseudo terminal; gives (write a line, wait for a mark, end)."""
        self.write("setup", self.SETUP)
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(self.environment, TERM="dumb"))

        def until(mark):
            text = b""
            while mark not in text:
                if not select.select([terminal], [], [], 30)[0]:
                    self.fail(f"zsh is silent after {text!r}")
                text += os.read(terminal, 65536)

        def end():
            os.write(terminal, b"\x15exit\n")
            try:
                while os.read(terminal, 65536):
                    pass
            except OSError:  # the other side is closed
                os.close(terminal)
            os.waitpid(pid, 0)

        return lambda text: os.write(terminal, text.encode()), until, end

    def complete(self, lines):
        """For each line the words that reach zsh's compadd when it completes there."""
        write, until, end = self.shell()
        write("source ./setup; print @@REA''DY\n")
        until(b"@@READY")
        for line in lines:
            self.write("offered", "")
            write(f"\x15{line}\t")
            until(b"@@OFFERED")
            yield (self.directory / "offered").read_text(encoding="utf-8").splitlines()
        end()

    def test_everything(self):
        self.script("zsh", "_reconciler")
        wanted = {
            "reconciler ": ["init", "check", "completion"], "reconciler task ": ["add", "export", "show"],
            "reconciler --format ": ["ndjson", "table"], "reconciler task set alpha ": STATUSES,
            "reconciler check --b": ["--batch-state"], "reconciler task show al": ["alpha", "alps"],
            "reconciler check ": ["tasks", "alps"], "reconciler events ": ["verify"],
            "reconciler -C bin/.. task show al": ["alps"], "reconciler -C other task show o": ["omega"],
            "reconciler -S other task show o": ["omega"], "reconciler --store=other task show o": ["omega"],
        }
        for (line, words), offered in zip(wanted.items(), self.complete(wanted)):
            for word in words:
                self.assertIn(word, offered, line)


if __name__ == "__main__":
    main()
