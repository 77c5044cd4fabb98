"""Texts in, releases out; and releases as a server has them."""

from __future__ import annotations

import csv
import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from os import fsdecode
from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _undertone
from ._answers import Counts, Estimate, Number, Path, Progress, Question, listed_paths, several, with_forms
from ._errors import short
from ._files import whole
from ._frames import Framed, library
from ._texts import Texts, blocks, count_of, is_column, is_missing, kind, listed, numbers
from ._undertone import RELEASE_BYTES as BYTES
from ._undertone import Candidates, Encoder, Ledger, Pack, Release

if TYPE_CHECKING:
    import pyarrow

    from ._forms import Form

#: Texts between two checks for signals and calls of ``progress``: without an encoder, and with one.
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

#: The columns of ``to_dict`` and of files.
OWN = ("release", "pack", "mechanism", "rule", "epsilon", "order", "outcome")


def _check_names(names: Iterable[str]) -> None:
    own = [name for name in names if name in OWN]
    if own:
        raise ValueError(f"a column is called {own[0]!r}, as a field of releases is; rename it (the fields are {', '.join(OWN)})")


class Releases(Framed):
    """Many releases, 24 bytes each, and public columns beside them.

    ``columns`` has a sequence for each name, with a value for every release: such as the day that
    each came in. No name is that of a field.

    ``releases[3]`` is one :class:`Release`. A slice, a mask (a truth value for each), or a column
    of places gives their releases, with the columns.
    """

    def __init__(self, data: Union[bytes, bytearray, memoryview, npt.NDArray[Any]], columns: Optional[Mapping[str, Sequence[Any]]] = None) -> None:
        buffer: Any = data
        self._data = data if isinstance(data, bytes) else memoryview(buffer).tobytes()
        if len(self._data) % BYTES:
            raise ValueError(f"{len(self._data)} bytes are no whole number of releases of {BYTES} bytes")
        _check_names(columns or ())
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
    def __getitem__(self, place: Union[int, np.integer[Any]]) -> Release: ...
    @overload
    def __getitem__(self, place: Union[slice, Iterable[Any]]) -> Releases: ...
    def __getitem__(self, place: Union[int, np.integer[Any], slice, Iterable[Any]]) -> Union[Release, Releases]:
        if isinstance(place, slice):
            places = np.arange(len(self))[place]
        elif hasattr(place, "__index__") and getattr(place, "ndim", 0) == 0:
            return Release(self.array[operator.index(place)].tobytes())  # type: ignore[arg-type]
        else:
            places = self._places(listed(place, "places"))
        columns = {name: [values[own] for own in places.tolist()] for name, values in self.columns.items()}
        return Releases(self.array[places].tobytes(), columns)

    def _places(self, wanted: list[Any]) -> npt.NDArray[np.intp]:
        """The places that a mask or a list of places names."""
        truths = [isinstance(own, (bool, np.bool_)) for own in wanted]
        if wanted and all(truths):
            if len(wanted) != len(self):
                raise IndexError(f"a mask has {len(wanted)} truth values for {len(self)} releases; give one for each")
            return np.flatnonzero(wanted)
        for own, truth in zip(wanted, truths):
            if truth or not hasattr(own, "__index__"):
                raise TypeError(f"releases are taken by whole numbers, or by a truth value for each, not by {kind(own)}")
        return np.array([range(len(self))[own] for own in wanted], np.intp)

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
        """The fields of each, without a copy: ``mechanism``, ``rule``, ``order``, ``epsilon`` (in
        millionths), ``outcome`` (the number of the candidate, mostly) and ``pack``."""
        return np.frombuffer(self._data, FIELDS)

    def with_columns(self, **columns: Any) -> Releases:
        """The same releases with more public columns: each a list, a Series, a NumPy or Arrow
        array, or any iterable, with a value for every release. None has the name of a field, such
        as ``pack`` or ``epsilon``."""
        return Releases(self._data, {**self.columns, **columns})

    def to_dict(self) -> dict[str, Any]:
        """``release`` (hexadecimal digits), ``pack``, ``mechanism``, ``rule``, ``epsilon``,
        ``order``, ``outcome``, and the columns."""
        fields = self.fields
        digits = self._data.hex()
        width = 2 * BYTES
        packs = self.array[:, 16:].tobytes().hex()
        return {
            "release": [digits[at : at + width] for at in range(0, len(digits), width)],
            "pack": [packs[at : at + 16] for at in range(0, len(packs), 16)],
            "mechanism": [_undertone.MECHANISMS.get(number, str(number)) for number in fields["mechanism"].tolist()],
            "rule": [_undertone.RULES.get(numbers, str(numbers[1])) for numbers in fields[["mechanism", "rule"]].tolist()],
            "epsilon": fields["epsilon"] / 1e6,
            "order": fields["order"].copy(),
            "outcome": fields["outcome"].copy(),
            **self.columns,
        }

    def to_arrow(self) -> pyarrow.Table:
        """The columns of ``to_dict``: ``release`` as fixed-size binaries of 24 bytes, without a
        copy, and missing values as null. Needs PyArrow."""
        read = {name: values for name, values in self.to_dict().items() if name in OWN and name != "release"}
        return self._table(read)

    def _table(self, read: Mapping[str, Any]) -> pyarrow.Table:
        """The releases, what was ``read`` from them, and the columns."""
        arrow = library("pyarrow")
        buffers = [None, arrow.py_buffer(self._data)]
        releases = arrow.FixedSizeBinaryArray.from_buffers(arrow.binary(BYTES), len(self), buffers)
        table: pyarrow.Table = arrow.table({"release": releases, **read})
        for name, values in self.columns.items():
            column = arrow.array([None if is_missing(value) else value for value in values])
            # Readers know no type for a column of nothing but missing values.
            table = table.append_column(name, column.cast(arrow.string()) if arrow.types.is_null(column.type) else column)
        return table

    def save(self, path: Path) -> None:
        """Writes ``.raw`` (the bytes; columns are left out), ``.jsonl``, ``.csv`` or, with PyArrow,
        ``.parquet``. The file appears whole or not at all. Numbers that are not finite are missing
        in ``.jsonl`` and ``.csv``."""
        path = fsdecode(path)
        writers = {".raw": self._write_raw, ".jsonl": self._write_lines, ".csv": self._write_csv, ".parquet": self._write_parquet}
        write = next((write for ending, write in writers.items() if path.endswith(ending)), None)
        if write is None:
            raise ValueError(f"{short(path)!r} has an unknown ending; known are {', '.join(writers)}")
        with whole(path) as beside:
            write(beside)

    def _write_raw(self, path: str) -> None:
        with open(path, "wb") as file:
            file.write(self._data)

    def _write_lines(self, path: str) -> None:
        # One for all lines: `json.dumps` makes one for each.
        encode = json.JSONEncoder(default=str, allow_nan=False).encode
        with open(path, "w", encoding="utf-8") as file:
            for place, release in enumerate(self.to_dict()["release"]):
                values = {name: _plain(values[place]) for name, values in self.columns.items()}
                file.write(encode({**values, "release": release}) + "\n")

    def _write_csv(self, path: str) -> None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow([*self.columns, "release"])
            for row in zip(*self.columns.values(), self.to_dict()["release"]):
                # Truth values as they are in JSON; None is an empty cell.
                rows.writerow([str(value).lower() if isinstance(value, bool) else value for value in map(_plain, row)])

    def _write_parquet(self, path: str) -> None:
        library("pyarrow.parquet").write_table(self._table({}), path)

    def count(
        self,
        by: Union[str, Sequence[str]] = (),
        *,
        packs: Union[Pack, Form, Sequence[Union[Pack, Form]]] = (),
        candidates: Union[Candidates, Form, Sequence[Union[Candidates, Form]]] = (),
        epsilon: Union[Number, Iterable[Number]] = (),
        progress: Optional[Progress] = None,
    ) -> Counts:
        """Counts the releases by these columns. What is expected is said as for
        :func:`undertone.count`."""
        by = [by] if isinstance(by, str) else list(by)
        missing = [name for name in by if name not in self.columns]
        if missing:
            raise ValueError(f"there is no column {short(missing[0])!r}; there are {short(list(self.columns))}")
        columns = [[_value(name, place, value) for place, value in enumerate(self.columns[name])] for name in by]
        packs, forms = with_forms(packs)
        candidates, more = with_forms(candidates)
        own = _undertone.count_records(self._data, by, columns, packs, candidates, forms + more, numbers(epsilon), progress)
        return Counts(own)

    def estimate(
        self,
        candidates: Union[Candidates, Form, Sequence[Union[Candidates, Form]]],
        *,
        by: Union[str, Sequence[str]] = (),
        epsilon: Union[Number, Iterable[Number]] = (),
        level: float = 0.95,
        at_once: bool = False,
        difference: Union[bool, str] = False,
        question: Optional[Question] = None,
        alike: bool = False,
        progress: Optional[Progress] = None,
    ) -> Estimate:
        """What the releases say. The arguments are those of :func:`undertone.estimate`, and ``by``
        names columns.

        >>> releases = ut.read_releases("releases.jsonl", "day")
        >>> estimate = releases.estimate(ut.Candidates.open("topics.candidates.safetensors"), by="day")
        >>> [share.name for share in estimate.shares("candidates")][:2]
        ['astronomy', 'computers']
        """
        candidates = several(candidates)
        counted = self.count(by, candidates=candidates, epsilon=epsilon, progress=progress)
        return counted.estimate(
            candidates,
            level=level,
            at_once=at_once,
            difference=difference,
            question=question,
            alike=alike,
            progress=progress,
        )

    def __repr__(self) -> str:
        return f"Releases({len(self)}, columns={list(self.columns)})"


def _plain(value: Any) -> Any:
    """A value as JSON and CSV have it: ``None`` if it is missing or not finite, dates as
    strings."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if is_missing(value) or isinstance(value, float) and math.isinf(value):
        return None
    return str(value) if isinstance(value, (date, np.datetime64)) else value


def _value(name: str, place: int, value: Any) -> str:
    """The value of a slice, as in files of releases: a string, a whole number or a truth value; and
    dates, as strings."""
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
    rule: str = "whole-text",
    encoder: Optional[Encoder] = None,
    ledger: Optional[Ledger] = None,
) -> Release:
    """Releases one private text.

    Guarantee: with ``rule`` ``"whole-text"`` or ``"projective"``, replacing the whole text changes
    the probability of any release by at most a factor of e^epsilon. With ``"permute-and-flip"`` or
    ``"exponential"``, which are for long texts, replacing any one sentence does. ``pack.promise``
    returns both numbers. The pack has no say in it. Several releases of one text add up.

    ``epsilon``: 0.000001 to 1000, a number or its digits. ``encoder``: the one that the pack was
    built with; without it the pack reads the text itself, by its lexicon or its features.
    ``ledger``: pays for the release before it is drawn; without one nothing is counted. Texts are
    cut after 128 sentences; lone surrogates count as U+FFFD.

    Raises ``ArgumentError``, ``UndertoneError``, ``TypeError`` and, if the budget does not last,
    ``BudgetExhausted``; none depends on what the text says.

    Leaks: time depends on the text.

    >>> pack = ut.Pack.open("topics.pack")
    >>> release = ut.release("The doctor wants to repeat the blood test.", pack, epsilon=3)
    >>> len(bytes(release)), release.epsilon, release.pack_id == pack.id
    (24, 3.0, True)
    """
    releaser = _undertone.Releaser(pack, epsilon, rule, encoder, 1)
    if ledger is None:
        return Release(releaser.release([text], 0))
    paid = bytearray()
    try:
        ledger._release(releaser, [text], 0, paid)
        return Release(bytes(paid))
    except BaseException as problem:
        keep_paid(problem, paid)
        raise


def keep_paid(problem: BaseException, paid: bytearray) -> None:
    """Whatever ends a call takes along what was paid for. Some exceptions are frozen."""
    object.__setattr__(problem, "releases", Releases(bytes(paid)))


def privatize(
    texts: Texts,
    pack: Pack,
    epsilon: Number,
    *,
    rule: str = "whole-text",
    encoder: Optional[Encoder] = None,
    ledger: Optional[Ledger] = None,
    threads: Optional[int] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
) -> Releases:
    """Releases every text of a column: a list, a pandas or Polars Series, an Arrow array, any
    iterable of ``str``.

    The arguments, the guarantee and the leaks are those of :func:`release`, for each text. The
    random bytes come from the operating system; there is no seed. ``threads``: 1 to 1024, by
    default as many as there are processors. ``progress`` is called with how many texts are done and
    how many there are (0: unknown); what it raises stops the call. Ctrl-C does, too, after 2,048
    texts at most, or 64 with an ``encoder``.

    With a ``ledger``, each text is paid for before its release is drawn, one after the other.
    Whatever exception ends the call, such as ``BudgetExhausted``, ``KeyboardInterrupt`` or what
    ``progress`` raises, has in ``releases`` what was paid for, of the first texts.

    Raises ``TypeError`` for a value that is no ``str``, such as ``None`` or NaN, with its place.
    Before a list, a Series or an array is paid for, all its values are looked at; of other
    iterables, those of a block.

    >>> releases = ut.privatize(["Frost killed the roses."] * 3, ut.Pack.open("topics.pack"), epsilon=3)
    >>> releases.with_columns(day=["mon", "mon", "tue"])
    Releases(3, columns=['day'])
    """
    releaser = _undertone.Releaser(pack, epsilon, rule, encoder, threads)
    size = BLOCK if encoder is None else FEW
    total = count_of(texts)
    # With a ledger it is filled in Rust, so that no signal comes between a payment and its release.
    drawn = bytearray()
    try:
        if ledger is not None and (is_column(texts) or isinstance(texts, Sequence)):
            done = 0
            for block in blocks(texts, size):
                releaser.check_texts(block, done)
                done += len(block)
        done = 0
        for block in blocks(texts, size):
            if ledger is None:
                drawn += releaser.release(block, done)
            else:
                ledger._release(releaser, block, done, drawn)
            done += len(block)
            if progress is not None:
                progress(done, total)
        return Releases(bytes(drawn))
    except BaseException as problem:
        if ledger is not None:
            keep_paid(problem, drawn)
        raise


def read_releases(
    paths: Union[Path, Sequence[Path]], columns: Union[str, Sequence[str]] = (), *, format: Optional[str] = None
) -> Releases:
    """Reads files of releases into memory: ``.jsonl``, ``.csv``, ``.raw`` and ``.bin``, gzipped or
    not, and ``.parquet``.

    ``columns``: fields to keep beside the releases, by name or by a path with dots; ``None`` where
    a line has none. ``format``: ``"jsonl"``, ``"csv"``, ``"raw"`` or ``"parquet"``, whatever the
    ending. Cells of CSV are strings; dates and time stamps of Parquet, too. What is no release is
    counted in ``rejected`` and left out. For files that do not fit into memory take
    :func:`undertone.count`.

    Raises ``UndertoneError`` if a file cannot be read.

    >>> ut.read_releases("releases.jsonl", "day").columns["day"][:3]
    ['2026-11-01', '2026-11-02', '2026-11-01']
    """
    paths = listed_paths(paths)
    columns = [columns] if isinstance(columns, str) else list(dict.fromkeys(columns))
    _check_names(columns)
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
