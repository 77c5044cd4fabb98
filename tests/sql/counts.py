"""Counts by `undertone count`, DuckDB and Spark of the same made-up releases: they must be equal.

    counts.py FOLDER [--spark]      UNDERTONE names the command
"""

import csv
import json
import os
import random
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(sys.argv[1])
SLICES = ["day", "country"]
ROWS = 20_000
# Names of slices that the queries might take for their own.
NAMES = ["start", "micro", "h", "digits", "fields", "order", "pack", "mechanism", "rule", "epsilon", "outcome", "count"]


def release(random):
    """A release, or something that a client could send instead."""
    mechanism, rule = random.choice([(1, 1), (1, 2), (2, 1), (2, 2), (7, 2), (7, 2), (9, 2), (10, 2), (11, 2), (12, 2)])
    # The largest, and one that is not a binary fraction.
    micro = random.choice([500_000, 1_000_000, 1_000_001, 1_000_000_000])
    outcome = random.choice([random.randrange(20), random.randrange(2**32)])
    pack = random.choice([b"newpack\xff", b"oldpack\0"])
    start = b"UTR\x01"
    # 1 is randomised response.
    order = random.choice([1, 2, 13]) if mechanism in (9, 10) else 2 if mechanism == 12 else 0
    forged = random.randrange(50)
    if forged == 0:
        start = b"UTR\x02"
    elif forged == 1:
        mechanism = random.choice([0, 13, 255])
    elif forged == 2:
        rule = random.choice([0, 3])
    elif forged == 3:
        order = 1 - min(order, 1)
    elif forged == 4:
        micro = random.choice([0, 1_000_000_001, 2**32 - 1])
    elif forged == 5:
        mechanism, rule = 7, 1
    head = start + bytes([mechanism, rule]) + struct.pack("<HII", order, micro, outcome)
    return head + pack


def undertone(*arguments, command="count"):
    command = [os.environ["UNDERTONE"], *command.split(), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")


def own(path, slices):
    """A row for each count of a file: kind, slices, outcome, count."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = {}
    for row in rows:
        kind = (row["pack"], int(row["mechanism"]), int(row["rule"]), Decimal(row["epsilon"]), int(row["order"]))
        key = kind + tuple(row[name] for name in slices) + (int(row["outcome"]),)
        counts[key] = int(row["count"])
    assert len(counts) == len(rows)
    return counts


def theirs(rows):
    """The same of rows of a query."""
    counts = {tuple(str(v) if isinstance(v, str) else v for v in row[:-1]): row[-1] for row in rows}
    assert len(counts) == len(rows)
    return counts


def recipe(name, slices):
    """A recipe with slices at its marks."""
    text = (ROOT / "host/estimate/sql" / name).read_text(encoding="utf-8")
    assert text.count("/* slices, */") == 3 and text.count("/* , slices */") == 1
    columns = "".join(f"{name}, " for name in slices)
    before = "".join(f", {name}" for name in slices)
    return text.replace("/* slices, */", columns).replace("/* , slices */", before)


def same(what, found, expected):
    assert found == expected, f"{what}: {set(found.items()) ^ set(expected.items())}"
    assert expected
    print(f"{what}: the same {len(expected)} counts")


def duck(expected):
    database = duckdb.connect()

    def counts(slices):
        return theirs(database.execute(recipe("duckdb.sql", slices)).fetchall())

    database.execute(f"CREATE VIEW releases AS FROM '{FOLDER}/releases.parquet'")
    same("DuckDB, Parquet", counts([]), expected[False])
    same("DuckDB, Parquet, slices", counts(SLICES), expected[True])
    database.execute(
        "CREATE OR REPLACE VIEW releases AS SELECT * REPLACE (from_hex(release) AS release) "
        f"FROM '{FOLDER}/releases.jsonl'"
    )
    same("DuckDB, JSON lines", counts([]), expected[False])
    database.execute(
        "CREATE OR REPLACE VIEW releases AS SELECT content[24 * n + 1 : 24 * n + 24] AS release "
        f"FROM read_blob('{FOLDER}/releases.raw'), range(0, size // 24) AS r(n)"
    )
    same("DuckDB, raw", counts([]), expected[False])
    # Its output is also a file of counts.
    for ending in ["parquet", "csv"]:
        text = recipe("duckdb.sql", []).strip().rstrip(";")
        database.execute(f"COPY ({text}) TO '{FOLDER}/theirs.{ending}'")
        undertone("--in", f"{FOLDER}/theirs.{ending}", "--out", f"{FOLDER}/back.csv")
        same(f"DuckDB's counts as {ending}", own(FOLDER / "back.csv", []), expected[False])
    # It also reads our output.
    rows = database.execute(
        f"SELECT pack, mechanism, rule, epsilon, \"order\", outcome, count FROM '{FOLDER}/counts.parquet'"
    )
    same("our counts in DuckDB", theirs(rows.fetchall()), expected[False])

    for name in NAMES:
        database.execute(f"CREATE OR REPLACE VIEW releases AS SELECT release, country AS \"{name}\" FROM '{FOLDER}/releases.parquet'")
        rows = database.execute(recipe("duckdb.sql", [f'"{name}"'])).fetchall()
        same(f"DuckDB, a slice called {name}", theirs(rows), expected["country"])


def private():
    """Releases as `release documents` writes them, of texts in a table: the recipe counts them as they are."""
    texts = [("food", "The soup needs salt."), ("sky", "A comet passed."), ("ball", "They scored twice.")]
    rows = [{"text": texts[n % 3][1], "label": texts[n % 3][0], "country": "AR" if n % 2 else "DE"} for n in range(60)]
    with open(FOLDER / "texts.jsonl", "w", encoding="utf-8") as file:
        for row in rows:
            print(json.dumps(row), file=file)
    duckdb.execute(f"COPY (FROM '{FOLDER}/texts.jsonl') TO '{FOLDER}/texts.parquet'")
    pack = f"{FOLDER}/t.pack"
    undertone("--corpus", f"{FOLDER}/texts.parquet", "--heads", "vectors", "--out", pack, command="pack")
    arguments = ["--pack", pack, "--epsilon", "1", "--rule", "whole-text", "--keep", "country"]
    for ending in ["parquet", "csv"]:
        path = f"{FOLDER}/private.{ending}"
        undertone(*arguments, "--in", f"{FOLDER}/texts.parquet", "--out", path, command="release documents")
        undertone("--in", path, "--by", "country", "--out", f"{FOLDER}/counts.csv")
        database = duckdb.connect()
        release = "release" if ending == "parquet" else "from_hex(release)"
        database.execute(f"CREATE VIEW releases AS SELECT * REPLACE ({release} AS release) FROM '{path}'")
        found = theirs(database.execute(recipe("duckdb.sql", ["country"])).fetchall())
        same(f"DuckDB, what privatize writes as {ending}", found, own(FOLDER / "counts.csv", ["country"]))


def spark(expected):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.ansi.enabled", "true").config("spark.sql.ansi.enforceReservedKeywords", "true")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def counts(slices):
        return theirs([tuple(row) for row in session.sql(recipe("spark.sql", slices)).collect()])

    session.read.parquet(f"{FOLDER}/releases.parquet").createOrReplaceTempView("releases")
    same("Spark, Parquet", counts([]), expected[False])
    same("Spark, Parquet, slices", counts(SLICES), expected[True])
    lines = session.read.json(f"{FOLDER}/releases.jsonl")
    lines.selectExpr("* EXCEPT (release)", "unhex(release) AS release").createOrReplaceTempView("releases")
    same("Spark, JSON lines", counts([]), expected[False])
    records = session.sparkContext.binaryRecords(f"{FOLDER}/releases.raw", 24)
    records.map(lambda record: (record,)).toDF("release BINARY").createOrReplaceTempView("releases")
    same("Spark, raw", counts([]), expected[False])
    for name in NAMES[:5]:
        session.read.parquet(f"{FOLDER}/releases.parquet").withColumnRenamed("country", name).createOrReplaceTempView("releases")
        same(f"Spark, a slice called {name}", counts([name]), expected["country"])
    executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    assert executors == 2, f"{executors} executors"
    session.sql(recipe("spark.sql", [])).write.parquet(f"{FOLDER}/theirs")
    parts = [str(path) for path in sorted(Path(f"{FOLDER}/theirs").glob("*.parquet"))]
    undertone("--in", *parts, "--out", f"{FOLDER}/back.csv")
    same("Spark's counts", own(FOLDER / "back.csv", []), expected[False])
    ours = session.read.parquet(f"{FOLDER}/counts.parquet")
    rows = ours.select("pack", "mechanism", "rule", "epsilon", "order", "outcome", "count").collect()
    same("our counts in Spark", theirs([tuple(row) for row in rows]), expected[False])
    session.stop()


def main():
    numbers = random.Random(7)
    releases = [release(numbers) for _ in range(ROWS)]
    days = ["2026-11-0%d" % numbers.randrange(1, 10) for _ in releases]
    countries = [numbers.choice(["AR", "DE", "Côte d'Ivoire", "a,b\"c"]) for _ in releases]
    (FOLDER / "releases.raw").write_bytes(b"".join(releases))
    with open(FOLDER / "releases.jsonl", "w", encoding="utf-8") as file:
        for line in zip(releases, days, countries):
            print(json.dumps({"release": line[0].hex(), "day": line[1], "country": line[2]}), file=file)
    duckdb.execute(
        "COPY (SELECT release, day::VARCHAR AS day, country FROM (SELECT * REPLACE (from_hex(release) AS release) "
        f"FROM '{FOLDER}/releases.jsonl')) TO '{FOLDER}/releases.parquet'"
    )
    expected = {}
    for sliced in [False, True]:
        by = [part for name in SLICES for part in ("--by", name)] if sliced else []
        slices = SLICES if sliced else []
        files = ["releases.parquet", "releases.jsonl"] + ([] if sliced else ["releases.raw"])
        for name in files:
            undertone("--in", f"{FOLDER}/{name}", *by, "--out", f"{FOLDER}/counts.csv")
            counts = own(FOLDER / "counts.csv", slices)
            assert expected.setdefault(sliced, counts) == counts, name
    undertone("--in", f"{FOLDER}/releases.parquet", "--by", "country", "--out", f"{FOLDER}/counts.csv")
    expected["country"] = own(FOLDER / "counts.csv", ["country"])
    undertone("--in", f"{FOLDER}/releases.raw", "--out", f"{FOLDER}/counts.parquet")
    duck(expected)
    private()
    if "--spark" in sys.argv:
        spark(expected)


main()
