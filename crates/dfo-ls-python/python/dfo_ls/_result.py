"""The result of a run, and its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import FloatArray

if TYPE_CHECKING:
    from ._engine import Engine


@dataclass(frozen=True, eq=False)
class Iteration:
    """One iteration of the solver. Radii and lengths of steps are in units of the parameters."""

    #: The number of the iteration, counted from zero.
    number: int
    #: The outcome: ``initial``, ``accepted``, ``rejected``, ``failed``, ``short``, ``criticality``
    #: or ``restarted``.
    kind: str
    #: The incumbent after the iteration.
    x: FloatArray
    #: The computed objective at ``x``.
    objective: float
    #: Two numbers between which the exact objective at ``x`` certainly lies.
    interval: tuple[float, float]
    #: The trust-region radius.
    delta: float
    #: The lower radius.
    rho: float
    #: The length of the step, if there was one.
    step: float | None
    #: The decrease of the objective that the model predicted for the step.
    predicted: float | None
    #: The achieved decrease divided by the predicted one.
    ratio: float | None
    #: Whether the decision about the step is certain although evaluations are inexact.
    certified: bool
    #: The norm of the gradient of the model.
    gradient: float
    #: The poisedness of the interpolation set; ``None`` unless ``diagnostics.poisedness`` is set.
    poisedness: float | None
    #: The number of points so far.
    num_points: int
    #: The number of evaluations so far.
    num_evaluations: int
    #: The work so far.
    work: int


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One evaluation: the request and the answer."""

    #: The number of the point, counted from zero.
    point: int
    #: The point.
    x: FloatArray
    #: The purpose: ``initial``, ``trial``, ``geometry`` or ``sharpen``.
    purpose: str
    #: The requested accuracy.
    requested: float
    #: The achieved accuracy.
    achieved: float
    #: The objective; ``None`` if the evaluation failed.
    objective: float | None
    #: The reason why the evaluation failed; ``None`` if it did not.
    problem: str | None
    #: The work of this evaluation.
    work: int


#: Values of ``Result.status``. SciPy's ``least_squares`` has 0, 3, -1 and -2 too.
_STATUS = {
    "exhausted": 0,
    "radius_reached": 3,
    "target_reached": 5,
    "noise_reached": 6,
    "restarts_exhausted": 7,
    "slow": 8,
    "failed": -1,
    "stopped": -2,
    "blocked": -3,
    "accuracy_floor": -4,
}


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, Any]):
    """The outcome of a run. Every run that has started has one, whatever the reason for its end.

    >>> import dfo_ls
    >>> result = dfo_ls.minimize(lambda x: [x[0] - 1, 10 * (x[1] - x[0] ** 2)], [-1.2, 1.0])
    >>> result.success, result.termination
    (True, 'radius_reached')
    >>> result.x.round(6), result.jacobian.shape
    (array([1., 1.]), (2, 2))

    It can be read like SciPy's ``OptimizeResult``: ``fun``, ``cost``, ``jac``, ``nfev``, ``nit``,
    ``status``, ``message`` and ``success`` have the meaning that they have for
    ``scipy.optimize.least_squares``, and every attribute is an item as well.

    >>> result["x"] is result.x, "cost" in result
    (True, True)
    """

    #: The best point.
    x: FloatArray
    #: The residuals at ``x``. Empty if no point could be evaluated.
    residuals: FloatArray
    #: A bound on the Euclidean norm of the error of ``residuals``.
    accuracy: float
    #: The sum of the squares of ``residuals``, plus the regulariser if there is one.
    objective: float
    #: Two numbers between which the exact objective certainly lies.
    interval: tuple[float, float]
    #: The reason why the run ended: ``radius_reached``, ``target_reached``, ``noise_reached``,
    #: ``restarts_exhausted``, ``slow``, ``exhausted``, ``blocked``, ``accuracy_floor``,
    #: ``stopped`` or ``failed``.
    termination: str
    #: The reason why the run ended, as a sentence.
    message: str
    #: Whether the run found as good a point as its options ask for (``status`` is positive).
    success: bool
    #: Derivatives of the residuals (rows) with respect to the parameters (columns) at ``x``, from
    #: the last model. ``None`` if there was no model.
    jacobian: FloatArray | None
    #: The covariance of the parameters, for fits to data with independent errors of equal variance.
    covariance: FloatArray | None
    #: The number of points that were evaluated.
    num_points: int
    #: The number of evaluations. A point that is evaluated again, more accurately, counts again.
    num_evaluations: int
    #: The work of all evaluations, in the unit of the user's function.
    work: int
    #: All iterations.
    iterations: list[Iteration]
    #: All evaluations.
    evaluations: list[Evaluated]
    #: The run itself: ``engine.run(fun)`` continues it after Ctrl-C, or after
    #: ``engine.extend(...)``. It is not pickled with the result.
    engine: Engine | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"engine": None}

    @property
    def fun(self) -> FloatArray:
        """The residuals at ``x``: SciPy's name for ``residuals``."""
        return self.residuals

    @property
    def cost(self) -> float:
        """Half of ``objective``, which is SciPy's convention for least squares."""
        return 0.5 * self.objective

    @property
    def jac(self) -> FloatArray | None:
        """The derivatives of the residuals: SciPy's name for ``jacobian``."""
        return self.jacobian

    @property
    def nfev(self) -> int:
        """The number of evaluations: SciPy's name for ``num_evaluations``."""
        return self.num_evaluations

    @property
    def nit(self) -> int:
        """The number of iterations."""
        return len(self.iterations)

    @property
    def status(self) -> int:
        """``termination`` as a number: positive for success, 0 for a spent budget.

        3: ``radius_reached``, 5: ``target_reached``, 6: ``noise_reached``,
        7: ``restarts_exhausted``, 8: ``slow``, 0: ``exhausted``, -1: ``failed``,
        -2: ``stopped``, -3: ``blocked``, -4: ``accuracy_floor``.
        """
        return _STATUS.get(self.termination, -1)

    @property
    def standard_errors(self) -> FloatArray | None:
        """Standard errors of the parameters in a fit to data: roots of the diagonal of
        ``covariance``.

        >>> import dfo_ls, numpy as np
        >>> t, error = np.arange(40.0), np.tile([0.02, -0.01, -0.02, 0.01], 10)
        >>> data = 5 * np.exp(-t / 10) + error
        >>> fit = dfo_ls.minimize(lambda x: x[0] * np.exp(-t / x[1]) - data, [1.0, 1.0])
        >>> bool(np.all(abs(fit.x - [5, 10]) < 3 * fit.standard_errors))
        True
        """
        if self.covariance is None:
            return None
        errors: FloatArray = np.sqrt(np.diag(self.covariance))
        return errors

    def __getitem__(self, key: str) -> Any:
        if key not in _KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)

    # A result is equal to itself only: comparing arrays gives arrays.

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        width = max(map(len, _SHOWN))
        lines = []
        with np.printoptions(threshold=20, edgeitems=3, linewidth=98 - width):
            for key in _SHOWN:
                text = str(getattr(self, key)).replace("\n", "\n" + " " * (width + 2))
                lines.append(f"{key:>{width}}: {text}")
        return "\n".join(lines)


#: The keys of a result, SciPy's first.
_KEYS = (
    *("message", "success", "status", "x", "cost", "fun", "jac", "nfev", "nit"),
    *("objective", "interval", "accuracy", "termination", "residuals", "jacobian", "covariance"),
    *("standard_errors", "num_points", "num_evaluations", "work", "iterations", "evaluations"),
    "engine",
)
#: The keys that are printed.
_SHOWN = (
    *("message", "success", "status", "x", "standard_errors", "objective", "interval", "cost"),
    *("fun", "jac", "nfev", "nit", "num_points", "work"),
)
