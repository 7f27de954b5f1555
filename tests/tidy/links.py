#!/usr/bin/env python3
"""What the texts point at is there: relative links, paths like src/core/decide.c, in tests/*.md also tests like `test_x`.

usage: links.py ROOT

Reads every *.md outside build folders. Upper-case letters in a path (src/FLOOR/test-NAME.c) stand for any name.
"""
import glob
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")
PATH = re.compile(r"(?<![\w./-])((?:src|include|tests|bench|scripts|docs|man|completions|\.ci)/[\w./-]*\w/?)")


def pointers(text):
    """Every path a text points at, relative to the root."""
    links = [target for target in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    return links, PATH.findall(text)
TEST = re.compile(r"`(test_\w+)`")
DEFINED = re.compile(r"(?:^|\s)(test_\w+)\(", re.MULTILINE)


def tests(root):
    """The name of every test function."""
    sources = [*root.glob("tests/**/*.py"), *root.glob("tests/**/*.c"), *root.glob("src/**/test-*.c")]
    return {name for source in sources for name in DEFINED.findall(source.read_text(encoding="utf-8"))}


def exists(root, path):
    pattern = re.sub(r"(?<![a-z])[A-Z][A-Z0-9]+(?![a-z])", "*", path)
    return bool(glob.glob(str(root / pattern)))


def missing(root, page):
    links, paths = pointers(page.read_text(encoding="utf-8"))
    found = [target for target in links if not (page.parent / target).exists()]
    if page.parent == root / "tests":
        known = tests(root)
        found += [name for name in TEST.findall(page.read_text(encoding="utf-8")) if name not in known]
    return found + [path for path in paths if not exists(root, path) and path not in found]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    pages = [page for page in sorted(root.glob("**/*.md")) if not page.relative_to(root).parts[0].startswith("build")]
    failed = False
    for page in pages:
        for path in missing(root, page):
            print(f"{page.relative_to(root)}: {path} is not there")
            failed = True
    print(f"{len(pages)} pages")
    sys.exit(1 if failed or not pages else 0)


if __name__ == "__main__":
    main()
