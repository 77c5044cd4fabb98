"""Say what a text is about without giving the text away: differentially private releases of texts.

A *pack* is a public file: it lists *candidates*, the things a release can name, such as topics.
:func:`release` and :func:`privatize` turn private texts into *releases* of 24 bytes, each a
candidate that was drawn at random. :meth:`Releases.estimate` says what many texts are about, and
how sure that is. :func:`build_pack` makes a pack from public texts.
"""

from . import demo
from ._answers import Counts, Estimate, PlanOf, Question, Share, count, estimate, plan
from ._errors import ArgumentError, BudgetExhausted, LedgerError, UndertoneError
from ._forms import AnswerReservoir, Form, Posterior
from ._packing import Built, build_pack
from ._releases import Releases, privatize, read_releases, release
from ._undertone import (
    Candidates,
    Document,
    Encoder,
    Ledger,
    Lexicon,
    Pack,
    Release,
    Reservoir,
    VectorMechanism,
    VectorRelease,
    __version__,
)
from ._words import Bags, obfuscate

__all__ = [
    "AnswerReservoir",
    "ArgumentError",
    "Bags",
    "BudgetExhausted",
    "Built",
    "Candidates",
    "Counts",
    "Document",
    "Encoder",
    "Estimate",
    "Form",
    "Ledger",
    "LedgerError",
    "Lexicon",
    "Pack",
    "PlanOf",
    "Posterior",
    "Question",
    "Release",
    "Releases",
    "Reservoir",
    "Share",
    "UndertoneError",
    "VectorMechanism",
    "VectorRelease",
    "__version__",
    "build_pack",
    "count",
    "demo",
    "estimate",
    "obfuscate",
    "plan",
    "privatize",
    "read_releases",
    "release",
]
