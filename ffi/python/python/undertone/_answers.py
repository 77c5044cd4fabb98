"""Counts of releases, what they say, and how many it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _undertone
from ._errors import short
from ._frames import Framed
from ._plots import plot_precision, plot_shares
from ._texts import Texts, labels_of, listed, numbers
from ._undertone import Candidates, Encoder, Pack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._forms import Form

Path = Union[str, bytes, "PathLike[str]", "PathLike[bytes]"]
Number = Union[float, str]
Progress = Callable[[str, int, int], Any]


def listed_paths(one_or_more: Union[Path, Sequence[Path]]) -> list[Path]:
    return [one_or_more] if isinstance(one_or_more, (str, bytes, PathLike)) else list(one_or_more)


def several(one_or_more: Any) -> list[Any]:
    return list(one_or_more) if isinstance(one_or_more, Iterable) else [one_or_more]


def with_forms(one_or_more: Any) -> tuple[list[Any], list[_undertone.Form]]:
    """Candidates or packs, and forms."""
    own = several(one_or_more)
    forms = [one._own for one in own if isinstance(getattr(one, "_own", None), _undertone.Form)]
    return [one for one in own if not isinstance(getattr(one, "_own", None), _undertone.Form)], forms


class Question:
    """Labelled **public** texts, by which estimates take the shares of these labels, also of ones
    that ``pack`` was not made for: ``--corpus`` of the command. The pack must not have been made
    from these texts.

    ``texts``: a column, as for :func:`undertone.privatize`; ``labels``: a label for each; texts
    without one do not count. ``encoder``: the one that the pack was built with, unless the pack
    reads text itself. ``first_sentences``: use only so many sentences of each text, as many as the
    released texts have; :func:`plan` takes several numbers, and plans for each.

    Raises ``TypeError`` and ``UndertoneError``.
    """

    def __init__(
        self,
        pack: Pack,
        texts: Texts,
        labels: Any,
        *,
        encoder: Optional[Encoder] = None,
        first_sentences: Union[int, Sequence[int]] = (),
        progress: Optional[Progress] = None,
    ) -> None:
        own = listed(texts, "texts")
        lengths = numbers(first_sentences)
        self._own = _undertone.Question(pack, own, labels_of(labels, len(own)), encoder, lengths, progress)


class Share(NamedTuple):
    """An estimated share, 0 to 1, and its interval; ``None`` where there is no interval."""

    name: str
    share: float
    low: Optional[float]
    high: Optional[float]


def _shares_of(tables: list[Any], of: str, slice: Union[None, str, Sequence[str]]) -> list[Share]:
    wanted = None if slice is None else [slice] if isinstance(slice, str) else [str(value) for value in slice]
    for table in tables:
        if table["slice"] == wanted:
            return [Share(row["name"], row["share"], row["low"], row["high"]) for row in table["shares"]]
    raise KeyError(f"no shares of {of} for slice {wanted}; see .data and .unanswered")


class Answered(Framed):
    """What is printed, drawn, or taken as numbers."""

    _answer: Union[_undertone.Answer, _undertone.PlanAnswer]

    def __init__(self, answer: Union[_undertone.Answer, _undertone.PlanAnswer]) -> None:
        self._answer = answer
        self.data: dict[str, Any] = json.loads(answer.json())

    def text(self) -> str:
        """In words."""
        raise NotImplementedError

    def html(self, *, byline: Sequence[str] = ()) -> str:
        """A page for people, with plots: HTML that needs no other file. ``byline`` stands below the
        headline, such as ``["2026-11-28", "topics", "Ada"]``."""
        raise NotImplementedError

    def json(self) -> str:
        """All numbers, for programs."""
        return self._answer.json()

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        # A page within the page of a notebook: neither has the styles of the other.
        return f'<iframe sandbox srcdoc="{escape(self.html())}" style="width: 100%; height: 40em; border: 0"></iframe>'


class Estimate(Answered):
    """What releases say. ``print`` it, draw it with ``html`` or ``plot``, or take the numbers.

    ``data`` has all numbers, in the form that the README of ``host/estimate`` describes.

    >>> estimate = ut.estimate("releases.jsonl", ut.Candidates.open("topics.candidates.safetensors"))
    >>> estimate.to_pandas().query("of == 'labels'")["share"].sum().round(6).item()
    1.0
    >>> estimate.to_polars().columns
    ['of', 'pack', 'name', 'share', 'low', 'high', 'unbiased']
    """

    _answer: _undertone.Answer

    def shares(
        self,
        of: Optional[str] = None,
        slice: Union[None, str, Sequence[str]] = None,
        *,
        attribute: Union[None, str, Sequence[str]] = None,
    ) -> list[Share]:
        """The shares of one table, in the order of the pack or form.

        ``of``: ``"labels"`` (what the texts are about) or ``"candidates"`` (what the pack's own
        classifier would have said of them); by default labels where they could be estimated.
        ``slice``: the value of the slice column, or of each of several; ``None`` for all releases.
        Of several packs, the first. ``attribute``: the shares of answers to this attribute of a
        form, or to both of a pair.

        Raises ``KeyError`` if there is no such table.
        """
        if attribute is not None:
            asked = [attribute] if isinstance(attribute, str) else list(attribute)
            tables = [table for table in self.data["answers"] if table["attributes"] == asked]
            return _shares_of(tables, f"answers to {short(asked)}", slice)
        if of is None:
            of = "labels" if self.data["labels"] else "candidates"
        if of not in ("labels", "candidates"):
            raise ValueError(f'of = {short(of)!r} is unknown; take "labels" or "candidates"')
        return _shares_of(self.data[of], of, slice)

    def plot(
        self,
        of: Optional[str] = None,
        slice: Union[None, str, Sequence[str]] = None,
        *,
        attribute: Union[None, str, Sequence[str]] = None,
        top: int = 10,
        ax: Optional[Axes] = None,
    ) -> Axes:
        """Draws the ``top`` most frequent shares of one table as bars, with their intervals.

        ``of``, ``slice`` and ``attribute`` are those of :meth:`shares`. ``ax``: the axes to draw
        on; by default those of a new figure. Returns them. Needs matplotlib.

        >>> estimate = ut.estimate("releases.jsonl", ut.Candidates.open("topics.candidates.safetensors"))
        >>> len(estimate.plot(top=5).patches)
        5
        """
        rows = sorted(self.shares(of, slice, attribute=attribute), key=lambda row: -row.share)
        return plot_shares(rows[:top], self.data["level"], ax)

    @property
    def unanswered(self) -> list[str]:
        """What could not be said, and why."""
        return list(self.data["unanswered"])

    def to_dict(self) -> dict[str, list[Any]]:
        """A row for each share of each table: ``of`` (the names of a form's attributes, joined by ×,
        for answers), ``pack`` (identifiers, joined by blanks, or the form's), a column for each
        slice (``None`` for all), ``name``, ``share``, ``low``, ``high``, ``unbiased``."""
        slices: list[str] = self.data["slices"]
        columns: dict[str, list[Any]] = {
            name: [] for name in ["of", "pack", *slices, "name", "share", "low", "high", "unbiased"]
        }
        for of in ("candidates", "answers", "labels"):
            for table in self.data[of]:
                values = table["slice"] or [None] * len(slices)
                packs = " ".join(table["packs"]) if "packs" in table else table.get("pack") or table["form"]
                for row in table["shares"]:
                    columns["of"].append(" × ".join(table["attributes"]) if of == "answers" else of)
                    columns["pack"].append(packs)
                    for name, value in zip(slices, values):
                        columns[name].append(value)
                    for name in ("name", "share", "low", "high", "unbiased"):
                        columns[name].append(row.get(name))
        return columns

    def text(self, top: int = 10) -> str:
        """In words, with the ``top`` most frequent answers of each table."""
        return self._answer.text(top)

    def html(self, top: int = 10, *, byline: Sequence[str] = ()) -> str:
        """A page for people, with plots: HTML that needs no other file. ``byline`` stands below the
        headline, such as ``["2026-11-28", "topics", "Ada"]``."""
        return self._answer.html(top, list(byline))

    def __repr__(self) -> str:
        return f"Estimate({self.data['releases']} releases)"


class PlanOf(Answered):
    """How many devices it takes, for each way to release and to estimate. ``data`` has all
    numbers."""

    _answer: _undertone.PlanAnswer

    def to_dict(self) -> dict[str, list[Any]]:
        """A row for each way: ``epsilon``, ``shares_of``, ``sentences`` (released of each text;
        ``None``: any number), ``mechanism``, ``rule``, ``order``, ``devices`` (``None``: no number
        is enough) and ``limit``, the precision of any number of devices. Of a form, a row for each
        question and epsilon, with ``error_times_root``: the standard error of a small share times
        the square root of the number of devices."""
        if "questions" in self.data:
            rows = [{**row, "attributes": " × ".join(row["attributes"])} for row in self.data["questions"]]
            # Those that a table has a column for.
            return {name: [row[name] for row in rows] for name in rows[0] if name != "precision"}
        names = ["epsilon", "shares_of", "sentences", "mechanism", "rule", "order", "devices", "limit"]
        columns: dict[str, list[Any]] = {name: [way[name] for way in self.data["ways"]] for name in names}
        columns["rule"] = [_undertone.RULES[numbers] for numbers in zip(columns["mechanism"], columns["rule"])]
        columns["mechanism"] = [_undertone.MECHANISMS[number] for number in columns["mechanism"]]
        return columns

    def text(self) -> str:
        """In words."""
        return self._answer.text()

    def html(self, *, byline: Sequence[str] = ()) -> str:
        """A page for people, with plots: HTML that needs no other file. ``byline`` stands below the
        headline, such as ``["2026-11-28", "topics", "Ada"]``."""
        return self._answer.html(list(byline))

    def plot(self, *, ax: Optional[Axes] = None) -> Axes:
        """Draws the precision of shares by epsilon, that of the best way to release, with a line for
        each of the numbers of ``devices`` that :func:`plan` was given. ``ax``: the axes to draw on;
        by default those of a new figure. Returns them. Needs matplotlib.

        Raises ``ValueError`` if :func:`plan` was given none.

        >>> planned = ut.plan(ut.Candidates.open("topics.candidates.safetensors"), [1, 3], devices=1000)
        >>> [line.get_label() for line in planned.plot().lines]
        ['candidates, 1,000 devices', 'labels, 1,000 devices']
        """
        lines: dict[str, dict[float, float]] = {}
        for row in self.data.get("ways") or self.data["questions"]:
            of = row["shares_of"] if "shares_of" in row else " × ".join(row["attributes"])
            if row.get("sentences") is not None:
                of += f" of {row['sentences']} sentences"
            for precise in (own for own in row["precision"] if own["within"] is not None):
                line = lines.setdefault(f"{of}, {precise['devices']:,} devices", {})
                line[row["epsilon"]] = min(precise["within"], line.get(row["epsilon"], precise["within"]))
        if not lines:
            raise ValueError("there is no precision to draw; give plan numbers of devices")
        return plot_precision(lines, self.data["level"], ax)

    def __repr__(self) -> str:
        return f"PlanOf({len(self.data.get('ways') or self.data['questions'])} ways)"


class Counts(Framed):
    """How often each outcome was released, by kind of release and slice: all that an estimate
    needs."""

    def __init__(self, own: _undertone.Counts) -> None:
        self._own = own

    @classmethod
    def open(cls, path: Path) -> Counts:
        """Reads a file of counts: Parquet or CSV, by its ending."""
        return cls(_undertone.Counts.open(path))

    def save(self, path: Path) -> None:
        """Writes Parquet or CSV, by the ending; the file appears whole or not at all."""
        self._own.save(path)

    @property
    def total(self) -> int:
        """How many releases were counted."""
        return self._own.total

    @property
    def slices(self) -> list[str]:
        """The names of the slice columns."""
        return self._own.slices

    @property
    def rejected(self) -> dict[str, int]:
        """How many were not counted, by the reason."""
        return dict(self._own.rejected)

    def merge(self, other: Counts) -> Counts:
        """These counts and those of ``other``, which must have the same slices; ``rejected`` stays
        that of these."""
        return Counts(self._own.merge(other._own))

    def to_dict(self) -> dict[str, list[Any]]:
        """``pack``, ``mechanism``, ``rule``, ``epsilon``, ``order``, the slices, ``outcome``,
        ``count``."""
        return self._own.columns()

    def estimate(
        self,
        candidates: Union[Candidates, Form, Sequence[Union[Candidates, Form]]],
        *,
        level: float = 0.95,
        at_once: bool = False,
        difference: Union[bool, str] = False,
        question: Optional[Question] = None,
        alike: bool = False,
        progress: Optional[Progress] = None,
    ) -> Estimate:
        """What the counts say of the packs with these candidates, and of forms. The arguments are
        those of :func:`estimate`."""
        compare: Optional[str] = difference or None if isinstance(difference, str) else ("" if difference else None)
        asked = None if question is None else question._own
        packs, forms = with_forms(candidates)
        own = self._own.estimate(packs, forms, level, at_once, compare, asked, alike, progress)
        return Estimate(own)

    def __repr__(self) -> str:
        return f"Counts(total={self.total}, slices={self.slices})"


def count(
    paths: Union[Path, Sequence[Path]],
    *,
    by: Union[str, Sequence[str]] = (),
    packs: Union[Pack, Form, Sequence[Union[Pack, Form]]] = (),
    candidates: Union[Candidates, Form, Sequence[Union[Candidates, Form]]] = (),
    epsilon: Union[Number, Iterable[Number]] = (),
    format: Optional[str] = None,
    progress: Optional[Progress] = None,
) -> Counts:
    """Counts files of releases of any size, as a stream, as ``undertone count`` does.

    ``paths``: ``.jsonl`` (a release in hexadecimal digits in the field ``release``), ``.csv`` (the
    same in a column), ``.raw`` or ``.bin`` (24 bytes each), all gzipped or not; ``.parquet`` with a
    column ``release``; files of counts, which are added. ``format`` (``"jsonl"``, ``"csv"``,
    ``"raw"``, ``"parquet"``, ``"counts"``) says what they are, whatever their endings. ``by``:
    public fields to slice by. ``packs``, ``candidates``, both also with forms, and ``epsilon``:
    which releases to expect; all others are rejected. Name them: any client can send anything.

    What is no such release is counted in ``rejected`` and stops nothing. ``progress`` is called
    with what is done, how many steps are done, and how many there are (0: unknown). Raises
    ``UndertoneError``.

    >>> ut.count("releases.jsonl", by="day", packs=ut.Pack.open("topics.pack"), epsilon=3)
    Counts(total=200, slices=['day'])
    """
    paths = listed_paths(paths)
    by = [by] if isinstance(by, str) else list(by)
    packs, forms = with_forms(packs)
    candidates, more = with_forms(candidates)
    own = _undertone.count_files(paths, format, by, packs, candidates, forms + more, numbers(epsilon), progress)
    return Counts(own)


def estimate(
    paths: Union[Path, Sequence[Path]],
    candidates: Union[Candidates, Form, Sequence[Union[Candidates, Form]]],
    *,
    by: Union[str, Sequence[str]] = (),
    epsilon: Union[Number, Iterable[Number]] = (),
    format: Optional[str] = None,
    level: float = 0.95,
    at_once: bool = False,
    difference: Union[bool, str] = False,
    question: Optional[Question] = None,
    alike: bool = False,
    progress: Optional[Progress] = None,
) -> Estimate:
    """What files of releases say, as ``undertone estimate`` does. :func:`count` describes
    ``paths``, ``by`` and ``epsilon``.

    ``candidates``: those of every pack of the fleet, and its forms; other releases are rejected.
    ``level``: how often intervals are right, 0.5 to below 1. ``at_once``: all intervals hold
    together, and not each alone. ``difference``: ``True`` compares each slice with the first,
    ``"country=SE,NO"`` the second with the first of these. ``question``: the labels to estimate, in
    the place of those of the pack. ``alike``: also estimate the shares of labels for texts exactly
    like the public ones.

    Raises ``UndertoneError`` if nothing can be said, and why.

    >>> candidates = ut.Candidates.open("topics.candidates.safetensors")
    >>> ut.estimate("releases.jsonl", candidates, by="day", difference=True)
    Estimate(200 releases)
    """
    candidates = several(candidates)
    counted = count(paths, by=by, candidates=candidates, epsilon=epsilon, format=format, progress=progress)
    return counted.estimate(
        candidates,
        level=level,
        at_once=at_once,
        difference=difference,
        question=question,
        alike=alike,
        progress=progress,
    )


def plan(
    candidates: Union[Candidates, Form],
    epsilon: Union[Number, Iterable[Number]],
    *,
    within: float = 0.03,
    devices: Union[int, Iterable[int]] = (),
    shares: Optional[dict[str, float]] = None,
    delta: float = 1e-6,
    question: Optional[Question] = None,
    progress: Optional[Progress] = None,
) -> PlanOf:
    """Before anything is collected: how many devices it takes, as ``undertone plan devices`` does.

    ``epsilon``: the values to compare. ``within``: how far 95 of 100 estimated shares may lie from
    the truth, 0.000001 to 0.5; 0.03 is 3 percentage points. ``devices``: numbers of devices whose
    precision to say. ``shares``: guesses by name; all others share the rest equally. ``delta``: for
    what releases cost a user, the probability with which the promise with delta may fail, between 0
    and 1. ``question``: the labels to plan for, in the place of those of the pack. Of a form it
    plans each question, and ``shares``, ``delta`` and ``question`` have no effect.

    Raises ``UndertoneError`` for guesses that cannot be, or if nothing can be planned.

    >>> candidates = ut.Candidates.open("topics.candidates.safetensors")
    >>> sorted(set(ut.plan(candidates, epsilon=[1, 3], within=0.1).to_dict()["epsilon"]))
    [1.0, 3.0]
    """
    own: Any = candidates
    form = getattr(own, "_own", None)
    if isinstance(form, _undertone.Form):
        return PlanOf(_undertone.plan_form(form, numbers(epsilon), within, numbers(devices)))
    guesses = [f"{name}={share}" for name, share in (shares or {}).items()]
    asked = None if question is None else question._own
    return PlanOf(_undertone.plan(own, numbers(epsilon), within, numbers(devices), guesses, delta, asked, progress))
