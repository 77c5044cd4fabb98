"""Whatever is passed in: an exception, never an abort, and nothing of a text in it."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertone as ut

SECRET = "Kowalski"


def untyped(value: Any) -> Any:
    """What the types would refuse."""
    return value


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([SECRET, None], "text 1 is None, not str"),
        ([SECRET, float("nan")], "text 1 is float, not str"),
        ([SECRET, b"x"], "text 1 is bytes, not str"),
        ([[SECRET]], "text 0 is list, not str"),
        (SECRET, "for one text call release"),
        (SECRET.encode(), "for one text call release"),
        ({SECRET: 1}, "for one text call release"),
        (7, "expected a list"),
        (None, "expected a list"),
        (np.array([[SECRET]]), "one column"),
    ],
)
def test_what_is_no_text(pack: ut.Pack, texts: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        ut.privatize(texts, pack, 1)
    assert message in str(raised.value) and SECRET not in str(raised.value)


def test_missing_values_of_frames(pack: ut.Pack) -> None:
    pandas, arrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    texts = [SECRET, None]
    columns = [pandas.Series([SECRET, missing], dtype=object) for missing in (None, pandas.NA, pandas.NaT, float("nan"))]
    columns += [pandas.Series(texts, dtype=kind) for kind in ("str", "string[pyarrow]", "string[python]", "category")]
    columns += [pandas.Series(texts, dtype=pandas.ArrowDtype(arrow.large_string())), pandas.Index(texts)]
    columns += [arrow.array(texts, kind) for kind in (arrow.string(), arrow.large_string(), arrow.string_view())]
    columns += [arrow.array(texts).dictionary_encode(), arrow.chunked_array([texts[:1], [], texts[1:]], arrow.string())]
    columns += [polars.Series(texts), polars.Series(texts, dtype=polars.Categorical), np.ma.array([SECRET, ""], mask=[False, True])]
    for column in columns:
        with pytest.raises(TypeError, match="text 1 is .*not str") as raised:
            ut.privatize(column, pack, 1)
        assert SECRET not in str(raised.value)
    for frame in (pandas.DataFrame({"a": [SECRET]}), arrow.table({"a": [SECRET]}), polars.LazyFrame({"a": [SECRET]}), np.array(SECRET)):
        with pytest.raises(TypeError, match="one column"):
            ut.privatize(frame, pack, 1)


def test_columns_beside_releases(pack: ut.Pack, tmp_path: Path) -> None:
    releases = ut.privatize(["a", "b"], pack, 1)
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    days = ["2026-11-01", "2026-11-02"]
    dates = pandas.Series(pandas.to_datetime(days))
    alike = [np.array(days), arrow.chunked_array([days[:1], days[1:]]), pandas.Series(days, dtype="category"), arrow.array(days, arrow.string_view())]
    alike += [np.array(days, "datetime64[D]"), dates.dt.date]
    for column in alike:
        assert releases.with_columns(day=column).count("day").to_dict()["day"] == days, column
    for column in (dates, dates.to_numpy(), arrow.array(dates)):
        assert releases.with_columns(day=column).count("day").to_dict()["day"] == [f"{day} 00:00:00" for day in days], column
    # Missing values are written as such, and are no slices.
    one = pandas.Series(["mon", None], dtype=object)
    for column in (one, [None, pandas.NA], pandas.Series([1, None], dtype="Int64"), np.array(["2026-11-01", "NaT"], "datetime64[ns]"), ["x", float("nan")]):
        own = releases.with_columns(day=column)
        for ending in ("jsonl", "csv", "parquet"):
            own.save(tmp_path / f"own.{ending}")
            assert ut.read_releases(tmp_path / f"own.{ending}", ["day"]).columns["day"][1] is None
        with pytest.raises(TypeError, match="column 'day': row . is"):
            own.count("day")
    for wrong, message in (("ab", "not one str"), ({"a": 1}, "not one dict"), (pandas.DataFrame({"a": days}), "one column"), (7, "not int")):
        with pytest.raises(TypeError, match=f"column 'day'.*{message}"):
            releases.with_columns(day=wrong)
    for wrong in ([1.5, 2.5], [b"a", b"b"], [["a"], ["b"]]):
        with pytest.raises(TypeError, match="column 'day': row 0 is"):
            releases.with_columns(day=wrong).count("day")


def test_messages_are_short_and_quote_no_text(pack: ut.Pack, tmp_path: Path) -> None:
    """A value may be a megabyte, or a text in the wrong place."""
    long = "x" * 1_000_000
    releases = ut.privatize(["a"], pack, 1)
    calls: list[Callable[[], object]] = [
        lambda: ut.release("a", pack, "9" * 1_000_000),
        lambda: ut.release("a", pack, long),
        lambda: ut.release("a", pack, 1, rule=long),
        lambda: ut.privatize(type(long, (), {})(), pack, 1),
        lambda: ut.privatize([type(long, (), {})()], pack, 1),
        lambda: ut.count(long),
        lambda: ut.count(tmp_path, format=long),
        lambda: ut.Pack.open(long),
        lambda: ut.Ledger(tmp_path / "own.ledger", 1, unit=long),
        lambda: ut.Ledger(long, 1, unit="sentence"),
        lambda: releases.count(long),
        lambda: releases.with_columns(**{long: []}),
        lambda: releases.with_columns(**{long: [None]}).count(long),
        lambda: releases.save(long),
        lambda: ut.build_pack(["a", "b"], ["a", "b"], heads=long),
        lambda: ut.build_pack(["a", "b"], ["a", "b"], unlabelled=long),
        lambda: ut.obfuscate(["a"], pack, 1, rule=long),
        lambda: ut.VectorMechanism(3, 1, noise=long),
        lambda: releases.count().merge(releases.with_columns(**{long: ["a"]}).count(long)),
    ]
    for place, call in enumerate(calls):
        with pytest.raises((ut.UndertoneError, TypeError, ValueError)) as raised:
            call()
        assert len(str(raised.value)) < 5000, place
    with pytest.raises(ut.ArgumentError, match="type str, which is not shown") as raised:
        ut.release("1", pack, f"My name is {SECRET}.")
    assert SECRET not in str(raised.value)
    with pytest.raises(ut.ArgumentError, match="above 1000") as raised:
        ut.release("1", pack, "4111111111111111")
    assert "4111" not in str(raised.value)
    # A text that is no Unicode is in no exception, either: Python's own would hold it.
    for call in (
        lambda: ut.release("1", pack, 1, rule=f"{SECRET}\ud800"),
        lambda: ut.Ledger("never-made.ledger", 1, unit=f"{SECRET}\ud800"),
        lambda: ut.VectorMechanism(3, 1, noise=f"{SECRET}\ud800"),
    ):
        with pytest.raises(ut.ArgumentError, match="unknown") as raised:
            call()
        assert SECRET not in repr(raised.value)
    calls = [
        lambda: ut.release("1", pack, 1, rule=f"My name is {SECRET}."),
        lambda: ut.obfuscate(["1"], pack, 1, rule=f"My name is {SECRET}."),
        lambda: ut.Document(pack).release(1, SECRET),
        lambda: pack.promise(1, SECRET),
    ]
    for call in calls:
        with pytest.raises(ut.ArgumentError, match="rule is unknown") as raised:
            call()
        assert SECRET not in str(raised.value)
    for wrong in (np.array([SECRET]), np.array(f"My name is {SECRET}.")):
        with pytest.raises(ut.ArgumentError, match="type ndarray, which is not shown") as raised:
            ut.release("1", pack, untyped(wrong))
        assert SECRET not in str(raised.value)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff b. \udcff", "\x00", "", " \n", "\U0010ffff" * 10])
def test_any_string_is_a_text(pack: ut.Pack, vectors: ut.Built, text: str) -> None:
    """An error would say something about the text."""
    assert len(ut.privatize([text], pack, 1)) == 1
    assert isinstance(ut.release(text, pack, 1), ut.Release)
    ut.Document(pack).push_text(text)
    ut.obfuscate([text], vectors.pack, 5, words=3)
    ut.Encoder.lexicon().encode([text])
    # And a name: of a label, a column, a word.
    assert ut.privatize(["x"], pack, 1).with_columns(a=[text]).count("a").total == 1
    ut.obfuscate(["x"], vectors.pack, 5, words=3, stop_words=[text])


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.9, 1.1, 1.6, 0.000003, 999.999999])
def test_an_epsilon_that_is_shown_can_be_given_back(pack: ut.Pack, epsilon: float, tmp_path: Path) -> None:
    drawn = ut.release("x", pack, epsilon)
    assert drawn.epsilon == epsilon
    releases = ut.privatize(["x"], pack, drawn.epsilon)
    assert releases.count(packs=pack, epsilon=releases[0].epsilon).total == 1
    path = tmp_path / "budget.ledger"
    budget = ut.Ledger(path, epsilon, unit="sentence").budget
    ut.Ledger(path, budget, unit="sentence").close()


def test_arrays_that_are_not_aligned(vectors: ut.Built) -> None:
    mechanism = ut.VectorMechanism(16, 1)
    vector = np.frombuffer(bytes(65), np.uint8)[1:].view(np.float32)
    with pytest.raises(ut.ArgumentError, match=r"not aligned; copy it with \.copy\(\)"):
        mechanism.release(vector)
    mechanism.release(vector.copy())


def test_bytes_that_are_no_text_are_replaced(pack: ut.Pack) -> None:
    """Arrow lets any bytes pass as a string, and Python would quote them in its error."""
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.array([b"a \xff b", None, b"\xed\xa0\x80"])
    broken = arrow.Array.from_buffers(arrow.string(), 3, texts.buffers())
    text = broken.drop_null()
    columns = [text, arrow.chunked_array([text]), text.dictionary_encode(), pytest.importorskip("pyarrow.compute").run_end_encode(text)]
    columns += [arrow.Array.from_buffers(arrow.string_view(), 2, texts.drop_null().cast(arrow.binary_view()).buffers())]
    pandas = pytest.importorskip("pandas")
    columns += [pandas.Series(column, dtype=pandas.ArrowDtype(column.type)) for column in (text, text.dictionary_encode())]
    # The type of strings in pandas 3, and the older one.
    for na in (float("nan"), pandas.NA):
        strings = pandas.arrays.ArrowStringArray(text.cast(arrow.large_string()), dtype=pandas.StringDtype("pyarrow", na))
        columns += [strings, pandas.Series(strings), pandas.Index(strings)]
    for column in columns:
        assert len(ut.privatize(column, pack, 1)) == 2
    with pytest.raises(TypeError, match="text 1 is None"):
        ut.privatize(broken, pack, 1)


def test_what_cannot_be_read_is_not_quoted(pack: ut.Pack) -> None:
    """Each library has its own errors, which may have a value in them, or be no error of a
    value."""

    class Column(np.ndarray[Any, Any]):
        def tolist(self) -> Any:
            raise ValueError(f"wrapping {SECRET} failed")

    no_letter = np.array([0x61, 0x110000], np.uint32).view("U1")
    for column in (no_letter, np.array([SECRET, "x"]).view(Column)):
        with pytest.raises(TypeError, match="texts: a value in rows 0 to 1 cannot be read") as raised:
            ut.privatize(column, pack, 1)
        assert raised.value.__context__ is None
    with pytest.raises(ZeroDivisionError):
        ut.privatize((str(1 // 0) for _ in "x"), pack, 1)


def test_huge_strings(pack: ut.Pack) -> None:
    assert len(ut.privatize(["x" * 100_000_000, "a. " * 10_000_000, "Word. Another sentence. " * 1_000_000], pack, 1)) == 3


def test_no_room_for_vectors_is_an_exception() -> None:
    done = _run(
        """
        import resource
        import undertone as ut
        encoder = ut.Encoder.lexicon()
        sentences = ["x"] * 3_000_000
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limit = used + len(sentences) * encoder.dimension * 4
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            encoder.encode(sentences)
        except MemoryError as problem:
            print(problem)
        """
    )
    assert "do not fit into memory" in done.stdout, done.stderr


@pytest.mark.parametrize("epsilon", [0, -1, 1001, float("nan"), float("inf"), "", "one", "1e400", True])
def test_epsilon_out_of_range(pack: ut.Pack, epsilon: Any) -> None:
    with pytest.raises(ut.ArgumentError, match="epsilon = "):
        ut.privatize(["x"], pack, epsilon)


@pytest.mark.parametrize("threads", [0, 1025, 10**9])
def test_threads_out_of_range(pack: ut.Pack, vectors: ut.Built, threads: int) -> None:
    for call in (
        lambda: ut.privatize(["x"], pack, 1, threads=threads),
        lambda: ut.obfuscate(["x"], vectors.pack, 1, threads=threads),
        lambda: ut.Encoder.lexicon().encode(["x"], threads),
    ):
        with pytest.raises(ut.ArgumentError, match=f"threads = {threads}"):
            call()
    with pytest.raises(OverflowError):
        ut.privatize(["x"], pack, 1, threads=-1)


@pytest.mark.parametrize("epsilon", [None, [1], b"1", object()])
def test_epsilon_of_another_type(pack: ut.Pack, epsilon: Any) -> None:
    with pytest.raises(TypeError):
        ut.release("x", pack, epsilon)


def test_arguments_are_refused(pack: ut.Pack, vectors: ut.Built, built: ut.Built, tmp_path: Path) -> None:
    for wrong in (b"", b"no pack", bytes(pack)[:-1], bytes(pack) + b"x"):
        with pytest.raises(ut.UndertoneError):
            ut.Pack(wrong)
    with pytest.raises(TypeError):
        ut.Pack("topics.pack")  # type: ignore[arg-type]
    with pytest.raises(ut.UndertoneError, match="nothing.pack") as raised:
        ut.Pack.open(tmp_path / "nothing.pack")
    assert raised.value.kind == "io"
    with pytest.raises(ValueError, match="rule"):
        ut.release("x", pack, 1, rule="best")
    with pytest.raises(TypeError):
        ut.release("x", pack, 1, seed=1)  # type: ignore[call-arg]
    for wrong in (b"", bytes(23), bytes(24)):
        with pytest.raises(ValueError):
            ut.Release(wrong)
    with pytest.raises(ValueError, match="23 bytes"):
        ut.Releases(bytes(23))
    with pytest.raises(ValueError, match="give one for each"):
        ut.Releases(bytes(24), {"day": []})
    with pytest.raises(ut.UndertoneError):
        vectors.candidates.decode(ut.release("x", built.pack, 1))
    with pytest.raises(ValueError, match="give one for each"):
        ut.build_pack(["a", "b"], ["x"])
    with pytest.raises(ut.UndertoneError):
        ut.build_pack([], [])
    with pytest.raises(TypeError, match="text 1 is None"):
        ut.build_pack(["a", None], ["x", "y"])
    # A label that is missing is none.
    with pytest.raises(ut.UndertoneError, match="label"):
        ut.build_pack(["a", "b", "c"], ["x", "y", float("nan")])
    with pytest.raises(ut.UndertoneError):
        ut.build_pack(["a"], clusters=10**9)
    with pytest.raises(ValueError, match="level"):
        ut.privatize(["x"], built.pack, 1).estimate(built.candidates, level=2)
    with pytest.raises(ut.UndertoneError, match="unknown ending"):
        ut.count(tmp_path / "releases.txt")
    with pytest.raises(ut.UndertoneError):
        ut.obfuscate(["x"], vectors.pack, 1, words=0)
    # One word is no list of letters.
    for own in ("stop_words", "keep"):
        with pytest.raises(TypeError, match=f"{own}: .*not one str"):
            ut.obfuscate(["x"], vectors.pack, 1, **untyped({own: "the"}))
    with pytest.raises(ValueError, match="no column"):
        ut.privatize(["x"], built.pack, 1).count("day")
    with pytest.raises(TypeError, match="to slice by"):
        ut.privatize(["x"], built.pack, 1).with_columns(day=[None]).count("day")


@pytest.mark.parametrize(
    "make",
    [
        lambda d: np.zeros(d),
        lambda d: np.zeros((2, d), np.float16),
        lambda d: np.zeros((2, d + 1), np.float32),
        lambda d: np.zeros((1, 2, d), np.float32),
        lambda d: np.zeros((), np.float32),
        lambda d: np.zeros((d, 2), np.float32).T,
        lambda d: np.zeros((4, d), np.float32)[::2, ::-1],
        lambda d: [0.0] * d,
        lambda d: None,
        lambda d: "x",
    ],
)
def test_embeddings_of_another_form(vectors: ut.Built, make: Any) -> None:
    document = ut.Document(vectors.pack)
    with pytest.raises((TypeError, ValueError), match="embeddings"):
        document.push(make(document.dimension))
    assert document.sentence_count == 0


def test_an_encoder_of_another_pack(built: ut.Built) -> None:
    public = ut.demo.public()
    alone = ut.build_pack(public.texts[::8], public.labels[::8], heads="features").pack
    with pytest.raises(ut.UndertoneError) as raised:
        ut.release("x", alone, 1, encoder=ut.Encoder.lexicon())
    assert raised.value.kind == "encoder"
    assert alone.lexicon is None
    with pytest.raises(ut.ArgumentError, match="no lexicon"):
        ut.Encoder.lexicon(alone)
    with pytest.raises(ut.ArgumentError, match="no lexicon"):
        ut.obfuscate(["x"], alone, 1)
    ut.release("x", alone, 1)


def test_callbacks_stop_the_work(pack: ut.Pack) -> None:
    def stop(*state: object) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        ut.privatize(["x"] * 10, pack, 1, progress=stop)
    public = ut.demo.public()
    with pytest.raises(KeyError, match="enough"):
        ut.build_pack(public.texts * 20, public.labels * 20, progress=stop)


def _drawn(pack: ut.Pack) -> bytes:
    return bytes(ut.privatize(["The clinic called. " * 5] * 300, pack, 1, rule="exponential"))


def test_forked_processes_draw_on_their_own(pack: ut.Pack) -> None:
    """Each has the entropy of the operating system: the same releases twice have a probability
    below 2^-300."""
    ut.privatize(["x"] * 1000, pack, 1)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        drawn = pool.map(_drawn, [pack] * 6, chunksize=1)
    assert len(set(drawn)) == 6


def _run(script: str, preloaded: Path | None = None) -> subprocess.CompletedProcess[str]:
    # A sanitizer has to stay the first.
    libraries = f"{os.environ.get('LD_PRELOAD', '')} {preloaded or ''}".strip()
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "LD_PRELOAD": libraries},
    )


@pytest.mark.parametrize(
    "work",
    ["ut.privatize(texts * 100_000, built.pack, 1)", "ut.build_pack(public.texts * 200, public.labels * 200)"],
)
def test_ctrl_c_stops_the_work(work: str) -> None:
    done = _run(
        f"""
        import os, signal, threading, time
        import undertone as ut
        public = ut.demo.public()
        built = ut.build_pack(public.texts, public.labels, heads="vectors")
        texts = public.texts
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            {work}
        except KeyboardInterrupt:
            print("stopped", time.monotonic() - start < 5)
        """
    )
    assert done.stdout == "stopped True\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library")
@pytest.mark.parametrize(
    "work", ["ut.privatize(texts, built.pack, 1, threads=3)", "encoder.encode(texts, 3)", "ut.build_pack(public.texts, public.labels)"]
)
def test_threads_that_the_system_refuses(work: str, tmp_path: Path) -> None:
    library = tmp_path / "threads_left.so"
    subprocess.run(["cc", "-shared", "-fPIC", Path(__file__).with_name("threads_left.c"), "-o", library], check=True)
    done = _run(
        f"""
        import ctypes
        import undertone as ut
        threads_left = ctypes.c_int.in_dll(ctypes.CDLL(None), "threads_left")
        public = ut.demo.public()
        texts = public.texts
        built = ut.build_pack(public.texts, public.labels, heads="vectors")
        encoder = ut.Encoder.lexicon()
        # Once the first argument of a call is refused, and once a later one.
        for left in (0, 1):
            threads_left.value = left
            try:
                {work}
            except ut.UndertoneError as problem:
                print(problem)
        threads_left.value = -1
        {work}
        print("again")
        """,
        library,
    )
    first, second, again = done.stdout.splitlines()
    assert first.startswith("cannot start threads") and second.startswith("cannot start threads"), done.stdout + done.stderr
    assert again == "again"


def test_other_threads_run_meanwhile(pack: ut.Pack) -> None:
    done = _run(
        """
        import threading
        import undertone as ut
        public = ut.demo.public()
        pack = ut.build_pack(public.texts, public.labels, heads="vectors").pack
        texts = public.texts * 10
        counted = 0
        def count():
            global counted
            while not done:
                counted += 1
        done = False
        thread = threading.Thread(target=count)
        thread.start()
        before = counted
        ut.privatize(texts, pack, 1, threads=1)
        after = counted
        done = True
        thread.join()
        print(after - before > 1000)
        """
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("ending", ["", ".jsonl", ".csv", ".raw", ".parquet"])
def test_a_folder_is_named_as_a_folder(pack: ut.Pack, tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    calls: list[Callable[[], object]] = [
        lambda: ut.count(folder),
        lambda: ut.read_releases(folder),
        lambda: ut.Pack.open(folder),
        lambda: ut.Candidates.open(folder),
        lambda: ut.Counts.open(folder),
        lambda: ut.privatize(["a"], pack, 1).save(folder),
    ]
    if ending == "":
        # The ending is looked at first.
        calls.pop()
    for place, call in enumerate(calls):
        with pytest.raises(ut.UndertoneError, match="folder.* is a folder"):
            print(place, call())


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "Git LFS pointer"),
        (b"\n<!DOCTYPE html>\n<html>", "web page"),
        (b"<?xml version='1.0'?><Error/>", "XML"),
        (b"PK\x03\x04\x14\x00\x00\x00", "zip archive"),
        (b"\xfd7zXZ\x00\x00", "xz"),
        (b"\x28\xb5\x2f\xfd\x00", "Zstandard"),
        ("{}".encode("utf-16"), "UTF-16"),
        (gzip.compress(gzip.compress(b"{}")), "gzip"),
    ],
)
def test_files_of_another_kind_are_named(tmp_path: Path, start: bytes, message: str) -> None:
    calls: dict[str, Callable[[Path], object]] = {
        "a.jsonl": ut.count,
        "a.jsonl.gz": ut.count,
        "a.csv": ut.count,
        "a.raw": ut.read_releases,
        "b.jsonl": ut.read_releases,
        "b.csv.gz": ut.read_releases,
        "c.csv": ut.Counts.open,
        "a.parquet": ut.count,
        "b.parquet": ut.read_releases,
        "a.pack": ut.Pack.open,
        "a.safetensors": ut.Candidates.open,
    }
    for name, call in calls.items():
        path = tmp_path / name
        path.write_bytes(start)
        with pytest.raises(ut.UndertoneError, match=message):
            print(name, call(path))


def test_a_field_that_no_line_has_names_those_there_are(pack: ut.Pack, tmp_path: Path) -> None:
    releases = ut.privatize(["a", "b"], pack, 1).with_columns(day=["x", None], none=[None, None])
    paths = [tmp_path / name for name in ("r.jsonl", "r.csv", "r.parquet")]
    for path in paths:
        releases.save(path)
        for call in (lambda: ut.count(path, by="dya"), lambda: ut.read_releases(path, "dya")):
            with pytest.raises(ut.UndertoneError, match="`dya`, only .*day") as raised:
                call()
            assert "--" not in str(raised.value)
        assert ut.read_releases(path, ["day", "none"]).columns == {"day": ["x", None], "none": [None, None]}


def test_names_with_half_a_surrogate_pair_are_no_hindrance(pack: ut.Pack, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    ut.privatize(["a"], pack, 1).save(path)
    line = path.read_text().replace("{", '{"\\ud800": NaN, "a\\udc00": 1, "day": "x", ', 1)
    path.write_text(line)
    assert ut.count(path, by="day").total == 1
    assert len(ut.read_releases(path, "day")) == 1
