"""Earlier evaluations, in the form that DFO-LS 1.6 takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from ._arrays import FloatArray, vector


class EvaluationDatabase:
    """Earlier evaluations. The run starts at the last of them, unless you choose another one.

    >>> import dfo_ls
    >>> fun = lambda x: [x[0] - 3.0, x[1] - 1.0]
    >>> known = dfo_ls.EvaluationDatabase()
    >>> for x in ([0.0, 0.0], [0.1, 0.0], [0.0, 0.1]):
    ...     known.append(x, fun(x), make_starting_eval=x == [0.0, 0.0])
    >>> solution = dfo_ls.solve(fun, known)
    >>> solution.x.round(6), solution.nf < dfo_ls.solve(fun, [0.0, 0.0]).nf
    (array([3., 1.]), True)
    """

    def __init__(
        self, eval_list: Iterable[tuple[Any, Any]] | None = None, starting_eval: int | None = None
    ) -> None:
        self._evals: list[tuple[FloatArray, FloatArray]] = []
        self._start: int | None = None
        for x, rx in eval_list or ():
            self.append(x, rx)
        if starting_eval is not None:
            if not 0 <= starting_eval < len(self._evals):
                raise ValueError(
                    f"starting_eval is {starting_eval}, "
                    f"but there are {len(self._evals)} evaluations"
                )
            self._start = starting_eval

    def __len__(self) -> int:
        return len(self._evals)

    def append(self, x: npt.ArrayLike, rx: npt.ArrayLike, make_starting_eval: bool = False) -> None:
        """Adds the residuals ``rx`` at ``x``."""
        entry = (vector("x", x), vector("rx", rx))
        if self._evals and tuple(map(len, entry)) != tuple(map(len, self._evals[0])):
            expected = tuple(map(len, self._evals[0]))
            raise ValueError(
                f"x and rx have lengths {tuple(map(len, entry))}, "
                f"but those that were added before have lengths {expected}"
            )
        if make_starting_eval:
            self._start = len(self._evals)
        self._evals.append(entry)

    def get_starting_eval_idx(self) -> int:
        """Returns the index of the evaluation at which the run starts."""
        if not self._evals:
            raise ValueError("the evaluation database is empty: append an evaluation")
        return len(self._evals) - 1 if self._start is None else self._start

    def get_eval(self, index: int) -> tuple[FloatArray, FloatArray]:
        """Returns a point and its residuals."""
        return self._evals[index]

    def get_x(self, index: int) -> FloatArray:
        """Returns a point."""
        return self._evals[index][0]

    def get_rx(self, index: int) -> FloatArray:
        """Returns the residuals at a point."""
        return self._evals[index][1]
