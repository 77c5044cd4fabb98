#!/usr/bin/env bash
# Writes bills of materials, in CycloneDX 1.5, for the C library (on all targets, with Java) and for
# the command, and checks them against the schema and against core/DEPENDENCIES.md.
#
#     tests/sbom.sh FOLDER        writes libundertone.cdx.json and undertone.cdx.json
#
# Requires cargo-cyclonedx and Python with venv. Not in .ci/run, because that tool takes minutes to
# compile.
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
command -v cargo-cyclonedx >/dev/null || {
    echo "no cargo-cyclonedx: cargo install cargo-cyclonedx --version 0.5.9 --locked" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# It writes next to every Cargo.toml, so run it in a copy.
git ls-files -z -- Cargo.toml Cargo.lock rust-toolchain.toml core ffi host include tests |
    tar --null -T - -cf - | tar -xf - -C "$work"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
bill() {
    # Not through cargo, which searches elsewhere first.
    (cd "$work" && cargo-cyclonedx cyclonedx --quiet --format json --spec-version 1.5 "${@:3}" --manifest-path "$1/Cargo.toml")
    # The path of the build differs between machines and is private.
    sed "s|$work||g" "$work/$1"/*.cdx.json >"$folder/$2"
    find "$work" -name '*.cdx.json' -delete
}
bill ffi libundertone.cdx.json --target all --features panic-handler,jni
bill host/cli undertone.cdx.json

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet 'cyclonedx-python-lib[json-validation]==11.12.0'
"$work/venv/bin/python" - "$folder" <<'PYTHON'
import json, pathlib, re, sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

folder = pathlib.Path(sys.argv[1])
validator = JsonStrictValidator(SchemaVersion.V1_5)


def checked(name):
    text = (folder / name).read_text()
    problem = validator.validate_str(text)
    if problem is not None:
        sys.exit(f"{name} is not CycloneDX 1.5: {problem}")
    bill = json.loads(text)
    for part in bill["components"]:
        # Crates from the registry have their digest there.
        own = part["bom-ref"].startswith("path+")
        if not own and not part.get("hashes"):
            sys.exit(f"{name}: {part['name']} has no digest")
    names = {part["name"] for part in bill["components"]}
    print(f"{name}: {bill['metadata']['component']['name']} and {len(bill['components'])} crates")
    return names


# An empty bill, or one of another library, would be valid.
if validator.validate_str('{"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [{}]}') is None:
    sys.exit("the validator takes anything")
page = pathlib.Path("core/DEPENDENCIES.md").read_text()
listed = set(re.findall(r"^\| ([a-z][a-z0-9_-]*) \| (?!for)", page, re.MULTILINE)) - {"crate"}
library = checked("libundertone.cdx.json") - {"undertone-core"}
if library != listed:
    sys.exit(f"core/DEPENDENCIES.md and the bill differ in {sorted(library ^ listed)}")
if not {"undertone", "undertone-core", "chacha20"} <= checked("undertone.cdx.json"):
    sys.exit("the bill of the command lacks its own crates")
PYTHON
