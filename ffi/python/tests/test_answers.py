"""Counts and what they say, the same as the command line."""

from __future__ import annotations

import doctest
import gzip
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

import undertone as ut

matplotlib.use("agg")


def untyped(value: Any) -> Any:
    """What the types would refuse."""
    return value


@pytest.fixture(scope="module")
def releases(built: ut.Built) -> ut.Releases:
    private = ut.demo.private(3000)
    days = [("2026-11-01", "2026-11-02")[place % 2] for place in range(3000)]
    return ut.privatize(private.texts, built.pack, 3).with_columns(day=days, nth=list(range(3000)))


def test_estimates_cover_the_truth(built: ut.Built, releases: ut.Releases) -> None:
    estimate = releases.estimate(built.candidates, level=1 - 1e-12, at_once=True)
    truth = ut.demo.private(3000).labels
    shares = estimate.shares("labels")
    assert [share.name for share in shares] == built.candidates.names
    for share in shares:
        assert share.low is not None and share.high is not None
        assert share.low <= truth.count(share.name) / 3000 <= share.high
    assert "3,000 releases" in str(estimate)
    page = estimate.html()
    assert page.startswith("<!DOCTYPE html>") and "<svg" in page and "prefers-color-scheme: dark" in page
    assert '<p class="title">What the texts are about</p>\n<h1>' in page
    assert '<p class="byline">2026-11-28 · &lt;Ada&gt;</p>' in estimate.html(byline=["2026-11-28", "<Ada>"])
    # People need no digest.
    assert built.pack.id not in page
    assert json.loads(estimate.json()) == estimate.data
    shown = estimate._repr_html_()
    assert shown.startswith("<iframe") and unescape(shown).count(page) == 1 and shown.count('"') == 4


def test_examples_of_the_documentation_run(
    built: ut.Built, releases: ut.Releases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    built.save("topics.pack")
    releases[:200].save("releases.jsonl")
    found = doctest.DocTestFinder()
    examples = 0
    # Objects of Rust have no source file, by which the finder would assign them to a module.
    for name in ut.__all__:
        for example in found.find(getattr(ut, name), name, module=False, globs={"ut": ut}):
            runner = doctest.DocTestRunner()
            runner.run(example)
            examples += runner.summarize().attempted
            assert runner.summarize().failed == 0, example.name
    assert examples >= 26


def test_shares_are_drawn_with_their_intervals(built: ut.Built, releases: ut.Releases) -> None:
    estimate = releases.estimate(built.candidates, by="day", level=0.9)
    figure, given = plt.subplots()
    axes = estimate.plot("candidates", slice="2026-11-02", top=4, ax=given)
    assert axes is given and axes.figure is figure
    shares = sorted(estimate.shares("candidates", "2026-11-02"), key=lambda share: -share.share)[:4]
    assert [label.get_text() for label in axes.get_yticklabels()] == [share.name for share in shares]
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert [bar.get_width() for bar in bars] == [share.share for share in shares]
    (intervals,) = axes.collections
    assert isinstance(intervals, LineCollection)
    ends = [[(low, place), (high, place)] for place, (_, _, low, high) in enumerate(shares)]
    assert [[tuple(end) for end in line] for line in intervals.get_segments()] == ends
    assert axes.yaxis_inverted() and intervals.get_label() == "90 % interval"
    figure.canvas.draw()
    assert axes.get_xticklabels()[0].get_text().endswith("%")
    # By default what texts are about, on a figure of its own.
    assert estimate.plot(top=1).figure is not figure
    with pytest.raises(KeyError, match="2026-12-01"):
        estimate.plot(slice="2026-12-01")
    plt.close("all")


def test_names_are_drawn_as_they_are_written() -> None:
    form = ut.Form({"attributes": [{"name": "$x$", "categories": ["$\\frac", "a_b"]}]})
    estimate = form.release({"$x$": [0] * 100}, 3).estimate(form)
    axes = estimate.plot(attribute="$x$")
    assert {"$\\frac", "a_b"} < {label.get_text() for label in axes.get_yticklabels()}
    plan = ut.plan(form, [1, 2], devices=[100, 1000]).plot()
    legend = plan.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["$x$, 100 devices", "$x$, 1,000 devices"]
    for own in (axes, plan):
        figure = own.figure
        figure.canvas.draw()  # Fails on a formula without an end.
    plt.close("all")


def test_the_best_precision_is_drawn_by_epsilon(built: ut.Built) -> None:
    plan = ut.plan(built.candidates, [3, 1], devices=[1000, 10_000])
    axes = plan.plot()
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines) == [f"{of}, {devices} devices" for of in ("candidates", "labels") for devices in ("1,000", "10,000")]
    ways = [way for way in plan.data["ways"] if way["shares_of"] == "candidates"]
    best = [min(way["precision"][1]["within"] for way in ways if way["epsilon"] == epsilon) for epsilon in (1, 3)]
    line = lines["candidates, 10,000 devices"]
    assert list(np.asarray(line.get_xdata())) == [1, 3] and list(np.asarray(line.get_ydata())) == best
    assert axes.get_ylabel() == "± of 95 % intervals" and axes.get_ylim()[0] == 0
    with pytest.raises(ValueError, match="give plan numbers of devices"):
        ut.plan(built.candidates, 1).plot()
    plt.close("all")


def test_packs_are_tables_in_notebooks(built: ut.Built) -> None:
    shown = built.pack._repr_html_()
    quality = built.pack.quality()
    assert shown.startswith("<p><strong>Pack of 12 candidates") and "style" not in shown
    assert shown.count("<td>") == len(quality) and shown.count("<tr>") == 1 + len({row["epsilon"] for row in quality})
    best = max(row["whole_text"] or 0 for row in quality)
    assert f"<td>{100 * best:.1f}</td>" in shown
    assert built.pack.id not in shown and built.pack.digest not in shown


def test_slices_and_differences(built: ut.Built, releases: ut.Releases) -> None:
    estimate = releases.estimate(built.candidates, by="day", difference="day=2026-11-01,2026-11-02")
    assert estimate.data["slices"] == ["day"] and len(estimate.data["differences"]) >= 1
    assert estimate.shares(slice=["2026-11-01"]) != estimate.shares(slice=["2026-11-02"])
    # One value is no list of letters.
    assert estimate.shares(slice="2026-11-01") == estimate.shares(slice=["2026-11-01"])
    with pytest.raises(KeyError, match="2026-12-01"):
        estimate.shares(slice=["2026-12-01"])
    frame = estimate.to_dict()
    assert set(frame["day"]) == {None, "2026-11-01", "2026-11-02"}
    with pytest.raises(ut.ArgumentError, match="FIELD=A,B"):
        releases.estimate(built.candidates, by="day", difference="country")
    with pytest.raises(ut.UndertoneError, match="no slices"):
        releases.estimate(built.candidates, difference=True)


def test_counts_are_those_of_files(built: ut.Built, releases: ut.Releases, tmp_path: Path) -> None:
    counted = releases.count("day", candidates=built.candidates)
    assert counted.total == 3000 and counted.slices == ["day"] and counted.rejected == {}
    releases.save(tmp_path / "all.jsonl")
    releases.save(tmp_path / "all.raw")
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress((tmp_path / "all.jsonl").read_bytes()))
    releases.save(tmp_path / "all.csv")
    for name in ("all.jsonl", "all.jsonl.gz", "all.csv"):
        assert ut.count(tmp_path / name, by=["day"]).to_dict() == counted.to_dict()
    # However short the work is, its end is heard.
    heard: list[tuple[str, int, int]] = []
    counts = ut.count([tmp_path / "all.raw"], progress=lambda *state: heard.append(state))
    assert counts.to_dict() == releases.count().to_dict() and heard and heard[-1][0] == "counting releases"
    counted.save(tmp_path / "counts.csv")
    assert ut.Counts.open(tmp_path / "counts.csv").to_dict() == counted.to_dict()
    assert counted.merge(counted).total == 6000
    from_file = ut.estimate(tmp_path / "all.jsonl", built.candidates, by=["day"])
    assert from_file.data == releases.estimate(built.candidates, by="day").data
    pytest.importorskip("pyarrow")
    releases.save(tmp_path / "all.parquet")
    assert ut.count(tmp_path / "all.parquet", by=["day"]).to_dict() == counted.to_dict()
    counted.save(tmp_path / "counts.parquet")
    assert ut.Counts.open(tmp_path / "counts.parquet").to_dict() == counted.to_dict()


def test_files_are_read(built: ut.Built, releases: ut.Releases, tmp_path: Path) -> None:
    few = releases[:5]
    few.save(tmp_path / "few.jsonl")
    read = ut.read_releases(tmp_path / "few.jsonl", ["day", "nth"])
    assert bytes(read) == bytes(few) and read.columns["nth"] == [0, 1, 2, 3, 4]
    with pytest.raises(ut.UndertoneError, match="no field `other`, only day, nth, release"):
        ut.read_releases(tmp_path / "few.jsonl", ["day", "other"])
    with open(tmp_path / "few.jsonl", "a", encoding="utf-8") as file:
        file.write('{"release": "00"}\nno json\n{}\n')
    (tmp_path / "few.raw").write_bytes(bytes(few) + bytes(24) + b"rest")
    (tmp_path / "nested.jsonl").write_text(json.dumps({"release": few[0].hex(), "app": {"day": "mon"}}) + "\n")
    assert ut.read_releases(tmp_path / "nested.jsonl", ["app.day"]).columns == {"app.day": ["mon"]}
    # One name is no list of letters.
    assert ut.read_releases(tmp_path / "nested.jsonl", "app.day").columns == {"app.day": ["mon"]}
    assert ut.count(tmp_path / "nested.jsonl", by="app.day").slices == ["app.day"]
    few.with_columns(ready=[True, False, None, True, False]).save(tmp_path / "few.csv")
    read = ut.read_releases(tmp_path / "few.csv", ["day", "nth", "ready"])
    assert bytes(read) == bytes(few) and read.columns["day"] == few.columns["day"] and read.columns["nth"] == list("01234")
    assert read.columns["ready"] == ["true", "false", None, "true", "false"]
    with pytest.raises(ut.ArgumentError, match="no releases"):
        ut.read_releases(tmp_path / "few.csv", format="counts")
    both = ut.read_releases([tmp_path / "few.jsonl", tmp_path / "few.raw"])
    assert bytes(both) == 2 * bytes(few) and sum(both.rejected.values()) == 5
    with pytest.raises(ut.UndertoneError, match="no fields"):
        ut.read_releases(tmp_path / "few.raw", ["day"])
    assert list(ut.read_releases(tmp_path / "few.jsonl", ["day", "day"]).columns) == ["day"]
    arrow = pytest.importorskip("pyarrow")
    few.save(tmp_path / "few.parquet")
    read = ut.read_releases(tmp_path / "few.parquet", ["day"])
    assert bytes(read) == bytes(few) and read.columns["day"] == few.columns["day"]
    # Nobody asks for the column that cannot be read.
    table = few.to_arrow().append_column("took", arrow.array([Decimal(1)] * 5, arrow.decimal256(50)))
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "more.parquet")
    assert ut.read_releases(tmp_path / "more.parquet", "day") == read
    with pytest.raises(ut.UndertoneError, match="took"):
        ut.read_releases(tmp_path / "more.parquet", "took")


def test_forgeries_are_rejected(built: ut.Built, releases: ut.Releases) -> None:
    forged = bytearray(bytes(releases[:2]))
    forged[12:16] = b"\xff\xff\x00\x00"
    counted = ut.Releases(bytes(forged)).count(candidates=built.candidates)
    assert counted.total == 1 and sum(counted.rejected.values()) == 1
    assert ut.Releases(bytes(24) + bytes(forged)).count(packs=built.pack, epsilon=[3]).total == 1
    assert releases.count(epsilon=[1]).total == 0


def test_plans(built: ut.Built) -> None:
    plan = ut.plan(built.candidates, [1, 3], within=0.05, devices=[1000], shares={"health-clinic": 0.5})
    frame = plan.to_dict()
    assert set(frame["epsilon"]) == {1.0, 3.0} and set(frame["shares_of"]) == {"candidates", "labels"}
    assert set(frame["mechanism"]) == {"scores", "whole-text", "projective"} and set(frame["rule"]) == {"permute-and-flip", "whole-text", "projective"}
    assert "epsilon 3" in str(plan) and plan.html().startswith("<!DOCTYPE html>")
    with pytest.raises(ut.UndertoneError, match="no candidate"):
        ut.plan(built.candidates, 1, shares={"no such": 0.5})


def test_questions(built: ut.Built, tmp_path: Path) -> None:
    """Labels that the pack was not made for. The public texts are not those that it was made
    from."""
    names = {"cooking": "indoors", "gardening": "outdoors"}
    public, private = ut.demo.public(), ut.demo.private(3000)
    own = [(text, names[label]) for place, (text, label) in enumerate(zip(*public)) if place % 3 and label in names]
    texts, labels = [text for text, _ in own], [label for _, label in own]
    devices = [(text, names[label]) for text, label in zip(*private) if label in names]
    releases = ut.privatize([text for text, _ in devices], built.pack, 3)
    heard: list[tuple[str, int, int]] = []
    question = ut.Question(built.pack, texts, labels, progress=lambda *state: heard.append(state))
    # In sentences, whose number is unknown beforehand.
    assert heard and heard[-1][1] > len(texts) and heard[-1][2] == 0
    estimate = releases.estimate(built.candidates, level=1 - 1e-12, question=question)
    shares = {share.name: share for share in estimate.shares("labels")}
    assert set(shares) == {"indoors", "outdoors"} and estimate.data["question"]
    for name, share in shares.items():
        assert share.low is not None and share.high is not None
        assert share.low <= sum(label == name for _, label in devices) / len(devices) <= share.high < share.low + 1
    releases.save(tmp_path / "all.raw")
    assert ut.estimate(tmp_path / "all.raw", built.candidates, level=1 - 1e-12, question=question).data == estimate.data
    # Short texts have less to recognise.
    few = ut.Question(built.pack, texts, labels, first_sentences=[3, 1, 3])
    plan = ut.plan(built.candidates, 3, within=0.1, question=few)
    ways = plan.to_dict()
    limits = {number: limit for of, number, limit in zip(ways["shares_of"], ways["sentences"], ways["limit"]) if of == "labels"}
    assert set(limits) == {1, 3} and "labelled texts of the question" in str(plan)
    assert ut.plan(built.candidates, 3, within=0.1, question=question).to_dict()["sentences"].count(None) > 1
    with pytest.raises(ut.ArgumentError, match="several lengths"):
        releases.estimate(built.candidates, question=few)
    with pytest.raises(ut.ArgumentError, match="1 labels"):
        ut.Question(built.pack, texts, ["one"] * len(texts))
    with pytest.raises(ValueError, match="give one for each"):
        ut.Question(built.pack, texts, labels[1:])
    with pytest.raises(ut.ArgumentError, match="1 or more"):
        ut.Question(built.pack, texts, labels, first_sentences=0)
    with pytest.raises(TypeError, match="text 1 is None"):
        ut.Question(built.pack, ["a", None], ["one", "other"])
    others = ut.build_pack(texts, labels, heads="features")
    with pytest.raises(ut.ArgumentError, match="no candidates of it"):
        ut.plan(built.candidates, 1, question=ut.Question(others.pack, texts, labels))


def test_options_of_packs() -> None:
    public = ut.demo.public()
    texts, labels = public.texts[::6], public.labels[::6]
    # The lexicon shrinks, or there is no room for it.
    shrunk = ut.build_pack(texts, labels, heads="vectors", size=500_000)
    assert len(shrunk.pack) <= 500_000 and shrunk.pack.lexicon is not None
    assert len(shrunk.pack.lexicon) < len(ut.build_pack(texts, labels, heads="vectors").pack.lexicon or "")
    assert len(ut.build_pack(texts, labels, heads="features", size=50_000).pack) <= 50_000
    for heads, message in (("features", "no room"), ("vectors", "1000")):
        with pytest.raises(ut.UndertoneError, match=message):
            ut.build_pack(texts, labels, heads=heads, size=1000)
    some = [label if place % 2 else None for place, label in enumerate(labels)]
    with pytest.raises(ut.UndertoneError, match='unlabelled="skip"'):
        ut.build_pack(texts, some, heads="vectors")
    skipped = ut.build_pack(texts, some, heads="vectors", unlabelled="skip").candidates
    assert skipped.names == ut.build_pack(texts[1::2], labels[1::2], heads="vectors").candidates.names
    with pytest.raises(ValueError, match="clusters"):
        ut.build_pack(texts, clusters=3, unlabelled="skip")
    seeds = [ut.build_pack(texts, clusters=5, heads="vectors", seed=seed).pack.digest for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_packs_and_candidates_are_files(built: ut.Built, tmp_path: Path) -> None:
    built.save(tmp_path / "topics.pack")
    pack, candidates = ut.Pack.open(tmp_path / "topics.pack"), ut.Candidates.open(tmp_path / "topics.candidates.safetensors")
    assert pack.digest == built.pack.digest and bytes(pack) == bytes(built.pack) and len(pack) == len(bytes(pack))
    assert (candidates.names, candidates.labels, candidates.excerpts) == (
        built.candidates.names, built.candidates.labels, built.candidates.excerpts
    )
    assert pack.selector == "scores" and pack.candidate_count == len(candidates) == 12


def test_clusters_are_found_without_labels() -> None:
    public = ut.demo.public()
    built = ut.build_pack(public.texts, clusters=5, heads="vectors")
    assert len(built.candidates) == 5


def test_one_number_is_no_list_of_its_digits(built: ut.Built, releases: ut.Releases, tmp_path: Path) -> None:
    releases.save(tmp_path / "all.raw")
    path = tmp_path / "all.raw"
    ones: list[Any] = ["3", 3, 3.0, np.float32(3), np.int64(3), np.array(3.0), Decimal(3), Fraction(3)]
    for one in ones:
        assert ut.count(path, epsilon=one).total == releases.count(epsilon=one).total == 3000, repr(one)
        assert set(ut.plan(built.candidates, one, within=0.1, devices=untyped(np.int64(100))).to_dict()["epsilon"]) == {3.0}
    # Neither 1 nor 2.
    twelve: list[Any] = ["12", Decimal(12)]
    for one in twelve:
        assert ut.count(path, epsilon=one).rejected == {"made with another epsilon than expected": 3000}
    with pytest.raises(ut.UndertoneError):
        releases.estimate(built.candidates, epsilon="12")
    more: list[Any] = [[1, "3"], np.array([1, 3]), (own for own in (1, 3)), pytest.importorskip("pandas").Series([1, 3])]
    for several in more:
        assert ut.count(path, epsilon=several).total == 3000
    for wrong in (b"3", None, object()):
        with pytest.raises(TypeError):
            ut.count(path, epsilon=untyped(wrong))
    with pytest.raises(TypeError):
        ut.plan(built.candidates, 3, devices=untyped("100"))
    question = ut.Question(built.pack, ut.demo.public().texts[1::3], ut.demo.public().labels[1::3], first_sentences=untyped(np.int64(2)))
    assert ut.plan(built.candidates, 3, within=0.1, question=question).to_dict()["sentences"].count(2) > 0


def test_a_file_of_texts_is_not_quoted(tmp_path: Path) -> None:
    """A CSV without a column of releases is taken for counts, and its first line for the names of
    columns."""
    letters = tmp_path / "letters.csv"
    letters.write_text("Kowalski is ill,a\nThe roses froze,b\n")
    calls: list[Callable[[], object]] = [
        lambda: ut.count(letters), lambda: ut.Counts.open(letters), lambda: ut.count(letters, format="counts")
    ]
    for call in calls:
        with pytest.raises(ut.UndertoneError, match="first line has 2 fields") as raised:
            call()
        assert "Kowalski" not in str(raised.value) and "column `pack`" in str(raised.value)


def test_what_was_counted_travels(built: ut.Built, releases: ut.Releases) -> None:
    """To another process, and into a file of pickles."""
    forged = bytes(releases) + bytes(24)
    counted = ut.Releases(forged, {"day": [*releases.columns["day"], "2026-11-01"]}).count("day", candidates=built.candidates)
    again = pickle.loads(pickle.dumps((counted, built)))
    assert again[0].to_dict() == counted.to_dict() and again[0].rejected == counted.rejected != {}
    assert again[1].candidates.names == built.candidates.names
    assert again[0].estimate(again[1].candidates).data == counted.estimate(built.candidates).data
    assert bytes(again[1].candidates) == bytes(built.candidates)
    for wrong in (b"", bytes(built.candidates)[:-1]):
        with pytest.raises(ut.UndertoneError):
            ut.Candidates(wrong)
