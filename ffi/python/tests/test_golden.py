"""The golden vectors (tests/golden) that the package has calls for. It takes no random bytes from a
caller, so tests/faces/replay.c is preloaded in a process of its own, and answers in the place of
the system."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

import undertone as ut

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"

#: The packs and the vectors.
FILES = [line.split() for line in (GOLDEN / "list.txt").read_text().splitlines()]
#: The vectors of golden.form.
OF_FORMS = ["answers.txt", "drawn-answers.txt"]
#: The number of vectors that Python has no calls for: it splits texts itself, and pushes no
#: sentence or word alone.
WITHOUT = {
    "vectors.txt": 5,
    "vectors-scores.txt": 5,
    "vectors-vote.txt": 5,
    "vectors-recoded.txt": 5,
    "whole-text-scores.txt": 6,
    "whole-text-vote.txt": 6,
    "projective-scores.txt": 6,
    "projective-vote.txt": 6,
    "vectors-features.txt": 18,
    "words.txt": 22,
}

RULES = {"1": "permute-and-flip", "2": "exponential", "3": "laplace"}
NOISES = {"3": "laplace", "4": "discrete-laplace"}


class Case:
    """The lines of a case, those that it has once also by their names."""

    def __init__(self, block: str) -> None:
        lines = [line.partition(" ") for line in block.splitlines() if not line.startswith("#")]
        self.lines = [(name, value) for name, _, value in lines]
        self.fields = dict(self.lines)

    def all(self, name: str) -> list[str]:
        return [value for own, value in self.lines if own == name]

    @property
    def epsilon(self) -> str:
        return f"{int(self.fields['epsilon_micro'])}e-6"


def text(digits: str) -> str:
    """Bytes that are no UTF-8 cannot be a str; U+FFFD separates words as they do."""
    return bytes.fromhex(digits).decode(errors="replace")


def floats(digits: str) -> npt.NDArray[np.float32]:
    return np.frombuffer(bytes.fromhex(digits), "<f4").astype(np.float32)


def prescribe(key: bytes, draws: int) -> int:
    """What the next draws get. Returns how many bytes nobody drew since the last call."""
    replay = ctypes.CDLL(None).replay
    replay.restype = ctypes.c_ssize_t
    return int(replay(key * draws, ctypes.c_size_t(len(key) * draws), ctypes.c_size_t(32)))


def released(pack: ut.Pack, case: Case) -> bytes | None:
    """The release of a case; None if Python has no call for it."""
    fields = case.fields
    key = bytes.fromhex(fields["entropy"])
    if "noise" in fields:
        vector, noise = floats(fields["vector"]), NOISES[fields["noise"]]
        if "bound_exponent" in fields:
            bound = int(fields["bound_exponent"])
            mechanism = ut.VectorMechanism(len(vector), case.epsilon, bound_exponent=bound, noise=noise)
        else:
            mechanism = ut.VectorMechanism.projected(pack, case.epsilon, noise=noise)
        prescribe(key, 1)
        return bytes(mechanism.release(vector))
    if "mechanism" in fields:
        # Texts alone go in, and no word that a text would split.
        words = [text(word) for word in case.all("word")]
        if not all(re.fullmatch("[a-z]+", word) for word in words):
            return None
        whole = "\n".join(words + [text(line) for line in case.all("text")])
        # A device leaves words out after 1,024, a server later.
        if len(whole.split()) > 1024:
            return None
        # The first draw is for the check of the arguments.
        prescribe(key, 2)
        bags = ut.obfuscate([whole], pack, case.epsilon, words=int(fields["size"]), rule=RULES[fields["mechanism"]], stop_words=[])
        return bags.releases[0]
    document = ut.Document(pack)
    for name, value in case.lines:
        if name == "embedding":
            document.push(floats(value))
        # Texts alone go in: one that is no sentence, or several, is another document here.
        elif name == "sentence" and document.push_text(text(value)) != 1:
            return None
    prescribe(key, 1)
    return bytes(document.release(case.epsilon, RULES.get(fields["rule"], fields["rule"])))


def agrees(pack: ut.Pack, case: Case) -> bool:
    """Whether Python has a call for a case. It must agree then."""
    fields = case.fields
    if "release" not in fields:
        encoded = ut.Encoder.lexicon(pack).encode([text(fields["sentence"])])
        assert encoded.tobytes() == floats(fields["vector"]).tobytes(), fields["sentence"]
        return True
    found = released(pack, case)
    if found is None:
        return False
    assert prescribe(b"", 0) == 0, f"{fields['case']}: bytes that were not drawn"
    assert found.hex() == fields["release"], fields["case"]
    return True


def drawn(form: ut.Form, case: Case) -> bytes:
    """The release of answers, or of those of one line of a slot, stored and read after each."""
    keys = [bytes.fromhex(key) for key in case.all("entropy")]
    rows = [dict(zip(form.attributes, map(int, row.split()))) for row in case.all("answers")]
    prescribe(b"".join(keys), 1)
    if "slot" not in case.fields:
        return bytes(form.release(rows[0], case.epsilon))
    reservoir = ut.AnswerReservoir(form, int(case.fields["slot"]), int(case.fields["places"]))
    for row in rows:
        reservoir = ut.AnswerReservoir.read(bytes(reservoir), form)
        reservoir.push(row)
    assert bytes(reservoir).hex() == case.fields["stored"], case.fields["case"]
    return bytes(reservoir.release(case.epsilon))


def cases_of(vectors: str) -> list[Case]:
    cases = [Case(block) for block in (GOLDEN / vectors).read_text().split("\n\n")]
    return [case for case in cases if case.fields]


def main() -> None:
    for pack, vectors in FILES:
        own = ut.Pack.open(GOLDEN / pack)
        assert own.encoder_name == "golden" and (own.candidate_count == 0) == (pack == "golden-vectors.pack")
        print(f"{vectors}: {sum(agrees(own, case) for case in cases_of(vectors))} golden vectors agree")
    form = ut.Form.open(GOLDEN / "golden.form")
    for vectors in OF_FORMS:
        cases = cases_of(vectors)
        for case in cases:
            assert drawn(form, case).hex() == case.fields["release"], case.fields["case"]
            assert prescribe(b"", 0) == 0, f"{case.fields['case']}: bytes that were not drawn"
        print(f"{vectors}: {len(cases)} golden vectors agree")


def test_golden_vectors(tmp_path: Path) -> None:
    library = tmp_path / "replay.so"
    subprocess.run(["cc", "-shared", "-fPIC", ROOT / "tests/faces/replay.c", "-o", library], check=True)
    # A sanitizer has to stay the first.
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {library}"
    environment = {**os.environ, "LD_PRELOAD": preloaded.strip()}
    printed = subprocess.run([sys.executable, __file__], env=environment, check=True, capture_output=True, text=True).stdout
    wanted = []
    for vectors in [vectors for _, vectors in FILES] + OF_FORMS:
        outcome = "vector " if vectors.startswith("sentences") else "release "
        lines = (GOLDEN / vectors).read_text().splitlines()
        count = sum(line.startswith(outcome) for line in lines) - WITHOUT.get(vectors, 0)
        wanted.append(f"{vectors}: {count} golden vectors agree")
    assert printed.splitlines() == wanted


if __name__ == "__main__":
    main()
