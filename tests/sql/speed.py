"""Times counting: speed.py UNDERTONE GENERATOR FOLDER NUMBER, with the raw records there as releases.raw."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb

UNDERTONE, GENERATOR, FOLDER, NUMBER = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
ROUNDS = 5


def undertone(name, *more):
    command = [UNDERTONE, "count", "--in", str(FOLDER / name), *more, "--out", str(FOLDER / "counts.csv")]
    return lambda: subprocess.run(command, check=True, capture_output=True)


def query(name, columns):
    """What DuckDB needs to group: the connection is new."""

    def work():
        with duckdb.connect() as database:
            text = f"SELECT {columns}, count(*) FROM '{FOLDER / name}' GROUP BY {columns}"
            found = database.execute(text).fetchall()
        assert sum(row[-1] for row in found) == NUMBER

    return work


def taken(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(what, ours, theirs):
    """Alternately, because other programs may be at work; all files are in the page cache after the first time."""
    ours(), theirs()
    times = [(taken(ours), taken(theirs)) for _ in range(ROUNDS)]
    own, other = (statistics.median(column) for column in zip(*times))
    ratio = statistics.median(one / two for one, two in times)
    print(f"{what}: {own:.2f} s, DuckDB {other:.2f} s, ratio {ratio:.2f}", flush=True)


def memory(name):
    """What the command takes, in MB: asked by a small process, because a child starts with the memory of its parent."""
    command = [UNDERTONE, "count", "--in", str(FOLDER / name), "--out", str(FOLDER / "counts.csv")]
    ask = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000)"
    )
    done = subprocess.run([sys.executable, "-c", ask, *command], check=True, capture_output=True, text=True)
    print(f"memory for {name}: {float(done.stdout):.0f} MB")


print(f"{NUMBER} releases, {os.cpu_count()} processors")
raw = undertone("releases.raw")
subprocess.run([GENERATOR, str(NUMBER), str(FOLDER / "ours.parquet")], check=True)
group = query("ours.parquet", "release")
compare("raw", undertone("releases.raw"), group)
memory("releases.raw")
(FOLDER / "releases.raw").unlink()
compare("Parquet", undertone("ours.parquet"), group)
sliced = undertone("ours.parquet", "--by", "day", "--by", "country")
compare("Parquet, two slices", sliced, query("ours.parquet", "release, day, country"))
duckdb.execute(f"COPY (FROM '{FOLDER}/ours.parquet') TO '{FOLDER}/theirs.parquet'")
(FOLDER / "ours.parquet").unlink()
compare("DuckDB's Parquet", undertone("theirs.parquet"), query("theirs.parquet", "release"))
memory("theirs.parquet")
