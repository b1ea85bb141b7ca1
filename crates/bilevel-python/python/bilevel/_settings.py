"""Checks of arguments: from what users write to what the module in Rust takes."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bilevel
from ._arrays import Array, check_mask, check_same, counted, flat, image, images, is_empty
from ._colour import WEIGHTS, Colour, with_weight_values, with_weights
from ._warn import warn

if TYPE_CHECKING:
    from ._convex import StronglyConvex

Model: TypeAlias = Union[
    Literal["tv", "filters", "deblur", "inpaint", "sampling"],
    str,
    "StronglyConvex",
    Callable[..., Any],
]
Values: TypeAlias = Union[Mapping[str, Any], Sequence[float], NDArray[Any], float]
Ranges: TypeAlias = Union[
    Mapping[str, tuple[float, float]], Sequence[tuple[float, float]], tuple[float, float]
]

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


def check_criterion(criterion: Any, is_blind: bool, noise: Any, image_range: Any, out: Any) -> str:
    """Check the criterion, which is "truth" unless there is none."""
    if criterion is None:
        criterion = "sure" if is_blind else "truth"
    found = one_of("criterion", criterion, ("truth", "sure", "gcv"))
    if found == "truth" and is_blind:
        raise ValueError("criterion='truth' needs truth: pass it, or use 'sure' or 'gcv'")
    if found != "sure" and noise is not None:
        raise ValueError(f"noise is for criterion='sure', not for {found!r}: leave it out")
    if found != "truth" and image_range is not None:
        raise ValueError(
            f"image_range cannot be used with criterion={found!r}, which ignores it: leave it out"
        )
    if found != "truth" and out is not None:
        raise ValueError(
            f"out cannot be used with criterion={found!r}: leave it out, or run the program, "
            "`bilevel learn denoise --truth none --noisy FOLDER --out RUN`"
        )
    return found


def check_filters(solver: str, iterations: int | None) -> None:
    """Refuse settings with which a filter bank cannot be learned with gradients."""
    if solver == "derivative-free":
        raise ValueError(
            "solver='derivative-free' cannot be used with model='filters', which has too many "
            "parameters to learn without gradients: leave solver out"
        )
    if iterations is not None:
        raise ValueError(
            "accuracy cannot be a number with model='filters', which is learned with gradients: "
            "leave accuracy out"
        )


def check_method(value: Any) -> str:
    """Check the name of a solver of reconstruction problems."""
    return one_of("method", value, ("auto", "fista", "gd"))


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
            if mask is not None or any(y.ndim != 2 for y in self.data):
                raise ValueError(
                    "the noise can be estimated in whole pictures only: pass it, such as noise=0.1"
                )
            for i, y in enumerate(self.data):
                try:
                    found = _bilevel.estimate_noise(flat(y), *y.shape)
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
        model: str,
        mask: NDArray[np.bool_] | None,
        truth: Any,
        data: Any,
        where: str = "",
        empty_too: bool = False,
        colour: Colour | None = None,
    ) -> Examples:
        """Check that images fit together and fit the model.

        With `empty_too` there may be none, because other ranks have images.
        """
        first, second = f"{where}truth", f"{where}data"
        if empty_too and is_empty(truth) and is_empty(data):
            return cls([], [])
        if colour is not None:
            made = cls(colour.images(first, truth), colour.images(second, data))
            if mask is not None:
                check_mask(first, made.truth, mask)
                made.data = [np.where(mask, y, 0.0) for y in made.data]
        elif model == "sampling":
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
        elif mask is not None:
            made = cls(images(first, truth), images(second, data, finite=False))
            check_mask(first, made.truth, mask)
            check_same(first, made.truth, second, made.data)
            # values outside of the mask are ignored, even NaN
            made.data = [
                image(f"{second}[{i}]", np.where(mask, y, 0.0)) for i, y in enumerate(made.data)
            ]
        else:
            made = cls(images(first, truth), images(second, data))
        check_same(first, made.truth, second, made.data)
        return made


@dataclass
class Patches:
    """The patches that are drawn from each training picture; none for whole pictures."""

    count: int
    size: int
    seed: int

    @classmethod
    def read(cls, model: str, patches: Any, patch_size: Any, seed: int) -> Patches:
        """Check the number and the size of patches."""
        size = positive_int("patch_size", patch_size)
        if patches is None:
            return cls(4 if model == "filters" else 0, size, seed)
        count = unsigned("patches", patches)
        if count and TASKS.get(model, model) != "denoise":
            raise ValueError(f"patches are for model='tv' and model='filters', not for {model!r}")
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
                    f"penalty[{name!r}] is not known for model={model!r}, "
                    f"which has {', '.join(known)}"
                )
            if name == "l1_kind":
                made.l1_kind = one_of("penalty['l1_kind']", value, ("root", "nonsmooth"))
            else:
                setattr(made, name, nonnegative(f"penalty[{name!r}]", value))
        return made


def accuracy_iterations(accuracy: Any) -> int | None:
    """Return the iterations of each reconstruction, or `None` for dynamic accuracy."""
    if isinstance(accuracy, str):
        one_of("accuracy", accuracy, ("dynamic",))
        return None
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
        raise ValueError(f"{argument} has {has}, but {learned} {verb} learned: {', '.join(names)}")
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


def completed(task: str, model: dict[str, Any]) -> dict[str, Any]:
    """Complete the description of a family by its defaults."""
    made: dict[str, Any] = json.loads(
        _bilevel.completed(json.dumps({"task": task, "model": model}))
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


@dataclass
class Family:
    """The description of a family of reconstruction problems, as the module in Rust takes it."""

    model: str
    spec: dict[str, Any]
    kernel: NDArray[np.float64] | None = None
    mask: NDArray[np.bool_] | None = None
    given_kernel: NDArray[np.float64] | None = None

    @property
    def fixed(self) -> dict[str, float]:
        """The values of parameters that are not learned."""
        return dict(self.spec["model"]["fixed"])

    @property
    def is_periodic(self) -> bool:
        """Whether there is a blur that wraps around at the borders."""
        return is_periodic(self.spec)

    @classmethod
    def read(
        cls,
        model: str,
        learn: Any,
        default_learn: Any,
        fixed: Mapping[str, float] | None,
        start: Any,
        bounds: Any,
        kernel: ArrayLike | str | None,
        mask: ArrayLike | None,
        image_range: Any,
        filters: Any = None,
        boundary: Any = None,
        is_colour: bool = False,
    ) -> Family:
        """Check the arguments of a family."""
        one_of("model", model, MODELS)
        if model == "filters":
            given = {
                "learn": None if learn is default_learn else learn,
                "fixed": fixed or None,
                "start": start,
                "bounds": bounds,
                "kernel": kernel,
                "mask": mask,
                "image_range": image_range,
                "boundary": boundary,
            }
            made_spec = _filter_spec(filters, given)
            if is_colour:
                made_spec["model"]["colour"] = True
            return cls(model, made_spec)
        if filters is not None:
            raise ValueError(f"filters are for model='filters', not for model={model!r}")
        values = {
            name: nonnegative(f"fixed[{name!r}]", value) for name, value in (fixed or {}).items()
        }
        known = (*WEIGHTS, "nu", "xi") if is_colour else TV
        if is_colour:
            if learn is default_learn:
                learn = default_learn = known
            else:
                learn = with_weights(names(learn))
            values = with_weight_values(values)
            start, bounds = with_weight_values(start), with_weight_values(bounds)
        for name in values:
            if name not in known:
                raise ValueError(
                    f"fixed[{name!r}] is not a parameter; the parameters are {', '.join(known)}"
                )
        given_kernel, made_kernel, made_mask = _operator(model, kernel, mask)
        if model == "deblur":
            beyond = {"boundary": one_of("boundary", boundary or "unknown", BOUNDARIES)}
        elif boundary is None:
            beyond = {}
        else:
            raise ValueError(f"boundary is for model='deblur', not for model={model!r}")
        limits = image_limits(image_range)
        if model == "sampling":
            if learn is not default_learn and names(learn) != ["theta"]:
                raise ValueError(
                    "learn must be ('theta',) or left out: "
                    "model='sampling' learns one weight for each frequency"
                )
            if limits:
                raise ValueError(
                    "image_range cannot be used with model='sampling': complex values have no range"
                )
            chosen, made = ["theta"], _theta(start, bounds)
        else:
            chosen = names(learn)
            for name in chosen:
                if name not in known:
                    raise ValueError(
                        f"learn names {name!r}, but model={model!r} has {', '.join(known)}"
                    )
            if learn is default_learn:
                # reconstructions take ever longer as xi shrinks, and hardly get better
                chosen = [n for n in chosen if model != "deblur" or n != "xi"]
                chosen = [name for name in chosen if name not in values]
                if not chosen:
                    raise ValueError("fixed holds all parameters: there is nothing to learn")
            for name in chosen:
                if name in values:
                    raise ValueError(f"{name!r} is in learn and in fixed")
            made = ranges(chosen, start, bounds, (1e-100, 1e100))
        form = {"colour": True} if is_colour else {}
        spec = completed(
            TASKS.get(model, model),
            {**form, "learn": chosen, "fixed": values, **made, **limits, **beyond},
        )
        return cls(model, spec, made_kernel, made_mask, given_kernel)


def is_periodic(spec: Mapping[str, Any]) -> bool:
    """Whether a family has a blur that wraps around at the borders."""
    return bool(spec["model"].get("boundary") == "periodic")


def _filter_spec(filters: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a filter bank, for which the arguments in `given` have no meaning."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} cannot be used with model='filters', which learns all of its parameters: "
                "leave it out"
            )
    chosen = one_of("filters", "dct5" if filters is None else filters, FILTERS)
    return {"task": "denoise", "model": {"filters": chosen, "fixed": {}}}


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
    model: str, kernel: ArrayLike | str | None, mask: ArrayLike | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None, NDArray[np.bool_] | None]:
    """Check the kernel or the mask of a model. A kernel is returned as it is, and with sum 1."""
    for name, value, owner in (("kernel", kernel, "deblur"), ("mask", mask, "inpaint")):
        if (value is None) == (model == owner):
            needs = "needs" if value is None else "does not have"
            raise ValueError(f"model={model!r} {needs} the argument {name}")
    made_mask = None
    if mask is not None:
        found = image("mask", mask)
        if not np.isin(found, (0.0, 1.0)).all():
            raise ValueError("mask must be True where pixels were measured and False elsewhere")
        made_mask = np.ascontiguousarray(found, dtype=np.bool_)
        if not made_mask.any():
            raise ValueError("mask is False everywhere: nothing was measured")
    if kernel is None:
        return None, None, made_mask
    given = _bilevel.named_kernel(kernel) if isinstance(kernel, str) else image("kernel", kernel)
    if not given.any():
        raise ValueError("kernel is zero everywhere: pass one that sums to 1")
    total = float(given.sum())
    if not total > 0.0:
        raise ValueError(f"kernel sums to {total}, but the sum must be positive")
    # a sum of 1 up to rounding stays, as in the program
    return given, given if abs(total - 1.0) <= 1e-9 else given / total, made_mask


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
        if kernel.ndim != array.ndim:
            axes = ("", "one axis", "two axes")
            raise ValueError(
                f"kernel has {axes[kernel.ndim]}, but the images of {name} have {axes[array.ndim]}"
            )
        if any(k > n for k, n in zip(kernel.shape, array.shape)):
            raise ValueError(
                f"kernel has shape {kernel.shape}, "
                f"which is larger than {name}[{index}] of shape {array.shape}"
            )
