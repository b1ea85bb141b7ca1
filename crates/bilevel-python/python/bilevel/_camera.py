"""Cameras that count photons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import Array, flat, images, like, numbers
from ._settings import nonnegative, number, positive


@dataclass(frozen=True)
class Poisson:
    """The noise of a camera that counts photons: pass it as `noise` to `denoise` and `learn`.

    The data are `black + gain * Poisson((x - black) / gain)` plus Gaussian read noise. All three
    numbers are in the unit of the picture; in `denoise`, black of `data_range` is 0 and white 1.

    The generalised Anscombe transform makes the noise nearly Gaussian with the same strength
    everywhere. Pictures are transformed, denoised, and transformed back by the exact unbiased
    inverse (Mäkitalo and Foi, 2013): the clean picture whose transformed data have the given mean.
    Certified errors are those of the transformed picture.

    >>> import bilevel, numpy
    >>> truth = bilevel.phantoms.dead_leaves(1, (48, 48))[0]
    >>> camera = bilevel.Poisson(gain=0.05, read=0.01)     # 20 photons at white
    >>> noisy = bilevel.add_noise(truth, camera)
    >>> denoised = bilevel.denoise(noisy, camera)
    >>> bilevel.psnr(denoised, truth) > bilevel.psnr(noisy, truth) + 3
    True
    """

    gain: float
    """The value of one photon."""
    read: float = 0.0
    """The standard deviation of the read noise."""
    black: float = 0.0
    """The value without light."""

    def __post_init__(self) -> None:
        positive("gain", self.gain)
        nonnegative("read", self.read)
        number("black", self.black)

    @classmethod
    def estimate(cls, frames: Any, black: float = 0.0) -> Poisson:
        """Estimate gain and read noise from two or more frames of the same scene.

        The variance of a pixel over neighbouring frames grows linearly with its mean. A scene that
        moves makes both numbers larger. The black level cannot be estimated: measure it with the
        lens covered.

        >>> import bilevel
        >>> truth = bilevel.phantoms.dead_leaves(1, (64, 64))[0]
        >>> frames = bilevel.add_noise([truth] * 4, bilevel.Poisson(0.05, 0.02))
        >>> 0.04 < bilevel.Poisson.estimate(frames).gain < 0.06
        True
        """
        level = number("black", black)
        checked = images("frames", frames, any_shape=True)
        if len({frame.shape for frame in checked}) > 1:
            raise ValueError("frames differ in shape, but must show the same scene")
        if checked[0].ndim == 1:
            raise ValueError(
                f"frames has shape {np.shape(frames)}, but frames are pictures: pass an array of "
                "shape (n, H, W), or a list of pictures"
            )
        gain, read = _bilevel.estimate_camera([flat(frame - level) for frame in checked])
        return cls(gain, read, level)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise in transformed data."""
        return _bilevel.camera_noise(self.numbers)[0]

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Gain, read noise and black level."""
        return float(self.gain), float(self.read), float(self.black)

    def transform(self, data: ArrayLike) -> NDArray[Any]:
        """Transform data, so that their noise is nearly Gaussian, of standard deviation `sigma`.

        Data of the value `black + 1` become 1.
        """
        return self._map("transform", data)

    def expected(self, truth: ArrayLike) -> NDArray[Any]:
        """Return the mean of transformed data over the noise, for a clean picture."""
        return self._map("expected", truth)

    def inverse(self, z: ArrayLike) -> NDArray[Any]:
        """Return the clean picture whose transformed data have the mean `z`.

        >>> import bilevel
        >>> camera = bilevel.Poisson(0.05)
        >>> round(float(camera.inverse(camera.expected([0.3]))[0]), 6)
        0.3
        """
        return self._map("inverse", z)

    def _map(self, name: str, values: ArrayLike) -> NDArray[Any]:
        array = numbers(name, values)
        if array.dtype.kind == "c":
            raise ValueError("the data of a camera are real numbers, not complex")
        made = _bilevel.camera_map(self.numbers, name, flat(array)).reshape(array.shape)
        return np.asarray(like(made, values))


def of_numbers(given: Any) -> Poisson | None:
    """Return the camera that a result was learned for, if there is one."""
    return None if given is None else Poisson(*given)


def transformed(camera: Poisson | None, pictures: list[Array], name: str) -> list[Array]:
    """Apply a map of the camera to pictures, if there is one."""
    if camera is None:
        return pictures
    return [np.asarray(camera._map(name, picture)) for picture in pictures]
