#!/usr/bin/env python3
"""The ABI is that of the release, and the comparison sees what breaks programs.

environment: LIBRARY, the shared library; HEADERS, the folder of reconciler.h
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
RECORD = FOLDER / "libreconciler-0.1.0.abi"


def check(record):
    """The exit status of the comparison with that record, and what it says."""
    done = subprocess.run([FOLDER / "abi", "check", os.environ["LIBRARY"], os.environ["HEADERS"], record],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class AbiTest(unittest.TestCase):
    def changed(self, pattern, replacement):
        """The comparison with a record in which something is different."""
        text = RECORD.read_text(encoding="utf-8")
        other, count = re.subn(pattern, replacement, text, flags=re.S)
        self.assertGreaterEqual(count, 1)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record.abi"
            path.write_text(other, encoding="utf-8")
            return check(path)

    def test_is_that_of_the_release(self):
        status, said = check(RECORD)
        self.assertEqual(status, 0, said)

    def test_a_function_that_is_gone_is_seen(self):
        status, said = self.changed(r"\brec_version\b", "rec_versions")
        self.assertNotEqual(status, 0, said)

    def test_another_parameter_is_seen(self):
        function = r"(<function-decl name='rec_result_set_count_action'.*?<parameter [^>]*/>\s*)<parameter [^>]*/>"
        status, said = self.changed(function, r"\1")
        self.assertNotEqual(status, 0, said)

    def test_a_field_that_moved_is_seen(self):
        moved = r"(<class-decl name='rec_result' .*?)layout-offset-in-bits='288'(.*?)layout-offset-in-bits='320'"
        status, said = self.changed(moved, r"\1layout-offset-in-bits='320'\2layout-offset-in-bits='288'")
        self.assertNotEqual(status, 0, said)

    def test_an_enumerator_with_another_number_is_seen(self):
        status, said = self.changed(r"(<enumerator name='REC_SKIP' value=')1'", r"\g<1>2'")
        self.assertNotEqual(status, 0, said)


if __name__ == "__main__":
    if not shutil.which("abidiff"):
        print("abidiff is not installed (scripts/install-deps ci)")
        sys.exit(77)
    unittest.main()
