"""Condenses the tables of instructions on standard input to one table of calls by kernels.

Paths that differ only in their inputs or their pack become one cell: the number of instructions,
or the least and the most.
"""
import re
import sys

INPUTS = re.compile(r", (other random bytes|1 to 6 sentences|of texts|of 0 to 9|released from quarter \d+)")

columns = [["", []]]  # A title, and the rows below it.
for line in sys.stdin:
    if line.startswith("| ") and not line.startswith(("| path", "| ---")):
        path, *counts = [field.strip() for field in line.strip().strip("|").split("|")]
        call = path.rpartition(": ")[2]
        columns[-1][1].append((INPUTS.sub("", call), *map(int, counts)))
    elif line.lstrip().startswith("`"):
        columns.append([line.strip(), []])
columns = [(title, rows) for title, rows in columns if rows]

for title, rows in columns:
    calls, spread = sum(row[1] for row in rows), max(row[3] for row in rows)
    heading = title and f"{title} "
    print(f"\n{heading}{calls:,} calls on {len(rows)} paths; the largest spread is {spread}.")
print("\n| call |", " | ".join(title.split(",")[0] or "instructions" for title, _ in columns), "|")
print("| --- |", " | ".join("---:" for _ in columns), "|")
for call in sorted({row[0] for _, rows in columns for row in rows}):
    found = [[row[2] for row in rows if row[0] == call] for _, rows in columns]
    cells = [" to ".join(f"{count:,}" for count in sorted({min(n), max(n)})) if n else "" for n in found]
    print(f"| {call} |", " | ".join(cells), "|")
