#!/bin/sh
# Compares the cases that the tests of a face printed, each as a line "case NAME", with the lists of
# this folder. For faces whose tests run outside Rust; tests/src/faces.rs does the same for Rust.
#
#     tests/faces/ran.sh FACE <LOG
set -eu
here=$(dirname "$0")
# A name that no list has would have the cases of all faces.
awk -F' *[|] *' -v face="${1:-}" '/^[|] / && ++row > 2 && $2 == face { found = 1 } END { exit !found }' "$here/README.md" || {
    echo "\"${1:-}\" is no face; tests/faces/README.md lists them" >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The last cell of misuse.md names the faces that have a case or, after "not", those that lack it.
# The cases of the day are for all faces.
awk -F' *[|] *' -v face="$1" '/^[|] `/ {
    has = $5 == "" || $5 == "all"
    except = sub(/^not /, "", $5)
    if (has || except != (index(", " $5 ", ", ", " face ", ") > 0)) print "case " substr($2, 2, length($2) - 2)
}' "$here/misuse.md" "$here/keyboard-day.md" | LC_ALL=C sort >"$work/listed"
[ "$(wc -l <"$work/listed")" -gt 50 ] || { echo "tests/faces has hardly any cases for $1" >&2; exit 1; }
# Test runners may put marks before a line.
sed -n 's/^[# ]*\(case [a-z0-9_]*\)$/\1/p' | LC_ALL=C sort -u >"$work/ran"
diff "$work/listed" "$work/ran" || { echo "$1: the cases of tests/faces (<) are not those that ran (>)" >&2; exit 1; }
echo "$1: $(wc -l <"$work/ran") cases of tests/faces ran"
