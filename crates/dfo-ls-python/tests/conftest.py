"""Settings of all tests of this package."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# modules that several tests share
sys.path.append(str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    """Prints the reasons of skipped tests at the end, also with ``-q``."""
    if "s" not in config.option.reportchars:
        config.option.reportchars += "s"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Lets Ctrl-C interrupt this process and its children, also where the tests were started with
    SIGINT ignored (``nohup``, a shell's ``&``), which children inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
