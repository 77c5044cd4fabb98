#!/usr/bin/env bash
# Compares the public interface of core, ffi and host with the text files next to this script, and
# their documentation with the fixed headings. Requires the compiler of `rust-version`, whose JSON
# the test reads.
#
#     tests/public-api/run.sh                                fails if the interface has changed
#     UNDERTONE_WRITE_PUBLIC_API=1 tests/public-api/run.sh   records the interface
set -euo pipefail
cd "$(dirname "$0")/../.."

# Builds nothing beyond `cargo doc --workspace --all-features`. Broken links and public items
# without documentation are errors.
RUSTDOC=$PWD/tests/public-api/rustdoc RUSTDOCFLAGS="-D warnings -Zunstable-options --output-format json" \
    cargo doc --quiet --workspace --no-deps --all-features
UNDERTONE_RUSTDOC_JSON=${CARGO_TARGET_DIR:-target}/doc
UNDERTONE_RUSTDOC_JSON=$(cd "$UNDERTONE_RUSTDOC_JSON" && pwd)
export UNDERTONE_RUSTDOC_JSON
# With the packages and features of the README's test command, which has built most of it.
cargo test --workspace --all-features --lib --test all public_api:: -- --ignored
