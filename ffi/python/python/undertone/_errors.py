"""What can go wrong."""

from __future__ import annotations

from typing import Any

#: Characters of a message at most: paths and names of columns may have megabytes.
_MOST = 4000


def short(value: object, most: int = 80) -> str:
    """A value of a user's for a message."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


class UndertoneError(Exception):
    """What went wrong, in one sentence that says what to do.

    ``kind`` is one of ``argument``, ``in-use``, ``input``, ``io``, ``encoder``, ``pack``,
    ``release``, ``ledger`` and ``internal``. No message quotes a text, and none depends on what a
    private text says. If ``privatize`` has a ledger, ``releases`` has what was paid for, of the
    first texts, whatever exception it is.
    """

    #: The paid ``Releases``, or None. Not typed, because ``_releases`` imports this module.
    releases: Any = None

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(short(message, _MOST), kind)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])


class ArgumentError(UndertoneError, ValueError):
    """An argument has a value that is not allowed. The message has the value and the limit."""


class LedgerError(UndertoneError):
    """The ledger is damaged or is of another budget, or less than the cost is left."""


class BudgetExhausted(LedgerError):
    """Less than the cost of a release is left in this window. ``releases`` has what was paid for,
    of the first texts."""
