"""Answers that an app already has: forms, and releases of answers to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import fsdecode
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _undertone
from ._answers import Estimate, Number, Path
from ._errors import ArgumentError, short
from ._frames import library
from ._releases import Releases, keep_paid
from ._texts import arrow_inside, blocks, of_arrow
from ._undertone import NO_ANSWER, Encoder, Ledger, Pack, Release

if TYPE_CHECKING:
    Codes = npt.NDArray[np.uint32]

#: Rows between two checks for signals and calls of ``progress``, and values that are read at once.
ROWS = 1 << 16


class Posterior(NamedTuple):
    """How probable each answer is, given one release."""

    attributes: tuple[str, ...]
    """The attribute, or the two of a pair."""
    probabilities: dict[str, float]
    """By the name of the answer, in the order of the form."""
    estimated: bool
    """Whether estimated shares were given; otherwise all answers count as equally frequent."""


class Form:
    """The attributes that people are asked for, and the categories of each: a public file.

    ``description``: a dictionary, or its JSON, such as ``{"attributes": [{"name": "language",
    "categories": ["de", "en"]}], "pairs": []}``; or the bytes of a form. An attribute may have a
    ``"weight"``, and a pair, such as ``{"first": "language", "second": "emoji"}``, asks for a cross
    table. One attribute may have ``"candidates"``, the path of a candidates file, in the place of
    categories: the *topic*, which a text answers. Raises ``UndertoneError`` for anything else.
    """

    def __init__(self, description: Union[Mapping[str, Any], str, bytes]) -> None:
        if isinstance(description, Mapping):
            description = json.dumps(description, default=fsdecode)
        data = description.encode() if isinstance(description, str) else description
        self._of(_undertone.Form(data))

    def _of(self, own: _undertone.Form) -> None:
        self._own = own
        #: The description.
        self.data: dict[str, Any] = json.loads(own.json())

    @classmethod
    def open(cls, path: Path) -> Form:
        """Reads a form, or its description in JSON, from a file."""
        form = cls.__new__(cls)
        form._of(_undertone.Form.open(path))
        return form

    def save(self, path: Path) -> None:
        """Writes the form in the format that devices read; the file appears whole or not at all."""
        self._own.save(path)

    @property
    def id(self) -> str:
        """16 hexadecimal digits, which releases have in the place of a pack's."""
        return self._own.id

    @property
    def attributes(self) -> dict[str, list[str]]:
        """The names of each attribute's categories."""
        return {own["name"]: own["categories"] for own in self.data["attributes"]}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of attributes with a cross table."""
        return [(own["first"], own["second"]) for own in self.data.get("pairs", [])]

    def release(
        self,
        answers: Any,
        epsilon: Number,
        *,
        pack: Optional[Pack] = None,
        encoder: Optional[Encoder] = None,
        ledger: Optional[Ledger] = None,
        threads: Optional[int] = None,
        progress: Optional[Callable[[int, int], Any]] = None,
    ) -> Any:
        """Releases an answer to one question of the form, drawn without looking at any answer.

        ``answers``: of one person, a dictionary of a value for each attribute, for one
        :class:`Release`; of many, a pandas or Polars data frame, an Arrow table or a dictionary of
        nothing but columns, for :class:`Releases`, in the order of the rows. A value is the name of a category
        or, unless the name of a category is a number, its number from 0. A missing or unknown value
        is "no answer", which is released like a category. Other columns are ignored.

        Guarantee: exchanging all answers of a person changes the probability of any release by at
        most a factor of e^epsilon, however many attributes there are. Several releases of one
        person add up.

        ``pack``: that of the form's topic, whose values are then texts, which the pack answers; a
        missing text counts as an empty one. Without it they are the names of candidates.

        ``encoder``, ``ledger``, of whole texts, ``threads``, ``progress`` and exceptions are as for
        :func:`undertone.privatize`. No exception depends on an answer. Raises ``ArgumentError`` for
        a column that is missing, columns of different lengths, and a name that is no attribute in
        the dictionary of one person.

        >>> form = ut.Form({"attributes": [{"name": "language", "categories": ["de", "en"]}]})
        >>> form.release({"language": ["de", None, "en"]}, epsilon=2)
        Releases(3, columns=[])
        """
        releaser = _undertone.FormReleaser(self._own, epsilon, threads)
        reader = self._reader(pack, encoder, threads)
        if isinstance(answers, Mapping) and not (answers and all(_is_column(value) for value in answers.values())):
            return _released(releaser, self._row(answers, reader), 1, ledger, None)[0]
        columns = [self._codes(place, name, _column(answers, name), reader) for place, name in enumerate(self.attributes)]
        count = len(columns[0])
        for name, column in zip(self.attributes, columns):
            if len(column) != count:
                raise ArgumentError(f"column {short(name)!r} has {len(column)} answers, and the first one {count}; give one for each", "argument")
        return _released(releaser, columns, count, ledger, progress)

    def _reader(self, pack: Optional[Pack], encoder: Optional[Encoder], threads: Optional[int]) -> Optional[_undertone.Releaser]:
        """What finds the topics of texts, which it does not release, so its epsilon is any."""
        if pack is None:
            if encoder is not None:
                raise ArgumentError("encoder does nothing without a pack; give one, or leave encoder out", "argument")
            return None
        reader = _undertone.Releaser(pack, 1, "whole-text", encoder, threads)
        reader.topics(self._own, [])  # Refuses another pack before anything is paid for.
        return reader

    def _block(self, attribute: int, values: list[Any], reader: Optional[_undertone.Releaser]) -> Codes:
        """The numbers of an attribute's answers. Those to the topic are texts if there is a reader."""
        if reader is None or "pack" not in self.data["attributes"][attribute]:
            return self._own.codes(attribute, values)
        return reader.topics(self._own, [value if isinstance(value, str) else "" for value in values])

    def _row(self, answers: Mapping[str, Any], reader: Optional[_undertone.Releaser]) -> list[Codes]:
        """The numbers of one person's answers, each a column."""
        unknown = [name for name in answers if name not in self.attributes]
        if unknown:
            raise ArgumentError(f"the form has no attribute {short(unknown[0])!r}, only {short(list(self.attributes))}", "argument")
        return [self._block(place, [answers.get(name)], reader) for place, name in enumerate(self.attributes)]

    def _codes(self, attribute: int, name: str, values: Any, reader: Optional[_undertone.Releaser]) -> Codes:
        """The numbers of a column's answers."""
        values = arrow_inside(values)
        if reader is None and hasattr(values, "dictionary_encode"):
            try:
                return self._of_arrow(attribute, values)
            except Exception:  # It may quote a value, and lists have no dictionary.
                pass
        codes = [self._block(attribute, block, reader) for block in blocks(values, ROWS, f"column {short(name)!r}")]
        return np.concatenate(codes) if codes else np.empty(0, np.uint32)

    def _of_arrow(self, attribute: int, values: Any) -> Codes:
        """Looks up each different value once."""
        arrow = library("pyarrow")
        encoded = values if arrow.types.is_dictionary(values.type) else values.dictionary_encode()
        codes = [np.empty(0, np.uint32)]
        for chunk in encoded.chunks if hasattr(encoded, "chunks") else [encoded]:
            known = of_arrow(chunk.dictionary)
            places = chunk.indices.cast(arrow.int64()).fill_null(len(known)).to_numpy()
            codes.append(np.append(self._own.codes(attribute, known), np.uint32(NO_ANSWER))[places])
        return np.concatenate(codes)

    def posterior(self, release: Release, estimate: Optional[Estimate] = None) -> Posterior:
        """How probable each answer to the question of a release is: in proportion to its share
        times the probability of the release. ``estimate``: the shares of all slices; without one,
        or if it has none of this question, all answers count as equally frequent.

        Raises ``ArgumentError`` for a release that is not of this form.
        """
        attributes, names, probabilities = self._own.posterior(release, None)
        tables = [] if estimate is None else estimate.data["answers"]
        wanted = (self.id, attributes, None)
        own = next((table for table in tables if (table["form"], table["attributes"], table["slice"]) == wanted), None)
        if own is not None:
            shares = [max(row["share"], 0.0) for row in own["shares"]]
            attributes, names, probabilities = self._own.posterior(release, shares)
        return Posterior(tuple(attributes), dict(zip(names, probabilities)), own is not None)

    def __bytes__(self) -> bytes:
        return bytes(self._own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __reduce__(self) -> tuple[type[Form], tuple[bytes]]:
        return (Form, (bytes(self),))

    def __repr__(self) -> str:
        return f"Form({short(list(self.attributes))})"


class AnswerReservoir:
    """The answer of one line of a slot to one question of a form, such as the emoji of a line:
    ``AnswerReservoir(form, slot, places)``. Question and line are drawn without looking at any answer.

    ``slot``, ``places`` and what to store are as for :class:`Reservoir`.

    >>> form = ut.Form({"attributes": [{"name": "language", "categories": ["de", "en"]}]})
    >>> reservoir = ut.AnswerReservoir(form, slot=2026, places=2)
    >>> for language in ["de", "de", "en", None]:
    ...     reservoir.push({"language": language})
    >>> reservoir.release(epsilon=2).mechanism
    'answer'
    """

    def __init__(self, form: Form, slot: int, places: int) -> None:
        self._form = form
        self._own = _undertone.AnswerReservoir(form._own, slot, places)

    @classmethod
    def read(cls, data: bytes, form: Form) -> AnswerReservoir:
        """Reads what ``bytes(reservoir)`` returned.

        Raises ``ArgumentError`` for bytes that are damaged or of another form.
        """
        reservoir = cls.__new__(cls)
        reservoir._form = form
        reservoir._own = _undertone.AnswerReservoir.read(data, form._own)
        return reservoir

    def push(self, answers: Mapping[str, Any], *, pack: Optional[Pack] = None, encoder: Optional[Encoder] = None) -> None:
        """Adds the answers of one line. The arguments are those of :meth:`Form.release`, with a
        dictionary. Push a line without an answer as well."""
        reader = self._form._reader(pack, encoder, 1)
        self._own.push([int(code[0]) for code in self._form._row(answers, reader)])

    def release(self, epsilon: Number, *, ledger: Optional[Ledger] = None) -> Release:
        """Releases the kept answer, after which the reservoir is of no use. Release even if nothing
        was pushed, and wipe what was stored.

        Guarantee: epsilon protects all answers of all lines of the slot together, and one line has
        the promise ln(1 + (e^epsilon - 1) / places).

        If ``ledger``, of whole texts, does not pay for it, the reservoir stays.
        """
        return self._own.release(epsilon, ledger)

    @property
    def slot(self) -> int:
        """The number of the slot."""
        return self._own.slot

    @property
    def places(self) -> int:
        """The number of places."""
        return self._own.places

    def __bytes__(self) -> bytes:
        return bytes(self._own)


def _is_column(value: Any) -> bool:
    """Whether it has several values. A string is one, and so is a number of NumPy."""
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, bytearray, Mapping)) and getattr(value, "ndim", 1) > 0


def _column(answers: Any, name: str) -> Any:
    """A column of a data frame or of a dictionary of columns."""
    names = getattr(answers, "column_names", None)  # PyArrow
    if names is None:
        names = getattr(answers, "columns", None)
    if names is None and isinstance(answers, Mapping):
        names = answers.keys()
    if names is None:
        raise TypeError(f"answers: expected a dictionary, a data frame or an Arrow table, not {short(type(answers).__name__)}")
    if name not in list(names):
        raise ArgumentError(f"there is no column {short(name)!r} for the attribute; add one, which may be empty", "argument")
    return answers[name]


def _released(
    releaser: _undertone.FormReleaser,
    columns: list[Codes],
    count: int,
    ledger: Optional[Ledger],
    progress: Optional[Callable[[int, int], Any]],
) -> Releases:
    # With a ledger it is filled in Rust, so that no signal comes between a payment and its release.
    drawn = bytearray()
    try:
        for start in range(0, count, ROWS):
            end = min(start + ROWS, count)
            if ledger is None:
                drawn += releaser.release(columns, start, end)
            else:
                ledger._release_answers(releaser, columns, start, end, drawn)
            if progress is not None:
                progress(end, count)
        return Releases(bytes(drawn))
    except BaseException as problem:
        if ledger is not None:
            keep_paid(problem, drawn)
        raise
