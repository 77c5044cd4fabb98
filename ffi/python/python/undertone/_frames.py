"""Columns as data frames of libraries that may be missing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as missing:
        package = name.partition(".")[0]
        raise ImportError(f"this needs {package}, which is not installed: pip install {package}") from missing


class Framed:
    """What has columns."""

    def to_dict(self) -> dict[str, Any]:
        """A list or an array for each column."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """The columns as a pandas data frame. Needs pandas."""
        frame: pandas.DataFrame = library("pandas").DataFrame(self.to_dict())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The columns as a Polars data frame. Needs Polars."""
        frame: polars.DataFrame = library("polars").DataFrame(self.to_dict())
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """The columns as an Arrow table. Needs PyArrow."""
        table: pyarrow.Table = library("pyarrow").table(self.to_dict())
        return table
