"""The error of shares of labels: ours, and EMQ and ACC of QuaPy, on the same releases and the same public texts.

    python3 -m pip install quapy==0.2.3 numpy==2.4.6 scikit-learn==1.9.1
    UNDERTONE_DATA=FOLDER python3 host/estimate/peers/labels.py PACK CANDIDATES [--populations 100] [--known]

The pack is of the training texts of 20 Newsgroups; its candidates file has the calibration. Releases are of populations
of the test texts, `20news-bydate/test.jsonl.gz` in the folder, with shares of labels from Dirichlet(½). All get the same counts
of outcomes, and what the public texts say: the mean exact probability of each outcome, of each label. Ours also uses
that these means err. With `--known` the public texts are the test texts, so that the assumption of label shift holds.

EMQ gets an outcome as a text whose posteriors follow from these means and the labels' shares of the public texts. ACC takes
hard decisions: the label that is the outcome, by sentences, or else the label with the largest probability of the outcome;
its matrix is that of these decisions. "ACC, exact" is ACC with `solver="exact-cc", norm="mapsimplex"`, the others have the
library's defaults. Total variation: half of the sum of absolute errors.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import warnings
from importlib.metadata import version

for library in ("OMP", "OPENBLAS", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np
import quapy.functional
from quapy.method.aggregative import ACC, EMQ

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("ours", "EMQ", "ACC", "ACC, exact")


def peers(counts, chances, texts):
    """Shares of labels by EMQ, ACC and ACC with the other solver."""
    outcomes = np.repeat(np.arange(len(counts)), counts)
    known = texts / texts.sum()
    posteriors = (known[:, None] * chances).T
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    yield EMQ.EM(known, posteriors[outcomes])[0]

    labels = len(texts)
    decisions = np.arange(labels) if chances.shape[1] == labels else chances.argmax(axis=0)
    decided = np.eye(labels)[decisions].T
    found = decided @ counts / counts.sum()
    for solver, norm in (("minimize", "clip"), ("exact-cc", "mapsimplex")):
        shares = ACC.solve_adjustment(decided @ chances.T, found, method="inversion", solver=solver)
        yield quapy.functional.normalize_prevalence(shares, method=norm)


def case(program, words, rule, epsilon, releases, populations):
    """The total variations, `[populations][programs]`."""
    options = {"rule": rule, "epsilon": epsilon, "releases": releases, "populations": populations}
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    run = subprocess.run([program, *words, "--json", "--messages", *flags], check=True, stdout=subprocess.PIPE, text=True)
    first, *lines = [json.loads(line) for line in run.stdout.splitlines()]
    texts, chances = np.array(first["texts"]), np.array(first["chances"])
    rows = []
    for line in lines:
        counts = np.zeros(chances.shape[1], dtype=int)
        for outcome, count in line["outcomes"].items():
            counts[int(outcome)] = count
        guesses = [np.array(line["ours"]), *peers(counts, chances, texts)]
        rows.append([np.abs(guess - line["truth"]).sum() / 2 for guess in guesses])
    return np.array(rows)


def executable():
    """Builds the example, and gives the path of its program."""
    command = ["cargo", "build", "--release", "--example", "coverage", "--message-format=json"]
    built = subprocess.run(command, cwd=HERE / "../../lab", check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "coverage")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pack")
    parser.add_argument("candidates")
    parser.add_argument("--populations", type=int, default=100)
    parser.add_argument("--rules", nargs="*", default=["scores", "projective"])
    parser.add_argument("--known", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    corpus = os.path.join(os.environ["UNDERTONE_DATA"], "20news-bydate", "test.jsonl.gz")
    words = [options.candidates, options.pack, corpus] + ["--known"] * options.known
    program = executable()
    versions = ", ".join(f"{name} {version(name)}" for name in ("quapy", "numpy"))
    print(f"{versions}; {options.populations} populations{', public texts known' * options.known}\n")
    print(f"| rule | ε | releases | {' | '.join(NAMES)} | ours / best | ours is better in |")
    print("| --- " * (len(NAMES) + 5) + "|")
    for rule in options.rules:
        for epsilon in (1, 3):
            for releases in (3_000, 10_000):
                rows = case(program, words, rule, epsilon, releases, options.populations)
                means = rows.mean(axis=0)
                best = 1 + means[1:].argmin()
                ratio = means[0] / means[best]
                # Both have the same populations.
                error = (rows[:, 0] - ratio * rows[:, best]).std(ddof=1) / math.sqrt(len(rows)) / means[best]
                wins = (rows[:, 0] < rows[:, best]).mean()
                cells = " | ".join(f"{mean:.4f}" for mean in means)
                print(f"| {rule} | {epsilon} | {releases:,} | {cells} | {ratio:.3f} ± {error:.3f} | {100 * wins:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
