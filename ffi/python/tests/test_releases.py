"""Texts in, releases out."""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertone as ut

TEXT = "The doctor wants to repeat the blood test. The clinic called on Monday."


def test_a_release_names_a_candidate(built: ut.Built) -> None:
    # At the largest epsilon another candidate than the best has a probability below 1e-9.
    release = ut.release(TEXT, built.pack, 1000)
    place = built.candidates.decode(release)
    assert place is not None and built.candidates.names[place] == "health-clinic"
    assert release.pack_id == built.pack.id == built.candidates.pack_id
    assert release.epsilon == 1000
    assert len(bytes(release)) == 24 and bytes(release).hex() == release.hex()
    assert ut.Release(bytes(release)) == release and hash(ut.Release(bytes(release))) == hash(release)
    assert TEXT not in repr(release)


@pytest.mark.parametrize("rule", ["permute-and-flip", "exponential", "whole-text", "projective"])
def test_every_rule_is_there(pack: ut.Pack, rule: str) -> None:
    release = ut.release(TEXT, pack, 3, rule=rule)
    assert release.mechanism == (rule if rule in ("whole-text", "projective") else "scores")
    assert release.rule == rule
    assert (release.order > 0) == (rule == "projective")


def test_the_package_and_packs_say_what_they_are(pack: ut.Pack, vectors: ut.Built) -> None:
    assert ut.__version__ == metadata.version("undertone")
    assert (pack.selector, vectors.pack.selector) == ("scores", "scores")


def test_a_pack_does_not_choose_the_unit_of_privacy(pack: ut.Pack) -> None:
    """The table of quality of this pack rates sentence releases higher at epsilon 2."""
    hostile = ut.Pack.open(Path(__file__).parents[3] / "tests/golden/golden-measured.pack")
    document = ut.Document(hostile)
    document.push(np.zeros((2, document.dimension), np.float32))
    assert document.release(2).mechanism == "whole-text" and hostile.promise(2) == (2, 2)
    assert not hasattr(hostile, "recommended")
    assert ut.release(TEXT, pack, 2).mechanism == ut.privatize([TEXT], pack, 2)[0].mechanism == "whole-text"


def test_promises(pack: ut.Pack) -> None:
    sentence, whole = pack.promise(1, "permute-and-flip")
    assert sentence == 1 and whole > 1
    assert pack.promise(1, "whole-text") == (1, 1)
    assert {row["epsilon"] for row in pack.quality()} >= {1.0, 3.0}


@pytest.mark.parametrize(
    ("epsilon", "micro"), [(1, 1_000_000), (0.1, 100_000), ("0.1000009", 100_000), (np.float64(2.5), 2_500_000), (Decimal("3"), 3_000_000)]
)
def test_epsilon_is_exact(pack: ut.Pack, epsilon: float, micro: int) -> None:
    releases = ut.privatize([TEXT], pack, epsilon)
    assert releases.fields["epsilon"].tolist() == [micro]


def test_all_columns_are_texts(pack: ut.Pack) -> None:
    texts = [TEXT, "", "Frost killed the roses."]
    columns: list[object] = [texts, tuple(texts), (text for text in texts), np.array(texts), np.array(texts, object)]
    pandas = pytest.importorskip("pandas")
    columns += [pandas.Series(texts), pandas.Series(texts, index=[7, 7, 9]), pandas.Series(texts, dtype="category")]
    polars = pytest.importorskip("polars")
    columns += [polars.Series(texts)]
    arrow = pytest.importorskip("pyarrow")
    columns += [arrow.array(texts), arrow.chunked_array([texts[:1], texts[1:]]), arrow.array(texts, arrow.large_string())]
    columns += [arrow.array(texts).dictionary_encode(), arrow.array(texts, arrow.string_view()), arrow.chunked_array([[], texts], arrow.string())]
    columns += [pandas.Series(texts, dtype=kind) for kind in ("string[pyarrow]", "string[python]", pandas.ArrowDtype(arrow.large_string()))]
    columns += [pandas.Index(texts), pandas.array(texts), pandas.Categorical(texts)]
    columns += [polars.Series(texts, dtype=polars.Categorical), pytest.importorskip("pyarrow.compute").run_end_encode(arrow.array(texts))]
    assert len(ut.privatize(arrow.chunked_array([], arrow.string()), pack, 1)) == 0
    for column in columns:
        releases = ut.privatize(column, pack, 1000, rule="whole-text")
        # The pack recognises nothing in the second text, which is an outcome of its own.
        assert releases.fields["outcome"].tolist()[1] == 12, type(column)
        assert len(releases) == 3


def test_many_texts_in_any_number_of_threads(built: ut.Built) -> None:
    private = ut.demo.private(5000)
    heard: list[tuple[int, int]] = []
    for threads in (1, 2, None):
        heard.clear()
        releases = ut.privatize(
            private.texts, built.pack, 1000, rule="whole-text", threads=threads, progress=lambda *state: heard.append(state)
        )
        named = [built.candidates.names[outcome] for outcome in releases.fields["outcome"]]
        right = np.mean([name == label for name, label in zip(named, private.labels)])
        assert right > 0.9
        assert heard == [(2048, 5000), (4096, 5000), (5000, 5000)]
    generator = (text for text in private.texts[:10])
    ut.privatize(generator, built.pack, 1, progress=lambda *state: heard.append(state))
    assert heard[-1] == (10, 0)


def test_releases_are_bytes_without_copies(pack: ut.Pack) -> None:
    releases = ut.privatize([TEXT] * 5, pack, 1).with_columns(day=["mon", "mon", "tue", "tue", "wed"])
    assert releases.array.shape == (5, 24) and not releases.array.flags.writeable
    assert releases.array.base is not None
    assert np.shares_memory(releases.array, np.frombuffer(bytes(releases), np.uint8))
    assert np.shares_memory(releases.array, releases.fields)
    with pytest.raises(ValueError, match="read-only"):
        releases.array[0, 0] = 1
    first = releases[0]
    assert (first.candidate, first.mechanism) == (releases.fields["outcome"][0], "scores" if releases.fields["mechanism"][0] == 2 else "whole-text")
    assert releases[1:3].columns == {"day": ["mon", "tue"]} and bytes(releases[1:3]) == bytes(releases)[24:72]
    assert list(releases) == [releases[place] for place in range(5)] and releases[-1] == releases[4]
    with pytest.raises(IndexError):
        releases[5]
    assert len(releases + releases) == 10
    assert pickle.loads(pickle.dumps(releases)) == releases
    assert pickle.loads(pickle.dumps(first)) == first
    assert pickle.loads(pickle.dumps(pack)).digest == pack.digest


def test_releases_are_frames(pack: ut.Pack) -> None:
    releases = ut.privatize([TEXT] * 3, pack, 2.5, rule="projective").with_columns(day=["mon", "tue", "tue"])
    pandas = pytest.importorskip("pandas")
    frame = releases.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["release", "pack", "mechanism", "rule", "epsilon", "order", "outcome", "day"]
    assert frame["release"].tolist() == [release.hex() for release in releases]
    assert set(frame["pack"]) == {pack.id} and set(frame["epsilon"]) == {2.5} and set(frame["mechanism"]) == {"projective"}
    assert set(frame["rule"]) == {"projective"}
    pytest.importorskip("polars")
    assert releases.to_polars().shape == (3, 8)
    arrow = pytest.importorskip("pyarrow")
    table = releases.to_arrow()
    assert table.column_names == list(frame.columns)
    assert table.drop_columns("release").to_pylist() == frame.drop(columns="release").to_dict("records")
    assert table.schema.field("release").type == arrow.binary(24)
    assert table["release"].to_pylist() == [bytes(release) for release in releases]
    # Without a copy: the bytes of the table are those of the releases.
    chunk: Any = table["release"].chunk(0)
    assert chunk.buffers()[1].address == releases.array.ctypes.data


def test_documents_take_vectors_and_texts(vectors: ut.Built) -> None:
    document = ut.Document(vectors.pack)
    assert document.push_text(TEXT) == 2 and document.sentence_count == 2
    encoder = ut.Encoder.lexicon()
    rows = encoder.encode(["The clinic called.", "A blood test."])
    assert rows.shape == (2, document.dimension) and rows.dtype == np.float32
    assert document.push(rows) == 2 and document.push(rows[0]) == 1 and document.sentence_count == 5
    assert vectors.candidates.names[document.release(1000, "whole-text").candidate] == "health-clinic"
    assert document.sentence_count == 0
    assert document.push(np.zeros((200, document.dimension), np.float32)) == 128
    document.clear()
    assert document.sentence_count == 0
    # Read-only and empty arrays are fine, and numbers that are none are taken as they are.
    rows.flags.writeable = False
    assert document.push(rows) == 2 and document.push(rows[:0]) == 0
    assert document.push(np.full(document.dimension, np.nan, np.float32)) == 1
    document.release(1)


def test_encoders_are_those_of_the_pack(vectors: ut.Built) -> None:
    built_in, carried = ut.Encoder.lexicon(), ut.Encoder.lexicon(vectors.pack)
    assert (carried.digest, carried.dimension) == (built_in.digest, built_in.dimension)
    np.testing.assert_array_equal(built_in.encode([TEXT]), carried.encode([TEXT]))
    release = ut.release(TEXT, vectors.pack, 1000, rule="whole-text", encoder=carried)
    assert vectors.candidates.names[release.candidate] == "health-clinic"
    lexicon = vectors.pack.lexicon
    assert lexicon is not None
    words = lexicon.words
    assert lexicon.vectors.shape == (len(lexicon), carried.dimension) and words == sorted(words)
    assert lexicon.vectors.dtype == np.int8 and not lexicon.vectors.flags.owndata and not lexicon.vectors.flags.writeable
    first = lexicon.vectors
    del lexicon
    assert first[words.index("doctor")].any()
    embeddings = vectors.candidates.embeddings
    assert embeddings.shape == (12, carried.dimension) and not embeddings.flags.owndata


def test_threads_share_packs_and_not_documents(pack: ut.Pack) -> None:
    document = ut.Document(pack)
    problems: list[BaseException] = []

    def work() -> None:
        for _ in range(50):
            ut.privatize([TEXT] * 100, pack, 1, threads=1)
            try:
                document.push_text(TEXT * 200)
                document.release(1)
            except RuntimeError as borrowed:  # used by another thread just now
                problems.append(borrowed)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("borrowed" in str(problem) for problem in problems)


def test_words_and_vectors(vectors: ut.Built) -> None:
    bags = ut.obfuscate([TEXT, "Frost killed the roses."], vectors.pack, 1000, words=5)
    assert [len(bag) for bag in bags.words] == [5, 5]
    # At this epsilon a word stays itself, but with a probability below 1e-9.
    assert set(bags.words[0]) <= {"doctor", "wants", "repeat", "blood", "test", "clinic", "called", "monday"}
    assert "word mover's distance" in bags.guarantee and bags.warning is not None
    mechanism = ut.VectorMechanism(3, 1000, bound_exponent=1)
    vector = np.array([1.0, -1.0, 0.5], np.float32)
    release = mechanism.release(vector)
    # Noise of a thousandth: a norm of 1 has a probability below e^-900.
    assert np.linalg.norm(release.values - vector) < 1
    assert release.noise == "laplace" and release.epsilon == 1000
    assert ut.VectorRelease(bytes(release)).values.tolist() == release.values.tolist()


def test_releases_are_filtered(pack: ut.Pack) -> None:
    releases = ut.privatize([TEXT] * 5, pack, 1).with_columns(day=["mon", "mon", "tue", "tue", "wed"])
    mask = [True, False, True, False, False]
    masks: list[Any] = [mask, np.array(mask), list(np.array(mask)), (own for own in mask), np.array([0, 2]), [0, -3]]
    for mask in masks:
        own = releases[mask]
        assert list(own) == [releases[0], releases[2]] and own.columns == {"day": ["mon", "tue"]}
    assert len(releases[[]]) == 0 and releases[[4, 4]].columns == {"day": ["wed", "wed"]}
    assert releases[np.int64(4)] == releases[4] == releases[np.array(4)]
    assert releases[::-1].columns["day"] == ["wed", "tue", "tue", "mon", "mon"]
    assert len(releases[releases.fields["epsilon"] == 1_000_000]) == 5
    shorter: list[Any] = [[True], np.zeros(6, bool), [5], [-6]]
    for short in shorter:
        with pytest.raises(IndexError):
            releases[short]
    others: list[Any] = [[True, 1], [0.0], ["a"], "a", None, np.zeros((5, 2), bool)]
    for wrong in others:
        with pytest.raises(TypeError):
            releases[wrong]
    pandas = pytest.importorskip("pandas")
    assert len(releases[pandas.Series(releases.columns["day"]) == "tue"]) == 2


def test_releases_are_made_of_bytes(pack: ut.Pack) -> None:
    releases = ut.privatize([TEXT] * 5, pack, 1)
    for data in (releases.array, releases.fields, bytearray(bytes(releases)), memoryview(bytes(releases))):
        assert ut.Releases(data) == releases
    assert ut.Releases(releases.array[::2]) == releases[::2]
    wrong: list[Any] = [24, "a" * 24, [0] * 24]
    for data in wrong:
        with pytest.raises(TypeError):
            ut.Releases(data)
    with pytest.raises(ValueError, match="5 bytes"):
        ut.Releases(releases.array[:, 0])


def test_columns_have_other_names_than_fields(pack: ut.Pack, tmp_path: Path) -> None:
    releases = ut.privatize([TEXT], pack, 1)
    for name in releases.to_dict():
        calls: list[Callable[[], object]] = [
            lambda: releases.with_columns(**{name: ["a"]}),
            lambda: ut.Releases(bytes(24), {name: ["a"]}),
            lambda: ut.read_releases(tmp_path / "missing.jsonl", name),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=f"called '{name}', as a field"):
                call()


@pytest.mark.parametrize("ending", ["raw", "jsonl", "csv", "parquet"])
def test_files_appear_whole_or_not_at_all(pack: ut.Pack, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    releases = ut.privatize([TEXT] * 3, pack, 1).with_columns(day=["a", "b", "c"])
    path = tmp_path / f"own.{ending}"
    releases.save(path)
    path.chmod(0o640)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            releases[:1].save(path)
    if ending != "raw":
        # Neither CSV nor JSON nor Arrow has it, and only the last row does.
        odd: Any = {"jsonl": [float("nan")], "csv": "\ud800", "parquet": object()}[ending]
        with pytest.raises((ValueError, TypeError, pytest.importorskip("pyarrow").ArrowInvalid) if ending == "parquet" else ValueError):
            releases.with_columns(day=["a", "b", odd]).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]
    (tmp_path / "link").mkdir()
    link = tmp_path / "link" / path.name
    link.symlink_to(path)
    releases[:1].save(link)
    assert link.is_symlink() and bytes(ut.read_releases(path)) == bytes(releases[:1]) and path.stat().st_mode & 0o777 == 0o640
    (tmp_path / f"folder.{ending}").mkdir()
    with pytest.raises(ut.ArgumentError, match="is a folder"):
        releases.save(tmp_path / f"folder.{ending}")
    with pytest.raises(FileNotFoundError):
        releases.save(tmp_path / "missing" / path.name)


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_paths_are_those_that_open_takes(built: ut.Built, tmp_path: Path, kind: Callable[[Any], Any]) -> None:
    def at(name: str) -> Any:
        return kind(str(tmp_path / name))

    built.save(at("é.pack"))
    built.candidates.save(at("é.safetensors"))
    assert ut.Pack.open(at("é.pack")).digest == built.pack.digest
    assert ut.Candidates.open(at("é.safetensors")).names == built.candidates.names
    releases = ut.privatize([TEXT], built.pack, 3)
    for ending in (".raw", ".csv"):
        releases.save(at(f"é{ending}"))
        assert ut.read_releases(at(f"é{ending}")) == ut.read_releases([at(f"é{ending}")]) == releases
    counts = ut.count(at("é.csv"), packs=built.pack)
    counts.save(at("counts.csv"))
    assert ut.Counts.open(at("counts.csv")).total == counts.total == 1
    ut.Ledger(at("é.ledger"), 1, unit="sentence")
    assert (tmp_path / "é.ledger").is_file()
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
        ut.Pack.open(7)  # type: ignore[arg-type]


def test_numbers_that_are_not_finite_are_missing(pack: ut.Pack, tmp_path: Path) -> None:
    releases = ut.privatize([TEXT] * 4, pack, 1).with_columns(sure=[0.5, float("inf"), -np.float64("inf"), float("nan")])
    for ending in ("jsonl", "csv"):
        releases.save(tmp_path / f"own.{ending}")
        assert "inf" not in (tmp_path / f"own.{ending}").read_text().lower()
        assert ut.read_releases(tmp_path / f"own.{ending}", "sure").columns["sure"][1:] == [None] * 3
    for line in (tmp_path / "own.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(name))


def test_what_is_not_installed_is_named(built: ut.Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    releases = ut.privatize([TEXT], built.pack, 1)
    plan = ut.plan(built.candidates, 1, devices=1000)
    for name in ("pandas", "polars", "pyarrow", "pyarrow.parquet", "matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    calls: dict[str, Callable[[], object]] = {"pandas": releases.to_pandas, "polars": releases.to_polars, "pyarrow": lambda: releases.save(tmp_path / "own.parquet"), "matplotlib": plan.plot}
    for package, call in calls.items():
        with pytest.raises(ImportError, match=f"needs {package}, which is not installed: pip install {package}$"):
            call()


def test_any_column_of_sentences_is_encoded() -> None:
    encoder = ut.Encoder.lexicon()
    wanted = encoder.encode([TEXT, "Frost."])
    columns: list[Any] = [(TEXT, "Frost."), np.array([TEXT, "Frost."]), (own for own in (TEXT, "Frost."))]
    try:
        import pandas
        import pyarrow
    except ImportError:
        pass
    else:
        columns += [pandas.Series([TEXT, "Frost."]), pyarrow.array([TEXT, "Frost."])]
    for column in columns:
        np.testing.assert_array_equal(encoder.encode(column), wanted)
    with pytest.raises(TypeError, match="not one str") as raised:
        encoder.encode(TEXT)
    assert TEXT not in str(raised.value)
