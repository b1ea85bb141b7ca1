"""Test images and noise.

Values of images are in [0, 1]. Equal seeds give equal numbers on all machines.
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _bilevel
from ._arrays import Array, flat, image, images, is_array, like, refuse_masked
from ._camera import Poisson
from ._settings import nonnegative, positive_int, unsigned

__all__ = ["add_noise", "box_functions", "dead_leaves", "heads", "shepp_logan"]


def box_functions(n: int, size: int, seed: int = 0) -> NDArray[np.float64]:
    """Generate n signals that are 1 on a random interval and 0 elsewhere, of shape (n, size).

    >>> import bilevel
    >>> bilevel.phantoms.box_functions(3, 64).shape
    (3, 64)
    """
    n, size = positive_int("n", n), positive_int("size", size)
    _check_size(n * size)
    return _bilevel.box_functions(n, size, unsigned("seed", seed)).reshape(n, size)


def dead_leaves(
    n: int,
    shape: tuple[int, int] | tuple[int, int, int],
    seed: int = 0,
    *,
    colour: bool = False,
) -> NDArray[np.float64]:
    """Generate n pictures of discs that cover one another, of shape (n, *shape).

    Their statistics resemble those of photographs. With `colour`, the discs have colours, and the
    shape is (n, *shape, 3). The mean of the three colours is the grey picture. A `shape` (slices,
    rows, columns) gives volumes of balls.

    >>> import bilevel
    >>> bilevel.phantoms.dead_leaves(3, (32, 48)).shape
    (3, 32, 48)
    >>> bilevel.phantoms.dead_leaves(3, (6, 32, 48)).shape
    (3, 6, 32, 48)
    >>> bilevel.phantoms.dead_leaves(3, (32, 48), colour=True).shape
    (3, 32, 48, 3)
    """
    sides: tuple[int, ...]
    if isinstance(shape, (tuple, list)) and len(shape) == 3:
        sides = tuple(positive_int(f"shape[{axis}]", side) for axis, side in enumerate(shape))
        if colour:
            raise ValueError("colour cannot be used for volumes: leave it out")
    else:
        sides = _shape(shape)
    whole = (positive_int("n", n), *sides, 3) if colour else (positive_int("n", n), *sides)
    _check_size(math.prod(whole))
    made = _bilevel.dead_leaves(whole[0], sides, unsigned("seed", seed), bool(colour))
    return made.reshape(whole)


def heads(n: int, shape: tuple[int, int], seed: int = 0) -> NDArray[np.complex128]:
    """Generate n random heads as a scanner sees them, of shape (n, *shape).

    They are complex: Shepp-Logan phantoms that differ in shape and grey levels, with a smooth
    phase.

    >>> import bilevel
    >>> bilevel.phantoms.heads(3, (32, 48)).shape
    (3, 32, 48)
    """
    n, (rows, cols) = positive_int("n", n), _shape(shape)
    _check_size(2 * n * rows * cols)
    made = _bilevel.heads(n, rows, cols, unsigned("seed", seed))
    return made.view(np.complex128).reshape(n, rows, cols)


def shepp_logan(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Generate the Shepp-Logan head phantom.

    >>> import bilevel
    >>> float(bilevel.phantoms.shepp_logan((64, 64)).max())
    1.0
    """
    rows, cols = _shape(shape)
    _check_size(rows * cols)
    return _bilevel.shepp_logan(rows, cols).reshape(rows, cols)


@overload
def add_noise(truth: NDArray[Any], sigma: float | Poisson, seed: int = ...) -> Array: ...
@overload
def add_noise(
    truth: list[Any] | tuple[Any, ...], sigma: float | Poisson, seed: int = ...
) -> list[Array]: ...
def add_noise(truth: Any, sigma: float | Poisson, seed: int = 0) -> Any:
    """Add Gaussian noise of standard deviation `sigma`, or the noise of a camera.

    Every entry of `truth` has noise of its own; nothing is clipped.

    Args:
        truth: One image, or an array or a list of them, real or complex. Colour pictures and
            volumes are arrays, too.
        sigma: The standard deviation. For complex numbers it is that of the complex number. Or a
            `Poisson` camera.
        seed: Equal seeds give equal noise.

    Returns:
        An array for an array, or a list for a list, in single precision if `truth` is.

    >>> import bilevel
    >>> truth = bilevel.phantoms.box_functions(3, 64)
    >>> bool(abs((bilevel.add_noise(truth, 0.1) - truth).std() - 0.1) < 0.02)
    True
    """
    camera = sigma if isinstance(sigma, Poisson) else None
    level = 0.0 if isinstance(sigma, Poisson) else nonnegative("sigma", sigma)
    seed = unsigned("seed", seed)
    given = truth

    def noisy(clean: Array, index: int) -> Array:
        if camera is not None:
            if clean.dtype.kind == "c":
                raise ValueError("truth is complex, but a camera measures real numbers")
            photons = _bilevel.add_photons(flat(clean), camera.numbers, seed, index)
            return photons.reshape(clean.shape)
        made = _bilevel.add_noise(flat(clean), clean.dtype.kind == "c", level, seed, index)
        return made.view(clean.dtype).reshape(clean.shape)

    is_one_array = is_array(truth)
    if is_one_array:
        refuse_masked("truth", truth)
        truth = np.asarray(truth)
        if truth.ndim == 1 and truth.dtype.kind != "O":
            return like(noisy(image("truth", truth, complex_too=True), 0), given)
    if is_one_array and truth.ndim > 3:
        # the noise of an entry does not depend on what its axes mean
        rows = truth.reshape(-1, *truth.shape[-2:])
        return add_noise(rows, sigma, seed).reshape(truth.shape)
    made = [
        noisy(clean, index)
        for index, clean in enumerate(images("truth", truth, complex_too=True, any_shape=True))
    ]
    if is_one_array and truth.dtype.kind != "O":
        return like(np.stack(made), given)
    return [like(noise, clean) for noise, clean in zip(made, given)]


def _check_size(num_pixels: int) -> None:
    """Refuse sizes for which memory would run out, which Rust cannot report."""
    if num_pixels > 2**31:
        raise ValueError(f"{num_pixels} pixels are requested, but at most 2^31 are possible")


def _shape(shape: tuple[int, ...]) -> tuple[int, int]:
    try:
        rows, cols = shape
    except (TypeError, ValueError):
        raise ValueError(f"shape is {shape!r}, but must be (rows, columns)") from None
    return positive_int("shape[0]", rows), positive_int("shape[1]", cols)
