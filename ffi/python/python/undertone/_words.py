"""Private words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Optional

from . import _undertone
from ._answers import Number
from ._releases import FEW
from ._texts import Texts, blocks, count_of, listed
from ._undertone import Pack


class Bags(NamedTuple):
    """Bags of words, one for each text."""

    #: What leaves the device, a release for each text.
    releases: list[bytes]
    #: The words of each, sorted.
    words: list[list[str]]
    #: What they promise.
    guarantee: str
    #: Set if the promise is weak.
    warning: Optional[str]


def obfuscate(
    texts: Texts,
    pack: Pack,
    epsilon: Number,
    *,
    words: int = 50,
    rule: str = "permute-and-flip",
    stop_words: Optional[Iterable[str]] = None,
    keep: Optional[Iterable[str]] = None,
    threads: Optional[int] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
) -> Bags:
    """Releases every text as a bag of ``words`` words (1 to 256) of similar meaning, as ``undertone
    obfuscate`` does.

    Guarantee: metric. ``epsilon`` counts per unit of distance between word vectors; unrelated words
    may hardly be protected, which ``guarantee`` says in numbers. ``pack`` has a lexicon. ``rule``:
    ``"permute-and-flip"``, ``"exponential"`` or ``"laplace"``. ``stop_words`` do not count (by
    default NLTK's for English); of all others only those of ``keep`` do, if it is given.

    ``threads`` and ``progress`` are those of :func:`undertone.privatize`.

    Raises ``ArgumentError``, ``UndertoneError`` and ``TypeError``; none depends on what a text
    says. Leaks: time depends on the texts.
    """
    stop = None if stop_words is None else listed(stop_words, "stop_words")
    own = _undertone.Obfuscator(pack, words, epsilon, rule, stop, None if keep is None else listed(keep, "keep"), threads)
    total = count_of(texts)
    releases: list[bytes] = []
    for block in blocks(texts, FEW):
        releases += own.release(block, len(releases))
        if progress is not None:
            progress(len(releases), total)
    return Bags(releases, [own.words(bag) for bag in releases], *own.guarantee())
