#!/usr/bin/env python3
"""What an option is, its help, its man page and the three completion scripts say alike.

usage: tables.py RECONCILER MAN-FOLDER

For every command: the same options, each with or without a value alike, the same choices, and the default that the help
names. In the man page of its command an option has a paragraph of its own; in reconciler(1) it may be told in that of its
command. That every
option is named at all, and no other one, is options.py's business.
"""
import dataclasses
import pathlib
import re
import shlex
import subprocess
import sys

import options

DEFAULT = re.compile(r"\((\d[\w.]*)(?=[;)])|\((\w+) unless given\)")
CHOICES = re.compile(r": (\w+(?:, \w+)+)(?: \(may be repeated\))?$")


@dataclasses.dataclass(frozen=True)
class Option:
    names: tuple
    valued: bool
    choices: tuple = ()
    default: str = ""


def option_of(left, text):
    names = tuple(re.findall(r"(?:^|(?<=\s))-{1,2}[A-Za-z][\w-]*", left))
    choices, default = CHOICES.search(text), DEFAULT.search(text)
    return Option(names, bool(re.search(r"\s[A-Z][A-Z=]*$", left)), tuple(choices[1].split(", ")) if choices else (),
                  (default[1] or default[2]) if default else "")


def options_of(help_text):
    """The options that a help text explains."""
    found, left, right = [], "", []
    for line in [*help_text.splitlines(), ""]:
        entry = re.match(r" {2,6}(-.*?)(?: {2,}(\S.*))?$", line)
        if left and (entry or not line.startswith(" " * 10)):
            found.append(option_of(left, " ".join(right)))
            left = ""
        if entry:
            left, right = entry[1], [entry[2] or ""]
        elif left:
            right.append(line.strip())
    return found


# ---- Man pages ----

def entries_of(page):
    """(what stands at the head of a paragraph about options, the paragraph), of each."""
    lines, entries = page.splitlines(), []
    for number, line in enumerate(lines[:-1]):
        if re.match(r"(\\f[BI])*\\?-", line) and lines[number + 1].startswith(".RS"):
            end, depth = number + 2, 1
            while depth and end < len(lines):
                depth += lines[end].startswith(".RS") - lines[end].startswith(".RE")
                end += 1
            entries.append((line, options.plain("\n".join(lines[number + 2:end]))))
    return entries


def heads_of(tag):
    """Name -> the value that stands behind it, of the head of a paragraph."""
    return {match[1]: match[2].strip() for match in
            re.finditer(r"(?:^|, )(--?[A-Za-z][\w-]*)((?: (?!--?[a-zA-Z]).*?)?)(?=, -|$)", options.plain(tag).strip())}


def page_problems(found, page, own):
    """What a page says otherwise; own: it is the command's own page, and has a paragraph for each option."""
    entries = [(heads_of(tag), tag, text) for tag, text in entries_of(page)]
    for option in found:
        about = [(heads, tag, text) for heads, tag, text in entries if set(option.names) & set(heads)]
        if not about and own:
            yield f"{option.names[-1]} has no paragraph of its own"
            continue
        if not about: # told in the paragraph of its command
            mark = re.compile(rf"{option.names[-1]}(?![\w-])" + (" [A-Z]" if option.valued else ""))
            about = [(dict.fromkeys(option.names, option.valued), "", part) for part in re.split(r"^\.RE$", options.plain(page), flags=re.M)
                     if mark.search(part)]
        told = options.plain("\n".join(tag + "\n" + text for _, tag, text in about))
        named = set().union(*(heads for heads, _, _ in about))
        yield from (f"{name} is not named with {option.names[-1]}" for name in option.names if name not in named)
        if any(any(heads.get(name) for name in option.names) != option.valued for heads, _, _ in about):
            yield f"{option.names[-1]} {'has no' if option.valued else 'has a'} value"
        missing = [word for word in (*option.choices, *filter(None, [option.default]))
                   if not re.search(rf"(?<![\w.]){re.escape(word)}(?![\w])", told)]
        if missing:
            yield f"{option.names[-1]} says nothing of {', '.join(missing)}"


def strangers(names, page):
    """Options that have a paragraph in a command's own page, and are none of it."""
    return [f"{name} is no option of it" for tag, _ in entries_of(page) for name in heads_of(tag) if name not in names]


# ---- Completion scripts: name of the command -> name of the option -> (valued, choices) ----

def told_by_bash(script, paths):
    probe = "".join(f"_reconciler_command {shlex.quote(path)}; printf '%s\\t%s\\t%s\\n' {shlex.quote(path)} \"$options\" \"$valued\"\n"
                    f"for option in $valued; do _reconciler_kinds {shlex.quote(path)} \"$option\"; "
                    "printf '\\t%s\\t%s\\n' \"$option\" \"$(printf '%s' \"${kinds[*]}\")\"; done\n" for path in paths)
    result = subprocess.run(["bash", "-c", f"{script}\n{probe}"], capture_output=True, text=True, timeout=60, check=True)
    told, path = {}, None
    for line in result.stdout.splitlines():
        first, second, third = line.split("\t")
        if first:
            path, valued = first, set(third.split())
            told[path] = {name: (name in valued, ()) for name in second.split()}
        else:
            told[path][second] = (True, tuple(third[1:].split()) if third.startswith("=") else ())
    return told


def told_by_zsh(script, paths):
    told = {}
    for path in paths:
        body = re.search(rf"^_{path.replace(' ', '_')}\(\) {{\n(.*?)^}}", script, re.M | re.S)
        told[path] = {}
        for spec in re.findall(r"^\t\t'(\*?-.*?)'(?: \\)?$", body[1] if body else "", re.M):
            name = re.match(r"\*?(--?[A-Za-z][\w-]*)", spec)[1]
            value = spec[spec.rindex("]") + 1:]
            choices = re.search(r":\((.*)\)$", value)
            told[path][name] = (bool(value), tuple(choices[1].split()) if choices else ())
    return told


def told_by_fish(script, paths):
    told = {path: {} for path in paths}
    for line in script.splitlines():
        words = shlex.split(line.replace("\\'", "")) if line.startswith("complete ") else []
        given = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i] in ("-n", "-s", "-l", "-a")}
        at = re.match(r'__reconciler_at "(.*)"$', given.get("-n", ""))
        names = [*(["--" + given["-l"]] if "-l" in given else []), *(["-" + given["-s"]] if "-s" in given else [])]
        choices = tuple(given["-a"].split()) if "-a" in given and not given["-a"].startswith("(") else ()
        for path in ([at[1]] if at else [] if "-n" in given else paths):
            told.setdefault(path, {}).update({name: ("-x" in words or "-r" in words, choices) for name in names})
    return told


SHELLS = {"bash": told_by_bash, "zsh": told_by_zsh, "fish": told_by_fish}


def script_problems(wanted, told):
    for path, found in wanted.items():
        there = told.get(path, {})
        expected = {name: (option.valued, option.choices) for option in found for name in option.names}
        for name in sorted(set(expected) | set(there)):
            if expected.get(name) != there.get(name):
                yield f"{path} {name}: {there.get(name, 'missing')}, not {expected.get(name, 'known')}"


# ---- All of it ----

def help_texts(program):
    top = options.help_of(program, [])
    texts = {(): top}
    for command in options.commands_of(top):
        texts[(command,)] = options.help_of(program, [command])
        for sub in options.commands_of(texts[(command,)]):
            texts[(command, sub)] = options.help_of(program, [command, sub])
    return texts


def problems(program, folder):
    texts = help_texts(program)
    tables = {words: options_of(text) for words, text in texts.items()}
    general = options.page_of(folder, "reconciler")
    world = {name for option in tables[()] for name in option.names}
    for words, found in tables.items():
        page = options.page_of(folder, "reconciler-" + words[0]) if words else general
        mine = [option for option in found if not words or not set(option.names) & world]
        yield from (f"reconciler {' '.join(words)}: the man page: {what}" for what in page_problems(mine, page or general, bool(page)))
    for path in sorted(pathlib.Path(folder).glob("reconciler-*.1")):
        command = path.stem.removeprefix("reconciler-")
        names = world.union(*({name for option in found for name in option.names} for words, found in tables.items()
                              if words and words[0] == command))
        yield from (f"{path.name}: {what}" for what in strangers(names, path.read_text(encoding="utf-8")))
    wanted = {" ".join(("reconciler", *words)): found for words, found in tables.items()}
    for shell, told_by in SHELLS.items():
        script = subprocess.run([program, "completion", shell], capture_output=True, text=True, timeout=20, check=True).stdout
        yield from (f"completion {shell}: {what}" for what in script_problems(wanted, told_by(script, list(wanted))))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = list(problems(sys.argv[1], sys.argv[2]))
    for what in found:
        print(what)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
