"""Accuracy of a pack without noise: how often the best candidate has the label of the text.

    undertone lexicon encode --encoder PACK --corpus TEXTS.jsonl.gz --out VECTORS.safetensors
    python3 host/lab/best.py PACK VECTORS.safetensors TEXTS.jsonl.gz

PACK has scores and no recoder, and its lexicon made VECTORS. The values of its heads (core/FORMAT.md, `SCOR`) are
divided by the length of the sentence's vector and added up over the sentences of a text, without rounding or clipping;
the prediction is the label with the largest sum. The labels come from the candidates file of the pack, which ends in
.candidates.safetensors instead of .pack. Requires NumPy.
"""

import gzip
import json
import struct
import sys

import numpy as np


def tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    types = {"F32": "<f4", "U64": "<u8"}
    parts = {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}
    arrays = {name: np.frombuffer(parts[name], types[entry["dtype"]]) for name, entry in header.items()}
    return {name: array.reshape(header[name]["shape"]) for name, array in arrays.items()}, metadata


def heads(path):
    with open(path, "rb") as file:
        pack = file.read()
    (sections,), (dimension,) = struct.unpack_from("<I", pack, 12), struct.unpack_from("<I", pack, 24)
    table = [struct.unpack_from("<4sIQQ", pack, 128 + 24 * index) for index in range(sections)]
    (start,) = [offset for tag, _, offset, _ in table if tag == b"SCOR"]
    candidates, _, _, exponent = struct.unpack_from("<IHHi", pack, start)

    def array(kind, count, at):
        at = start + -(-(at - start) // 64) * 64
        return np.frombuffer(pack, kind, count, at).astype(float), at + count * np.dtype(kind).itemsize

    centre, at = array("<i2", dimension, start + 16)
    weights, at = array("i1", candidates * dimension, at)
    bias, at = array("<i4", candidates, at)
    return exponent, centre, weights.reshape(candidates, dimension), bias


if len(sys.argv) != 4:
    sys.exit(__doc__)
pack, vectors, corpus = sys.argv[1:]
with gzip.open(corpus, "rt", encoding="utf-8") as file:
    wanted = [json.loads(line)["label"] for line in file]
_, metadata = tensors(pack.removesuffix(".pack") + ".candidates.safetensors")
(description,) = metadata.values()
labels = [entry["label"] for entry in json.loads(description)["documents"]]
arrays, _ = tensors(vectors)
exponent, centre, weights, bias = heads(pack)
shifted = np.clip(np.rint(arrays["embeddings"] * 2.0**exponent), -32767, 32767) - centre
lengths = np.maximum(1, np.floor(np.linalg.norm(shifted, axis=1)))
values = 256 * shifted @ weights.T / lengths[:, None] + bias
sums = [values[start:end].sum(axis=0) for start, end in zip(arrays["offsets"], arrays["offsets"][1:])]
right = [labels[np.argmax(total)] == label for total, label in zip(sums, wanted, strict=True)]
print(f"{np.mean(right):.3f} of {len(right)}")
