#!/usr/bin/env bash
# Runs the README's test command repeatedly, and stops at the first failure: no test may fail by
# chance, or because a machine is slow.
#
#     tests/repeat.sh N                             until N runs in a row have passed
#     tests/repeat.sh N --one-core-under-load       on one processor, next to a busy loop
#     tests/repeat.sh N [--one-core-under-load] -- --test all words::    with arguments for cargo
#
# Builds once, prints the time of each run, and stores the log of the last one in build/repeat.log.
# Runs of the whole command with everything committed are added to tests/notes/repeats.md. A series
# of runs with the same sources may be interrupted and continued, even on another machine; a failure
# restarts it. Sources are all files except tests/notes and fuzz/corpora.tar.gz, which it ignores.
set -euo pipefail
usage() { sed -n '5,7s/^# *//p' "$0" >&2; exit 2; }
[[ ${1-} =~ ^[1-9][0-9]*$ ]] || usage
times=$1
shift
load= mode="all processors"
if [ "${1-}" = --one-core-under-load ]; then
    load=1 mode="one processor under load"
    shift
fi
[ $# = 0 ] || [ "$1" = -- ] || usage
shift $(($# > 0))
cd "$(dirname "$0")/.."

read -ra command < <(sed -n '/^<!-- ci:test -->/,/^```$/p' README.md | grep '^cargo ')
mkdir -p build
log=build/repeat.log
"${command[@]}" --no-run "$@"

notes=tests/notes/repeats.md
files=(. ":!tests/notes" ":!fuzz/corpora.tar.gz")
if [ $# = 0 ] && [ -z "$(git status --porcelain -- "${files[@]}")" ]; then
    sources=$(git ls-files -s -- "${files[@]}" | git hash-object --stdin | cut -c -12)
else
    sources=
    echo "not written to $notes: not the whole command, or something is not committed"
fi
# Counts the last runs in this mode that passed with these sources.
in_a_row() {
    [ -n "$sources" ] || { echo "$passed"; return; }
    awk -F' *[|] *' -v sources="$sources" -v mode="$mode" '
        $4 == mode { row = $3 == sources && $6 == "passed" ? row + 1 : 0 }
        END { print row + 0 }' "$notes"
}
record() { # RESULT
    [ -n "$sources" ] || return 0
    echo "| $(date -u +%Y-%m-%dT%H:%MZ) | $sources | $mode | $SECONDS | $1 |" >>"$notes"
}

if [ -n "$load" ]; then
    # All children of this process inherit this processor.
    processor=$(taskset -cp $$ | sed 's/.*: //; s/[^0-9].*//')
    taskset -cp "$processor" $$ >"$log"
    while :; do :; done &
    trap 'kill $!' EXIT
fi
passed=0
while row=$(in_a_row) && [ "$row" -lt "$times" ]; do
    SECONDS=0
    if ! "${command[@]}" "$@" >"$log" 2>&1; then
        record failed
        grep -E '^test .* FAILED$|panicked at|^error' "$log" || tail -n 20 "$log"
        echo "run $((row + 1)) of $times failed after $SECONDS s; see $log"
        exit 1
    fi
    passed=$((passed + 1))
    record passed
    echo "run $((row + 1)) of $times passed in $SECONDS s"
done
echo "$row in a row have passed"
