#!/bin/sh
# A WebAssembly module gives the golden vectors, to the byte.
#
#     tests/wasm/run.sh FOLDER     builds there
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)

RUSTUP_TOOLCHAIN=nightly "$root/ffi/build-lib.sh" "$1" shared --target wasm32-unknown-unknown -Zbuild-std=core
node "$root/tests/wasm/golden.mjs" "$1/libundertone.wasm" "$root/tests/c/symbols.txt"
