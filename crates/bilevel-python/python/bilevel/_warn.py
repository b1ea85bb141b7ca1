"""Warnings that point to the user's line of code."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into this package, from any depth inside it."""
    frame, level = sys._getframe(1), 2
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__", "")).partition(".")[0] == __package__
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
