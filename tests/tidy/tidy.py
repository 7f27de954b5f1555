#!/usr/bin/env python3
"""The rules of the house that a program can check, over the sources as text.

usage: tidy.py ROOT

Prints "PATH:LINE: RULE: what is wrong" for each finding; exit 0 without any, 1 with some. Every rule is seen
to fail on a small bad sample in test_tidy.py. CONTRIBUTING.md says why the rules are there.
"""
import ast
import os
import re
import sys

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
# Each floor sees only itself and the floors before it.
FLOORS = ["base", "core", "store", "tracker", "engine", "conductor", "lib", "cli"]
# Programs of their own, built on libc alone: they see no floor, keep their own memory and leave as they like.
# The value is which floors may include their headers (what both sides of a protocol share).
PROGRAMS = {"shim": ["conductor"]}
# Programs on the lower floors: the value is which they see; nobody sees them. The house's rules of memory hold for them.
HELPERS = {"github": ["base"]}

# The contract of the library is one file on purpose: what a user of it reads from top to bottom.
LONG_FILES = {"include/reconciler.h"}

MEMORY_CALLS = "malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf getline getdelim".split()
UNSAFE_CALLS = ("sprintf vsprintf strcpy stpcpy strcat strncpy strncat gets atoi atol atoll atof strtok "
                "system popen tmpnam mktemp alloca").split()
PRINTING_CALLS = "printf fprintf vprintf vfprintf dprintf puts fputs putchar fputc putc perror fwrite".split()
OPENING_CALLS = ("open open64 openat creat fopen freopen fdopen rec_file_read rec_file_replace "
                 "rec_file_lock").split()
LEAVING_CALLS = "exit _exit abort quick_exit fork vfork signal sigaction".split()

MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP|TBD)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.*$}])/(?:tmp|work|root|home/[a-z]\w*|Users/\w+)/")
TEMPORARY = re.compile(r"/tmp/[\w-]*XXXXXX")  # what mkdtemp takes is not a place
TEXT_ENDINGS = (".c", ".h", ".py", ".md", ".build", ".scd", ".sh", ".txt", ".yml", ".map", ".in", ".fish",
                ".bash", ".zsh", ".supp", ".suppressions")


class Source:
    """One text file: its path relative to the root, its lines, and for C the code without comments."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.is_c = path.endswith((".c", ".h"))
        self.is_test = os.path.basename(path).startswith(("test-", "test_")) or path.startswith("tests/")
        self.floor = path.split("/")[1] if path.startswith("src/") and path.count("/") > 1 else None
        self.code = blank_comments(text) if self.is_c else text
        self._functions = None

    @property
    def functions(self):
        if self._functions is None:
            self._functions = list(find_functions(self.code)) if self.is_c else []
        return self._functions

    def line_of(self, offset):
        return self.code.count("\n", 0, offset) + 1


def blank_comments(text):
    """The same text, comments and the insides of literals replaced by blanks, line breaks kept."""
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def blank(match):
        piece = match.group(0)
        if piece[0] == "/":
            return re.sub(r"[^\n]", " ", piece)
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if re.match(r"\s*#\s*include\s*$", before):
            return piece
        return piece[0] + re.sub(r"[^\n]", " ", piece[1:-1]) + piece[-1]

    return pattern.sub(blank, text)


def blank_directives(code):
    """Preprocessor lines (with their continuations) blanked, line breaks kept."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code, flags=re.M)


def find_functions(code):
    """Yields (name, first line, last line, body) of each function definition."""
    code = blank_directives(code)
    depth = 0
    begin = 0  # of the text that belongs to the next thing at depth 0
    header = None
    for match in re.finditer(r"[{};]", code):
        at, char = match.start(), match.group(0)
        if char == "{":
            if depth == 0:
                lead = code[begin:at]
                if re.fullmatch(r'\s*extern\s*"[^"]*"\s*', lead):
                    begin = at + 1
                    continue
                name = re.search(r"(\w+)\s*\(", lead)
                header = (name.group(1), begin, at) if name and "=" not in lead else None
            depth += 1
        elif char == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                if header:
                    name, start, opening = header
                    start += len(code[start:opening]) - len(code[start:opening].lstrip())
                    yield name, code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1, code[opening:at]
                header = None
                begin = at + 1
        elif depth == 0:
            begin = at + 1


def rule_length(source):
    if len(source.lines) > FILE_LINES_MAX and source.path not in LONG_FILES:
        yield FILE_LINES_MAX + 1, "file-length", f"{len(source.lines)} lines, at most {FILE_LINES_MAX}"
    for name, first, last, _ in source.functions:
        if last - first + 1 > FUNCTION_LINES_MAX:
            yield first, "function-length", f"{name}: {last - first + 1} lines, at most {FUNCTION_LINES_MAX}"
    for match in re.finditer(r"^[ \t]*#define(?:[^\n]*\\\n)+[^\n]*", source.code if source.is_c else "", re.M):
        length = match.group(0).count("\n") + 1
        if length > FUNCTION_LINES_MAX:
            yield source.line_of(match.start()), "function-length", f"a macro of {length} lines"


def python_functions(source):
    if source.path.endswith(".py") or source.text.startswith("#!/usr/bin/env python3"):
        for node in ast.walk(ast.parse(source.text, source.path)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node


def rule_python_length(source):
    for node in python_functions(source):
        length = node.end_lineno - node.lineno + 1
        if isinstance(node, ast.FunctionDef) and length > FUNCTION_LINES_MAX:
            yield node.lineno, "function-length", f"{node.name}: {length} lines, at most {FUNCTION_LINES_MAX}"


def visible(floor, target):
    if target == floor or target not in (*FLOORS, *PROGRAMS, *HELPERS):
        return True
    if floor in HELPERS or target in HELPERS:
        return target in HELPERS.get(floor, [])
    if target in PROGRAMS or floor in PROGRAMS:
        return floor in PROGRAMS.get(target, [])
    return FLOORS.index(target) < FLOORS.index(floor)


def rule_includes(source):
    if not source.is_c:
        return
    if source.floor and source.floor not in (*FLOORS, *PROGRAMS, *HELPERS):
        yield 1, "floor", f"the floor {source.floor} is not in the list of tests/tidy/tidy.py"
        return
    for match in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"]*)\"", source.code, re.M):
        line, name = source.line_of(match.start()), match.group(1)
        if ".." in name.split("/"):
            yield line, "include", f'"{name}": write the path from src/ ("base/json.h")'
        target = name.split("/")[0]
        if source.floor and not visible(source.floor, target):
            yield line, "include", f'"{name}": {source.floor} does not see {target}'
        if name == "store/backend.h" and source.floor not in (None, "store") and not source.is_test:
            yield line, "include", f'"{name}" is for the store floor'


def banned_for(source):
    """The calls this file must not make, each with the reason."""
    reasons = {name: "has no bound or hides its errors" for name in UNSAFE_CALLS}
    if source.floor is None or source.floor in PROGRAMS or source.is_test:
        return reasons
    if source.path != "src/base/memory.c":
        reasons.update({name: "memory goes through base/memory.h" for name in MEMORY_CALLS})
    if source.floor != "cli" and source.path != "src/github/main.c":
        reasons.update({name: "only the command prints" for name in PRINTING_CALLS})
        reasons.update({name: "the library leaves the process alone" for name in LEAVING_CALLS})
    if source.floor in ("store", "engine", "lib"):
        reasons.update({name: "only SQLite opens the database; files go through base/file.h"
                        for name in OPENING_CALLS if source.floor == "store" or not name.startswith("rec_")})
    return reasons


def rule_calls(source):
    if not source.is_c:
        return
    reasons = banned_for(source)
    for match in re.finditer(r"(?<![\w.>])([a-z_]\w*)\s*\(", blank_directives(source.code)):
        if match.group(1) in reasons:
            yield source.line_of(match.start()), "call", f"{match.group(1)}: {reasons[match.group(1)]}"


def rule_marks(source):
    if source.path.startswith("tests/tidy/"):
        return  # names the marks it looks for
    for number, line in enumerate(source.lines, 1):
        mark = MARKS.search(line)
        if mark:
            yield number, "mark", f"{mark.group(1)}: finish it, or open an issue"
        place = MACHINE_PATHS.search(TEMPORARY.sub("", line))
        if place and not line.startswith("#!"):
            yield number, "machine-path", f"{place.group(0)}: a path of one machine"


def rule_head(source):
    if source.is_c and not os.path.basename(source.path).startswith("test-"):
        name = os.path.basename(source.path)
        if not source.text.startswith(f"/* {name} - "):
            yield 1, "head", f'the first line says what the file is: "/* {name} - ..."'


def asserting(bodies, pattern):
    """Names of the functions (name -> body) that assert, themselves or through one they call."""
    good = {name for name, body in bodies.items() if re.search(pattern, body, re.M)}
    words = {name: set(re.findall(r"\w+", body)) for name, body in bodies.items() if name not in good}
    more = good
    while more:
        more = {name for name, calls in words.items() if name not in good and not calls.isdisjoint(more)}
        good |= more
    return good


def rule_assertions_c(sources):
    """Across files, since helpers stand in files of their own."""
    bodies = {}
    for source in sources:
        if source.is_c and source.is_test:
            pieces = re.findall(r"^[ \t]*#define[ \t]+(\w+)((?:[^\n]*\\\n)*[^\n]*)", source.code, re.M)
            pieces += [(name, body) for name, _, _, body in source.functions]
            for name, body in pieces:
                bodies[name] = bodies.get(name, "") + body
    good = asserting(bodies, r"\b(_?assert\w*|_?fail|fail_msg)\s*\(")
    for source in sources:
        if not re.fullmatch(r"test-.*\.c", os.path.basename(source.path)):
            continue
        tests = [(name, first) for name, first, _, _ in source.functions if name.startswith("test_")]
        if not tests and not any(name in good for name, _, _, _ in source.functions):
            yield source, 1, "assertion", "a test file without an assertion"
        for name, first in tests:
            if name not in good:
                yield source, first, "assertion", f"{name} asserts nothing"


def rule_assertions_python(source):
    if not os.path.basename(source.path).startswith("test_"):
        return
    bodies, tests = {}, []
    for node in python_functions(source):
        if isinstance(node, ast.FunctionDef):
            bodies[node.name] = "\n".join(source.lines[node.lineno - 1:node.end_lineno])
            if node.name.startswith("test"):
                tests.append((node.name, node.lineno))
    good = asserting(bodies, r"\bself\.(assert\w+|fail)\b|^\s*assert\b|^\s*raise AssertionError")
    if not tests:
        yield 1, "assertion", "a test file without a test"
    for name, line in tests:
        if name not in good:
            yield line, "assertion", f"{name} asserts nothing"


def names_source(build, name):
    """Does a meson.build name the file: as it is, or as 'PREFIX-' + name with the rest in a list?"""
    stem = name[:-len(".c")]
    words = set(re.findall(r"'([^']*)'", re.sub(r"#[^\n]*", "", build)))
    if name in words or stem in words:
        return True
    return any(stem[:at + 1] in words and stem[at + 1:] in words
               for at, char in enumerate(stem) if char == "-")


def rule_dead_files(sources):
    """Every C source is named by the meson.build of its folder."""
    builds = {os.path.dirname(s.path): s.text for s in sources if os.path.basename(s.path) == "meson.build"}
    for source in sources:
        if not source.path.endswith(".c"):
            continue
        folder, name = os.path.split(source.path)
        while folder and folder not in builds:
            folder = os.path.dirname(folder)
        if not names_source(builds.get(folder, ""), name):
            yield source, 1, "dead-file", f"{folder}/meson.build does not name it"


RULES = [rule_length, rule_python_length, rule_includes, rule_calls, rule_marks, rule_head, rule_assertions_python]
TREE_RULES = [rule_assertions_c, rule_dead_files]


def read_tree(root):
    sources = []
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = [name for name in folders
                      if not name.startswith("build") and name not in (".git", "floors", "__pycache__")
                      and os.path.join(relative, name) != os.path.join("tests", "data")
                      and os.path.join(relative, name) != os.path.join("tests", "fuzz", "corpus")]
        for name in sorted(names):
            path = os.path.normpath(os.path.join(relative, name))
            if name.endswith(TEXT_ENDINGS) or path.startswith(("scripts/", ".ci/")) or name == "Makefile":
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    sources.append(Source(path, file.read()))
    return sources


def check(sources):
    """All findings, as (path, line, rule, text), in order."""
    found = [(source.path, *finding) for source in sources for rule in RULES for finding in rule(source)]
    found += [(source.path, *finding) for rule in TREE_RULES for source, *finding in rule(sources)]
    return sorted(found)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sources = read_tree(sys.argv[1])
    if not any(source.floor for source in sources):
        sys.exit(f"tidy: {sys.argv[1]}: no sources there")
    findings = check(sources)
    for path, line, rule, text in findings:
        print(f"{path}:{line}: {rule}: {text}")
    print(f"{len(sources)} files, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
