"""A face for scikit-learn: how right releases of public texts are, with its splits, searches and
scores.

``cross_val_score(ReleaseClassifier(epsilon=1), texts, labels)`` says what share of releases name
the label of their text. Needs scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted, column_or_1d  # type: ignore[import-untyped]

from ._answers import Number
from ._packing import build_pack
from ._releases import privatize
from ._texts import Texts, is_missing, listed

__all__ = ["ReleaseClassifier"]


class ReleaseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says of a text what a release of it says. ``fit`` takes **public** texts.

    ``epsilon`` and ``rule`` are those of :func:`undertone.privatize`, ``heads`` that of
    :func:`undertone.build_pack`. ``built_`` is the pack with its candidates, ``classes_`` the
    labels, sorted.

    Every call of ``predict`` and ``score`` releases its texts once more, and the releases of a text
    add up. So take public texts here, and :func:`undertone.privatize` for private ones.
    """

    def __init__(self, epsilon: Number = 1, rule: str = "whole-text", heads: str = "best") -> None:
        self.epsilon = epsilon
        self.rule = rule
        self.heads = heads

    def __sklearn_tags__(self) -> Any:
        """Declares one-dimensional texts as input, and random predictions."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.non_deterministic = True
        return tags

    def fit(self, X: Texts, y: Any) -> ReleaseClassifier:
        """``X``: public texts, a column as for :func:`undertone.privatize`; ``y``: a label for
        each, all strings or all of another kind. Raises as :func:`undertone.build_pack` does, and
        ``ValueError`` if a label is missing or scikit-learn has no scores for such labels. One that
        fails leaves the classifier as it was."""
        if self.rule == "projective":
            raise ValueError("rule = 'projective': such a release names a point and no candidate; take another rule")
        if np.ndim(y) == 2:
            y = column_or_1d(y, warn=True)
        values = listed(y, "y")
        missing = [place for place, value in enumerate(values) if is_missing(value) or value == ""]
        if missing:
            raise ValueError(f"y: the label of text {missing[0]} is missing; leave such texts out")
        if len({isinstance(value, str) for value in values}) > 1:
            raise TypeError("y has strings and other values; give labels of one kind")
        nul = next((place for place, value in enumerate(values) if isinstance(value, str) and value.endswith("\0")), None)
        if nul is not None:
            raise ValueError(f"y: the label of text {nul} ends with a NUL, which NumPy would remove; remove it from the labels")
        labels = np.asarray(values)
        # Both, because `score` compares those that were given with those that are predicted.
        for own in (y, labels) if hasattr(y, "__array__") else (labels,):
            check_classification_targets(own)
        classes, counts = np.unique(labels, return_counts=True)
        built = build_pack(X, labels.tolist(), heads=self.heads)
        places = {str(label): place for place, label in enumerate(classes.tolist())}
        # The label of each candidate, then of "nothing known": the most frequent label, as good as
        # any.
        place_of = np.array([*(places[name] for name in built.candidates.names), int(counts.argmax())])
        # At the end, so that one that fails changes nothing.
        self.classes_, self.built_, self._place_of = classes, built, place_of
        return self

    def predict(self, X: Texts) -> npt.NDArray[Any]:
        """The label that a new release of each text names. Raises as :func:`undertone.privatize`
        does."""
        check_is_fitted(self)
        releases = privatize(X, self.built_.pack, self.epsilon, rule=self.rule)
        predicted: npt.NDArray[Any] = self.classes_[self._place_of[releases.fields["outcome"]]]
        return predicted
