#!/usr/bin/env python3
"""A page that shows something else than what happens is seen (see play.py for the environment)."""
import pathlib
import tempfile
import unittest

from play import files, play

PAGE = "# A page\n\n```bash say.sh\necho one\necho two\n```\n\n```console\n$ bash say.sh\none\n{}\n```\n"


class PlayTest(unittest.TestCase):
    def wrong(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            (pathlib.Path(folder) / "session").mkdir()
            count, wrong = play(page, pathlib.Path(folder) / "session")
        self.assertEqual(count, 1)
        return wrong

    def test_what_is_as_shown(self):
        self.assertEqual(self.wrong(PAGE.format("two")), [])

    def test_what_is_not_as_shown(self):
        [said] = self.wrong(PAGE.format("three"))
        self.assertIn("page.md:9: $ bash say.sh", said)

    def test_files_are_blocks_with_a_name(self):
        self.assertEqual(files("```\na\n```\n```c x.c\nb\n```\n```python\nc\n```\n"), [("x.c", "b\n")])


if __name__ == "__main__":
    unittest.main()
