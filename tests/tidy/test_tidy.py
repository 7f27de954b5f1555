#!/usr/bin/env python3
"""Each rule of tidy.py is seen to fail on a bad sample, and to pass on the nearest good one."""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402
import symbols  # noqa: E402
import options  # noqa: E402
import tables  # noqa: E402
import links  # noqa: E402


def sample(path, body):
    """A source with the first line that the head rule wants."""
    head = f"/* {os.path.basename(path)} - a sample. */\n" if path.endswith((".c", ".h")) else ""
    return tidy.Source(path, head + body)


def build(folder, text):
    return tidy.Source(f"{folder}/meson.build", text)


def function(name, lines):
    return f"int {name}(void)\n{{\n" + "\tstep();\n" * (lines - 4) + "\treturn 0;\n}\n"


# Built from pieces, so that this file does not hold what it forbids.
PLACE = "/" + "tmp/"


class RuleTest(unittest.TestCase):
    def findings(self, *sources):
        return [(path, rule) for path, _, rule, _ in tidy.check(list(sources))]

    def only(self, path, body, *rules):
        folder, name = os.path.split(path)
        found = self.findings(sample(path, body), build(folder, f"'{name}'"))
        self.assertEqual(found, [(path, rule) for rule in rules])

    def test_a_function_of_71_lines_is_found_and_one_of_70_is_not(self):
        self.only("src/base/long.c", function("long_one", 71), "function-length")
        self.only("src/base/long.c", function("fits", 70))

    def test_the_length_of_a_function_is_counted_from_its_first_line(self):
        header = "static struct thing *\nlong_one(int first,\n\t\tint second)\n{\n"
        self.only("src/base/long.c", header + "\tstep();\n" * 65 + "}\n")
        self.only("src/base/long.c", header + "\tstep();\n" * 66 + "}\n", "function-length")

    def test_a_function_inside_extern_c_is_found_too(self):
        self.only("src/base/long.h", 'extern "C" {\n' + function("long_one", 71) + "}\n", "function-length")

    def test_a_long_table_is_not_a_function(self):
        self.only("src/base/table.c", "static const int table[] = {\n" + "\t1,\n" * 100 + "};\n")
        self.only("src/base/table.c", "enum names {\n" + "\tNAME,\n" * 100 + "};\n")

    def test_braces_in_strings_and_comments_do_not_count(self):
        body = 'static void f(void)\n{\n\tuse("}", \'{\'); /* { */ // {\n}\n' + function("long_one", 71)
        self.only("src/base/long.c", body, "function-length")

    def test_a_macro_of_71_lines_is_found(self):
        self.only("src/base/long.h", "#define LONG(x) \\\n" + "\tx \\\n" * 69 + "\tx\n", "function-length")

    def test_a_long_python_function_is_found(self):
        self.only("bench/long.py", "def long_one():\n" + "    step()\n" * 70, "function-length")
        self.only("bench/long.py", "def fits():\n" + "    step()\n" * 69)

    def test_a_file_of_601_lines_is_found(self):
        self.only("src/base/long.c", "int x(void);\n" * 600, "file-length")
        self.only("src/base/long.c", "int x(void);\n" * 599)

    def test_an_include_by_relative_path_is_found(self):
        self.only("src/core/a.c", '#include "../base/json.h"\n', "include")
        self.only("src/core/a.c", '#include "base/json.h"\n#include <stdio.h>\n')

    def test_an_upward_include_is_found(self):
        self.only("src/base/a.c", '#include "core/status.h"\n', "include")
        self.only("src/store/a.c", '# include "engine/check.h"\n', "include")
        self.only("src/engine/a.c", '#include "store/store.h"\n')

    def test_an_unknown_floor_is_found(self):
        self.only("src/cellar/a.c", "", "floor")

    def test_a_program_on_libc_alone_sees_no_floor_and_is_not_seen(self):
        self.only("src/shim/a.c", '#include "base/json.h"\n', "include")
        self.only("src/base/a.c", '#include "shim/record.h"\n', "include")
        self.only("src/shim/a.c", '#include "shim/record.h"\nvoid f(void)\n{\n\tfree(p);\n\t_exit(1);\n}\n')
        self.only("src/shim/a.c", "void f(void)\n{\n\tstrcpy(a, b);\n}\n", "call")

    def test_the_backend_header_is_for_the_store_floor(self):
        self.only("src/engine/a.c", '#include "store/backend.h"\n', "include")
        self.only("src/store/a.c", '#include "store/backend.h"\n')
        self.only("src/engine/test-world.h", '#include "store/backend.h"\n')

    def test_memory_calls_are_found_outside_memory_c(self):
        for call in ("malloc(1)", "free(p)", "realloc(p, 2)", "calloc(1, 2)", "strdup(t)", "strndup (t, 1)"):
            self.only("src/base/a.c", f"void f(void)\n{{\n\t{call};\n}}\n", "call")
        self.only("src/base/memory.c", "void f(void)\n{\n\tfree(p);\n}\n")
        self.only("src/base/a.c", "void f(void)\n{\n\trec_free(a, p);\n\ta->free(p);\n\tops.malloc(1);\n}\n")

    def test_unbounded_calls_are_found_in_tests_too(self):
        for call in ("sprintf(t, f)", "strcpy(a, b)", "strcat(a, b)", "gets(t)", "atoi(t)", "system(t)", "popen(t, m)"):
            self.only("tests/e2e/a.c", f"void f(void)\n{{\n\t{call};\n}}\n", "call")
        self.only("tests/e2e/a.c", "void f(void)\n{\n\tsnprintf(t, 1, f);\n}\n")

    def test_a_banned_call_in_a_comment_or_a_string_is_none(self):
        self.only("src/base/a.c", '/* malloc(1) */\nconst char *t = "free(p)";\n')

    def test_printing_is_for_the_command(self):
        for call in ("printf(t)", "fprintf(stderr, t)", "puts(t)", "fputs(t, f)"):
            self.only("src/engine/a.c", f"void f(void)\n{{\n\t{call};\n}}\n", "call")
            self.only("src/cli/a.c", f"void f(void)\n{{\n\t{call};\n}}\n")
        self.only("src/engine/a.h", 'int p(const char *, ...) __attribute__((format(printf, 1, 2)));\n')

    def test_only_sqlite_opens_files_on_the_store_floor(self):
        for call in ("open(p, 0)", "fopen(p, m)", "openat(d, p, 0)", "rec_file_read(p, 1, b, e)"):
            self.only("src/store/sqlite-open.c", f"void f(void)\n{{\n\t{call};\n}}\n", "call")
        self.only("src/store/sqlite-open.c", "void f(void)\n{\n\tsqlite3_open_v2(p, d, 0, 0);\n}\n")
        self.only("src/engine/a.c", "void f(void)\n{\n\topen(p, 0);\n}\n", "call")

    def test_the_library_leaves_the_process_alone(self):
        for call in ("exit(1)", "abort()", "fork()", "signal(1, f)"):
            self.only("src/lib/a.c", f"void f(void)\n{{\n\t{call};\n}}\n", "call")

    def test_unfinished_marks_are_found(self):
        for mark in ("TO" + "DO", "FIX" + "ME", "X" + "XX"):
            self.only("src/base/a.c", f"/* {mark}: later */\n", "mark")
            self.only("docs/a.md", f"{mark}: later\n", "mark")
        self.only("src/base/a.c", 'const char *t = "name-' + "X" * 6 + '";\n')

    def test_paths_of_one_machine_are_found(self):
        self.only("docs/a.md", f"see {PLACE}thing\n", "machine-path")
        self.only("docs/a.md", "see /" + "home/somebody/thing\n", "machine-path")
        self.only("src/base/test-a.c", 'char folder[] = "' + PLACE + "rec-XXX" + 'XXX";\n', "assertion")
        self.only("docs/a.md", "see $HOME/root/thing and src/root/thing\n")

    def test_a_file_without_its_purpose_is_found(self):
        found = self.findings(tidy.Source("src/base/a.c", "#include <x.h>\n"), build("src/base", "'a.c'"))
        self.assertEqual(found, [("src/base/a.c", "head")])

    def test_a_c_test_without_assertion_is_found(self):
        good = "static void test_a__b(void **state)\n{\n\tassert_int_equal(1, 1);\n}\n"
        bad = "static void test_a__c(void **state)\n{\n\tstep();\n}\n"
        self.only("src/base/test-a.c", good)
        self.only("src/base/test-a.c", good + bad, "assertion")

    def test_a_c_test_may_assert_through_helpers(self):
        helper = "void expect_row(int x)\n{\n\tassert_int_equal(x, 1);\n}\nvoid twice(void)\n{\n\texpect_row(1);\n}\n"
        found = self.findings(sample("tests/contract/helper.c", helper),
                              sample("tests/contract/test-a.c", "static void test_a(void **s)\n{\n\ttwice();\n}\n"),
                              build("tests/contract", "'helper.c', 'test-a.c'"))
        self.assertEqual(found, [])

    def test_a_python_test_without_assertion_is_found(self):
        good = "class A:\n    def test_a(self):\n        self.assertTrue(1)\n"
        self.only("tests/e2e/test_a.py", good)
        self.only("tests/e2e/test_a.py", good + "    def test_b(self):\n        self.step()\n", "assertion")
        self.only("tests/e2e/test_a.py", "x = 1\n", "assertion")
        self.only("tests/e2e/test_a.py", "def test_c():\n    x = 1\n    assert x\n")

    def test_a_source_that_no_build_names_is_found(self):
        found = self.findings(sample("src/base/lost.c", ""), build("src/base", "files('other-lost.c')"))
        self.assertEqual(found, [("src/base/lost.c", "dead-file")])
        for text in ("files('lost-x.c', 'a.c')", "['lost-x']", "foreach name : ['x']\n 'lost-' + name + '.c'"):
            self.assertEqual(self.findings(sample("src/base/lost-x.c", ""), build("src/base", text)), [], text)

    def test_the_tree_walk_leaves_out_data_and_build_folders(self):
        paths = [source.path for source in tidy.read_tree(os.path.join(os.path.dirname(__file__), "../.."))]
        self.assertIn("src/base/memory.c", paths)
        self.assertIn("scripts/install-deps", paths)
        self.assertFalse([path for path in paths if path.startswith(("build", "tests/data", ".git/"))])


class SymbolTest(unittest.TestCase):
    LINE = "Symbols from a.a[a.o]:\n{name}|0000000000000000|{kind}|OBJECT|0000000000000004|     |{section}\n"

    def found(self, section, kind="b"):
        return symbols.writable(self.LINE.format(name="counter", kind=f"   {kind}  ", section=section))

    def test_writable_data_is_found(self):
        for section in (".data", ".bss", ".data.rel", ".data.rel.local", ".bss.counter", ".tbss", ".tdata", "*COM*"):
            self.assertEqual(self.found(section), [("counter", section)], section)

    def test_constant_data_and_code_are_not(self):
        for section in (".rodata", ".data.rel.ro", ".data.rel.ro.local", ".text", "*UND*", ".rodata.str1.1"):
            self.assertEqual(self.found(section), [], section)

    def test_text_that_is_not_from_nm_is_refused(self):
        with self.assertRaises(ValueError):
            symbols.writable("nm: no such file\n")


class LinkTest(unittest.TestCase):
    def test_what_is_not_there_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/core").mkdir(parents=True)
            (root / "src/core/test-a.c").write_text("")
            (root / "README.md").write_text("[a](src/core/test-a.c) [b](docs/b.md#c) [d](https://e.example/f)\n"
                                            "`src/core`, `src/FLOOR/test-NAME.c`, src/core/lost.c.\n")
            self.assertEqual(links.missing(root, root / "README.md"), ["docs/b.md", "src/core/lost.c"])

    def test_a_test_that_is_not_there_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tests/e2e").mkdir(parents=True)
            (root / "tests/e2e/test_x.py").write_text("    def test_there(self):\n")
            (root / "tests/README.md").write_text("| a | `test_there`, `test_lost` |\n")
            self.assertEqual(links.missing(root, root / "tests/README.md"), ["test_lost"])


class OptionTest(unittest.TestCase):
    HELP = ("usage: reconciler [-C DIR] thing\n\n  -C DIR         there\n  -q, --quiet    less, not as --loud\n"
            "      --format FORM  table or json --no\n                 --nor this\n\nExamples:\n  awk -F --far\n")

    def test_options_are_read_from_the_help(self):
        self.assertEqual(options.options_of(self.HELP), {"-C", "-q", "--quiet", "--format"})

    def test_subcommands_are_read_from_the_help(self):
        text = "usage: reconciler COMMAND\n\nCommands:\n  check   look\n  task    change\n\nOptions:\n  -h  help\n"
        self.assertEqual(options.commands_of(text), ["check", "task"])

    def test_an_option_that_no_page_names_is_found(self):
        page = "\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\n.RE\n\\fB\\-\\-formatted\\fR \\fB\\-C\\fR\n"
        self.assertEqual(options.missing(self.HELP, [page]), ["--format"])

    def test_an_option_that_is_none_is_found(self):
        self.assertEqual(options.stale([self.HELP, "  --more"], "\\fB\\-\\-quiet\\fR, \\-\\-loud \\-\\-more\n.nf\ncf \\-\\-far\n.fi\n"), ["--loud"])


class TableTest(unittest.TestCase):
    HELP = ("usage: reconciler run\n\nOptions:\n  -j, --jobs N            how many (4)\n      --end WHEN              when it ends,\n"
            "                              or not: soon, late (may be repeated)\n      --dry-run               say (0: all)\n"
            "      --by WHO                who (me unless given)\n\nGlobal options:\n  -C DIR                  there\n\nExamples:\n  x -C y\n")
    PAGE = ("\\fB-j\\fR, \\fB--jobs\\fR \\fIN\\fR\n.RS 4\nHow many (4).\\&\n.P\n.RE\n"
            "\\fB--end\\fR \\fBsoon\\fR|\\fBlate\\fR\n.RS 4\nWhen.\\&\n.RE\n\\fB--dry-run\\fR\n.RS 4\nSay.\\&\n.RE\n"
            "\\fB--by\\fR \\fIWHO\\fR\n.RS 4\nWho; \\fIme\\fR if not given.\\&\n.RE\n\\fB-C\\fR \\fIDIR\\fR\n.RS 4\nThere.\\&\n.RE\n")

    def test_a_help_text_is_read_as_a_table(self):
        self.assertEqual(tables.options_of(self.HELP), [
            tables.Option(("-j", "--jobs"), True, (), "4"), tables.Option(("--end",), True, ("soon", "late")),
            tables.Option(("--dry-run",), False), tables.Option(("--by",), True, (), "me"), tables.Option(("-C",), True)])

    def page_problems(self, old, new):
        page = self.PAGE.replace(old, new)
        self.assertTrue(page != self.PAGE or not old)
        return list(tables.page_problems(tables.options_of(self.HELP), page, True))

    def test_a_page_that_says_otherwise_is_found(self):
        self.assertEqual(self.page_problems("", ""), [])
        self.assertEqual(self.page_problems("(4)", "(40)"), ["--jobs says nothing of 4"])
        self.assertEqual(self.page_problems("me", "myself"), ["--by says nothing of me"])
        self.assertEqual(self.page_problems("|\\fBlate\\fR", ""), ["--end says nothing of late"])
        self.assertEqual(self.page_problems(" \\fIN\\fR", ""), ["--jobs has no value"])
        self.assertEqual(self.page_problems("--dry-run\\fR", "--dry-run\\fR \\fIN\\fR"), ["--dry-run has a value"])
        self.assertEqual(self.page_problems("\\fB-j\\fR, ", ""), ["-j is not named with --jobs"])
        self.assertEqual(self.page_problems("--by", "--bye"), ["--by has no paragraph of its own"])

    def test_an_option_of_another_command_is_found(self):
        self.assertEqual(tables.strangers({"-j", "--jobs", "--end", "--by", "-C"}, self.PAGE), ["--dry-run is no option of it"])

    def test_a_script_that_offers_something_else_is_found(self):
        bash = ("_reconciler_command() { options='-j --jobs --end'; valued='-j --jobs --end'; }\n"
                "_reconciler_kinds() { kinds=(); case $2 in --end) kinds=('=soon late') ;; esac; }\n")
        zsh = "_x() {\n\t_arguments \\\n\t\t'-j[how]:N: ' \\\n\t\t'--jobs=[how]:N: ' \\\n\t\t'*--end=[it\\:]:WHEN:(soon late)' \\\n\t\t'1:X: '\n}\n"
        fish = ("complete -c x -l jobs -s j -x -d 'it\\'s'\ncomplete -c x -n '__reconciler_at \"x\"' -l end -x -a 'soon late'\n"
                "complete -c x -n '__reconciler_at \"x\" 0' -a '(ids)'\n")
        wanted = {"x": tables.options_of(self.HELP)[:2]}
        for script, told_by, change in ((bash, tables.told_by_bash, ("soon late", "soon")), (zsh, tables.told_by_zsh, ("soon late", "soon")),
                                        (fish, tables.told_by_fish, ("soon late", "soon"))):
            self.assertEqual(list(tables.script_problems(wanted, told_by(script, ["x"]))), [])
            self.assertEqual(list(tables.script_problems(wanted, told_by(script.replace(*change), ["x"]))),
                             ["x --end: (True, ('soon',)), not (True, ('soon', 'late'))"])
            self.assertEqual(list(tables.script_problems({"x": wanted["x"][:1]}, told_by(script, ["x"]))),
                             ["x --end: (True, ('soon', 'late')), not known"])


if __name__ == "__main__":
    unittest.main()
