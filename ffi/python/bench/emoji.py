"""Shares of 2,600 emoji from a million devices with a Zipf law, at epsilon 4: the error of rare ones times the root of
the number of devices, and how often the intervals of the twenty most frequent contain the truth.

    build/python/bin/python ffi/python/bench/emoji.py [POPULATIONS]
"""

from __future__ import annotations

import sys

import numpy as np

import undertone as ut

EMOJI = 2_600
DEVICES = 1_000_000
FREQUENT = 20
#: Emoji from this rank on are rare: their shares are below 1 in 8,000.
RARE = 1_000


def main() -> None:
    form = ut.Form({"attributes": [{"name": "emoji", "categories": [f"emoji {rank}" for rank in range(EMOJI)]}]})
    random = np.random.default_rng(1)
    weights = 1 / np.arange(1, EMOJI + 1)
    covered, squares = 0, []
    populations = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for _ in range(populations):
        answers = random.choice(EMOJI, size=DEVICES, p=weights / weights.sum())
        truth = np.bincount(answers, minlength=EMOJI + 1) / DEVICES
        rows = form.release({"emoji": answers}, 4).estimate(form).data["answers"][0]["shares"]
        covered += sum(row["low"] <= share <= row["high"] for row, share in zip(rows[:FREQUENT], truth))
        squares.append(np.mean([(row["unbiased"] - share) ** 2 for row, share in zip(rows[RARE:], truth[RARE:])]))
    print(f"error {np.sqrt(np.mean(squares) * DEVICES):.3f}; {covered} of {FREQUENT * populations} intervals contain the truth")


main()
