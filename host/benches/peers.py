"""Our k-means, training and assignment beside scikit-learn's, PyTorch's and SciPy's, in one run.

    python3 host/benches/peers.py [kmeans] [train] [wmd]

Samples alternate, ours then theirs, so that a machine that is busy for a while is busy for both. For each pair it
prints the medians and the ratio. It needs numpy, and scikit-learn for k-means, torch for training, scipy for
assignment; both sides get as many threads as THREADS says (2 unless set). Not a test: nothing fails for being slow.
"""

import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = int(os.environ.get("THREADS", "2"))
for library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = str(THREADS)

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 15


def need(module, package):
    if importlib.util.find_spec(module) is None:
        sys.exit(f"peers.py needs the Python package {package}: python3 -m pip install {package}")


def executable(bench, *features):
    """Builds a bench and gives the path of its program."""
    command = ["cargo", "bench", "--no-run", "--message-format=json", "--bench", bench, *features]
    built = subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == bench)


def answering(command):
    """Starts a bench that gives a sample for each line, and a function that asks for one."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask():
        child.stdin.write("\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    return child, ask


def report(what, unit, ours, theirs, peer, ratio):
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"{what}: undertone {ours:.4g} {unit}, {peer} {theirs:.4g} {unit}, {ratio} {ours / theirs:.2f}", flush=True)


def kmeans():
    need("sklearn", "scikit-learn")
    import warnings

    import numpy as np
    import sklearn
    from sklearn.cluster import KMeans

    # Stopping at a given number of iterations is what we want.
    warnings.filterwarnings("ignore")
    program = executable("kmeans")
    d, clusters, iterations = 384, 50, 10
    for n in (11314, 20000):
        random = np.random.default_rng(0)
        groups = random.standard_normal((clusters, d), dtype=np.float32)
        noise = random.standard_normal((n, d), dtype=np.float32)
        points = groups[random.integers(clusters, size=n)] * np.float32(0.3) + noise
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        start = points[random.choice(n, clusters, replace=False)]
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("points", "start")]
            points.astype("<f4").tofile(paths[0])
            start.astype("<f4").tofile(paths[1])
            command = [program, *paths, str(d), str(iterations)]
            child, ours = answering(command)

            def theirs():
                model = KMeans(clusters, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
                begin = time.perf_counter()
                model.fit(points)
                seconds = time.perf_counter() - begin
                return {"seconds": seconds, "iterations": model.n_iter_, "inertia": float(model.inertia_)}

            ours(), theirs()
            pairs = [(ours(), theirs()) for _ in range(SAMPLES)]
            child.stdin.close()
            child.wait()
        own, peer = pairs[0]
        assert own["iterations"] == peer["iterations"], pairs[0]
        assert abs(own["inertia"] / peer["inertia"] - 1) < 1e-3, pairs[0]
        what = f"k-means {n} x {d}, {clusters} clusters, {iterations} iterations, {THREADS} threads"
        own, peer = ([sample["seconds"] for sample in side] for side in zip(*pairs))
        report(what, "s", own, peer, f"scikit-learn {sklearn.__version__}", "time ratio")


def train():
    if not (HERE / "train.rs").exists():
        print("train: there is no benches/train.rs, skipped", flush=True)
        return
    need("torch", "torch")
    import torch
    from torch import nn

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    program = executable("train", "--features", "train")
    # One step of Adam on the recoder: three layers on every sentence, the mean, a linear layer to the classes.
    d, classes, batch, sentences = 768, 50, 256, 10
    x = torch.randn(batch, sentences, d)
    y = torch.randint(0, classes, (batch,))
    recoder = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
    head = nn.Linear(d, classes)
    adam = torch.optim.Adam([*recoder.parameters(), *head.parameters()], 1e-3, fused=True)

    def theirs(steps=3):
        begin = time.perf_counter()
        for _ in range(steps):
            adam.zero_grad(set_to_none=True)
            z = recoder(x.reshape(-1, d)).reshape(batch, sentences, d).mean(1)
            nn.functional.cross_entropy(head(z), y).backward()
            adam.step()
        return steps * batch / (time.perf_counter() - begin)

    def ours():
        done = subprocess.run([program, "--bench"], check=True, stdout=subprocess.PIPE, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return [line["documents_per_s"] for line in lines]

    theirs()
    own, peer = [], []
    for _ in range(5):
        own += ours()
        peer += [theirs() for _ in range(3)]
    what = f"training, batches of {batch} documents, {sentences} sentences, {d} coordinates, {THREADS} threads"
    report(what, "documents/s", own, peer, f"PyTorch {torch.__version__}", "rate ratio")


def wmd():
    need("scipy", "scipy")
    import numpy as np
    import scipy
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    program = executable("wmd")
    matrices = 32
    for n in (20, 50, 100):
        random = np.random.default_rng(0)
        words = random.standard_normal((matrices, 2, n, 300), dtype=np.float32)
        costs = np.array([cdist(*pair) for pair in words])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "costs")
            costs.astype("<f8").tofile(path)
            child, ours = answering([program, path, str(n)])

            def theirs():
                begin = time.perf_counter()
                pairings = [linear_sum_assignment(matrix) for matrix in costs]
                seconds = time.perf_counter() - begin
                total = sum(float(matrix[pairing].sum()) for matrix, pairing in zip(costs, pairings))
                return {"seconds": seconds, "total": total}

            ours(), theirs()
            pairs = [(ours(), theirs()) for _ in range(SAMPLES)]
            child.stdin.close()
            child.wait()
        own, peer = pairs[0]
        assert abs(own["total"] / peer["total"] - 1) < 1e-12, pairs[0]
        own, peer = ([sample["seconds"] * 1e6 / matrices for sample in side] for side in zip(*pairs))
        report(f"assignment of {n} words, 1 thread", "us", own, peer, f"SciPy {scipy.__version__}", "time ratio")


if __name__ == "__main__":
    need("numpy", "numpy")
    known = {"kmeans": kmeans, "train": train, "wmd": wmd}
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"peers.py knows {', '.join(known)}, not {name}")
        known[name]()
