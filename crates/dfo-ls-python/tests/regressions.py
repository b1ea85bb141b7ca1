"""Nonlinear regressions whose minima are known, with parameters of very different sizes.

Every model has a truth, two starts (``near`` and ``far``), and data that are exact or noisy. The
models are made up for this test; the parameters of one model differ by up to nine orders of
magnitude. Some have other minima than the one to find: oscillations, and peaks.

The minimum for exact data is zero, at the truth. For noisy data, Gauss-Newton steps from the truth
lead to it. Their derivatives come from the complex step (Squire and Trapp 1998), which subtracts
nothing and is therefore exact to rounding, so that the minimum is known to rounding as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Model = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: A fit is solved when its objective exceeds the known minimum by at most this share.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Regression:
    """A model with its data, and a start."""

    name: str
    model: Model
    t: np.ndarray
    data: np.ndarray
    truth: np.ndarray
    start: np.ndarray
    minimum: float

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """The residuals, infinite where the model overflows."""
        with np.errstate(all="ignore"):
            return self.model(x, self.t) - self.data

    def is_solved(self, x: np.ndarray) -> bool:
        """Whether the objective at ``x`` is the minimum up to ``TOLERANCE``.

        The minimum for exact data is zero. There the residuals must be small compared with the
        data, by the same factor.
        """
        residuals = self.residuals(x)
        floor = TOLERANCE * float(self.data @ self.data)
        return float(residuals @ residuals) <= (
            (1 + TOLERANCE) * self.minimum + (TOLERANCE * floor if self.minimum == 0 else 0.0)
        )


def jacobian(model: Model, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Derivatives of the model by its parameters, from complex steps."""
    columns = []
    for j, entry in enumerate(x):
        step = 1e-20 * abs(entry)
        shifted = x.astype(complex)
        shifted[j] += 1j * step
        columns.append(model(shifted, t).imag / step)
    return np.array(columns).T


def minimum(model: Model, t: np.ndarray, data: np.ndarray, truth: np.ndarray) -> float:
    """The least sum of squares near ``truth``, by Gauss-Newton steps in units of the parameters."""
    x = truth.copy()
    for _ in range(100):
        scaled = jacobian(model, x, t) * x
        step = np.linalg.lstsq(scaled, data - model(x, t), rcond=None)[0]
        x += step * x
        if np.linalg.norm(step) < 1e-13:
            break
    # the gradient vanishes: the residuals are orthogonal to all columns
    residuals = model(x, t) - data
    scaled = jacobian(model, x, t) * x
    cosines = scaled.T @ residuals / np.linalg.norm(scaled, axis=0) / np.linalg.norm(residuals)
    assert np.abs(cosines).max() < 1e-8, cosines
    return float(residuals @ residuals)


#: Name: model, truth, factors of the near start, factors of the far start, range of ``t``, noise as
#: a share of the largest datum.
MODELS: dict[
    str, tuple[Model, list[float], list[float], list[float], tuple[float, float], float]
] = {
    "decay": (
        lambda x, t: x[0] * np.exp(-x[1] * t) + x[2],
        [4e3, 2e-3, 150.0],
        [0.7, 1.5, 1.3],
        [0.2, 5.0, 0.0],
        (0, 2000),
        1e-2,
    ),
    "two decays": (
        lambda x, t: x[0] * np.exp(-x[1] * t) + x[2] * np.exp(-x[3] * t),
        [900.0, 3e-2, 2e4, 5e-4],
        [1.3, 0.8, 0.8, 1.2],
        [0.3, 3.0, 2.0, 0.5],
        (0, 1500),
        2e-3,
    ),
    "logistic": (
        lambda x, t: x[0] / (1 + np.exp(x[1] - x[2] * t)),
        [5e5, 4.0, 6e-2],
        [0.8, 1.2, 0.9],
        [0.4, 0.5, 0.5],
        (0, 150),
        1e-2,
    ),
    "saturation": (
        lambda x, t: x[0] * t / (x[1] + t),
        [2e3, 5e-3],
        [0.7, 1.4],
        [0.1, 10.0],
        (2e-4, 4e-2),
        1e-2,
    ),
    "isotherm": (
        lambda x, t: x[0] * x[1] * t / (1 + x[1] * t),
        [300.0, 4e-4],
        [1.3, 0.7],
        [0.3, 6.0],
        (50, 1e4),
        5e-3,
    ),
    "activation": (
        lambda x, t: x[0] * np.exp(x[1] / (t + x[2])),
        [2e-2, 5e3, 320.0],
        [1.3, 0.95, 1.05],
        [2.0, 0.8, 0.9],
        (50, 130),
        2e-3,
    ),
    "power": (
        lambda x, t: x[0] * t ** x[1] + x[2],
        [3e-4, 2.5, 70.0],
        [1.5, 0.9, 0.8],
        [5.0, 0.7, 0.3],
        (1, 200),
        5e-3,
    ),
    "oscillation": (
        lambda x, t: x[0] * np.exp(-x[1] * t) * np.cos(x[2] * t + x[3]),
        [1e3, 2e-3, 5e-2, 0.6],
        [0.8, 1.5, 1.03, 0.8],
        [0.4, 0.3, 0.96, 1.5],
        (0, 600),
        2e-2,
    ),
    "tone on a trend": (
        lambda x, t: x[0] + x[1] * t + x[2] * np.sin(x[3] * t),
        [200.0, -3e-2, 40.0, 0.21],
        [0.9, 1.4, 0.8, 1.01],
        [2.0, 0.3, 0.4, 0.98],
        (0, 300),
        1e-2,
    ),
    "peak": (
        lambda x, t: x[0] * np.exp(-(((t - x[1]) / x[2]) ** 2)) + x[3] + x[4] * t,
        [2e4, 350.0, 40.0, 500.0, -2e-1],
        [0.8, 1.03, 1.2, 1.3, 1.5],
        [0.4, 0.93, 0.6, 0.5, 0.2],
        (200, 500),
        1e-2,
    ),
    "two peaks": (
        lambda x, t: (
            x[0] * np.exp(-(((t - x[1]) / x[2]) ** 2)) + x[3] * np.exp(-(((t - x[4]) / x[5]) ** 2))
        ),
        [1e4, 0.3, 6e-2, 4e3, 0.7, 9e-2],
        [0.8, 1.05, 1.2, 1.3, 0.97, 0.9],
        [0.5, 1.2, 1.6, 0.6, 0.93, 1.5],
        (0, 1),
        5e-3,
    ),
    "resonance": (
        lambda x, t: x[0] / ((t - x[1]) ** 2 + x[2] ** 2),
        [5e-3, 12.0, 0.6],
        [1.3, 1.01, 1.2],
        [4.0, 0.97, 2.0],
        (9, 15),
        1e-2,
    ),
    "ratio": (
        lambda x, t: (x[0] + x[1] * t) / (1 + x[2] * t),
        [15.0, 0.4, 2e-3],
        [0.7, 1.3, 0.8],
        [3.0, 0.3, 4.0],
        (0, 2000),
        1e-2,
    ),
    "quadratics": (
        lambda x, t: (x[0] + x[1] * t + x[2] * t**2) / (1 + x[3] * t + x[4] * t**2),
        [2.0, 6e-2, 4e-4, 5e-3, 9e-6],
        [0.8, 1.2, 0.9, 1.1, 0.8],
        [2.0, 0.5, 1.5, 0.5, 2.0],
        (0, 900),
        5e-3,
    ),
    "cubic": (
        lambda x, t: x[0] + x[1] * t + x[2] * t**2 + x[3] * t**3,
        [30.0, -0.2, 6e-4, -4e-7],
        [0.8, 1.2, 0.8, 1.3],
        [0.1, 4.0, 0.2, 5.0],
        (0, 1000),
        1e-2,
    ),
    "dose": (
        lambda x, t: x[0] + x[1] / (1 + (x[2] / t) ** x[3]),
        [12.0, 4e3, 3e-3, 1.4],
        [0.8, 1.2, 0.8, 1.1],
        [2.0, 0.5, 3.0, 0.7],
        (1e-4, 3e-2),
        5e-3,
    ),
    "growth": (
        lambda x, t: x[0] * np.exp(-x[1] * np.exp(-x[2] * t)),
        [8e4, 5.0, 3e-2],
        [0.8, 1.2, 0.9],
        [0.4, 0.6, 1.8],
        (0, 250),
        5e-3,
    ),
    "stretched": (
        lambda x, t: x[0] - x[1] * np.exp(-x[2] * t ** x[3]),
        [700.0, 660.0, 2e-4, 1.8],
        [1.1, 0.9, 1.5, 0.95],
        [0.7, 1.4, 5.0, 0.8],
        (1, 200),
        5e-3,
    ),
    "vapour": (
        lambda x, t: x[0] - x[1] / (t + x[2]),
        [8.0, 1700.0, 230.0],
        [1.1, 0.9, 1.1],
        [0.6, 0.4, 0.5],
        (1, 120),
        1e-3,
    ),
    "diode": (
        lambda x, t: x[0] * (np.exp(t / x[1]) - 1) + t / x[2],
        [3e-6, 4e-2, 50.0],
        [1.5, 1.03, 0.8],
        [4.0, 1.1, 3.0],
        (0.02, 0.5),
        2e-3,
    ),
    "low pass": (
        lambda x, t: x[0] / np.sqrt(1 + (x[1] * t) ** 2) + x[2],
        [40.0, 2e-4, 0.7],
        [0.8, 1.4, 1.2],
        [0.3, 5.0, 0.0],
        (100, 4e4),
        5e-3,
    ),
    "arc": (
        lambda x, t: x[0] * np.arctan(x[1] * (t - x[2])) + x[3],
        [1500.0, 7e-3, 480.0, 90.0],
        [0.9, 1.3, 0.97, 1.2],
        [0.5, 0.4, 1.1, 3.0],
        (0, 1000),
        5e-3,
    ),
}


def regressions() -> Iterator[Regression]:
    """Every model from both starts, with exact and with noisy data."""
    for seed, (name, (model, true, near, far, (first, last), noise)) in enumerate(MODELS.items()):
        truth, t = np.array(true), np.linspace(first, last, 40)
        exact = model(truth, t)
        scatter = np.random.default_rng(seed).normal(size=len(t))
        noisy = exact + noise * np.abs(exact).max() * scatter
        least = minimum(model, t, noisy, truth)
        for where, factors in (("near", near), ("far", far)):
            start = truth * factors
            yield Regression(f"{name}, exact, {where}", model, t, exact, truth, start, 0.0)
            yield Regression(f"{name}, noisy, {where}", model, t, noisy, truth, start, least)
