#!/bin/sh
# Builds the playground into FILE. Needs dist/ (build.sh), and a pack of `undertone demo --save
# NAME.pack` with its table of candidates.
#
#     scripts/playground.sh NAME.pack CANDIDATES.tsv FILE.html
set -eu
[ $# = 3 ] || { echo "usage: $0 NAME.pack CANDIDATES.tsv FILE.html" >&2; exit 2; }
here=$(cd "$(dirname "$0")/.." && pwd)

cd "$here"
export RUSTUP_TOOLCHAIN="${RUSTUP_TOOLCHAIN:-nightly}" CARGO_PROFILE_EMBED_STRIP=symbols
messages=$(cargo rustc --manifest-path laws/Cargo.toml --profile embed --crate-type cdylib \
    --target wasm32-unknown-unknown -Zbuild-std=std,panic_abort --message-format json-render-diagnostics)
laws=$(echo "$messages" | sed -n 's/.*"filenames":\["\([^"]*undertone_web_laws\.wasm\)".*/\1/p')
cd - >/dev/null
node "$here/playground/build.mjs" "$laws" "$1" "$2" "$here/../../host/assets/demo-private.txt" "$3"
