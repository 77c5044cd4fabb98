"""Share of releases with the right label, by the number of sentences of the text.

    python3 host/lab/by_length.py CORPUS.jsonl.gz DECODED.jsonl [DECODED.jsonl ...]

CORPUS is the labelled corpus that `undertone release documents --messages` read; each DECODED is the output of `undertone decode`
for its releases. The script counts sentences by a simple rule of its own, without headers and quoted lines.
"""

import gzip
import json
import re
import sys

BINS = [(0, 2), (3, 5), (6, 10), (11, 20), (21, 10**9)]


def sentences(message):
    body = message.split("\n\n", 1)[-1]
    body = "\n".join(line for line in body.split("\n") if not line.startswith((">", ":", "|")))
    return sum(bool(re.search(r"\w", part)) for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", body))


corpus, *decoded = sys.argv[1:] or sys.exit(__doc__)
with gzip.open(corpus, "rt", encoding="utf-8") as file:
    documents = [json.loads(line) for line in file]
lengths = [sentences(document["text"]) for document in documents]
for path in decoded:
    with open(path, encoding="utf-8") as file:
        labels = [json.loads(line)["label"] for line in file]
    if len(labels) != len(documents):
        sys.exit(f"{path} has {len(labels)} lines, {corpus} {len(documents)}; decode the releases of the whole corpus")
    right = [label == document["label"] for label, document in zip(labels, documents)]
    cells = []
    for least, most in BINS:
        own = [r for r, length in zip(right, lengths) if least <= length <= most]
        cells.append(f"{least}-{most if most < 10**9 else ''}: {sum(own) / max(len(own), 1):.2f} of {len(own)}")
    print(f"{path}  {'  '.join(cells)}  all: {sum(right) / len(right):.2f}")
