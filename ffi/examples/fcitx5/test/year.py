"""Types through fcitx5 for years of a clock of its own, and checks outbox, ledger, menu and files.

`test.sh` runs it. The seed of the kills is fixed. A release is only checked for its form, and lines
are chosen such that the reservoir keeps a known outcome. Chance decides whether topics or emoji are
appointed, so agreements are repeated until it is the wanted kind: 60 in vain have a probability of
2⁻⁶⁰.
"""

import fcntl
import json
import math
import os
import random
import re
import struct
import sys
from pathlib import Path

from fcitx import *

WEEKS = 52
FIRST = 55 * WEEKS
ROOT = Path(os.environ["HOME"]).parent
STATE = Path(os.environ["XDG_STATE_HOME"]) / "undertone-fcitx5"
CLOCK = Path(os.environ["UNDERTONE_TEST_DAY"])
TOPICS = [row.split("\t")[1] for row in Path(sys.argv[1]).read_text().splitlines()[1:]] + ["nothing known"]
EMOJI = json.loads((Path(__file__).parents[2] / "keyboard/emoji.json").read_text())["attributes"][0]["categories"]
EMOJI = [f"the emoji {emoji}" for emoji in EMOJI] + ["no emoji"]

# Parts of each text that is typed here.
TYPED = [text.encode() for text in ("zyzzyva", "hunter2", "doctor", "recipe", "🥰", "❤")]
PROMISE = (f"ε = 3 for all that you type in {WEEKS} weeks, emoji included, "
           f"ε = {math.ceil(1e3 * math.log1p(math.expm1(3) / 100)) / 1e3}")

chance = random.Random(46)


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"FAILED: {what}: {got!r}, and not {wanted!r}")


def go_to(week):
    CLOCK.with_suffix(".new").write_text(str(7 * (FIRST + week) + chance.randrange(7)))
    CLOCK.with_suffix(".new").rename(CLOCK)


def outbox():
    """The names and the digits of the releases in the outbox."""
    path = STATE / "outbox.jsonl"
    releases = []
    for line in path.read_text().splitlines() if path.exists() else []:
        record = json.loads(line)
        check("fields of the outbox", list(record), ["release"])
        release = bytes.fromhex(record["release"])
        magic, mechanism, _, _, micro, outcome, _ = struct.unpack("<4sBBHIIQ", release)
        check("a release at ε = 3", (magic, micro), (b"UTR\x01", 3000000))
        # By the whole text, or of an answer.
        releases.append(({7: TOPICS, 10: EMOJI}[mechanism][outcome], record["release"]))
    return releases


def drawn():
    """The number of lines in the reservoir, the outcomes that it can keep, and the one that it keeps."""
    path = STATE / "reservoir"
    if not path.exists():
        return None
    magic, *_, best, lines, _ = struct.unpack("<6sxx8sQHHIII24s", path.read_bytes())
    names = {b"UTRESV": TOPICS, b"UTRESA": EMOJI}[magic]
    return lines, names, names[best]


def lines():
    return drawn()[0]


def files():
    """Checks that there is no text in any file, and no file that is not known."""
    for path in ROOT.rglob("*"):
        if path.is_file():
            found = [text for text in TYPED if text in path.read_bytes()]
            check(f"text on disk, in {path.relative_to(ROOT)}", found, [])
    known = {"agreement", "year.ledger", "outbox.jsonl", "reservoir"}
    check("files of the add-on", {path.name for path in STATE.iterdir()} - known, set())
    check("the ledger's length", (STATE / "year.ledger").stat().st_size, 128)


def shown(daemon, agreed=True):
    """Checks that menu, D-Bus and outbox agree. Returns what would leave."""
    toggle, promise, following, names = daemon.menu()
    releases = outbox()
    check("the question of the menu", toggle[1], "Release the topic or the first emoji of one line a year")
    check("whether the menu shows an agreement", toggle[2], agreed)
    check("the promise in the menu", promise[1], f"Promise: {PROMISE} for any one line")
    check("the promise on D-Bus", f"Promise: {daemon.keyboard.Promised()}", promise[1])
    check("the menu says what the outbox has", names[1],
          "Outbox: " + (", ".join(name for name, _ in releases) or "empty"))
    check("D-Bus says what the outbox has", list(daemon.keyboard.Outbox()),
          [f"{release} {name}" for name, release in releases])
    check("what would leave, on D-Bus and in the menu", f"Next: {daemon.keyboard.Next()}", following[1])
    return following[1].removeprefix("Next: ")


def agree(daemon):
    daemon.toggle(0)


def agree_to(daemon, names):
    """Agrees, with new ledgers until these outcomes are appointed. Returns the week."""
    for _ in range(60):
        agree(daemon)
        appointed = daemon.keyboard.Next()
        if f"“{names[-1]}”" in appointed:
            check("what would leave", appointed.startswith(f"one of {len(names) - 1} "), True)
            return 0 if "when it is over" in appointed else int(re.search(r"drawn in week (\d+)", appointed)[1]) - 1
        daemon.keyboard.Withdraw()
        for path in STATE.iterdir():
            path.unlink()
        Field(daemon)
    raise SystemExit(f"FAILED: no ledger appoints {names}")


def draw_again(daemon, names):
    """Begins the reservoir of this week once more."""
    daemon.keyboard.Withdraw()
    Field(daemon)
    agree(daemon)
    check("lines after a withdrawal", drawn(), (0, names, names[-1]))


def before_agreement(daemon):
    go_to(0)
    field = Field(daemon)
    field.type("zyzzyva\n")
    check("before an agreement", shown(daemon, agreed=False), "nothing, because you have not agreed")
    check("files before an agreement", STATE.exists(), False)
    week = agree_to(daemon, TOPICS)
    check("after an agreement", shown(daemon).startswith("nothing"), False)
    check("mode of the folder", STATE.stat().st_mode & 0o777, 0o700)
    # The appointment is not drawn again.
    appointed = daemon.keyboard.Next()
    daemon.restart()
    Field(daemon)
    check("the appointment after a kill", shown(daemon), appointed)
    return week


def every_field(daemon):
    """Which keys become lines, in the week that is appointed."""
    count = lines()

    def counted(what, by):
        nonlocal count
        count += by
        check(f"lines after {what}", lines(), count)

    field = Field(daemon)
    field.type("zyzzyva worlx\bd\n")
    counted("Return", 1)
    field.type("zyzzyva")
    field.leave()
    counted("the focus is gone", 1)
    field.focus()
    field.type("zyzzyva")
    field.close()
    counted("the field is gone", 1)
    field = Field(daemon)
    field.type("zy\b\b\n\n")
    counted("lines without text", 0)
    field.type("zyzzyva")
    field.key(LEFT)
    field.type("\n")
    counted("the cursor moved", 0)
    field.type("zyzzyva")
    field.key(ord("u"), state=CONTROL)
    field.type("\n")
    counted("Ctrl+U", 0)
    field.key(DEAD_ACUTE)
    field.key(ord("e"))
    field.type("\n")
    counted("a dead key", 1)
    for flags in (PREEDIT, PREEDIT | KEY_ORDER):
        Field(daemon, flags=flags, engine="hangul").type("gksrmf\n")
        counted("an engine", 1)
    field = Field(daemon, flags=PREEDIT | UNFOCUS_COMMIT, engine="hangul")
    field.type("gksrmf")
    field.leave()
    counted("the client commits", 1)

    for what, flags in (("a password field", PASSWORD), ("a sensitive field", SENSITIVE), ("an address", URL)):
        Field(daemon, flags=flags).type("hunter2\n")
        counted(what, 0)
        field = Field(daemon, flags=flags | PREEDIT | UNFOCUS_COMMIT, engine="hangul")
        field.type("gksrmf\ngksrmf")
        field.leave()
        counted(f"an engine in {what}", 0)
        field = Field(daemon)
        field.type("hunt")
        field.flag(flags)
        field.type("er2")
        field.flag(0)
        field.type("\n")
        counted(f"a field becomes {what}", 0)
    for program in ("xterm", "/usr/libexec/gnome-terminal-server", "org.kde.Konsole", "foot", ""):
        Field(daemon, program=program).type("hunter2\n")
        counted(f"a terminal, {program!r}", 0)


def known_lines(daemon, names, known):
    """After 101 equal lines the reservoir keeps their outcome, so each letter arrived, once."""
    for line, engine, outcome in known:
        draw_again(daemon, names)
        field = Field(daemon, engine=engine)
        for number in range(101):
            field.type(line)
            if number == 50:
                daemon.restart()
                field = Field(daemon, engine=engine)
        check(f"the outcome of lines by {engine}", drawn(), (101, names, outcome))


def kills(daemon, number):
    """A kill at any moment loses at most the line that is being typed."""
    for _ in range(number):
        count = lines()
        field = Field(daemon)
        field.type("zyzzyva\n" * 3, wait=False)
        BUS.flush()
        time.sleep(chance.random() / 100)
        daemon.restart()
        Field(daemon)
        check("lines after a kill", count <= lines() <= count + 3, True)
        check("after a kill the reservoir continues", "from this week's lines" in daemon.keyboard.Next(), True)


def first_year(daemon):
    appointed = before_agreement(daemon)
    for week in range(WEEKS + 1):
        go_to(week)
        field = Field(daemon)
        following = shown(daemon)
        check("the number of releases", len(outbox()), int(week > appointed))
        if week <= appointed:
            check("whether this week's lines are drawn from", drawn() is not None, week == appointed)
        if week == appointed:
            check("what would leave", "drawn from this week's lines, when it is over" in following, True)
            check("the reservoir keeps what the menu names", drawn(), (0, TOPICS, "nothing known"))
            every_field(daemon)
            kills(daemon, 8)
            files()
            # The keys where `recipe` is on a Dvorak keyboard. fcitx5 commits the letters.
            known_lines(daemon, TOPICS, [("docv\btor\n", "keyboard-us", "health-clinic"),
                                         ("odigrd\n", "keyboard-us-dvorak", "cooking")])
        elif appointed < week < WEEKS:
            check("a second release in the year", following.split(",")[0], "nothing more in these weeks")
            check("a second release in the year", drawn(), None)
        else:
            field.type("zyzzyva\n")
        Field(daemon, flags=PASSWORD).type("hunter2\n")
        if chance.randrange(4) == 0:
            field = Field(daemon)
            field.type("zyzzyva", wait=False)
            time.sleep(chance.random() / 100)
            daemon.restart()
    files()


def year_of_emoji(daemon):
    """The first emoji of a line leaves, and no topic of that year."""
    daemon.keyboard.Withdraw()
    for path in STATE.iterdir():
        path.unlink()
    go_to(0)
    Field(daemon)
    week = agree_to(daemon, EMOJI)
    go_to(week)
    Field(daemon)
    check("what would leave", "8 emoji or “no emoji”, drawn from this week's lines" in shown(daemon), True)
    check("the reservoir keeps what the menu names", drawn(), (0, EMOJI, "no emoji"))
    known_lines(daemon, EMOJI, [("a recipe 🦖❤️🥰\n", "keyboard-us", "the emoji ❤️"),
                                ("👎🥰\n", "keyboard-us", "the emoji 🥰")])
    Field(daemon, flags=PASSWORD).type("hunter2🥰\n")
    check("lines after a password field", lines(), 101)
    files()
    go_to(week + 1)
    Field(daemon).type("zyzzyva 🥰\n")
    following = shown(daemon)
    check("releases of emoji", [name in EMOJI for name, _ in outbox()], [True])
    if week + 1 < WEEKS:
        check("a second release in the year", (following.split(",")[0], drawn()), ("nothing more in these weeks", None))

    # Who agreed to topics alone is asked again.
    daemon.kill()
    (STATE / "agreement").write_text("agreed\n")
    daemon.start()
    Field(daemon)
    check("an agreement to topics", shown(daemon, agreed=False), "nothing, because you have not agreed")
    check("files without an agreement", {path.name for path in STATE.iterdir()}, {"agreement", "year.ledger"})
    agree(daemon)


def killed_releases(daemon, years):
    """A kill at any moment of a release never makes a second one."""
    for year in range(1, years + 1):
        # A release that was not made is due in the last week.
        go_to(year * WEEKS + WEEKS - 1)
        field = Field(daemon)
        field.type("zyzzyva\n")
        count = len(outbox())
        if drawn() is None:
            # It was appointed for the first week, and left when the last week began.
            check("what would leave", "nothing more" in shown(daemon), True)
            continue
        go_to(year * WEEKS + WEEKS)
        field.context.FocusOut(ignore_reply=True)
        field.context.FocusIn(ignore_reply=True)
        BUS.flush()
        time.sleep(chance.random() / 100)
        daemon.restart()
        Field(daemon)
        check("releases of a year", len(outbox()) - count in (0, 1), True)
        check("the week after a kill", shown(daemon).endswith("this is week 1 of 52"), True)
    files()


def withdrawal(daemon, year):
    go_to(year * WEEKS + WEEKS - 1)
    field = Field(daemon)
    field.type("zyzzyva\nzyzzyva")
    check("lines before a withdrawal", lines(), 1)
    daemon.keyboard.Withdraw()
    check("after a withdrawal", shown(daemon, agreed=False), "nothing, because you have not agreed")
    check("files after a withdrawal", {path.name for path in STATE.iterdir()}, {"agreement", "year.ledger"})
    daemon.restart()
    field = Field(daemon)
    field.type("zyzzyva\n")
    check("a withdrawal survives a kill", shown(daemon, agreed=False), "nothing, because you have not agreed")
    check("files after a withdrawal", {path.name for path in STATE.iterdir()}, {"agreement", "year.ledger"})

    # A daemon that is replaced still has the ledger when the next one starts.
    agree(daemon)
    daemon.kill()
    with open(STATE / "year.ledger", "r+b") as ledger:
        fcntl.lockf(ledger, fcntl.LOCK_EX)
        daemon.start()
        field = Field(daemon)
        check("what would leave without the ledger", "nothing: the ledger" in shown(daemon), True)
    field.leave()
    field.focus()
    check("what would leave with it", "drawn from this week's lines" in shown(daemon), True)
    daemon.keyboard.Withdraw()

    # A second agreement, or a ledger that was deleted, gives no second release.
    field = Field(daemon)
    agree(daemon)
    go_to(year * WEEKS + WEEKS)
    # A line that ends in the next week makes the release and is not in it.
    field.type("zyzzyva\n")
    shown(daemon)
    check("releases after a new agreement", len(outbox()), 1)
    go_to(year * WEEKS + 2 * WEEKS - 1)
    Field(daemon)
    daemon.kill()
    (STATE / "year.ledger").unlink()
    daemon.start()
    Field(daemon)
    check("after the ledger was deleted", shown(daemon).startswith("nothing more in these weeks"), True)
    check("after the ledger was deleted", drawn(), None)
    files()


def real_clock(daemon):
    """An add-on that is built to be installed has the clock of the system alone."""
    Field(daemon)
    agree(daemon)
    week = int(time.time()) // 86400 // 7
    check("the week of the real clock", daemon.keyboard.Next().endswith(f"this is week {week % WEEKS + 1} of 52"), True)


start = time.monotonic()
go_to(0)
running = Daemon(ROOT / "fcitx5.log")
try:
    if "--real-clock" in sys.argv:
        real_clock(running)
    else:
        first_year(running)
        year_of_emoji(running)
        killed_releases(running, 10)
        # No week of this year was visited, so a release is due in its last one.
        withdrawal(running, 12)
    print(f"passed in {time.monotonic() - start:.0f} s")
finally:
    running.process.kill()
    running.process.wait()
