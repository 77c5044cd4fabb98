"""Columns, of whatever library, as lists: of texts, of labels, or of public values beside
releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Union

import numpy as np

from ._errors import short
from ._frames import library

Texts = Union[Sequence[str], Iterable[str], Any]


def refuse_one(values: object, name: str) -> None:
    """One string is iterable, too: by its letters."""
    if isinstance(values, (str, bytes, bytearray, Mapping)):
        advice = "; for one text call release" if name == "texts" else ""
        raise TypeError(f"{name}: expected a list, a Series or an Arrow array, not one {kind(values)}{advice}")
    if hasattr(type(values), "columns") or getattr(values, "ndim", 1) != 1:
        raise TypeError(f"{name}: expected one column, not a {kind(values)} of several; name the column")


def kind(value: object) -> str:
    """What a value is, for a message."""
    return "None" if value is None else short(type(value).__name__)


def count_of(texts: object) -> int:
    """How many there are; 0 if nobody knows yet."""
    refuse_one(texts, "texts")
    return len(texts) if hasattr(texts, "__len__") else 0


def of_arrow(values: Any) -> list[Any]:
    """With U+FFFD for bytes that are no UTF-8, which Arrow lets pass: an error would say something
    about the text."""
    try:
        listed: list[Any] = values.to_pylist()
        return listed
    except UnicodeDecodeError:
        arrow = library("pyarrow")
        if arrow.types.is_run_end_encoded(values.type):
            values = library("pyarrow.compute").run_end_decode(values)
        if arrow.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        views = arrow.types.is_string_view(values.type)
        binary = values.cast(arrow.binary_view() if views else arrow.large_binary())
        return [None if value is None else value.decode("utf-8", "replace") for value in binary.to_pylist()]


def blocks(values: Any, size: int, name: str = "texts") -> Iterator[list[Any]]:
    """The values in lists of at most ``size``. Nothing is copied but references, and Arrow a block
    at a time.

    What fails on the way may quote a value, so the exception says rows instead."""
    refuse_one(values, name)
    if not is_column(values):
        if not isinstance(values, Iterable):
            raise TypeError(f"{name}: expected a list, a Series or an Arrow array, not {kind(values)}")
        # An exception of a user's iterator reaches the user.
        rest = iter(values)
        while block := list(islice(rest, size)):
            yield block
        return
    converted = _converted(values, size)
    first = 0
    while True:
        failed, read = False, None
        try:
            read = next(converted, None)
        except Exception:
            failed = True
        if failed:
            # Outside of the handler, so that the other exception is not its context.
            raise TypeError(f"{name}: a value in rows {first} to {min(first + size, len(values)) - 1} cannot be read")
        if read is None:
            return
        first += len(read)
        yield read


def is_column(values: Any) -> bool:
    """Whether it is of a library of columns, and so can be read in blocks."""
    return any(hasattr(values, name) for name in ("to_pylist", "iloc", "dtype")) or (hasattr(values, "to_list") and hasattr(values, "slice"))


def arrow_inside(values: Any) -> Any:
    """The Arrow array of a Series, an index or an array of pandas, which holds strings so by
    default; else the values themselves."""
    array = getattr(values, "array", values)
    dtype = getattr(array, "dtype", None)
    of_arrow = hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow"
    return array.__arrow_array__() if of_arrow and hasattr(array, "__arrow_array__") else values


def _converted(values: Any, size: int) -> Iterator[list[Any]]:
    values = arrow_inside(values)
    if hasattr(values, "to_pylist"):  # PyArrow
        for start in range(0, len(values), size):
            yield of_arrow(values.slice(start, size))
    elif hasattr(values, "iloc"):  # pandas
        for start in range(0, len(values), size):
            yield values.iloc[start : start + size].tolist()
    elif hasattr(values, "to_list") and hasattr(values, "slice"):  # Polars
        for start in range(0, len(values), size):
            yield values.slice(start, size).to_list()
    else:  # NumPy, and indexes and arrays of pandas
        if isinstance(values, np.ndarray) and values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] == "ns":
            values = values.astype("datetime64[us]")  # NumPy makes numbers of nanoseconds.
        for start in range(0, len(values), size):
            yield values[start : start + size].tolist()


def listed(values: Any, name: str) -> list[Any]:
    """A whole column as a list."""
    return [value for block in blocks(values, 1 << 16, name) for value in block]


def numbers(values: Any) -> list[Any]:
    """One number, or the digits of one, or several. Digits are iterable, too, and so is no number
    of NumPy."""
    one = isinstance(values, (str, bytes, bytearray)) or (hasattr(values, "__float__") and getattr(values, "ndim", 0) == 0)
    return [values] if one else list(values)


def is_missing(value: Any) -> bool:
    """``None``, NaN, NaT and ``pandas.NA``: the last is of no type that can be asked for without
    pandas."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def labels_of(labels: Any, count: int) -> list[Any]:
    """A label for each of ``count`` texts, as a string; ``None`` where it is missing."""
    own = [None] * count if labels is None else [None if is_missing(label) else str(label) for label in listed(labels, "labels")]
    if len(own) != count:
        raise ValueError(f"there are {len(own)} labels for {count} texts; give one for each")
    return own
