#!/usr/bin/env python3
"""debian/ agrees with the rest of the tree.

environment: BUILD, a build folder
"""
import json
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What every Debian build has (build-essential), and what only make and the demos need.
ALWAYS_THERE = {"gcc", "libc6-dev", "make", "python3", "git", "procps"}


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


class DebianTest(unittest.TestCase):
    def test_what_the_build_needs_is_a_build_dependency(self):
        wanted = set(re.search(r"^build=\(([^)]*)\)", read("scripts/install-deps"), re.M).group(1).split())
        control = read("debian/control")
        listed = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M).group(1)
        depends = {entry.split()[0] for entry in listed.replace("\n", "").split(",") if entry.strip()}
        self.assertEqual(wanted - ALWAYS_THERE - depends, set())

    def test_versions_agree(self):
        version = re.search(r"version: '([0-9.]+)'", read("meson.build")).group(1)
        self.assertRegex(read("debian/changelog"), rf"^reconciler \({re.escape(version)}-")
        self.assertIn(f'version = "{version}"', read("bindings/python/pyproject.toml"))
        self.assertIn(f'VERSION = "{version}"', read("bindings/python/build_native.py"))
        self.assertIn(f'REC_VERSION_STRING "{version}"', read("include/reconciler.h"))

    def test_everything_that_is_installed_is_in_a_package(self):
        described = subprocess.run(["meson", "introspect", "--installed", os.environ["BUILD"]], stdout=subprocess.PIPE,
                                   text=True, check=True).stdout
        patterns = [line for name in sorted((ROOT / "debian").glob("*.install"))
                    for line in name.read_text(encoding="utf-8").split()]
        self.assertGreater(len(patterns), 8)
        places = set()
        for path in json.loads(described).values():
            place = re.sub(r"^.*?/(?=(?:bin|lib|libexec|include|share)/)", "usr/", path)
            places.add(place.replace("zsh/site-functions", "zsh/vendor-completions"))
        self.assertIn("usr/bin/reconciler", places)
        lost = [place for place in sorted(places) if not any(pathlib.PurePath(place).match(p) for p in patterns)]
        self.assertEqual(lost, [])


if __name__ == "__main__":
    unittest.main()
