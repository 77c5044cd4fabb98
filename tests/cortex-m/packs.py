#!/usr/bin/env python3
"""Writes the packs that measure.c takes, of sizes as apps have them, into a folder.

    python3 packs.py FOLDER

    small.pack, large.pack      depth, d = 768, p = 100, m = 60 and 5000
    scores.pack                 scores, d = 384, 20 candidates, and a lexicon of 2000 words
    features.pack               the same with 8000 features
    projection.pack             384 to 64 coordinates
    news.pack                   what 20 Newsgroups takes: depth, d = 384, p = 50, m = 5000
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
sys.dont_write_bytecode = True
import golden  # noqa: E402

RANDOM = random.Random(1)


def rows(n, columns, size):
    return [[RANDOM.randint(-size, size) for _ in range(columns)] for _ in range(n)]


def depth(d, p, m):
    return {
        "exponent": 8,
        "shift": 8,
        "directions": rows(p, d, 2000),
        "boundaries": [[(i - 127) * 400 for i in range(255)] for _ in range(p)],
        "codes": [RANDOM.randbytes(m) for _ in range(p)],
    }


def scores(d, candidates):
    return {
        "exponent": 9,
        "centre": rows(1, d, 40)[0],
        "weights": rows(candidates, d, 127),
        "bias": rows(1, candidates, 2000)[0],
        "thresholds": [1500 * j for j in range(1, 9)],
    }


def features(candidates, count):
    """Every bucket as full, and the features of what measure.c says among them; 3 weights a row."""
    bits = 9
    kinds = (1, 1, 1, 1, 4)
    text = "word1 word22 word333 word444 word55 word6 word777 word888 nothing"
    places = {value >> 16 - bits for value in golden.features_of_text(text, kinds)}
    while len(places) < count:
        places.add(RANDOM.getrandbits(bits + 16))
    some = [RANDOM.sample(range(candidates), 3) for _ in places]
    return {
        "kinds": kinds,
        "bucket_bits": bits,
        "shift": 22,
        "rows": {place: [RANDOM.randint(1, 127) if c in row else 0 for c in range(candidates)]
                 for place, row in zip(sorted(places), some)},
        "scales": [8000] * candidates,
    }


def lexicon(d, words):
    return {"exponent": -14, "words": {
        f"word{i}": (RANDOM.randint(500, 65535), rows(1, d, 127)[0]) for i in range(words)}}


def pack(dimension, *sections):
    golden.D = dimension
    return golden.write_pack(sections)


def main():
    folder = pathlib.Path(sys.argv[1])
    files = {
        "small": pack(768, golden.depth_section(depth(768, 100, 60))),
        "large": pack(768, golden.depth_section(depth(768, 100, 5000))),
        "scores": pack(384, golden.lexicon_section(lexicon(384, 2000)),
                       golden.scores_section(scores(384, 20))),
        "features": pack(384, golden.scores_section(scores(384, 20), True),
                         golden.features_section(features(20, 8000)),
                         golden.lexicon_section(lexicon(384, 2000))),
        "projection": pack(384, golden.projection_section(
            {"exponent": -13, "bound_exponent": 0, "rows": rows(64, 384, 2000)})),
        "news": pack(384, golden.depth_section(depth(384, 50, 5000))),
    }
    for name, content in files.items():
        (folder / f"{name}.pack").write_bytes(content)


main()
