#!/usr/bin/env python3
"""No global mutable state: the libraries hold no writable data.

usage: symbols.py LIBRARY.a...

Tables of pointers are allowed: position-independent code keeps them in .data.rel.ro, which is made read-only
before the program starts.
"""
import subprocess
import sys

WRITABLE = (".data", ".bss", ".tdata", ".tbss", "*COM*", "COMMON")
READ_ONLY = (".data.rel.ro",)
# Made by the compiler, not by the source: coverage counters and the sanitizers' own records.
INSTRUMENTS = ("__gcov", "__llvm", "__odr_asan", "__asan", "__sancov", "__ubsan", "__tsan", ".L")


def writable(listing):
    """(name, section) of each symbol in writable memory, from the output of nm --format=sysv."""
    found = []
    if "Symbols from " not in listing:
        raise ValueError("this is not the output of nm --format=sysv")
    for row in (line.split("|") for line in listing.splitlines() if line.count("|") == 6):
        name, section = row[0].strip(), row[6].split()[0] if row[6].strip() else ""
        if section.startswith(READ_ONLY) or name.startswith(INSTRUMENTS):
            continue
        if any(section == w or section.startswith(w + ".") for w in WRITABLE):
            found.append((name, section))
    return found


def main(libraries):
    failed = False
    for library in libraries:
        listing = subprocess.run(["nm", "--format=sysv", library], check=True, capture_output=True, text=True).stdout
        for name, section in writable(listing):
            print(f"{library}: {name} is writable ({section})")
            failed = True
    print(f"{len(libraries)} libraries")
    sys.exit(1 if failed or not libraries else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
