"""Simulators that the tests of clusters evaluate. Workers import this module."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np


def always_dying(x: Any, accuracy: float, state: Any) -> Any:
    """Ends its process at all points far from the start."""
    import simulator

    if x[2] > 40:
        os._exit(1)
    return simulator.simulator(x, accuracy, state)


def dying(x: Any, accuracy: float, state: Any, mark: str) -> Any:
    """Ends its process once, and leaves a file."""
    import simulator

    if x[2] > 40 and not os.path.exists(mark):
        Path(mark).touch()
        os._exit(1)
    return simulator.simulator(x, accuracy, state)


def noisy(x: Any, log: str) -> Any:
    """Writes a line for every evaluation."""
    with open(log, "a", encoding="ascii") as file:
        file.write("one evaluation\n")
    return x - [1.0, 2.0]


def slow(x: Any) -> Any:
    """Takes a fifth of a second."""
    time.sleep(0.2)
    return x - np.arange(20.0)
