"""A million texts on a Spark cluster of two executor processes, of which one is killed; and the
same texts by the command.

    cargo build --release
    build/python/bin/python ffi/python/bench/million.py target/release/undertone [number of texts]

There must be as many releases as texts, none twice. What chance does not touch must be equal to
what the command says, the rest of one law: a χ² test at 10⁻⁶. The memory of each executor, its
Python included, must stay below 1 GB.

Chance: false alarm 10⁻⁶. It is run by hand; CI runs tests/test_spark.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow as arrow
from pyarrow import parquet
from pyspark.sql import SparkSession

import undertone as ut
import undertone.spark as us

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from chance import same_law  # noqa: E402

TEXTS = 1_000_000
GROUPS = 100
SENTENCES = 3
EPSILON = "0.5"
DAYS = [f"2026-11-{day:02}" for day in range(1, 11)]
#: How many tasks have committed when an executor is killed.
COMMITTED = 30


def write_texts(path: Path, count: int) -> None:
    """A hundred row groups of the demo's texts, each cut to its first sentences."""
    texts = [". ".join(text.split(". ")[:SENTENCES]) for text in ut.demo.private(count // GROUPS).texts]
    days = [DAYS[number % len(DAYS)] for number in range(count)]
    table = arrow.table({"id": list(range(count)), "day": days, "text": texts * GROUPS})
    parquet.write_table(table, path, row_group_size=count // GROUPS)


def processes() -> dict[int, tuple[int, bytes]]:
    """The parent and the arguments of each process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(folder.name)] = (parent, (folder / "cmdline").read_bytes())
        except OSError:  # It has ended.
            pass
    return found


class Watch(threading.Thread):
    """Looks at the executors that this process has started: how much memory each takes, with its
    Python; and kills one of them."""

    def __init__(self, beside: Path) -> None:
        super().__init__(daemon=True)
        self.beside, self.killed, self.over = beside, 0, threading.Event()
        #: Bytes, of each executor by its process.
        self.most: dict[int, int] = {}

    def run(self) -> None:
        while not self.over.wait(0.3):
            known = processes()
            for process, (_, arguments) in known.items():
                if b"CoarseGrainedExecutorBackend" in arguments and self.above(known, process, os.getpid()):
                    below = [own for own in known if own == process or self.above(known, own, process)]
                    self.most[process] = max(self.most.get(process, 0), sum(map(memory, below)))
            if not self.killed and len(list(self.beside.glob("*/_temporary/0/task_*"))) >= COMMITTED:
                self.killed = min(self.most)
                os.kill(self.killed, signal.SIGKILL)

    @staticmethod
    def above(known: dict[int, tuple[int, bytes]], process: int, other: int) -> bool:
        while process in known:
            process = known[process][0]
            if process == other:
                return True
        return False


def memory(process: int) -> int:
    """Pages that several processes share count in parts."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main(undertone: str, folder: Path, count: int) -> None:
    public = ut.demo.public()
    built = ut.build_pack(public.texts, public.labels)
    built.save(folder / "topics.pack")
    write_texts(folder / "texts.parquet", count)

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.files.maxPartitionBytes": str((folder / "texts.parquet").stat().st_size // GROUPS),
        "spark.sql.files.openCostInBytes": "0",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,768]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    watch = Watch(folder / "_releases.partial")
    watch.start()
    texts = spark.read.parquet(str(folder / "texts.parquet"))
    print(f"{texts.count():,} texts in {texts.rdd.getNumPartitions()} partitions")
    start = time.perf_counter()
    released = us.privatize(texts, "text", built.pack, EPSILON, to=str(folder / "releases"), by=["id", "day"])
    print(f"privatize: {time.perf_counter() - start:.0f} s; killed process {watch.killed}")
    assert watch.killed and len(watch.most) == 3, watch.most
    seen = released.selectExpr("count(*)", "count(DISTINCT id)", "min(id)", "max(id)").first()
    print("releases, different ids, first and last:", seen)
    assert seen is not None and tuple(seen) == (count, count, 0, count - 1)
    start = time.perf_counter()
    counted = us.collect(us.count(released, "day"), candidates=built.candidates, epsilon=[EPSILON])
    print(f"count: {time.perf_counter() - start:.1f} s")
    watch.over.set()
    spark.stop()
    print("memory of executors:", ", ".join(f"{most / 1e6:.0f} MB" for most in watch.most.values()))
    assert max(watch.most.values()) < 1e9

    def command(*arguments: str) -> None:
        subprocess.run([undertone, *arguments], check=True, capture_output=True)

    files = [str(path) for path in sorted((folder / "releases").glob("*.parquet"))]
    command("count", "--in", *files, "--by", "day", "--out", str(folder / "counts.parquet"))
    assert ut.Counts.open(folder / "counts.parquet").to_dict() == counted.to_dict()
    print("counts are equal to the command's, of the same releases")

    start = time.perf_counter()
    arguments = ["--pack", str(folder / "topics.pack"), "--epsilon", EPSILON, "--keep", "day"]
    command("release", "documents", *arguments, "--in", str(folder / "texts.parquet"), "--out", str(folder / "command.parquet"))
    print(f"the command's `release documents`, all threads: {time.perf_counter() - start:.0f} s")
    theirs = ut.count(folder / "command.parquet", by=["day"], candidates=built.candidates, epsilon=[EPSILON])
    fixed = ["pack", "mechanism", "rule", "epsilon", "order", "day"]
    totals, outcomes = zip(*(by(own, fixed) for own in (counted, theirs)))
    assert totals[0] == totals[1] and theirs.total == count
    print(f"the same {len(totals[0])} kinds and days, with the same number of releases each")
    probability = same_law(*outcomes)
    print(f"χ² over {len(outcomes[0])} outcomes and days: such a difference or more has probability {probability:.3g}")
    assert probability > 1e-6


def by(counts: ut.Counts, fixed: list[str]) -> tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]:
    """How many releases there are of each kind and day, and of each outcome of these."""
    columns = counts.to_dict()
    totals: Counter[tuple[object, ...]] = Counter()
    outcomes: Counter[tuple[object, ...]] = Counter()
    for *kind, outcome, number in zip(*(columns[name] for name in [*fixed, "outcome", "count"])):
        totals[tuple(kind)] += number
        outcomes[(*kind, outcome)] += number
    return totals, outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(sys.argv[1], Path(name), int(sys.argv[2]) if len(sys.argv) > 2 else TEXTS)
