#!/usr/bin/env python3
"""Writes golden.h, the packs and the cases of ../golden as C arrays for golden.c.

    python3 cases.py > golden.h
"""

import pathlib

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"

# A pack and the cases for it. What a sentence becomes is no release.
FILES = [line.split() for line in (GOLDEN / "list.txt").read_text().splitlines() if " sentences" not in line]

INPUTS = ["sentence", "embedding", "word", "text", "vector"]


def array(data):
    return "{" + ",".join(str(byte) for byte in data) + "}"


def main():
    packs, inputs, cases = [], [], []
    for pack, vectors in FILES:
        data = (GOLDEN / pack).read_bytes()
        print(f"static const uint8_t pack_{len(packs)}[] = {array(data)};")
        first_case = len(cases)
        add_cases(GOLDEN / vectors, inputs, cases)
        needs = int(b"FEAT" in data[:1024])
        packs.append(f"{{pack_{len(packs)}, {len(data)}, {first_case}, {len(cases)}, {needs}}}")
    print("static const struct golden packs[] = {" + ",\n".join(packs) + "};")
    print("static const struct input inputs[] = {" + ",\n".join(inputs) + "};")
    print("static const struct test_case cases[] = {" + ",\n".join(cases) + "};")


def add_cases(vectors, inputs, cases):
    blocks = vectors.read_text(encoding="ascii").split("\n\n")
    for block in blocks:
        lines = [line.partition(" ") for line in block.splitlines() if line[0] != "#"]
        if not lines:
            continue
        case = {key: value for key, _, value in lines}
        first = len(inputs)
        for key, _, value in lines:
            if key in INPUTS:
                data = bytes.fromhex(value)
                # Aligned, because an embedding is an array of floats.
                print(f"static const uint8_t input_{len(inputs)}[] ALIGNED = {array(data + bytes(1))};")
                inputs.append(f"{{INPUT_{key.upper()}, input_{len(inputs)}, {len(data)}}}")
        release = bytes.fromhex(case["release"])
        print(f"static const uint8_t release_{len(cases)}[] = {array(release)};")
        rule = case.get("rule", "0").replace("whole-text", "WHOLE_TEXT").replace("projective", "PROJECTIVE")
        numbers = [case["epsilon_micro"], rule, case.get("mechanism", 0),
                   case.get("size", 0), case.get("noise", 0), case.get("bound_exponent", 0),
                   int("bound_exponent" not in case)]
        cases.append(
            f'{{"{case["case"]}\\n", {", ".join(map(str, numbers))}, '
            f"{array(bytes.fromhex(case['entropy']))}, release_{len(cases)}, {len(release)}, "
            f"{first}, {len(inputs)}}}"
        )


main()
