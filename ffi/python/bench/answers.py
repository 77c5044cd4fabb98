"""A million releases of answers from Python, of a form with ten attributes, on one thread.

    taskset -c 0 build/python/bin/python ffi/python/bench/answers.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import undertone as ut

PEOPLE = 1_000_000
ATTRIBUTES = 10
CATEGORIES = 20


def main() -> None:
    names = [f"a{place}" for place in range(ATTRIBUTES)]
    categories = [f"category {place}" for place in range(CATEGORIES)]
    form = ut.Form({"attributes": [{"name": name, "categories": categories} for name in names]})
    random = np.random.default_rng(1)
    columns: dict[str, Any] = {name: np.array(categories, object)[random.integers(CATEGORIES, size=PEOPLE)].tolist() for name in names}
    # As pandas holds numbers of categories if some are missing.
    numbers = pd.DataFrame({name: random.integers(CATEGORIES, size=PEOPLE).astype(float) for name in names})
    for kind, answers in (("lists", columns), ("pandas", pd.DataFrame(columns)), ("Arrow", pa.table(columns)), ("numbers", numbers)):
        started, processor = time.perf_counter(), time.process_time()
        releases = form.release(answers, 4, threads=1)
        assert len(releases) == PEOPLE
        seconds, processor = time.perf_counter() - started, time.process_time() - processor
        print(f"{kind}: {seconds:.2f} s, of a processor {processor:.2f} s")


main()
