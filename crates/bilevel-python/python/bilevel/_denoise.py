"""The certified solver, directly."""

from __future__ import annotations

import json
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import flat, image
from ._settings import check_method, nonnegative, positive_int


class Denoised(NamedTuple):
    """A reconstruction, and how close it is to the exact one."""

    x: NDArray[np.float64]
    """The reconstruction."""
    error_bound: float
    """Its Euclidean distance from the exact minimiser is certainly at most this."""
    iterations: int
    """How many iterations it took."""


def denoise(
    y: ArrayLike,
    alpha: float,
    nu: float,
    xi: float,
    accuracy: float,
    *,
    method: str = "auto",
    max_iterations: int | None = None,
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

    Returns:
        `(x, error_bound, iterations)`. If `accuracy` was not reached, a `RuntimeWarning` says why, and `error_bound` is what is
        certain all the same.

    >>> import bilevel
    >>> noisy = bilevel.add_noise(bilevel.phantoms.shepp_logan((32, 32)), 0.1)
    >>> x, error_bound, iterations = bilevel.denoise(noisy, alpha=0.1, nu=1e-2, xi=1e-3, accuracy=1e-3)
    >>> x.shape, error_bound <= 1e-3
    ((32, 32), True)
    """
    data = image("y", y)
    accuracy = nonnegative("accuracy", accuracy)
    values = {"alpha": alpha, "nu": nu, "xi": xi}
    family = {"model": "tv", **{name: {"fixed": nonnegative(name, value)} for name, value in values.items()}}
    x, error_bound, iterations, missed = _bilevel.reconstruct(
        json.dumps(family),
        {"kernel": None, "mask": None},
        [],
        flat(data),
        data.shape,
        check_method(method),
        accuracy,
        None if max_iterations is None else positive_int("max_iterations", max_iterations),
    )
    if missed is not None:
        warnings.warn(
            f"accuracy={accuracy} was not reached, only {error_bound}: {missed}", RuntimeWarning, stacklevel=2
        )
    return Denoised(x.reshape(data.shape), error_bound, iterations)
