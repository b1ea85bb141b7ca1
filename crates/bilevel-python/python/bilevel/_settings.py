"""Checks of arguments: from what users write to what the module in Rust takes."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import (
    Array,
    check_measured,
    check_same,
    counted,
    flat,
    image,
    images,
    is_empty,
)
from ._colour import WEIGHTS, Colour, with_weight_values, with_weights
from ._warn import warn

if TYPE_CHECKING:
    from ._arguments import Arguments

# The parameters of total variation, which are learned by default.
TV: Final = ("alpha", "nu", "xi")
MODELS: Final = ("tv", "filters", "deblur", "inpaint", "sampling")
# What lies beyond the borders of blurred pictures.
BOUNDARIES: Final = ("unknown", "periodic")
FILTERS: Final = ("dct3", "dct5", "dct7", "learned3", "learned5", "learned7")
# Learning of filters ends when ten points gain less than this share of the objective.
LEAST_GAIN: Final = 1e-3
# Models that have another name in Rust.
TASKS: Final = {"tv": "denoise", "filters": "denoise"}


def number(name: str, value: object) -> float:
    """Check a finite number."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    if not math.isfinite(found):
        raise ValueError(f"{name} is {found}, but must be finite")
    return found


def nonnegative(name: str, value: object) -> float:
    """Check a finite number that is zero or positive."""
    found = number(name, value)
    if not found >= 0.0:
        raise ValueError(f"{name} is {found}, but must be zero or positive")
    return found


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number of at least `least` that fits into 63 bits."""
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if isinstance(value, (bool, np.bool_)) or not least <= found < 2**63:
        raise ValueError(
            f"{name} is {value!r}, but must be a whole number, at least {least} and below 2^63"
        )
    return found


def positive_int(name: str, value: Any) -> int:
    """Check a whole number that is positive."""
    return whole(name, value, 1)


def unsigned(name: str, value: Any) -> int:
    """Check a whole number that is zero or positive."""
    return whole(name, value, 0)


def one_of(name: str, value: Any, words: Sequence[str]) -> str:
    """Check that a value is one of several words."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} is {value!r}, but must be one of {', '.join(map(repr, words))}")
    return value


def positive(name: str, value: object) -> float:
    """Check a finite number that is positive."""
    found = number(name, value)
    if not found > 0.0:
        raise ValueError(f"{name} is {found}, but must be positive")
    return found


def euclidean(root_mean_square: float, num_samples: int) -> float:
    """Return the Euclidean norm of samples with this root mean square, rounded down."""
    return root_mean_square * math.sqrt(num_samples) * (1.0 - 4e-15)


def root_mean_square(norm: float, num_samples: int) -> float:
    """Return the root mean square of samples with this Euclidean norm, rounded up."""
    return norm / math.sqrt(num_samples) * (1.0 + 1e-15)


def check_solver(value: Any) -> str:
    """Check the name of a solver that learns."""
    return one_of("solver", value, ("auto", "gradient", "derivative-free"))


def check_criterion(given: Arguments, noise: Any) -> str:
    """Check the criterion, which is "truth" unless there is none, for a level of Gaussian noise."""
    criterion, is_blind = given.criterion, given.truth is None
    if criterion is None:
        criterion = "sure" if is_blind else "truth"
    found = one_of("criterion", criterion, ("truth", "sure", "gcv"))
    if found == "truth" and is_blind:
        raise ValueError("criterion='truth' needs truth: pass it, or use 'sure' or 'gcv'")
    if found != "sure" and noise is not None:
        raise ValueError(f"noise is for criterion='sure', not for {found!r}: leave it out")
    if found != "truth" and given.image_range is not None:
        raise ValueError(
            f"image_range cannot be used with criterion={found!r}, which ignores it: leave it out"
        )
    if found != "truth" and given.out is not None:
        raise ValueError(
            f"out cannot be used with criterion={found!r}: leave it out, or run the program, "
            "`bilevel learn denoise --truth none --noisy FOLDER --out RUN`"
        )
    return found


def check_filters(solver: Mapping[str, Any]) -> None:
    """Refuse settings with which a filter bank cannot be learned with gradients."""
    if solver["kind"] == "derivative-free":
        raise ValueError(
            "solver='derivative-free' cannot be used with filters, which have too many "
            "parameters to learn without gradients: leave solver out"
        )
    if solver["iterations"] is not None:
        raise ValueError(
            "accuracy cannot be a number with filters, which are learned with gradients: "
            "leave accuracy out"
        )


def check_slices(slices: Any, family: Family, colour: Colour | None) -> bool:
    """Return whether images are volumes, which not all families have."""
    if one_of("slices", slices, ("pictures", "volume")) == "pictures":
        return False
    if family.model != "tv" or colour is not None:
        what = f"model={family.model!r}" if colour is None else "pictures in colour"
        raise ValueError(
            f"slices='volume' cannot be used with {what}: volumes have model='tv' only, that is, "
            "denoising with total variation"
        )
    return True


def check_method(value: Any) -> str:
    """Check the name of a solver of reconstruction problems."""
    return one_of("method", value, ("auto", "fista", "gd"))


def halves(validation: Any) -> tuple[Any, Any]:
    """Return the truth and the data of held-out images."""
    try:
        truth, data = validation
    except (TypeError, ValueError):
        raise TypeError("validation must be (truth, data)") from None
    return truth, data


@dataclass
class Examples:
    """Pairs of truth and data."""

    truth: list[Array]
    data: list[Array]
    noise: list[float] = field(default_factory=list)
    """The noise level of each pair, if it is learned from without truth."""

    def find_noise(self, noise: Any, mask: NDArray[np.bool_] | None) -> None:
        """Set the noise levels: one for all, one for each pair, or estimated."""
        count = len(self.data)
        if noise is None:
            for i, y in enumerate(self.data):
                if y.ndim < 2:
                    raise ValueError(
                        f"the noise can be estimated in pictures only, but data[{i}] has shape "
                        f"{y.shape}: pass it, such as noise=0.1; if data is one picture, pass "
                        "[data]"
                    )
            if mask is not None or any(np.isnan(y).any() for y in self.data):
                raise ValueError(
                    "the noise can be estimated in whole pictures only: pass it, such as "
                    "noise=0.1, or use criterion='gcv'"
                )
            for i, y in enumerate(self.data):
                try:
                    # the slices of a volume are one below the other
                    found = _bilevel.estimate_noise(flat(y), y.size // y.shape[-1], y.shape[-1])
                except ValueError as error:
                    raise ValueError(
                        f"the noise of data[{i}] cannot be estimated ({error}): pass it, such as "
                        "noise=0.1, or use criterion='gcv'"
                    ) from None
                if not found > 1e-6:
                    raise ValueError(
                        f"data[{i}] seems to have no noise: pass it, such as noise=0.1"
                    )
                self.noise.append(found)
            return
        levels = [noise] * count if np.ndim(noise) == 0 else list(noise)
        if len(levels) != count:
            raise ValueError(
                f"noise has {counted(len(levels), 'number')}, but there are "
                f"{counted(count, 'image')}: pass one for all, or one for each"
            )
        self.noise = [positive("noise", level) for level in levels]

    @classmethod
    def read(
        cls,
        family: Family,
        truth: Any,
        data: Any,
        where: str = "",
        empty_too: bool = False,
        colour: Colour | None = None,
        is_volume: bool = False,
    ) -> Examples:
        """Check that images fit together and fit the model. Without truth, the data stand for it.

        With `empty_too` there may be none, because other ranks have images.
        """
        first, second = f"{where}truth", f"{where}data"
        if empty_too and (truth is None or is_empty(truth)) and is_empty(data):
            return cls([], [])
        if family.model != "sampling":
            if colour is None:
                x = None if truth is None else images(first, truth, is_volume=is_volume)
                y = images(second, data, finite=False, is_volume=is_volume)
            else:
                x = None if truth is None else colour.images(first, truth)
                y = colour.images(second, data, finite=False)
            if x is None:
                # its values do not matter
                x = [np.nan_to_num(part) for part in y]
            made = cls(x, y)
            check_same(first, made.truth, second, made.data)
            made.data = [
                measured(f"{second}[{i}]", part, family.spec, family.mask)
                for i, part in enumerate(y)
            ]
        else:
            made = cls(
                images(first, truth, complex_too=True), images(second, data, complex_too=True)
            )
            made.truth = [array.astype(np.complex128, copy=False) for array in made.truth]
            if any(array.ndim != 1 for array in made.truth):
                raise ValueError(
                    f"{first} must hold signals, of shape (n, N): "
                    "model='sampling' learns frequencies of lines"
                )
            if any(array.dtype.kind != "c" for array in made.data):
                raise ValueError(
                    f"{second} is real, but model='sampling' needs complex k-space, such as "
                    "numpy.fft.fft(truth, norm='ortho') with noise"
                )
            if len({array.shape for array in made.truth}) > 1:
                raise ValueError(
                    f"{first} mixes lengths, but model='sampling' has one weight for each frequency"
                )
            check_same(first, made.truth, second, made.data)
        return made


@dataclass
class Patches:
    """The patches that are drawn from each training picture; none for whole pictures."""

    count: int
    size: int
    seed: int

    @classmethod
    def read(
        cls, family: Family, patches: Any, patch_size: Any, seed: int, is_volume: bool
    ) -> Patches:
        """Check the number and the size of patches."""
        size = positive_int("patch_size", patch_size)
        can_cut = family.spec["task"] in ("denoise", "deblur") and not is_volume
        if patches is None:
            return cls(4 if family.has_filters and can_cut else 0, size, seed)
        count = unsigned("patches", patches)
        if count and not can_cut:
            raise ValueError(
                "patches are for denoising and deblurring of pictures, not for "
                + ("volumes" if is_volume else f"model={family.model!r}")
            )
        return cls(count, size, seed)

    def of(self, examples: Examples, first: int) -> Examples:
        """Cut patches. The first of the pictures has the number `first`, which sets positions.

        Signals, and pictures with no more than one position for a patch, stay whole.
        """
        if not self.count:
            return examples
        made = Examples([], [])
        for index, (x, y) in enumerate(zip(examples.truth, examples.data), first):
            places = None
            if x.ndim >= 2:
                rows, cols = x.shape[:2]
                places = _bilevel.patches(rows, cols, self.size, self.count, self.seed, index)
            if places is None:
                made.truth.append(x)
                made.data.append(y)
                made.noise += examples.noise[index - first : index - first + 1]
                continue
            for row, col in places:
                part = np.s_[row : row + self.size, col : col + self.size]
                made.noise += examples.noise[index - first : index - first + 1]
                made.truth.append(np.ascontiguousarray(x[part]))
                made.data.append(np.ascontiguousarray(y[part]))
        return made


@dataclass
class Penalty:
    """The weights of terms that are added to the objective."""

    condition: float = 0.0
    l1: float = 0.0
    l1_kind: str = "root"

    @classmethod
    def read(cls, penalty: Mapping[str, Any] | None, known: Sequence[str], model: str) -> Penalty:
        """Check the penalties of a model, which are those in `known`."""
        made = cls()
        if penalty is not None and not isinstance(penalty, Mapping):
            raise TypeError(
                f"penalty must be a dictionary such as {{'condition': 1e-6}}, not {penalty!r}"
            )
        for name, value in (penalty or {}).items():
            if not known:
                raise ValueError(f"model={model!r} has no penalties: leave penalty out")
            if name not in known:
                raise ValueError(
                    f"penalty[{name!r}] is not known for model={model!r}: "
                    f"use {', '.join(map(repr, known))}"
                )
            if name == "l1_kind":
                made.l1_kind = one_of("penalty['l1_kind']", value, ("root", "nonsmooth"))
            else:
                setattr(made, name, nonnegative(f"penalty[{name!r}]", value))
        return made


def accuracy_iterations(accuracy: Any) -> int | None:
    """Return the iterations of each reconstruction, or `None` for dynamic accuracy."""
    if isinstance(accuracy, str):
        if accuracy == "dynamic":
            return None
        raise ValueError(
            f"accuracy is {accuracy!r}, but must be 'dynamic' or a number of iterations"
        )
    try:
        return positive_int("accuracy", accuracy)
    except TypeError:
        raise TypeError(
            f"accuracy must be 'dynamic' or a number of iterations, not {accuracy!r}"
        ) from None


def named(argument: str, given: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the entries that are given for names, as a dictionary or in the order of `names`."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise ValueError(
                    f"{argument} names {name!r}, but the learned parameters are {', '.join(names)}"
                )
        return dict(given)
    try:
        listed = list(given)
    except TypeError:
        raise TypeError(
            f"{argument} must be a dictionary or one entry for each of {', '.join(names)}"
        ) from None
    if len(listed) != len(names):
        has, learned = (
            f"{len(listed)} {'entry' if len(listed) == 1 else 'entries'}",
            counted(len(names), "parameter"),
        )
        verb = "is" if len(names) == 1 else "are"
        raise ValueError(
            f"{argument} has {has}, but {learned} {verb} learned: pass one entry for each of "
            f"{', '.join(names)}"
        )
    return dict(zip(names, listed))


def pair(name: str, value: Any) -> tuple[float, float]:
    """Check a lower and an upper bound."""
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be (lower, upper), not {value!r}") from None
    bounds = number(f"{name}[0]", lower), number(f"{name}[1]", upper)
    if not bounds[0] <= bounds[1]:
        raise ValueError(f"{name} is {bounds}: the lower bound is above the upper one")
    return bounds


def ranges(
    learn: Sequence[str], start: Any, bounds: Any, allowed: tuple[float, float]
) -> dict[str, dict[str, float]]:
    """Check the given starts and bounds, which must lie within `allowed`."""
    made: dict[str, dict[str, float]] = {"start": {}, "lower": {}, "upper": {}}
    for name, value in named("bounds", bounds, learn).items():
        lower, upper = pair(f"bounds[{name!r}]", value)
        if not allowed[0] <= lower <= upper <= allowed[1]:
            raise ValueError(
                f"bounds[{name!r}] is ({lower}, {upper}), but must be within {allowed}"
            )
        made["lower"][name], made["upper"][name] = lower, upper
    for name, value in named("start", start, learn).items():
        found = number(f"start[{name!r}]", value)
        lower, upper = made["lower"].get(name, allowed[0]), made["upper"].get(name, allowed[1])
        if not lower <= found <= upper:
            raise ValueError(f"start[{name!r}] is {found}, outside of [{lower}, {upper}]")
        made["start"][name] = found
    return made


def completed(task: str, model: dict[str, Any], kernel: str | None) -> dict[str, Any]:
    """Complete the description of a family by its defaults."""
    made: dict[str, Any] = json.loads(
        _bilevel.completed(json.dumps({"task": task, "model": model}), kernel)
    )["model"]
    for name, start in made["start"].items():
        lower, upper = made["lower"][name], made["upper"][name]
        if not lower <= start <= upper:
            given, low, high = (
                f"{Decimal(repr(value)).normalize():e}".replace("e+", "e")
                for value in (start, lower, upper)
            )
            raise ValueError(
                f"start[{name!r}] is {given}, outside of the default bounds ({low}, {high}): "
                "give bounds"
            )
    return {"task": task, "model": made}


def names(learn: Any) -> list[str]:
    """Check the names of parameters."""
    if isinstance(learn, str):
        raise TypeError(f"learn must be a sequence of names, such as ({learn!r},)")
    try:
        made = list(learn)
    except TypeError:
        raise TypeError(f"learn must be a sequence of names, not {learn!r}") from None
    if not all(isinstance(name, str) for name in made):
        raise TypeError(f"learn must hold names, not {learn!r}")
    if not made:
        raise ValueError("learn is empty: there is nothing to learn")
    if len(set(made)) < len(made):
        raise ValueError(f"learn names a parameter twice: {made}")
    return made


def measured(name: str, y: Array, spec: Mapping[str, Any], mask: NDArray[np.bool_] | None) -> Array:
    """Check an image in which pixels may be NaN, and return it in the form of a family.

    Outside of a mask, the data of inpainting are zero, and those of deblurring are NaN.
    """
    if mask is not None:
        if y.shape[: mask.ndim] != mask.shape:
            raise ValueError(f"{name} has shape {y.shape}, but the mask has shape {mask.shape}")
        inside = mask if y.ndim == mask.ndim else mask[..., None]
        if np.isnan(y[mask]).all():
            raise ValueError(f"{name} is NaN wherever the mask is True: no pixel was measured")
        y = np.where(inside, y, 0.0 if spec["task"] == "inpaint" else np.nan)
    if check_measured(name, y):
        return y
    if spec["task"] == "denoise" and spec["model"].get("filters") is not None:
        raise ValueError(
            f"{name} has NaN or masked entries, but model='filters' needs all pixels for "
            "denoising: use model='tv' or model='inpaint' with filters, which fill missing pixels"
        )
    if spec["model"]["fixed"].get("xi") == 0.0:
        raise ValueError(
            "xi is 0, but must be positive where pixels are missing, such as 1e-3: the data alone "
            "do not determine the picture"
        )
    return y


@dataclass
class Operator:
    """The kernel of a blur, and the mask of pixels that were measured."""

    kernel: NDArray[np.float64] | None = None
    name: str | None = None
    mask: NDArray[np.bool_] | None = None
    given_kernel: NDArray[np.float64] | None = None
    """An array as the user passed it, of which there may be warnings."""


@dataclass
class Family:
    """The description of a family of reconstruction problems, as the module in Rust takes it."""

    model: str
    spec: dict[str, Any]
    operator: Operator

    @property
    def kernel(self) -> NDArray[np.float64] | None:
        """The kernel of a blur, with sum 1."""
        return self.operator.kernel

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The mask of pixels that were measured."""
        return self.operator.mask

    @property
    def fixed(self) -> dict[str, float]:
        """The values of parameters that are not learned."""
        return dict(self.spec["model"]["fixed"])

    @property
    def is_periodic(self) -> bool:
        """Whether there is a blur that wraps around at the borders."""
        return is_periodic(self.spec)

    @property
    def has_filters(self) -> bool:
        """Whether the regulariser is a filter bank."""
        return self.spec["model"].get("filters") is not None

    @classmethod
    def read(cls, given: Arguments, mask: ArrayLike | None, is_colour: bool) -> Family:
        """Check the arguments of a family, whose mask may be that of `given`."""
        model = one_of("model", given.model, MODELS)
        learn, start, bounds = given.learn, given.start, given.bounds
        kernel, filters, boundary = given.kernel, given.filters, given.boundary
        if model in TASKS and (kernel is not None or mask is not None):
            task = "inpaint" if kernel is None else "deblur"
        else:
            task = TASKS.get(model, model)
        operator = _operator(model, task, kernel, mask)
        form: dict[str, Any] = {"colour": True} if is_colour else {}
        if task == "deblur":
            form["boundary"] = one_of("boundary", boundary or "unknown", BOUNDARIES)
        elif boundary is not None:
            raise ValueError(f"boundary is for model='deblur', not for model={model!r}")
        if model == "filters" or (filters is not None and task in ("deblur", "inpaint")):
            given.refuse(
                ("learn", "fixed", "start", "bounds", "image_range"),
                "cannot be used with filters, whose parameters are all learned",
            )
            chosen = one_of("filters", "dct5" if filters is None else filters, FILTERS)
            return cls(
                "filters",
                {"task": task, "model": {**form, "filters": chosen, "fixed": {}}},
                operator,
            )
        if filters is not None:
            raise ValueError(
                f"filters are for model='filters', 'deblur' and 'inpaint', not for model={model!r}"
            )
        values = {
            name: nonnegative(f"fixed[{name!r}]", value)
            for name, value in (given.fixed or {}).items()
        }
        fixable = (*WEIGHTS, "nu", "xi") if is_colour else TV
        known = (*fixable, "width") if task == "deblur" else fixable
        is_default = learn is TV
        if is_colour:
            learn = fixable if is_default else with_weights(names(learn))
            values = with_weight_values(values)
            start, bounds = with_weight_values(start), with_weight_values(bounds)
        for name in values:
            if name not in fixable:
                raise ValueError(
                    f"fixed[{name!r}] is not a parameter; the parameters are {', '.join(fixable)}"
                )
        limits = image_limits(given.image_range)
        if task == "sampling":
            if not is_default and names(learn) != ["theta"]:
                raise ValueError(
                    "learn must be ('theta',) or left out: "
                    "model='sampling' learns one weight for each frequency"
                )
            if limits:
                raise ValueError(
                    "image_range cannot be used with model='sampling': complex values have no range"
                )
            learned, made = ["theta"], _theta(start, bounds)
        else:
            learned = names(learn)
            for name in learned:
                if name not in known:
                    raise ValueError(
                        f"learn names {name!r}, but model={model!r} has {', '.join(known)}"
                    )
            if is_default:
                # reconstructions take ever longer as xi shrinks, and hardly get better
                learned = [n for n in learned if task != "deblur" or n != "xi"]
                learned = [name for name in learned if name not in values]
                if not learned:
                    raise ValueError("fixed holds all parameters: there is nothing to learn")
            for name in learned:
                if name in values:
                    raise ValueError(
                        f"{name!r} is in learn and in fixed: leave it out of one of them"
                    )
            if "width" in learned and operator.name is None:
                raise ValueError(
                    "learn names 'width', but the kernel is an array: its width can be learned if "
                    "the kernel is given by its name, such as 'gaussian:2' or 'disc:5'"
                )
            made = ranges(learned, start, bounds, (1e-100, 1e100))
        spec = completed(
            task, {**form, "learn": learned, "fixed": values, **made, **limits}, operator.name
        )
        return cls("tv" if task == "denoise" else task, spec, operator)


def is_periodic(spec: Mapping[str, Any]) -> bool:
    """Whether a family has a blur that wraps around at the borders."""
    return bool(spec["model"].get("boundary") == "periodic")


def image_limits(image_range: Any) -> dict[str, float]:
    """Check the smallest and largest value of pixels, as far as they are given."""
    if image_range is None:
        return {}
    try:
        lower, upper = image_range
    except (TypeError, ValueError):
        raise TypeError(
            "image_range must be (smallest, largest), either of which may be None, "
            f"not {image_range!r}"
        ) from None
    given = {"image_min": lower, "image_max": upper}
    made = {
        name: number(f"image_range[{index}]", value)
        for index, (name, value) in enumerate(given.items())
        if value is not None
    }
    if len(made) == 2 and not made["image_min"] <= made["image_max"]:
        raise ValueError(f"image_range is {image_range}: the smallest value is above the largest")
    return made


def _theta(start: Any, bounds: Any) -> dict[str, dict[str, float]]:
    """Check the start and the bounds, which are the same for all frequencies."""
    if start is not None and not isinstance(start, Mapping):
        start = {"theta": number("start", start)}
    if bounds is not None and not isinstance(bounds, Mapping):
        bounds = {"theta": pair("bounds", bounds)}
    return ranges(["theta"], start, bounds, (math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)))


def _operator(
    model: str, task: str, kernel: ArrayLike | str | None, mask: ArrayLike | None
) -> Operator:
    """Check the kernel and the mask of a model."""
    if (kernel is None) == (task == "deblur"):
        needs = "needs" if kernel is None else "does not have"
        raise ValueError(f"model={model!r} {needs} the argument kernel")
    # for deblurring, a mask excludes dead pixels
    if (mask is None and task == "inpaint") or (mask is not None and task == "sampling"):
        needs = "needs" if mask is None else "does not have"
        raise ValueError(f"model={model!r} {needs} the argument mask")
    made = Operator()
    if mask is not None:
        found = image("mask", mask)
        if not np.isin(found, (0.0, 1.0)).all():
            raise ValueError("mask must be True where pixels were measured and False elsewhere")
        made.mask = np.ascontiguousarray(found, dtype=np.bool_)
        if not made.mask.any():
            raise ValueError("mask is False everywhere: nothing was measured")
    if kernel is None:
        return made
    if isinstance(kernel, str):
        made.name, given = kernel, _bilevel.named_kernel(kernel)
    else:
        given = image("kernel", kernel)
    if not given.any():
        raise ValueError("kernel is zero everywhere: pass one that sums to 1")
    total = float(given.sum())
    if not total > 0.0:
        raise ValueError(f"kernel sums to {total}, but the sum must be positive")
    # a sum of 1 up to rounding stays, as in the program
    made.given_kernel = given if made.name is None else None
    made.kernel = given if abs(total - 1.0) <= 1e-9 else given / total
    return made


def warn_of_blur(kernel: NDArray[np.float64], images: Mapping[str, Array]) -> None:
    """Warn of measured images, given by name, that a blur which wraps around cannot explain."""
    measured = [(name, flat(array), array.shape) for name, array in images.items()]
    warning = _bilevel.periodicity_warning(kernel, measured)
    if warning is not None:
        warn(warning, UserWarning)


def check_kernel(kernel: NDArray[np.float64] | None, name: str, arrays: Sequence[Array]) -> None:
    """Refuse a kernel that is larger than an image or has other axes."""
    if kernel is None:
        return
    for index, array in enumerate(arrays):
        # the last axis of a picture in colour holds its channels
        if kernel.ndim != min(array.ndim, 2):
            has = "one axis" if kernel.ndim == 1 else "two axes"
            own = "one axis" if array.ndim == 1 else "two axes"
            raise ValueError(f"kernel has {has}, but the images of {name} have {own}")
        if any(k > n for k, n in zip(kernel.shape, array.shape)):
            raise ValueError(
                f"kernel has shape {kernel.shape}, "
                f"which is larger than {name}[{index}] of shape {array.shape}"
            )
