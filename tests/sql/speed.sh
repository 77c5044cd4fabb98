#!/usr/bin/env bash
# Times `undertone count` and DuckDB on the same generated releases: medians of five runs,
# alternating.
#
#     tests/sql/speed.sh             100 million, which takes 3 GB of disk for a while
#     tests/sql/speed.sh NUMBER
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d -p "${TMPDIR:-/tmp}")
trap 'rm -rf "$work"' EXIT
number=${1:-100000000}
target=${CARGO_TARGET_DIR:-target}

cargo build --release --quiet
cargo build --release --quiet --package undertone-estimate --example releases
environment=$target/sql-environment
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check duckdb==2.0.0
"$target/release/examples/releases" "$number" "$work/releases.raw"
"$environment/bin/python" tests/sql/speed.py "$target/release/undertone" "$target/release/examples/releases" "$work" "$number"
