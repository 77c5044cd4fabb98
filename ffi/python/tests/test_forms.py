"""Answers to forms.

Chance: at ε = 1000 an answer prefers the point of its release but for a relative weight of 2⁻⁴⁰ for each other point. Of
2,000 releases each of three equal questions gets fewer than 300 with a probability below 10⁻³⁰.
"""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertone as ut

DESCRIPTION: dict[str, Any] = {
    "attributes": [
        {"name": "language", "categories": ["de", "en", "fr"]},
        {"name": "stars", "categories": ["1", "2", "3"]},
    ],
    "pairs": [{"first": "language", "second": "stars"}],
}

#: Values, and the answers that they stand for.
LANGUAGE = [("de", "de"), ("fr", "fr"), (1, "en"), (1.0, "en"), (None, None), ("it", None), ("\ud800", None), (["de"], None), (True, None)]
STARS = [("2", "2"), (3, "3"), (1.0, "1"), (float("nan"), None), (0, None), (-1, None), (10**30, None), (b"1", None), (np.int8(2), "2")]
ROWS = [(one, two) for one, two in zip(LANGUAGE, STARS)]


def form() -> ut.Form:
    return ut.Form(DESCRIPTION)


def name(own: ut.Form, release: ut.Release) -> tuple[tuple[str, ...], str]:
    """The question, and the answer that its release is of at ε = 1000."""
    posterior = own.posterior(release)
    best = max(posterior.probabilities, key=lambda answer: posterior.probabilities[answer])
    assert posterior.probabilities[best] > 0.999 and not posterior.estimated
    return posterior.attributes, best


def check(own: ut.Form, releases: ut.Releases, rows: list[tuple[Any, Any]]) -> None:
    assert len(releases) == len(rows)
    for release, values in zip(releases, rows):
        attributes, found = name(own, release)
        answers = dict(zip(own.attributes, (value or "no answer" for value in values)))
        assert found == " × ".join(answers[attribute] for attribute in attributes)


def test_a_form_is_its_description_and_its_bytes(tmp_path: Path) -> None:
    own = form()
    assert own.attributes == {"language": ["de", "en", "fr"], "stars": ["1", "2", "3"]}
    assert own.pairs == [("language", "stars")]
    own.save(tmp_path / "a.form")
    (tmp_path / "a.json").write_text(json.dumps(DESCRIPTION))
    for other in (
        ut.Form(json.dumps(DESCRIPTION)),
        ut.Form(bytes(own)),
        ut.Form.open(tmp_path / "a.form"),
        ut.Form.open(tmp_path / "a.json"),
        pickle.loads(pickle.dumps(own)),
    ):
        assert (other, other.id, hash(other)) == (own, own.id, hash(own))
    assert len(own.id) == 16
    wrongs: list[Any] = [{}, "{", b"UTFORM", {"attributes": []}]
    for wrong in wrongs:
        with pytest.raises(ut.UndertoneError, match="not a usable form"):
            ut.Form(wrong)


def test_one_person_gets_one_release() -> None:
    own = form()
    for one, two in ROWS:
        release = own.release({"language": one[0], "stars": two[0]}, 1000)
        assert isinstance(release, ut.Release)
        assert (release.mechanism, release.rule, release.pack_id, release.epsilon) == ("answer", "answer", own.id, 1000)
        check(own, ut.Releases(bytes(release)), [(one[1], two[1])])
    check(own, ut.Releases(bytes(own.release({}, 1000))), [(None, None)])
    with pytest.raises(ut.ArgumentError, match="no attribute 'langauge'"):
        own.release({"langauge": "de"}, 1)
    with pytest.raises(TypeError, match="a dictionary, a data frame"):
        own.release(["de"], 1)


def test_columns_of_every_library() -> None:
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    own = form()
    values = [(one[1], two[1]) for one, two in ROWS]
    columns = {"language": [one[0] for one, _ in ROWS], "stars": [two[0] for _, two in ROWS], "other": [0] * len(ROWS)}
    check(own, own.release(columns, 1000), values)
    check(own, own.release(pandas.DataFrame(columns), 1000), values)
    rows = [("de", 2), (None, 3), ("x", None), ("fr", 1)] * 3
    answers = [(one if one in ("de", "fr") else None, None if two is None else str(two)) for one, two in rows]
    plain = {"language": [one for one, _ in rows], "stars": [two for _, two in rows]}
    table = arrow.table(plain)
    chunked = arrow.concat_tables([table, table.slice(0, 0), table])
    # Two hundred different values do not fit with "missing" into eight bits, so the type of places is wider.
    encoded = arrow.table({name: table[name].dictionary_encode() for name in plain})
    frame = pandas.DataFrame(plain)
    for many in (table, encoded, frame, polars.DataFrame(plain), frame.astype({"language": "category"}), frame.convert_dtypes()):
        check(own, own.release(many, 1000), answers)
    check(own, own.release(chunked, 1000), answers * 2)
    numbers = {"language": np.array([0, 2, 3, 7], np.uint8), "stars": np.array([1, 2, 3, 0])}
    check(own, own.release(numbers, 1000), [("de", "1"), ("fr", "2"), (None, "3"), (None, None)])
    assert len(own.release({name: [] for name in own.attributes}, 1)) == 0
    with pytest.raises(ut.ArgumentError, match="no column 'stars'"):
        own.release(frame[["language"]], 1)
    with pytest.raises(ut.ArgumentError, match="has 1 answers, and the first one 2"):
        own.release({"language": ["de", "en"], "stars": [1]}, 1)


def test_ten_attributes_in_and_out_of_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = [f"a{place}" for place in range(10)]
    own = ut.Form({"attributes": [{"name": name, "categories": ["yes", "no"]} for name in names]})
    frame = pandas.DataFrame({name: ["yes", "no", None, "maybe"] * 250 for name in names}).assign(day=["1", "2"] * 500)
    frame.to_parquet(tmp_path / "answers.parquet")
    read = pandas.read_parquet(tmp_path / "answers.parquet")
    releases = own.release(read, 1000).with_columns(day=read["day"])
    releases.save(tmp_path / "releases.parquet")
    assert ut.read_releases(tmp_path / "releases.parquet", "day") == releases
    estimate = ut.estimate(tmp_path / "releases.parquet", own, by="day")
    for name in names:
        shares = {share.name: share for share in estimate.shares(slice="1", attribute=name)}
        assert shares["no"].share < 0.01 < shares["yes"].share
        assert shares["yes"].low is not None and shares["yes"].high is not None
    assert set(estimate.to_dict()["of"]) == set(names)
    with pytest.raises(KeyError, match="answers to"):
        estimate.shares(attribute="b")


def test_shares_weigh_a_posterior() -> None:
    own = form()
    releases = own.release({"language": ["de"] * 2_000, "stars": [3] * 2_000}, 1000, threads=2)
    estimate = releases.estimate(own)
    assert estimate.shares(attribute="language")[0].share > 0.99
    assert estimate.shares(attribute=["language", "stars"])[2].share > 0.99
    assert "SHARES OF ANSWERS" in str(estimate)
    counts = releases.count(packs=own)
    assert (counts.total, counts.rejected) == (2_000, {})
    assert counts.estimate([own]).shares(attribute="stars")[2].share > 0.99
    assert set(counts.to_dict()["mechanism"]) == {"answer"}
    assert set(releases.to_dict()["rule"]) == {"answer"}
    # A weak release says little against what is known of everybody.
    weak = own.release({"language": "en", "stars": 1}, 0.01)
    posterior = own.posterior(weak, estimate)
    assert posterior.estimated and max(posterior.probabilities.values()) > 0.95
    assert sum(posterior.probabilities.values()) == pytest.approx(1)
    with pytest.raises(ut.ArgumentError, match="not of this form"):
        ut.Form({"attributes": [{"name": "x", "categories": ["y"]}]}).posterior(weak)
    other = ut.Form({"attributes": [{"name": "x", "categories": ["y"]}]})
    assert other.release({"x": ["y"]}, 1).count(packs=own).total == 0


def test_a_ledger_pays_for_answers(tmp_path: Path) -> None:
    own = form()
    columns = {"language": ["de"] * 3, "stars": [1] * 3}
    with ut.Ledger(tmp_path / "l", 2, unit="whole-text", window=1) as ledger:
        with pytest.raises(ut.BudgetExhausted) as ended:
            own.release(columns, 1, ledger=ledger)
        assert len(ended.value.releases) == 2
        assert ledger.remaining == 0
        with pytest.raises(ut.BudgetExhausted):
            own.release({}, 1, ledger=ledger)
        ledger.window = 2
        assert isinstance(own.release({}, 1, ledger=ledger), ut.Release)
    with ut.Ledger(tmp_path / "s", 2, unit="sentence", window=1) as ledger:
        with pytest.raises(ut.ArgumentError, match="another unit"):
            own.release({}, 1, ledger=ledger)
    done: list[tuple[int, int]] = []
    own.release(columns, 1, progress=lambda *steps: done.append(steps))
    assert done == [(3, 3)]


def test_a_plan_of_a_form() -> None:
    plan = ut.plan(form(), [1, 4], devices=[10_000])
    rows = plan.to_dict()
    assert rows["attributes"] == ["language", "stars", "language × stars"] * 2
    assert all(error > 0 for error in rows["error_times_root"])
    assert "error·√n" in str(plan) and "language × stars" in plan.html()
    wrongs: list[dict[str, Any]] = [{"within": 2}, {"devices": [0]}]
    for wrong in wrongs:
        with pytest.raises(ut.ArgumentError):
            ut.plan(form(), 1, **wrong)


def test_a_text_answers_the_topic() -> None:
    """The candidates of golden-scores.pack for these texts are in tests/golden/golden.py's words."""
    golden = Path(__file__).parents[3] / "tests/golden"
    own, pack = ut.Form.open(golden / "golden-topic.form"), ut.Pack.open(golden / "golden-scores.pack")
    assert own.data["attributes"][1]["pack"] == pack.id
    texts = ["the garden dog", "qqq", None, 7, float("nan"), "the garden dog"] * 20
    topics = ["candidate 124" if text == "the garden dog" else None for text in texts]
    languages = ["de", "en", None] * 40
    check(own, own.release({"topic": texts, "language": languages}, 1000, pack=pack), list(zip(languages, topics)))
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"language": languages[:2] * 2, "topic": [texts[0], "qqq", None, texts[0]]})
    released = own.release(table, 1000, pack=pack, threads=1)
    check(own, released, list(zip(languages[:2] * 2, [topics[0], None, None, topics[0]])))
    for _ in range(20):
        release = own.release({"topic": "the garden dog", "language": "en"}, 1000, pack=pack)
        assert name(own, release)[1] in ("en", "candidate 124", "en × candidate 124")
        reservoir = ut.AnswerReservoir(own, 1, 1)
        reservoir.push({"topic": "the garden dog"}, pack=pack)
        assert name(own, reservoir.release(1000))[1] in ("no answer", "candidate 124", "no answer × candidate 124")
    # Without the pack a value is the name of a candidate.
    check(own, own.release({"topic": ["candidate 3"], "language": ["de"]}, 1000), [("de", "candidate 3")])
    other = ut.Pack.open(golden / "golden-vote.pack")
    with pytest.raises(ut.UndertoneError, match="no topic for"):
        own.release({"topic": ["a"], "language": ["de"]}, 1, pack=other)
    with pytest.raises(ut.ArgumentError, match="without a pack"):
        own.release({"topic": "a"}, 1, encoder=ut.Encoder.lexicon(pack))


def test_a_reservoir_keeps_the_answers_of_one_line(tmp_path: Path) -> None:
    own = form()
    with ut.Ledger(tmp_path / "slot.ledger", 1000, unit="whole-text") as ledger:
        reservoir = ut.AnswerReservoir(own, 7, 2)
        # The question is drawn before any line, so no equal lines change it.
        for _ in range(3):
            reservoir = ut.AnswerReservoir.read(bytes(reservoir), own)
            reservoir.push({"language": "fr", "stars": 2})
            assert (reservoir.slot, reservoir.places, len(bytes(reservoir))) == (7, 2, 64)
        with pytest.raises(ut.ArgumentError, match="no attribute 'langauge'"):
            reservoir.push({"langauge": "de"})
        release = reservoir.release(1000, ledger=ledger)
        assert ledger.remaining == 0 and release.pack_id == own.id
    check(own, ut.Releases(bytes(release)), [("fr", "2")])
    with pytest.raises(ut.ArgumentError, match="released"):
        bytes(reservoir)
    empty = ut.AnswerReservoir(own, 7, 1)
    check(own, ut.Releases(bytes(empty.release(1000))), [(None, None)])
    with pytest.raises(ut.ArgumentError, match="places is 0; take 1 to 65535"):
        ut.AnswerReservoir(own, 7, 0)
    other = ut.Form({"attributes": [{"name": "a", "categories": ["b"]}]})
    with pytest.raises(ut.ArgumentError, match="another"):
        ut.AnswerReservoir.read(bytes(ut.AnswerReservoir(own, 7, 1)), other)
