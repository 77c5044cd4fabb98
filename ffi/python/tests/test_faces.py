"""The cases of misuse that every language goes through, by their names in tests/faces/misuse.md,
and the day of a keyboard.

Each says its name, which tests/faces/ran.sh compares with the lists; check.sh runs that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import undertone as ut

GOLDEN = Path(__file__).parents[3] / "tests/golden"
BYTES = (GOLDEN / "golden-scores.pack").read_bytes()
FORM = (GOLDEN / "golden.form").read_bytes()
Refused = ut.UndertoneError


def golden(name: str) -> ut.Pack:
    return ut.Pack.open(GOLDEN / f"{name}.pack")


def document(name: str = "golden-scores") -> ut.Document:
    return ut.Document(golden(name))


def vector(count: int) -> npt.NDArray[np.float32]:
    odd = np.full((1, count), 0.5, np.float32)
    odd[0, 3:6] = [np.nan, np.inf, -np.inf]
    return odd


def flipped(data: bytes, *places: int) -> bytes:
    changed = bytearray(data)
    for place in places:
        changed[place] ^= 1
    return bytes(changed)


def forged() -> bytes:
    data = bytearray(bytes(document().release(1)))
    data[4] = 99
    return bytes(data)


def reservoir() -> ut.Reservoir:
    return ut.Reservoir(document(), 7, 1)


def case(name: str) -> None:
    print(f"\ncase {name}")


def untyped(value: Any) -> Any:
    """What the types would refuse."""
    return value


CASES: list[tuple[str, type[Exception], str, Callable[[], object]]] = [
    ("short_pack", Refused, "0 bytes, but a pack has", lambda: ut.Pack(b"")),
    ("foreign_pack", Refused, "not a pack", lambda: ut.Pack(bytes(1000))),
    ("cut_pack", Refused, "declares 6360 bytes, found 6359", lambda: ut.Pack(BYTES[:-1])),
    ("damaged_pack", Refused, "digest does not match", lambda: ut.Pack(flipped(BYTES, -1))),
    ("pack_without_candidates", Refused, "no candidates", lambda: document("golden-vectors")),
    ("null_argument", TypeError, "None", lambda: document().push_text(untyped(None))),
    ("null_argument", TypeError, "None", lambda: ut.Document(untyped(None))),
    ("wrong_type", TypeError, "int, not str", lambda: document().push_text(untyped(7))),
    ("wrong_type", TypeError, "not str", lambda: document().push(untyped("text"))),
    ("short_embedding", Refused, "the pack takes", lambda: document().push(vector(15))),
    ("embedding_without_text", Refused, "features", lambda: document("golden-features").push(vector(16))),
    ("whole_text_without_scores", Refused, "needs a pack with scores", lambda: document("golden").release(1, "whole-text")),
    ("foreign_form", Refused, "neither a form nor a description", lambda: ut.Form(BYTES)),
    ("damaged_form", Refused, "digest does not match", lambda: ut.Form(flipped(FORM, -1))),
    ("topic_of_another_pack", Refused, "no topic for", lambda: ut.Form(FORM).release({}, 1, pack=golden("golden-scores"))),
    ("lines_as_answers", Refused, "another pack", lambda: ut.AnswerReservoir.read(bytes(reservoir()), ut.Form(FORM))),
    ("damaged_reservoir", Refused, "damaged", lambda: ut.Reservoir.read(flipped(bytes(reservoir()), -1), document())),
    ("reservoir_of_another_pack", ut.UndertoneError, "another pack", lambda: reservoir().push(document("golden-vote"))),
    ("short_release", Refused, "23 bytes, but a release has 24", lambda: ut.Release(bytes(23))),
    ("foreign_release", Refused, "not a release", lambda: ut.Release(bytes(24))),
    ("forged_release", Refused, "mechanism of the release is 99", lambda: ut.Release(forged())),
    ("epsilon_not_a_number", Refused, "not a decimal number", lambda: document().release("much")),
    ("epsilon_not_a_number", Refused, "not a decimal number", lambda: document().release(float("nan"))),
    ("epsilon_zero", Refused, "below 0.000001", lambda: document().release(0)),
    ("epsilon_too_large", Refused, "above 1000", lambda: document().release("1000.000001")),
    ("words_out_of_range", Refused, "0 words", lambda: ut.obfuscate(["a"], golden("golden-scores"), words=0, epsilon=1)),
    ("words_out_of_range", Refused, "257", lambda: ut.obfuscate(["a"], golden("golden-scores"), words=257, epsilon=1)),
]


@pytest.mark.parametrize(("name", "error", "message", "call"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_what_is_refused(name: str, error: type[Exception], message: str, call: Callable[[], object]) -> None:
    case(name)
    with pytest.raises(error, match=message):
        call()


def test_what_is_no_mistake() -> None:
    case("pack_closed_first")
    alone = ut.Document(ut.Pack(BYTES))
    alone.push_text("The pack is gone.")
    assert alone.release(1).candidate is not None
    for name, text, sentences in [
        ("empty_text", "", 0),
        ("text_that_is_no_unicode", "It \udc00 snows.", 1),
        ("long_text", "x" * (1 << 20), None),
    ]:
        case(name)
        found = document().push_text(text)
        assert sentences is None or found == sentences, name
    case("embedding_of_nan")
    assert document().push(vector(16)) == 1
    twice = document()
    twice.push_text("Once.")
    for name in ["release_twice", "release_of_nothing"]:
        case(name)
        assert len(bytes(twice.release(1))) == 24 and twice.sentence_count == 0, name


def test_answers(tmp_path: Path) -> None:
    form = ut.Form(FORM)
    three = dict(zip(form.attributes, [4, 2600, -1]))
    two = {name: [0] for name in list(form.attributes)[:2]}
    with ut.Ledger(tmp_path / "budget.ledger", 1, unit="whole-text") as ledger:
        case("wrong_answer_count")
        for wrong, message in [(two, "no column"), ({**three, "fourth": 0}, "no attribute 'fourth'")]:
            with pytest.raises(ut.ArgumentError, match=message):
                form.release(wrong, 1, ledger=ledger)
        case("answers_out_of_range")
        assert form.release(three, 1, ledger=ledger).mechanism == "answer" and ledger.remaining == 0
        assert len(form.release({name: [value, 2**32 - 1] for name, value in three.items()}, 1)) == 2


def test_ledgers(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"

    def opened(unit: str = "sentence", budget: float = 10) -> ut.Ledger:
        return ut.Ledger(path, budget, unit=unit)

    def spent(epsilon: float) -> object:
        return ut.release("We won.", golden("golden-scores"), epsilon, ledger=ledger, rule="permute-and-flip")

    def refused(name: str, message: str, call: Callable[[], object]) -> None:
        case(name)
        with pytest.raises(Refused, match=message):
            call()
            pytest.fail(name)

    refused("missing_ledger", "cannot open", lambda: ut.Ledger(path, 10, unit="sentence", create=False))
    assert not path.exists()
    refused("ledger_without_budget", "below 0.000001", lambda: opened(budget=0))
    ledger = opened()
    refused("ledger_in_use", "in use", opened)
    spent(7)
    refused("over_budget", "epsilon 3 is left", lambda: spent(4))
    ledger.close()
    case("close_twice")
    ledger.close()
    refused("ledger_after_close", "closed", lambda: spent(1))
    ut.Ledger(path, 10, unit="sentence", create=False).close()
    refused("ledger_of_another_unit", "unit", lambda: opened("whole-text"))
    counted = ut.Ledger(tmp_path / "windows.ledger", 10, unit="sentence", window=20001)
    ut.release("We won.", golden("golden-scores"), 1, ledger=counted, rule="permute-and-flip")
    counted.window = 20000
    again = lambda: ut.release("We won.", golden("golden-scores"), 1, ledger=counted, rule="permute-and-flip")
    refused("clock_set_back", "later than .*set the clock right", again)
    case("negative_window")
    with pytest.raises(OverflowError):
        ut.Ledger(path, 10, unit="sentence", window=-1)
    whole = path.read_bytes()
    for name, data, message in [
        ("short_ledger", whole[:127], "this file has 127"),
        ("foreign_ledger", bytes(128), "not a ledger"),
        ("damaged_ledger", flipped(whole, 30, 100), "no record of the ledger is intact"),
    ]:
        path.write_bytes(data)
        refused(name, message, opened)


def test_a_day_of_a_keyboard(tmp_path: Path) -> None:
    """The steps and numbers of tests/faces/keyboard-day.md. A ledger pays when a release is drawn,
    so the first spending releases."""
    path = tmp_path / "budget.ledger"
    pack = golden("golden-scores")
    typed = ut.Document(pack)

    def opened() -> ut.Ledger:
        return ut.Ledger(path, 10, unit="sentence", window=20000)

    def left(step: str, micro: int) -> None:
        case(step)
        assert round(ledger.remaining * 1e6) == micro, step

    def spend(epsilon: float) -> ut.Release:
        return typed.release(epsilon, "permute-and-flip", ledger=ledger)

    def refused(step: str, error: type[Exception], message: str, call: Callable[[], object]) -> None:
        case(step)
        with pytest.raises(error, match=message):
            call()
            pytest.fail(step)

    ledger = opened()
    assert len(path.read_bytes()) == 128
    left("new_ledger", 10_000_000)
    text = "My doctor wants to repeat the blood test. The clinic called about the swollen node."
    case("typed_text")
    assert typed.push_text(text) == 2
    release = spend(3)
    left("first_spend", 7_000_000)
    case("first_release")
    found = (len(bytes(release)), release.epsilon, release.mechanism, release.rule, release.order, release.pack_id)
    assert found == (24, 3, "scores", "permute-and-flip", 0, "16f4b64559f90996")
    assert release.candidate < 200 and typed.sentence_count == 0
    typed.push_text("We won the match.")
    spend(4)
    left("second_release", 3_000_000)
    refused("refused_spend", ut.BudgetExhausted, "epsilon 3 is left", lambda: spend(4))
    left("refused_spend", 3_000_000)
    ledger.close()
    ledger = opened()
    left("reopened", 3_000_000)
    before = path.read_bytes()
    spend(1)
    left("killed_before", 2_000_000)
    after = path.read_bytes()
    ledger.close()
    path.write_bytes(before)
    ledger = opened()
    left("killed_before", 3_000_000)
    ledger.close()
    path.write_bytes(after)
    ledger = opened()
    left("killed_after", 2_000_000)
    ledger.close()
    start = 0 if before[:64] != after[:64] else 64
    path.write_bytes(before[:start] + after[start : start + 40] + before[start + 40 :])
    ledger = opened()
    left("killed_in_between", 0)
    refused("lost_record", ut.LedgerError, "record", lambda: spend(1))
    left("lost_record", 0)
    refused("rest_of_the_window", ut.BudgetExhausted, "is left", lambda: spend(1))
    left("rest_of_the_window", 0)
    ledger.window = 20001
    typed.push_text("The rehearsal is at seven.")
    spend(3)
    left("next_window", 7_000_000)
    ledger.window = 20000
    refused("clock_back", ut.LedgerError, "later", lambda: spend(1))
    ledger.window = 20001
    left("clock_back", 7_000_000)
    ledger.close()
    path.write_bytes(b"")
    refused("emptied", ut.LedgerError, "this file has 0", opened)
    ledger = ut.Ledger.recreate_spent(path, 10, unit="sentence", window=20001)
    left("recreated", 0)
    ledger.window = 20002
    left("recreated", 10_000_000)
    ledger.window = 20001
    refused("refused_anew", ut.BudgetExhausted, "is left", lambda: spend(1))
    ledger.window = 20002
    typed.push_text("Good morning.")
    spend(3)
    left("new_day", 7_000_000)
    ledger.close()


@pytest.mark.parametrize(("name", "count"), [("pack_from_many_threads", 4), ("document_from_two_threads", 2)])
def test_threads(name: str, count: int) -> None:
    case(name)
    pack = golden("golden-scores")
    shared = ut.Document(pack)
    failures: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(25):
                own = ut.Document(pack) if name.startswith("pack") else shared
                own.push_text("The choir sings.")
                own.release(1)
        except Exception as failure:
            # A document that another thread uses refuses the call.
            if not (own is shared and isinstance(failure, RuntimeError)):
                failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_ledger_from_two_threads(tmp_path: Path) -> None:
    case("ledger_from_two_threads")
    pack = golden("golden-scores")
    ledger = ut.Ledger(tmp_path / "shared.ledger", 10, unit="sentence", window=20000)
    grants: list[object] = []
    failures: list[Exception] = []

    def spend() -> None:
        exhausted = False
        while not exhausted:
            try:
                grants.append(ut.release("We won.", pack, 1, ledger=ledger, rule="permute-and-flip"))
            except ut.BudgetExhausted:
                exhausted = True
            except RuntimeError:
                # The other thread is in a call.
                pass
            except Exception as failure:
                failures.append(failure)
                raise

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(grants) == 10
