"""Charts by matplotlib, which may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

from ._frames import library

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._answers import Share


def axes_of(ax: Optional[Axes]) -> Axes:
    """``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    new: Axes = library("matplotlib.pyplot").subplots(layout="constrained")[1]
    return new


def plot_shares(rows: Sequence[Share], level: float, ax: Optional[Axes]) -> Axes:
    """A bar for each share, the first on top, and a line for each interval."""
    axes = axes_of(ax)
    places = range(len(rows))
    axes.barh(places, [row.share for row in rows], color="tab:blue", alpha=0.6)
    known = [(place, row.low, row.high) for place, row in enumerate(rows) if row.low is not None and row.high is not None]
    if known:
        at, low, high = zip(*known)
        axes.hlines(at, low, high, colors="black", label=f"{100 * level:g} % interval")
        axes.legend(loc="lower right")
    # A name is no formula, even between dollar signs.
    axes.set_yticks(places, labels=[row.name for row in rows], parse_math=False)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(library("matplotlib.ticker").PercentFormatter(1))
    axes.set_xlabel("share")
    return axes


def plot_precision(lines: Mapping[str, Mapping[float, float]], level: float, ax: Optional[Axes]) -> Axes:
    """A line for each name: half the width of intervals, by ε."""
    axes = axes_of(ax)
    for name, by_epsilon in lines.items():
        axes.plot(*zip(*sorted(by_epsilon.items())), marker="o", label=name)
    for text in axes.legend().get_texts():
        text.set_parse_math(False)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(library("matplotlib.ticker").PercentFormatter(1))
    axes.set_xlabel("ε of a release")
    axes.set_ylabel(f"± of {100 * level:g} % intervals")
    return axes
