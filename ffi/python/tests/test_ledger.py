"""What was spent is on the disk before a release is drawn."""

from __future__ import annotations

import fcntl
import gc
import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

import undertone as ut


def untyped(value: Any) -> Any:
    """What the types would refuse."""
    return value


def test_a_budget_lasts_as_long_as_it_lasts(pack: ut.Pack, tmp_path: Path) -> None:
    with ut.Ledger(tmp_path / "budget.ledger", 10, unit="sentence") as ledger:
        assert ledger.budget == ledger.remaining == 10
        release = ut.release("The clinic called.", pack, 4, ledger=ledger, rule="exponential")
        assert release.epsilon == 4 and ledger.remaining == 6
        with pytest.raises(ut.BudgetExhausted) as raised:
            ut.privatize(["a", "b", "c", "d"], pack, 2.5, ledger=ledger, rule="exponential")
        assert raised.value.releases is not None and len(raised.value.releases) == 2
        assert raised.value.kind == "ledger" and ledger.remaining == 1
        with pytest.raises(ut.LedgerError):
            ut.release("x", pack, 4, ledger=ledger, rule="exponential")
        # A text that is none costs nothing, nor do those in its block.
        with pytest.raises(TypeError, match="text 1 is None"):
            ut.privatize(["a", None], pack, 0.5, ledger=ledger, rule="exponential")
        assert ledger.remaining == 1
    with pytest.raises(ut.ArgumentError, match="closed"):
        ut.release("x", pack, 0.1, ledger=ledger, rule="exponential")
    with pytest.raises(ut.ArgumentError, match="closed"):
        ledger.remaining
    ledger.close()
    assert ut.Ledger(tmp_path / "budget.ledger", 10, unit="sentence").remaining == 1


def test_what_was_paid_for_is_kept_whatever_goes_wrong(pack: ut.Pack, tmp_path: Path) -> None:
    for name, wrong in (("earlier", lambda ledger: setattr(ledger, "window", 4)), ("closed", lambda ledger: ledger.close())):
        with ut.Ledger(tmp_path / f"{name}.ledger", 1000, unit="sentence", window=5) as ledger:
            with pytest.raises(ut.UndertoneError) as raised:
                ut.privatize(["a"] * 5000, pack, "0.01", ledger=ledger, rule="exponential", progress=lambda *_: wrong(ledger))
            assert not isinstance(raised.value, ut.BudgetExhausted)
            assert raised.value.releases is not None and len(raised.value.releases) == 2048, name


def test_files_that_are_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    with ut.Ledger(path, 10, unit="sentence"), pytest.raises(ut.UndertoneError) as raised:
        ut.Ledger(path, 10, unit="sentence")
    assert raised.value.kind == "in-use"
    with pytest.raises(ut.LedgerError, match="20"):
        ut.Ledger(path, 20, unit="sentence")
    path.write_bytes(b"no ledger")
    with pytest.raises(ut.LedgerError):
        ut.Ledger(path, 10, unit="sentence")
    with pytest.raises(ut.ArgumentError):
        ut.Ledger(path, 0, unit="sentence")


def test_a_pipe_is_no_ledger(tmp_path: Path) -> None:
    # Opening one would wait for its other end.
    path = tmp_path / "budget.ledger"
    for pipe in (path, tmp_path / "budget.ledger.lock"):
        os.mkfifo(pipe)
        with pytest.raises(ut.UndertoneError, match="regular file"):
            ut.Ledger(path, 10, unit="sentence")
        with pytest.raises(ut.UndertoneError, match="regular file"):
            ut.Ledger.recreate_spent(path, 10, unit="sentence")
        pipe.unlink()
        assert not list(tmp_path.iterdir())


def test_a_ledger_is_recreated(pack: ut.Pack, tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    ut.Ledger(path, 10, unit="sentence", window=7).close()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ut.LedgerError, match="127"):
        ut.Ledger(path, 10, unit="sentence")
    # The spent budget is unknown, so the window counts as spent.
    with ut.Ledger.recreate_spent(path, 10, unit="sentence", window=7) as ledger:
        assert ledger.remaining == 0 and ledger.window == 7
        with pytest.raises(ut.BudgetExhausted):
            ut.release("x", pack, 1, ledger=ledger, rule="exponential")
        ledger.window = 8
        ut.release("x", pack, 1, ledger=ledger, rule="exponential")
        assert ledger.remaining == 9
        with pytest.raises(ut.UndertoneError, match="in use"):
            ut.Ledger.recreate_spent(path, 10, unit="sentence", window=7)
        ledger.window = 7
        with pytest.raises(ut.LedgerError):
            ledger.remaining
    path.unlink()
    with ut.Ledger.recreate_spent(path, 10, unit="sentence") as today:
        assert today.remaining == 0 and today.window is None
    with pytest.raises(ut.ArgumentError, match="unit"):
        ut.Ledger.recreate_spent(path, 10, unit="word")
    with pytest.raises(OverflowError):
        ut.Ledger(path, 10, unit="sentence", window=-1)


def test_documents_are_paid_for(pack: ut.Pack, tmp_path: Path) -> None:
    document = ut.Document(pack)
    document.push_text("The clinic called.")
    with ut.Ledger(tmp_path / "budget.ledger", 5, unit="sentence", window=1) as ledger:
        with pytest.raises(ut.ArgumentError, match="another unit"):
            document.release(3, "whole-text", ledger=ledger)
        document.release(3, "exponential", ledger=ledger)
        assert ledger.remaining == 2 and document.sentence_count == 0
        document.push_text("The clinic called.")
        with pytest.raises(ut.BudgetExhausted):
            document.release(3, "exponential", ledger=ledger)
        assert document.sentence_count == 1


LEDGER: Optional[ut.Ledger] = None


def _spend(pack: ut.Pack) -> str:
    assert LEDGER is not None
    try:
        ut.release("x", pack, 1, ledger=LEDGER, rule="exponential")
    except ut.ArgumentError as problem:
        return str(problem)
    return "released"


def test_a_forked_process_opens_its_own(pack: ut.Pack, tmp_path: Path) -> None:
    """It shares the lock of its parent, which would keep neither out."""
    global LEDGER
    LEDGER = ut.Ledger(tmp_path / "budget.ledger", 10, unit="sentence")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "forked" in pool.apply(_spend, (pack,))
    assert _spend(pack) == "released" and LEDGER.remaining == 9
    LEDGER = None


def _drop(how: str) -> None:
    global LEDGER
    assert LEDGER is not None
    if how == "close":
        LEDGER.close()
    LEDGER = None
    gc.collect()


@pytest.mark.parametrize("how", ["close", "collect"])
def test_a_forked_process_gives_up_no_lock(pack: ut.Pack, tmp_path: Path, how: str) -> None:
    global LEDGER
    path = tmp_path / "budget.ledger"
    LEDGER = ut.Ledger(path, 10, unit="sentence")
    child = multiprocessing.get_context("fork").Process(target=_drop, args=(how,))
    child.start()
    child.join()
    assert child.exitcode == 0
    with pytest.raises(ut.UndertoneError, match="in use"):
        ut.Ledger(path, 10, unit="sentence")
    assert _spend(pack) == "released"
    LEDGER = None


def test_a_forked_process_keeps_no_lock(tmp_path: Path) -> None:
    """Its copy of the open file lives as long as it does."""
    global LEDGER
    path = tmp_path / "budget.ledger"
    LEDGER = ut.Ledger(path, 10, unit="sentence")
    context = multiprocessing.get_context("fork")
    end = context.Event()
    child = context.Process(target=end.wait)
    child.start()
    try:
        LEDGER.close()
        # Other programs may look for either of two locks.
        for _ in range(2):
            ut.Ledger(path, 10, unit="sentence").close()
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        LEDGER = None
        end.set()
        child.join()


class Stop(Exception):
    pass


@dataclass(frozen=True)
class Frozen(Exception):
    pass


def test_whatever_ends_a_call_has_what_was_paid_for(pack: ut.Pack, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise Stop

    def interrupt(*_: object) -> None:
        # A program that a shell started in the background ignores the signal otherwise.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, before)

    def broken() -> Iterator[str]:
        yield from ["a"] * 2048
        raise Frozen

    texts = ["a"] * 5000
    calls: list[tuple[type[BaseException], Any, Any, int]] = [
        (Stop, texts, stop, 2048),
        (KeyboardInterrupt, texts, interrupt, 2048),
        (Frozen, broken(), None, 2048),
        (TypeError, iter(["a"] * 2048 + [None]), None, 2048),
        # All values are looked at before the first is paid for.
        (TypeError, ["a"] * 2048 + [None], None, 0),
        (TypeError, np.array(["a"] * 2048 + [None]), None, 0),
    ]
    with ut.Ledger(tmp_path / "own.ledger", 1000, unit="sentence", window=0) as ledger:
        for window, (kind, column, progress, paid) in enumerate(calls):
            ledger.window = window
            with pytest.raises(kind) as raised:
                ut.privatize(column, pack, "0.01", ledger=ledger, rule="exponential", progress=progress)
            assert len(untyped(raised.value).releases) == paid, kind
            assert round((1000 - ledger.remaining) / 0.01) == paid
        with pytest.raises(TypeError) as one:
            ut.release(untyped(None), pack, "0.01", ledger=ledger, rule="exponential")
        assert len(untyped(one.value).releases) == 0
    # Without a ledger nothing was paid for.
    with pytest.raises(Stop) as unpaid:
        ut.privatize(texts, pack, 1, progress=stop)
    assert not hasattr(unpaid.value, "releases")


def test_ctrl_c_loses_no_release(pack: ut.Pack, tmp_path: Path) -> None:
    """It comes while releases are paid for, and is heard once these are kept."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with ut.Ledger(tmp_path / "own.ledger", 1000, unit="sentence", window=0) as ledger:
            for window in range(5):
                ledger.window = window
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                # More texts than can be paid for so soon.
                with pytest.raises(KeyboardInterrupt) as stopped:
                    ut.privatize(["a"] * 100_000, pack, "0.01", ledger=ledger, rule="exponential")
                paid = getattr(stopped.value, "releases", b"")
                assert round((1000 - ledger.remaining) / 0.01) * 24 == len(bytes(paid))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_ledger_stays_where_it_is(tmp_path: Path) -> None:
    """A copy would spend the same budget once more."""
    with ut.Ledger(tmp_path / "own.ledger", 10, unit="sentence") as ledger, pytest.raises(TypeError, match="pickle"):
        pickle.dumps(ledger)


def test_a_year_with_one_release(pack: ut.Pack, tmp_path: Path) -> None:
    document = ut.Document(pack)
    with ut.Ledger(tmp_path / "year.ledger", 3, unit="whole-text", window=2026) as ledger:
        (appointed,) = ledger.appointment(52, 1)
        assert ledger.appointment(3, 5) == [0, 1, 2]
        due = []
        for week in range(52):
            if not ledger.is_due(week, 52, 1, 3):
                continue
            due.append(week)
            stored = bytes(ut.Reservoir(document, 2026 * 52 + week, 2))
            for _ in range(5):
                # Each line after a restart.
                reservoir = ut.Reservoir.read(stored, document)
                document.push_text("The clinic called.")
                reservoir.push(document)
                stored = bytes(reservoir)
            reservoir = ut.Reservoir.read(stored, document)
            assert document.sentence_count == 0 and len(stored) == 64
            assert (reservoir.slot, reservoir.places) == (2026 * 52 + week, 2)
            release = reservoir.release(3, ledger=ledger)
            assert (release.mechanism, release.epsilon) == ("whole-text", 3)
            with pytest.raises(ut.ArgumentError, match="released"):
                bytes(reservoir)
        assert due == [appointed] and ledger.remaining == 0
        ledger.window = 2027
        assert ledger.remaining == 3
        with pytest.raises(ut.ArgumentError, match="slot is 52; take 0 to 51"):
            ledger.is_due(52, 52, 1, 3)
        with pytest.raises(ut.ArgumentError, match="slots is 0; take 1 to 65535"):
            ledger.appointment(0, 1)


def test_a_drawn_sentence_states_its_places(pack: ut.Pack) -> None:
    document = ut.Document(pack)
    reservoir = ut.Reservoir(document, 0, 3)
    for sentence in ["One.", "Two."]:
        document.push_text(sentence)
        reservoir.push(document)
    with pytest.raises(ut.ArgumentError, match="rule is unknown"):
        reservoir.release(1, "exponential")
    release = reservoir.release(1, "drawn")
    assert (release.mechanism, release.places, release.epsilon) == ("drawn", 3, 1)
    assert ut.Release(bytes(release)) == release
