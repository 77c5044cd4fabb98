"""Packs from public texts."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from . import _undertone
from ._answers import Path, Progress
from ._errors import short
from ._texts import Texts, labels_of, listed
from ._undertone import Candidates, Encoder, Pack


class Built(NamedTuple):
    """A pack for devices, and the candidates for the server."""

    pack: Pack
    candidates: Candidates

    def save(self, path: Path) -> None:
        """Writes the pack to ``path``, and its candidates beside it, with the ending
        ``.candidates.safetensors``."""
        _undertone.save_built(path, self.pack, self.candidates)


def build_pack(
    texts: Texts,
    labels: Optional[Any] = None,
    *,
    encoder: Optional[Encoder] = None,
    clusters: Optional[int] = None,
    unlabelled: str = "refuse",
    heads: str = "best",
    size: Optional[int] = None,
    nothing_known: Optional[bool] = None,
    seed: int = 1,
    progress: Optional[Progress] = None,
) -> Built:
    """Builds a pack from **public** texts, as ``undertone pack`` does.

    ``texts``: a column, as for :func:`undertone.privatize`. ``labels``: a label for each; they
    become the candidates. Without labels, or with ``clusters`` (at most 12800), clusters of texts
    do. If only some texts have a label, ``unlabelled="skip"`` leaves the others out. ``encoder``:
    by default the built-in lexicon for English, or whatever reads the texts best. ``heads``:
    ``"best"`` on held-out texts, where features are preferred for their size, or what they may
    read: ``"vectors"``, ``"features"``, ``"texts"`` (features of texts that are not split) or
    ``"both"``. ``size``: bytes that the pack may take at most; what does least is left out.
    ``nothing_known``: whether a text of which the pack recognises nothing has an outcome of its
    own; by default not if nearly all texts are recognised and labels are few. ``seed``: of first
    centres and what is held out; a pack is public.

    Packs that select by depth, trained heads and lexicons of another language are made by the
    command.

    ``progress`` is called with what is done, how many steps are done, and how many there are (0:
    unknown); what it raises stops the call, as Ctrl-C does.

    Raises ``TypeError`` and ``UndertoneError``: among others, if only some texts have a label.

    >>> public = ut.demo.public()
    >>> built = ut.build_pack(public.texts[::6], public.labels[::6], heads="features")
    >>> built.pack.candidate_count, built.candidates.names[:2]
    (12, ['astronomy', 'computers'])
    """
    if unlabelled not in ("refuse", "skip"):
        raise ValueError(f'unlabelled = {short(unlabelled)!r} is unknown; take "refuse" or "skip"')
    if unlabelled == "skip" and clusters is not None:
        raise ValueError('unlabelled = "skip" is for labels as candidates, not for clusters; leave one of them out')
    own = listed(texts, "texts")
    of_texts = labels_of(labels, len(own))
    skip = unlabelled == "skip"
    pack, candidates = _undertone.build_pack(own, of_texts, encoder, clusters, skip, heads, size, nothing_known, seed, progress)
    return Built(pack, candidates)
