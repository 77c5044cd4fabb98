"""The error of shares of candidates at equal whole-text ε: ours, pure-ldp and multi-freq-ldpy, in one run.

    python3 -m pip install -r host/estimate/peers/requirements.txt
    python3 host/estimate/peers/frequency.py [--devices 10000] [--estimates 8000] [--processes 2]

Every program gets the same answers: n candidates with shares as 1, 1/2, 1/3, …, and "nothing known", so all of them have
n + 1 values. Releases are drawn anew at each repetition, of ours four times as often, of OLH, which is slow, an eighth. The error is the root of the mean square over all values
and repetitions; ± is its standard error. Two kinds of estimates are compared, like with like:

unbiased       ours; OLH and HR without normalisation; GRR, SS and OUE before multi-freq-ldpy clips what is negative
add up to one  ours; OLH and HR projected on the simplex; GRR, SS and OUE as they are returned, and, up to 200 values, their
               IBU, too: a peer has the error of the better one

`formula` is what the known variance of an unbiased estimate says. Nothing is timed.
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import warnings
from importlib.metadata import version

for library in ("OMP", "OPENBLAS", "NUMBA", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles import GRR, SS, UE
from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

HERE = pathlib.Path(__file__).resolve().parent
CANDIDATES = (10, 77, 150, 5000)
EPSILONS = ("0.5", "1", "3")
IBU_AT_MOST = 200
# If a peer's probabilities are known, the unclipped estimate is MI's formula without its clip.
seen = {}


def unclipped(count, n, p, q):
    seen.update(raw=(count - n * q) / (p - q) / n, p=p, q=q)
    return clipped(count, n, p, q)


clipped = GRR.MI
GRR.MI = SS.MI = UE.MI = unclipped


def multi_freq(client, inverted, iterated):
    """One repetition of a protocol of multi-freq-ldpy: unbiased estimate, and those that add up to one."""

    def once(answers, k, epsilon):
        reports = [client(answer, k, epsilon) for answer in answers]
        whole = [inverted(reports, k, epsilon)]
        if k <= IBU_AT_MOST:
            whole.append(iterated(reports, k, epsilon))
        return seen["raw"], whole, (seen["p"], seen["q"])

    return once


def pure(make):
    """One repetition of a protocol of pure-ldp."""

    def once(answers, k, epsilon):
        client, server, chances = make(k, epsilon)
        server.aggregate_all([client.privatise(answer) for answer in answers])
        raw = server.estimate_all(range(k), suppress_warnings=True) / len(answers)
        whole = server.estimate_all(range(k), suppress_warnings=True, normalization=2) / len(answers)
        return raw, [whole], chances

    return once


def olh(k, epsilon):
    parameters = {"use_olh": True, "index_mapper": int}
    client, server = LHClient(epsilon, k, **parameters), LHServer(epsilon, k, **parameters)
    return client, server, (client.p, 1 / client.g)


def hr(k, epsilon):
    server = HadamardResponseServer(epsilon, k, index_mapper=int)
    client = HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=int)
    return client, server, None


PEERS = {
    "OLH": (pure(olh), 1 / 8),  # Slow, so there are fewer repetitions.
    "HR": (pure(hr), 1 / 2),
    "GRR": (multi_freq(GRR.GRR_Client, GRR.GRR_Aggregator_MI, GRR.GRR_Aggregator_IBU), 1),
    "SS": (multi_freq(SS.SS_Client, SS.SS_Aggregator_MI, SS.SS_Aggregator_IBU), 1),
    "OUE": (
        multi_freq(UE.UE_Client, lambda r, k, e: UE.UE_Aggregator_MI(r, e), lambda r, k, e: UE.UE_Aggregator_IBU(r, k, e)),
        1,
    ),
}


def ours(program, answers, n, epsilon, repetitions):
    """Unbiased estimates, and those that add up to one; the rule, and its probabilities."""
    asked = {"candidates": n, "epsilon": epsilon, "answers": answers, "repetitions": repetitions, "seed": 1}
    run = subprocess.run([program], input=json.dumps(asked), check=True, stdout=subprocess.PIPE, text=True)
    first, *lines = [json.loads(line) for line in run.stdout.splitlines()]
    estimates = ([line["unbiased"] for line in lines], [[line["shares"]] for line in lines])
    return *estimates, (first["own"], first["other"]), first["rule"]


def error(estimates, truth):
    """The root of the mean square error, and its relative standard error."""
    squares = (np.asarray(estimates) - truth) ** 2
    # Errors within a repetition may be correlated, which a few repetitions cannot show.
    squares = squares.mean(axis=1) if len(squares) > 4 else squares.ravel()
    root = math.sqrt(squares.mean())
    return root, squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * squares.mean())


def formula(chances, truth, devices):
    """VAR_Pure is multi-freq-ldpy's: Wang et al. 2017."""
    return chances and math.sqrt(np.mean([VAR_Pure(*chances, devices, share) for share in truth]))


def summary(unbiased, whole, chances, truth, devices):
    ways = [error([repetition[way] for repetition in whole], truth) for way in range(len(whole[0]))]
    return error(unbiased, truth), min(ways), formula(chances, truth, devices)


def compare(case):
    """All programs on one n and one ε."""
    program, n, epsilon, devices, estimates = case
    warnings.simplefilter("ignore")
    random.seed(n)
    np.random.seed(n)
    k = n + 1
    weights = 1 / np.arange(1, k + 1)
    answers = np.random.choice(k, devices, p=weights / weights.sum()).tolist()
    truth = np.bincount(answers, minlength=k) / devices
    repetitions = math.ceil(estimates / k)
    *own, rule = ours(program, answers, n, epsilon, 4 * repetitions)
    rows = {"ours": summary(*own, truth, devices)}
    for name, (once, part) in PEERS.items():
        found = [once(answers, k, float(epsilon)) for _ in range(math.ceil(repetitions * part))]
        unbiased, whole, chances = zip(*found)
        rows[name] = summary(unbiased, whole, chances[0], truth, devices)
    print(f"n = {n}, ε = {epsilon} done", file=sys.stderr, flush=True)
    return n, epsilon, rule, rows


def executable():
    """Builds the example, and gives the path of its program."""
    command = ["cargo", "build", "--release", "--example", "oracle", "--message-format=json"]
    built = subprocess.run(command, cwd=HERE / "../../lab", check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "oracle")


def best(rows, column):
    """The best peer, ours over it, and the standard error of that."""
    name = min((name for name in rows if name != "ours"), key=lambda name: rows[name][column][0])
    (own, own_error), (theirs, their_error) = rows["ours"][column], rows[name][column]
    return f"{name} {own / theirs:.3f} ± {own / theirs * math.hypot(own_error, their_error):.3f}"


def known(rows):
    """The ratio by formula, with the best peer that has one."""
    name = min((name for name in rows if name != "ours" and rows[name][2]), key=lambda name: rows[name][2])
    return f"{name} {rows['ours'][2] / rows[name][2]:.3f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=10_000)
    parser.add_argument("--estimates", type=int, default=8_000, help="estimated shares of a peer, at least")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--candidates", type=int, nargs="*", default=CANDIDATES)
    options = parser.parse_args()
    program = executable()
    # The longest first.
    cases = [
        (program, n, epsilon, options.devices, options.estimates)
        for n in sorted(options.candidates, reverse=True)
        for epsilon in EPSILONS
    ]
    with multiprocessing.Pool(options.processes) as pool:
        results = pool.map(compare, cases, chunksize=1)
    print(", ".join(f"{name} {version(name)}" for name in ("pure-ldp", "multi-freq-ldpy", "numpy")))
    names = ["ours", *PEERS]
    for column, title in ((0, "unbiased"), (1, "add up to one")):
        print(f"\n{title}: root mean square error in points, {options.devices} devices\n")
        print(f"| n | ε | our rule | {' | '.join(names)} | best peer, ours / it |{' by formula |' if column == 0 else ''}")
        print("| --- " * (len(names) + 4 + (column == 0)) + "|")
        for n, epsilon, rule, rows in sorted(results, key=lambda result: result[:2]):
            cells = [f"{100 * rows[name][column][0]:.3g}" for name in names]
            print(f"| {n} | {epsilon} | {rule} | {' | '.join(cells)} | {best(rows, column)} |", end="")
            print(f" {known(rows)} |" if column == 0 else "")
    # Measured error over formula: whether the programs implement the formulas.
    ratios = [row[0][0] / row[2] for *_, rows in results for row in rows.values() if row[2]]
    relative = [row[0][1] for *_, rows in results for row in rows.values()]
    print(f"\nmeasured / formula: {min(ratios):.3f} to {max(ratios):.3f}; relative standard error of an error at most {max(relative):.4f}")


if __name__ == "__main__":
    main()
