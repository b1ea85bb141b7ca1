"""Scores of reconstructions."""

from __future__ import annotations

from numpy.typing import ArrayLike

from . import _bilevel
from ._arrays import LARGE, Array, flat, image
from ._colour import rgb, whole_axis
from ._settings import one_of
from ._warn import warn


def _both(
    x: ArrayLike, truth: ArrayLike, channel_axis: int | None, slices: str
) -> tuple[Array, Array]:
    is_volume = one_of("slices", slices, ("pictures", "volume")) == "volume"
    if channel_axis is None:
        a, b = image("x", x, is_volume=is_volume), image("truth", truth, is_volume=is_volume)
    elif is_volume:
        raise ValueError("channel_axis cannot be used with slices='volume': leave it out")
    else:
        axis = whole_axis(channel_axis)
        a, b = rgb("x", x, axis, needs_three=False), rgb("truth", truth, axis, needs_three=False)
    if a.shape != b.shape:
        raise ValueError(f"x has shape {a.shape}, but truth has shape {b.shape}")
    return a, b


def _check_peak(truth: Array, peak: float) -> float:
    """Warn of values that do not fit the default of `peak`."""
    largest = float(truth.max())
    if peak == 1.0 and largest > LARGE:
        warn(
            f"truth has values of up to {largest:g}, but peak is 1: "
            f"pass peak={'255' if largest <= 255.0 else f'{largest:g}'}, or divide both by it",
            UserWarning,
        )
    return peak


def mse(
    x: ArrayLike,
    truth: ArrayLike,
    *,
    channel_axis: int | None = None,
    slices: str = "pictures",
) -> float:
    """Return the mean of the squared differences, over all channels if there is a `channel_axis`.

    With `slices="volume"`, the arrays are volumes (slices, rows, columns).

    >>> import bilevel
    >>> bilevel.mse([0.5, 1.0], [0.0, 1.0])
    0.125
    """
    a, b = _both(x, truth, channel_axis, slices)
    return _bilevel.mse(flat(a), flat(b))


def psnr(
    x: ArrayLike,
    truth: ArrayLike,
    peak: float = 1.0,
    *,
    channel_axis: int | None = None,
    slices: str = "pictures",
) -> float:
    """Return the peak signal-to-noise ratio in decibels, `10 log10(peak² / mse)`.

    It is infinite for equal images. `peak` is the largest possible value of a pixel. With
    `slices="volume"`, the arrays are volumes (slices, rows, columns).

    >>> import bilevel
    >>> round(bilevel.psnr([0.1, 0.9], [0.0, 1.0]), 6)
    20.0
    """
    a, b = _both(x, truth, channel_axis, slices)
    return _bilevel.psnr(flat(a), flat(b), _check_peak(b, peak))


def ssim(
    x: ArrayLike,
    truth: ArrayLike,
    peak: float = 1.0,
    *,
    channel_axis: int | None = None,
    slices: str = "pictures",
) -> float:
    """Return the structural similarity of two pictures, with a Gaussian window of 11 × 11 pixels.

    The definition is that of Wang, Bovik, Sheikh and Simoncelli (2004). `peak` is the largest
    possible value of a pixel. With a `channel_axis`, it is the mean over the channels, and with
    `slices="volume"` the mean over the slices of a volume.

    >>> import bilevel
    >>> picture = bilevel.phantoms.shepp_logan((32, 32))
    >>> bilevel.ssim(picture, picture)
    1.0
    """
    a, b = _both(x, truth, channel_axis, slices)
    if channel_axis is not None:
        each = [ssim(a[..., c], b[..., c], peak) for c in range(a.shape[-1])]
        return sum(each) / len(each)
    if slices == "volume":
        return sum(ssim(p, q, peak) for p, q in zip(a, b)) / len(a)
    if a.ndim != 2:
        raise ValueError(f"x has shape {a.shape}, but ssim compares pictures, which have two axes")
    return _bilevel.ssim(flat(a), flat(b), a.shape[0], a.shape[1], _check_peak(b, peak))
