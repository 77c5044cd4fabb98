"""Whether counts can be of one law."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import TypeVar

Outcome = TypeVar("Outcome", bound=Hashable)


def probability(statistic: float, freedom: int) -> float:
    """The probability that a χ² with this many degrees of freedom is larger."""
    if statistic == 0:
        return 1.0
    half = statistic / 2
    order, upper = (1.0, math.exp(-half)) if freedom % 2 == 0 else (0.5, math.erfc(math.sqrt(half)))
    while order < freedom / 2:
        upper += math.exp(order * math.log(half) - half - math.lgamma(order + 1))
        order += 1
    return upper


def same_law(first: Counter[Outcome], second: Counter[Outcome]) -> float:
    """How often counts of one law differ as much or more. Outcomes that were seen fewer than 20
    times are taken for one."""
    seldom = {own for own in first | second if first[own] + second[own] < 20}
    cells = [(first[own], second[own]) for own in (first | second).keys() - seldom]
    if seldom:
        cells.append((sum(first[own] for own in seldom), sum(second[own] for own in seldom)))
    n, m = first.total(), second.total()
    statistic = sum((a * m - b * n) ** 2 / (a + b) for a, b in cells) / (n * m)
    return probability(statistic, len(cells) - 1)
