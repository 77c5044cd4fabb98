#!/usr/bin/env python3
"""Writes golden.h, the packs and the cases of ../golden as C arrays for golden.c.

    python3 cases.py > golden.h
"""

import pathlib

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def array(data):
    return "{" + ",".join(str(byte) for byte in data) + "}"


def main():
    packs, sentences, cases = [], [], []
    for kind in ("", "-scores", "-vote", "-recoded"):
        pack = (GOLDEN / f"golden{kind}.pack").read_bytes()
        print(f"static const uint8_t pack_{len(packs)}[] = {array(pack)};")
        first_case = len(cases)
        add_cases(GOLDEN / f"vectors{kind}.txt", sentences, cases)
        packs.append(f"{{pack_{len(packs)}, {len(pack)}, {first_case}, {len(cases)}}}")
    print("static const struct golden packs[] = {" + ",\n".join(packs) + "};")
    print("static const struct sentence sentences[] = {" + ",\n".join(sentences) + "};")
    print("static const struct test_case cases[] = {" + ",\n".join(cases) + "};")


def add_cases(vectors, sentences, cases):
    blocks = vectors.read_text(encoding="ascii").split("\n\n")
    for block in blocks:
        lines = [line.partition(" ") for line in block.splitlines() if line[0] != "#"]
        if not lines:
            continue
        case = {key: value for key, _, value in lines}
        first = len(sentences)
        for key, _, value in lines:
            if key in ("embedding", "sentence"):
                data = bytes.fromhex(value)
                # Aligned, because an embedding is an array of floats.
                print(f"static const uint8_t sentence_{len(sentences)}[] ALIGNED = {array(data + bytes(1))};")
                sentences.append(f"{{{int(key == 'embedding')}, sentence_{len(sentences)}, {len(data)}}}")
        cases.append(
            f'{{"{case["case"]}\\n", {case["epsilon_micro"]}, {case["rule"]}, '
            f"{array(bytes.fromhex(case['entropy']))}, {array(bytes.fromhex(case['release']))}, "
            f"{first}, {len(sentences)}}}"
        )


main()
