"""Checks of models that are written in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._convex import Functions, StronglyConvex
from ._settings import positive, unsigned

__all__ = ["check_model"]

# The largest number of parameters that are checked one by one.
MAX_SINGLE = 50
# The number of random directions of each check.
NUM_DIRECTIONS = 5


def check_model(
    model: StronglyConvex,
    theta: Any,
    data: Any,
    x: Any,
    *,
    spacing: float = 1e-6,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> None:
    """Check the functions of a model against each other, at one image and for one `theta`.

    Hessian products and mixed products are compared with differences of gradients in random
    directions; the curvature and the bounds on third derivatives and on mixed products are compared
    with products. A check in random directions finds a wrong product nearly always, and a wrong
    bound often.

    Args:
        model: The model.
        theta: The parameters.
        data: The data of the image.
        x: The image. Choose one without symmetries, such as a noisy one.
        spacing: The length of differences, relative to the size of `x` and of `theta`.
        tolerance: The largest relative deviation that passes.
        seed: The seed of the random directions.

    Raises:
        AssertionError: The functions do not fit together; the message names the wrong one.

    >>> import bilevel
    >>> import numpy as np
    >>> model = bilevel.StronglyConvex(
    ...     gradient=lambda w, y, x: x - y + w[0] * x,
    ...     curvature=lambda w, y: (1.0 + w[0], 1.0 + w[0]),
    ...     hessian_product=lambda w, y, x, v: (1.0 + w[0]) * v,
    ...     mixed_product=lambda w, y, x, q: [-np.sum(x * q)],
    ... )
    >>> data, x = np.array([3.0, 2.0]), np.array([1.0, 1.2])
    >>> bilevel.testing.check_model(model, [0.5], data, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: mixed_product is wrong in theta[0]: it returned ...
    """
    spacing, tolerance = positive("spacing", spacing), positive("tolerance", tolerance)
    image = np.asarray(x)
    image = np.array(image, dtype=np.complex128 if image.dtype.kind == "c" else np.float64)
    values = np.array(theta, dtype=np.float64).reshape(-1)
    check = _Check(
        Functions(model, [image], [data], image.dtype), values, image, spacing, tolerance, seed
    )
    check.hessian()
    if model.mixed_product is not None:
        check.mixed()
    if model.mixed_bounds is not None:
        check.mixed_bounds()


class _Check:
    def __init__(
        self,
        functions: Functions,
        theta: NDArray[np.float64],
        x: Any,
        spacing: float,
        tolerance: float,
        seed: int,
    ) -> None:
        self.functions, self.theta = functions, theta
        self.x = x.view(np.float64).reshape(-1)
        self.tolerance = tolerance
        self.step = spacing * (np.linalg.norm(self.x) or 1.0)
        self.spacing = spacing
        self.random = np.random.default_rng(unsigned("seed", seed))
        (self.mu, self.lipschitz), self.third, _, _ = functions.constants(theta, 0)

    def direction(self, size: int) -> NDArray[np.float64]:
        v = self.random.standard_normal(size)
        return v / np.linalg.norm(v)

    def gradient(
        self, x: NDArray[np.float64], theta: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        return self.functions.gradient(self.theta if theta is None else theta, 0, x)

    def hessian(self) -> None:
        """Check Hessian products, the curvature, and the bound on third derivatives."""
        has_product = self.functions.has_derivatives
        for _ in range(NUM_DIRECTIONS):
            v = self.direction(self.x.size)
            slope = self.gradient(self.x + self.step * v) - self.gradient(self.x - self.step * v)
            slope /= 2.0 * self.step
            curvature, allowed = float(v @ slope), self.tolerance * self.lipschitz
            if not self.mu - allowed <= curvature <= self.lipschitz + allowed:
                raise AssertionError(
                    f"curvature or gradient is wrong: the curvature in a random direction is "
                    f"{curvature:.6g}, outside of [{self.mu:.6g}, {self.lipschitz:.6g}]"
                )
            if not has_product:
                continue
            product = self.functions.hessian_product(self.theta, 0, self.x, v)
            deviation = float(np.linalg.norm(product - slope))
            if not deviation <= self.tolerance * max(float(np.linalg.norm(slope)), self.mu):
                raise AssertionError(
                    f"hessian_product or gradient is wrong: for a random v of length 1, it "
                    f"returned a vector of length {np.linalg.norm(product):.6g}, which differs by "
                    f"{deviation:.3g} from the difference of gradients"
                )
            self.third_order(v, product)

    def third_order(self, v: NDArray[np.float64], product: NDArray[np.float64]) -> None:
        if math.isinf(self.third):
            return
        for size in (1e-3, 1e-1, 1.0):
            length = size * (float(np.linalg.norm(self.x)) or 1.0)
            there = self.x + length * self.direction(self.x.size)
            moved = self.functions.hessian_product(self.theta, 0, there, v) - product
            change, allowed = float(np.linalg.norm(moved)), self.third * length
            if not change <= allowed + 1e-9 * self.lipschitz:
                raise AssertionError(
                    f"third_derivative is too small: at a distance of {length:.3g}, the Hessian "
                    f"changed by {change:.6g}, but at most {allowed:.6g} are allowed"
                )

    def mixed(self) -> None:
        """Check mixed products, one parameter at a time or in random directions."""
        q = self.direction(self.x.size)
        product = self.functions.mixed_product(self.theta, 0, self.x, q)
        count = self.theta.size
        single = count <= MAX_SINGLE
        for index in range(count if single else NUM_DIRECTIONS):
            if single:
                name, w = f"theta[{index}]", np.zeros(count)
                w[index] = abs(self.theta[index]) or 1.0
            else:
                # signs, so that all parameters count alike
                name = "a random direction"
                w = self.random.choice([-1.0, 1.0], count) * np.where(
                    self.theta == 0.0, 1.0, np.abs(self.theta)
                )
            ahead, behind = (
                self.gradient(self.x, self.theta + sign * self.spacing * w) for sign in (1.0, -1.0)
            )
            slope, found = float(q @ (ahead - behind)) / (2.0 * self.spacing), float(product @ w)
            size = float(np.linalg.norm(ahead - behind)) / (2.0 * self.spacing)
            rounding = 1e-13 * float(np.linalg.norm(ahead)) / self.spacing
            if not abs(found - slope) <= self.tolerance * max(size, abs(found)) + rounding:
                unit = float(np.linalg.norm(w))
                raise AssertionError(
                    f"mixed_product is wrong in {name}: it returned {found / unit:.6g}, but the "
                    f"difference of gradients is {slope / unit:.6g}"
                )

    def mixed_bounds(self) -> None:
        """Check the bounds on mixed products at random points of balls."""
        functions, theta, q = self.functions, self.theta, self.direction(self.x.size)
        here = functions.mixed_product(theta, 0, self.x, q)
        for size in (1e-3, 1e-1, 1.0):
            radius = size * (float(np.linalg.norm(self.x)) or 1.0)
            changes, norms = functions.checked_mixed_bounds(theta, 0, self.x, q, radius)
            for _ in range(NUM_DIRECTIONS):
                there = self.x + radius * self.direction(self.x.size)
                u = self.direction(self.x.size)
                change = np.abs(functions.mixed_product(theta, 0, there, q) - here)
                along = np.abs(functions.mixed_product(theta, 0, there, u))
                for name, found, bounds in (
                    ("mixed_bounds[0]", change, changes),
                    ("mixed_bounds[1]", along, norms),
                ):
                    allowed = bounds * (1.0 + self.tolerance) + 1e-12 * norms
                    for index in np.flatnonzero(~(found <= allowed)):
                        raise AssertionError(
                            f"{name} is too small for theta[{index}]: at a distance of "
                            f"{radius:.3g}, {found[index]:.6g} was found, but the bound is "
                            f"{bounds[index]:.6g}"
                        )
