#!/usr/bin/env bash
# The public interface of core, ffi and host against the text files beside this script, and their documentation
# against the fixed headings. Wants the compiler of `rust-version`, whose JSON the test reads.
#
#     tests/public-api/run.sh                                fails if the interface is not the recorded one
#     UNDERTONE_WRITE_PUBLIC_API=1 tests/public-api/run.sh   records it
set -euo pipefail
cd "$(dirname "$0")/../.."

# All that is built is what `cargo doc --workspace --all-features` builds, too.
RUSTDOC=$PWD/tests/public-api/rustdoc RUSTDOCFLAGS="-Zunstable-options --output-format json" \
    cargo doc --quiet --workspace --no-deps --all-features
UNDERTONE_RUSTDOC_JSON=${CARGO_TARGET_DIR:-target}/doc
UNDERTONE_RUSTDOC_JSON=$(cd "$UNDERTONE_RUSTDOC_JSON" && pwd)
export UNDERTONE_RUSTDOC_JSON
# With the packages and features of the README's test command, for which most is built then.
cargo test --workspace --all-features --lib --test public_api -- --ignored
