"""task import and export: nothing lost, all or nothing, streams."""
import json

from harness import CODEFRAME, Case, main, on_terminal


class Exchange(Case):
    def setUp(self):
        super().setUp()
        self.store = self.init()

    def export(self, *arguments):
        return self.reconciler("task", "export", *arguments)

    def bad(self, text, *words):
        """Refused naming the place, and nothing imported."""
        before = self.export().out
        if isinstance(text, bytes):
            self.write("bad.json", text)
            self.assert_refused("task", "import", "bad.json", words=["bad.json", *words])
        else:
            self.assert_refused("task", "import", "-", stdin=text, words=["standard input", *words])
        self.assertEqual(self.export().out, before)


class Import(Exchange):
    def test_only_the_title_is_required(self):
        self.assertEqual(self.reconciler("task", "import", "-", stdin='{"title":"One"}').out, "1 task imported\n")
        one = self.export().objects[0]
        self.assertEqual((one["title"], one["status"], one["priority"], one["depends_on"], one["blockers"]),
                         ("One", "READY", 0, [], []))

    def test_an_array_or_a_line_each(self):
        tasks = [{"title": f"Task {number}", "id": str(number)} for number in range(5)]
        self.reconciler("task", "import", "-", stdin=json.dumps(tasks[:2], indent=2))
        self.reconciler("task", "import", "-", stdin="".join(json.dumps(task) + "\n" for task in tasks[2:]))
        self.assertEqual([one["id"] for one in self.export().objects], ["0", "1", "2", "3", "4"])

    def test_the_order_is_free(self):
        self.reconciler("task", "import", "-", stdin=json.dumps([
            {"title": "child", "id": "a", "parent_id": "z", "depends_on": ["m"]},
            {"title": "between", "id": "m"}, {"title": "parent", "id": "z"}]))
        shown = {one["id"]: one for one in self.export().objects}
        self.assertEqual((shown["a"]["parent_id"], shown["a"]["depends_on"]), ("z", ["m"]))
        self.assertIn("z", self.reconciler("task", "list", "--format", "ndjson").out)

    def test_blockers_come_along(self):
        self.reconciler("task", "import", "-", stdin=json.dumps({"title": "x", "id": "a", "blockers": [
            {"question": "Which?"}, {"id": "b", "question": "Why?", "status": "ANSWERED", "answer": "So",
                                     "created_by": "agent"}]}))
        blockers = {one["question"]: one for one in self.reconciler("blocker", "list", "--json").json}
        self.assertEqual((blockers["Which?"]["status"], blockers["Which?"]["created_by"]), ("OPEN", "human"))
        self.assertEqual((blockers["Why?"]["id"], blockers["Why?"]["answer"]), ("b", "So"))

    def test_nothing_is_fine_as_the_export_of_an_empty_store_is_nothing(self):
        for text in ("[]", "", " \n", self.export().out):
            self.assertEqual(self.reconciler("task", "import", "-", stdin=text).out, "0 tasks imported\n")

    def test_formats(self):
        self.assertEqual(self.reconciler("task", "import", "-", "--json", stdin="[]").json,
                         {"imported": 0})

    def test_unknown_keys(self):
        self.bad('{"title":"x","colour":"red"}', "colour", "line 1")
        self.reconciler("task", "import", "-", "--ignore-unknown", stdin='{"title":"x","colour":{"a":[1,{"b":2}]}}')
        self.assertEqual(len(self.export().lines), 1)

    def test_an_existing_id_refuses_everything(self):
        self.add("there", "--id", "a")
        self.bad('[{"title":"new","id":"b"},{"title":"x","id":"a"}]', "a")
        self.bad('[{"title":"new","id":"b"},{"title":"x","id":"b"}]', "b")

    def test_references_must_exist(self):
        self.bad('{"title":"x","depends_on":["nobody"]}', "nobody")
        self.bad('{"title":"x","parent_id":"nobody"}', "nobody")

    def test_wrong_types(self):
        for text in ('{"title":7}', '{"title":null}', "{}", '{"id":"x"}', '{"title":"x","id":7}',
                     '{"title":"x","id":""}', '{"title":"x","status":"Ready"}', '{"title":"x","status":null}',
                     '{"title":"x","priority":1.5}', '{"title":"x","priority":"1"}', '{"title":"x","depends_on":"a"}',
                     '{"title":"x","depends_on":[1]}', '{"title":"x","blockers":{}}',
                     '{"title":"x","blockers":[{"answer":"x"}]}', '{"title":"x","blockers":[{"question":"x","y":1}]}',
                     '{"title":"x","created_at":"yesterday"}', "[1]", '"x"', "null", '{"title":"x","title":"y"}'):
            self.bad(f'{{"title":"good","id":"good"}}\n{text}', "line 2")

    def test_broken_json(self):
        for text in ('{"title":"x"', '[{"title":"x"}', '[{"title":"x"},]', "[[]]", "{'title':'x'}",
                     '{"title":"x"}]', "SQLite format 3"):
            self.bad(text)

    def test_bytes_that_are_not_utf8(self):
        self.bad(b'{"title":"\xff"}', "UTF-8")
        self.bad(b'\xef\xbb\xbf{"title":"x"}', "byte order mark")
        self.bad('{"title":"\\ud800"}', "line 1")
        self.bad('{"title":"\\u0000"}', "line 1")

    def test_sizes(self):
        self.bad(json.dumps({"title": "x" * 4097}), "title")
        self.bad(json.dumps({"title": "x", "id": "x" * 256}), "255")
        self.bad(json.dumps({"title": "x", "description": "x" * ((16 << 20) + 1)}))
        self.reconciler("task", "import", "-", stdin=json.dumps({"title": "y", "description": "x" * (1 << 20)}))
        self.bad('{"title":"x","blockers":' * 100_000)

    def test_files_that_cannot_be_read(self):
        self.assert_refused("task", "import", "nowhere.json", words=["nowhere.json", "No such file"])
        self.assert_refused("task", "import", ".", words=["directory"])

    def test_many_tasks(self):
        count = 20_000
        text = "".join(f'{{"id":"{number:06}","title":"Task {number}"}}\n' for number in range(count))
        self.assertEqual(self.reconciler("task", "import", "-", stdin=text).out, f"{count} tasks imported\n")
        self.assertEqual(len(self.export().lines), count)

    def test_progress_only_on_a_terminal(self):
        text = "".join(f'{{"title":"Task {number}"}}\n' for number in range(2000))
        self.assertEqual(self.reconciler("task", "import", "-", stdin=text).err, "")
        path = self.write("tasks.ndjson", text)
        status, shown = on_terminal(self, "task", "import", path)
        self.assertEqual((status, shown.splitlines()[-1].rsplit("\033[K", 1)[-1]), (0, "2000 tasks imported"))
        (self.store.parent / "state.db").unlink()
        self.init()
        self.assertNotIn("\033", on_terminal(self, "task", "import", path, env={"TERM": "dumb"})[1])


class RoundTrip(Exchange):
    def copy(self, text):
        """Into a fresh store and out again."""
        self.reconciler("init", "copy")
        self.reconciler("-S", "copy", "task", "import", "-", stdin=text)
        return self.reconciler("-S", "copy", "task", "export").out

    def test_our_own_tasks(self):
        parent = self.add("parent \" \\ \t / 任务 🚧", "--description", "a\nb\x7f\u2028")
        task = self.add("x", "--parent", parent, "--priority", "-7", "--issue", "https://x/1")
        self.add("y", "--depends-on", task, "--status", "BLOCKED")
        self.reconciler("blocker", "add", task, "Why?\n", "--by", "agent")
        exported = self.export().out
        self.assertEqual(self.copy(exported), exported)

    def test_codeframes_tasks(self):
        for name in ("small", "medium"):
            self.fixture(name, place=name)
            exported = self.reconciler("-S", f"{name}/state.db", "task", "export").out
            self.assertEqual(len(exported.splitlines()), {"small": 25, "medium": 1000}[name])
            self.reconciler("init", f"copy-{name}")
            self.reconciler("-S", f"copy-{name}", "task", "import", "-", stdin=exported)
            self.assertEqual(self.reconciler("-S", f"copy-{name}", "task", "export").out, exported)

    def test_json_and_ndjson_hold_the_same(self):
        for number in range(3):
            self.add(f"Task {number}")
        self.assertEqual(self.export("--json").json, self.export("--format", "ndjson").objects)

    def test_named_ones_by_prefix_in_the_order_given(self):
        for name in ("aa", "bb", "cc"):
            self.add(name, "--id", name)
        self.assertEqual([one["id"] for one in self.export("c", "a").objects], ["cc", "aa"])
        self.assert_refused("task", "export", "aa", "zz", status=1, words=["task zz: not found"])

    def test_every_column_of_codeframe_is_kept(self):
        store = self.fixture("small", place="other")
        connection = self.sqlite(store)
        connection.execute("UPDATE tasks SET estimated_hours=1.5, complexity_score=3, uncertainty_level='low', "
                           "hierarchical_id='1.2', lineage='[\"a\"]', requirement_ids='[\"r1\"]', "
                           "auto_close_github_issue=1 WHERE id LIKE '4be0%'")
        connection.close()
        exported = self.reconciler("-S", store, "task", "export", "4be0").json
        self.assertEqual((exported["estimated_hours"], exported["complexity_score"], exported["uncertainty_level"],
                          exported["hierarchical_id"]), (1.5, 3, "low", "1.2"))
        copied = json.loads(self.copy(json.dumps(exported)))
        self.assertEqual(copied, exported)


if __name__ == "__main__":
    main()
