"""Text to release on a device, beside fastText and a static-embedding encoder, in one run and on one thread.

    python3 -m pip install -r tests/peers/requirements.txt
    python3 tests/peers/text.py --pack PACK --corpus TEXTS.jsonl.gz --tokenizer FOLDER/tokenizer.json

PACK reads texts (`undertone pack --heads both`, for example). TEXTS has a text and a label in each line: fastText learns
from them, and all three then read sentences of 20 words of them, in texts of 20 sentences. The static embeddings are those of
model2vec with random numbers, which take the same time, and the tokenizer that is given.

Samples alternate, and times are processor time: medians for a sentence. Not a test of speed: nothing fails for being slow.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

for library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import fasttext
import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 25
WORDS = 20
SENTENCES = 20
# So many that what other programs leave of the cache matters little.
TEXTS = 200


def executable():
    """Builds the bench and gives the path of its program."""
    command = ["cargo", "bench", "--no-run", "--message-format=json", "--features", "tools", "--bench", "text"]
    built = subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "text")


def corpus(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            yield " ".join(line["text"].split()), line["label"]


def sentences(texts):
    """Sentences of so many words, none of which ends one before."""
    words = (word for text in texts for word in text.split() if word.isalpha())
    while True:
        sentence = [word for word, _ in zip(words, range(WORDS))]
        if len(sentence) < WORDS:
            return
        yield " ".join(sentence).capitalize() + "."


def timed(call):
    def sample():
        begin = time.process_time()
        call()
        return (time.process_time() - begin) / (SENTENCES * TEXTS)

    return sample


def main():
    arguments = argparse.ArgumentParser()
    for name in ("pack", "corpus", "tokenizer"):
        arguments.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments.add_argument("--backend", help="other kernels than the best ones, such as avx2")
    arguments = arguments.parse_args()
    examples = list(corpus(arguments.corpus))
    some = [sentence for _, sentence in zip(range(SENTENCES * TEXTS), sentences(text for text, _ in examples))]
    assert len(some) == SENTENCES * TEXTS, "the corpus is too short"

    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "sentences")
        with open(written, "w", encoding="utf-8") as file:
            file.write("".join(f"{sentence}\n" for sentence in some))
        training = os.path.join(folder, "training")
        with open(training, "w", encoding="utf-8") as file:
            file.writelines(f"__label__{label.replace(' ', '_')} {text}\n" for text, label in examples)
        command = [executable(), arguments.pack, written, *([arguments.backend] if arguments.backend else [])]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def step(name):
            def sample():
                child.stdin.write(f"{name}\n")
                child.stdin.flush()
                return json.loads(child.stdout.readline())["seconds"]

            return sample

        options = {"thread": 1, "verbose": 0, "epoch": 1}
        words = fasttext.train_supervised(training, **options)
        runs = fasttext.train_supervised(training, wordNgrams=2, minn=3, maxn=4, bucket=200_000, **options)
        tokenizer = Tokenizer.from_file(str(arguments.tokenizer))
        vectors = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 256)).astype(np.float32)
        static = StaticModel(vectors, tokenizer)

        ours = {"text to release, a sentence": step("release"), "of that, a sentence to its scores": step("push")}
        peers = {
            f"fastText {version('fasttext-numpy2-wheel')}, words": timed(lambda: [words.predict(text) for text in some]),
            "fastText, pairs of words and runs of letters, too": timed(lambda: [runs.predict(text) for text in some]),
            f"model2vec {version('model2vec')}, 256 numbers": timed(lambda: static.encode(some, use_multiprocessing=False)),
        }
        every = [*ours.values(), *peers.values()]
        for side in every:
            side()
        rounds = [[side() for side in every] for _ in range(SAMPLES)]
        child.stdin.close()
        child.wait()
    medians = [statistics.median(column) * 1e6 for column in zip(*rounds)]
    print("| what | µs | ours, text to release / it |\n| --- | ---: | ---: |")
    for name, median in zip([*ours, *peers], medians):
        print(f"| {name} | {median:.1f} | {medians[0] / median:.2f} |")
    print(f"\na text of {SENTENCES} such sentences to its release: {medians[0] * SENTENCES:.0f} µs")


if __name__ == "__main__":
    sys.exit(main())
