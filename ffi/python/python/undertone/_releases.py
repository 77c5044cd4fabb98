"""Texts in, releases out; and releases as a server has them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _undertone
from ._answers import Counts, Estimate, Number, Path, Progress, Question, several
from ._errors import UndertoneError, short
from ._frames import Framed, library
from ._texts import Texts, blocks, count_of, is_missing, kind, listed
from ._undertone import Candidates, Encoder, Ledger, Pack, Release

if TYPE_CHECKING:
    import pyarrow

#: Bytes of a release.
BYTES = 24

#: Texts between two looks for signals, and between two calls of ``progress``: without an encoder, and where a text takes longer.
BLOCK = 2048
FEW = 64

#: The fields of a release, as core/FORMAT.md has them.
FIELDS = np.dtype(
    {
        "names": ["mechanism", "rule", "order", "epsilon", "outcome", "pack"],
        "formats": ["u1", "u1", "<u2", "<u4", "<u4", "V8"],
        "offsets": [4, 5, 6, 8, 12, 16],
        "itemsize": BYTES,
    }
)


class Releases(Framed):
    """Many releases, 24 bytes each, and public columns beside them.

    ``columns`` has a sequence for each name, with a value for every release: such as the day that each came in.
    """

    def __init__(self, data: bytes, columns: Optional[Mapping[str, Sequence[Any]]] = None) -> None:
        if len(data) % BYTES:
            raise ValueError(f"{len(data)} bytes are no whole number of releases of {BYTES} bytes")
        self._data = bytes(data)
        self.columns: dict[str, list[Any]] = {}
        #: How many lines or rows of a file were no release, by the reason.
        self.rejected: dict[str, int] = {}
        for name, values in (columns or {}).items():
            values = listed(values, f"column {short(name)!r}")
            if len(values) != len(self):
                raise ValueError(f"column {short(name)!r} has {len(values)} values for {len(self)} releases; give one for each")
            self.columns[name] = values

    def __len__(self) -> int:
        return len(self._data) // BYTES

    def __bytes__(self) -> bytes:
        return self._data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Releases) and (self._data, self.columns) == (other._data, other.columns)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, place: int) -> Release: ...
    @overload
    def __getitem__(self, place: slice) -> Releases: ...
    def __getitem__(self, place: Union[int, slice]) -> Union[Release, Releases]:
        if isinstance(place, slice):
            columns = {name: values[place] for name, values in self.columns.items()}
            return Releases(self.array[place].tobytes(), columns)
        return Release(self.array[place].tobytes())

    def __iter__(self) -> Iterator[Release]:
        return (self[place] for place in range(len(self)))

    def __add__(self, other: Releases) -> Releases:
        if set(self.columns) != set(other.columns):
            raise ValueError(f"releases with the columns {short(list(self.columns))} and {short(list(other.columns))} do not add up")
        columns = {name: values + other.columns[name] for name, values in self.columns.items()}
        return Releases(self._data + other._data, columns)

    @property
    def array(self) -> npt.NDArray[np.uint8]:
        """The bytes, ``[releases, 24]`` of uint8, without a copy; it cannot be written to."""
        return np.frombuffer(self._data, np.uint8).reshape(-1, BYTES)

    @property
    def fields(self) -> npt.NDArray[np.void]:
        """The fields of each, without a copy: ``mechanism``, ``rule``, ``order``, ``epsilon`` (in millionths), ``outcome`` (the number of
        the candidate, mostly) and ``pack``."""
        return np.frombuffer(self._data, FIELDS)

    def with_columns(self, **columns: Any) -> Releases:
        """The same releases with more public columns: each a list, a Series, a NumPy or Arrow array, or any iterable, with a value for every release."""
        return Releases(self._data, {**self.columns, **columns})

    def to_dict(self) -> dict[str, Any]:
        """``release`` (hexadecimal digits), ``pack``, ``mechanism``, ``rule``, ``epsilon``, ``order``, ``outcome``, and the columns."""
        fields = self.fields
        digits = self._data.hex()
        width = 2 * BYTES
        packs = self.array[:, 16:].tobytes().hex()
        return {
            "release": [digits[at : at + width] for at in range(0, len(digits), width)],
            "pack": [packs[at : at + 16] for at in range(0, len(packs), 16)],
            "mechanism": [_undertone.MECHANISMS.get(number, str(number)) for number in fields["mechanism"].tolist()],
            "rule": [_undertone.RULES.get(number, str(number)) for number in fields["rule"].tolist()],
            "epsilon": fields["epsilon"] / 1e6,
            "order": fields["order"].copy(),
            "outcome": fields["outcome"].copy(),
            **self.columns,
        }

    def to_arrow(self) -> pyarrow.Table:
        """``release`` as fixed-size binaries of 24 bytes, without a copy, and the columns, missing values as null: what ``count`` reads as Parquet. Needs PyArrow."""
        arrow = library("pyarrow")
        buffers = [None, arrow.py_buffer(self._data)]
        releases = arrow.FixedSizeBinaryArray.from_buffers(arrow.binary(BYTES), len(self), buffers)
        table: pyarrow.Table = arrow.table({"release": releases})
        for name, values in self.columns.items():
            column = arrow.array([None if is_missing(value) else value for value in values])
            # Readers know no type for a column of nothing but missing values.
            table = table.append_column(name, column.cast(arrow.string()) if arrow.types.is_null(column.type) else column)
        return table

    def save(self, path: Path) -> None:
        """Writes ``.raw`` (the bytes; columns are left out), ``.jsonl``, ``.csv`` or, with PyArrow, ``.parquet``."""
        path = fspath(path)
        if path.endswith(".raw"):
            with open(path, "wb") as file:
                file.write(self._data)
        elif path.endswith(".jsonl"):
            digits = self.to_dict()["release"]
            with open(path, "w", encoding="utf-8") as file:
                for place, release in enumerate(digits):
                    values = {name: _plain(values[place]) for name, values in self.columns.items()}
                    file.write(json.dumps({**values, "release": release}, default=str) + "\n")
        elif path.endswith(".csv"):
            digits = self.to_dict()["release"]
            with open(path, "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow([*self.columns, "release"])
                for row in zip(*self.columns.values(), digits):
                    # Truth values as they are in JSON; None is an empty cell.
                    rows.writerow([str(value).lower() if isinstance(value, bool) else value for value in map(_plain, row)])
        elif path.endswith(".parquet"):
            library("pyarrow.parquet").write_table(self.to_arrow(), path)
        else:
            raise ValueError(f"{short(path)!r} has an unknown ending; known are .raw, .jsonl, .csv and .parquet")

    def count(
        self,
        by: Union[str, Sequence[str]] = (),
        *,
        packs: Union[Pack, Sequence[Pack]] = (),
        candidates: Union[Candidates, Sequence[Candidates]] = (),
        epsilon: Iterable[Number] = (),
        progress: Optional[Progress] = None,
    ) -> Counts:
        """Counts the releases by these columns. What is expected is said as for :func:`undertone.count`."""
        by = [by] if isinstance(by, str) else list(by)
        missing = [name for name in by if name not in self.columns]
        if missing:
            raise ValueError(f"there is no column {short(missing[0])!r}; there are {short(list(self.columns))}")
        columns = [[_value(name, place, value) for place, value in enumerate(self.columns[name])] for name in by]
        own = _undertone.count_records(
            self._data, by, columns, several(packs, Pack), several(candidates, Candidates), list(epsilon), progress
        )
        return Counts(own)

    def estimate(
        self,
        candidates: Union[Candidates, Sequence[Candidates]],
        *,
        by: Union[str, Sequence[str]] = (),
        epsilon: Iterable[Number] = (),
        level: float = 0.95,
        at_once: bool = False,
        difference: Union[bool, str] = False,
        question: Optional[Question] = None,
        progress: Optional[Progress] = None,
    ) -> Estimate:
        """What the releases say. The arguments are those of :func:`undertone.estimate`, and ``by`` names columns."""
        candidates = several(candidates, Candidates)
        counted = self.count(by, candidates=candidates, epsilon=epsilon, progress=progress)
        return counted.estimate(
            candidates, level=level, at_once=at_once, difference=difference, question=question, progress=progress
        )

    def __repr__(self) -> str:
        return f"Releases({len(self)}, columns={list(self.columns)})"


def _plain(value: Any) -> Any:
    """A value as JSON and CSV have it: ``None`` if it is missing, dates as strings."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if is_missing(value):
        return None
    return str(value) if isinstance(value, (date, np.datetime64)) else value


def _value(name: str, place: int, value: Any) -> str:
    """The value of a slice, as in files of releases: a string, a whole number or a truth value; and dates, as strings."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if is_missing(value) or not isinstance(value, (str, int, np.integer, date, np.datetime64)):
        raise TypeError(f"column {short(name)!r}: row {place} is {kind(value)}; to slice by it, give strings, whole numbers, truth values or dates")
    return str(value)


def release(
    text: str,
    pack: Pack,
    epsilon: Number,
    *,
    rule: str = "recommended",
    encoder: Optional[Encoder] = None,
    ledger: Optional[Ledger] = None,
) -> Release:
    """Releases one private text.

    Guarantee: with ``rule`` ``"permute-and-flip"`` or ``"exponential"`` replacing any one sentence changes the probability of any release by at
    most a factor of e^epsilon; with ``"whole-text"`` or ``"projective"`` replacing the whole text does. ``pack.promise`` says both numbers.
    ``"recommended"`` is what the pack recommends, without a look at the text. Several releases of one text add up.

    ``epsilon``: 0.000001 to 1000, a number or its digits. ``encoder``: the one that the pack was built with; without it the pack reads the text
    itself, by its lexicon or its features. ``ledger``: pays for the release before it is drawn; without one nothing is counted. Texts are cut after 128 sentences; lone surrogates count as U+FFFD.

    Raises ``ArgumentError``, ``UndertoneError``, ``TypeError`` and, if the budget does not last, ``BudgetExhausted``; none depends on what the text says.

    Leaks: time depends on the text.
    """
    releaser = _undertone.Releaser(pack, epsilon, rule, encoder, 1)
    if ledger is None:
        return Release(releaser.release([text], 0))
    drawn, ended = ledger._release(releaser, [text], 0)
    if ended is not None:
        raise ended
    return Release(drawn)


def privatize(
    texts: Texts,
    pack: Pack,
    epsilon: Number,
    *,
    rule: str = "recommended",
    encoder: Optional[Encoder] = None,
    ledger: Optional[Ledger] = None,
    threads: Optional[int] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
) -> Releases:
    """Releases every text of a column: a list, a pandas or Polars Series, an Arrow array, any iterable of ``str``.

    The arguments, the guarantee and the leaks are those of :func:`release`, for each text. The random bytes come from the operating system; there
    is no seed. ``threads``: 1 to 1024, by default as many as there are processors. ``progress`` is called with how many texts are done and how many
    there are (0: unknown); what it raises stops the call. Ctrl-C does, too, after 2,048 texts at most, or 64 with an ``encoder``.

    With a ``ledger``, each text is paid for before its release is drawn, one after the other. An ``UndertoneError`` on the way, such as ``BudgetExhausted``, has in ``releases`` what was paid for.

    Raises ``TypeError`` for a value that is no ``str``, such as ``None`` or NaN, with its place: releases that were drawn until then are dropped, so look for
    missing texts before you spend a budget on others.
    """
    releaser = _undertone.Releaser(pack, epsilon, rule, encoder, threads)
    total = count_of(texts)
    drawn: list[bytes] = []
    done = 0
    for block in blocks(texts, BLOCK if encoder is None else FEW):
        if ledger is None:
            drawn.append(releaser.release(block, done))
        else:
            paid, ended = b"", None
            try:
                paid, ended = ledger._release(releaser, block, done)
            except UndertoneError as problem:
                # Closed meanwhile, such as by `progress`.
                ended = problem
            drawn.append(paid)
            if isinstance(ended, UndertoneError):
                ended.releases = Releases(b"".join(drawn))
            if ended is not None:
                raise ended
        done += len(block)
        if progress is not None:
            progress(done, total)
    return Releases(b"".join(drawn))


def read_releases(
    paths: Union[Path, Sequence[Path]], columns: Union[str, Sequence[str]] = (), *, format: Optional[str] = None
) -> Releases:
    """Reads files of releases into memory: ``.jsonl``, ``.csv``, ``.raw`` and ``.bin``, gzipped or not, and ``.parquet``.

    ``columns``: fields to keep beside the releases, by name or by a path with dots; ``None`` where a line has none. ``format``: ``"jsonl"``, ``"csv"``,
    ``"raw"`` or ``"parquet"``, whatever the ending. Cells of CSV are strings; dates and time stamps of Parquet, too. What is no release is counted in ``rejected`` and left out. For files that do not fit into memory take :func:`undertone.count`.

    Raises ``UndertoneError`` if a file cannot be read.
    """
    paths = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    columns = [columns] if isinstance(columns, str) else list(columns)
    data: list[bytes] = []
    kept: dict[str, list[Any]] = {name: [] for name in columns}
    rejected: dict[str, int] = {}
    for path in paths:
        read, values, wrong = _undertone.read_file(path, format or _undertone.format_of(path), columns)
        data.append(read)
        for name, column in zip(columns, values):
            kept[name] += [None if value is None else json.loads(value) for value in column]
        for reason, found in wrong:
            rejected[reason] = rejected.get(reason, 0) + found
    releases = Releases(b"".join(data), kept)
    releases.rejected = rejected
    return releases
