"""Texts and releases in Spark, an engine that many run already: nothing is computed here that is not computed elsewhere.

:func:`privatize` releases a column of texts and writes the releases, :func:`count` counts releases by SQL, :func:`collect` brings counts
to where estimates are made. It takes PySpark 4 and this package on every executor; Spark Connect is refused, which has no view of
the cluster's files.

**What a repeated task costs in privacy: nothing.** Spark computes a data frame anew whenever it needs it: for each action, after an executor
was lost, when a task is slow (speculation), and when a cache was evicted. Each time the releases of its texts would be drawn anew, and two releases of a
text at epsilon add up to 2·epsilon for whoever sees both. So no data frame that draws leaves :func:`privatize`. The releases are written once, and
what it returns reads the files.

Guarantee: whoever sees the folder ``to`` and nothing else of the cluster sees one release of each text, with the law of one release.

Proof. Attempt ``a`` at the task of partition ``p`` draws ``R(p, a)``, a release of each of its texts, from the operating system and so independently of
all other attempts. It writes them into a folder of its own. The driver allows one attempt of each task to commit (Spark's output commit
coordinator), which renames this folder to one of the task; a later attempt replaces it as a whole. Once every task has committed, the folders of
the tasks are joined, and one rename gives the result its name. So ``to`` is missing, or it has ``R(p, C(p))`` for every partition ``p``,
where ``C(p)`` is the attempt that committed last. ``C(p)`` depends on crashes and speed, which do not depend on what is drawn: a release has 24 bytes
and takes the same work whatever it says. Hence ``R(p, C(p))`` has the law of ``R(p, 1)``.

What the proof uses is checked before anything is drawn: the coordinator is on, Spark's own committer is used in its first version, and the
file system can rename a folder in one step. Afterwards releases are compared with texts by their number.

Not covered: those who can read the cluster's memory or its folders while a call runs (they could read the texts, too); a call that was
killed with its driver, which leaves the folder ``_NAME.partial`` beside ``to``; two calls for the same texts, which are two releases of each.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Union

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from . import _answers, _releases, _undertone
from ._answers import Counts, Number
from ._errors import ArgumentError, UndertoneError
from ._frames import library
from ._undertone import Candidates, Pack

if TYPE_CHECKING:
    import pyarrow
    from pyspark.core.broadcast import Broadcast

__all__ = ["collect", "count", "privatize"]

#: Whose folders are renamed in one step. An object store copies, object by object.
_FILE_SYSTEMS = ("file", "hdfs")

#: Of the settings of the cluster or the session, what else the proof rests on.
_COORDINATOR = "spark.hadoop.outputCommitCoordination.enabled"
_PROTOCOL = ("spark.sql.sources.commitProtocolClass", "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol")

#: Whatever the session says: a task's files have no place in the result before all are there.
_WRITING = {
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
}

#: The columns of counts that are no slices.
_OF_COUNTS = ("pack", "mechanism", "rule", "epsilon", "order", "outcome", "count")


def privatize(
    df: DataFrame,
    text_col: str,
    pack: Pack,
    epsilon: Number,
    *,
    to: str,
    by: Union[str, Sequence[str]] = (),
    rule: str = "recommended",
) -> DataFrame:
    """Releases every text of the column ``text_col`` once, writes the releases as Parquet into the folder ``to``, and returns a data frame that
    reads them: ``release``, 24 bytes, and the columns ``by``, which are public.

    Runs now and not lazily. ``to`` appears when all releases are in it, or not at all. It is on ``file:`` (of one machine, or shared by all)
    or ``hdfs:``. ``pack``, ``epsilon`` and ``rule`` are those of :func:`undertone.privatize`; the pack reads the texts itself, and is broadcast.

    Guarantee: that of :func:`undertone.privatize` for each text, for whoever sees the result, however often Spark repeats its tasks. This module
    has the proof. Nothing counts what several calls cost: a text that is released by two of them has two releases.

    Raises ``FileExistsError`` if ``to`` exists: read it. A second release of its texts would add up. ``UndertoneError`` of the kind ``in-use`` if a call
    for ``to`` runs or did not end, and of the kind ``io`` if there are not as many releases as texts; ``ArgumentError``; Spark's errors, such
    as that of a missing text, which is an error as in :func:`undertone.privatize`. Then nothing is released.

    Leaks: time depends on the texts; so does whether an executor runs out of memory, if texts have hundreds of megabytes. ``by`` is not
    private, nor is the order of rows.
    """
    session = df.sparkSession
    if not hasattr(df, "_jdf"):
        raise ArgumentError("df is of Spark Connect, which has no view of the files; take a session of the cluster", "argument")
    by = [by] if isinstance(by, str) else list(by)
    _check_columns(df, text_col, by)
    _check_cluster(session)
    # Refuses here what every task would refuse.
    _undertone.Releaser(pack, epsilon, rule, None, 1)

    texts = Observation()
    broadcast = session.sparkContext.broadcast(bytes(pack))
    schema = StructType([StructField("release", BinaryType(), False), *(df.schema[name] for name in by)])
    # `mapInArrow` takes no names with dots.
    columns = [sql.col(_quoted(name)).alias(f"c{place}") for place, name in enumerate([text_col, *by])]
    drawn = (
        df.select(*columns)
        .observe(texts, sql.count(sql.lit(1)).alias("count"))
        .mapInArrow(partial(_draw, broadcast, epsilon, rule, schema.names), schema)
    )
    try:
        with _claimed(session, to) as (own, finish):
            drawn.write.options(**_WRITING).parquet(own)
            written = session.read.parquet(own).count()
            if written != texts.get["count"]:
                problem = f"{written} releases were written of {texts.get['count']} texts; is {to!r} a folder that all executors share?"
                raise UndertoneError(problem, "io")
            finish()
    finally:
        broadcast.unpersist()
    return session.read.parquet(to)


def _draw(
    pack: Broadcast[bytes], epsilon: Number, rule: str, names: list[str], batches: Iterator[pyarrow.RecordBatch]
) -> Iterator[pyarrow.RecordBatch]:
    """Runs on executors. The first column has the texts, the others go along."""
    arrow = library("pyarrow")
    own = Pack(pack.value)
    for batch in batches:
        # One thread: Spark gives each task one processor.
        releases = _releases.privatize(batch.column(0), own, epsilon, rule=rule, threads=1)
        column = releases.to_arrow().column("release").combine_chunks().cast(arrow.binary())
        yield arrow.RecordBatch.from_arrays([column, *batch.columns[1:]], names=names)


def _check_columns(df: DataFrame, text_col: str, by: list[str]) -> None:
    missing = [name for name in (text_col, *by) if name not in df.columns]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; there are {df.columns}")
    if not isinstance(df.schema[text_col].dataType, StringType):
        raise TypeError(f"column {text_col!r} is of {df.schema[text_col].dataType.simpleString()}, not of string")
    # Spark's names have no case.
    names = [name.lower() for name in by]
    if text_col.lower() in names:
        raise ValueError(f"by has {text_col!r}, the private texts; leave it out")
    if "release" in names or len(set(names)) < len(names):
        raise ValueError(f"by = {by}: each name may be there once, and none is 'release'; rename columns")


def _check_cluster(session: SparkSession) -> None:
    """Refuses what could make two attempts of one task visible."""
    if session.sparkContext.getConf().get(_COORDINATOR, "true") != "true":
        problem = f"{_COORDINATOR} is off: two attempts of one task could commit, and a text be released twice; switch it on"
        raise ArgumentError(problem, "argument")
    setting, own = _PROTOCOL
    found = session.conf.get(setting, own)
    if found != own:
        problem = f"{setting} is {found}, of which is not known that it keeps one attempt of each task; take {own}"
        raise ArgumentError(problem, "argument")


@contextmanager
def _claimed(session: SparkSession, to: str) -> Iterator[tuple[str, Any]]:
    """A folder to write into, and what gives it the name ``to`` in one step. It is gone if that is not called."""
    jvm: Any = session._jvm
    hadoop = jvm.org.apache.hadoop.fs
    settings = session._jsparkSession.sessionState().newHadoopConf()
    scheme = hadoop.Path(to).toUri().getScheme() or hadoop.FileSystem.getDefaultUri(settings).getScheme()
    if scheme not in _FILE_SYSTEMS:
        problem = f"to = {to!r} is on {scheme}:, which does not rename a folder in one step; write to {' or '.join(_FILE_SYSTEMS)} and copy it"
        raise ArgumentError(problem, "argument")
    files = hadoop.Path(to).getFileSystem(settings)
    wanted = files.makeQualified(hadoop.Path(to))
    if files.exists(wanted):
        raise FileExistsError(f"{to!r} exists; read it: a second release of its texts would add up")
    beside = hadoop.Path(wanted.getParent(), f"_{wanted.getName()}.partial")
    if files.exists(beside):
        problem = f"{beside.toString()} is of a call that runs, or was killed; in that case delete it before anybody reads it"
        raise UndertoneError(problem, "in-use")
    # A name that no other call has, should it have started in the same moment.
    own = hadoop.Path(beside, uuid.uuid4().hex)

    def finish() -> None:
        context = hadoop.FileContext.getFileContext(wanted.toUri(), settings)
        # Without options it fails if the name is taken.
        options = session.sparkContext._gateway.new_array(hadoop.Options.Rename, 0)  # type: ignore[union-attr]
        context.rename(own, wanted, options)

    try:
        yield own.toString(), finish
    finally:
        files.delete(own, True)
        if files.exists(beside) and not files.listStatus(beside):
            files.delete(beside, False)


def count(df: DataFrame, slices: Union[str, Sequence[str]] = ()) -> DataFrame:
    """Counts the releases in the column ``release``, by the columns ``slices``: what :func:`undertone.count` counts, as SQL over the bytes.

    The columns are ``pack``, ``mechanism``, ``rule``, ``epsilon``, ``order``, the slices, ``outcome`` and ``count``; written as Parquet they are a
    file of counts. What is no release is left out, and so are rows without a value of a slice. Lazy: nothing is drawn here, so it may be repeated.
    """
    slices = [slices] if isinstance(slices, str) else list(slices)
    # Spark fills braces in.
    names = [_quoted(name).replace("{", "{{").replace("}", "}}") for name in slices]
    text = _undertone.SPARK_SQL.replace("FROM releases\n", "FROM {releases}\n")
    text = text.replace("/* slices, */", "".join(f"{name}, " for name in names))
    text = text.replace("/* , slices */", "".join(f", {name}" for name in names))
    for name in slices:
        df = df.where(sql.col(_quoted(name)).isNotNull())
    return df.sparkSession.sql(text, releases=df)


def collect(
    counts: DataFrame,
    *,
    packs: Union[Pack, Sequence[Pack]] = (),
    candidates: Union[Candidates, Sequence[Candidates]] = (),
    epsilon: Sequence[Number] = (),
) -> Counts:
    """Brings what :func:`count` counts to this process, as :class:`undertone.Counts`, for estimates. ``packs``, ``candidates`` and ``epsilon`` say which
    releases to expect, as in :func:`undertone.count`. Takes memory for a row of each slice and outcome, however many releases there are."""
    slices = [name for name in counts.columns if name not in _OF_COUNTS]
    columns = [sql.col(_quoted(name)).cast("string").alias(name) for name in slices]
    table = counts.select(*_OF_COUNTS, *columns).toArrow()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.parquet")
        library("pyarrow.parquet").write_table(table, path, store_decimal_as_integer=True)
        return _answers.count(path, by=slices, packs=packs, candidates=candidates, epsilon=epsilon, format="counts")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
