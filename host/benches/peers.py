"""Our k-means, training and noise beside scikit-learn's, PyTorch's and numpy's, in one run.

    python3 host/benches/peers.py [kmeans] [train] [noise]

Samples alternate, ours then theirs, so that a machine that is busy for a while is busy for both. For each pair it
prints the medians and the ratio. It needs numpy, and scikit-learn for k-means, torch for training; both sides get
as many threads as THREADS says (2 unless set). Not a test: nothing fails for being slow.
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
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

            def ours():
                child.stdin.write("\n")
                child.stdin.flush()
                return json.loads(child.stdout.readline())

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


def noise():
    import numpy as np

    program = executable("noise")
    epsilon, vectors = 10.0, 500
    for d in (300, 768):
        rng = np.random.default_rng(0)
        x = rng.standard_normal(d, dtype=np.float32)

        # The usual recipe: a radius, and a Gaussian for the direction. Neither the generator nor the sum is safe.
        def single():
            z = rng.standard_normal(d, dtype=np.float32)
            radius = np.float32(rng.standard_gamma(d) / epsilon)
            z *= radius / np.sqrt(np.dot(z, z))
            return x + z

        def double():
            z = rng.standard_normal(d)
            z *= rng.gamma(d, 1 / epsilon) / np.sqrt(np.dot(z, z))
            return x + z

        child = subprocess.Popen(
            [program, str(d), str(epsilon)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def ours():
            child.stdin.write(f"{vectors}\n")
            child.stdin.flush()
            return vectors / json.loads(child.stdout.readline())["seconds"]

        def theirs(recipe):
            begin = time.perf_counter()
            for _ in range(vectors):
                recipe()
            return vectors / (time.perf_counter() - begin)

        def sample():
            return ours(), theirs(single), theirs(double)

        sample()
        own, *peers = zip(*(sample() for _ in range(SAMPLES)))
        child.stdin.close()
        child.wait()
        for width, peer in zip(("float32", "float64"), peers):
            what = f"noise, one vector of {d} at a time, epsilon {epsilon:g}"
            report(what, "vectors/s", own, peer, f"numpy {np.__version__} in {width}", "rate ratio")


if __name__ == "__main__":
    need("numpy", "numpy")
    benches = {"kmeans": kmeans, "train": train, "noise": noise}
    for name in sys.argv[1:] or benches:
        if name not in benches:
            sys.exit(f"peers.py knows {', '.join(benches)}, not {name}")
        benches[name]()
