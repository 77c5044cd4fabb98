"""What people write about, day by day: a notebook in cells (`# %%`) that also runs as a program.

    build/python/bin/python ffi/python/examples/over_time.py build/over-time.html
"""

# %% A pack, from public texts.
import sys
from datetime import date, timedelta

import undertone as ut

public = ut.demo.public()
built = ut.build_pack(public.texts, public.labels)

# %% How many devices does it take? Asked before anything is collected.
print(ut.plan(built.candidates, epsilon=[1, 3], within=0.05))

# %% Two weeks: each day the releases of 2,000 people come in. From the eighth on, more of them
# write about health.
texts = ut.demo.private(20_000)
by_label: dict[str, list[str]] = {}
for text, label in zip(texts.texts, texts.labels):
    by_label.setdefault(label, []).append(text)

names = sorted(by_label)
releases = ut.Releases(b"", {"day": []})
for number in range(14):
    about_health = 200 if number < 7 else 200 + 120 * (number - 6)
    own = (by_label["health-clinic"] * 2_000)[:about_health]
    others = [name for name in names if name != "health-clinic"]
    for place in range(2_000 - about_health):
        of_name = by_label[others[place % len(others)]]
        own.append(of_name[place * 31 % len(of_name)])
    day = (date(2026, 11, 1) + timedelta(days=number)).isoformat()
    # On devices, this is one call for each text. Only the releases leave.
    drawn = ut.privatize(own, built.pack, epsilon=3)
    releases += drawn.with_columns(day=[day] * len(drawn))

# %% Shares over time, with intervals; the last day against the first.
estimate = releases.estimate(built.candidates, by="day", difference="day=2026-11-01,2026-11-14")
for number in (0, 6, 13):
    day = (date(2026, 11, 1) + timedelta(days=number)).isoformat()
    share = next(share for share in estimate.shares(slice=[day]) if share.name == "health-clinic")
    assert share.low is not None and share.high is not None
    print(f"{day}: health-clinic {share.share:.1%}, {share.low:.1%} to {share.high:.1%}")

# %% The page has a line for each topic, a plot for each day, and what would make it wrong.
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as page:
        page.write(estimate.html())
