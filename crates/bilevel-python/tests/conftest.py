"""Fixtures of all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let SIGINT raise `KeyboardInterrupt`, also where the tests were started with it ignored.

    `nohup` and a shell's `&` start programs that ignore SIGINT, and Python then installs no
    handler.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
