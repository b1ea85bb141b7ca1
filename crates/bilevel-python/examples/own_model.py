"""A lower level of one's own: Tikhonov denoising by gradient descent, as accurate as the solver asks for."""

from typing import Any

import bilevel
import numpy as np
from numpy.typing import NDArray

truth = np.cumsum(bilevel.phantoms.box_functions(4, 64), axis=1) / 32
data = bilevel.add_noise(truth, 0.05)


def model(
    theta: NDArray[np.float64], accuracy: NDArray[np.float64], state: Any
) -> tuple[Any, Any, Any, int]:
    """Minimises ½‖x − y‖² + ½·10^θ·‖Dx‖², which is strongly convex with 1: the gradient's norm bounds the error.

    What is asked for may be out of reach: then what was reached will do.
    """
    weight = 10.0 ** theta[0]
    x = data.copy() if state is None else state.copy()
    work = 0
    while True:
        d = np.diff(x, axis=1)
        gradient = x - data
        gradient[:, 1:] += weight * d
        gradient[:, :-1] -= weight * d
        error = np.linalg.norm(gradient, axis=1)
        work += len(x)
        if (error <= accuracy).all() or work > 10_000:
            return x, error, x, work
        x = x - gradient / (1.0 + 4.0 * weight)


result = bilevel.learn(
    truth, None, model=model, start={"theta": 0.0}, bounds={"theta": (-3.0, 3.0)}
)
print(result)
assert result.converged
