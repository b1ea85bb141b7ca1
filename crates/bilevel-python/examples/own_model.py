"""A model of one's own: Tikhonov denoising by gradient descent, to the accuracy that is needed."""

from typing import Any

import bilevel
import numpy as np
from numpy.typing import NDArray

truth = np.cumsum(bilevel.phantoms.box_functions(4, 64), axis=1) / 32
data = bilevel.add_noise(truth, 0.05)


def model(
    theta: NDArray[np.float64], accuracy: NDArray[np.float64], state: Any
) -> tuple[Any, Any, Any, int]:
    """Minimise ½‖x − y‖² + ½·10^θ·‖Dx‖².

    The objective is strongly convex with constant 1, so the norm of its gradient bounds the error.
    The requested accuracy may be out of reach: the number of iterations is limited, too.
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
