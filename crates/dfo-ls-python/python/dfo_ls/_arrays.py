"""Checks and conversions of arrays before they are passed to Rust.

The checks are made in Python so that messages can name the argument that the user wrote.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_FLOAT = np.dtype(np.float64)


def vector(name: str, value: Any) -> FloatArray:
    """Returns a contiguous copy of a one-dimensional array of numbers.

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
    """Returns ``value`` as an array that converts to doubles without a change of meaning."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        count = int(np.ma.getmaskarray(value).sum())
        raise ValueError(
            f"{name} has {counted(count, 'masked entry', 'masked entries')}: "
            "replace them with numbers (array.filled(...)) or remove them (array.compressed())"
        )
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} must be an array of numbers: {error}") from None
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        if any(entry is None for entry in array.flat):
            raise TypeError(f"{name} must be an array of numbers, but contains None")
        try:
            return array.astype(_FLOAT)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be an array of numbers: {error}") from None
    raise TypeError(f"{name} must be an array of real numbers, but has dtype {array.dtype}")


def counted(count: int, one: str, many: str) -> str:
    """Returns a number with its noun.

    >>> counted(1, "entry", "entries")
    '1 entry'
    """
    return f"{count} {one if count == 1 else many}"


def entries(name: str, what: str, value: Any) -> list[Any]:
    """Returns the entries of an argument that is a list or another iterable.

    >>> entries("projections", "functions", abs)
    Traceback (most recent call last):
    TypeError: projections must be a list of functions, but is <built-in function abs>
    """
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} must be a list of {what}, but is {value!r}") from None


def residual_vector(value: Any, num_residuals: int | None = None) -> FloatArray:
    """Returns the residuals that the user's function returned, as a vector of doubles.

    An array is copied only if Rust cannot read it in its memory layout.
    """
    if (
        type(value) is np.ndarray
        and value.dtype == _FLOAT
        and value.ndim == 1
        and value.flags.c_contiguous
        and value.flags.aligned
        and value.size
    ):
        array = value
    else:
        array = _converted(value)
    if num_residuals is not None and len(array) != num_residuals:
        raise ValueError(
            f"the function returned {len(array)} residuals, but {num_residuals} before"
        )
    return array


def _converted(value: Any) -> FloatArray:
    what = "the value that the function returned"
    array = numbers(what, value)
    if array.ndim == 0:
        raise TypeError(
            f"the function must return an array of residuals, but returned the number {value!r}: "
            "return [r]"
        )
    if array.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, but has shape {array.shape}")
    if len(array) == 0:
        raise ValueError("the function returned an empty array: it must return residuals")
    # A field of a structured array may be contiguous, but not aligned.
    aligned: FloatArray = np.require(array, dtype=_FLOAT, requirements=["C", "A", "E"])
    return aligned


def start_vector(value: Any) -> FloatArray:
    """Returns the start ``x0`` as a vector. A number is the start of a single parameter.

    >>> start_vector(3)
    array([3.])
    """
    array = numbers("x0", value)
    start = vector("x0", array.reshape(1) if array.ndim == 0 else array)
    if len(start) == 0:
        raise ValueError("x0 is empty: pass at least one parameter")
    if not np.isfinite(start).all():
        raise ValueError(f"x0 must be finite, but is {start}")
    return start


_FORMS = (
    "write bounds=(lower, upper) with lists, arrays, numbers or None, "
    "or bounds=[(low, high), ...] with one tuple for each parameter"
)


def limits(bounds: Any, num_params: int) -> tuple[FloatArray, FloatArray] | None:
    """Returns the lower and upper bounds of all parameters, infinite where there is no bound.

    >>> limits((0, None), 2)
    (array([0., 0.]), array([inf, inf]))
    >>> limits([(0, 1), (None, 5)], 2)
    (array([  0., -inf]), array([1., 5.]))
    """
    if bounds is None:
        return None
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        lower, upper = bounds.lb, bounds.ub
    else:
        lower, upper = _sides(bounds, num_params)
    low = _limit("lower bounds", lower, -np.inf, num_params)
    high = _limit("upper bounds", upper, np.inf, num_params)
    return low, high


def _sides(bounds: Any, num_params: int) -> tuple[Any, Any]:
    """Returns the lower and the upper bounds as the user wrote them.

    They are given one after the other, or as one pair for each parameter.
    """
    try:
        given = None if isinstance(bounds, (str, dict)) else list(bounds)
    except TypeError:
        given = None
    if given is None:
        raise TypeError(f"bounds cannot be {bounds!r}: {_FORMS}")
    pairs = len(given) == num_params and all(_is_pair(entry) for entry in given)
    if pairs and num_params == 2:
        # Both readings fit. In SciPy, ([a, b], [c, d]) are lower and upper bounds, and
        # [(a, c), (b, d)] are pairs.
        are_tuples = [isinstance(entry, tuple) for entry in given]
        if isinstance(bounds, tuple) == all(are_tuples) or any(are_tuples) != all(are_tuples):
            raise ValueError(f"bounds {bounds!r} are ambiguous for two parameters: {_FORMS}")
        pairs = all(are_tuples)
    if pairs:
        return [low for low, _ in given], [high for _, high in given]
    if len(given) == 2:
        return given[0], given[1]
    found = counted(len(given), "entry", "entries")
    raise ValueError(f"bounds have {found}, but x0 has {num_params}: {_FORMS}")


def _is_pair(entry: Any) -> bool:
    return hasattr(entry, "__len__") and len(entry) == 2 and all(np.ndim(e) == 0 for e in entry)


def warn_if_outside(x0: FloatArray, limits: tuple[FloatArray, FloatArray]) -> None:
    """Warns the user if ``x0`` is outside the box."""
    lower, upper = limits
    for j in np.flatnonzero((x0 < lower) | (x0 > upper))[:1]:
        warnings.warn(
            f"x0[{j}] is {x0[j]:g}, outside of its bounds {lower[j]:g} and {upper[j]:g}: the run "
            "starts at the nearest point inside",
            RuntimeWarning,
            stacklevel=3,
        )


def inside(x0: FloatArray, limits: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Returns the nearest point in the box, and warns like DFO-LS if this moves ``x0``."""
    for side, is_outside in (("below lower", x0 < limits[0]), ("above upper", x0 > limits[1])):
        if is_outside.any():
            warnings.warn(f"x0 {side} bound, adjusting", RuntimeWarning, stacklevel=3)
    return np.clip(x0, *limits)


def _limit(name: str, value: Any, missing: float, num_params: int) -> FloatArray:
    if value is None:
        return np.full(num_params, missing)
    if isinstance(value, (list, tuple)):
        value = [missing if entry is None else entry for entry in value]
    array = numbers(name, value)
    if array.ndim == 0:
        return np.full(num_params, float(array))
    if array.shape != (num_params,):
        raise ValueError(f"{name} must have shape ({num_params},) like x0, but have {array.shape}")
    return vector(name, array)
