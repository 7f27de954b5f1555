"""init: makes, attaches, repeats; and the configuration file."""
import hashlib
import os

from harness import Case, main


class Init(Case):
    def test_makes_a_store_here_or_there(self):
        shown = self.reconciler("init")
        store = self.directory / ".reconciler" / "state.db"
        self.assertEqual(shown.out, f"made a new store: {store}\n")
        self.reconciler("init", "a/b/c")
        self.assertTrue((self.directory / "a/b/c/.reconciler/state.db").exists())
        self.assertEqual(self.reconciler("task", "list").out, "")

    def test_tells_whom_the_environment_leads_elsewhere(self):
        elsewhere = {"RECONCILER_STORE": "dir:elsewhere"}
        told = self.reconciler("init", env=elsewhere)
        self.assertIn("warning: ", told.err)
        self.assertIn('reconciler -S "$RECONCILER_STORE" init', told.err)
        self.assertEqual(self.reconciler("-S", "dir:elsewhere", "init", env=elsewhere).err, "")
        self.assertEqual(self.reconciler("init").err, "")
        self.assert_refused("task", "list", env={"RECONCILER_STORE": "x" * 70000}, words=["70000"])

    def test_is_idempotent(self):
        self.reconciler("init")
        self.add("x", "--id", "a")
        again = self.reconciler("init")
        self.assertTrue(again.out.startswith("already set up: "), again)
        self.assertEqual(self.status_of("a"), "READY")

    def test_attaches_to_a_codeframe_workspace(self):
        store = self.fixture("small")
        self.assertEqual(self.reconciler("init", "--json").json,
                         {"store": str(store), "result": "attached", "codeframe": True})
        self.assertEqual(sorted(os.listdir(self.directory)), [".codeframe"])
        self.assertEqual(self.reconciler("init", "--json").json["result"], "present")
        self.assertEqual(len(self.reconciler("task", "list", "--json").json), 25)

    def test_adds_only_what_begins_with_rec(self):
        store = self.fixture("small")
        rows = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'rec\\_%' ESCAPE '\\' AND " \
               "tbl_name NOT LIKE 'rec\\_%' ESCAPE '\\' ORDER BY name"
        connection = self.sqlite(store)
        before = connection.execute(rows).fetchall()
        self.reconciler("init")
        self.assertEqual(connection.execute(rows).fetchall(), before)
        self.assertEqual(connection.execute("PRAGMA user_version").fetchone()[0], 5)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")

    def test_at_a_named_place(self):
        self.reconciler("-S", "sqlite:named.db", "init")
        self.reconciler("-S", "named.db", "task", "add", "x")
        self.assertEqual(len(self.reconciler("-S", "sqlite:named.db", "task", "list").lines), 2)

    def test_places_where_nothing_can_be_made(self):
        self.write("file", "a text")
        self.assert_refused("init", "file", words=["file"])
        self.assert_refused("-S", "sqlite:file/state.db", "init", words=["file"])
        self.assert_refused("-S", "file", "init", words=["file"])
        self.assertEqual((self.directory / "file").read_text(), "a text")

    def test_an_interrupted_start_leaves_nothing_that_looks_like_a_store(self):
        (self.directory / ".reconciler").mkdir()
        self.assertTrue(self.reconciler("init").out.startswith("made a new store: "))
        self.assertEqual(self.reconciler("check").out, "0 tasks\n")


class Configuration(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()
        self.file = self.store.parent / "reconciler.conf"

    def test_a_good_one_is_silent(self):
        self.file.write_text("[run]\nmax-parallel = 8\n[worker]\ncommand = ./work 'a ; b'\n")
        self.assertEqual(self.reconciler("check").err, "")

    def test_mistakes_name_file_and_line(self):
        for text, words in (("[run]\nmax-paralel = 8\n", ["line 2", "max-paralel"]),
                            ("[rum]\nx = 8\n", ["line 2", "rum"]), ("\n\n[run\n", ["line 3"]),
                            ("[run]\nsettle = soon\n", ["line 2", "settle"])):
            self.file.write_text(text)
            self.assert_refused("check", words=[str(self.file), *words])

    def test_the_users_is_read_too(self):
        folder = self.directory / "home/.config/reconciler"
        folder.mkdir(parents=True)
        (folder / "reconciler.conf").write_text("[bogus]\na = b\n")
        self.assert_refused("check", words=[str(folder / "reconciler.conf"), "line 2"])
        other = self.directory / "xdg" / "reconciler"
        other.mkdir(parents=True)
        self.reconciler("check", env={"XDG_CONFIG_HOME": str(other.parent)})
        (other / "reconciler.conf").write_text("nonsense\n")
        self.assert_refused("check", words=["xdg/reconciler/reconciler.conf", "line 1"],
                     env={"XDG_CONFIG_HOME": str(other.parent)})

    def test_one_that_is_a_directory(self):
        self.file.mkdir()
        self.assert_refused("check", words=[str(self.file)])

    def test_what_needs_no_store_needs_no_configuration(self):
        self.file.write_text("broken\n")
        for words in (["--help"], ["policy"], ["completion", "bash"], ["--version"]):
            self.assertNotEqual(self.reconciler(*words).out, "")


class Untouched(Case):
    def test_reading_commands_do_not_touch_a_store_of_ours_either(self):
        store = self.init()
        self.add("x", "--id", "a", "--status", "DONE")
        os.utime(store, (1767225600, 1767225600))
        digest = hashlib.sha256(store.read_bytes()).hexdigest()
        for words in (["check"], ["task", "list"], ["task", "show", "a"], ["events"], ["doctor"], ["events", "verify"],
                      ["apply", "--dry-run"]):
            self.reconciler(*words)
        self.assertEqual(hashlib.sha256(store.read_bytes()).hexdigest(), digest)


if __name__ == "__main__":
    main()
