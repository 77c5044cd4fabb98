"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ._errors import ArgumentError, short


@contextmanager
def whole(path: str) -> Iterator[str]:
    """A name beside ``path`` to write to; once it is written, the file takes the place of ``path``
    in one step. If anything fails before, what is at ``path`` stays as it was."""
    # The target of a link, not the link.
    path = os.path.realpath(path)
    if os.path.isdir(path):
        raise ArgumentError(f"{short(path)!r} is a folder; name a file in it", "argument")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ArgumentError(f"{short(path)!r} is no regular file; name one", "argument")
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".{uuid.uuid4().hex}.part")
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    # Sync the new name also.
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
