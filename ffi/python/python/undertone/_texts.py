"""Columns of texts, of whatever library, as lists of strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Union

from ._frames import library

Texts = Union[Sequence[str], Iterable[str], Any]


def refuse_one(texts: object) -> None:
    """One text is iterable, too: by its letters."""
    if isinstance(texts, (str, bytes, bytearray, Mapping)):
        found = type(texts).__name__
        raise TypeError(f"texts are a list, a Series or an Arrow array of str, not one {found}; for one text call release")
    if hasattr(texts, "columns") or getattr(texts, "ndim", 1) != 1:
        raise TypeError(f"texts are one column, not a {type(texts).__name__} of several; name the column")


def count_of(texts: object) -> int:
    """How many there are; 0 if nobody knows yet."""
    return len(texts) if hasattr(texts, "__len__") else 0


def of_arrow(texts: Any) -> list[Any]:
    """With U+FFFD for bytes that are no UTF-8, which Arrow lets pass: an error would say something about the text."""
    try:
        values: list[Any] = texts.to_pylist()
        return values
    except UnicodeDecodeError:
        binary = texts.cast(library("pyarrow").binary())
        return [None if value is None else value.decode("utf-8", "replace") for value in binary.to_pylist()]


def blocks(texts: Any, size: int) -> Iterator[list[Any]]:
    """The texts in lists of at most ``size``. Nothing is copied but references, and Arrow a block at a time."""
    refuse_one(texts)
    if hasattr(texts, "to_pylist"):  # PyArrow
        for start in range(0, len(texts), size):
            yield of_arrow(texts.slice(start, size))
    elif hasattr(texts, "iloc"):  # pandas
        for start in range(0, len(texts), size):
            yield texts.iloc[start : start + size].tolist()
    elif hasattr(texts, "to_list"):  # Polars
        for start in range(0, len(texts), size):
            yield texts.slice(start, size).to_list()
    elif hasattr(texts, "dtype"):  # NumPy
        for start in range(0, len(texts), size):
            yield texts[start : start + size].tolist()
    elif isinstance(texts, Iterable):
        rest = iter(texts)
        while block := list(islice(rest, size)):
            yield block
    else:
        raise TypeError(f"texts are a list, a Series or an Arrow array of str, not {type(texts).__name__}")


def listed(values: Any) -> list[Any]:
    """A whole column as a list."""
    return [value for block in blocks(values, 1 << 16) for value in block]
