"""Reconstruction problems that are given by functions written in Python."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _bilevel
from ._arrays import Array, about, counted, flat, images
from ._core import Core
from ._mpi import Ranks
from ._settings import halves, nonnegative, number, positive
from ._warn import warn


class Reject(Exception):
    """Raised by a model written in Python that has no reconstructions for these parameters.

    The solver then avoids them.
    """


@dataclass(frozen=True)
class StronglyConvex:
    """A reconstruction as the minimiser of a smooth, strongly convex function `Φ(x)`.

    Pass it as `model` to `learn`. Each function gets the parameters `theta`, a flat array of all
    numbers that are learned, and `data`, the data of one image: any object, as `learn` got it. The
    image `x` and vectors like it have the shape of the truth.

    With `hessian_product` and `mixed_product`, `learn` uses gradients, and any number of parameters
    costs about the same. `bilevel.testing.check_model` finds functions that do not fit together.

    In this example, every sample has a weight of its own: `½‖x − y‖² + ½ Σ wⱼ xⱼ²`.

    >>> import bilevel
    >>> import numpy as np
    >>> model = bilevel.StronglyConvex(
    ...     gradient=lambda w, y, x: x - y + w * x,
    ...     curvature=lambda w, y: (1.0, 1.0 + w.max()),
    ...     hessian_product=lambda w, y, x, v: v + w * v,
    ...     mixed_product=lambda w, y, x, q: x * q,        # the gradient has the slope xⱼ in wⱼ
    ...     third_derivative=0.0,                          # the function is quadratic
    ...     mixed_bounds=lambda w, y, x, q, radius: (radius * abs(q), abs(x) + radius),
    ... )
    >>> truth = np.array([[1.0, -2.0, 0.5]])
    >>> data = truth * [3.0, 2.0, 1.5]
    >>> bilevel.testing.check_model(model, np.ones(3), data[0], truth[0])
    >>> result = bilevel.learn(truth, data, model=model, start=np.ones(3), bounds=(0.0, 10.0))
    >>> result.solver, np.round(result.params["theta"], 3)
    ('gradient', array([2. , 1. , 0.5]))
    >>> result.gradient["norm"] < 1e-3 and result.gradient["error"] < 1e-2
    True
    """

    gradient: Callable[[Any, Any, Any], Any]
    """`gradient(theta, data, x)` returns the gradient `∇Φ(x)`, in the shape of `x`."""
    curvature: Callable[[Any, Any], tuple[float, float]]
    """`curvature(theta, data)` returns bounds `(μ, L)` on all eigenvalues of all Hessians.

    All certified errors depend on them, so they must be true: `0 < μ ≤ L`.
    """
    hessian_product: Callable[[Any, Any, Any, Any], Any] | None = None
    """`hessian_product(theta, data, x, v)` returns `∇²Φ(x) v`, in the shape of `x`."""
    mixed_product: Callable[[Any, Any, Any, Any], Any] | None = None
    """`mixed_product(theta, data, x, q)` returns the derivatives of `⟨q, ∇Φ(x)⟩` in all `theta`."""
    third_derivative: float | Callable[[Any, Any], float] | None = None
    """A number `K`, or a function of `(theta, data)`, with `‖∇²Φ(x) − ∇²Φ(y)‖ ≤ K ‖x − y‖`.

    It is zero for a quadratic function. `None`, if it is not known, makes intervals of the
    objective wider, and learning with gradients slower. The intervals stay true.
    """
    mixed_bounds: Callable[[Any, Any, Any, Any, float], tuple[Any, Any]] | None = None
    """`mixed_bounds(theta, data, x, q, radius)` returns how mixed products change near `x`.

    It returns two arrays, each with one number for each entry of `theta`. If `B(x)` is the
    derivative of `∇Φ(x)` with respect to an entry, the numbers of this entry bound
    `|⟨q, B(x + e) − B(x)⟩|` and `‖B(x + e)‖` for all `‖e‖ ≤ radius`. With `mixed_bounds` and
    `third_derivative`, the error of the gradient in a result is certified. In the example above,
    the two numbers are `radius |qⱼ|` and `|xⱼ| + radius`.
    """
    gradient_rounding: tuple[float, float] | None = None
    """Numbers `(a, b)`: the rounding error of a gradient is at most `a + b ‖x‖`.

    The default allows for sums of as many terms as `x` has entries, and terms of size `L ‖x‖`. A
    fit to data whose norm is larger needs more.
    """
    product_rounding: float | None = None
    """A number `r`: the rounding error of a Hessian product is at most `r ‖v‖`.

    The default allows for products of a matrix with a vector. A Hessian that is applied in parts,
    such as `Aᵀ(A v)`, may need more.
    """

    def __post_init__(self) -> None:
        for name in ("gradient", "curvature", "hessian_product", "mixed_product"):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name in ("gradient", "curvature")):
                raise TypeError(f"{name} must be a function, not {given!r}")
        if (self.hessian_product is None) != (self.mixed_product is None):
            raise ValueError("give both hessian_product and mixed_product, or neither of them")
        if self.mixed_bounds is not None:
            if not callable(self.mixed_bounds):
                raise TypeError(f"mixed_bounds must be a function, not {self.mixed_bounds!r}")
            if self.mixed_product is None:
                raise ValueError("mixed_bounds needs mixed_product: give both")
        if self.third_derivative is not None and not callable(self.third_derivative):
            nonnegative("third_derivative", self.third_derivative)
        if self.gradient_rounding is not None:
            for entry, value in enumerate(self.gradient_rounding):
                nonnegative(f"gradient_rounding[{entry}]", value)
        if self.product_rounding is not None:
            nonnegative("product_rounding", self.product_rounding)

    def reconstruct(
        self, theta: Any, data: Any, shape: Any, accuracy: float, *, dtype: Any = float
    ) -> Any:
        """Return the minimiser for these parameters, an array of this shape.

        `accuracy` is the largest Euclidean distance from the exact minimiser. Raises `RuntimeError`
        if it cannot be reached.

        >>> import bilevel
        >>> import numpy as np
        >>> model = bilevel.StronglyConvex(
        ...     lambda w, y, x: x - y + w[0] * x, lambda w, y: (1.0 + w[0], 1.0 + w[0])
        ... )
        >>> model.reconstruct([0.5], np.array([3.0, 1.5]), (2,), accuracy=1e-6)
        array([2., 1.])
        """
        like = np.zeros(shape, dtype=np.complex128 if np.dtype(dtype).kind == "c" else np.float64)
        made, _, missed = _bilevel.reconstruct_with(
            Functions(self, [like], [data], like.dtype),
            np.asarray(theta, dtype=np.float64).reshape(-1).tolist(),
            list(like.shape),
            like.dtype.kind == "c",
            positive("accuracy", accuracy),
        )
        if missed is not None:
            raise RuntimeError(f"the accuracy {accuracy} was not reached: {missed}")
        return made.view(like.dtype).reshape(like.shape)


class Functions:
    """The functions of a model, for flat arrays, with checks of their answers."""

    def __init__(
        self,
        model: StronglyConvex,
        truth: Sequence[Array],
        data: Sequence[Any],
        dtype: np.dtype[Any],
    ) -> None:
        self._model, self._data = model, data
        self._shapes = [x.shape for x in truth]
        self._dtype = dtype
        self.has_derivatives = model.mixed_product is not None
        self.has_bounds = model.mixed_bounds is not None
        self.reject = Reject

    def _image(self, index: int, row: NDArray[np.float64]) -> Array:
        return row.view(self._dtype).reshape(self._shapes[index])

    def _row(self, name: str, index: int, answer: Any) -> NDArray[np.float64]:
        """Check an image that a function has returned."""
        made = _numbers(name, answer)
        if made.shape != self._shapes[index]:
            raise ValueError(
                f"{name} returned an array of shape {made.shape}, "
                f"but the image has shape {self._shapes[index]}"
            )
        if made.dtype.kind == "c" and self._dtype.kind != "c":
            raise ValueError(f"{name} returned complex numbers, but truth is real")
        made = np.ascontiguousarray(made, dtype=self._dtype)
        if not np.isfinite(made).all():
            raise ValueError(
                f"{name} returned NaN or infinity: check curvature, or raise bilevel.Reject"
            )
        return flat(made)

    def constants(
        self, theta: NDArray[np.float64], index: int
    ) -> tuple[tuple[float, float], float, tuple[float, float] | None, float | None]:
        model, data = self._model, self._data[index]
        try:
            low, high = model.curvature(theta, data)
        except TypeError as error:
            if "unpack" not in str(error):
                raise
            raise TypeError("curvature must return two numbers (μ, L)") from error
        mu, lipschitz = number("curvature[0]", low), number("curvature[1]", high)
        if not 0.0 < mu <= lipschitz:
            raise ValueError(
                f"curvature returned ({mu}, {lipschitz}), but needs 0 < μ ≤ L: "
                "raise bilevel.Reject for such theta"
            )
        third = model.third_derivative
        if callable(third):
            third = third(theta, data)
        third = math.inf if third is None else nonnegative("third_derivative", third)
        return (mu, lipschitz), third, model.gradient_rounding, model.product_rounding

    def gradient(
        self, theta: NDArray[np.float64], index: int, x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        answer = self._model.gradient(theta, self._data[index], self._image(index, x))
        return self._row("gradient", index, answer)

    def hessian_product(
        self,
        theta: NDArray[np.float64],
        index: int,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        product = self._model.hessian_product
        if product is None:
            raise TypeError("the model has no hessian_product")
        vectors = self._image(index, x), self._image(index, v)
        return self._row("hessian_product", index, product(theta, self._data[index], *vectors))

    def mixed_product(
        self,
        theta: NDArray[np.float64],
        index: int,
        x: NDArray[np.float64],
        q: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        product = self._model.mixed_product
        if product is None:
            raise TypeError("the model has no mixed_product")
        vectors = self._image(index, x), self._image(index, q)
        made = _numbers("mixed_product", product(theta, self._data[index], *vectors))
        if made.shape != theta.shape:
            raise ValueError(
                f"mixed_product returned an array of shape {made.shape}, "
                f"but theta has shape {theta.shape}"
            )
        if made.dtype.kind == "c":
            raise ValueError("mixed_product returned complex numbers, but derivatives are real")
        if not np.isfinite(made).all():
            raise ValueError("mixed_product returned NaN or infinity")
        return np.ascontiguousarray(made, dtype=np.float64)

    def mixed_bounds(
        self,
        theta: NDArray[np.float64],
        index: int,
        x: NDArray[np.float64],
        q: NDArray[np.float64],
        radius: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds. An exception must not lose a result, so it only becomes a warning."""
        try:
            return self.checked_mixed_bounds(theta, index, x, q, float(radius[0]))
        except Exception as error:
            warn(
                f"mixed_bounds failed, so the error of the gradient is not known: {error}",
                RuntimeWarning,
            )
            unknown = np.full(theta.shape, math.inf)
            return unknown, unknown

    def checked_mixed_bounds(
        self,
        theta: NDArray[np.float64],
        index: int,
        x: NDArray[np.float64],
        q: NDArray[np.float64],
        radius: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        bounds = self._model.mixed_bounds
        if bounds is None:
            raise TypeError("the model has no mixed_bounds")
        vectors = self._image(index, x), self._image(index, q)
        change, norm = bounds(theta, self._data[index], *vectors, radius)
        return _bound("mixed_bounds[0]", change, theta), _bound("mixed_bounds[1]", norm, theta)


def _bound(name: str, answer: Any, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Check bounds for all parameters; one number stands for all of them."""
    made = _numbers(name, answer)
    if made.dtype.kind == "c" or not (made >= 0.0).all():
        raise ValueError(f"{name} must be zero or positive")
    made = made.astype(np.float64)
    if made.shape not in ((), theta.shape):
        raise ValueError(f"{name} has shape {made.shape}, but theta has shape {theta.shape}")
    return np.ascontiguousarray(np.broadcast_to(made, theta.shape))


def _numbers(name: str, answer: Any) -> NDArray[Any]:
    """Convert an answer of a function to an array of numbers."""
    made = np.asarray(answer)
    if made.dtype.kind not in "biufc":
        raise TypeError(f"{name} must return an array of numbers, not {answer!r}")
    return made


class Images:
    """The images and the data of a run, with those that are held out at the end."""

    def __init__(self, truth: Any, data: Any, validation: Any, ranks: Ranks) -> None:
        held_out = ([], []) if validation is None else halves(validation)
        self.truth: list[Array] = []
        self.data: list[Any] = []
        empty_too = ranks.comm is not None
        for label, (x, y) in (("", (truth, data)), ("validation ", held_out)):
            is_left_out = validation is None and label != ""
            checked = images(
                f"{label}truth", x, complex_too=True, empty_too=empty_too or is_left_out
            )
            try:
                listed = list(y)
            except TypeError:
                raise TypeError(
                    f"{label}data must hold the data of each image, in any form"
                ) from None
            if len(listed) != len(checked):
                raise ValueError(
                    f"{label}data has {counted(len(listed), 'entry', 'entries')}, "
                    f"but {label}truth has {counted(len(checked), 'image')}"
                )
            self.truth += checked
            self.data += listed
            if label == "":
                self.num_training = len(checked)
        self.is_complex = any(x.dtype.kind == "c" for x in self.truth)

    def agree(self, ranks: Ranks) -> None:
        """Tell the other ranks the shapes and the kind of numbers."""
        own = [x.shape for x in self.truth[: self.num_training]]
        found = ranks.shared((own, self.is_complex))
        self.shapes = [shape for shapes, _ in found for shape in shapes]
        if not self.shapes:
            raise ValueError("truth is empty on all ranks: they hold no images")
        self.is_complex = any(is_complex for _, is_complex in found)
        dtype = np.complex128 if self.is_complex else np.float64
        self.truth = [np.ascontiguousarray(x, dtype=dtype) for x in self.truth]
        self.dtype = np.dtype(dtype)

    def summary(self) -> tuple[int, str]:
        """The number of axes of the images of all ranks, and their description."""
        return len(self.shapes[0]), about(self.shapes)

    def rows(self) -> tuple[list[Any], list[Any]]:
        """The flat truth, the shape and a number for the data of each image, for Rust."""
        rows = [(flat(x), list(x.shape), _fingerprint(y)) for x, y in zip(self.truth, self.data)]
        return rows[: self.num_training], rows[self.num_training :]


def _fingerprint(data: Any) -> float:
    """A number that changes with an array of numbers; zero for all other data."""
    if not isinstance(data, np.ndarray) or data.dtype.kind not in "biufc":
        return 0.0
    words = hashlib.sha256(f"{data.dtype.str} {data.shape}".encode())
    words.update(np.ascontiguousarray(data).tobytes())
    return float(int.from_bytes(words.digest()[:6], "little"))


class FunctionRun(Core):
    """A run with a model that is given by functions."""

    def __init__(self, run: _bilevel.Run, pairs: Images, ranks: Ranks) -> None:
        super().__init__(run, run.blocks(), *pairs.summary())
        self._ranks = ranks

    @classmethod
    def start(
        cls,
        model: StronglyConvex,
        pairs: Images,
        settings: dict[str, Any],
        max_points: int,
        out: str | os.PathLike[str] | None,
        ranks: Ranks,
    ) -> FunctionRun:
        """Start a run on all ranks."""
        pairs.agree(ranks)
        ndim, examples = pairs.summary()
        described = {**settings, "about": {"ndim": ndim, "examples": examples}}
        run = _bilevel.start_functions(
            json.dumps(described),
            max_points,
            Functions(model, pairs.truth, pairs.data, pairs.dtype),
            *pairs.rows(),
            pairs.is_complex,
            out,
            ranks.or_none(),
        )
        return cls(run, pairs, ranks)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        max_points: int | None,
        model: StronglyConvex,
        pairs: Images,
        ranks: Ranks,
    ) -> tuple[FunctionRun, int]:
        """Open the run in a directory, and return it with the largest number of points."""
        pairs.agree(ranks)
        run = _bilevel.open_functions(
            path,
            max_points,
            Functions(model, pairs.truth, pairs.data, pairs.dtype),
            *pairs.rows(),
            pairs.is_complex,
            ranks.or_none(),
        )
        return cls(run, pairs, ranks), run.about()[1] or 0

    def step(self) -> bool:
        with self._ranks.agreed():
            return super().step()

    def finish(self) -> dict[str, Any]:
        with self._ranks.agreed():
            return super().finish()
