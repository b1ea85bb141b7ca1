"""Masks for magnetic resonance imaging: which frequencies of pictures to measure."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _bilevel
from ._arrays import Array, counted, flat, numbers, refuse_masked
from ._directory import write
from ._settings import nonnegative, number, one_of, positive, positive_int, unsigned, whole
from ._warn import warn

# The name of the file with the result in the directory of a run.
RESULT: Final = "result.json"
# The filters whose potentials can be convex.
FILTERS: Final = ("dct3", "dct5", "dct7")


@dataclass(frozen=True, eq=False)
class MaskedImages:
    """Pictures that were reconstructed from some of their frequencies.

    NumPy reads it as the array `image`.

    >>> import bilevel, numpy
    >>> kspace = numpy.fft.fft2(bilevel.phantoms.heads(3, (16, 16)), norm="ortho")
    >>> result = bilevel.learn_mask(kspace, centre=2, noise=0.02)
    >>> pictures = result.reconstruct(kspace * result.mask)
    >>> pictures.image.shape, pictures.error_bound < 0.01
    ((3, 16, 16), True)
    """

    image: NDArray[np.complex128] = field(repr=False)
    """The complex pictures: (rows, columns), or (slices, rows, columns)."""
    error_bound: float
    """A certified bound on the distance from the exact minimiser, in the unit of the pictures: the
    root mean square over all pixels, the largest of all slices."""
    iterations: int
    """The number of iterations for all slices."""

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the pictures."""
        return np.array(self.image, dtype=dtype, copy=copy)  # type: ignore[arg-type,unused-ignore]


class MaskResult:
    """A learned mask, with the parameters of its reconstructions.

    >>> import bilevel, numpy
    >>> kspace = numpy.fft.fft2(bilevel.phantoms.heads(3, (16, 16)), norm="ortho")
    >>> result = bilevel.learn_mask(kspace, centre=2, noise=0.02)
    >>> result.pattern, int(result.mask.sum())
    ('lines', 64)
    """

    def __init__(self, outcome: dict[str, Any]) -> None:
        self._outcome = outcome
        weights, self._findings = _bilevel.describe_mask(json.dumps(outcome))
        self._mask = weights.reshape(self._outcome["shape"]) > 0.5

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which frequencies to measure: (rows, columns), in the order of `kspace`."""
        return self._mask.copy()

    @property
    def indices(self) -> NDArray[np.intp]:
        """The columns of a mask of lines, or the rows and columns (n, 2) of a mask of points."""
        if self.pattern == "lines":
            return np.flatnonzero(self._mask[0])
        return np.argwhere(self._mask)

    @property
    def pattern(self) -> str:
        """The pattern of the mask, `lines` or `points`."""
        return str(self._outcome["spec"]["pattern"])

    @property
    def alpha(self) -> float:
        """The weight of the regulariser, for pictures whose brightest pixel is 1."""
        return float(self._outcome["alpha"])

    @property
    def nu(self) -> float:
        """The smoothing of the regulariser."""
        return float(self._outcome["nu"])

    @property
    def filter_weights(self) -> NDArray[np.float64] | None:
        """The weights of the filters relative to `alpha`; None for total variation."""
        weights = self._outcome.get("filters")
        return np.array(weights, dtype=float) if weights else None

    @property
    def objective(self) -> tuple[float, float]:
        """Two numbers between which the objective certainly lies.

        It is the mean of the squared distances from the truths, relative to their squared norms.
        """
        lower, upper = self._outcome["objective"]
        return float(lower), float(upper)

    @property
    def is_complete(self) -> bool:
        """Whether learning ended by itself; if not, the mask may be too small."""
        return bool(self._outcome["is_complete"])

    @property
    def evaluations(self) -> int:
        """The number of masks that were tried."""
        return int(self._outcome["evaluations"])

    @property
    def held_out(self) -> list[int]:
        """The numbers of the slices that were not learned from."""
        return [int(slice_) for slice_ in self._outcome["held_out"]]

    @property
    def findings(self) -> list[str]:
        """Sentences that explain the result."""
        return list(self._findings)

    def compare(self) -> list[dict[str, Any]]:
        """Compare the mask with others of the same size, on held-out slices.

        The other masks are random ones with a variable density whose exponent was tuned, a low-pass
        mask and an equispaced one. Scores are means of `psnr` and `ssim` of the moduli, of the
        whole pictures and `inside` the object. Without held-out slices, training slices are scored.
        A `pandas.DataFrame` of the list is a table.
        """
        names = ("psnr_inside", "ssim_inside", "psnr", "ssim")
        return [
            {"mask": row["name"]}
            | {name: _mean([score[name] for score in row["scores"]]) for name in names}
            | {"alpha": row["alpha"]}
            for row in self._outcome["comparison"]
        ]

    def reconstruct(
        self,
        kspace: ArrayLike,
        *,
        coils: ArrayLike | None = None,
        frequency_zero: str | None = None,
        accuracy: float = 1e-3,
    ) -> MaskedImages:
        """Reconstruct pictures from the frequencies in the mask; the others are ignored.

        Args:
            kspace: Complex frequencies, in the shapes that `learn_mask` takes. Frequencies that
                were not measured may be zeros.
            coils: The sensitivity maps of the coils, for several coils.
            frequency_zero: The place of frequency zero, as for `learn_mask`.
            accuracy: The largest distance from the exact minimiser, as a root mean square over all
                pixels, where the brightest pixel is 1.

        Returns:
            The pictures as `image`, complex and in the unit of `kspace`, with `error_bound`.
        """
        values = _complex("kspace", kspace)
        maps = None if coils is None else _complex("coils", coils)
        pictures, errors, iterations, reached = _bilevel.reconstruct_masked(
            json.dumps(self._outcome),
            _pair(values),
            None if maps is None else _pair(maps),
            _zero(frequency_zero),
            positive("accuracy", accuracy),
        )
        if not reached:
            warn(
                f"the requested accuracy was not reached: error_bound is {max(errors)}",
                RuntimeWarning,
            )
        stack = pictures.view(np.complex128).reshape(-1, *values.shape[-2:])
        single = values.ndim == (2 if maps is None else 3)
        return MaskedImages(stack[0] if single else stack, max(errors), iterations)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, with all numbers exact. `load_mask` reads it."""
        write(path, json.dumps(self._outcome) + "\n")

    def __repr__(self) -> str:
        """Describe the mask in one line."""
        count = len(self.indices)
        text = f"MaskResult({count} {self.pattern}, alpha={self.alpha:.3g}, nu={self.nu:.3g}"
        rows = self.compare()
        if rows:
            text += f", PSNR inside {rows[0]['psnr_inside']:.2f} dB"
        return text + ")"


def learn_mask(
    kspace: ArrayLike,
    *,
    coils: ArrayLike | None = None,
    pattern: str = "lines",
    budget: float = 0.25,
    centre: int = 8,
    method: str = "search",
    model: str = "tv",
    filters: str | None = None,
    nu: float | None = None,
    restarts: int = 1,
    max_exchanges: int = 150,
    noise: float = 0.0,
    hold_out: int | None = None,
    frequency_zero: str | None = None,
    seed: int = 1,
    callback: Callable[[int, int, int, float], Any] | None = None,
) -> MaskResult:
    """Learn which frequencies of magnetic resonance pictures to measure.

    A search adds the lines or points in which reconstructions have the largest error, and then
    exchanges some of them. Reconstructions minimise a data term plus a regulariser, whose weight
    `alpha` is learned along with the mask. They are as accurate as decisions need: an exchange is
    accepted if certified intervals prove that the objective decreases.

    Args:
        kspace: Complex frequencies of fully measured slices: (rows, columns), or (slices, rows,
            columns). With `coils`: (coils, rows, columns), or (slices, coils, rows, columns). A
            line is a column.
        coils: The sensitivity maps of the coils: (coils, rows, columns), or one set for each slice.
        pattern: "lines" or "points".
        budget: The share of all lines or points to measure.
        centre: The width of the centre, which is always measured.
        method: "search", or "relax" for weights between 0 and 1 that are rounded, for comparison.
        model: The regulariser: "tv" for total variation, or "filters" for a bank of cosine filters
            with convex potentials.
        filters: The filters of model "filters": "dct3", "dct5" or "dct7", with 3, 5 or 7 pixels
            along each axis. Default: "dct3". Their relative weights are learned for the mask.
        nu: The smoothing of the regulariser. Default: it is learned for the final mask.
        restarts: The number of searches from different starts.
        max_exchanges: The largest number of exchanges that each search tries.
        noise: The standard deviation of complex noise to add, as a share of the brightest pixel of
            all slices.
        hold_out: The number of slices to hold out, spread over the stack. Default: a quarter.
        frequency_zero: Where frequency zero is: "first", as `numpy.fft` has it, or "middle", as
            scanners have it. The origin of the pictures and of the sensitivity maps is at the same
            place. Default: the place with more energy.
        seed: The seed of the noise.
        callback: A function that is called after each mask with the number of masks so far, the
            size of the current mask, that of the complete mask, and the upper bound of the
            objective.

    Ctrl-C ends learning; the best mask so far is returned, with a warning.

    >>> import bilevel, numpy
    >>> heads = bilevel.phantoms.heads(3, (16, 16))
    >>> kspace = numpy.fft.fft2(heads, norm="ortho")
    >>> result = bilevel.learn_mask(kspace, centre=2, noise=0.02)
    >>> result.mask.shape, len(result.indices)
    ((16, 16), 4)
    >>> result.reconstruct(kspace[0] * result.mask).image.shape
    (16, 16)
    """
    values = _complex("kspace", kspace)
    maps = None if coils is None else _complex("coils", coils)
    spec = {
        "pattern": one_of("pattern", pattern, ("lines", "points")),
        "budget": number("budget", budget),
        "centre": whole("centre", centre, 0),
        "method": one_of("method", method, ("search", "relax")),
        "filters": _filters(one_of("model", model, ("tv", "filters")), filters),
        "nu": None if nu is None else positive("nu", nu),
        "restarts": positive_int("restarts", restarts),
        "max_exchanges": whole("max_exchanges", max_exchanges, 0),
        "noise": nonnegative("noise", noise),
        "hold_out": None if hold_out is None else whole("hold_out", hold_out, 0),
        "seed": unsigned("seed", seed),
    }
    observe = (lambda *_: None) if callback is None else callback
    text = _bilevel.learn_mask(
        _pair(values),
        None if maps is None else _pair(maps),
        _zero(frequency_zero),
        json.dumps(spec),
        observe,
    )
    result = MaskResult(json.loads(text))
    if not result.is_complete:
        count = counted(result.evaluations, "mask")
        warn(f"interrupted after {count}: this is the best mask so far", RuntimeWarning)
    return result


def load_mask(path: str | os.PathLike[str]) -> MaskResult:
    """Read a mask: a file that `MaskResult.save` wrote, or a run of `bilevel learn mask`.

    >>> import bilevel, numpy, pathlib, tempfile
    >>> kspace = numpy.fft.fft2(bilevel.phantoms.heads(3, (16, 16)), norm="ortho")
    >>> result = bilevel.learn_mask(kspace, centre=2, noise=0.02)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mask.json")
    ...     result.save(path)
    ...     bool((bilevel.load_mask(path).mask == result.mask).all())
    True
    """
    file = Path(path)
    if file.is_dir():
        file = file / RESULT
    try:
        return MaskResult(json.loads(file.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} does not hold a mask: pass a file that MaskResult.save wrote, or the "
            f"directory of a finished run of `bilevel learn mask` ({error})"
        ) from None


def _complex(name: str, value: ArrayLike) -> Array:
    """Check frequencies or maps."""
    refuse_masked(name, value)
    array = numbers(name, value)
    if array.dtype.kind != "c":
        raise TypeError(
            f"{name} is real, but frequencies and maps are complex: if real and imaginary parts "
            f"are along the last axis, pass {name}[..., 0] + 1j * {name}[..., 1]"
        )
    return array


def _pair(array: Array) -> tuple[NDArray[np.float64], list[int]]:
    return flat(array), list(array.shape)


def _filters(model: str, filters: str | None) -> str | None:
    if model == "filters":
        return one_of("filters", "dct3" if filters is None else filters, FILTERS)
    if filters is not None:
        raise ValueError("filters is for model='filters': leave it out, or pass this model")
    return None


def _zero(value: str | None) -> str | None:
    return None if value is None else one_of("frequency_zero", value, ("first", "middle"))


def _mean(numbers_: list[float | None]) -> float | None:
    known = [one for one in numbers_ if one is not None]
    return float(np.mean(known)) if len(known) == len(numbers_) else None
