"""Packs from public texts."""

from __future__ import annotations

from os import fspath
from typing import Any, NamedTuple, Optional

from . import _undertone
from ._answers import Path, Progress
from ._texts import Texts, listed
from ._undertone import Candidates, Encoder, Pack


class Built(NamedTuple):
    """A pack for devices, and the candidates for the server."""

    pack: Pack
    candidates: Candidates

    def save(self, path: Path) -> None:
        """Writes the pack to ``path``, and its candidates beside it, with the ending ``.candidates.safetensors``."""
        _undertone.save_built(fspath(path), self.pack, self.candidates)


def build_pack(
    texts: Texts,
    labels: Optional[Any] = None,
    *,
    encoder: Optional[Encoder] = None,
    clusters: Optional[int] = None,
    heads: str = "best",
    progress: Optional[Progress] = None,
) -> Built:
    """Builds a pack from **public** texts, as ``undertone pack`` does.

    ``texts``: a column, as for :func:`undertone.privatize`. ``labels``: a label for each; they become the candidates. Without labels, or with
    ``clusters`` (at most 12800), clusters of texts do. ``encoder``: by default the built-in lexicon for English, or whatever reads the texts best.
    ``heads``: ``"best"``, or what they may read: ``"vectors"``, ``"features"`` or ``"both"``.

    ``progress`` is called with what is done, how many steps are done, and how many there are (0: unknown); what it raises stops the call, as
    Ctrl-C does.

    Raises ``TypeError`` and ``UndertoneError``: among others, if only some texts have a label.
    """
    own = listed(texts)
    of_texts = [None] * len(own) if labels is None else [None if label is None else str(label) for label in listed(labels)]
    if len(of_texts) != len(own):
        raise ValueError(f"there are {len(of_texts)} labels for {len(own)} texts; give one for each")
    pack, candidates = _undertone.build_pack(own, of_texts, encoder, clusters, heads, progress)
    return Built(pack, candidates)
