"""Denoising with filter banks that were learned beforehand."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any, Final, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _bilevel
from ._arrays import Array, check_finite, flat, numbers, refuse_masked, where_one_picture
from ._camera import Poisson
from ._settings import euclidean, pair, positive, root_mean_square
from ._warn import warn

# Values may lie outside of [0, 1] by this multiple of the noise, as in the program.
DEVIATIONS: Final = 6.0
# Largest noise for which values outside of [0, 1] are taken for noise, as in the program.
MAX_NOISE: Final = 0.5
# Largest noise that is probably given in the right unit, as in the program.
MAX_GIVEN: Final = 1.0
# Smallest estimate of the noise that can be trusted.
TRUSTED: Final = 0.01
# A smaller estimate means that there is no noise, as in the program.
NO_NOISE: Final = 1e-6
# Memory per sample if a picture is denoised at once, in bytes, as in the program.
WHOLE: Final = 200
# The same by tiles, for grey pictures and for pictures in colour, as in the program.
TILED: Final = 16
TILED_COLOUR: Final = 24
# Memory of a region of tiles on one thread, in bytes, as in the program.
REGION: Final = 2**27
# Memory that a picture may take, in bytes, as in the program.
MEMORY: Final = 4e9
# The end of the message about missing pixels.
MISSING: Final = (
    "but all pixels are needed here: without the data of a pixel, the objective of these filters "
    "has no proved minimiser. Total variation fills missing pixels: call "
    "bilevel.denoise_tv({}, alpha=0.1, nu=0.01, xi=1e-3, accuracy=1e-3) with alpha close to the "
    "noise, or learn alpha with bilevel.learn(None, [{}], noise=0.1)"
)
# The largest values of unsigned integers, which are white, by the number of bytes.
WHITE: Final = {1: 255.0, 2: 65535.0}


@dataclass(frozen=True, eq=False)
class DenoisedImage:
    """A denoised picture with a bound on its error. NumPy reads it as the array `image`.

    >>> import bilevel, numpy
    >>> noisy = bilevel.add_noise(bilevel.phantoms.shepp_logan((32, 32)), 0.1)
    >>> denoised = bilevel.denoise(noisy, noise=0.1)
    >>> numpy.asarray(denoised) is denoised.image
    True
    """

    image: NDArray[Any] = field(repr=False)
    """The denoised picture, with the shape and type of the noisy one."""
    noise: float
    """The standard deviation of the noise, given or estimated, where the range of the picture is
    1."""
    error_bound: float
    """A certified bound on the distance from the exact minimiser: the root mean square over all
    samples, where the range of the picture is 1, before `image` is rounded to its type."""
    iterations: int
    """The number of iterations."""
    camera: Poisson | None = None
    """The camera, if the noise is that of one. Then `noise` and `error_bound` are those of the
    transformed picture."""

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the denoised picture."""
        return np.array(self.image, dtype=dtype, copy=copy)  # type: ignore[arg-type,unused-ignore]


def denoise(
    image: ArrayLike,
    noise: float | Poisson | None = None,
    *,
    accuracy: float | None = None,
    data_range: float | tuple[float, float] | None = None,
    channel_axis: int | None = None,
    memory: float = MEMORY,
    **others: Any,
) -> DenoisedImage:
    r"""Denoise a picture, grey or in colour, without learning anything first.

    The result minimises an objective whose filters were learned from photographs, for noise from
    2/255 to 75/255 of the range; pictures with other noise are scaled. The noise is assumed to be
    Gaussian and independent from pixel to pixel. The objective has one minimiser, and the distance
    from it is certified.

    Args:
        image: An array (H, W), or (H, W, 3) in colour. `uint8` and `uint16` arrays of shape
            (H, W, 3) are taken as colour pictures, others need `channel_axis`. It is never changed.
        noise: The standard deviation of the noise, as a share of the range of the picture: 0.1 is
            25.5 for `uint8`. For a camera that counts photons, `bilevel.Poisson(gain, read)`, also
            as shares of the range. Default: it is estimated, see `estimate_noise`.
        accuracy: The largest distance from the exact minimiser, as a root mean square over all
            samples and a share of the range. Default: a hundredth of the noise.
        data_range: The values of black and white, or only of white. Default: 0 and 255 for `uint8`,
            0 and 65535 for `uint16`, 0 and 1 for floating-point numbers. Other integers, and
            floating-point numbers that lie further outside of [0, 1] than noise explains, need it.
        channel_axis: The axis of red, green and blue. All colours are denoised together.
        memory: The number of bytes that the computation may take besides the arrays. Larger
            pictures are denoised by tiles that overlap, and iterations on the whole picture remove
            the seams. The error of the whole picture is certified; the result has single precision.
            Pictures that take more memory even by tiles are refused.

    Returns:
        The picture as `image`, with `noise`, `error_bound` and `iterations`. `uint8`, `uint16` and
        floating-point numbers keep their type; other numbers become `float64`.

    Ctrl-C raises `KeyboardInterrupt`.

    >>> import bilevel
    >>> truth = bilevel.phantoms.dead_leaves(1, (48, 48))[0]
    >>> noisy = bilevel.add_noise(truth, 0.1)
    >>> denoised = bilevel.denoise(noisy, noise=0.1)
    >>> bilevel.psnr(denoised, truth) > bilevel.psnr(noisy, truth) + 2
    True
    >>> denoised.image.shape, denoised.error_bound <= 0.1 * 0.1
    ((48, 48), True)
    """
    if others:
        raise TypeError(
            f"denoise has no argument {next(iter(others))!r}: the denoiser with total variation is "
            "bilevel.denoise_tv(y, alpha, nu, xi, accuracy)"
        )
    camera = noise if isinstance(noise, Poisson) else None
    sigma = None if noise is None or camera else positive("noise", noise)
    target = None if accuracy is None else positive("accuracy", accuracy)
    allowed = positive("memory", memory)
    picture = _Picture(image, data_range, channel_axis)
    by_tiles = _needs_tiles(picture.planes, allowed)
    if camera is not None:
        sigma = _bilevel.camera_noise(camera.numbers)[1]
    elif sigma is None:
        sigma = _estimated(picture)
    elif sigma > MAX_GIVEN:
        warn(
            f"noise is {sigma:g}, but black is 0 and white is 1: divide a noise level in the "
            f"numbers of the image by their range, such as noise={sigma:g}/255 for uint8",
            UserWarning,
        )
    picture.check_range(sigma)
    rows, cols = picture.shape
    planes = flat(picture.planes)
    if camera is not None:
        planes, sigma = np.asarray(camera.transform(planes)), camera.sigma
    norm = None if target is None else euclidean(target, planes.size)
    x, error, iterations = _bilevel.denoise_picture(planes, rows, cols, sigma, norm, by_tiles)
    error_bound = root_mean_square(error, planes.size)
    if camera is not None:
        x = np.asarray(camera.inverse(x))
    return DenoisedImage(picture.restored(x), sigma, error_bound, iterations, camera)


def estimate_noise(
    image: ArrayLike,
    *,
    data_range: float | tuple[float, float] | None = None,
    channel_axis: int | None = None,
) -> float:
    """Estimate the standard deviation of white Gaussian noise, where black is 0 and white is 1.

    A filter removes most of the picture, and the smoothest parts of the rest show the noise. On
    photographs the estimate exceeds the noise by about 1 % for noise 0.1 and by 7 % for 0.02. It
    cannot be trusted below 0.01, nor for noise that depends on the brightness or that neighbouring
    pixels have in common, as after JPEG compression. The arguments are those of `denoise`, and the
    picture needs at least five rows and columns.

    >>> import bilevel, numpy
    >>> noisy = bilevel.add_noise(numpy.full((64, 64), 0.5), 0.1)
    >>> 0.09 < bilevel.estimate_noise(noisy) < 0.11
    True
    """
    picture = _Picture(image, data_range, channel_axis)
    found = picture.noise()
    picture.check_range(found)
    return found


def _estimated(picture: _Picture) -> float:
    """Estimate the noise of a picture that is to be denoised."""
    try:
        found = picture.noise()
    except ValueError as error:
        raise ValueError(f"{error}: pass the noise, such as noise=0.1") from None
    if not found > NO_NOISE:
        raise ValueError("image seems to have no noise: if it has some, pass it, such as noise=0.1")
    if found < TRUSTED:
        warn(
            f"the noise was estimated as {found:.2g}, but estimates below {TRUSTED} cannot be "
            "trusted: pass the noise",
            UserWarning,
        )
    return found


def _needs_tiles(planes: Array, allowed: float) -> bool:
    """Return whether a picture must be denoised by tiles, and refuse one that is too large."""
    whole = planes.size * WHOLE
    regions = REGION * (os.cpu_count() or 1)
    by_tiles = planes.size * (TILED if planes.ndim == 2 else TILED_COLOUR) + regions
    needed = min(whole, by_tiles)
    if needed <= allowed:
        return whole > allowed
    unit = 1e6 if needed < 1e9 else 1e9
    raise ValueError(
        f"image takes about {needed / 1e9:.2g} GB of memory, but {allowed / 1e9:.2g} GB are "
        f"allowed: allow more, such as memory={math.ceil(needed / unit) * unit:.10g}"
    )


class _Picture:
    """The planes of a picture, in which black is 0 and white is 1."""

    def __init__(self, image: ArrayLike, data_range: Any, channel_axis: Any) -> None:
        if isinstance(image, np.ma.MaskedArray) and np.ma.getmaskarray(image).any():
            raise ValueError(f"image is a masked array, {MISSING.format('image', 'image')}")
        refuse_masked("image", image)
        whole = numbers("image", image)
        self._dtype = np.asarray(image).dtype
        if whole.dtype.kind == "c":
            raise ValueError(
                "image is complex, but real numbers are needed here: "
                "pass the real part or the absolute value of image"
            )
        self._is_given = data_range is not None
        self._low, self._high = self._range(data_range)
        self._axis = self._channel_axis(whole, channel_axis)
        if whole.size == 0:
            raise ValueError(f"image has shape {whole.shape}: it is empty")
        if np.isnan(whole).any():
            raise ValueError(f"image has NaN, {MISSING.format('image', 'image')}")
        check_finite("image", whole)
        if self._axis is not None:
            whole = np.moveaxis(whole, self._axis, 0)
        self.shape = (whole.shape[-2], whole.shape[-1])
        if (self._low, self._high) != (0.0, 1.0):
            whole = (whole - self._low) / (self._high - self._low)
        self.planes: Array = np.ascontiguousarray(whole)

    def noise(self) -> float:
        """Estimate the noise."""
        return _bilevel.estimate_noise(flat(self.planes), *self.shape)

    def check_range(self, noise: float) -> None:
        """Refuse floating-point numbers that lie further outside of [0, 1] than noise explains."""
        if self._is_given or self._dtype.kind not in "fb":
            return
        low, high = float(self.planes.min()), float(self.planes.max())
        margin = DEVIATIONS * min(noise, MAX_NOISE)
        if not (low >= -margin and high <= 1.0 + margin):
            raise ValueError(
                f"image has values between {low:g} and {high:g}, but without data_range black is 0 "
                f"and white is 1: pass the values of black and white, such as "
                f"data_range=({min(low, 0.0):g}, {high:g})"
            )

    def restored(self, x: NDArray[np.float64]) -> NDArray[Any]:
        """Return denoised planes in the form and type of the picture."""
        made: NDArray[Any] = x.reshape(self.planes.shape)
        if (self._low, self._high) != (0.0, 1.0):
            made = self._low + (self._high - self._low) * made
        if self._axis is not None:
            made = np.ascontiguousarray(np.moveaxis(made, 0, self._axis))
        dtype = self._dtype.newbyteorder("=")
        if _white(dtype) is not None:
            rounded: NDArray[Any] = np.clip(np.rint(made), 0.0, _white(dtype)).astype(dtype)
            return rounded
        return made.astype(dtype, copy=False) if dtype.kind == "f" and dtype.itemsize < 8 else made

    def _range(self, data_range: Any) -> tuple[float, float]:
        if data_range is None:
            white = _white(self._dtype)
            if white is None and self._dtype.kind in "iu":
                raise ValueError(
                    f"image holds integers of type {self._dtype}, and which of them is white is "
                    "not known: pass data_range, such as data_range=4095"
                )
            return 0.0, white or 1.0
        if np.ndim(data_range) == 0:
            return 0.0, positive("data_range", data_range)
        low, high = pair("data_range", data_range)
        if not (low < high and np.isfinite(high - low)):
            raise ValueError(f"data_range is {data_range}, but needs black below white")
        return low, high

    def _channel_axis(self, whole: Array, channel_axis: Any) -> int | None:
        shape = whole.shape
        if channel_axis is None:
            if whole.ndim == 2:
                return None
            if whole.ndim == 3 and shape[2] in (3, 4):
                if shape[2] == 3 and _white(self._dtype) is not None and min(shape[:2]) > 3:
                    return 2
                advice = "" if shape[2] == 3 else "image[..., :3], without transparency, and "
                raise ValueError(
                    f"image has shape {shape}, which looks like a colour picture: "
                    f"pass {advice}channel_axis=-1"
                )
            if whole.ndim == 1:
                raise ValueError(
                    f"image has shape {shape}, but a picture has two axes: "
                    "for signals, use bilevel.denoise_tv"
                )
            raise ValueError(f"image has shape {shape}, {where_one_picture('image', shape)}")
        if not isinstance(channel_axis, SupportsIndex) or isinstance(channel_axis, bool):
            raise TypeError(f"channel_axis must be a whole number, not {channel_axis!r}")
        axis = channel_axis.__index__()
        if whole.ndim != 3 or not -3 <= axis < 3:
            raise ValueError(
                f"image has shape {shape}, but with channel_axis={axis} it must have three axes, "
                "such as (H, W, 3)"
            )
        if shape[axis] != 3:
            advice = "image[..., :3], without transparency, or " if shape[axis] == 4 else ""
            raise ValueError(
                f"image has shape {shape}, but axis {axis} must hold red, green and blue: "
                f"pass {advice}unrelated channels one at a time"
            )
        return axis % 3


def _white(dtype: np.dtype[Any]) -> float | None:
    """The value of white that a type implies."""
    return WHITE.get(dtype.itemsize) if dtype.kind == "u" else None
