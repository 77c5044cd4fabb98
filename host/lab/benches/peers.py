"""Our k-means, nearest word, training, assignment, noise, neural encoding and packing beside scikit-learn's, faiss's,
PyTorch's, SciPy's, numpy's and sentence-transformers', in one run.

    python3 host/lab/benches/peers.py [kmeans] [nearest] [train] [wmd] [noise] [encode] [pack]

Samples alternate, ours then theirs, so that a machine that is busy for a while is busy for both. For each pair it
prints the medians and the ratio. It needs numpy, and scikit-learn for k-means, faiss-cpu for the nearest word, torch
for training, scipy for assignment. Encoding runs only if it is named, and needs sentence-transformers[onnx] and a model
(UNDERTONE_MODELS); SENTENCES may name a file with one sentence a line. Packing runs only if it is named, and needs
scikit-learn and the folder of the corpora (UNDERTONE_DATA). Both sides get as many threads as THREADS says (2
unless set), but one for the nearest word and for assignment. Not a test: nothing fails for being slow.
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

# Runs a program, and prints its CPU seconds and its most memory in MiB.
RUN = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def need(module, package):
    if importlib.util.find_spec(module) is None:
        sys.exit(f"peers.py needs the Python package {package}: python3 -m pip install {package}")


def executable(part):
    """Builds the bench `peers` and gives the start of the command that runs a part of it."""
    return built("peers", "bench", "--no-run", "--bench", "peers"), part


def built(name, *arguments):
    """Runs cargo and gives the path of the program of this name."""
    command = ["cargo", *arguments, "--message-format=json"]
    done = subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == name)


def answering(command):
    """Starts a bench that gives a sample for each line, and a function that asks for one."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(line=""):
        child.stdin.write(f"{line}\n")
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
            command = [*program, *paths, str(d), str(iterations)]
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


def nearest():
    need("faiss", "faiss-cpu")
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(1)
    program = executable("nearest")
    # Norms around 6 and a decreasing spectrum, as in word vectors. The noise is n-dimensional
    # Laplace noise for epsilon, so that at 10 a point is far from every word.
    words, d, queries, grid_exponent = 50_000, 300, 200, -12
    random = np.random.default_rng(0)
    vectors = random.standard_normal((words, d), dtype=np.float32) * np.arange(1, d + 1, dtype=np.float32) ** -0.4
    vectors *= np.float32(6) / np.linalg.norm(vectors, axis=1).mean()
    step = np.float32(2) ** np.ceil(np.log2(np.abs(vectors).max() / 127))
    bytes_ = np.rint(vectors / step).astype(np.int8)
    exact, rounded = faiss.IndexFlatL2(d), faiss.IndexFlatL2(d)
    exact.add(vectors)
    rounded.add(bytes_ * step)
    for epsilon in (10, 50, 200):
        noise = random.standard_normal((queries, d))
        noise *= (random.standard_gamma(d, queries) / epsilon / np.linalg.norm(noise, axis=1))[:, None]
        started = random.integers(words, size=queries)
        points = np.rint((vectors[started] + noise) * 2.0**-grid_exponent).astype("<i4")
        floats = (points * 2.0**grid_exponent).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("vectors", "points")]
            bytes_.tofile(paths[0])
            points.tofile(paths[1])
            command = [*program, *paths, str(d), str(int(np.log2(step))), str(grid_exponent)]
            child, ours = answering(command)

            def theirs(query):
                begin = time.perf_counter()
                _, found = exact.search(floats[query : query + 1], 1)
                return {"seconds": time.perf_counter() - begin, "word": int(found[0, 0])}

            ours(0), theirs(0)
            pairs = [(ours(query), theirs(query)) for query in range(queries)]
            child.stdin.close()
            child.wait()
        own, peer = ([sample["seconds"] * 1e3 for sample in side] for side in zip(*pairs))
        what = f"nearest of {words} words, {d} coordinates, noise of epsilon {epsilon}, batch 1, 1 thread"
        report(what, "ms", own, peer, f"faiss-cpu {faiss.__version__} IndexFlatL2", "time ratio")
        found = np.array([[side["word"] for side in pair] for pair in pairs])
        _, same_bytes = rounded.search(floats, 1)
        print(
            f"    the same word as faiss: {(found[:, 0] == found[:, 1]).mean():.1%}, as faiss on the rounded vectors: "
            f"{(found[:, 0] == same_bytes[:, 0]).mean():.1%}; the word before the noise: "
            f"{(found[:, 0] == started).mean():.1%}, faiss {(found[:, 1] == started).mean():.1%}",
            flush=True,
        )


def train():
    need("torch", "torch")
    import torch
    from torch import nn

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    program = built("train", "bench", "--workspace", "--no-run", "--bench", "train")
    # One step of Adam on the recoder: three layers on every sentence, the mean, and a linear layer
    # to the classes.
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


def encode():
    need("sentence_transformers", "sentence-transformers[onnx]")
    os.environ["HF_HUB_OFFLINE"] = "1"
    import onnxruntime
    import numpy as np
    import sentence_transformers

    if "UNDERTONE_MODELS" not in os.environ:
        sys.exit("encode needs UNDERTONE_MODELS, a folder with all-MiniLM-L6-v2 in ONNX form")
    source = pathlib.Path(os.environ["UNDERTONE_MODELS"]).resolve() / "all-MiniLM-L6-v2"
    # Both sides have the same build of ONNX Runtime.
    library = next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    program = executable("encode")
    # One public sentence a line.
    given = pathlib.Path(os.environ.get("SENTENCES", HERE.parents[1] / "assets/demo-corpus.txt"))
    sentences = [line for line in given.read_text().splitlines() if line.strip()]
    for model in ("model.onnx", "model.int8.onnx"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "sentences").write_text("".join(f"{sentence}\n" for sentence in sentences))
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = THREADS
            peer = sentence_transformers.SentenceTransformer(
                str(sentence_transformers_folder(path / "peer", source, model)),
                backend="onnx",
                device="cpu",
                model_kwargs={"provider": "CPUExecutionProvider", "file_name": model, "session_options": options},
            )
            children = {
                engine: answering([*program, str(source / model), str(path / "sentences"), *arguments])
                for engine, arguments in (("built-in engine", []), ("ONNX Runtime", [str(library)]))
            }

            def theirs():
                begin = time.perf_counter()
                rows = peer.encode(sentences, batch_size=32, show_progress_bar=False)
                seconds = time.perf_counter() - begin
                return {"seconds": seconds, "sum": float(np.sum(rows.ravel() * (np.arange(1, rows.size + 1) % 1009)))}

            sides = {"sentence-transformers": theirs}
            for engine, (_, ask) in children.items():
                for way in ("alone", "together"):
                    sides[f"{engine}, {way}"] = lambda ask=ask, way=way: ask(way)
            rounds = []
            for _ in range(4):
                rounds.append({name: side() for name, side in sides.items()})
            for child, _ in children.values():
                child.stdin.close()
                child.wait()
        # The first one warms up.
        rates = {name: [len(sentences) / samples[name]["seconds"] for samples in rounds[1:]] for name in sides}
        for engine in children:
            alone, together = (rounds[0][f"{engine}, {way}"]["sum"] for way in ("alone", "together"))
            assert alone == together, "not the same vectors"
            what = f"{model}, {len(sentences)} sentences, {THREADS} threads, {engine}"
            own = rates[f"{engine}, together"]
            report(f"{what}, batches beside one at a time", "sentences/s", own, rates[f"{engine}, alone"], "alone", "rate ratio")
            version = f"sentence-transformers {sentence_transformers.__version__}, ONNX Runtime {onnxruntime.__version__}"
            report(what, "sentences/s", own, rates["sentence-transformers"], version, "rate ratio")


def sentence_transformers_folder(folder, source, model):
    """The files that sentence-transformers wants beside a model, for all-MiniLM-L6-v2."""
    files = {
        "config.json": {
            "model_type": "bert",
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "intermediate_size": 1536,
            "vocab_size": 30522,
        },
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizerFast", "model_max_length": 256, "pad_token": "[PAD]"},
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 256},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    for name in (model, "tokenizer.json"):
        (folder / name).symlink_to(source / name)
    return folder


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
            child, ours = answering([*program, path, str(n)])

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


def noise():
    import numpy as np

    program = executable("noise")
    epsilon, vectors = 10.0, 500
    for d in (300, 768):
        rng = np.random.default_rng(0)
        x = rng.standard_normal(d, dtype=np.float32)

        # The usual recipe: a radius, and a Gaussian for the direction. Neither the generator nor
        # the sum is safe for privacy.
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
            [*program, str(d), str(epsilon)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def pack():
    need("sklearn", "scikit-learn")
    import gzip

    import sklearn
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    if "UNDERTONE_DATA" not in os.environ:
        sys.exit("pack needs UNDERTONE_DATA, the folder of the corpora")
    manifest = str(HERE.parents[2] / "Cargo.toml")
    program = built("undertone", "build", "--release", "--package", "undertone-cli", "--manifest-path", manifest)
    corpora = (
        ("short-text/clinc150.train", "domain", []),
        ("amazon-multidomain/train", "label", []),
        ("20news-bydate/train", "label", ["--messages"]),
    )
    for name, field, options in corpora:
        path = pathlib.Path(os.environ["UNDERTONE_DATA"]).resolve() / f"{name}.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        # Messages without their headers.
        texts = [row["text"].split("\n\n", 1)[-1] if options else row["text"] for row in rows]
        labels = [row[field] for row in rows]

        def theirs():
            begin = time.process_time()
            words = TfidfVectorizer(ngram_range=(1, 2))
            letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5))
            make_pipeline(make_union(words, letters), LinearSVC()).fit(texts, labels)
            return time.process_time() - begin

        def ours(folder):
            command = [program, "pack", "--quiet", "--corpus", path, "--label-field", field, *options]
            command += ["--out", os.path.join(folder, "texts.pack")]
            # From a small process: until it starts its program, a child has the memory of its parent.
            ran = subprocess.run([sys.executable, "-c", RUN, *command], stdout=subprocess.PIPE, text=True)
            if ran.returncode:
                sys.exit(f"undertone pack failed on {path}")
            return tuple(map(float, ran.stdout.split()))

        with tempfile.TemporaryDirectory() as folder:
            own, peer = zip(*((ours(folder), theirs()) for _ in range(3)))
        seconds, memory = zip(*own)
        what = f"packing {len(texts)} texts of {name}, at most {max(memory):.0f} MiB"
        report(what, "CPU s", seconds, peer, f"scikit-learn {sklearn.__version__} LinearSVC", "time ratio")


if __name__ == "__main__":
    need("numpy", "numpy")
    benches = {"kmeans": kmeans, "nearest": nearest, "train": train, "wmd": wmd, "noise": noise}
    default = list(benches)
    benches |= {"encode": encode, "pack": pack}
    for name in sys.argv[1:] or default:
        if name not in benches:
            sys.exit(f"peers.py knows {', '.join(benches)}, not {name}")
        benches[name]()
