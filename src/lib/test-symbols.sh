#!/bin/sh
# What the shared library exports is what the header declares and what the map names; nothing more, nothing less.
# usage: test-symbols.sh HEADER MAP LIBRARY
set -eu
LC_ALL=C
export LC_ALL
header=$1 map=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tr '\n' ' ' <"$header" | grep -o 'REC_PUBLIC [^;(]*(' | grep -o 'rec_[a-z0-9_]*($' | tr -d '(' | sort >"$work/header"
sed -n 's/^[[:space:]]*\(rec_[a-z0-9_]*\);$/\1/p' "$map" | sort >"$work/map"
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort >"$work/library"
test -s "$work/header"
diff "$work/header" "$work/map"
diff "$work/header" "$work/library"
