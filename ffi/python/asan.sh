#!/usr/bin/env bash
# The tests of the wheel in build/python, but for Spark's, with the module built under the address
# sanitizer: a mistake in an `unsafe` block, such as a view that outlives what it looks into, ends
# the run. Wants Rust's nightly and the library of GCC's sanitizer. Leaks are not looked for: Python
# leaves much to the end of its process.
#
#     ffi/python/asan.sh         from the top of the repository, after check.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
host=$(rustc +nightly --print host-tuple)
target=${CARGO_TARGET_DIR:-target}/asan
RUSTFLAGS="-Zsanitizer=address" PYO3_BUILD_EXTENSION_MODULE=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=line-tables-only \
    cargo +nightly build --quiet --release --manifest-path ffi/python/Cargo.toml --target "$host" --target-dir "$target"
module=build/asan/undertone
rm -rf "$module" && mkdir -p "$module"
cp ffi/python/python/undertone/* "$module"
cp "$target/$host/release/libundertone_python.so" "$module/_undertone.abi3.so"

export PYTHONPATH=$PWD/build/asan PYTHONMALLOC=malloc
# Child processes of Python also run under it.
export LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0
# Else the wheel would be tested, or nothing would be found.
build/python/bin/python - <<'PYTHON'
import subprocess, sys
import undertone._undertone as own
if "build/asan" not in own.__file__ or b"__asan_report_load8" not in open(own.__file__, "rb").read():
    sys.exit(f"{own.__file__} is not built under the sanitizer")
write = "import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; ctypes.memset(c.malloc(8), 0, 9)"
found = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True)
if "heap-buffer-overflow" not in found.stderr:
    sys.exit("the sanitizer finds no mistake")
PYTHON
build/python/bin/python -m pytest ffi/python/tests --ignore ffi/python/tests/test_spark.py "$@"
