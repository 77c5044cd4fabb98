from __future__ import annotations

import pytest

import undertone as ut


@pytest.fixture(scope="session")
def built() -> ut.Built:
    """A pack of the demo's twelve topics, with what estimates need."""
    public = ut.demo.public()
    # A third of the texts, so that the tests start soon.
    return ut.build_pack(public.texts[::3], public.labels[::3])


@pytest.fixture(scope="session")
def pack(built: ut.Built) -> ut.Pack:
    return built.pack


@pytest.fixture(scope="session")
def vectors() -> ut.Built:
    """The same topics, told apart by vectors alone."""
    public = ut.demo.public()
    return ut.build_pack(public.texts, public.labels, heads="vectors", encoder=ut.Encoder.lexicon())
