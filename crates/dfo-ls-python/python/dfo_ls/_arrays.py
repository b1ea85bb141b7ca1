"""Arrays that cross into Rust: checked here, where a message can name the argument as the user wrote it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_FLOAT = np.dtype(np.float64)


def vector(name: str, value: Any) -> FloatArray:
    """A contiguous copy of a one-dimensional array of numbers.

    >>> vector("x0", [1, 2])
    array([1., 2.])
    >>> vector("x0", [[1, 2]])
    Traceback (most recent call last):
    ValueError: x0 must be one-dimensional, but has shape (1, 2)
    """
    array = numbers(name, value)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, but has shape {array.shape}")
    return np.array(array, dtype=_FLOAT, order="C")


def numbers(name: str, value: Any) -> npt.NDArray[Any]:
    """An array that can become one of doubles without loss of meaning."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} must be an array of numbers: {error}") from None
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        if any(entry is None for entry in array.flat):
            raise TypeError(f"{name} must be an array of numbers, but has None")
        try:
            return array.astype(_FLOAT)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be an array of numbers: {error}") from None
    raise TypeError(f"{name} must be an array of real numbers, but has dtype {array.dtype}")


def residual_vector(value: Any, num_residuals: int | None = None) -> FloatArray:
    """What a function of the user returned, as residuals. Not a copy if it is an array already."""
    if type(value) is np.ndarray and value.dtype == _FLOAT and value.ndim == 1 and value.flags.c_contiguous and value.size:
        array = value
    else:
        array = _converted(value)
    if num_residuals is not None and len(array) != num_residuals:
        raise ValueError(f"the function returned {len(array)} residuals, but there were {num_residuals} before")
    return array


def _converted(value: Any) -> FloatArray:
    what = "what the function returned"
    array = numbers(what, value)
    if array.ndim == 0:
        raise TypeError(f"the function must return an array of residuals, but returned the number {value!r}: return [r]")
    if array.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, but has shape {array.shape}")
    if len(array) == 0:
        raise ValueError("the function returned no residuals")
    return np.ascontiguousarray(array, dtype=_FLOAT)


def limits(bounds: Any, num_params: int) -> tuple[FloatArray, FloatArray] | None:
    """Lower and upper bounds; infinite where there are none.

    >>> limits((0, None), 2)
    (array([0., 0.]), array([inf, inf]))
    """
    if bounds is None:
        return None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be a pair (lower, upper), but is {bounds!r}") from None
    low = _limit("lower bounds", lower, -np.inf, num_params)
    high = _limit("upper bounds", upper, np.inf, num_params)
    return low, high


def _limit(name: str, value: Any, missing: float, num_params: int) -> FloatArray:
    if value is None:
        return np.full(num_params, missing)
    array = numbers(name, value)
    if array.ndim == 0:
        return np.full(num_params, float(array))
    if array.shape != (num_params,):
        raise ValueError(f"{name} must have shape ({num_params},) like x0, but have {array.shape}")
    return vector(name, array)
