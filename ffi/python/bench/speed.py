"""Releases from Python beside the command, and Document.push beside C: one thread, one run, medians
and ratios.

    cargo build --release
    ffi/build-lib.sh build/speed static
    cc -O2 -Iinclude ffi/python/bench/push.c build/speed/libundertone.a -o build/speed/push
    taskset -c 0 build/python/bin/python ffi/python/bench/speed.py target/release/undertone build/speed/push

What is compared takes turns, so that other programs slow down all alike.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import undertone as ut

TEXTS = 10_000
ROUNDS = 9
PUSHES = 20_000


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def releases(undertone: str, folder: Path) -> None:
    """The command reads a file of lines and writes one, and starts; so does Python, but for the
    start."""
    public = ut.demo.public()
    built = ut.build_pack(public.texts, public.labels, heads="vectors")
    built.save(folder / "topics.pack")
    texts = ut.demo.private(TEXTS).texts
    for number, name in ((TEXTS, "in.jsonl"), (1, "one.jsonl")):
        with open(folder / name, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": place, "text": text}) + "\n" for place, text in enumerate(texts[:number]))

    def command(name: str) -> None:
        out = folder / "out.jsonl"
        out.unlink(missing_ok=True)
        arguments = [undertone, "release", "documents", "--pack", str(folder / "topics.pack"), "--epsilon", "3", "--in", str(folder / name)]
        one_thread = {**os.environ, "RAYON_NUM_THREADS": "1"}
        subprocess.run([*arguments, "--out", str(out)], check=True, env=one_thread, capture_output=True)

    def python() -> None:
        with open(folder / "in.jsonl", encoding="utf-8") as file:
            own = [json.loads(line)["text"] for line in file]
        ut.privatize(own, built.pack, 3, threads=1).save(folder / "python.jsonl")

    times: dict[str, list[float]] = {"command": [], "its start": [], "Python": [], "from a list": []}
    for _ in range(ROUNDS):
        times["command"].append(seconds(lambda: command("in.jsonl")))
        times["its start"].append(seconds(lambda: command("one.jsonl")))
        times["Python"].append(seconds(python))
        times["from a list"].append(seconds(lambda: ut.privatize(texts, built.pack, 3, threads=1)))
    median = {name: statistics.median(own) for name, own in times.items()}
    for name, own in median.items():
        print(f"{name:12} {own * 1e3:8.1f} ms  ({min(times[name]) * 1e3:.1f} to {max(times[name]) * 1e3:.1f})")
    print(f"speed of Python, as a share of the command's: {(median['command'] - median['its start']) / median['Python']:.2f} from file to file,")
    print(f"  {(median['command'] - median['its start']) / median['from a list']:.2f} from a list; the command's start is not counted")


def pushes(push: str, folder: Path) -> None:
    pack = ut.Pack.open(folder / "topics.pack")
    document = ut.Document(pack)
    for sentences in (1, 20, 128):
        numbers = np.arange(sentences * document.dimension) % 17
        matrix = (numbers / 17 - 0.5).astype(np.float32).reshape(sentences, -1)
        c, python = [], []
        for _ in range(ROUNDS):
            arguments = [push, str(folder / "topics.pack"), str(sentences), str(PUSHES // sentences)]
            c.append(float(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout))
            own = []
            for _ in range(PUSHES // sentences):
                start = time.perf_counter_ns()
                document.push(matrix)
                own.append(time.perf_counter_ns() - start)
                document.clear()
            python.append(statistics.median(own) * 1e-9)
        of_c, of_python = statistics.median(c), statistics.median(python)
        print(f"push of {sentences:3} embeddings: C {of_c * 1e6:7.2f} µs, Python {of_python * 1e6:7.2f} µs, {(of_python - of_c) * 1e6:+.2f} µs")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        releases(sys.argv[1], Path(name))
        pushes(sys.argv[2], Path(name))
