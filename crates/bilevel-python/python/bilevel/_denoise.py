"""The certified solver, directly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import Array, flat, image
from ._settings import check_method, image_limits, nonnegative, positive_int
from ._warn import warn

# So many pixels are updated before Ctrl-C is looked for: a fraction of a second.
UNWATCHED: Final = 2**26


class Denoised(NamedTuple):
    """A reconstruction, and how close it is to the exact one."""

    x: NDArray[np.float64]
    """The reconstruction."""
    error_bound: float
    """Its Euclidean distance from the exact minimiser is certainly at most this."""
    iterations: int
    """How many iterations it took."""


def solve(
    spec: Mapping[str, Any],
    kernel: NDArray[np.float64] | None,
    mask: NDArray[np.bool_] | None,
    values: Sequence[float],
    y: Array,
    method: str,
    accuracy: float,
    max_iterations: int | None,
) -> Denoised:
    """One reconstruction, with a warning where it is less accurate than it should be."""
    limit = None if max_iterations is None else positive_int("max_iterations", max_iterations)
    x, error_bound, iterations, missed = _bilevel.reconstruct(
        json.dumps({**spec, "solver": {"method": method}}),
        {"kernel": kernel, "mask": mask},
        values,
        flat(y),
        y.shape,
        accuracy,
        limit,
        max(UNWATCHED // y.size, 32),
    )
    if missed is not None:
        warn(
            f"accuracy={accuracy:g} was not reached, only {error_bound:g}: {missed}", RuntimeWarning
        )
    return Denoised(x.view(y.dtype).reshape(y.shape), error_bound, iterations)


def denoise(
    y: ArrayLike,
    alpha: float,
    nu: float,
    xi: float,
    accuracy: float,
    *,
    method: str = "auto",
    max_iterations: int | None = None,
    image_range: tuple[float | None, float | None] | None = None,
) -> Denoised:
    r"""Minimise `½‖x − y‖² + α Σ √(‖∇x‖² + ν²) + ½ξ‖x‖²` until `x` is certainly close to the minimiser.

    `∇` are differences to the sample before; left of a signal is zero, and pictures go on as they are, as in the paper.

    Args:
        y: A signal or a picture. It is not copied if it is `float64` and C-contiguous, and never changed.
        alpha: The weight of the smoothed total variation.
        nu: How much it is smoothed.
        xi: The weight of the squared norm.
        accuracy: What the Euclidean distance from the exact minimiser may be.
        method: "auto", "fista" or "gd" (gradient descent).
        max_iterations: Gives up after so many.
        image_range: The smallest and largest value that `x` may have, either of which may be `None`. The minimiser is then that among
            such `x`.

    Returns:
        `(x, error_bound, iterations)`. If `accuracy` was not reached, a `RuntimeWarning` says why, and `error_bound` is what is
        certain all the same.

    Ctrl-C ends it with `KeyboardInterrupt`.

    >>> import bilevel
    >>> noisy = bilevel.add_noise(bilevel.phantoms.shepp_logan((32, 32)), 0.1)
    >>> x, error_bound, iterations = bilevel.denoise(noisy, alpha=0.1, nu=1e-2, xi=1e-3, accuracy=1e-3)
    >>> x.shape, error_bound <= 1e-3
    ((32, 32), True)
    """
    data = image("y", y)
    accuracy = nonnegative("accuracy", accuracy)
    values = {"alpha": alpha, "nu": nu, "xi": xi}
    fixed = {name: nonnegative(name, value) for name, value in values.items()}
    spec = {"task": "denoise", "model": {"fixed": fixed, **image_limits(image_range)}}
    return solve(spec, None, None, [], data, check_method(method), accuracy, max_iterations)
