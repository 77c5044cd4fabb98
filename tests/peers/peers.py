"""What a device does, beside numpy, numba and OpenDP, in one run and on one thread.

    python3 -m pip install -r tests/peers/requirements.txt
    python3 tests/peers/peers.py [--backend avx2]

Samples alternate, ours then theirs, so that a machine that is busy for a while is busy for both; all
times are processor time, medians. Not a test of speed: nothing fails for being slow. It fails if two
programs that ought to compute the same do not.

The peers' counting starts from projected candidates and projected sentences, ours from codes and from
the state that pushing sentences leaves. "whole" is the mechanism from embeddings to the index that is
released. Ours is exact and draws from ChaCha12; numpy's draws are neither.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numba
import numpy as np
import opendp.prelude as dp

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 25
CALLS = 10
EPSILON = 10.0

random = np.random.default_rng(0)


def executable():
    """Builds the bench and gives the path of its program."""
    command = ["cargo", "bench", "--no-run", "--message-format=json", "--features", "tools", "--bench", "kernels"]
    built = subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "kernels")


class Ours:
    """The bench, for inputs of one size."""

    backend = []  # or the name of one

    def __init__(self, program, candidates, sentences, directions):
        self.folder = tempfile.TemporaryDirectory()
        for name, matrix in (("candidates", candidates), ("sentences", sentences), ("directions", directions)):
            matrix.astype("<f4").tofile(os.path.join(self.folder.name, name))
        (m, d), k, p = candidates.shape, len(sentences), len(directions)
        command = [program, self.folder.name, *map(str, (d, m, p, k)), *self.backend]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, step):
        self.child.stdin.write(f"{step}\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def step(self, name):
        return lambda: self.ask(name)["seconds"]

    def close(self):
        self.child.stdin.close()
        self.child.wait()
        self.folder.cleanup()


def timed(call, calls=CALLS):
    def sample():
        begin = time.process_time()
        for _ in range(calls):
            call()
        return (time.process_time() - begin) / calls

    return sample


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def inputs(d, m, p, k):
    """Sentences around a point, candidates nearer or further from it, so that depths take many values."""
    centre = unit(random.standard_normal((1, d)))
    spread = random.uniform(0, 0.9, (m, 1))
    candidates = 0.5 * (centre + unit(random.standard_normal((m, d))) * spread)
    sentences = 0.5 * (centre + unit(random.standard_normal((k, d))))
    directions = unit(random.standard_normal((p, d)))
    return candidates.astype(np.float32), sentences.astype(np.float32), directions


def naive_utility(s, f):
    """max_j |h_j - k/2| as the paper writes it; s is [k][p], f is [m][p]."""
    h = (s[:, None, :] >= f[None, :, :]).sum(axis=0)
    return np.abs(h - s.shape[0] / 2).max(axis=1).astype(np.float32)


def counter(integer):
    """A kernel that compilers vectorise, with counts of this type; s is [k][p], f is [p][m]."""

    block = 4096 // np.dtype(integer).itemsize

    @numba.njit
    def count(s, f, out):
        k, p = s.shape
        m = f.shape[1]
        h, low, high = np.empty(block, integer), np.empty(block, integer), np.empty(block, integer)
        for start in range(0, m, block):
            n = min(block, m - start)
            low[:] = k
            high[:] = 0
            for j in range(p):
                row = f[j, start : start + n]
                h[:n] = 0
                l = 0
                while l + 4 <= k:
                    a, b, c, e = s[l, j], s[l + 1, j], s[l + 2, j], s[l + 3, j]
                    for i in range(n):
                        x = row[i]
                        h[i] += integer(integer(a >= x) + integer(b >= x) + integer(c >= x) + integer(e >= x))
                    l += 4
                while l < k:
                    a = s[l, j]
                    for i in range(n):
                        h[i] += integer(a >= row[i])
                    l += 1
                for i in range(n):
                    low[i] = min(low[i], h[i])
                    high[i] = max(high[i], h[i])
            for i in range(n):
                out[start + i] = max(np.float32(high[i]) - k / 2, k / 2 - np.float32(low[i]))

    def run(s, f):
        out = np.empty(f.shape[1], np.float32)
        count(s, f, out)
        return out

    return run


def inverse_cdf(u):
    """The exponential mechanism as one would write it, over badness u."""
    sums = np.cumsum(np.exp((u - u.min()) * (-EPSILON / 2)))
    return int(np.searchsorted(sums, random.random() * sums[-1], side="right"))


def noisy_max():
    """OpenDP's permute-and-flip for integers of sensitivity 1."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
    measurement = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2 / EPSILON)
    assert abs(measurement.map(1) - EPSILON) < 1e-9
    return measurement


def microseconds(seconds):
    return f"{seconds * 1e6:,.1f} µs"


def compare(what, ours, peers):
    """Alternates, then prints a row of the table for each peer."""
    for side in (ours, *peers.values()):
        side()
    rounds = [[side() for side in (ours, *peers.values())] for _ in range(SAMPLES)]
    own, *theirs = (statistics.median(column) for column in zip(*rounds))
    if not peers:
        print(f"| {what} | {microseconds(own)} | | | |", flush=True)
    for name, peer in zip(peers, theirs):
        print(f"| {what} | {microseconds(own)} | {name} | {microseconds(peer)} | {own / peer:.4f} |", flush=True)
    return own


def depth(program, d, m, p, k):
    candidates, sentences, directions = inputs(d, m, p, k)
    f, s = candidates @ directions.T, sentences @ directions.T
    turned, columns = np.ascontiguousarray(directions.T), np.ascontiguousarray(f.T)
    f32, u8 = counter(np.int32), counter(np.uint8)
    scale, mean = np.float32(127 / (4 * f.std())), f.mean()
    quantise = lambda x: np.clip((x - mean) * scale + 128, 0, 255).astype(np.uint8)
    columns8 = quantise(columns)
    assert np.array_equal(f32(s, columns), naive_utility(s, f))

    ours = Ours(program, candidates, sentences, directions)
    # The same utilities, up to what 8-bit codes change.
    levels = np.array(ours.ask("levels"))
    difference = np.abs(levels + (k / 2 - k // 2) - naive_utility(s, f))
    assert difference.mean() < 0.01 * k, difference.mean()

    at = f"d={d} m={m} p={p} k={k}"
    compare(
        f"counting, {at}",
        ours.step("count"),
        {
            "numba f32": timed(lambda: f32(s, columns)),
            "numba u8": timed(lambda: u8(quantise(s), columns8)),
        },
    )
    compare(f"pushing {k} sentences, {at}", ours.step("push"), {"numpy f32 matmul": timed(lambda: sentences @ turned)})
    own = compare(
        f"whole, {at}",
        ours.step("whole"),
        {
            "numpy + numba f32 + inverse CDF": timed(lambda: inverse_cdf(f32(sentences @ turned, columns))),
            "naive numpy": timed(lambda: inverse_cdf(naive_utility(sentences @ turned, f)), 1),
        },
    )
    if (p, k) == (100, 20):
        u = -(levels % 9).astype(np.int32)
        measurement = noisy_max()
        compare(
            f"selecting, m={m}",
            ours.step("select"),
            {
                f"opendp {version('opendp')} make_noisy_max, i32": timed(lambda: measurement(u)),
                "numpy inverse CDF": timed(lambda: inverse_cdf(-u.astype(np.float32))),
            },
        )
    ours.close()
    return own


def scores(program, d, c, k):
    heads, sentences, directions = inputs(d, c, 1, k)
    turned = np.ascontiguousarray(unit(heads).T)

    def numpy_scores():
        graded = np.clip(np.floor(8 * (unit(sentences) @ turned)), 0, 8)
        return inverse_cdf((8 * k - graded.sum(axis=0)) / 8)

    ours = Ours(program, heads, sentences, directions)
    at = f"d={d} c={c} k={k}"
    compare(f"scores, pushing, {at}", ours.step("scores push"), {})
    compare(f"scores, whole, {at}", ours.step("scores whole"), {"numpy f32 + inverse CDF": timed(numpy_scores)})
    ours.close()


def noise(program, d):
    """A private vector with the noise of its length, drawn as textbooks do: a direction, and a Gamma variable."""
    candidates, sentences, directions = inputs(d, 20, 1, 1)
    vector = sentences[0].astype(np.float64)

    def textbook():
        direction = random.standard_normal(d)
        return vector + direction * (random.gamma(d, 1 / EPSILON) / np.sqrt(direction @ direction))

    ours = Ours(program, candidates, sentences, directions)
    compare(f"Laplace noise for a vector, d={d}", ours.step("noise"), {"numpy f64": timed(textbook)})
    ours.close()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--backend", help="other kernels than the best ones, such as avx2")
    if backend := arguments.parse_args().backend:
        Ours.backend = [backend]
    program = executable()
    print(f"numpy {np.__version__}, numba {numba.__version__}, opendp {version('opendp')}, one thread\n")
    print("| what | ours | peer | theirs | ours / theirs |\n| --- | --- | --- | --- | --- |")
    base = depth(program, 768, 5000, 100, 20)
    for m, p, k in ((5000, 100, 8), (5000, 100, 64), (5000, 10, 20)):
        depth(program, 768, m, p, k)
    large = depth(program, 768, 50_000, 100, 20)
    for c in (20, 100, 5000):
        scores(program, 384, c, 20)
    for d in (300, 768):
        noise(program, d)
    print(f"\nwhole mechanism at m = 50,000 over m = 5,000: {large / base:.2f}")


if __name__ == "__main__":
    sys.exit(main())
