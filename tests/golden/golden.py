#!/usr/bin/env python3
"""An independent reference of the device path, and the golden files made with it.

    python3 golden.py            writes the files below beside this one
    python3 golden.py --check    regenerates them in memory and fails if a file differs

Python 3 standard library only, no code in common with the Rust crates, readable before fast. Every
implementation (Rust, C, C++) must reproduce each `release` in the vectors byte for byte from the
pack, the sentences and the 32 bytes of entropy.

    golden.pack          vectors.txt           depth and a lexicon
    golden-scores.pack   vectors-scores.txt    a recoder, graded scores and a lexicon
    golden-vote.pack     vectors-vote.txt      votes, depth that is not used, and a lexicon
    golden-recoded.pack  vectors-recoded.txt   a recoder, depth and a lexicon with phrases
    golden-features.pack vectors-features.txt  40 levels, features of texts and a lexicon
    golden-scores.pack   whole-text-scores.txt the whole-text rule
    golden-vote.pack     whole-text-vote.txt   the whole-text rule
    golden-scores.pack   projective-scores.txt projective geometry response
    golden-vote.pack     projective-vote.txt   projective geometry response
    golden-known.pack    vectors-known.txt     features of whole texts alone, no "nothing known"
    golden-scores.pack   drawn.txt             one drawn sentence of a text
    golden.pack          words.txt             bags of private words
    golden-vectors.pack  private-vectors.txt   private vectors, as they are and projected
    golden-measured.pack                       has a table of quality
    golden.form          answers.txt           answers to a form
    golden.form          drawn-answers.txt     the answers of one line
    golden-topic.form    none                  a form whose topic is that of golden-scores.pack

The packs follow core/src/FORMAT.md. Vectors have one block per case, blocks separated by a blank
line, `#` lines at the top are comments:

    case NAME
    epsilon_micro N         epsilon in millionths
    rule 1|2|whole-text|projective
                            1 permute-and-flip, 2 exponential
    entropy HEX             32 bytes: what the entropy source returns, the key of ChaCha12
    embedding HEX           a sentence by its embedding, d little-endian f32; any number of lines
    sentence HEX            a sentence by its text, UTF-8 (may be empty); any number of lines
    release HEX             the 24 bytes that must come out

sentences.txt has the step before, text to vector, by the lexicon of golden.pack, and
sentences-phrases.txt by that of golden-recoded.pack:

    sentence HEX            UTF-8
    vector HEX              d little-endian f32

features.txt has the features of texts, as often as they occur, in ascending order:

    text HEX                bytes, most of them UTF-8
    kinds W P S LEAST MOST  1 where words, pairs and symbols count, the lengths of runs of characters
    features HEX            hashes of 32 bits, eight digits each

words.txt, besides `case`, `epsilon_micro`, `entropy` and `release`:

    mechanism 1|2|3         1 permute-and-flip, 2 exponential, 3 noise and the nearest word
    size N                  the words drawn
    word HEX                one word, UTF-8 (may be empty); any number of lines
    text HEX                a text that is split into words, UTF-8; any number of lines

drawn.txt, besides `case`, `epsilon_micro`, `embedding`, `sentence` and `release`:

    places N                the places of the reservoir
    entropy HEX             32 bytes for each call: the start, each sentence, the release

answers.txt, besides `case`, `epsilon_micro`, `entropy` and `release`:

    answers N ...           one number for each attribute

drawn-answers.txt, besides the fields of answers.txt:

    slot N                  the number of the slot
    places N                the places of the reservoir
    entropy HEX             32 bytes for each call: the start, each line of answers, the release
    stored HEX              the 64 bytes of the reservoir before the release

private-vectors.txt, besides `case`, `epsilon_micro`, `entropy` and `release`:

    noise 3|4               3 n-dimensional Laplace, 4 discrete Laplace
    bound_exponent N        coordinates are clamped to 2^N; without it the vector is projected
    vector HEX              little-endian f32

Laplace noise is computed in floating point. Every operation of it is one that IEEE 754 rounds correctly and
its order is specified, so Python's floats give the same bits as any processor.
"""

import bisect
import decimal
import functools
import hashlib
import math
import pathlib
import re
import struct
import sys
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
PERMUTE_AND_FLIP, EXPONENTIAL, WHOLE_TEXT, PROJECTIVE = 1, 2, "whole-text", "projective"
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


@functools.cache
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
    """The index of the candidate drawn; epsilon_micro, a level's share, may be 0."""
    return select_by(levels, rule, ratio_constant(epsilon_micro), words)


def select_by(levels, rule, constant, words):
    """The same, where a level is worth constant / 2^64."""
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


def depth_levels(pack, fixed):
    k = len(fixed)
    sentence_codes = [[code(pack, j, x) for x in fixed] for j in range(len(pack["codes"]))]
    levels = []
    for candidate in range(len(pack["codes"][0])):
        depth = k
        for j in range(len(pack["codes"])):
            h = sum(c >= pack["codes"][j][candidate] for c in sentence_codes[j])
            depth = min(depth, h, k - h)
        levels.append(k // 2 - depth)
    return levels


# --- Scores and recoders (mechanisms: section 4, as in FORMAT.md)


def recode(recoder, fixed):
    """The outputs of the last layer, whole numbers in 0..=32767."""
    for layer in recoder["layers"]:
        sums = [sum(w * x for w, x in zip(row, fixed)) + b
                for row, b in zip(layer["weights"], layer["bias"])]
        sums = [max(-(2**63), min(2**63 - 1, value)) for value in sums]
        fixed = [max(0, min(32767, value >> layer["shift"])) for value in sums]
    return fixed


def outputs(scores, fixed, said):
    """What each head makes of a sentence, times its norm; and the norm."""
    y = [max(-32767, min(32767, x - c)) for x, c in zip(fixed, scores["centre"])]
    norm = max(1, math.isqrt(sum(x * x for x in y)))
    z = [256 * sum(w * x for w, x in zip(row, y)) + (bias + more) * norm
         for row, bias, more in zip(scores["weights"], scores["bias"], said)]
    return z, norm


def sentence_scores(scores, fixed, said):
    """One score a candidate."""
    z, norm = outputs(scores, fixed, said)
    if scores["thresholds"] is None:
        return [int(c == z.index(max(z))) for c in range(len(z))]
    return [sum(t * norm <= value for t in scores["thresholds"]) for value in z]


def largest_score(scores):
    return 1 if scores["thresholds"] is None else len(scores["thresholds"])


def score_levels(scores, sentences):
    """A sentence: its coordinates, and what its features say for each candidate."""
    sums = [0] * len(scores["bias"])
    for fixed, said in sentences:
        sums = [u + q for u, q in zip(sums, sentence_scores(scores, fixed, said))]
    return [min(max(sums) - u, scores.get("levels", 160) - 1) for u in sums]


def outcomes_of(scores):
    """Of a whole text: the candidates and, unless the pack leaves it out, nothing known."""
    return len(scores["bias"]) + (not scores.get("known"))


def best_outcome(scores, sentences, known):
    """The candidate that the whole text says most for, or how many there are: nothing known. A pack that leaves
    this out has the candidate with the largest bias instead."""
    sums = [0] * len(scores["bias"])
    for (fixed, said), is_known in zip(sentences, known):
        if is_known:
            z, norm = outputs(scores, fixed, said)
            limit = 2**22 * norm
            sums = [u + ((max(-limit, min(limit, value)) * (2**40 // norm)) >> 40)
                    for u, value in zip(sums, z)]
    if scores.get("known") and not any(known):
        return scores["bias"].index(max(scores["bias"]))
    return sums.index(max(sums)) if any(known) else len(sums)


# --- Projective geometry response


def points(order, coordinates):
    """How many lines through the origin there are."""
    return sum(order**i for i in range(coordinates))


def projective_weights(epsilon_micro):
    """Of a point that the outcome prefers, and of any other."""
    constant = ratio_constant(min(2 * epsilon_micro, 1_000_000_000))
    return 2**40, max(1, ceiling_quotient(2**40 * constant, 2**64))


def geometry_variance(counts, outcomes, epsilon_micro):
    """Of an estimated share, the mean over the outcomes, in floats whose operations IEEE 754 rounds correctly.
    Counts: of all points, of those that an outcome prefers, and of those that two outcomes share."""
    first, other = projective_weights(epsilon_micro)
    all_points, preferred, shared = counts
    own, rest = preferred * first, (all_points - preferred) * other
    alien = shared * first + (preferred - shared) * other
    difference = float((preferred - shared) * (first - other))
    of_own = (float(own) / difference) * (float(rest) / difference)
    of_alien = (float(alien) / difference) * (float(own + rest - alien) / difference)
    return (of_own + (float(outcomes) - 1.0) * of_alien) / float(outcomes)


@functools.cache
def primes():
    return [n for n in range(2, 65_536) if all(n % divisor for divisor in range(2, math.isqrt(n) + 1))]


def best_hyperplanes(outcomes, epsilon_micro):
    """(variance, order, coordinates): the least variance, the smallest order if two have the same."""
    found = []
    for order in primes():
        coordinates = next(t for t in range(2, 99) if points(order, t) >= outcomes)
        if points(order, coordinates) < 2**24:
            counts = [points(order, coordinates - i) for i in range(3)]
            found.append((geometry_variance(counts, outcomes, epsilon_micro), order, coordinates))
    return min(found)


def progressions_modulus(outcomes):
    return next(v for v in primes() if v >= max(outcomes, 5))


def best_progressions(outcomes, epsilon_micro):
    """(variance, terms): the least variance, the fewest terms if two have the same."""
    v = progressions_modulus(outcomes)
    h = v // 2
    return min((geometry_variance((v * h, k * h, k * (k - 1) // 2), outcomes, epsilon_micro), k)
               for k in range(2, h + 1))


def digits(number, base, count):
    return [number // base**i % base for i in reversed(range(count))]


def vector_of_point(number, order, coordinates):
    """The canonical vector: its first coordinate other than 0 is 1."""
    free = max(m for m in range(coordinates) if points(order, m) <= number)
    tail = digits(number - points(order, free), order, free)
    return [0] * (coordinates - free - 1) + [1] + tail


def point_of_vector(vector, order):
    leading = next(x for x in vector if x)
    canonical = [x * pow(leading, -1, order) % order for x in vector]
    tail = canonical[canonical.index(1) + 1:]
    return points(order, len(tail)) + functools.reduce(lambda n, x: n * order + x, tail, 0)


def hyperplane_point(outcome, order, coordinates, inside, index):
    v = vector_of_point(outcome, order, coordinates)
    place = v.index(1)
    if inside:
        beside = vector_of_point(index, order, coordinates - 1)
    else:
        beside = digits(index, order, coordinates - 1)
    others = v[:place] + v[place + 1:]
    own = (int(not inside) - sum(a * b for a, b in zip(others, beside))) % order
    return point_of_vector(beside[:place] + [own] + beside[place:], order)


def progression_point(outcome, modulus, terms, inside, index):
    h = modulus // 2
    place, step = index // h, index % h + 1
    if not inside:
        place += terms
    start = (outcome - step * place) % modulus
    return start * h + step - 1


def best_geometry(outcomes, epsilon_micro):
    """(variance, order, points, preferred, point of (outcome, inside, index)) of hyperplanes or progressions."""
    variance, order, coordinates = best_hyperplanes(outcomes, epsilon_micro)
    least, terms = best_progressions(outcomes, epsilon_micro)
    if least * 33.0 < variance * 32.0:
        modulus = progressions_modulus(outcomes)
        return (least, 2 * terms, modulus * (modulus // 2), terms * (modulus // 2),
                lambda outcome, inside, index: progression_point(outcome, modulus, terms, inside, index))
    return (variance, order, points(order, coordinates), points(order, coordinates - 1),
            lambda outcome, inside, index: hyperplane_point(outcome, order, coordinates, inside, index))


def best_geometry_for_answer(outcomes, epsilon_micro):
    """The same, with randomised response of order 1."""
    best = best_geometry(outcomes, epsilon_micro)
    variance = geometry_variance((outcomes, 1, 0), outcomes, epsilon_micro)
    if best[0] < variance:
        return best
    return (variance, 1, outcomes, 1,
            lambda outcome, inside, index: outcome if inside else index + (index >= outcome))


def point_of(geometry, outcome, epsilon_micro, words):
    """The order of the geometry, and the point drawn for an outcome."""
    _, order, all_points, preferred, point = geometry
    first, other = projective_weights(epsilon_micro)
    rest = all_points - preferred
    inside = below(words, preferred * first + rest * other) < preferred * first
    index = below(words, preferred if inside else rest)
    return order, point(outcome, inside, index)


def projective_point(outcome, outcomes, epsilon_micro, words):
    return point_of(best_geometry(outcomes, epsilon_micro), outcome, epsilon_micro, words)


# --- Answers to a form

FORM_ATTRIBUTES = [("language", 1, ["de", "en", "fr", "uk"]),
                   ("emoji", 5, [f"emoji {n}" for n in range(2600)]),
                   ("häufig?", 2, ["ja", "nein"])]
FORM_PAIRS = [(0, 2, 3)]


def form_file(attributes=FORM_ATTRIBUTES, pairs=FORM_PAIRS, topic=0, pack=bytes(8)):
    sizes = [len(categories) for _, _, categories in attributes]
    names = [name for name, _, _ in attributes]
    names = [name.encode() for name in names + [name for _, _, all_of in attributes for name in all_of]]
    rest = b"".join(struct.pack("<II", len(categories), weight) for _, weight, categories in attributes)
    rest += b"".join(struct.pack("<HHI", *pair) for pair in pairs)
    rest += b"".join(struct.pack("<I", sum(map(len, names[:i + 1]))) for i in range(len(names)))
    rest += b"".join(names)
    head = b"UTFORM\x01\x00" + struct.pack("<IHHI", 64 + len(rest), len(sizes), len(pairs), sum(sizes))
    head += struct.pack("<H2x8s", topic, pack)
    return head + hashlib.sha256(head + bytes(32) + rest).digest() + rest


def topic_form(pack):
    """Language and topic, by the candidates of a pack, and both together."""
    candidates = [f"candidate {n}" for n in range(len(pack["scores"]["bias"]))]
    attributes = [("language", 1, ["de", "en"]), ("topic", 1, candidates)]
    return form_file(attributes, [(0, 1, 1)], 2, pack["file"][32:40])


def draw_question(words):
    weights = [weight for _, weight, _ in FORM_ATTRIBUTES] + [weight for _, _, weight in FORM_PAIRS]
    drawn = below(words, sum(weights))
    return next(i for i in range(len(weights)) if drawn < sum(weights[:i + 1]))


def outcome_of(index, answers):
    """The outcome of a question, and the number of its outcomes."""
    sizes = [len(categories) for _, _, categories in FORM_ATTRIBUTES]
    outcomes = [min(answer, size) for answer, size in zip(answers, sizes)]
    questions = [(outcome, size + 1) for outcome, size in zip(outcomes, sizes)]
    questions += [(outcomes[j] * (sizes[k] + 1) + outcomes[k], (sizes[j] + 1) * (sizes[k] + 1)) for j, k, _ in FORM_PAIRS]
    return questions[index]


def outcome_release(form, epsilon_micro, index, outcome, count, words):
    order, point = point_of(best_geometry_for_answer(count, epsilon_micro), outcome, epsilon_micro, words)
    return b"UTR\x01" + struct.pack("<BBHII", 10, 2, order, epsilon_micro, 2**24 * index + point) + form[32:40]


def answer_release(form, epsilon_micro, entropy, answers):
    words = words_of_key(entropy)
    index = draw_question(words)
    return outcome_release(form, epsilon_micro, index, *outcome_of(index, answers), words)


def drawn_answer(form, epsilon_micro, slot, places, keys, lines):
    """The stored reservoir of lines of answers, and its release."""
    keys = iter(keys)
    words = words_of_key(next(keys))
    index = draw_question(words)
    place = below(words, places) + 1
    best, count = outcome_of(index, [2**32 - 1] * len(FORM_ATTRIBUTES))
    for number, answers in enumerate(lines, 1):
        replaces = below(words_of_key(next(keys)), number) == 0
        if number == place or number > places and replaces:
            best, _ = outcome_of(index, answers)
    state = b"UTRESA" + struct.pack("<BB8sQHHIII", 1, index, form[32:40], slot, places, place, count, best, len(lines))
    stored = state + hashlib.sha256(state).digest()[:24]
    return stored, outcome_release(form, epsilon_micro, index, best, count, words_of_key(next(keys)))


def generate_answers():
    form = form_file()
    lines = ["# Golden answers to golden.form, written by golden.py, which explains the format."]
    for number, epsilon_micro in enumerate([1, 500_000, 1_000_000, 4_000_000, 1_000_000_000] * 8):
        answers = [(number * 7 + 1) % 6, number * 397 % 2700, [0, 1, 2, 2**32 - 1][number % 4]]
        entropy = hashlib.sha256(f"answers {number}".encode()).digest()
        release = answer_release(form, epsilon_micro, entropy, answers)
        lines += ["", f"case answers_{number}", f"epsilon_micro {epsilon_micro}", f"entropy {entropy.hex()}",
                  "answers " + " ".join(map(str, answers)), f"release {release.hex()}"]
    return ("\n".join(lines) + "\n").encode()


def generate_drawn_answers():
    form = form_file()
    lines = ["# Golden answers of one line to golden.form, written by golden.py, which explains the format."]
    for number in range(24):
        epsilon_micro = [1, 500_000, 1_000_000, 4_000_000, 1_000_000_000][number % 5]
        slot, places = 2**53 - 1 - number, [1, 2, 3, 65535][number % 4]
        answers = [[(number + line) % 6, line * 397 % 2700, [0, 1, 2, 2**32 - 1][line % 4]] for line in range(number % 9)]
        keys = [hashlib.sha256(f"drawn answers {number} {call}".encode()).digest() for call in range(len(answers) + 2)]
        stored, release = drawn_answer(form, epsilon_micro, slot, places, keys, answers)
        lines += ["", f"case drawn_answers_{number}", f"epsilon_micro {epsilon_micro}", f"slot {slot}", f"places {places}"]
        lines += [f"entropy {key.hex()}" for key in keys]
        lines += ["answers " + " ".join(map(str, line)) for line in answers]
        lines += [f"stored {stored.hex()}", f"release {release.hex()}"]
    return ("\n".join(lines) + "\n").encode()


# --- Features of texts


IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")


def words_of_text(text):
    """Runs of letters, digits and marks, with single apostrophes and joiners between, lower-cased and composed."""
    word, link = "", ""
    for c in IGNORABLE.sub("", text) + " ":
        mark = unicodedata.category(c)[0] == "M"
        if (word and mark) or (c.isalnum() and not mark):
            word, link = word + link + c.lower(), ""
        elif word and c in "\u200c\u200d":
            link = link or c
        elif word and c in "'’" and link != "'":
            link = "'"
        else:
            if word:
                yield composed_word(word, link)
            word, link = "", ""


def composed_word(word, link):
    """A word as NFC has it, without the dot of an i, with sigmas by their places."""
    word = unicodedata.normalize("NFD", word).replace("ς", "σ")
    # The dot may follow marks of other classes.
    word = re.sub("i([^\u0307]*?)\u0307", lambda found: "i" + found[1] if all(
        0 < unicodedata.combining(c) < 230 for c in found[1]) else found[0], word)
    base = max(i for i, c in enumerate(word) if i == 0 or unicodedata.category(c)[0] != "M")
    if base > 0 and word[base] == "σ":
        word = word[:base] + "ς" + word[base + 1:]
    word = unicodedata.normalize("NFC", word)
    joined = link in ("\u200c", "\u200d") and unicodedata.category(word[-1])[0] == "M"
    return word + link * joined


def hash_step(value, character):
    rotated = (value << 5 | value >> 27) & MASK32
    return ((rotated ^ character) * 0x9E3779B1) & MASK32


def hash_finish(value):
    value = ((value ^ value >> 16) * 0x85EBCA6B) & MASK32
    value = ((value ^ value >> 13) * 0xC2B2AE35) & MASK32
    return value ^ value >> 16


def features_of_text(text, kinds):
    """The hash of every word, pair of words, symbol and run of characters, as often as it occurs."""
    words, pairs, symbols, least, most = kinds
    end, before = 0x110000, None
    for word in words_of_text(text):
        characters = [end] + [ord(c) for c in word] + [end]
        for last in range(len(characters)):
            for length in range(least, min(most, last + 1) + 1):
                # A run is hashed from its end; the end mark alone is no run.
                run = characters[last - length + 1:last + 1][::-1]
                if run != [end]:
                    yield hash_finish(functools.reduce(hash_step, run, 3))
        whole = functools.reduce(hash_step, map(ord, word), 1)
        if words:
            yield hash_finish(whole)
        if pairs and before is not None:
            yield hash_finish(hash_step(hash_step(2, before), whole))
        before = whole
    for run in symbols_of_text(text) if symbols else []:
        for last in range(len(run)):
            for length in range(1, min(2, last + 1) + 1):
                yield hash_finish(functools.reduce(hash_step, map(ord, run[last - length + 1:last + 1][::-1]), 4))


def symbols_of_text(text):
    """The longest runs of characters that are not of words, white space or control characters."""
    text = "".join(c for c in unicodedata.normalize("NFD", IGNORABLE.sub("", text))
                   if unicodedata.category(c)[0] != "M" and c not in "\u200c\u200d")
    run = ""
    for c in text + " ":
        if c.isalnum() or c.isspace() or unicodedata.category(c) == "Cc" or c in "'’\u200b\ufffd":
            if run:
                yield run
            run = ""
        else:
            run += c


def feature_place(features, value):
    """What a feature is found by: the highest bits of its hash are its bucket, then 16 its key."""
    return value >> (16 - features["bucket_bits"])


def features_say(features, text):
    """What the features of a text add to the bias of each candidate, and how many are known."""
    found = [row for value in features_of_text(text, features["kinds"])
             if (row := features["rows"].get(feature_place(features, value)))]
    if not found:
        return [0] * len(features["scales"]), 0
    root = math.isqrt(2**32 // len(found))
    said = [(sum(weights) * scale * root) >> features["shift"]
            for weights, scale in zip(zip(*found), features["scales"])]
    return [max(-(2**30), min(2**30, value)) for value in said], len(found)


# --- Lexicon


def sentence_vector(lexicon, sentence):
    total, sums = 0, [0] * D
    words = [word for word in words_of_text(sentence) if len(word.encode()) <= 48]
    for word in words:
        if word in lexicon["words"]:
            weight, vector = lexicon["words"][word]
            total += weight
            sums = [s + weight * v for s, v in zip(sums, vector)]
    for pair in zip(words, words[1:]):
        if pair in lexicon.get("phrases", {}):
            weight, vector = lexicon["phrases"][pair]
            sums = [s + weight * v for s, v in zip(sums, vector)]
    # Nearest integer, ties towards plus infinity: floor((2 a + b) / 2 b).
    means = [(2 * 256 * s + total) // (2 * total) if total else 0 for s in sums]
    means = [max(-32767, min(32767, mean)) for mean in means]
    return [mean * 2.0 ** lexicon["exponent"] for mean in means]


# --- Laplace noise on a public grid (core/src/laplace)

LAPLACE, DISCRETE_LAPLACE = 3, 4


def grid_exponent(square, log2_steps, epsilon_micro, units):
    """The largest k with 2^k 2^log2_steps <= Delta sqrt(square)/epsilon, Delta in units of 2^-32."""
    k = -60
    while 4 ** (k + 1 + log2_steps + 60) * epsilon_micro**2 <= (
            units**2 * square * 10**12 * 4**60 // 4**32):
        k += 1
    return k


def to_grid_fixed(x, grid, bound_exponent):
    """x 2^(40 - grid) rounded towards zero and clamped; 0 if x is not finite. Exact integers."""
    if not math.isfinite(x):
        return 0
    numerator, denominator = x.as_integer_ratio()
    fraction_bits = 40 - grid
    if fraction_bits >= 0:
        numerator <<= fraction_bits
    else:
        denominator <<= -fraction_bits
    magnitude = abs(numerator) // denominator
    magnitude = min(magnitude, 2 ** (bound_exponent + fraction_bits))
    return magnitude if numerator > 0 else -magnitude


def polynomial(coefficients, x):
    """Odd and even powers in chains of their own, highest first: the specified order."""
    square = x * x
    odd, even = coefficients[0], coefficients[1]
    for i in range(2, len(coefficients), 2):
        odd = odd * square + coefficients[i]
        even = even * square + coefficients[i + 1]
    return odd * x + even


TWICE_ARTANH = [2.0 / (2 * k + 1) for k in range(15, -1, -1)]
SIN = [(-1.0) ** k / float(math.factorial(2 * k + 1)) for k in range(9, -1, -1)]
COS = [(-1.0) ** k / float(math.factorial(2 * k)) for k in range(9, -1, -1)]


def split(x):
    """g and w with x = 2^-g (1 - w), 0 < w <= 1/2."""
    significand, exponent = math.frexp(x)
    return -exponent, 1.0 - significand


def minus_ln(g, w):
    s = w / (2.0 - w)
    return float(g) * math.log(2) + s * polynomial(TWICE_ARTANH, s * s)


def exponential(high, low):
    upper = high >> 63 == 1
    if upper:
        high, low = high ^ MASK64, low ^ MASK64
    x = 2.0**-64 * (float(high) + 2.0**-64 * (float(low) + 0.5))
    return minus_ln(0, x) if upper else minus_ln(*split(x))


def direction(word):
    angle = math.pi / 4 / 2.0**61 * (float(word & (2**61 - 1)) + 0.5)
    x, y = polynomial(COS, angle * angle), angle * polynomial(SIN, angle * angle)
    if word >> 61 & 1:
        x, y = y, x
    return (-x if word >> 63 else x), (-y if word >> 62 & 1 else y)


def take(words, count):
    return [next(words) for _ in range(count)]


def gaussians(words, pairs):
    """2 pairs of Gaussians: the first of every pair, then the second."""
    high, low, angles = (take(words, pairs) for _ in range(3))
    radii = [math.sqrt(2.0 * exponential(h, l)) for h, l in zip(high, low)]
    points = [direction(angle) for angle in angles]
    return ([r * x for r, (x, _) in zip(radii, points)]
            + [r * y for r, (_, y) in zip(radii, points)])


def chi_squared(words, degrees):
    square = 0.0
    if degrees % 2 == 1:
        gaussian = gaussians(words, 1)[0]
        square = gaussian * gaussian
    count = degrees // 2
    if count < 16:
        high, low = take(words, count), take(words, count)
        total = 0.0
        for h, l in zip(high, low):
            total += exponential(h, l)
    else:
        total = sum_of_exponentials(words, count)
    return 2.0 * total + square


def sum_of_exponentials(words, count):
    """2^-g u for each: the u multiplied in eight lanes, the g as zeroes before the count-th one."""
    lanes = [1.0] * 8
    for i, word in enumerate(take(words, count)):
        # Lanes restart every 96 words, a multiple of 8.
        lanes[i % 8] *= 1.0 - float(word) * 2.0**-65
    product = 1.0
    for lane in lanes:
        product *= lane
    ones = zeroes = 0
    for word in take(words, -(-count // 32) + 6):
        for bit in range(64):
            if ones < count:
                ones += word >> bit & 1
                zeroes += 1 - (word >> bit & 1)
    return max(float(zeroes) * math.log(2) + minus_ln(*split(product)), 0.0)


def continuous_steps(fixed, epsilon_micro, units, grid, words):
    scale = float(units) * 1e6 / float(epsilon_micro) * 2.0 ** (40 - grid - 32)
    factor = scale * math.sqrt(chi_squared(words, len(fixed) + 1))
    steps = []
    for start in range(0, len(fixed), 64):
        batch = fixed[start:start + 64]
        for x, gaussian in zip(batch, gaussians(words, -(-len(batch) // 2))):
            # To the nearest integer in two parts, ties to even in the low one.
            noise = factor * gaussian
            high = round(noise / 2.0**20)
            noise = high * 2**20 + round(noise - high * 2.0**20)
            steps.append((x + noise + 2**39) >> 40)
    return steps


def discrete_weights(m, epsilon_micro, units, grid, side):
    """The sums of weights up to each magnitude 0..N, both signs together."""
    # A: the largest integer up to 2^29 with A 2^-32 <= epsilon h / (Delta sqrt m), bit by bit, of a
    # bound that is cut to 64 bits first.
    left, power = units**2 * m * 5**12, grid + 58
    while left >= 2**64:
        left, power = ceiling_quotient(left, 4), power - 1
    rate = 0
    for bit in range(29, -1, -1):
        larger = rate | 1 << bit
        product = larger**2 * left
        if (ceiling_quotient(product, 4**power) <= epsilon_micro**2 if power >= 0
                else product <= epsilon_micro**2 // 4**-power):
            rate = larger
    c = min(2**64 - 1, ceiling_quotient(2**96, 2**32 + rate) + 4)
    n, weight, sums, total = 2 * side, 2**58, [], 0
    for magnitude in range(n):
        total += weight * (2 if magnitude else 1)
        sums.append(total)
        if magnitude < 704:
            weight = max(1, ceiling_quotient(weight * c, 2**64))
    sums.append(total + 2 * ceiling_quotient(weight * c, 2**64 - c))
    return sums


def discrete_steps(fixed, epsilon_micro, units, grid, bound_exponent, words):
    side = 2 ** max(12, min(21, bound_exponent - grid))
    sums = discrete_weights(len(fixed), epsilon_micro, units, grid, side)
    steps = []
    for x in fixed:
        word = next(words)
        drawn = below(words, sums[-1])
        magnitude = bisect.bisect_right(sums, drawn)
        up = (word >> 24) < x & (2**40 - 1)
        y = (x >> 40) + up + (-magnitude if word & 1 else magnitude)
        steps.append(max(-side, min(side, y)))
    return steps


def noisy(noise, point, bound_exponent, epsilon_micro, units, words, projection=None):
    """The grid and the steps of a private vector."""
    m = len(projection["rows"]) if projection else len(point)
    grid = (grid_exponent(m + 1, 6, epsilon_micro, units) if noise == LAPLACE
            else grid_exponent(m, 3, epsilon_micro, units))
    fixed = [to_grid_fixed(x, grid, bound_exponent) for x in point]
    if projection:
        # A bound on the output: |Phi x| <= Delta B sqrt(d), within the grid.
        while 4 ** (bound_exponent - projection["bound_exponent"]) * 2**64 < units**2 * len(point) \
                and bound_exponent < grid + 21:
            bound_exponent += 1
        limit = 2 ** (bound_exponent + 40 - grid)
        fixed = [sum(w * x for w, x in zip(row, fixed)) >> -projection["exponent"]
                 for row in projection["rows"]]
        fixed = [max(-limit, min(limit, x)) for x in fixed]
    if noise == LAPLACE:
        return grid, continuous_steps(fixed, epsilon_micro, units, grid, words)
    return grid, discrete_steps(fixed, epsilon_micro, units, grid, bound_exponent, words)


def sensitivity(projection):
    """sqrt(max row sum of |Phi Phi^T|) in units of 2^-32, rounded up."""
    rows = projection["rows"]
    square = max(sum(abs(sum(a * b for a, b in zip(row, other))) for other in rows) for row in rows)
    square *= 4 ** (32 + projection["exponent"])
    root = math.isqrt(square)
    return max(2**20, root + (root * root < square))


# --- Private words (core/src/words.rs)

LAPLACE_NEAREST = 3


class Vocabulary:
    def __init__(self, lexicon):
        entries = sorted((word.encode(), vector) for word, (_, vector) in lexicon["words"].items())
        self.index = {word: i for i, (word, _) in enumerate(entries)}
        self.vectors = [vector for _, vector in entries]
        norms = [sum(v * v for v in vector) for vector in self.vectors]
        self.fallback = norms.index(min(norms))
        self.vector_exponent = lexicon["exponent"] + 8
        # The least power of two q with 2 (largest norm) < 256 q, in units of the integers.
        self.unit = -20
        while 4 * max(max(norms), 1) * 4**20 >= 2**16 * 4 ** (self.unit + 20):
            self.unit += 1

    def number(self, word):
        return self.index.get(word.encode(), self.fallback)

    def level(self, a, b):
        squared = sum((x - y) ** 2 for x, y in zip(self.vectors[a], self.vectors[b]))
        return math.isqrt(squared * 4**20 // 4 ** (self.unit + 20))

    def draw(self, word, mechanism, epsilon_micro, words):
        exponent = self.unit + self.vector_exponent
        if mechanism != LAPLACE_NEAREST:
            share = min(10**9, epsilon_micro * 2**32 // 2 ** (32 - exponent))
            levels = [self.level(word, other) for other in range(len(self.vectors))]
            return select(levels, mechanism, share, words)
        exact = [v * 2.0**self.vector_exponent for v in self.vectors[word]]
        grid, steps = noisy(LAPLACE, exact, exponent + 7, epsilon_micro, 2**32, words)
        return self.nearest(steps, grid)

    def nearest(self, steps, grid):
        shift = grid - self.vector_exponent
        up, down = max(0, min(31, shift)), max(0, min(62, -shift))
        point = [((x << up) + ((1 << down) >> 1)) >> down for x in steps]
        distances = [sum(v * (v - 2 * x) for v, x in zip(vector, point))
                     for vector in self.vectors]
        return distances.index(min(distances))


# --- The pack file


def section(arrays):
    out = b""
    for array in arrays:
        out += bytes(-len(out) % 64) + array
    return out


def packed(kind, rows):
    flat = [value for row in rows for value in row]
    return struct.pack(f"<{len(flat)}{kind}", *flat)


def depth_section(depth):
    return (b"DPTH", section([
        struct.pack("<IIiI", len(depth["codes"][0]), len(depth["codes"]), depth["exponent"],
                    depth["shift"]),
        packed("h", depth["directions"]),
        packed("i", depth["boundaries"]),
        packed("B", depth["codes"]),
    ]))


def scores_section(scores, featured=False):
    kind = 2 if scores["thresholds"] is None else 3 if featured else 1
    kind += 4 * scores.get("known", False)
    return (b"SCOR", section([
        struct.pack("<IHHiI", len(scores["bias"]), kind, largest_score(scores),
                    scores["exponent"], scores.get("levels", 0)),
        packed("h", [scores["centre"]]),
        packed("b", scores["weights"]),
        packed("i", [scores["bias"]]),
        packed("i", [scores["thresholds"] or []]),
    ]))


def features_section(features):
    rows = [features["rows"][place] for place in sorted(features["rows"])]
    places, bits = sorted(features["rows"]), features["bucket_bits"]
    words, pairs, symbols, least, most = features["kinds"]
    used = [[weight for weight in row if weight] for row in rows]
    starts = [sum(map(len, used[:i])) for i in range(0, len(rows), 16)]
    bitmaps = [[sum((row[c] != 0) << c - start for c in range(start, min(start + 8, len(row))))
                for start in range(0, len(row), 8)] for row in rows]
    return (b"FEAT", section([
        struct.pack("<III6BH", len(rows), len(features["scales"]), sum(map(len, used)), 2,
                    words + 2 * pairs + 8 * symbols + 20 * features.get("whole", False), least, most, bits,
                    features["shift"], 0),
        packed("I", [[bisect.bisect_left(places, bucket << 16) for bucket in range(2**bits + 1)]]),
        packed("H", [[place & 0xFFFF for place in places]]),
        packed("B", bitmaps),
        packed("I", [starts]),
        packed("b", used),
        packed("H", [features["scales"]]),
    ]))


def recoder_section(recoder):
    def for_each_layer(values):
        return values + [0] * (4 - len(values))

    layers = recoder["layers"]
    return (b"RCOD", section([
        struct.pack("<Ii4I4II", len(layers), recoder["exponent"],
                    *for_each_layer([len(layer["bias"]) for layer in layers]),
                    *for_each_layer([layer["shift"] for layer in layers]), 0),
    ] + [array for layer in layers
         for array in (packed("h", layer["weights"]), packed("q", [layer["bias"]]))]))


def lexicon_section(lexicon):
    ordered = sorted((word.encode(), entry) for word, entry in lexicon["words"].items())
    text, ends = b"", []
    for word, _ in ordered:
        text += word
        ends.append(len(text))
    return (b"LEXI", section([
        struct.pack("<IIiI", len(ordered), len(text), lexicon["exponent"], 0),
        packed("I", [ends]),
        packed("H", [[weight for _, (weight, _) in ordered]]),
        packed("b", [vector for _, (_, vector) in ordered]),
        text,
    ]))


def phrases_section(lexicon):
    order = {word: i for i, word in enumerate(sorted(lexicon["words"], key=str.encode))}
    phrases = sorted(([order[a], order[b]], entry) for (a, b), entry in lexicon["phrases"].items())
    return (b"PHRS", section([
        struct.pack("<4I", len(phrases), 0, 0, 0),
        packed("H", [pair for pair, _ in phrases]),
        packed("H", [[weight for _, (weight, _) in phrases]]),
        packed("b", [vector for _, (_, vector) in phrases]),
    ]))


def projection_section(projection):
    return (b"PROJ", section([
        struct.pack("<IiiI", len(projection["rows"]), projection["exponent"],
                    projection["bound_exponent"], 0),
        packed("h", projection["rows"]),
    ]))


def quality_section(epsilons, lengths, accuracies, noiseless):
    return (b"QUAL", section([
        struct.pack("<IIII", len(epsilons), len(lengths), 0, 0),
        packed("I", [epsilons]),
        packed("I", [lengths]),
        packed("H", accuracies),
        packed("H", [noiseless]),
    ]))


def write_pack(sections, minor=0, dimension=None):
    table, body, end = b"", b"", 128 + 24 * len(sections)
    for tag, content in sections:
        padding = -end % 64
        table += struct.pack("<4sIQQ", tag, 0, end + padding, len(content))
        body += bytes(padding) + content
        end += padding + len(content)

    def header(digest):
        return struct.pack(
            "<8sHHIQII32s32s32s", b"UNDRTONE", 1, minor, len(sections), end, dimension or D, 0, digest,
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
    depth = {
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
    depth["codes"] = [[code(depth, j, x) for x in candidates] for j in range(P)]
    # Two that have every sentence on one side.
    for j in range(P):
        depth["codes"][j][17] = 0
        depth["codes"][j][42] = 255
    lexicon = {"exponent": -14, "words": {}}
    for i, word in enumerate(sorted(set(WORDS))):
        vector = [pattern.between(-127, 127) for _ in range(D)]
        weight = [0, 65535, 1][i] if i < 3 else pattern.between(500, 65535)
        lexicon["words"][word] = (weight, vector)
    # A section with an unknown tag, to be skipped.
    extra = (b"XTRA", b"skip me")
    return {
        "depth": depth,
        "lexicon": lexicon,
        "file": write_pack([depth_section(depth), extra, lexicon_section(lexicon)]),
    }


def pattern_rows(pattern, rows, columns, size):
    return [[pattern.between(-size, size) for _ in range(columns)] for _ in range(rows)]


def golden_recoder():
    """D coordinates to 24 to 8; some outputs are always 0, some as large as they get."""
    pattern = Pattern(20)
    layers = [
        {
            "weights": pattern_rows(pattern, outputs, inputs, 400),
            "bias": [pattern.between(-20000, largest) for _ in range(outputs)],
            "shift": shift,
        }
        for inputs, outputs, largest, shift in [(D, 24, 60_000, 7), (24, 8, 900_000, 8)]
    ]
    layers[0]["bias"][3], layers[0]["bias"][4] = -(2**63), 2**63 - 1
    layers[1]["bias"][7] = -(2**40)
    # Saturated outputs must not hide the rest.
    for row in layers[1]["weights"]:
        row[4] = row[4] // 100
    return {"exponent": 8, "layers": layers}


def scores_pack(lexicon):
    """More candidates than a block of sums holds; thresholds in no order, one of them twice."""
    pattern = Pattern(21)
    candidates, n = 200, 8
    thresholds = [2500 * j for j in range(1, 17)]
    thresholds[3], thresholds[12], thresholds[7] = thresholds[12], thresholds[3], thresholds[8]
    recoder = golden_recoder()
    scores = {
        "exponent": 0,
        "centre": [pattern.between(1000, 3000) for _ in range(n)],
        "weights": pattern_rows(pattern, candidates, n, 127),
        "bias": [pattern.between(-6000, 6000) for _ in range(candidates)],
        "thresholds": thresholds,
    }
    # Extremes: one that always scores, one that never does.
    scores["weights"][150], scores["bias"][150] = [-128] * n, -(2**31)
    scores["weights"][151], scores["bias"][151] = [0] * n, 2499
    return {
        "recoder": recoder,
        "scores": scores,
        "lexicon": lexicon,
        "file": write_pack([
            recoder_section(recoder), scores_section(scores), lexicon_section(lexicon)]),
    }


def measured_pack(scored):
    """At epsilon 1 releases of sentences are right more often; at 3 those of whole texts of 1 to 9 sentences, on texts like the
    public ones not."""
    by_sentence, by_whole_text = [300, 300, 300, 400, 400, 400], [200, 200, 200, 399, 500, 400]
    return write_pack([
        recoder_section(scored["recoder"]), scores_section(scored["scores"]),
        quality_section([1000000, 3000000], [0, 1, 10], [by_sentence, by_whole_text], [600] * 3)], 2)


def vote_pack(lexicon, depth):
    """The last two heads are the first two again and never win. The depth section is not used."""
    pattern = Pattern(22)
    weights = pattern_rows(pattern, 21, D, 127)
    bias = [pattern.between(-2000, 2000) for _ in range(21)]
    scores = {
        "exponent": 9,
        "centre": [pattern.between(-40, 40) for _ in range(D)],
        "weights": weights + weights[:2],
        "bias": bias + bias[:2],
        "thresholds": None,
    }
    return {
        "scores": scores,
        "lexicon": lexicon,
        "file": write_pack([
            depth_section(depth), lexicon_section(lexicon), scores_section(scores)]),
    }


PHRASES = """
    the dog, dog dog, isn't in, in the, good music, small garden, tea rock'n'roll, café naïve, москва οδοσ,
    東京 i̇stanbul, great house, old river, a a, sea the
""".replace("\n", " ").split(",")


def lexicon_with_phrases(lexicon):
    pattern = Pattern(29)
    phrases = {}
    for i, phrase in enumerate(PHRASES):
        # The third as far out as phrases can be, so that the clamp is reached.
        size = 128 if i == 2 else 127
        vector = [-size if i == 2 else pattern.between(-size, size) for _ in range(D)]
        weight = [0, 1, 65535][i] if i < 3 else pattern.between(500, 65535)
        phrases[tuple(phrase.split())] = (weight, vector)
    return {**lexicon, "phrases": phrases}


def recoded_pack(lexicon):
    """Depth behind a recoder; the lexicon has phrases."""
    pattern = Pattern(23)
    lexicon = lexicon_with_phrases(lexicon)
    recoder, n, p, m = golden_recoder(), 8, 2, 60
    depth = {
        "exponent": 0,
        "shift": 9,
        "directions": pattern_rows(pattern, p, n, 1000),
        "boundaries": [[(i - 127) * 80 for i in range(255)] for _ in range(p)],
    }
    public = [[pattern.coordinate(1) for _ in range(D)] for _ in range(m)]
    fixed = [recode(recoder, [to_fixed(x, recoder["exponent"]) for x in row]) for row in public]
    depth["codes"] = [[code(depth, j, x) for x in fixed] for j in range(p)]
    return {
        "recoder": recoder,
        "depth": depth,
        "lexicon": lexicon,
        "file": write_pack([
            lexicon_section(lexicon), phrases_section(lexicon), recoder_section(recoder),
            depth_section(depth)]),
    }


# The pack below recognises every third feature of these texts.
SCRIPTS = [
    "Der Zug nach München fährt heute nicht, oder?",
    "Сегодня идёт дождь; собака спит.",
    "हिन्दी में लिखा हुआ संदेश: क्या आप आएँगे?",
    "ฉันไม่รู้ว่าจะไปที่ไหนพรุ่งนี้",
    "今日は雨です。散歩に行きません",
    "我们明天去看医生吗？",
    "هل تأتي غدًا إلى البيت؟",
    "오늘 날씨가 좋네요",
    "Ça c'est l'été; aujourd’hui ''rock'n'roll'' o''clock",
    "İstanbul'da KIŞ ΟΔΟΣ STRASSE ß",
    "e\u0301te\u0301 a\u200db \u0301x 42.5 ½ 東京2026",
    "co\u00adoperate we\u2060ll \u200fdon''t Vie\u0302\u0323t Việt क\u093c \u0958 한국 \u1112\u1161\u11ab",
    "ΟΔΌΣ σ’Σ شَدَّة شَد\u0651\u064eة کتاب\u200c می\u200cخواهم അവന്\u200d 1\ufe0f\u20e3 I\u0307İ \u1f71 কো ক\u09c7\u09be",
    "can u move my dentist to thurs",
    "cat dog cat dog cat dog " * 20,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk" * 3,
]
UNKNOWN = ["", "... — ?!", "qqq", "\0"]


def features_pack(lexicon):
    """40 levels; 30 candidates, some of them without weights in a row; two whose rows are the same."""
    pattern = Pattern(25)
    candidates = 30
    features = {
        "kinds": (1, 1, 0, 2, 4),
        "bucket_bits": 4,
        "shift": 22,
        "rows": {},
        "scales": [pattern.between(4000, 16000) for _ in range(candidates)],
    }
    for text in SCRIPTS + ["the garden, the river and the train"]:
        for i, value in enumerate(features_of_text(text, features["kinds"])):
            weights = [pattern.between(-127, 127) * (pattern.between(0, 2) == 0)
                       for _ in range(candidates)]
            if i % 3 == 0:
                features["rows"].setdefault(feature_place(features, value), weights)
    # A row without weights adds nothing but makes the text known. So does one with all of them.
    places = sorted(features["rows"])
    features["rows"][places[5]] = [0] * candidates
    features["rows"][places[7]] = [-128] * candidates
    weights = pattern_rows(pattern, candidates - 1, D, 60)
    bias = [pattern.between(-2000, 2000) for _ in range(candidates - 1)]
    for row in features["rows"].values():
        row[-1] = row[-2]
    features["scales"][-1] = features["scales"][-2]
    scores = {
        "exponent": 9,
        "centre": [pattern.between(-40, 40) for _ in range(D)],
        "weights": weights + weights[-1:],
        "bias": bias + bias[-1:],
        "thresholds": [4000 * j for j in range(-3, 5)],
        "levels": 40,
    }
    return {
        "scores": scores,
        "features": features,
        "lexicon": lexicon,
        "file": write_pack([
            scores_section(scores, True), features_section(features), lexicon_section(lexicon)], 2),
    }


def known_pack(featured):
    """The features of another pack, of whole texts and without an encoder; no "nothing known"."""
    features = featured["features"] | {"whole": True}
    scores = featured["scores"] | {"known": True, "centre": [0], "weights": [[0]] * len(features["scales"])}
    sections = [scores_section(scores, True), features_section(features)]
    return {"scores": scores, "features": features, "file": write_pack(sections, 2, 1)}


def projection_pack():
    pattern = Pattern(24)
    projection = {"exponent": -13, "bound_exponent": 1,
                  "rows": pattern_rows(pattern, 6, D, 4000)}
    return {"projection": projection, "file": write_pack([projection_section(projection)])}


# --- The cases


def vectors(seed, k, size=1):
    pattern = Pattern(seed)
    return [[pattern.coordinate(size) for _ in range(D)] for _ in range(k)]


def golden_cases():
    """(name, epsilon_micro, rule, sentences); a sentence is a str or a list of D floats."""
    micro = 1_000_000
    pf, em = PERMUTE_AND_FLIP, EXPONENTIAL

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
            # Opposite to each other, or hardly any candidate would be between them.
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


def more_cases(first_seed):
    """Cases for another pack: fewer, and at least one in which a step's share of epsilon is 0."""
    micro = 1_000_000
    pf, em = PERMUTE_AND_FLIP, EXPONENTIAL
    cases = []
    for k, epsilon, rule in [
        (0, 10 * micro, pf), (0, micro, em), (1, 10 * micro, em), (1, 1000 * micro, pf),
        (3, 1, pf), (3, 15, em), (3, 10 * micro, pf), (6, 3 * micro, em), (6, 6 * micro, pf),
        (12, 10 * micro, em), (12, 23 * micro, pf), (12, 7_654_321, em), (12, 1_234_567, pf),
        (128, 10 * micro, pf),
    ]:
        name = f"k{k}_{'pf' if rule == pf else 'em'}_{epsilon}"
        if k < 128:
            sentences = vectors(first_seed + k, k)
        else:
            # The same sentence repeatedly: sums, or depths, as far apart as possible.
            sentences = vectors(first_seed, 1) * k
        cases.append((name, epsilon, rule, sentences))
    golden = {name: document for name, _, _, document in golden_cases()}
    for name, epsilon, rule in [
        ("odd_floats_pf", 30 * micro, pf), ("odd_floats_em", 10 * micro, em),
        ("text_pf", 10 * micro, pf), ("text_em", 30 * micro, em), ("text_odd_em", 10 * micro, em),
        ("text_odd_pf", 100 * micro, pf), ("mixed_pf", 20 * micro, pf),
    ]:
        cases.append((name, epsilon, rule, golden[name]))
    return cases


def features_cases():
    """Texts alone: where there are features an embedding is not enough."""
    micro = 1_000_000
    texts = {name: document for name, _, _, document in golden_cases()
             if document and all(isinstance(s, str) for s in document)}
    documents = {f"script_{i}": [text] for i, text in enumerate(SCRIPTS)}
    documents.update({
        "nothing": [], "unknown": UNKNOWN, "unknown_and_known": UNKNOWN[1:] + SCRIPTS[:1] + UNKNOWN,
        "all": SCRIPTS, "one_sentence_40_times": SCRIPTS[3:4] * 40, "full": (SCRIPTS * 10)[:128],
        **texts,
    })
    cases = []
    for i, (name, document) in enumerate(documents.items()):
        epsilon = [micro, 3 * micro, 10 * micro, 1, 30 * micro, 1_234_567, 1000 * micro][i % 7]
        rules = [PERMUTE_AND_FLIP, EXPONENTIAL][i % 2:i % 2 + 1] + [WHOLE_TEXT]
        cases += [(f"{name}_{rule}_{epsilon}", epsilon, rule, document) for rule in rules]
    return cases


def known_cases():
    """Texts of several sentences as one, by every rule."""
    micro = 1_000_000
    texts = SCRIPTS + ["  ".join(SCRIPTS[i:i + 3]) + "?! " for i in range(0, len(SCRIPTS), 3)] + UNKNOWN
    rules = [PERMUTE_AND_FLIP, WHOLE_TEXT, PROJECTIVE, EXPONENTIAL, PROJECTIVE, WHOLE_TEXT]
    epsilons = [3 * micro, 10 * micro, micro, 500_000, 28 * micro, 1, 7_654_321]
    cases = []
    for i, text in enumerate(texts * 2):
        epsilon, rule = epsilons[i % 7], rules[i % 6]
        cases.append((f"known_{i}_{rule}_{epsilon}", epsilon, rule, [text]))
    return cases + [(f"known_none_{rule}", 5 * micro, rule, []) for rule in [WHOLE_TEXT, PROJECTIVE]]


def whole_text_cases(first_seed):
    """The documents of other cases, at the epsilons of a whole text."""
    micro = 1_000_000
    cases = []
    for i, (name, _, _, document) in enumerate(more_cases(first_seed)):
        epsilon = [3 * micro, 10 * micro, micro, 42 * micro, 1, 500 * micro, 7_654_321][i % 7]
        cases.append((f"{name}_whole_text", epsilon, WHOLE_TEXT, document))
    cases.append(("unknown_whole_text", 10 * micro, WHOLE_TEXT, UNKNOWN))
    return cases


def projective_cases(first_seed):
    """The same documents, at epsilons with geometries of two coordinates and of more."""
    micro = 1_000_000
    cases = []
    for i, (name, _, _, document) in enumerate(more_cases(first_seed)):
        epsilon = [3 * micro, micro, 500_000, 2 * micro, 28 * micro, 1, 500 * micro, 4_321_987, 10 * micro][i % 9]
        cases.append((f"{name}_projective", epsilon, PROJECTIVE, document))
    cases.append(("unknown_projective", 28 * micro, PROJECTIVE, UNKNOWN))
    return cases


def sentences_of(pack, sentences):
    """The coordinates of every sentence, what its features say, and whether anything in it is known."""
    selector = pack.get("scores") or pack["depth"]
    exponent = (pack.get("recoder") or selector)["exponent"]
    read, known = [], []
    for sentence in sentences:
        embedding = sentence
        said, found = [0] * len(selector.get("bias", [])), 0
        if isinstance(sentence, str):
            embedding = sentence_vector(pack["lexicon"], sentence) if "lexicon" in pack else [0.0]
            if "features" in pack:
                said, found = features_say(pack["features"], sentence)
        fixed = [to_fixed(x, exponent) for x in embedding]
        known.append(any(fixed) or found > 0)
        read.append((recode(pack["recoder"], fixed) if "recoder" in pack else fixed, said))
    return read, known


def levels_of(pack, sentences):
    """The levels, and how many of them one sentence moves a candidate by at most."""
    if "scores" in pack:
        return score_levels(pack["scores"], sentences), largest_score(pack["scores"])
    return depth_levels(pack["depth"], [fixed for fixed, _ in sentences]), 1


def release(pack, epsilon_micro, rule, entropy, sentences):
    sentences, known = sentences_of(pack, sentences)
    if rule == PROJECTIVE:
        best = best_outcome(pack["scores"], sentences, known)
        mechanism = 12 if pack["scores"].get("known") else 8
        order, point = projective_point(
            best, outcomes_of(pack["scores"]), epsilon_micro, words_of_key(entropy))
        return struct.pack("<3sBBBHII8s", b"UTR", 1, mechanism, EXPONENTIAL, order, epsilon_micro, point,
                           pack["file"][32:40])
    if rule == WHOLE_TEXT:
        mechanism, rule = 11 if pack["scores"].get("known") else 7, EXPONENTIAL
        best = best_outcome(pack["scores"], sentences, known)
        levels = [int(outcome != best) for outcome in range(outcomes_of(pack["scores"]))]
        # A level is worth e^-epsilon, twice a step of a sentence.
        share = min(2 * epsilon_micro, 1_000_000_000)
    else:
        mechanism = 2 if "scores" in pack else 1
        levels, steps = levels_of(pack, sentences)
        share = epsilon_micro // steps
    candidate = select(levels, rule, share, words_of_key(entropy))
    return struct.pack("<3sBBBHII8s", b"UTR", 1, mechanism, rule, 0, epsilon_micro, candidate,
                       pack["file"][32:40])


def drawn_release(pack, epsilon_micro, places, keys, sentences):
    """One sentence, drawn by reservoir sampling, with e^epsilon' = 1 + places * (e^epsilon - 1)."""
    keys = iter(keys)
    place = below(words_of_key(next(keys)), places) + 1
    outcomes = len(pack["scores"]["bias"]) + 1
    best = outcomes - 1
    for number, sentence in enumerate(sentences, 1):
        replaces = below(words_of_key(next(keys)), number) == 0
        if number == place or number > places and replaces:
            best = best_outcome(pack["scores"], *sentences_of(pack, [sentence]))
    c = ratio_constant(min(2 * epsilon_micro, 1_000_000_000))
    constant = min(2**64 - 1, ceiling_quotient(c * 2**64, c + places * (2**64 - c)))
    levels = [int(outcome != best) for outcome in range(outcomes)]
    drawn = select_by(levels, EXPONENTIAL, constant, words_of_key(next(keys)))
    return struct.pack("<3sBBBHII8s", b"UTR", 1, 9, EXPONENTIAL, places, epsilon_micro, drawn, pack["file"][32:40])


def generate_drawn(pack):
    lines = ["# Golden drawn sentences for golden-scores.pack, written by golden.py, which explains the format."]
    documents = [document for _, _, _, document in more_cases(6000)] + [[], UNKNOWN, SCRIPTS[:3]]
    for number, document in enumerate(documents):
        epsilon_micro = [1_000_000, 3_000_000, 1, 500_000, 20_000_000, 1_000_000_000, 10_000][number % 7]
        places = [1, 2, 3, 5, 100, 65535][number % 6]
        document = document[:12]
        keys = [hashlib.sha256(f"drawn {number} {call}".encode()).digest() for call in range(len(document) + 2)]
        lines += ["", f"case drawn_{number}", f"epsilon_micro {epsilon_micro}", f"places {places}"]
        lines += [f"entropy {key.hex()}" for key in keys]
        for sentence in document:
            if isinstance(sentence, str):
                lines.append(f"sentence {sentence.encode().hex()}".rstrip())
            else:
                lines.append(f"embedding {struct.pack(f'<{D}f', *sentence).hex()}")
        lines.append(f"release {drawn_release(pack, epsilon_micro, places, keys, document).hex()}")
    return ("\n".join(lines) + "\n").encode()


def word_cases():
    """(name, epsilon_micro, mechanism, size, pushes); a push is ("word" or "text", str)."""
    micro = 1_000_000
    letter = [("text", "Dear Zoë, it isn't the coffee: the river in winter is QUIET."),
              ("word", "Sea"), ("word", "unheard-of"), ("word", "''summer''"), ("word", ""),
              ("word", "xyzzy"), ("word", "good dog"), ("text", "МОСКВА 東京 42 and 43 \0 o’clock")]
    cases = []
    for mechanism, kind in [(PERMUTE_AND_FLIP, "pf"), (EXPONENTIAL, "em"),
                            (LAPLACE_NEAREST, "nearest")]:
        for epsilon, size in [(micro, 5), (3 * micro, 1), (10 * micro, 20), (2_345_678, 7),
                              (100 * micro, 8)]:
            cases.append((f"letter_{kind}_{epsilon}", epsilon, mechanism, size, letter))
        cases.append((f"nothing_{kind}", 5 * micro, mechanism, 3, []))
        cases.append((f"one_word_{kind}", 5 * micro, mechanism, 12, [("word", "coffee")]))
        # Without the words whose form depends on the feature any-language.
        long = [("text", " ".join(WORDS[:WORDS.index("οδοσ")]))] * 30
        cases.append((f"long_{kind}", 20 * micro, mechanism, 30, long))
    for mechanism, kind in [(PERMUTE_AND_FLIP, "pf"), (EXPONENTIAL, "em")]:
        # A share of epsilon of zero, and more than the maximum.
        cases.append((f"hardly_{kind}", 1, mechanism, 4, letter))
        cases.append((f"certainly_{kind}", 1000 * micro, mechanism, 256, letter))
    return cases


def release_bag(pack, epsilon_micro, mechanism, size, entropy, pushes):
    vocabulary = Vocabulary(pack["lexicon"])
    bag = []
    for kind, text in pushes:
        found = list(words_of_text(text))
        if kind == "text":
            bag += [vocabulary.number(word) for word in found]
        else:
            bag.append(vocabulary.number(found[0]) if len(found) == 1 else vocabulary.fallback)
    bag = bag[:1024] or [vocabulary.fallback]
    words = words_of_key(entropy)
    drawn = sorted(
        vocabulary.draw(bag[below(words, len(bag))], mechanism, epsilon_micro, words)
        for _ in range(size))
    head = (6, 0) if mechanism == LAPLACE_NEAREST else (5, mechanism)
    return struct.pack(f"<3sBBBHII8s{size}H", b"UTR", 1, *head, 0, epsilon_micro, size,
                       pack["file"][32:40], *drawn)


def generate_words(pack):
    lines = ["# Golden bags of private words for golden.pack, written by golden.py."]
    for name, epsilon_micro, mechanism, size, pushes in word_cases():
        entropy = hashlib.sha256(f"words {name}".encode()).digest()
        lines += ["", f"case {name}", f"epsilon_micro {epsilon_micro}", f"mechanism {mechanism}",
                  f"size {size}", f"entropy {entropy.hex()}"]
        lines += [f"{kind} {text.encode().hex()}".rstrip() for kind, text in pushes]
        result = release_bag(pack, epsilon_micro, mechanism, size, entropy, pushes)
        lines.append(f"release {result.hex()}")
    return ("\n".join(lines) + "\n").encode()


def vector_cases():
    """(name, epsilon_micro, noise, bound_exponent or None, vector)."""
    micro = 1_000_000
    inf, nan = math.inf, math.nan
    odd = [nan, inf, -inf, 2.0**-149, -(2.0**-126), -0.0, (2 - 2.0**-23) * 2.0**127, -(2.0**99),
           0.25, -0.75, 1.0, -1.0, 2.0, 3.0, -2.5, 2.0**-24]
    cases = []
    for noise, kind in [(LAPLACE, "laplace"), (DISCRETE_LAPLACE, "discrete")]:
        for d, epsilon, bound in [(1, micro, 0), (2, micro // 10, 3), (3, 10 * micro, 0),
                                  (16, 3_456_789, -2), (30, 5 * micro, 0), (31, 5 * micro, 1),
                                  (33, 100 * micro, 0), (64, micro, 4), (65, 1000 * micro, 0),
                                  (300, 20 * micro, 0)]:
            pattern = Pattern(7000 + d)
            vector = [pattern.coordinate(1) for _ in range(d)]
            cases.append((f"{kind}_{d}_{epsilon}", epsilon, noise, bound, vector))
        cases.append((f"{kind}_odd", 2 * micro, noise, 1, odd))
        for epsilon in (micro // 10, micro, 12_345_678, 1000 * micro):
            pattern = Pattern(8000)
            vector = [pattern.coordinate(2) for _ in range(D)]
            cases.append((f"{kind}_projected_{epsilon}", epsilon, noise, None, vector))
        cases.append((f"{kind}_projected_odd", 7 * micro, noise, None, odd))
    return cases


def release_vector(pack, epsilon_micro, noise, bound_exponent, entropy, vector):
    units, projection, pack_id = 2**32, None, bytes(8)
    if bound_exponent is None:
        projection, pack_id = pack["projection"], pack["file"][32:40]
        units, bound_exponent = sensitivity(projection), projection["bound_exponent"]
    words = words_of_key(entropy)
    grid, steps = noisy(noise, vector, bound_exponent, epsilon_micro, units, words, projection)
    return struct.pack(f"<3sBB3xII8sQi{len(steps)}i", b"UTR", 1, noise, epsilon_micro, len(steps),
                       pack_id, units, grid, *steps)


def generate_private_vectors(pack):
    lines = ["# Golden private vectors for golden-vectors.pack, written by golden.py."]
    for name, epsilon_micro, noise, bound_exponent, vector in vector_cases():
        entropy = hashlib.sha256(f"vector {name}".encode()).digest()
        lines += ["", f"case {name}", f"epsilon_micro {epsilon_micro}", f"noise {noise}"]
        if bound_exponent is not None:
            lines.append(f"bound_exponent {bound_exponent}")
        lines.append(f"entropy {entropy.hex()}")
        lines.append(f"vector {struct.pack(f'<{len(vector)}f', *vector).hex()}")
        result = release_vector(pack, epsilon_micro, noise, bound_exponent, entropy, vector)
        lines.append(f"release {result.hex()}")
    return ("\n".join(lines) + "\n").encode()


def generate_vectors(name, pack, cases):
    lines = [f"# Golden vectors for {name}, written by golden.py, which explains the format."]
    for name, epsilon_micro, rule, sentences in cases:
        entropy = hashlib.sha256(name.encode()).digest()
        lines += ["", f"case {name}", f"epsilon_micro {epsilon_micro}", f"rule {rule}",
                  f"entropy {entropy.hex()}"]
        for sentence in sentences:
            if isinstance(sentence, str):
                lines.append(f"sentence {sentence.encode().hex()}".rstrip())
            else:
                lines.append(f"embedding {struct.pack(f'<{D}f', *sentence).hex()}")
        result = release(pack, epsilon_micro, rule, entropy, sentences)
        lines.append(f"release {result.hex()}")
    return ("\n".join(lines) + "\n").encode()


def generate():
    golden = golden_pack()
    lexicon = golden["lexicon"]
    files = {
        "golden.pack": golden["file"],
        "vectors.txt": generate_vectors("golden.pack", golden, golden_cases()),
        "sentences.txt": generate_sentences(lexicon, "golden.pack"),
        "sentences-phrases.txt": generate_sentences(
            lexicon_with_phrases(lexicon), "golden-recoded.pack"),
        "words.txt": generate_words(golden),
    }
    projection = projection_pack()
    files["golden-vectors.pack"] = projection["file"]
    files["private-vectors.txt"] = generate_private_vectors(projection)
    for seed, kind, pack in [
        (3000, "scores", scores_pack(lexicon)),
        (4000, "vote", vote_pack(lexicon, golden["depth"])),
        (5000, "recoded", recoded_pack(lexicon)),
    ]:
        name = f"golden-{kind}.pack"
        files[name] = pack["file"]
        files[f"vectors-{kind}.txt"] = generate_vectors(name, pack, more_cases(seed))
        if "scores" in pack:
            files[f"whole-text-{kind}.txt"] = generate_vectors(name, pack, whole_text_cases(seed))
            files[f"projective-{kind}.txt"] = generate_vectors(name, pack, projective_cases(seed))
        if kind == "scores":
            files["drawn.txt"] = generate_drawn(pack)
            files["golden-topic.form"] = topic_form(pack)
    files["golden.form"] = form_file()
    files["answers.txt"] = generate_answers()
    files["drawn-answers.txt"] = generate_drawn_answers()
    files["golden-measured.pack"] = measured_pack(scores_pack(lexicon))
    featured = features_pack(lexicon)
    files["golden-features.pack"] = featured["file"]
    files["vectors-features.txt"] = generate_vectors(
        "golden-features.pack", featured, features_cases())
    known = known_pack(featured)
    files["golden-known.pack"] = known["file"]
    files["vectors-known.txt"] = generate_vectors("golden-known.pack", known, known_cases())
    files["features.txt"] = generate_features()
    return files


SYMBOLS = ["So good!!! “Great”… (¿qué?) 'no' it’s 100\u202f% a_b #tag !\u200b? !\ufe0e? !\0? !\xad?",
           "👩🏽\u200d🚀❤\ufe0f❤ 🇩🇪 1\ufe0f\u20e3 #\ufe0f\u20e3 ☺\u0301☺ （全角！！） ！!", "\ufffd! a≠b =\u0338= ≰ \u037e; ＜\u0338＞ 〈\u2329 `´ ||"]


def generate_features():
    lines = ["# Golden features of texts, written by golden.py."]
    invalid = [b"caf\xe9 na\xc3\xafve \xff\xfeab\xe2\x82c"]
    for text in [text.encode() for text in SCRIPTS + UNKNOWN + SYMBOLS] + invalid:
        for kinds in [(1, 1, 0, 2, 4), (1, 0, 0, 1, 0), (0, 1, 0, 1, 0), (0, 0, 1, 1, 0), (0, 0, 0, 1, 1),
                      (0, 0, 0, 3, 5), (1, 1, 1, 1, 8)]:
            found = sorted(features_of_text(text.decode(errors="replace"), kinds))
            lines += ["", f"text {text.hex()}".rstrip(), "kinds " + " ".join(map(str, kinds)),
                      ("features " + "".join(f"{value:08x}" for value in found)).rstrip()]
    return ("\n".join(lines) + "\n").encode()


def generate_sentences(lexicon, pack):
    """Every word alone, every text of the cases, and mixtures of words."""
    sentences = sorted(lexicon["words"])
    for _, _, _, document in golden_cases():
        sentences += [s for s in document if isinstance(s, str) and s not in sentences]
    if "phrases" in lexicon:
        sentences += [" ".join(pair) for pair in sorted(lexicon["phrases"])]
        sentences += ["the xyzzy dog", "the... DOG! Dog", "dog the", "in the dog", "don't a a a a"]
    pattern = Pattern(3)
    for length in (2, 3, 5, 8, 40):
        words = [WORDS[pattern.between(0, len(WORDS) - 1)] for _ in range(length)]
        sentences.append(" ".join(words).upper().replace("'", "’"))
    lines = [f"# Golden sentence vectors for {pack}, written by golden.py."]
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
