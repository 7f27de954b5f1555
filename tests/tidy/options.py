#!/usr/bin/env python3
"""Every option of the command stands in a man page, every command too, and no page names an option that is none.

usage: options.py RECONCILER MAN-FOLDER

Walks `reconciler --help`, `reconciler COMMAND --help` and `reconciler COMMAND SUBCOMMAND --help`. An option must
be named in the page of its command (reconciler-COMMAND.1), if there is one, or in reconciler.1.
"""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[A-Za-z0-9])(?![\w-])")
COMMAND = re.compile(r"^  ([a-z][a-z-]*)(?=\s|$)")


def options_of(help_text):
    """Options that a help text explains: those at the beginning of an indented line."""
    return {option for line in help_text.splitlines() if re.match(r" {2,8}-", line)
            for option in OPTION.findall(re.split(r" {2,}(?=[^ -])", line)[0])}


def named_in(page):
    """Every option a page names, but for its examples: those are other programs' too."""
    return set(OPTION.findall(plain(re.sub(r"^\.nf$.*?^\.fi$", "", page, flags=re.M | re.S))))


def commands_of(help_text):
    """The words at the beginning of the indented lines below a heading that ends in "ommands:"."""
    found, inside = [], False
    for line in help_text.splitlines():
        if re.search(r"ommands\b.*:$", line):
            inside = True
        elif line and not line[0].isspace():
            inside = False
        elif inside:
            found += COMMAND.findall(line)
    return found


def plain(page):
    """roff without fonts and with plain hyphens."""
    return re.sub(r"\\f[A-Z]|\\&", "", page).replace("\\-", "-").replace("\\(aq", "'")


def missing(help_text, pages):
    named = set()
    for page in pages:
        named |= named_in(page)
    return sorted(options_of(help_text) - named)


def stale(help_texts, page):
    """What a page names though no command has it."""
    return sorted(named_in(page) - set().union(*map(options_of, help_texts)))


def help_of(program, words):
    result = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=20, check=False)
    if result.returncode != 0 or not result.stdout.startswith("usage: "):
        sys.exit(f"{' '.join([program, *words])} --help: exit {result.returncode}, no usage on standard output")
    return result.stdout


def page_of(folder, name):
    path = pathlib.Path(folder, f"{name}.1")
    return path.read_text(encoding="utf-8") if path.exists() else None


def problems(program, folder):
    general = page_of(folder, "reconciler") or sys.exit(f"{folder}: no reconciler.1")
    top = help_of(program, [])
    commands = commands_of(top)
    if not commands:
        sys.exit(f"{program} --help names no commands")
    yield from (f"reconciler {option}" for option in missing(top, [general]))
    texts = [top]
    for command in commands:
        if not re.search(rf"\breconciler[- ]{command}\b|^\W*{command}\b", plain(general), re.M):
            yield f"reconciler {command}"
        pages = [page for page in (page_of(folder, f"reconciler-{command}"), general) if page]
        words = [[command]] + [[command, sub] for sub in commands_of(help_of(program, [command]))]
        for name in words:
            texts.append(help_of(program, name))
            yield from (f"reconciler {' '.join(name)} {option}" for option in missing(texts[-1], pages))
    for path in sorted(pathlib.Path(folder).glob("reconciler*.1")):
        yield from (f"{option} of {path.name}, which no command has" for option in stale(texts, path.read_text()))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = list(problems(sys.argv[1], sys.argv[2]))
    for what in found:
        print(f"help and man pages differ: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
