"""What was spent is on the disk before a release is drawn."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Optional

import pytest

import undertone as ut


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
