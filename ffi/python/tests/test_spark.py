"""Releases by a Spark cluster of two executor processes, of which one is killed. Speculation is not
tried: Spark runs no second copy of a task on the same machine.

Chance: false alarm 10⁻¹⁰. The law of releases on executors is compared with that of releases here
by a χ² test.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import chance
import undertone as ut
from chance import probability, same_law

pytest.importorskip("pyspark")

from py4j.java_gateway import JavaMember  # type: ignore[import-untyped]  # noqa: E402
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: E402
from pyspark import SparkConf, TaskContext  # noqa: E402
from pyspark.errors import PythonException  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as sql  # noqa: E402

import undertone.spark as us  # noqa: E402

if TYPE_CHECKING:
    import pyarrow

    Batches = Iterator[pyarrow.RecordBatch]

# PySpark warns of pandas 3, which is not used with it, and leaves sockets to the collector.
pytestmark = [pytest.mark.filterwarnings("ignore::FutureWarning"), pytest.mark.filterwarnings("ignore::ResourceWarning")]

TEXTS = 3000
PARTITIONS = 12
COMMITTERS = ("spark.sql.parquet.output.committer.class", "spark.sql.sources.outputCommitterClass")
DAYS = ("2026-11-01", "2026-11-02", "2026-11-03")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        # Little is done here, so compilers cost more than they gain.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        # And Derby, the database of a test, has its log in the folder of whoever runs it.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Dderby.stream.error.file=/dev/null",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        # This must not matter: a committer that joins the files of each task at once, and leaves
        # those of attempts; several files a task.
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.cleanup.skipped": "true",
        "spark.hadoop.parquet.summary.metadata.level": "ALL",
        "spark.sql.files.maxRecordsPerFile": "100",
        "spark.hadoop.parquet.writer.version": "v2",
        "spark.hadoop.parquet.bloom.filter.enabled": "true",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,768]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    # Executors run functions of this file.
    for path in (__file__, chance.__file__):
        session.sparkContext.addPyFile(path)
    yield session
    session.stop()


@lru_cache
def _texts() -> list[str]:
    return ut.demo.private(TEXTS).texts


def _with_texts(batches: Batches) -> Batches:
    import pyarrow as arrow

    for batch in batches:
        numbers: list[Any] = batch.column(0).to_pylist()
        texts = arrow.array([_texts()[number] for number in numbers])
        days = arrow.array([DAYS[number % 3] for number in numbers])
        yield arrow.RecordBatch.from_arrays([texts, batch.column(0), days], names=["text", "id", "day"])


def _executor() -> int:
    """The process of Java that this one works for."""
    process = os.getpid()
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


def _seldom_lucky(folder: str, batches: Batches) -> Batches:
    """The executor of the sixth partition is killed when a part of its texts is released. The last
    says what others left by then."""
    context = TaskContext.get()
    assert context is not None
    here = Path(folder)
    (here / f"attempt-{context.partitionId()}-{context.attemptNumber()}").touch()
    for number, batch in enumerate(batches):
        yield batch
        if context.partitionId() == 5 and number == 2 and not (here / "killed").exists():
            (here / "killed").touch()
            os.kill(_executor(), signal.SIGKILL)
            time.sleep(600)
    if context.partitionId() == PARTITIONS - 1:
        until = time.monotonic() + 300
        while not (found := [*here.glob("_out.partial/*/part-*"), *here.glob("_out.partial/*/_temporary/0/task_*")]):
            if time.monotonic() > until:
                break
            time.sleep(0.1)
        (here / "committed").write_text("\n".join(map(str, found)))


def _frame(spark: SparkSession, partitions: int = 2) -> DataFrame:
    return spark.range(TEXTS, numPartitions=partitions).mapInArrow(_with_texts, "text string, id long, day string")


def _one(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 'The clinic called.' AS text, 1 AS id, 'mon' AS day")


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def test_a_chance_is_computed() -> None:
    for statistic, freedom, known in ((3.841459, 1, 0.05), (5.991465, 2, 0.05), (16.26624, 3, 0.001), (32.90949, 12, 0.001)):
        assert probability(statistic, freedom) == pytest.approx(known, rel=1e-5)
    assert same_law(Counter({0: 500, 1: 500}), Counter({0: 700, 1: 300})) < 1e-10


def test_an_executor_is_killed_and_nothing_is_lost(spark: SparkSession, built: ut.Built, tmp_path: Path) -> None:
    # Committers of the session must not matter, either.
    for setting in COMMITTERS:
        spark.conf.set(setting, "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter")
    texts = _frame(spark, PARTITIONS).mapInArrow(partial(_seldom_lucky, str(tmp_path)), "text string, id long, day string")
    released = us.privatize(texts, "text", built.pack, 0.2, to=str(tmp_path / "out"), by=["id", "day"])
    for setting in COMMITTERS:
        spark.conf.unset(setting)

    attempts = Counter(path.name.split("-")[1] for path in tmp_path.glob("attempt-*"))
    assert len(attempts) == PARTITIONS and attempts["5"] > 1 and (tmp_path / "killed").exists()
    committed = (tmp_path / "committed").read_text().splitlines()
    assert committed and all("/_temporary/0/task_" in path for path in committed)
    assert not list(tmp_path.glob("_out*"))
    assert [path.name[:10] for path in sorted((tmp_path / "out").glob("[!.]*"))] == ["_SUCCESS", *(f"part-{number:05}" for number in range(PARTITIONS))]

    assert released.columns == ["release", "id", "day"]
    rows = {row["id"]: (bytes(row["release"]), row["day"]) for row in released.collect()}
    assert released.count() == TEXTS and sorted(rows) == list(range(TEXTS))
    assert all(day == DAYS[number % 3] for number, (_, day) in rows.items())
    # Whatever is asked of it, it is the same releases, and the same that others read.
    assert {row["id"]: (bytes(row["release"]), row["day"]) for row in released.cache().collect()} == rows
    read = ut.read_releases(_files(tmp_path / "out"), ["id", "day"])
    assert {number: (bytes(own), day) for number, own, day in zip(read.columns["id"], read, read.columns["day"])} == rows

    here = ut.privatize(_texts(), built.pack, 0.2)
    kind = ["mechanism", "rule", "order", "epsilon"]
    assert set(read.fields[kind].tolist()) == set(here.fields[kind].tolist())
    outcomes = Counter(read.fields["outcome"].tolist())
    assert same_law(outcomes, Counter(here.fields["outcome"].tolist())) > 1e-10
    # So many releases would tell another epsilon.
    assert same_law(outcomes, Counter(ut.privatize(_texts(), built.pack, 3).fields["outcome"].tolist())) < 1e-10


def test_counts_are_those_of_files(spark: SparkSession, built: ut.Built, tmp_path: Path) -> None:
    released = us.privatize(_frame(spark), "text", built.pack, "2.5", to=str(tmp_path / "out"), by=["day", "id"], rule="projective")
    files = _files(tmp_path / "out")
    for slices in ("day", ["day", "id"]):
        by = [slices] if isinstance(slices, str) else slices
        ours = ut.count(files, by=by, candidates=built.candidates)
        counted = us.count(released, slices)
        theirs = us.collect(counted, candidates=built.candidates)
        assert theirs.to_dict() == ours.to_dict() and theirs.total == TEXTS and theirs.slices == by
    # They are also a file of counts.
    us.count(released, "day").write.parquet(str(tmp_path / "counts"))
    assert ut.count(_files(tmp_path / "counts"), by=["day"]).to_dict() == ut.count(files, by=["day"]).to_dict()
    estimate = us.collect(us.count(released, "day")).estimate(built.candidates)
    assert estimate.data == ut.estimate(files, built.candidates, by=["day"]).data


def _geometry(order: int) -> bytes:
    return struct.pack("<4sBBHII8s", b"UTR\x01", 8, 2, order, 1_000_000, 0, b"somepack")


def test_what_is_no_release_is_counted_as_in_files(spark: SparkSession, built: ut.Built, tmp_path: Path) -> None:
    good = [bytes(own) for own in ut.privatize(_texts()[:5], built.pack, 2)]
    # Releases, what is none, and what has no value. Orders: a prime, twice a number of terms, and
    # none.
    records = [*good, good[0].hex().encode(), b"x" * 24, b"UTR", b"x" * 48, b"", None, _geometry(5), _geometry(10), _geometry(15), _geometry(15)]
    values = ["a", None, "", "b" * 256, "b" * 257, "ä" * 129]
    rows = [(record, value) for record in records for value in values]
    files = str(tmp_path / "odd")
    invalid = "CAST(x'61ff' AS STRING)"
    odd = spark.createDataFrame(rows, "release binary, value string").withColumn("binary", sql.expr("CAST(value AS BINARY)"))
    odd = odd.unionAll(odd.limit(3).selectExpr("release", invalid, "x'61ff'")).coalesce(1)
    odd.write.parquet(files)
    odd = spark.read.parquet(files)
    for by in ([], ["value"], ["binary"], ["value", "binary"]):
        for expected in ({}, {"candidates": built.candidates}, {"epsilon": [1]}):
            ours = ut.count(_files(tmp_path / "odd"), by=by, **untyped(expected))
            theirs = us.collect(us.count(odd, by), **untyped(expected))
            assert theirs.rejected == ours.rejected and theirs.to_dict() == ours.to_dict() and len(ours.rejected) > 2
    counts = us.collect(us.count(odd))
    assert counts.merge(counts).rejected == counts.rejected and counts.merge(counts).total == 2 * counts.total
    # The releases left out of a part of the counts are unknown, but a forged order is counted.
    part = us.collect(us.count(odd).where("mechanism = 8"))
    assert list(part.rejected.values()) == [2 * len(values)] and part.total == 2 * len(values)
    counted = us.count(odd)
    us._SEEN[counted] = us._SEEN[us.count(odd.limit(1))]
    with pytest.raises(ut.UndertoneError, match="fewer releases") as raised:
        us.collect(counted)
    assert raised.value.kind == "io"


def test_slices_are_those_of_files(spark: SparkSession, built: ut.Built, tmp_path: Path) -> None:
    names = ["start", "h", "micro", "c0", "c1", "reason", "a`{b}", "a.b", "x.y.z"]
    kinds = {
        "byte": "CAST(-7 AS BYTE)",
        "long": "9223372036854775807",
        "small": "CAST(0 AS DECIMAL(18, 7))",
        "decimal": "CAST(-0.5 AS DECIMAL(9, 3))",
        "date": "DATE'2026-11-22'",
        "late": "DATE'+12026-11-22'",
        "truth": "true",
        "binary": "CAST('b' AS BINARY)",
        "same": "CASE WHEN id % 2 = 0 THEN 'a' ELSE 'A' END COLLATE UTF8_LCASE",
        "user": "named_struct('country', CASE WHEN id % 3 != 0 THEN 'SE' END, 'own', named_struct('a.b', id))",
    }
    letters = _frame(spark, 1).limit(40).selectExpr("*", "named_struct('text', text, 'day', day) AS letter")
    released = us.privatize(letters, "letter.text", built.pack, 1, to=str(tmp_path / "out"), by=["id", "letter.day"])
    assert released.columns == ["release", "id", "letter.day"]
    odd = released.withColumnsRenamed({"letter.day": "x.y.z"})
    odd = odd.withColumns({name: sql.expr(f"concat('{place}', id % 2)") for place, name in enumerate(names[:-1])})
    odd = odd.withColumns({name: sql.expr(value) for name, value in kinds.items()})
    odd.write.parquet(str(tmp_path / "odd"))
    odd = spark.read.parquet(str(tmp_path / "odd"))
    for by in (names, [name for name in kinds if name != "user"], ["user.country"], ["user.own.a.b", "user.country"]):
        ours = ut.count(_files(tmp_path / "odd"), by=by)
        theirs = us.collect(us.count(odd, by))
        assert theirs.to_dict() == ours.to_dict() and theirs.rejected == ours.rejected and ours.total > 0

    for value in ("CAST(1 AS DOUBLE)", "CAST(1 AS FLOAT)", "TIMESTAMP'2026-11-22 00:00:00'", "TIMESTAMP_NTZ'2026-11-22 00:00:00'"):
        other = released.limit(1).withColumn("when", sql.expr(value))
        other.write.mode("overwrite").parquet(str(tmp_path / "other"))
        with pytest.raises(ut.UndertoneError, match="wanted are strings"):
            ut.count(_files(tmp_path / "other"), by="when")
        with pytest.raises(TypeError, match="cast it to string or date yourself"):
            us.count(other, "when")
        with pytest.raises(TypeError, match="cast it to string or date yourself"):
            us.collect(us.count(other).withColumn("when", sql.expr(value)))
    for value in ("array('a')", "CAST(1 AS DECIMAL(19, 0))", "named_struct('a', 1)", "NULL"):
        with pytest.raises(TypeError, match="slices are strings"):
            us.count(released.withColumn("other", sql.expr(value)), "other")
    for name in us._OF_COUNTS:
        with pytest.raises(ut.ArgumentError, match="rename the"):
            ut.count(_files(tmp_path / "out"), by=name)
        for own in (name, name.upper()):
            with pytest.raises(ut.ArgumentError, match="rename the"):
                us.count(released.withColumn(own, sql.lit("a")), own)
    for slices, problem in ((["id", "id"], "twice"), ("release", "rename"), ("", "no column"), ("letter", "no column"), ("id.a", "no column")):
        with pytest.raises(ValueError, match=problem):
            us.count(released, slices)
    with pytest.raises(TypeError, match="unhex"):
        us.count(released.withColumn("release", sql.hex("release")))
    with pytest.raises(ValueError, match="no column 'release'"):
        us.count(released.select("id"))


def test_a_frame_that_draws_would_draw_again(spark: SparkSession, pack: ut.Pack) -> None:
    """Why :func:`undertone.spark.privatize` writes. Two equal draws of these texts have a
    probability below 10⁻¹⁰⁰⁰."""
    broadcast = spark.sparkContext.broadcast(bytes(pack))
    reports = spark.sparkContext.accumulator([], us._Reports())
    draw = partial(us._draw, broadcast, 0.000001, "whole-text", ["release"], reports)
    lazy = _frame(spark).select("text").mapInArrow(draw, "release binary")
    assert lazy.collect() != lazy.collect()


def test_no_texts_and_odd_texts(spark: SparkSession, pack: ut.Pack, tmp_path: Path) -> None:
    none = us.privatize(_one(spark).where("false"), "text", pack, 1, to=f"file://{tmp_path}/none", by="day")
    assert none.count() == 0 and none.columns == ["release", "day"]
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    odd = spark.sql("SELECT CAST(x'61ff20' AS STRING) AS `my.text` UNION ALL SELECT '' UNION ALL SELECT char(0)")
    assert us.privatize(odd, "my.text", pack, 1, to=str(tmp_path / "odd")).count() == 3
    spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_a_missing_text_releases_nothing(spark: SparkSession, pack: ut.Pack, tmp_path: Path) -> None:
    # In one partition: a task beside the one that fails may still write. In its second batch.
    texts = spark.range(0, 60, 1, 1).selectExpr("CASE WHEN id != 55 THEN 'The clinic called.' END AS text")
    with pytest.raises(PythonException, match="partition 0, text 55 is None, not str") as raised:
        us.privatize(texts, "text", pack, 1, to=str(tmp_path / "out"))
    assert "clinic" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def _lossy(_pack: Any, _epsilon: Any, _rule: str, _names: Any, _reports: Any, batches: Batches) -> Batches:
    import pyarrow as arrow

    for batch in batches:
        yield arrow.RecordBatch.from_arrays([arrow.array([bytes(24)] * (batch.num_rows - 1))], names=["release"])


def test_fewer_releases_than_texts_are_an_error(
    spark: SparkSession, pack: ut.Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(us, "_draw", _lossy)
    with pytest.raises(ut.UndertoneError, match="2940 releases were written of 3000 texts") as raised:
        us.privatize(_frame(spark), "text", pack, 1, to=str(tmp_path / "out"))
    assert raised.value.kind == "io" and list(tmp_path.iterdir()) == []


class _Unheard:
    def add(self, _report: Any) -> None:
        pass


def _replaced(pack: Any, epsilon: Any, rule: str, names: Any, reports: Any, batches: Batches) -> Batches:
    texts = list(batches)
    list(us._draw(pack, epsilon, rule, names, reports, iter(texts)))
    yield from us._draw(pack, epsilon, rule, names, untyped(_Unheard()), iter(texts))


def untyped(value: Any) -> Any:
    """What the types would refuse."""
    return value


def test_what_no_task_drew_is_an_error(spark: SparkSession, pack: ut.Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws of these texts are equal with a probability below 10⁻¹⁰⁰."""
    texts = _frame(spark)
    # A late attempt whose files replaced those of the attempt that succeeded.
    with monkeypatch.context() as patched:
        patched.setattr(us, "_draw", _replaced)
        with pytest.raises(ut.UndertoneError, match="not what one task drew") as raised:
            us.privatize(texts, "text", pack, 1, to=str(tmp_path / "out"))
    assert raised.value.kind == "io" and list(tmp_path.iterdir()) == []
    # An extension of Spark that moves rows between drawing and writing: a task that is repeated
    # then draws for several files.
    draw = type(texts).mapInArrow
    with monkeypatch.context() as patched:
        patched.setattr(type(texts), "mapInArrow", lambda *arguments: draw(*arguments).repartition(3))
        with pytest.raises(ut.UndertoneError, match="not what one task drew"):
            us.privatize(texts, "text", pack, 1, to=str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def test_late_attempts_add_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """What an executor does that Spark believes dead, by the names that it knows."""
    with us._claimed(spark, str(tmp_path / "out")) as claim:
        _one(spark).write.parquet(claim.folder)
        folder = Path(claim.folder.removeprefix("file:"))
        # It committed into a folder that was there already, and the driver joined both.
        (folder / "attempt_1").mkdir()
        (folder / ".part-00000-late.snappy.parquet.crc").write_bytes(b"late")
        (folder / "attempt_1" / "part-00000-late.snappy.parquet").write_bytes(b"late")
        attempt = folder / "_temporary" / "0" / "_temporary" / "attempt_2"
        attempt.mkdir(parents=True)
        with (attempt / "part-00000-late.snappy.parquet").open("wb") as file:
            sealed = Path(claim.seal().removeprefix("file:"))
            assert not folder.exists() and sealed.exists()
            file.write(b"late" * 10_000)
        attempt.mkdir(parents=True)
        (attempt / "part-00000-late.snappy.parquet").write_bytes(b"late")
        attempt.rename(folder / "part-00000-late.snappy.parquet")
        claim.finish()
    names = [path.name[:11] for path in (tmp_path / "out").rglob("*")]
    assert sorted(names) == ["._SUCCESS.c", ".part-00000", "_SUCCESS", "part-00000-"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_length_of_a_file_says_nothing(spark: SparkSession, pack: ut.Pack, tmp_path: Path) -> None:
    """Else a disk that is nearly full would choose among attempts by what they drew."""
    texts = _frame(spark, 1)
    for epsilon, to in ((0.001, "a"), (0.001, "b"), (50, "c")):
        us.privatize(texts, "text", pack, epsilon, to=str(tmp_path / to), by="day")
    files = [_files(tmp_path / to) for to in "abc"]
    assert len({len(own) for own in files}) == 1 and len({own[0].stat().st_size for own in files}) == 1
    assert len({own[0].read_bytes() for own in files}) == 3


def test_a_second_release_is_refused(spark: SparkSession, pack: ut.Pack, tmp_path: Path) -> None:
    frame = _one(spark)
    us.privatize(frame, "text", pack, 1, to=str(tmp_path / "out"))
    with pytest.raises(FileExistsError, match="read it"):
        us.privatize(frame, "text", pack, 1, to=str(tmp_path / "out"))
    (tmp_path / "_other.partial").mkdir()
    with pytest.raises(ut.UndertoneError, match="delete it") as raised:
        us.privatize(frame, "text", pack, 1, to=str(tmp_path / "other"))
    assert raised.value.kind == "in-use"
    # Of two calls in the same moment, the second to end finds the name taken, and leaves nothing.
    with us._claimed(spark, str(tmp_path / "third")) as claim:
        frame.write.parquet(claim.folder)
        claim.seal()
        (tmp_path / "third").mkdir()
        (tmp_path / "third" / "own").touch()
        with pytest.raises(FileExistsError, match="exists by now"):
            claim.finish()
    assert [path.name for path in (tmp_path / "third").iterdir()] == ["own"] and not (tmp_path / "_third.partial").exists()


def test_a_name_that_is_taken_is_the_same_error_elsewhere(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call does on `hdfs:`, on files: Hadoop's own renaming, which fails by an error of
    Java's."""
    settings = untyped(spark)._jsparkSession.sessionState().newHadoopConf()
    path = untyped(spark)._jvm.org.apache.hadoop.fs.Path
    monkeypatch.setattr(os, "rename", lambda source, to: us._rename(spark, settings, *(path(f"file://{name}") for name in (source, to))))
    for name, is_taken in (("free", False), ("taken", True)):
        with us._claimed(spark, str(tmp_path / name)) as claim:
            _one(spark).write.parquet(claim.folder)
            claim.seal()
            if is_taken:
                (tmp_path / name).mkdir()
                with pytest.raises(FileExistsError, match="exists by now"):
                    claim.finish()
            else:
                claim.finish()
    assert _files(tmp_path / "free") and not list((tmp_path / "taken").iterdir())
    # Another failure is another error.
    with pytest.raises(Py4JJavaError, match="FileNotFound"), us._claimed(spark, str(tmp_path / "other")) as claim:
        claim.finish()
    assert sorted(own.name for own in tmp_path.iterdir()) == ["free", "taken"]


def test_a_call_that_begins_when_one_ends_spoils_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = tmp_path / "_out.partial"
    call = JavaMember.__call__

    def begins(member: Any, *arguments: Any) -> Any:
        found = call(member, *arguments)
        if member.name == "listStatus" and arguments[0].toString().endswith(beside.name):
            (beside / "other").mkdir()
        return found

    with us._claimed(spark, str(tmp_path / "out")) as claim:
        _one(spark).write.parquet(claim.folder)
        claim.seal()
        claim.finish()
        monkeypatch.setattr(JavaMember, "__call__", begins)
    assert _files(tmp_path / "out") and [path.name for path in beside.iterdir()] == ["other"]


def test_what_would_show_two_attempts_is_refused(
    spark: SparkSession, pack: ut.Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = _one(spark)
    to = str(tmp_path / "out")
    with pytest.raises(ut.ArgumentError, match="s3a"):
        us.privatize(frame, "text", pack, 1, to="s3a://bucket/out")
    setting = "spark.sql.sources.commitProtocolClass"
    spark.conf.set(setting, "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol")
    with pytest.raises(ut.ArgumentError, match="HadoopMapReduceCommitProtocol, which may"):
        us.privatize(frame, "text", pack, 1, to=to)
    spark.conf.unset(setting)
    for setting in us._CHECKSUMS:
        spark.conf.set(setting, "false")
        with pytest.raises(ut.ArgumentError, match=f"{setting} is false"):
            us.privatize(frame, "text", pack, 1, to=to)
        spark.conf.unset(setting)
    for differs in (frame.repartition(8, sql.rand()), frame.withColumn("day", sql.uuid()).cache()):
        with pytest.raises(ut.ArgumentError, match="differs each time"):
            us.privatize(differs, "text", pack, 1, to=to)
    for sign in "{}[]*?\\":
        with pytest.raises(ut.ArgumentError, match="several folders"):
            us.privatize(frame, "text", pack, 1, to=f"{to}{sign}")
    database = spark.read.jdbc("jdbc:derby:memory:letters;create=true", "(SELECT IBMREQD AS text FROM SYSIBM.SYSDUMMY1) AS letters")
    for live in (database.select(sql.col("TEXT").alias("text")), frame.where(database.exists())):
        with pytest.raises(ut.ArgumentError, match="JDBCRelation, which may have other rows"):
            us.privatize(live, "text", pack, 1, to=to)
    off = SparkConf().set("spark.hadoop.outputCommitCoordination.enabled", "false")
    monkeypatch.setattr(type(spark.sparkContext), "getConf", lambda _context: off)
    with pytest.raises(ut.ArgumentError, match="switch it on"):
        us.privatize(frame, "text", pack, 1, to=to)
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_refused(spark: SparkSession, pack: ut.Pack, tmp_path: Path) -> None:
    frame = _frame(spark)
    to = str(tmp_path / "out")
    for column, by, kind in (("texts", [], ValueError), ("text", ["country"], ValueError), ("id", [], TypeError), ("text", ["TEXT"], ValueError)):
        with pytest.raises(kind):
            us.privatize(frame, column, pack, 1, to=to, by=by)
    with pytest.raises(ValueError, match="rename"):
        us.privatize(frame.withColumn("Release", sql.lit(1)), "text", pack, 1, to=to, by="Release")
    with pytest.raises(ValueError, match="rename"):
        us.privatize(frame, "text", pack, 1, to=to, by=["day", "day"])
    letters = frame.selectExpr("named_struct('own', named_struct('text', text)) AS letter")
    for private, problem in (("letter.own.text", "private"), ("letter.own", "private"), ("Letter.own", "no column"), ("letter", "private")):
        with pytest.raises(ValueError, match=problem):
            us.privatize(letters, "letter.own.text", pack, 1, to=to, by=private)
    with pytest.raises(ut.ArgumentError, match="epsilon"):
        us.privatize(frame, "text", pack, 0, to=to)
    with pytest.raises(ValueError, match="rule"):
        us.privatize(frame, "text", pack, 1, to=to, rule="best")

    class Remote:
        sparkSession = spark

    with pytest.raises(ut.ArgumentError, match="Connect"):
        us.privatize(Remote(), "text", pack, 1, to=to)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
