#!/usr/bin/env python3
"""The source tarball: the same commit makes the same bytes, and what is in it configures."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}")


class DistTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="reconciler-dist-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def tarball(self, name, mask):
        """Made from a clone of its own, under that umask."""
        before = os.umask(mask)
        try:
            run("git", "clone", "--quiet", ROOT, self.folder / name)
            run("meson", "setup", self.folder / f"build-{name}", self.folder / name, "-Dtests=disabled")
            run("meson", "dist", "-C", self.folder / f"build-{name}", "--no-tests")
        finally:
            os.umask(before)
        [made] = (self.folder / f"build-{name}/meson-dist").glob("*.tar.xz")
        return made

    def test_the_same_bytes_twice(self):
        one, two = self.tarball("one", 0o022), self.tarball("two", 0o077)
        self.assertEqual(one.name, two.name)
        self.assertEqual(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, two)))
        with tarfile.open(one) as archive:
            names = archive.getnames()
            archive.extractall(self.folder / "out")
        self.assertFalse([name for name in names if "/.git/" in name or "__pycache__" in name])
        [root] = (self.folder / "out").iterdir()
        run("meson", "setup", self.folder / "build-out", root, "-Dtests=disabled")


if __name__ == "__main__":
    if subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("this is not a git checkout")
        sys.exit(77)
    unittest.main()
