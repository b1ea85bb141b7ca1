"""Checks of arrays: from the forms that users pass to the form that the module in Rust takes.

An array that could be read in two ways is refused with the expression to write instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._warn import warn

Array: TypeAlias = NDArray[Any]
"""An image: `float64` or `complex128`, C-contiguous, with one or two axes."""

# A last axis of at most this length, shorter than the others, holds channels and not columns.
CHANNELS: Final = 4
# A stack whose pictures are this many times as high as wide may be a volume (H, W, slices).
NARROW: Final = 4
# Values above this are not meant to be in [0, 1].
LARGE: Final = 8.0


def image(
    name: str,
    value: ArrayLike,
    *,
    complex_too: bool = False,
    finite: bool = True,
    is_volume: bool = False,
) -> Array:
    """Check one image; it is copied only if it is not C-contiguous `float64` or `complex128`."""
    return _image(name, value, None, complex_too, finite, is_volume)


def images(
    name: str,
    value: Any,
    *,
    complex_too: bool = False,
    finite: bool = True,
    any_shape: bool = False,
    is_volume: bool = False,
    empty_too: bool = False,
) -> list[Array]:
    """Check several images: the first axis of an array, or a sequence of arrays of any sizes.

    With `any_shape`, a stack that looks like a colour picture or a volume is taken as it is.
    """
    if empty_too and is_empty(value):
        return []
    if is_table(value):
        raise TypeError(
            f"{name} is a table, and its signals may be rows or columns: "
            f"pass {name}.to_numpy() for rows or {name}.to_numpy().T for columns"
        )
    if is_array(value):
        refuse_masked(name, value)
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and (value.dtype.kind != "O" or value.ndim != 1):
        check_stack(name, value.shape, any_shape, is_volume)
        parts: Sequence[Any] = list(numbers(name, value))
    elif isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"{name} must be an array or a sequence of arrays, not {type(value).__name__}"
        )
    else:
        parts = list(value)
    if len(parts) == 0:
        raise ValueError(f"{name} is empty: it holds no images")
    checked = [
        _image(f"{name}[{index}]", part, name, complex_too, finite, is_volume)
        for index, part in enumerate(parts)
    ]
    if len({array.ndim for array in checked}) > 1:
        raise ValueError(f"{name} mixes signals (one axis) and pictures (two axes)")
    return checked


def is_array(value: Any) -> bool:
    """Whether NumPy reads this object as an array: its own, pandas, dask, h5py, torch, ..."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array__")


def is_table(value: Any) -> bool:
    """Whether this object is a table with named columns, such as a `pandas.DataFrame`."""
    return hasattr(value, "columns") and hasattr(value, "__array__")


def is_empty(value: Any) -> bool:
    """Whether this object holds no images: an empty sequence, or an array of length zero."""
    return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == 0


def check_stack(
    name: str, shape: tuple[int, ...], any_shape: bool = False, is_volume: bool = False
) -> None:
    """Refuse the shape of an array that does not hold one image for each index of its first axis.

    Pictures that really are as narrow as a colour picture has channels can be passed as a list.
    """
    if is_volume:
        if len(shape) != 4:
            what = f": put one volume into a list, [{name}]" if len(shape) == 3 else ""
            raise ValueError(
                f"{name} has shape {shape}, but several volumes have the axes (n, D, H, W){what}"
            )
        return
    advice = None
    if len(shape) == 3 and not any_shape:
        rows, cols, last = shape
        if last <= CHANNELS and min(rows, cols) > last:
            advice = (
                f"and looks like one colour picture: pass [{name}] with channel_axis=-1, or its "
                f"channels, {_channels(name, last)}"
            )
        elif rows == cols != last:
            advice = (
                f"and looks like a volume of {last} slices: pass the slices, "
                f"list(numpy.moveaxis({name}, -1, 0)), or the volume as a whole, "
                f"[numpy.moveaxis({name}, -1, 0)] with slices='volume'"
            )
        if advice is not None:
            advice += f"; if it holds {rows} pictures of {cols} × {last}, pass list({name})"
    elif len(shape) == 4:
        _, second, _, last = shape
        advice = "but pictures have two axes: pass "
        if second == 1:
            advice += f"{name}[:, 0]"
        elif last == 1:
            advice += f"{name}[..., 0]"
        elif last in (3, 4):
            used = min(last, 3)
            whole = name if last == 3 else f"{name}[..., :3]"
            advice += (
                f"{whole} with channel_axis=-1 for pictures in colour, or all channels as "
                f"pictures, [x[..., c] for x in {name} for c in range({used})]"
            )
        else:
            advice += (
                f"the pictures in one list, [x for part in {name} for x in part], or "
                "slices='volume' for volumes"
            )
    elif len(shape) not in (2, 3):
        advice = (
            "but must be (n, N) for signals or (n, H, W) for pictures; "
            "put a single image into a list"
        )
    if advice is not None:
        raise ValueError(f"{name} has shape {shape}, {advice}")


def warn_of_stack(name: str, value: Any) -> None:
    """Warn of an array of images that may be a single picture or a volume."""
    shape: tuple[int, ...] = np.shape(value) if is_array(value) else ()
    if len(shape) == 2 and min(shape) >= 16 and max(shape) <= 4 * min(shape):
        warn(
            f"{name} has shape {shape} and is taken as {shape[0]} signals of {shape[1]} samples: "
            "if it is one picture, pass [picture], and likewise for data",
            UserWarning,
        )
    elif len(shape) == 3 and shape[1] >= NARROW * shape[2] and shape[0] > shape[2] > CHANNELS:
        warn(
            f"{name} has shape {shape} and is taken as {shape[0]} pictures of "
            f"{shape[1]} × {shape[2]}: if it is a volume of {shape[2]} slices, pass "
            f"list(numpy.moveaxis({name}, -1, 0)); if not, list({name}) avoids this warning",
            UserWarning,
        )


def refuse_masked(name: str, value: Any) -> None:
    """Refuse a masked array, unless nothing is masked in it."""
    if isinstance(value, np.ma.MaskedArray):
        count = int(np.ma.getmaskarray(value).sum())
        if count > 0:
            raise ValueError(
                f"{name} is a masked array with {counted(count, 'masked entry', 'masked entries')},"
                f" and masks are not used: pass {name}.filled(value), or learn with "
                f"model='inpaint' and mask=~{name}.mask"
            )
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            if isinstance(part, (np.ma.MaskedArray, list, tuple)):
                refuse_masked(f"{name}[{index}]", part)


def unmasked(value: Any) -> Any:
    """Replace masked entries of an array, or of the arrays in a list, by NaN.

    So missing pixels have one form. Arrays without masked entries stay what they are.
    """
    if isinstance(value, (list, tuple)):
        return [unmasked(part) for part in value]
    if not isinstance(value, np.ma.MaskedArray) or not np.ma.getmaskarray(value).any():
        return value
    dtype = value.dtype if value.dtype.kind in "fc" else np.dtype(np.float64)
    filled = np.array(np.ma.getdata(value), dtype=dtype)
    filled[np.ma.getmaskarray(value)] = np.nan
    return filled


def check_measured(name: str, array: Array) -> bool:
    """Return whether all pixels of an image were measured, that is, are not NaN.

    An image without any measured pixel is refused, and so is infinity.
    """
    missing = np.isnan(array)
    if not missing.any():
        check_finite(name, array)
        return True
    check_finite(name, np.where(missing, 0.0, array))
    if missing.all():
        raise ValueError(f"{name} is NaN everywhere: no pixel was measured")
    return False


def ends(arrays: Sequence[ArrayLike]) -> list[float]:
    """Return the smallest and the largest value of arrays, apart from NaN, or an empty list."""
    rows = [np.ravel(array) for array in arrays if np.size(array)]
    lowest, highest = ([float(f.reduce(row)) for row in rows] for f in (np.fmin, np.fmax))
    return [min(lowest), max(highest)] if rows else []


def like(made: Array, given: Any) -> Array:
    """Return a result in single precision if it was computed from single precision."""
    dtype = getattr(given, "dtype", None)
    if dtype not in (np.dtype(np.float32), np.dtype(np.complex64)):
        return made
    return made.astype(np.complex64 if made.dtype.kind == "c" else np.float32)


def check_finite(name: str, array: Array) -> None:
    """Refuse NaN and infinity, and name their place."""
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = where[0] if len(where) == 1 else where
        raise ValueError(f"{name} is {array[where]} at {place}: all numbers must be finite")


def check_same(first: str, a: Sequence[Array], second: str, b: Sequence[Array]) -> None:
    """Refuse two lists of images that differ in their number or in the shape of an image."""
    if len(a) != len(b):
        raise ValueError(f"{first} has {counted(len(a), 'image')}, but {second} has {len(b)}")
    for index, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape:
            raise ValueError(
                f"{first}[{index}] has shape {x.shape}, but {second}[{index}] has shape {y.shape}"
            )


def rounded_up(bound: float, digits: int = 1) -> str:
    """A bound with this many significant digits, rounded up."""
    if not 0.0 < bound < np.inf:
        return f"{bound:.{digits}g}"
    unit = 10.0 ** (np.floor(np.log10(bound)) + 1 - digits)
    return f"{np.ceil(bound / unit) * unit:.{digits}g}"


def with_error(value: float, error: float, digits: int = 6) -> str:
    """A number and its largest error, rounded so that the interval only grows."""
    shown = f"{value:.{digits}g}"
    return f"{shown} ± {rounded_up(error + abs(value - float(shown)))}"


def counted(count: int, word: str, plural: str | None = None) -> str:
    """A number with its noun, such as "1 image" or "2 images"."""
    return f"{count} {word}" if count == 1 else f"{count} {plural or word + 's'}"


def by_name(
    blocks: Mapping[str, tuple[int, ...]], values: Sequence[float]
) -> dict[str, float | NDArray[np.float64]]:
    """Return the values of parameters by name: a number, or an array for a block with a shape."""
    made: dict[str, float | NDArray[np.float64]] = {}
    done = 0
    for name, shape in blocks.items():
        own = values[done : done + math.prod(shape)]
        done += len(own)
        made[name] = np.array(own, dtype=np.float64).reshape(shape) if shape else own[0]
    return made


def kinds(num_axes: int, count: int, is_colour: bool) -> str:
    """The number and the kind of images with this number of axes, such as "2 pictures"."""
    if is_colour:
        return counted(count, "picture in colour", "pictures in colour")
    return counted(count, ("signal", "picture", "volume")[num_axes - 1])


def about(shapes: Sequence[tuple[int, ...]], is_colour: bool = False) -> str:
    """The number, kind and size of images in words, such as "2 pictures of 8 × 6"."""
    first = shapes[0]
    what = kinds(len(first), len(shapes), is_colour)
    if len(set(shapes)) > 1:
        return f"{what} of different sizes"
    if len(first) == 1:
        return f"{what} of {counted(first[0], 'sample')}"
    return f"{what} of {' × '.join(map(str, first[:2] if is_colour else first))}"


def flat(array: Array) -> NDArray[np.float64]:
    """The same memory as one row of `float64`; a complex number is two of them."""
    return array.view(np.float64).reshape(-1)


def _image(
    name: str, value: Any, whole: str | None, complex_too: bool, finite: bool, is_volume: bool
) -> Array:
    """Check one image; `whole` is the name of the sequence that it belongs to."""
    refuse_masked(name, value)
    array = numbers(name, value)
    if array.dtype.kind == "c" and not complex_too:
        raise ValueError(
            f"{name} is complex, but real numbers are needed here: "
            f"pass the real part or the absolute value of {whole or name}"
        )
    if is_volume and array.ndim != 3:
        raise ValueError(
            f"{name} has shape {array.shape}, but a volume has three axes: slices, rows, columns"
        )
    if not is_volume and array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}, {_advice(name, array.shape, whole)}")
    if array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: it is empty")
    if finite:
        check_finite(name, array)
    return array


def where_one_picture(name: str, shape: tuple[int, ...]) -> str:
    """What to pass in place of an array that is not one picture."""
    return _advice(name, shape, None)


def _advice(name: str, shape: tuple[int, ...], whole: str | None) -> str:
    """What to pass in place of an array that is not one image."""
    if len([length for length in shape if length != 1]) in (1, 2) and len(shape) > 2:
        squeezed = (
            f"numpy.squeeze({name})" if whole is None else f"[numpy.squeeze(x) for x in {whole}]"
        )
        return f"but an image has one or two axes: pass {squeezed}"
    if len(shape) == 3 and shape[2] <= CHANNELS and min(shape) == shape[2]:
        if whole is not None:
            used = min(shape[2], 3)
            return (
                "which looks like a colour picture: pass all channels as pictures, "
                f"[x[..., c] for x in {whole} for c in range({used})]"
            )
        return (
            "which looks like a colour picture: pass one channel at a time, "
            f"{_channels(name, shape[2])}"
        )
    if len(shape) == 3 and whole is not None:
        return (
            "but an image has one or two axes: pass slices='volume' for volumes, or their slices "
            f"as pictures, [x for volume in {whole} for x in volume]"
        )
    if len(shape) >= 3:
        return f"but an image has one or two axes: pass one picture at a time, such as {name}[0]"
    return "but an image has one or two axes"


def _channels(name: str, count: int) -> str:
    """The expression for the channels of a colour picture, without transparency."""
    if count == 1:
        return f"[{name}[..., 0]]"
    return f"[{name}[..., c] for c in range({min(count, 3)})]"


def numbers(name: str, value: ArrayLike) -> Array:
    """The numbers of an array, C-contiguous, as `float64` or `complex128`."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None
    if array.dtype.kind == "O":
        raise TypeError(
            f"{name} must hold numbers, but holds Python objects: convert it with .astype(float)"
        )
    if array.dtype.kind not in "biufc":
        what = "text: read the file first" if array.dtype.kind in "US" else array.dtype
        raise TypeError(f"{name} must hold numbers, not {what}")
    wanted = np.complex128 if array.dtype.kind == "c" else np.float64
    return np.require(array, wanted, ["C_CONTIGUOUS", "ALIGNED"])
