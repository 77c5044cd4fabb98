"""Releases with the habits of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import undertone as ut

pytest.importorskip("sklearn")

from sklearn.base import clone  # type: ignore[import-untyped]  # noqa: E402
from sklearn.exceptions import DataConversionWarning, NotFittedError  # type: ignore[import-untyped]  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # type: ignore[import-untyped]  # noqa: E402
from sklearn.utils import get_tags  # type: ignore[import-untyped]  # noqa: E402

from undertone.sklearn import ReleaseClassifier  # noqa: E402


def test_it_is_a_classifier() -> None:
    public = ut.demo.public()
    texts, labels = public.texts[::3], public.labels[::3]
    classifier = ReleaseClassifier(epsilon=1000, rule="whole-text", heads="features")
    with pytest.raises(NotFittedError):
        classifier.predict(texts)
    # At this epsilon another candidate than the best has a probability below 1e-9; at the other,
    # each has 1 in 13.
    assert cross_val_score(classifier, texts, labels, cv=2).min() > 0.8
    search = GridSearchCV(classifier, {"epsilon": [0.001, 1000]}, cv=2, refit=False).fit(texts, labels)
    assert search.best_params_ == {"epsilon": 1000}
    again = clone(classifier)
    assert again.get_params() == {"epsilon": 1000, "rule": "whole-text", "heads": "features"} and not hasattr(again, "classes_")


def test_tags_declare_texts_and_chance() -> None:
    tags = get_tags(ReleaseClassifier())
    assert (tags.input_tags.string, tags.input_tags.two_d_array, tags.non_deterministic) == (True, False, True)


def test_labels_are_those_that_were_given() -> None:
    public = ut.demo.public()
    names = sorted(set(public.labels))
    numbers = [10 * names.index(label) for label in public.labels]
    classifier = ReleaseClassifier(epsilon="1000", rule="whole-text", heads="features").fit(public.texts, numbers)
    assert classifier.classes_.tolist() == [10 * place for place in range(len(names))]
    assert (classifier.predict(public.texts) == numbers).mean() > 0.9
    # Of an empty text nothing is known.
    assert classifier.predict([""]).tolist() == [max(classifier.classes_.tolist(), key=numbers.count)]
    fitted = pickle.loads(pickle.dumps(classifier))
    assert (fitted.predict(public.texts[:50]) == classifier.predict(public.texts[:50])).mean() > 0.9
    with pytest.warns(DataConversionWarning, match="column-vector"):
        column = classifier.fit(public.texts, np.array(numbers).reshape(-1, 1))
    assert column.classes_.tolist() == [10 * place for place in range(len(names))]
    with pytest.raises(ValueError, match="projective"):
        ReleaseClassifier(rule="projective").fit(public.texts, numbers)


def test_labels_that_are_none_are_refused() -> None:
    public = ut.demo.public()
    classifier = ReleaseClassifier(heads="features").fit(public.texts, public.labels)
    classes, built = classifier.classes_, classifier.built_
    numbers = list(range(len(public.texts)))
    for missing in (None, float("nan"), ""):
        wrong: list[Any] = [*public.labels[1:], missing]
        with pytest.raises(ValueError, match=f"text {len(wrong) - 1} is missing"):
            classifier.fit(public.texts, wrong)
    half = len(numbers) // 2
    refused: list[tuple[Any, str]] = [
        (["a\0", "a"] * half, "text 0 ends with a NUL"),
        ([0.5, 1.25] * half, "continuous"),
        (np.array([1, 2] * half, object), "Unknown label type"),
        (np.array(["2026-01-01", "2026-01-02"] * half, "M8[D]"), "Unknown label type"),
        (np.zeros((len(numbers), 2), int), "1d array"),
    ]
    for labels, message in refused:
        with pytest.raises(ValueError, match=message):
            classifier.fit(public.texts, labels)
    with pytest.raises(TypeError, match="of one kind"):
        classifier.fit(public.texts, [1, "1"] * (len(numbers) // 2))
    # As many labels as texts, so that no text can be held out.
    with pytest.raises(ut.UndertoneError):
        classifier.fit(public.texts, ["a"] * len(numbers))
    assert classifier.classes_ is classes and classifier.built_ is built
