#!/usr/bin/env bash
# Runs the README's test command repeatedly, and stops at the first failure: no test may fail by
# chance, or because a machine is slow.
#
#     tests/repeat.sh N                             N times
#     tests/repeat.sh N --one-core-under-load       on one processor, next to a busy loop
#     tests/repeat.sh N [--one-core-under-load] -- --test all words::    with arguments for cargo
#
# Builds once, prints the time of each run, and stores the log of the last one in build/repeat.log.
set -euo pipefail
usage() { sed -n '5,7s/^# *//p' "$0" >&2; exit 2; }
[[ ${1-} =~ ^[1-9][0-9]*$ ]] || usage
times=$1
shift
load=
if [ "${1-}" = --one-core-under-load ]; then
    load=1
    shift
fi
[ $# = 0 ] || [ "$1" = -- ] || usage
shift $(($# > 0))
cd "$(dirname "$0")/.."

read -ra command < <(sed -n '/^<!-- ci:test -->/,/^```$/p' README.md | grep '^cargo ')
mkdir -p build
log=build/repeat.log
"${command[@]}" --no-run "$@"

if [ -n "$load" ]; then
    # All children of this process inherit this processor.
    processor=$(taskset -cp $$ | sed 's/.*: //; s/[^0-9].*//')
    taskset -cp "$processor" $$ >"$log"
    while :; do :; done &
    trap 'kill $!' EXIT
fi
for run in $(seq "$times"); do
    SECONDS=0
    if ! "${command[@]}" "$@" >"$log" 2>&1; then
        grep -E '^test .* FAILED$|panicked at|^error' "$log" || tail -n 20 "$log"
        echo "run $run of $times failed after $SECONDS s; see $log"
        exit 1
    fi
    echo "run $run of $times passed in $SECONDS s"
done
