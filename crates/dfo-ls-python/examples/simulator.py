"""The simulator of the examples: a heated plate, computed to the accuracy that is needed.

Three numbers describe a source of heat: its place (two numbers) and its strength. Twelve sensors
measure the temperature. The scripts next to this file recover the source from the measurements.
"""

from __future__ import annotations

import math
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIZE = 24
SENSORS = (np.repeat([4, 10, 16, 20], 3), np.tile([3, 12, 21], 4))
TRUTH = [9.0, 14.0, 50.0]
X0 = [12.0, 12.0, 20.0]
BOUNDS = ([0.0, 0.0, 1.0], [23.0, 23.0, 200.0])


def operator(u: Array) -> Array:
    """Applies the negative Laplacian plus the identity. Its smallest eigenvalue is above 1."""
    result = 5.0 * u
    result[1:] -= u[:-1]
    result[:-1] -= u[1:]
    result[:, 1:] -= u[:, :-1]
    result[:, :-1] -= u[:, 1:]
    return result


def temperature(x: Array, accuracy: float, u: Array) -> tuple[Array, float, int]:
    """Solves the equations of the plate with conjugate gradients, starting from ``u``.

    Returns the temperature, a bound on its error, and the number of iterations. The norm of what is
    left of the equations is such a bound, because no eigenvalue is below 1.
    """
    row, column = np.mgrid[:SIZE, :SIZE]
    source = x[2] * np.exp(-((row - x[0]) ** 2 + (column - x[1]) ** 2) / 18)
    rest = source - operator(u)
    direction, square, work = rest, float(np.sum(rest * rest)), 0
    # the other limits stop where rounding ends the progress
    while math.sqrt(square) > max(accuracy, 1e-9) and work < 1000:
        image = operator(direction)
        length = square / float(np.sum(direction * image))
        u, rest = u + length * direction, rest - length * image
        before, square = square, float(np.sum(rest * rest))
        direction, work = rest + square / before * direction, work + 1
    return u, math.sqrt(square) + 1e-10, work


COLD = np.zeros((SIZE, SIZE))
DATA = temperature(np.array(TRUTH), 0.0, COLD)[0][SENSORS]


def simulator(x: Array, accuracy: float, state: Array | None) -> tuple[Array, float, Array, int]:
    """Computes the residuals at ``x``, starting from the temperature of an earlier evaluation."""
    u, error, work = temperature(x, accuracy, COLD if state is None else state)
    return u[SENSORS] - DATA, error, u, work


def with_files(
    x: Array, accuracy: float, state: str | None, folder: str
) -> tuple[Array, float, str, int]:
    """Keeps the temperature in a file. The state is the name of the file, not the data."""
    start = None if state is None else np.load(Path(folder, state))
    residuals, achieved, u, work = simulator(x, accuracy, start)
    name = f"{uuid4().hex}.npy"
    np.save(Path(folder, name), u)
    return residuals, achieved, name, work
