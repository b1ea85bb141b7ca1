"""Settings of all tests of this package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# modules that several tests share
sys.path.append(str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    """Prints the reasons of skipped tests at the end, also with ``-q``."""
    if "s" not in config.option.reportchars:
        config.option.reportchars += "s"
