"""Condenses the tables of instructions on standard input to a table of calls by pack.

Paths that differ only in their inputs, such as "of texts", become one cell: the number of
instructions, or the least and the most.
"""
import re
import sys

INPUTS = re.compile(r", (other random bytes|1 to 6 sentences|of texts|of 0 to 9|released from quarter \d+)")


def write(title, rows):
    packs = sorted({pack for pack, *_ in rows if pack})
    cells = {}
    for pack, call, _, instructions, _ in rows:
        cells.setdefault(call, {}).setdefault(pack, []).append(instructions)

    def cell(call, pack):
        found = cells[call].get(pack) or []
        return " to ".join(str(count) for count in sorted({min(found), max(found)})) if found else ""

    if title:
        print(f"\n{title}")
    calls, spread = sum(row[2] for row in rows), max(row[4] for row in rows)
    print(f"\n{calls:,} calls on {len(rows)} paths; the largest spread is {spread}.\n")
    print("| call |", " | ".join(pack.removesuffix(".pack") for pack in packs), "|")
    print("| --- |", " | ".join("---:" for _ in packs), "|")
    for call in sorted(call for call in cells if "" not in cells[call]):
        print(f"| {call} |", " | ".join(cell(call, pack) for pack in packs), "|")
    alone = [f"{call} {cell(call, '')}" for call in sorted(cells) if "" in cells[call]]
    if alone:
        print(f"\nWithout a pack: {'; '.join(alone)}.")


title, rows = "", []
for line in [*sys.stdin, "\n`"]:
    if line.startswith("| ") and not line.startswith(("| path", "| ---")):
        path, *counts = [field.strip() for field in line.strip().strip("|").split("|")]
        pack, _, call = path.rpartition(": ")
        rows.append((pack, INPUTS.sub("", call), *map(int, counts)))
    elif line.lstrip().startswith("`"):
        if rows:
            write(title, rows)
        title, rows = line.strip(), []
