"""A face for scikit-learn: how right releases of public texts are, with its splits, searches and scores.

``cross_val_score(ReleaseClassifier(epsilon=1), texts, labels)`` says what share of releases name the label of their text. Needs
scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from ._answers import Number
from ._packing import build_pack
from ._releases import privatize
from ._texts import Texts, listed

__all__ = ["ReleaseClassifier"]


class ReleaseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says of a text what a release of it says. ``fit`` takes **public** texts.

    ``epsilon`` and ``rule`` are those of :func:`undertone.privatize`, ``heads`` that of :func:`undertone.build_pack`. ``built_`` is the pack with its
    candidates, ``classes_`` the labels, sorted.

    Every call of ``predict`` and ``score`` releases its texts once more, and the releases of a text add up. So take public texts here, and
    :func:`undertone.privatize` for private ones.
    """

    def __init__(self, epsilon: Number = 1, rule: str = "recommended", heads: str = "best") -> None:
        self.epsilon = epsilon
        self.rule = rule
        self.heads = heads

    def fit(self, X: Texts, y: Any) -> ReleaseClassifier:
        """``X``: public texts, a column as for :func:`undertone.privatize`; ``y``: a label for each. Raises as :func:`undertone.build_pack` does."""
        if self.rule == "projective":
            raise ValueError("rule = 'projective': such a release names a point and no candidate; take another rule")
        labels = np.asarray(listed(y, "y"))
        self.classes_, counts = np.unique(labels, return_counts=True)
        self.built_ = build_pack(X, labels.tolist(), heads=self.heads)
        places = {str(label): place for place, label in enumerate(self.classes_.tolist())}
        # Of each candidate, and of "nothing known" after them: the most frequent label is as good as any.
        of_candidates = [places[name] for name in self.built_.candidates.names]
        self._place_of = np.array([*of_candidates, int(counts.argmax())])
        return self

    def predict(self, X: Texts) -> npt.NDArray[Any]:
        """The label that a new release of each text names. Raises as :func:`undertone.privatize` does."""
        check_is_fitted(self)
        releases = privatize(X, self.built_.pack, self.epsilon, rule=self.rule)
        predicted: npt.NDArray[Any] = self.classes_[self._place_of[releases.fields["outcome"]]]
        return predicted
