"""Times counting: speed.py UNDERTONE GENERATOR FOLDER NUMBER, with the raw records there as releases.raw."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb

UNDERTONE, GENERATOR, FOLDER, NUMBER = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
ROUNDS = 3


def times(work):
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def undertone(name, *more):
    def work():
        command = [UNDERTONE, "count", "--in", str(FOLDER / name), *more, "--out", str(FOLDER / "counts.csv")]
        subprocess.run(command, check=True, capture_output=True)

    return times(work)


def query(name, columns):
    """What DuckDB needs to group, as its own process would: the connection is new, the file in the page cache."""
    found = []

    def work():
        with duckdb.connect() as database:
            text = f"SELECT {columns}, count(*) FROM '{FOLDER / name}' GROUP BY {columns}"
            found[:] = database.execute(text).fetchall()

    taken = times(work)
    assert sum(row[-1] for row in found) == NUMBER
    return taken


def line(what, taken, other=None):
    ratio = "" if other is None else f", {taken / other:.2f} of DuckDB's time"
    print(f"{what}: {taken:.2f} s, {NUMBER / taken / 1e6:.1f} million/s{ratio}", flush=True)


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
memory("releases.raw")
(FOLDER / "releases.raw").unlink()
subprocess.run([GENERATOR, str(NUMBER), str(FOLDER / "ours.parquet")], check=True)
group = query("ours.parquet", "release")
line("DuckDB, Parquet", group)
line("raw", raw, group)
line("Parquet", undertone("ours.parquet"), group)
group = query("ours.parquet", "release, day, country")
line("DuckDB, Parquet, two slices", group)
line("Parquet, two slices", undertone("ours.parquet", "--by", "day", "--by", "country"), group)
duckdb.execute(f"COPY (FROM '{FOLDER}/ours.parquet') TO '{FOLDER}/theirs.parquet'")
(FOLDER / "ours.parquet").unlink()
group = query("theirs.parquet", "release")
line("DuckDB, its own Parquet", group)
line("its own Parquet", undertone("theirs.parquet"), group)
memory("theirs.parquet")
