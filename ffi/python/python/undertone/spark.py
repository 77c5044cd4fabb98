"""Texts and releases in Spark, an engine that many run already: nothing is computed here that is
not computed elsewhere.

:func:`privatize` releases a column of texts and writes the releases, :func:`count` counts releases
by SQL, :func:`collect` brings counts to where estimates are made. It takes PySpark 4.1 and this
package on every executor; Spark Connect is refused, which has no view of the cluster's files.

**What a repeated task costs in privacy: nothing.** Spark computes a data frame again whenever it
needs it: for each action, after an executor was lost, when a task is slow (speculation), and when a
cache was evicted. Each time the releases of its texts would be drawn again, and two releases of a
text at epsilon add up to 2·epsilon for anyone who sees both. So no data frame that draws leaves
:func:`privatize`. The releases are written once, and what it returns reads the files.

Guarantee: anyone who sees the folder ``to`` and nothing else of the cluster sees one release of
each text, with the law of one release.

Proof. Attempt ``a`` at the task of partition ``p`` draws ``R(p, a)``, a release of each of its
texts, from the operating system and so independently of all other attempts. We show that ``to`` is
missing, or has one file for each partition ``p`` that has texts, with ``R(p, C(p))`` for one
attempt ``C(p)``.

1. *The files do not change once they are checked.* An attempt writes and closes its file in a
   folder of its own before it asks the driver whether it may commit (Spark's output commit
   coordinator). Committing renames this folder to one of the task. Once every task has committed,
   the driver moves the files of the tasks' folders into the folder of the call. So every file there
   is closed. An executor that Spark believes dead may still be alive: it may then write, delete or
   rename, but only by names in the folder of the call, which it knows. After Spark has said that
   the job is done, that folder is renamed to a random name that no writing task knows, and all that
   is not a file of a partition is deleted from it, such as folders of attempts. From then on a late
   attempt writes elsewhere, or into a file that has no name any more.
2. *Each file is what one attempt drew.* Each attempt also reports a digest of what it drew, and the
   driver gets the reports of attempts that succeeded. After the renaming, the digest of each file
   is compared with what was reported for its partition, and the number of all releases with that of
   all texts. So neither a late attempt that replaced the files of another before step 1, nor an
   extension of Spark that moves rows between the drawing and the writing, goes unnoticed: the call
   fails, and ``to`` is missing. A wrong digest agrees by chance with a probability of 2⁻⁶⁴.
3. *One rename makes them visible*, and it fails if ``to`` exists. On ``hdfs:`` it is the name
   node's, which looks and renames in one step. On ``file:`` it is the system's rename(2), by the
   driver, which fails unless ``to`` is missing or an empty folder; Hadoop's own would copy.
4. ``C(p)`` depends on crashes, speed and room on disks. It does not depend on what was drawn: the
   work is the same for each release, and a file has the same length whatever the releases in it
   are, because they are neither compressed nor listed in a dictionary. Hence ``R(p, C(p))`` has the
   law of ``R(p, 1)``.

Premise: a partition has the same texts in every attempt. Else a text could be in the file of one
partition by one attempt, and in that of another by another. So a data frame with expressions that
Spark knows to differ (``rand``) is refused, and where rows differ for another reason, a shuffle's
checksums tell Spark, which then starts all tasks that read it again. A function of a user's that
draws must be marked as not deterministic. And what the texts are read from must not change while a
call runs: no checksum sees that where no shuffle is. A database may answer a repeated task in
another way, so of sources only files, local data and RDDs are taken. Nothing sees a file, a table
or a folder that is rewritten under its name meanwhile, nor an RDD that differs: take a snapshot, or
write the texts to files of their own first, and read these.

What the proof uses of the cluster is checked before anything is drawn: the data frame is
deterministic, shuffles have checksums, the coordinator is on, Spark's own commit protocol is used
with Parquet's committer in its first version, and the file system can rename a folder in one step.

Not covered: files that are rewritten while a call reads them, and RDDs that differ each time they
are computed (the premise). Those who can read the cluster's memory or its folders while a call runs
(they could read the texts, too). A call that was killed with its driver leaves the folder
``_NAME.partial`` beside ``to``, and after a call that failed or was stopped by Ctrl-C, or lost an
executor, a task that still runs may make that folder again: nobody may read it. Two calls for the
same texts are two releases of each. An extension of Spark that replaces the writer itself could
leave files open after its tasks have committed.
"""

from __future__ import annotations

import os
import re
import struct
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import Accumulator, AccumulatorParam, TaskContext
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import BinaryType, BooleanType, DataType, DateType, DecimalType, IntegralType, StringType, StructField, StructType

from . import _answers, _releases, _undertone
from ._answers import Counts, Number
from ._errors import ArgumentError, UndertoneError, short
from ._forms import Form
from ._frames import library
from ._undertone import RELEASE_BYTES, Candidates, Pack

if TYPE_CHECKING:
    import pyarrow
    from pyspark.core.broadcast import Broadcast

__all__ = ["collect", "count", "privatize"]

#: Whose folders are renamed in one step. An object store copies, object by object.
_FILE_SYSTEMS = ("file", "hdfs")

#: Of the settings of the cluster or the session, what else the proof rests on.
_COORDINATOR = "spark.hadoop.outputCommitCoordination.enabled"
_PROTOCOL = ("spark.sql.sources.commitProtocolClass", "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol")

#: With these a partition whose rows differ when Spark computes it again is noticed, and all that
#: read it start again. Since Spark 4.1.
_CHECKSUMS = tuple(f"spark.sql.shuffle.orderIndependentChecksum.{name}" for name in ("enabled", "enableFullRetryOnMismatch"))

#: Sources of texts beside files: plans that are the same rows each time. The rows of an RDD are
#: unknown.
_SOURCES = {"LocalRelation", "ResolvedInlineTable", "OneRowRelation", "Range", "LogicalRDD", "HiveTableRelation", "CTERelationRef"}

#: Regardless of the session.
_WRITING = {
    # A task's file has no place in the folder of the call before all are there.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    # One file for each task.
    "maxRecordsPerFile": "0",
    # Its length does not depend on what was drawn.
    "compression": "none",
    "parquet.enable.dictionary#release": "false",
    "parquet.page.write-checksum.enabled": "false",
    "parquet.writer.version": "v1",
    "parquet.bloom.filter.enabled": "false",
    "parquet.bloom.filter.enabled#release": "false",
}

#: The file of a partition.
_PART = re.compile(r"part-(\d+)-.*\.parquet")

#: The columns of counts that are no slices.
_OF_COUNTS = ("pack", "mechanism", "rule", "epsilon", "order", "outcome", "count")

#: The longest value of a slice in bytes, and the most digits of a decimal, as for files.
_LONGEST_VALUE = 256
_MOST_DIGITS = 18

#: Why something is not counted, in the words of :func:`undertone.count`.
_NO_RELEASE = "no release"
_NOT_HEXADECIMAL = "the release is not hexadecimal"
_NOT_A_RELEASE = "not the bytes of a release; it is damaged, cut off or of another kind"
_NO_VALUE = "a field of the slices is missing or null"
_NOT_A_VALUE = "a field of the slices is no string, whole number or truth value, or is given twice"
_LONG_VALUE = f"a field of the slices has more than {_LONGEST_VALUE} bytes"

#: For the data frames of :func:`count`, the number of rows left out for each reason; those that may
#: be releases have none.
_SEEN: WeakKeyDictionary[DataFrame, DataFrame] = WeakKeyDictionary()


def privatize(
    df: DataFrame,
    text_col: str,
    pack: Pack,
    epsilon: Number,
    *,
    to: str,
    by: Union[str, Sequence[str]] = (),
    rule: str = "whole-text",
) -> DataFrame:
    """Releases every text of the column ``text_col`` once, writes the releases as Parquet into the
    folder ``to``, and returns a data frame that reads them: ``release``, 24 bytes, and the columns
    ``by``, which are public. A field of a struct has a path with dots, ``"user.country"``.

    Runs now and not lazily. ``to`` appears when all releases are in it, or not at all. It is on
    ``file:`` (of one machine, or shared by all) or ``hdfs:``, and has none of the characters
    ``{}[]*?\\``, by which Spark would look for several folders. ``pack``, ``epsilon`` and ``rule``
    are those of :func:`undertone.privatize`; the pack reads the texts itself, and is broadcast.

    Guarantee: that of :func:`undertone.privatize` for each text, for anyone who sees the result,
    however often Spark repeats its tasks. This module has the proof. Nothing counts what several
    calls cost: a text that is released by two of them has two releases.

    Raises ``FileExistsError`` if ``to`` exists: read it. A second release of its texts would add
    up. ``UndertoneError`` of the kind ``in-use`` if a call for ``to`` runs or did not end, and of
    the kind ``io`` if there are not as many releases as texts; ``ArgumentError``; Spark's errors,
    such as that of a missing text, which is an error as in :func:`undertone.privatize`. Then
    nothing is released.

    Leaks: time depends on the texts; so does whether an executor runs out of memory, if texts have
    hundreds of megabytes. ``by`` is not private, nor is the order of rows.
    """
    session = df.sparkSession
    if not hasattr(df, "_jdf"):
        raise ArgumentError("df is of Spark Connect, which has no view of the files; take a session of the cluster", "argument")
    by = [by] if isinstance(by, str) else list(by)
    _check_columns(df, text_col, by)
    _check_cluster(session, df)
    _check_sources(df)
    # Refuses here what every task would refuse.
    _undertone.Releaser(pack, epsilon, rule, None, 1)

    texts = Observation()
    broadcast = session.sparkContext.broadcast(bytes(pack))
    reports = session.sparkContext.accumulator([], _Reports())
    counted = _columns(df, text_col, by).observe(texts, sql.count(sql.lit(1)).alias("count"))
    schema = StructType([StructField("release", BinaryType(), False), *(_column(df, name).field for name in by)])
    try:
        with _claimed(session, to) as claim:
            drawn = counted.mapInArrow(partial(_draw, broadcast, epsilon, rule, schema.names, reports), schema)
            drawn.write.options(**_WRITING).parquet(claim.folder)
            _check_files(session.read.parquet(claim.seal()), reports.value, texts.get["count"])
            claim.finish()
    finally:
        broadcast.unpersist()
    return session.read.parquet(to)


def _columns(df: DataFrame, text_col: str, by: list[str]) -> DataFrame:
    """The texts, and what goes along. `mapInArrow` takes no names with dots."""
    return df.select(*(_column(df, name).value.alias(f"c{place}") for place, name in enumerate([text_col, *by])))


class _Named(NamedTuple):
    """A column, or a field of a struct."""

    value: Column
    field: StructField


def _column(df: DataFrame, name: str) -> _Named:
    """The column of a name or of a path with dots, as for files."""
    found = _path(df.schema, name)
    if found is None:
        raise ValueError(f"there is no column {short(name)!r}; there are {short(df.columns)}")
    path, field = found
    return _Named(sql.col(path), StructField(name, field.dataType, field.nullable or path != _quoted(name), field.metadata))


def _path(schema: StructType, name: str) -> Optional[tuple[str, StructField]]:
    for field in schema.fields:
        if field.name == name:
            return _quoted(name), field
    for field in schema.fields:
        if isinstance(field.dataType, StructType) and name.startswith(f"{field.name}."):
            found = _path(field.dataType, name[len(field.name) + 1 :])
            if found is not None:
                return f"{_quoted(field.name)}.{found[0]}", found[1]
    return None


#: The number of a partition, and a digest of what one attempt drew of it.
_Report = tuple[int, int]


class _Reports(AccumulatorParam[list[_Report]]):
    def zero(self, value: list[_Report]) -> list[_Report]:
        return []

    def addInPlace(self, value1: list[_Report], value2: list[_Report]) -> list[_Report]:
        return value1 + value2


def _draw(
    pack: Broadcast[bytes],
    epsilon: Number,
    rule: str,
    names: list[str],
    reports: Accumulator[list[_Report]],
    batches: Iterator[pyarrow.RecordBatch],
) -> Iterator[pyarrow.RecordBatch]:
    """Runs on executors. The first column has the texts, the others go along."""
    arrow = library("pyarrow")
    own = Pack(pack.value)
    row, digest = 0, 0
    context = TaskContext.get()
    assert context is not None, "it runs in a task"
    for batch in batches:
        # One thread: Spark gives each task one processor.
        try:
            releases = _releases.privatize(batch.column(0), own, epsilon, rule=rule, threads=1)
        except TypeError as problem:
            # It counts within the batch.
            number = re.match(r"text (\d+)", str(problem))
            if number is None:
                raise
            raise TypeError(f"partition {context.partitionId()}, text {row + int(number[1])}{str(problem)[number.end() :]}") from None
        digest ^= int(np.bitwise_xor.reduce(_digests(releases.array, np.arange(row, row + len(releases)))))
        row += len(releases)
        column = releases._table({}).column("release").combine_chunks().cast(arrow.binary())
        yield arrow.RecordBatch.from_arrays([column, *batch.columns[1:]], names=names)
    reports.add([(context.partitionId(), digest)])


def _digests(releases: npt.NDArray[np.uint8], rows: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """64 bits for each release and its row. Mistakes are found by it, not lies: no attempt has a
    reason to lie."""
    mixed = rows.astype(np.uint64)
    for word in np.ascontiguousarray(releases).view(np.uint64).T:
        # The mixing function of SplitMix64.
        mixed = (mixed ^ word) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def _check_files(written: DataFrame, reports: list[_Report], texts: int) -> None:
    """Each file has what one attempt at its partition drew, and all have as many releases as there
    are texts."""
    place = written.metadataColumn("_metadata")
    rows = written.select("release", place["file_name"].alias("file"), place["row_index"].alias("row"))
    of_parts = rows.mapInArrow(_read, "file string, count long, digest long").groupBy("file")
    found = of_parts.agg(sql.sum("count").alias("count"), sql.bit_xor("digest").alias("digest")).collect()
    releases = sum(part["count"] for part in found)
    if releases != texts:
        raise UndertoneError(f"{releases} releases were written of {texts} texts; is `to` in a folder that all executors share?", "io")
    known = set(reports)
    numbers = set()
    for part in found:
        name = _PART.fullmatch(part["file"])
        number = -1 if name is None else int(name[1])
        if (number, part["digest"] % (1 << 64)) not in known or number in numbers:
            problem = f"{part['file']} is not what one task drew, so a late task or an extension of Spark changed it; nothing was released: call again"
            raise UndertoneError(problem, "io")
        numbers.add(number)


def _read(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Runs on executors: a count and a digest for each file of a batch."""
    arrow = library("pyarrow")
    for batch in batches:
        data: Any = batch.column(0).to_pylist()
        releases = _releases.Releases(b"".join(data))
        digests = _digests(releases.array, batch.column(2).to_numpy()).view(np.int64)
        files = batch.column(1).dictionary_encode()
        places = files.indices.to_numpy()
        own = [digests[places == place] for place in range(len(files.dictionary))]
        columns = [files.dictionary, arrow.array([len(of) for of in own]), arrow.array([np.bitwise_xor.reduce(of) for of in own])]
        yield arrow.RecordBatch.from_arrays(columns, names=["file", "count", "digest"])


def _check_columns(df: DataFrame, text_col: str, by: list[str]) -> None:
    kinds = [_column(df, name).field.dataType for name in (text_col, *by)]
    if not isinstance(kinds[0], StringType):
        raise TypeError(f"column {short(text_col)!r} is of {short(kinds[0].simpleString())}, not of string")
    # Spark's names have no case.
    names = [name.lower() for name in by]
    # A struct has its fields.
    private = [name for name in names if f"{text_col.lower()}.".startswith(f"{name}.")]
    if private:
        raise ValueError(f"by has {short(private[0])!r}, the private texts; leave it out")
    if "release" in names or len(set(names)) < len(names):
        raise ValueError(f"by = {short(by)}: each name may be there once, and none is 'release'; rename columns")


def _check_cluster(session: SparkSession, df: DataFrame) -> None:
    """Refuses what could make two attempts at one task visible."""
    if session.sparkContext.getConf().get(_COORDINATOR, "true").strip().lower() != "true":
        problem = f"{_COORDINATOR} is off: two attempts at one task could commit, and a text be released twice; switch it on"
        raise ArgumentError(problem, "argument")
    setting, own = _PROTOCOL
    found = session.conf.get(setting, own)
    if found != own:
        problem = f"{setting} is {short(found)}, which may not keep to one attempt at each task; take {own}"
        raise ArgumentError(problem, "argument")
    for setting in _CHECKSUMS:
        try:
            found = str(session.conf.get(setting)).lower()
        except Exception:  # of various types, by the version of Spark
            found = "unknown"
        if found != "true":
            problem = f"{setting} is {short(found)}: a text could move to another partition and be released twice; take Spark 4.1 or later, and true"
            raise ArgumentError(problem, "argument")
    if not df._jdf.queryExecution().analyzed().deterministic():
        problem = "df differs each time it is computed, as with rand(), so a text could be released twice; write it to files first, and read these"
        raise ArgumentError(problem, "argument")


def _check_sources(df: DataFrame) -> None:
    """Refuses what may give a repeated task other texts."""
    plan = df._jdf.queryExecution().analyzed()
    others = plan.subqueriesAll()
    for own in (plan, *(others.apply(place) for place in range(others.size()))):
        leaves = own.collectLeaves()
        for leaf in (leaves.apply(place) for place in range(leaves.size())):
            kind = leaf.getClass().getSimpleName()
            if kind == "LogicalRelation":
                kind = leaf.relation().getClass().getSimpleName()
            if kind not in _SOURCES and kind != "HadoopFsRelation":
                problem = f"df reads a {short(kind)}, which may have other rows when a task is repeated, so a text could be released twice"
                raise ArgumentError(f"{problem}; write it to files first, and read these", "argument")


class _Claim(NamedTuple):
    """A folder to write into."""

    folder: str
    #: Removes all but the results from the folder, renames it to a name that no task has, and
    #: returns the name.
    seal: Callable[[], str]
    #: Gives that one the name that was asked for, in one step.
    finish: Callable[[], None]


@contextmanager
def _claimed(session: SparkSession, to: str) -> Iterator[_Claim]:
    """Folders for ``to``, which are gone afterwards if it was not finished."""
    jvm: Any = session._jvm
    hadoop = jvm.org.apache.hadoop.fs
    settings = session._jsparkSession.sessionState().newHadoopConf()
    scheme = hadoop.Path(to).toUri().getScheme() or hadoop.FileSystem.getDefaultUri(settings).getScheme()
    if scheme not in _FILE_SYSTEMS:
        problem = f"to = {short(to)!r} is on {short(scheme)}:, which does not rename a folder in one step; write to {' or '.join(_FILE_SYSTEMS)} and copy it"
        raise ArgumentError(problem, "argument")
    glob = sorted(set(to) & set("{}[]*?\\"))
    if glob:
        problem = f"to = {short(to)!r} has {' '.join(glob)}, by which Spark would look for several folders; take another name"
        raise ArgumentError(problem, "argument")
    files = hadoop.Path(to).getFileSystem(settings)
    wanted = files.makeQualified(hadoop.Path(to))
    if files.exists(wanted):
        raise FileExistsError(f"{short(to)!r} exists; read it: a second release of its texts would add up")
    beside = hadoop.Path(wanted.getParent(), f"_{wanted.getName()}.partial")
    if files.exists(beside):
        problem = f"{beside.toString()} is of a call that runs, or was killed; in that case delete it before anybody reads it"
        raise UndertoneError(problem, "in-use")
    # Names that no other call has, should it have started in the same moment, and no task of this
    # one.
    own, sealed = (hadoop.Path(beside, uuid.uuid4().hex) for _ in range(2))

    # Of what Hadoop shows as one file, its checksums are another.
    raw = files
    if scheme == "file":
        raw = hadoop.RawLocalFileSystem()
        raw.initialize(wanted.toUri(), settings)

    def others() -> list[Any]:
        found = {status.getPath().getName(): status for status in raw.listStatus(sealed)}
        kept = {name for name, status in found.items() if status.isFile() and (_PART.fullmatch(name) or name == "_SUCCESS")}
        kept |= {f".{name}.crc" for name in kept}
        return [status.getPath() for name, status in found.items() if name not in kept or not status.isFile()]

    def seal() -> str:
        if not files.rename(own, sealed):
            raise UndertoneError(f"{own.toString()} cannot be renamed; is `to` in a folder that all executors share?", "io")
        gone = [raw.delete(path, True) for path in others()]
        if not all(gone) or others():
            raise UndertoneError(f"{sealed.toString()} has files that are no result and cannot be deleted; nothing was released: call again", "io")
        return str(sealed.toString())

    def finish() -> None:
        try:
            if scheme == "file":
                # Hadoop looks whether the name is taken, renames, and copies into the folder if it
                # was taken in between.
                os.rename(sealed.toUri().getPath(), wanted.toUri().getPath())
            else:
                _rename(session, settings, sealed, wanted)
        except (OSError, Py4JJavaError):
            if not files.exists(wanted) or not files.exists(sealed):
                raise
            raise FileExistsError(f"{short(to)!r} exists by now, so another call wrote it; read it") from None

    try:
        yield _Claim(own.toString(), seal, finish)
    finally:
        for folder in (own, sealed):
            files.delete(folder, True)
        # Another call may begin here, or end.
        with suppress(Py4JJavaError):
            if not files.listStatus(beside):
                files.delete(beside, False)


def _rename(session: SparkSession, settings: Any, source: Any, to: Any) -> None:
    """Renames a folder in one step; an error if the name is taken."""
    jvm: Any = session._jvm
    hadoop = jvm.org.apache.hadoop.fs
    # Without options it does not overwrite.
    options = session.sparkContext._gateway.new_array(hadoop.Options.Rename, 0)  # type: ignore[union-attr]
    hadoop.FileContext.getFileContext(to.toUri(), settings).rename(source, to, options)


def count(df: DataFrame, slices: Union[str, Sequence[str]] = ()) -> DataFrame:
    """Counts the releases in the column ``release`` of 24 bytes, by the columns ``slices``: what
    :func:`undertone.count` counts, as SQL over the bytes.

    The columns are ``pack``, ``mechanism``, ``rule``, ``epsilon``, ``order``, the slices,
    ``outcome`` and ``count``; written as Parquet they are a file of counts. Slices are strings,
    whole numbers, decimals of up to 18 digits, dates or truth values, by the name of a column or
    the path of a field of a struct, ``"user.country"``. What is no release is left out, and so are
    rows without a value of a slice: :func:`collect` says how many. Lazy: nothing is drawn here, so
    it may be repeated.

    Raises ``TypeError`` for columns of other types, such as time stamps and fractions;
    ``ValueError`` for columns that are not there, and names that a file of counts has already.
    """
    slices = [slices] if isinstance(slices, str) else list(slices)
    release = _column(df, "release")
    if not isinstance(release.field.dataType, BinaryType):
        found = release.field.dataType.simpleString()
        raise TypeError(f"column 'release' is of {short(found)}, not of binary; if it has hexadecimal digits, unhex(release) makes it binary")
    _check_slices(df, slices)
    # The query has names of its own.
    names = [f"c{place}" for place in range(len(slices))]
    values = [_value(_column(df, name)).alias(own) for name, own in zip(slices, names)]
    checked = df.select(_bytes(release.value).alias("release"), *values, _reason(df, slices).alias("reason"))
    text = _undertone.SPARK_SQL.replace("FROM releases\n", "FROM {releases}\n")
    text = text.replace("/* slices, */", "".join(f"{name}, " for name in names))
    text = text.replace("/* , slices */", "".join(f", {name}" for name in names))
    counted = df.sparkSession.sql(text, releases=checked.where("reason IS NULL"))
    columns = dict(zip(names, slices))
    counts = counted.select(*(sql.col(name).alias(columns.get(name, name)) for name in counted.columns))
    _SEEN[counts] = checked.groupBy("reason").count()
    return counts


def _check_slices(df: DataFrame, slices: list[str]) -> None:
    """Refuses what :func:`undertone.count` refuses, and what is no name of its own in Spark, whose
    names have no case."""
    lower = [name.lower() for name in slices]
    for place, name in enumerate(lower):
        if name in ("release", *_OF_COUNTS):
            raise ArgumentError(f"slice {short(slices[place])!r}: a file of counts has a column of that name anyway; rename the column", "argument")
        if name in lower[:place]:
            raise ArgumentError(f"slice {short(slices[place])!r} is given twice; name it once", "argument")
        kind = _column(df, slices[place]).field.dataType
        decimal = isinstance(kind, DecimalType) and kind.precision <= _MOST_DIGITS
        if not decimal and not isinstance(kind, (StringType, BinaryType, IntegralType, DateType, BooleanType)):
            wanted = f"strings, whole numbers, decimals of up to {_MOST_DIGITS} digits, dates or truth values; cast it to string or date yourself"
            raise TypeError(f"column {short(slices[place])!r} is of {short(kind.simpleString())}; slices are {wanted}")


def _value(column: _Named) -> Column:
    """A slice. Of strings that a collation calls equal each is one of its own."""
    return column.value.cast("string") if isinstance(column.field.dataType, StringType) else column.value


def _bytes(release: Column) -> Column:
    """The bytes of releases, which may be written in hexadecimal digits."""
    return sql.when(sql.octet_length(release) == 2 * RELEASE_BYTES, sql.unhex(release.cast("string"))).otherwise(release)


def _reason(df: DataFrame, slices: list[str]) -> Column:
    """Why a row is not counted, or null. Other reasons are found once rows are grouped."""
    release = _column(df, "release").value
    reason = sql.when(release.isNull(), _NO_RELEASE)
    lengths = (RELEASE_BYTES, 2 * RELEASE_BYTES)
    reason = reason.when(~sql.octet_length(release).isin(*lengths), _NOT_A_RELEASE)
    reason = reason.when(_bytes(release).isNull(), _NOT_HEXADECIMAL)
    for name in slices:
        column = _column(df, name)
        reason = reason.when(column.value.isNull(), _NO_VALUE)
        if isinstance(column.field.dataType, (StringType, BinaryType)):
            reason = reason.when(sql.octet_length(column.value) > _LONGEST_VALUE, _LONG_VALUE)
            reason = reason.when(~sql.is_valid_utf8(column.value.cast("string")), _NOT_A_VALUE)
    return reason


class _Collected(Counts):
    """Counts, and what was left out before."""

    def __init__(self, own: _undertone.Counts, left_out: Counter[str]) -> None:
        super().__init__(own)
        self._left_out = left_out

    @property
    def rejected(self) -> dict[str, int]:
        return dict(self._left_out + Counter(super().rejected))

    def merge(self, other: Counts) -> Counts:
        return _Collected(self._own.merge(other._own), self._left_out)


def collect(
    counts: DataFrame,
    *,
    packs: Union[Pack, Form, Sequence[Union[Pack, Form]]] = (),
    candidates: Union[Candidates, Form, Sequence[Union[Candidates, Form]]] = (),
    epsilon: Sequence[Number] = (),
) -> Counts:
    """Brings what :func:`count` counts to this process, as :class:`undertone.Counts`, for
    estimates. ``packs``, ``candidates`` and ``epsilon`` say which releases to expect, as in
    :func:`undertone.count`. Takes memory for a row of each slice and outcome, however many releases
    there are.

    ``rejected`` is that of :func:`undertone.count` of the same releases if ``counts`` is what
    :func:`count` returned. Of other data frames, such as a file of counts or a part of them, it
    lacks what was left out when they were made.

    Raises ``TypeError``, ``ValueError`` and ``UndertoneError``.
    """
    slices = [name for name in counts.columns if name not in _OF_COUNTS]
    _check_slices(counts, slices)
    values = [_value(_column(counts, name)).alias(name) for name in slices]
    table = counts.select(*_OF_COUNTS, *values).toArrow()
    mechanisms, orders = (table[name].to_numpy() for name in ("mechanism", "order"))
    are_forged = np.zeros(len(orders), bool)
    for mechanism in _WITH_ORDER:
        own = mechanisms == mechanism
        forged = [order for order in np.unique(orders[own]) if not _is_order(mechanism, order)]
        are_forged |= own & np.isin(orders, forged)
    numbers = table["count"].to_numpy()
    left_out = Counter({_NOT_A_RELEASE: int(numbers[are_forged].sum())})
    seen = _SEEN.get(counts)
    if seen is not None:
        reasons = {row["reason"]: row["count"] for row in seen.collect()}
        forged_in_all = reasons.pop(None, 0) - int(numbers[~are_forged].sum())
        if forged_in_all < 0:
            raise UndertoneError("there were fewer releases when they were counted again; write them to files first, and count these", "io")
        left_out = Counter(reasons) + Counter({_NOT_A_RELEASE: forged_in_all})
    arrow = library("pyarrow")
    table = table.filter(arrow.array(~are_forged))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.parquet")
        library("pyarrow.parquet").write_table(table, path, store_decimal_as_integer=True)
        counted = _answers.count(path, by=slices, packs=packs, candidates=candidates, epsilon=epsilon, format="counts")
    return _Collected(counted._own, +left_out)


#: The mechanisms that have an order: projective releases, and answers.
_WITH_ORDER = (8, 10, 12)


def _is_order(mechanism: int, order: int) -> bool:
    """Whether there are releases of this order, which SQL does not look at."""
    try:
        _undertone.Release(struct.pack("<4sBBHII8x", b"UTR\x01", mechanism, 2, order, 1, 0))
    except UndertoneError:
        return False
    return True


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
