#!/usr/bin/env bash
# Compares the recipes of host/estimate/sql with `undertone count`: DuckDB, and Spark with two
# executor processes.
#
#     tests/sql/run.sh              DuckDB
#     tests/sql/run.sh --spark      also Spark: half a gigabyte of packages, and Java
#
# UNDERTONE names the command, if it is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "${UNDERTONE:-}" ]; then
    cargo build --quiet
    UNDERTONE=${CARGO_TARGET_DIR:-target}/debug/undertone
fi
UNDERTONE=$(realpath "$UNDERTONE")
export UNDERTONE

# A fixed name, so that the packages are not fetched again at every run.
environment=${CARGO_TARGET_DIR:-target}/sql-environment
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
python=$(realpath "$environment")/bin/python
wanted=(duckdb==2.0.0)
[ "${1:-}" != --spark ] || wanted+=(pyspark==4.3.0 'pandas<3' 'pyarrow==26.*')
"$python" -m pip install --quiet --disable-pip-version-check "${wanted[@]}"
# Executors run the same Python.
PYSPARK_PYTHON=$python "$python" tests/sql/counts.py "$work" "$@"
