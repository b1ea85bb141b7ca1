"""Checks of arguments that are single numbers. Messages name the argument that the user wrote."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any


def integer(name: str, value: Any) -> int:
    """Returns ``value`` as an integer.

    >>> integer("npt", 3.0)
    Traceback (most recent call last):
    TypeError: npt must be an integer, but is 3.0
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, but is {value!r}") from None


def count(name: str, value: Any) -> int | None:
    """Returns a positive integer, which may be written as ``1e3``; ``None`` if it is not given.

    >>> count("max_points", 1e3)
    1000
    """
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    found = integer(name, value)
    if found < 1:
        raise ValueError(f"{name} is {found}, but must be positive")
    return found


def real(name: str, value: Any) -> float:
    """Returns ``value`` as a float.

    >>> real("rhobeg", "a")
    Traceback (most recent call last):
    TypeError: rhobeg must be a number, but is 'a'
    """
    if type(value) is float:
        return value
    # an array with one entry is a number too
    found = value.item() if getattr(value, "size", None) == 1 else value
    if isinstance(found, numbers.Real):
        return float(found)
    raise TypeError(f"{name} must be a number, but is {value!r}")


def finite(name: str, value: Any) -> float | None:
    """Returns ``value`` as a finite float; ``None`` if it is not given."""
    if value is None:
        return None
    found = real(name, value)
    if not math.isfinite(found):
        raise ValueError(f"{name} is {found}, but must be finite")
    return found
