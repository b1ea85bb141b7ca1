"""The overhead of calling a residual function in Python: ``dfo_ls.solve`` compared with DFO-LS.

Prints one line of JSON for each kind of model and number of parameters: microseconds for each
evaluation, without those that the function itself takes. The value is the least of several
repetitions, because disturbances only add time.

    python overhead.py [repetitions]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

# Matrices this small are slower on several threads, which only DFO-LS would use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dfo_ls
import numpy as np

try:
    import dfols
except ImportError:
    dfols = None

SIZES = (2, 6, 12)


def chained_rosenbrock(x: np.ndarray) -> np.ndarray:
    residuals = np.empty(2 * len(x) - 2)
    residuals[0::2] = 10.0 * (x[1:] - x[:-1] ** 2)
    residuals[1::2] = 1.0 - x[:-1]
    return residuals


def overhead(
    solve: Callable[..., Any], num_params: int, repetitions: int, **arguments: Any
) -> float:
    """Returns the microseconds for each evaluation that are not spent in the function."""
    start = np.where(np.arange(num_params) % 2 == 0, -1.2, 1.0)
    least = np.inf
    for _ in range(repetitions):
        inside = 0.0

        def timed(x: np.ndarray) -> np.ndarray:
            nonlocal inside
            begin = perf_counter()
            residuals = chained_rosenbrock(x)
            inside += perf_counter() - begin
            return residuals

        begin = perf_counter()
        found = solve(timed, start.copy(), maxfun=100, do_logging=False, **arguments)
        outside = perf_counter() - begin - inside
        assert found.flag in (found.EXIT_SUCCESS, found.EXIT_MAXFUN_WARNING), found.msg
        least = min(least, outside / found.nf)
    return 1e6 * least


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for model in ("linear models", "curvature"):
        for num_params in SIZES:
            # DFO-LS has linear models only
            points = {"npt": num_params + 1} if model == "linear models" else {}
            ours = overhead(dfo_ls.solve, num_params, repetitions, **points)
            peer = (
                None
                if dfols is None
                else overhead(dfols.solve, num_params, max(repetitions // 3, 1), **points)
            )
            name = f"overhead of a residual call, d = {num_params}, {model}"
            print(json.dumps({"name": name, "value": ours, "peer": peer}), flush=True)


if __name__ == "__main__":
    main()
