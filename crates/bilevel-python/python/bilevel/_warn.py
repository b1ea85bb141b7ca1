"""Warnings that point to the line of the user."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warns of the call that led into this package, from however deep inside."""
    frame, level = sys._getframe(1), 2
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__", "")).partition(".")[0] == __package__
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
