#!/usr/bin/env bash
# Makes the packs of this folder from public texts and measures them on separate test parts.
#
#     host/packs/build.sh DATA FOLDER
#
# DATA has CLINC150 and SIB-200 as JSON lines: clinc150.{train,val,test}.jsonl.gz with "text",
# "label" and "domain", and sib200.LANGUAGE.{train,dev,test}.jsonl.gz with "text", "label" and an
# "id" that ends with the number of the sentence. The list of emoji comes from npm. The script
# writes NAME.pack, NAME.candidates.safetensors, emoji.form and measurements, NAME.txt, into FOLDER.
set -euo pipefail
[ $# = 2 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
data=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
undertone() { cargo run --release --quiet -- "$@"; }

lines() { zcat "$data"/clinc150."$1".jsonl.gz; }
{ lines train; lines val; } >"$work/assistant.train.jsonl"
lines test >"$work/assistant.test.jsonl"
undertone pack --corpus "$work/assistant.train.jsonl" --label-field domain --heads features --size 60000 \
    --out "$out/assistant.en.pack"
undertone measure --pack "$out/assistant.en.pack" --corpus "$work/assistant.test.jsonl" --label-field domain \
    >"$out/assistant.en.txt"
undertone measure --pack "$out/assistant.en.pack" --corpus "$work/assistant.test.jsonl" --label-field domain \
    --misspelt 0.2 >"$out/assistant.en.misspelt.txt"

undertone pack --corpus "$work/assistant.train.jsonl" --heads features --size 200000 --out "$out/intents.en.pack"
undertone measure --pack "$out/intents.en.pack" --corpus "$work/assistant.test.jsonl" >"$out/intents.en.txt"

# A sentence has the same number in all languages, and stays in one fold by it.
numbered() { zcat "$@" | sed -E 's/"id": "[^"]*-([0-9]+)"/"id": "\1"/'; }
numbered "$data"/sib200.*.{train,dev}.jsonl.gz >"$work/topics.train.jsonl"
undertone pack --corpus "$work/topics.train.jsonl" --heads features --size 200000 --out "$out/topics.12.pack"
: >"$out/topics.12.txt"
for test in "$data"/sib200.*.test.jsonl.gz; do
    language=${test##*sib200.}
    numbered "$test" >"$work/test.jsonl"
    { echo "${language%%.*}"; undertone measure --pack "$out/topics.12.pack" --corpus "$work/test.jsonl"; } \
        >>"$out/topics.12.txt"
done

# Unicode's list, without skin tones.
(cd "$work" && npm pack --silent unicode-emoji-json@0.9.0 >/dev/null && tar -xzf unicode-emoji-json-0.9.0.tgz)
list=$work/package/data-ordered-emoji.json
sha256sum --check --quiet <<<"c5f95dabf613be12058d024fcae8985106139e4129a38ebe75029ed5dd8a0408  $list"
printf '{"attributes": [{"name": "emoji", "categories": %s}]}' "$(cat "$list")" >"$work/emoji.json"
undertone inspect "$work/emoji.json" --epsilon 4 --out "$out/emoji.form" >/dev/null
undertone plan devices --form "$out/emoji.form" --epsilon 1,3,4 --within 0.01 --devices 10000,1000000 >"$out/emoji.txt"
