"""Texts to try things with, all written for this project: 12 topics of 60 sentences."""

from __future__ import annotations

from typing import NamedTuple

from . import _undertone


class Corpus(NamedTuple):
    """Texts of 8 to 14 sentences, and what each is about."""

    texts: list[str]
    labels: list[str]


def public() -> Corpus:
    """480 public texts, 40 for each topic: what a pack is built from."""
    texts, labels = _undertone.demo_corpus(1)
    return Corpus(texts, [str(label) for label in labels])


def private(count: int = 10_000) -> Corpus:
    """Texts that stand for those of ``count`` people: half are about the first topic, a quarter
    about the second, and so on.

    In earnest nobody but their writers would have them, or their labels.
    """
    by_label: dict[str, list[str]] = {}
    for number in range(2, 6):
        for text, label in zip(*_undertone.demo_corpus(number)):
            by_label.setdefault(str(label), []).append(text)
    names = list(by_label)
    corpus = Corpus([], [])
    for place in range(count):
        # The number of trailing ones of the place: 0 for every second, 1 for every fourth, and so
        # on.
        name = names[((place + 1) & -(place + 1)).bit_length() % len(names) - 1]
        own = by_label[name]
        corpus.texts.append(own[place * 7919 % len(own)])
        corpus.labels.append(name)
    return corpus
