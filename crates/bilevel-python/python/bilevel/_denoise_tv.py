"""One reconstruction by the certified solver."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import Array, flat, image, like, unmasked
from ._colour import rgb, whole_axis
from ._settings import (
    check_method,
    euclidean,
    image_limits,
    measured,
    nonnegative,
    one_of,
    positive_int,
    root_mean_square,
)
from ._warn import warn

# The number of updated pixels between two checks for Ctrl-C: a fraction of a second.
UNWATCHED: Final = 2**26


class Denoised(NamedTuple):
    """A reconstruction with a bound on its error."""

    x: NDArray[Any]
    """The reconstruction, in single precision if the data are."""
    error_bound: float
    """A certified bound on the distance of `x` from the exact minimiser, as a root mean square."""
    iterations: int
    """The number of iterations."""


def solve(
    spec: Mapping[str, Any],
    kernel: NDArray[np.float64] | None,
    mask: NDArray[np.bool_] | None,
    values: Sequence[float],
    y: Array,
    method: str,
    accuracy: float,
    max_iterations: int | None,
    start: Array | None = None,
    shape: str | None = None,
) -> Denoised:
    """Compute one reconstruction, and warn if it is less accurate than requested.

    Accuracy and error are root mean squares over the samples. `shape` is the name of the kernel.
    """
    limit = None if max_iterations is None else positive_int("max_iterations", max_iterations)
    x, error, iterations, missed = _bilevel.reconstruct(
        json.dumps({**spec, "solver": {"method": method}}),
        {"kernel": kernel, "shape": shape, "mask": mask},
        values,
        flat(y),
        y.shape,
        None if start is None else flat(start),
        euclidean(accuracy, y.size),
        limit,
        max(UNWATCHED // y.size, 32),
    )
    error_bound = root_mean_square(error, y.size)
    if missed is not None:
        warn(
            f"accuracy={accuracy:g} was not reached, only {error_bound:g}: {missed}", RuntimeWarning
        )
    return Denoised(x.view(y.dtype).reshape(y.shape), error_bound, iterations)


def denoise_tv(
    y: ArrayLike,
    alpha: float,
    nu: float,
    xi: float,
    accuracy: float,
    *,
    method: str = "auto",
    max_iterations: int | None = None,
    image_range: tuple[float | None, float | None] | None = None,
    start: ArrayLike | Denoised | None = None,
    channel_axis: int | None = None,
    slices: str = "pictures",
) -> Denoised:
    r"""Minimise `½‖x − y‖² + α Σ √(‖∇x‖² + ν²) + ½ξ‖x‖²` to a certified accuracy.

    `∇` takes differences to the previous sample. As in the paper, a signal starts from zero on its
    left, and a picture or a volume continues beyond its borders with the values there.

    Args:
        y: A signal, a picture or, with `slices`, a volume. It is never changed, and not copied if
            it is C-contiguous `float64`. NaN and masked entries are missing pixels, which the sum
            `½‖x − y‖²` leaves out: they are filled. Then `xi` must be positive.
        alpha: The weight of the smoothed total variation.
        nu: The smoothing of the total variation.
        xi: The weight of the squared norm.
        accuracy: The largest distance from the exact minimiser, as a root mean square over the
            samples.
        method: "auto", "fista" or "gd" (gradient descent).
        max_iterations: The largest number of iterations. Default: no limit.
        image_range: The smallest and largest value that a pixel of `x` may have; either may be
            `None`. `x` then minimises over such images only.
        start: Where the iteration starts: an array of the shape of `y`, or an earlier `Denoised`.
            A good start saves iterations. It does not change what is certified: `error_bound`
            holds for any start. Default: `y`.
        channel_axis: The axis of channels, which are denoised one by one.
        slices: With "volume", `y` is a volume (slices, rows, columns), denoised as a whole with
            differences along three axes.

    Returns:
        `(x, error_bound, iterations)`. If `accuracy` was not reached, a `RuntimeWarning` gives the
        reason, and `error_bound` is the bound that was reached.

    Ctrl-C raises `KeyboardInterrupt`.

    >>> import bilevel
    >>> noisy = bilevel.add_noise(bilevel.phantoms.shepp_logan((32, 32)), 0.1)
    >>> values = {"alpha": 0.1, "nu": 1e-2, "xi": 1e-3}
    >>> x, error_bound, iterations = bilevel.denoise_tv(noisy, **values, accuracy=1e-3)
    >>> x.shape, error_bound <= 1e-3
    ((32, 32), True)
    >>> better = bilevel.denoise_tv(noisy, **values, accuracy=1e-6, start=x)
    >>> better.error_bound <= 1e-6
    True
    """
    is_volume = one_of("slices", slices, ("pictures", "volume")) == "volume"
    if channel_axis is not None:
        if is_volume:
            raise ValueError("channel_axis cannot be used with slices='volume': leave it out")
        given = {"method": method, "max_iterations": max_iterations, "image_range": image_range}
        return _channels(y, (alpha, nu, xi, accuracy), whole_axis(channel_axis), start, given)
    data = image("y", unmasked(y), finite=False, is_volume=is_volume)
    accuracy = nonnegative("accuracy", accuracy)
    values = {"alpha": alpha, "nu": nu, "xi": xi}
    fixed = {name: nonnegative(name, value) for name, value in values.items()}
    spec = {"task": "denoise", "model": {"fixed": fixed, **image_limits(image_range)}}
    first = None if start is None else _start(start, data)
    data = measured("y", data, spec, None)
    made = solve(spec, None, None, [], data, check_method(method), accuracy, max_iterations, first)
    return made._replace(x=like(made.x, y))


def _channels(
    y: ArrayLike,
    values: tuple[float, float, float, float],
    axis: int,
    start: ArrayLike | Denoised | None,
    given: dict[str, Any],
) -> Denoised:
    """Denoise the channels of a picture one by one."""
    picture = rgb("y", unmasked(y), axis, needs_three=False, finite=False)
    starts: Any = [None] * picture.shape[-1]
    if start is not None:
        first = rgb("start", start.x if isinstance(start, Denoised) else start, axis, False)
        starts = np.moveaxis(first, -1, 0)
    parts = [
        denoise_tv(plane, *values, start=at, **given)
        for plane, at in zip(np.moveaxis(picture, -1, 0), starts, strict=True)
    ]
    x = np.ascontiguousarray(np.moveaxis(np.stack([part.x for part in parts]), 0, axis))
    error = max(part.error_bound for part in parts)
    return Denoised(like(x, y), error, sum(part.iterations for part in parts))


def _start(start: ArrayLike | Denoised, data: Array) -> Array:
    """Check where the iteration starts."""
    given = start.x if isinstance(start, Denoised) else start
    found = image("start", given, is_volume=data.ndim == 3)
    if found.shape != data.shape:
        raise ValueError(f"start has shape {found.shape}, but y has shape {data.shape}")
    return found
