"""Arrays as users have them, and as the module in Rust takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
"""An image: `float64` or `complex128`, C-contiguous, with one or two axes."""


def image(name: str, value: ArrayLike, *, complex_too: bool = False, finite: bool = True) -> Array:
    """One image; not copied if it is `float64` (or `complex128`) and C-contiguous already."""
    array = _numbers(name, value)
    if array.dtype.kind == "c" and not complex_too:
        raise ValueError(f"{name} is complex, but real numbers are needed here")
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}, but an image has one or two axes")
    if array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: it is empty")
    if finite:
        check_finite(name, array)
    return array


def images(name: str, value: Any, *, complex_too: bool = False, finite: bool = True) -> list[Array]:
    """Several images: the first axis of an array, or a sequence of arrays of any sizes."""
    if not isinstance(value, np.ndarray) and hasattr(value, "__array__"):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        if value.ndim not in (2, 3):
            raise ValueError(
                f"{name} has shape {value.shape}, but must be (n, N) for signals or (n, H, W) for pictures; "
                "a single image goes into a list"
            )
        whole = _numbers(name, value)
        parts: Sequence[Any] = list(whole)
    elif isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"{name} must be an array or a sequence of arrays, not {type(value).__name__}"
        )
    else:
        parts = list(value)
    if len(parts) == 0:
        raise ValueError(f"{name} is empty: it holds no images")
    checked = [
        image(f"{name}[{index}]", part, complex_too=complex_too, finite=finite)
        for index, part in enumerate(parts)
    ]
    axes = {array.ndim for array in checked}
    if len(axes) > 1:
        raise ValueError(f"{name} mixes signals (one axis) and pictures (two axes)")
    return checked


def check_finite(name: str, array: Array) -> None:
    """Refuses NaN and infinity, and says where."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = where[0] if len(where) == 1 else where
        raise ValueError(f"{name} is {array[where]} at {place}: all numbers must be finite")


def check_same(first: str, a: Sequence[Array], second: str, b: Sequence[Array]) -> None:
    """Refuses images that do not belong together."""
    if len(a) != len(b):
        raise ValueError(f"{first} has {counted(len(a), 'image')}, but {second} has {len(b)}")
    for index, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape:
            raise ValueError(
                f"{first}[{index}] has shape {x.shape}, but {second}[{index}] has shape {y.shape}"
            )


def counted(count: int, word: str) -> str:
    """One thing, or several things."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def about(arrays: Sequence[Array]) -> str:
    """What these images are, in words."""
    ndim, shapes = arrays[0].ndim, {array.shape for array in arrays}
    what = counted(len(arrays), "signal" if ndim == 1 else "picture")
    if len(shapes) > 1:
        return f"{what} of different sizes"
    return (
        f"{what} of {counted(arrays[0].size, 'sample')}"
        if ndim == 1
        else f"{what} of {' × '.join(map(str, arrays[0].shape))}"
    )


def flat(array: Array) -> NDArray[np.float64]:
    """The same memory as one row of `float64`; a complex number is two of them."""
    return array.view(np.float64).reshape(-1)


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}")
    wanted = np.complex128 if array.dtype.kind == "c" else np.float64
    return np.require(array, wanted, ["C_CONTIGUOUS", "ALIGNED"])
