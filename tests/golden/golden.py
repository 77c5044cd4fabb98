#!/usr/bin/env python3
"""An independent reference of the device path, and the golden files made with it.

    python3 golden.py            writes golden.pack, vectors.txt and sentences.txt beside this file
    python3 golden.py --check    regenerates them in memory and fails if a file differs

Python 3 standard library only, no code in common with the Rust crates, readable before fast. Every
implementation (Rust, C, C++) must reproduce each `release` in vectors.txt byte for byte from
golden.pack, the sentences and the 32 bytes of entropy.

golden.pack follows core/src/FORMAT.md. vectors.txt has one block per case, blocks separated by a
blank line, `#` lines at the top are comments:

    case NAME
    epsilon_micro N         epsilon in millionths
    rule 1|2                1 permute-and-flip, 2 exponential
    entropy HEX             32 bytes: what the entropy source returns, the key of ChaCha12
    embedding HEX           a sentence by its embedding, d little-endian f32; any number of lines
    sentence HEX            a sentence by its text, UTF-8 (may be empty); any number of lines
    release HEX             the 24 bytes that must come out

sentences.txt has the step before, text to vector, by the lexicon of golden.pack:

    sentence HEX            UTF-8
    vector HEX              d little-endian f32
"""

import decimal
import hashlib
import math
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
PERMUTE_AND_FLIP, EXPONENTIAL = 1, 2
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


# --- Randomness: ChaCha12 (20-round ChaCha of RFC 8439 with 12 rounds, 64-bit counter and nonce 0)


def chacha_block(key, counter, rounds=12):
    """16 words of 32 bits."""
    initial = list(struct.unpack("<4I", b"expand 32-byte k"))
    initial += struct.unpack("<8I", key)
    initial += [counter & MASK32, counter >> 32, 0, 0]
    x = list(initial)

    def rotate(value, bits):
        return ((value << bits) | (value >> (32 - bits))) & MASK32

    def quarter(a, b, c, d):
        x[a] = (x[a] + x[b]) & MASK32
        x[d] = rotate(x[d] ^ x[a], 16)
        x[c] = (x[c] + x[d]) & MASK32
        x[b] = rotate(x[b] ^ x[c], 12)
        x[a] = (x[a] + x[b]) & MASK32
        x[d] = rotate(x[d] ^ x[a], 8)
        x[c] = (x[c] + x[d]) & MASK32
        x[b] = rotate(x[b] ^ x[c], 7)

    for _ in range(rounds // 2):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(a + b) & MASK32 for a, b in zip(x, initial)]


def words_of_key(key):
    """The stream of 64-bit words: pairs of 32-bit words, low half first."""
    counter = 0
    while True:
        block = chacha_block(key, counter)
        for i in range(0, 16, 2):
            yield block[i] | block[i + 1] << 32
        counter += 1


def below(words, n):
    """A number below n from 128 random bits, the high word first."""
    high = next(words)
    low = next(words)
    return ((high << 64 | low) * n) >> 128


# --- The selection engine (mechanisms: section 2)


def ratio_constant(epsilon_micro):
    """C = ceil(2^64 exp(-epsilon/2)) + 4 by the specified computation: a product over the set bits
    b of epsilon, in micro-units, of ceil(2^127 exp(-2^b / 2000000)), each product rounded up."""
    product = 2**127
    with decimal.localcontext() as context:
        context.prec = 120
        for b in range(30):
            if epsilon_micro >> b & 1:
                exact = decimal.Decimal(2) ** 127 * (decimal.Decimal(-(2**b)) / 2_000_000).exp()
                factor = int(exact.to_integral_value(decimal.ROUND_CEILING))
                product = ceiling_quotient(product * factor, 2**127)
    return min(2**64 - 1, ceiling_quotient(product, 2**63) + 4)


def ceiling_quotient(a, b):
    return -(-a // b)


def select(levels, rule, epsilon_micro, words):
    """The index of the candidate drawn."""
    constant = ratio_constant(epsilon_micro)
    best = min(levels)
    weight = {}
    w = 2**64 if rule == PERMUTE_AND_FLIP else 2**48
    for level in range(best, max(levels) + 1):
        weight[level] = w
        w = max(1, ceiling_quotient(w * constant, 2**64))

    share = {}
    for level in sorted(set(levels)):
        count = levels.count(level)
        if rule == PERMUTE_AND_FLIP:
            # One coin per candidate, best level first. Every coin consumes a word, also a sure one.
            share[level] = sum(next(words) < weight[level] for _ in range(count))
        else:
            share[level] = count * weight[level]

    target = below(words, sum(share.values()))
    for level in sorted(share):
        if target < share[level]:
            break
        target -= share[level]
    candidates = [index for index, l in enumerate(levels) if l == level]
    return candidates[below(words, len(candidates))]


# --- Depth (mechanisms: section 3, bucketed as in FORMAT.md)


def to_fixed(x, exponent):
    """round(x 2^exponent), ties to even, clamped; 0 if x is not finite. x is an f32 held in a
    double, so the product is exact, and round() of Python is to even."""
    if not math.isfinite(x):
        return 0
    return max(-32767, min(32767, round(x * 2.0**exponent)))


def code(pack, direction, fixed):
    """The code of a fixed-point embedding on one direction."""
    projection = sum(v * x for v, x in zip(pack["directions"][direction], fixed))
    shifted = max(-(2**31), min(2**31 - 1, projection >> pack["shift"]))
    return sum(boundary <= shifted for boundary in pack["boundaries"][direction])


def depth_levels(pack, embeddings):
    k = len(embeddings)
    fixed = [[to_fixed(x, pack["exponent"]) for x in embedding] for embedding in embeddings]
    sentence_codes = [[code(pack, j, x) for x in fixed] for j in range(P)]
    levels = []
    for candidate in range(M):
        depth = k
        for j in range(P):
            h = sum(c >= pack["codes"][j][candidate] for c in sentence_codes[j])
            depth = min(depth, h, k - h)
        levels.append(k // 2 - depth)
    return levels


# --- Lexicon


def words_of_text(text):
    """Runs of letters and digits with apostrophes inside, lower-cased character by character."""
    runs, run = [], ""
    for c in text + " ":
        if c.isalnum() or c in "'’":
            run += c
        else:
            runs.append(run)
            run = ""
    for run in runs:
        word = "".join(c.lower() for c in run.strip("'’")).replace("’", "'")
        if word and len(word.encode()) <= 48:
            yield word


def sentence_vector(lexicon, sentence):
    total, sums = 0, [0] * D
    for word in words_of_text(sentence):
        if word in lexicon["words"]:
            weight, vector = lexicon["words"][word]
            total += weight
            sums = [s + weight * v for s, v in zip(sums, vector)]
    # Nearest integer, ties towards plus infinity: floor((2 a + b) / 2 b).
    means = [(2 * 256 * s + total) // (2 * total) if total else 0 for s in sums]
    return [mean * 2.0 ** lexicon["exponent"] for mean in means]


# --- The pack file


def write_pack(pack, lexicon):
    def section(arrays):
        out = b""
        for array in arrays:
            out += bytes(-len(out) % 64) + array
        return out

    def packed(kind, rows):
        flat = [value for row in rows for value in row]
        return struct.pack(f"<{len(flat)}{kind}", *flat)

    depth = section([
        struct.pack("<IIiI", M, P, pack["exponent"], pack["shift"]),
        packed("h", pack["directions"]),
        packed("i", pack["boundaries"]),
        packed("B", pack["codes"]),
    ])
    ordered = sorted((word.encode(), entry) for word, entry in lexicon["words"].items())
    text, ends = b"", []
    for word, _ in ordered:
        text += word
        ends.append(len(text))
    lexi = section([
        struct.pack("<IIiI", len(ordered), len(text), lexicon["exponent"], 0),
        packed("I", [ends]),
        packed("H", [[weight for _, (weight, _) in ordered]]),
        packed("b", [vector for _, (_, vector) in ordered]),
        text,
    ])
    # A section that no reader knows, to be skipped.
    sections = [(b"DPTH", depth), (b"XTRA", b"skip me"), (b"LEXI", lexi)]
    table, body, end = b"", b"", 128 + 24 * len(sections)
    for tag, content in sections:
        padding = -end % 64
        table += struct.pack("<4sIQQ", tag, 0, end + padding, len(content))
        body += bytes(padding) + content
        end += padding + len(content)

    def header(digest):
        return struct.pack(
            "<8sHHIQII32s32s32s", b"UNDRTONE", 1, 0, len(sections), end, D, 0, digest,
            hashlib.sha256(b"the golden encoder").digest(), "golden".encode())

    rest = table + body
    digest = hashlib.sha256(header(bytes(32)) + rest).digest()
    return header(digest) + rest


# --- The public data of the golden pack: patterns that anyone can regenerate

D, M, P = 16, 60, 7
WORDS = """
    a and be but cat coffee day dog don't evening food garden good great house i in is isn't it
    light morning music never night o'clock of old on people quiet rain river rock'n'roll sea she
    small street summer sun tea the they time to train walk water we winter with you 42 2026
    café naïve straße zoë ärger über москва οδοσ 東京 i̇stanbul
    donaudampfschifffahrtselektrizitätenhauptbetriebswerk
""".split()


class Pattern:
    """Knuth's 64-bit linear congruential generator; the top 32 bits of each state."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK64
        return self.state >> 32

    def between(self, least, most):
        return least + self.word() % (most - least + 1)

    def coordinate(self, size):
        """A multiple of 2^-16 in [-size, size), for a power of two `size`: exact in f32."""
        return (self.word() % 2**17 - 2**16) * size / 2**16


def golden_pack():
    pattern = Pattern(1)
    pack = {
        "exponent": 8,
        "shift": 5,
        "directions": [[pattern.between(-1000, 1000) for _ in range(D)] for _ in range(P)],
        # Coarse on direction 1, neither ascending nor distinct on direction 2.
        "boundaries": [
            [(i - 127) * 350 for i in range(255)],
            [(i // 32 - 4) * 9000 for i in range(255)],
            [pattern.between(-300, 300) * 150 for _ in range(255)],
        ] + [[(i - 127) * (200 + 40 * j) for i in range(255)] for j in range(3, P)],
    }
    # From the centre outwards, so that depths are spread.
    candidates = [
        [round(pattern.coordinate(1) * 256 * r / M) for _ in range(D)] for r in range(M)
    ]
    pack["codes"] = [[code(pack, j, x) for x in candidates] for j in range(P)]
    # Two that every sentence lies on one side of.
    for j in range(P):
        pack["codes"][j][17] = 0
        pack["codes"][j][42] = 255
    lexicon = {"exponent": -14, "words": {}}
    for i, word in enumerate(sorted(set(WORDS))):
        vector = [pattern.between(-127, 127) for _ in range(D)]
        weight = [0, 65535, 1][i] if i < 3 else pattern.between(500, 65535)
        lexicon["words"][word] = (weight, vector)
    return pack, lexicon


# --- The cases


def golden_cases():
    """(name, epsilon_micro, rule, sentences); a sentence is a str or a list of D floats."""
    micro = 1_000_000
    pf, em = PERMUTE_AND_FLIP, EXPONENTIAL

    def vectors(seed, k, size=1):
        pattern = Pattern(seed)
        return [[pattern.coordinate(size) for _ in range(D)] for _ in range(k)]

    cases = []
    for k, epsilon, rule in [
        (0, micro, pf), (0, 10 * micro, em),
        (1, 3 * micro, pf), (1, 6 * micro, em),
        (2, 6 * micro, pf), (2, 1, em),
        (7, micro // 10, pf), (7, 10 * micro, em),
        (20, 1, pf), (20, micro, em), (20, 3 * micro, pf), (20, 6 * micro, em),
        (20, 10 * micro, pf), (20, 23 * micro, em), (20, 1_234_567, pf), (20, 7_654_321, em),
        (128, micro // 10, em), (128, 3 * micro, em), (128, micro, pf), (128, 23 * micro, pf),
        (128, 100 * micro, em), (128, 1000 * micro, pf),
    ]:
        name = f"k{k}_{'pf' if rule == pf else 'em'}_{epsilon}"
        sentences = vectors(1000 + k, k)
        if k == 2:
            # Opposite to each other, or hardly a candidate would lie between them.
            sentences[1] = [-x for x in sentences[0]]
        cases.append((name, epsilon, rule, sentences))

    inf, nan = math.inf, math.nan
    subnormal, largest, tie = 2.0**-149, (2 - 2.0**-23) * 2.0**127, 2.0**-9
    odd = [
        [nan] * D,
        [inf, -inf] * (D // 2),
        [subnormal, -subnormal, 0.0, -0.0] * (D // 4),
        [largest] * D,
        [-largest, largest] * (D // 2),
        # 0.5, 1.5, 2.5, ... in fixed point: ties to even.
        [tie * (2 * i - D + 1) for i in range(D)],
        [128.0 - tie, 128.0, -128.0, 1e30] * (D // 4),
        [nan] + [1.0] * (D - 1),
        [0.25] * (D - 1) + [-inf],
    ]
    cases.append(("odd_floats_pf", 10 * micro, pf, odd))
    cases.append(("odd_floats_em", 3 * micro, em, odd + vectors(7, 6)))
    cases.append(("one_sentence_nine_times_pf", 3 * micro, pf, vectors(5, 1) * 9))

    text = [
        "She isn't in the GARDEN; the dog and the cat are.",
        "At 10 o'clock we walk to the river, with coffee or tea.",
        "Quiet night. Old street!",
        "Good music, good food, good people",
        "You never train with me in winter or summer; light is they",
        "Great house. SMALL GARDEN",
        "time, coffee, evening, sea",
        "it don't be rain",
        "cat on rock at sun",
        "in of the a and",
        "morning tea great old river",
        "dog dog dog people house",
    ]
    cases.append(("text_pf", 10 * micro, pf, text))
    cases.append(("text_em", 10 * micro, em, text[:11]))
    cases.append(("text_odd_em", 6 * micro, em, [
        "",
        "   \t\n …—!",
        "xyzzy plugh",
        "Don’t 'quote' ''TEA'' rock'n'roll ' ’ '’'",
        "ÜBER STRASSE Straße ÄRGER, CAFÉ NAÏVE ZOË",
        "МОСКВА ΟΔΟΣ 東京 İstanbul İSTANBUL",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk",
        "42 and 2026, but never 43",
        "\0a\0be\0but 😀 rain\u00a0sun\u3000sea",
        "cat's don'ts o''clock 'it's'",
    ] + text[:4]))
    cases.append(("text_odd_pf", 100 * micro, pf, ["", "2026", "42", "and", "a a a", "x"] + text[3:9]))
    cases.append(("mixed_pf", 6 * micro, pf, text + vectors(11, 6) + ["winter sun"]))
    return cases


def release(pack_id, pack, lexicon, epsilon_micro, rule, entropy, sentences):
    embeddings = [sentence_vector(lexicon, s) if isinstance(s, str) else s for s in sentences]
    levels = depth_levels(pack, embeddings)
    candidate = select(levels, rule, epsilon_micro, words_of_key(entropy))
    return struct.pack("<3sBBBHII8s", b"UTR", 1, 1, rule, 0, epsilon_micro, candidate, pack_id)


def generate():
    pack, lexicon = golden_pack()
    pack_file = write_pack(pack, lexicon)
    pack_id = pack_file[32:40]
    lines = ["# Golden vectors for golden.pack, written by golden.py, which explains the format."]
    for name, epsilon_micro, rule, sentences in golden_cases():
        entropy = hashlib.sha256(name.encode()).digest()
        lines += ["", f"case {name}", f"epsilon_micro {epsilon_micro}", f"rule {rule}",
                  f"entropy {entropy.hex()}"]
        for sentence in sentences:
            if isinstance(sentence, str):
                lines.append(f"sentence {sentence.encode().hex()}".rstrip())
            else:
                lines.append(f"embedding {struct.pack(f'<{D}f', *sentence).hex()}")
        result = release(pack_id, pack, lexicon, epsilon_micro, rule, entropy, sentences)
        lines.append(f"release {result.hex()}")
    return {
        "golden.pack": pack_file,
        "vectors.txt": ("\n".join(lines) + "\n").encode(),
        "sentences.txt": generate_sentences(lexicon),
    }


def generate_sentences(lexicon):
    """Every word alone, every text of the cases, and mixtures of words."""
    sentences = sorted(lexicon["words"])
    for _, _, _, document in golden_cases():
        sentences += [s for s in document if isinstance(s, str) and s not in sentences]
    pattern = Pattern(3)
    for length in (2, 3, 5, 8, 40):
        words = [WORDS[pattern.between(0, len(WORDS) - 1)] for _ in range(length)]
        sentences.append(" ".join(words).upper().replace("'", "’"))
    lines = ["# Golden sentence vectors for golden.pack, written by golden.py."]
    for sentence in sentences:
        vector = struct.pack(f"<{D}f", *sentence_vector(lexicon, sentence))
        lines += ["", f"sentence {sentence.encode().hex()}".rstrip(), f"vector {vector.hex()}"]
    return ("\n".join(lines) + "\n").encode()


def check_chacha():
    """RFC 8439 section 2.3.2 fixes the rounds; there the counter has 32 bits and the nonce 96, so
    words 13..15 differ and only the all-zero case carries over (20 rounds, appendix A.1 no. 1)."""
    block = struct.pack("<16I", *chacha_block(bytes(32), 0, rounds=20))
    assert block.hex().startswith("76b8e0ada0f13d90405d6ae55386bd28"), "the ChaCha core is wrong"


def main():
    check_chacha()
    files = generate()
    if sys.argv[1:] == ["--check"]:
        drifted = [name for name, content in files.items()
                   if not (HERE / name).exists() or (HERE / name).read_bytes() != content]
        if drifted:
            sys.exit(f"{', '.join(drifted)}: not what golden.py generates; run it without --check")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    for name, content in files.items():
        (HERE / name).write_bytes(content)


if __name__ == "__main__":
    main()
